//! Memory of a station, in a process of its own so that no other allocation is counted.

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
use std::sync::{Mutex, MutexGuard, PoisonError};

#[test]
fn slow_reader_costs_bounded_memory_and_delays_no_other() {
    let _turn = alone();
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

#[test]
fn many_slow_readers_of_many_channels_cost_bounded_memory() {
    const CHANNELS: usize = 200;
    const PAGES: usize = 8;
    let _turn = alone();
    let (bus, station) = open_station();
    let mut slow = Vec::new();
    for _ in 0..PAGES {
        let mut page = Page::open(station.address());
        page.subscribe(json!([{ "pattern": ".*", "max_hz": 0 }]));
        slow.push(page);
    }
    let mut quick = Page::open(station.address());
    quick.subscribe(json!([{ "pattern": "beat", "max_hz": 0 }]));
    let before = resident_bytes();
    let mut payload = Thrust::default().encode().unwrap();
    payload.resize(50_000, 0);
    for _ in 0..40 {
        for channel in 0..CHANNELS {
            bus.publish_bytes(&format!("flood{channel}"), &payload)
                .unwrap();
            // No faster than the station receives.
            if channel % 50 == 0 {
                bus.publish("beat", &Beat::default()).unwrap();
                quick.wait_for_message("beat");
            }
        }
    }
    quick.wait_for_count("messages received", 40 * CHANNELS as u64);
    // Each of them was offered all of it, and read none.
    quick.wait_for_count("messages skipped for slow pages", 30 * CHANNELS as u64);
    let grown = resident_bytes().saturating_sub(before);
    // 32 MiB of messages that they mostly share, and what the board has.
    assert!(
        grown < 160 << 20,
        "400 MB were offered to each, and {grown} bytes are held"
    );
    drop(slow);
}

/// One after the other: they count what all of the process has.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
