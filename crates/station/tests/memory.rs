//! Memory of a station, in a process of its own so that nobody else's is counted.

#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong here fails the test that it stands in"
)]

#[path = "it/browser.rs"]
#[expect(
    dead_code,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "the other tests use the rest"
)]
mod browser;

use bowline_msgs::{Beat, Thrust};
use bowline_wire::Message as _;
use browser::{Page, open_station};
use serde_json::json;

#[test]
fn a_slow_reader_costs_bounded_memory_and_keeps_nobody() {
    let (bus, station) = open_station();
    let mut slow = Page::open(station.address());
    slow.subscribe(json!([{ "pattern": ".*", "max_hz": 0 }]));
    let mut quick = Page::open(station.address());
    quick.subscribe(json!([{ "pattern": "beat", "max_hz": 0 }]));
    let before = resident_bytes();
    let mut payload = Thrust::default().encode().unwrap();
    payload.resize(50_000, 0);
    for n in 0..4_000 {
        bus.publish_bytes("flood", &payload).unwrap();
        if n % 100 == 0 {
            bus.publish("beat", &Beat::default()).unwrap();
            quick.wait_for_message("beat");
        }
    }
    quick.wait_for_count("messages skipped for slow pages", 1_000);
    let grown = resident_bytes().saturating_sub(before);
    assert!(
        grown < 64 << 20,
        "200 MB were offered, and {grown} bytes are held"
    );
    drop(slow);
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
