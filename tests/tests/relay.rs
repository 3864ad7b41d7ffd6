//! The relay itself: it must be bad in just the way of its record.

use bowline_tests::built::own_program;
use bowline_tests::bus_peers::{Pace, Sending, URL_ACROSS_LINKS, implementation};
use bowline_tests::lcm_datagram::Id;
use bowline_tests::peers::Peers;
use bowline_tests::process::Process;
use bowline_tests::relay::decide::Faults;
use bowline_tests::relay::network::BadNetwork;
use bowline_tests::relay::{Entry, Event, Fate, Way};
use bowline_tests::tap::Heard;

const GROUP: &str = "239.255.76.67:7667";
const N_MESSAGES: u64 = 600;
/// One frame, many frames, and two datagrams of many frames.
const SIZES: &[usize] = &[100, 3_000, 70_000];
const N_DATAGRAMS: usize = 800;

/// Sends through a bad network, and returns its record and what came out at the other side.
fn send_through(seed: u64, faults: &str) -> (Vec<Entry>, Vec<Heard>) {
    let faults = Faults::from_text(faults).expect("written above");
    let mut network = BadNetwork::new(seed, faults, Faults::default());
    let mut tap = network.there.command(own_program("tap"));
    let tap = Process::start_ready("tap", tap.arg(GROUP));
    let sending = Sending {
        channel: "relayed",
        n_channels: 1,
        seed,
        count: N_MESSAGES,
        pace: Pace::PerSecond(2000),
        sizes: SIZES,
    };
    let sender =
        implementation("Python").send(&Peers::find(), &network.here, URL_ACROSS_LINKS, &sending);
    network.wait_for(Way::There, N_DATAGRAMS);
    assert_eq!(sender.finish(), ["done 600 messages 14620000 bytes"]);
    let (_hosts, record) = network.end();
    let n_passed = record
        .iter()
        .filter(|entry| entry.event == Event::Passed && entry.way == Way::There)
        .count();
    // What is on its way comes; the rest is what should not have come.
    let mut heard: Vec<String> = (0..n_passed).map(|_| tap.line()).collect();
    heard.extend(tap.finish());
    (
        record,
        heard.iter().map(|line| Heard::from_line(line)).collect(),
    )
}

/// What was decided for each datagram.
fn decisions(record: &[Entry]) -> Vec<(Id, Fate)> {
    let decision = |entry: &Entry| match entry.event {
        Event::Came(fate) => Some((entry.id, fate)),
        Event::Passed => None,
    };
    record.iter().filter_map(decision).collect()
}

#[test]
fn relayed_messages_equal_the_record_in_order() {
    let (record, heard) = send_through(21, "lost=100,duplicated=50,reordered=50");
    let decided = decisions(&record);
    assert_eq!(decided.len(), N_DATAGRAMS);
    let n_copies: usize = decided
        .iter()
        .map(|(_, fate)| usize::from(fate.n_copies))
        .sum();
    let passed: Vec<Option<Id>> = record
        .iter()
        .filter(|entry| entry.event == Event::Passed)
        .map(|entry| Some(entry.id))
        .collect();
    assert_eq!(passed.len(), n_copies);
    let came: Vec<Option<Id>> = heard.iter().map(|heard| heard.id).collect();
    assert_eq!(came, passed);
    // The seed has some of each.
    let has = |is: fn(&Fate) -> bool| decided.iter().any(|(_, fate)| is(fate));
    assert!(has(|fate| fate.n_copies == 0));
    assert!(has(|fate| fate.n_copies == 2 && fate.overtaken_by == 0));
    assert!(has(|fate| fate.n_copies == 1 && fate.overtaken_by > 0));
    assert!(came.windows(2).any(|pair| pair[0] > pair[1]));
}

#[test]
fn a_seed_decides_the_same_again() {
    let faults = "lost=20,duplicated=20,reordered=20,delay_us=2000,jitter_us=1000";
    let [(first, heard), (second, heard_again)] = [(); 2].map(|()| send_through(22, faults));
    assert_eq!(decisions(&first), decisions(&second));
    // Delays mix the order; what comes is the same.
    let sorted = |heard: &[Heard]| {
        let mut ids: Vec<_> = heard.iter().map(|heard| (heard.id, heard.digest)).collect();
        ids.sort();
        ids
    };
    assert_eq!(sorted(&heard), sorted(&heard_again));
}

#[test]
fn a_relay_without_faults_changes_nothing() {
    let (record, heard) = send_through(23, "");
    let fate = Fate {
        n_copies: 1,
        overtaken_by: 0,
        delay_us: 0,
    };
    assert!(
        decisions(&record)
            .iter()
            .all(|(_, decided)| *decided == fate)
    );
    let mut expected = Vec::new();
    for seqno in 0..u32::try_from(N_MESSAGES).expect("few") {
        let ids: &[Option<u16>] = if seqno % 3 == 2 {
            &[Some(0), Some(1)]
        } else {
            &[None]
        };
        expected.extend(ids.iter().map(|&fragment| Some(Id { seqno, fragment })));
    }
    assert_eq!(
        heard.iter().map(|heard| heard.id).collect::<Vec<_>>(),
        expected
    );
}
