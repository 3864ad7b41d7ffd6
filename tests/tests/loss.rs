//! What our bus counts when the network is bad: just what was done to it.

use bowline_tests::bus_peers::{Pace, Sending, URL_ACROSS_LINKS, await_datagrams, implementation};
use bowline_tests::lcm_datagram::Id;
use bowline_tests::peers::Peers;
use bowline_tests::relay::decide::Faults;
use bowline_tests::relay::network::BadNetwork;
use bowline_tests::relay::{Entry, Event, Fate, Way};
use bowline_tests::report::{Job, in_two_threads};
use std::collections::{BTreeMap, BTreeSet};

/// What must have been counted and delivered.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    /// Messages of which nothing came.
    lost: u64,
    /// Messages that came after a later one; of those in parts, their first part.
    late: u64,
    /// Datagrams that came again.
    duplicates: u64,
    /// Messages of which a part came, but not all.
    unfinished: u64,
    /// The numbers of messages in the order of their delivery.
    delivered: Vec<u32>,
}

/// What a receiver saw, by the order in which datagrams were passed on. All messages from the first to the last that came
/// are known to have been sent; those before and after cannot be missed.
fn seen(record: &[Entry]) -> Account {
    let parts = parts(record);
    let mut account = Account::default();
    let mut came: BTreeMap<u32, BTreeSet<Option<u16>>> = BTreeMap::new();
    for Id { seqno, fragment } in passed(record) {
        let is_late = came.last_key_value().is_some_and(|(last, _)| seqno < *last);
        let of_message = came.entry(seqno).or_default();
        account.late += u64::from(is_late && of_message.is_empty());
        let is_new = of_message.insert(fragment);
        account.duplicates += u64::from(!is_new);
        // A short message that comes twice is delivered twice: by its number alone it may be another one's.
        if (is_new || fragment.is_none()) && *of_message == parts[&seqno] {
            account.delivered.push(seqno);
        }
    }
    let first = *came.first_key_value().expect("something came").0;
    let last = *came.last_key_value().expect("something came").0;
    account.lost = (u64::from(last - first) + 1) - came.len() as u64;
    let is_unfinished = |(seqno, of_message): &(&u32, &BTreeSet<_>)| **of_message != parts[*seqno];
    account.unfinished = came.iter().filter(is_unfinished).count() as u64;
    account
}

fn passed(record: &[Entry]) -> impl Iterator<Item = Id> {
    let of_interest = |entry: &&Entry| entry.way == Way::There && entry.event == Event::Passed;
    record.iter().filter(of_interest).map(|entry| entry.id)
}

/// What was decided for each datagram.
fn decided(record: &[Entry]) -> impl Iterator<Item = (Id, Fate)> {
    record.iter().filter_map(|entry| match entry.event {
        Event::Came(fate) => Some((entry.id, fate)),
        Event::Passed => None,
    })
}

/// The datagrams of each message that was sent.
fn parts(record: &[Entry]) -> BTreeMap<u32, BTreeSet<Option<u16>>> {
    let mut parts: BTreeMap<u32, BTreeSet<_>> = BTreeMap::new();
    for (Id { seqno, fragment }, _) in decided(record) {
        parts.entry(seqno).or_default().insert(fragment);
    }
    parts
}

/// What the relay meant to do: losses by message and copies by datagram.
fn injected(record: &[Entry]) -> (u64, u64) {
    let mut survives: BTreeMap<u32, bool> = BTreeMap::new();
    let mut n_copies = 0;
    for (id, fate) in decided(record) {
        *survives.entry(id.seqno).or_default() |= fate.n_copies > 0;
        n_copies += u64::from(fate.n_copies.saturating_sub(1));
    }
    // What was before the first that came or after the last cannot be missed.
    let came = |(seqno, came): (&u32, &bool)| came.then_some(*seqno);
    let (first, last) = (
        survives.iter().find_map(came),
        survives.iter().rev().find_map(came),
    );
    let between = survives.range(first.expect("some come")..=last.expect("some come"));
    let n_lost = between.filter(|(_, came)| !**came).count();
    (n_lost as u64, n_copies)
}

/// How many datagrams a sender makes of a message.
fn n_datagrams(max_datagram: usize, channel: &str, size: usize) -> usize {
    let n_bytes = channel.len() + 1 + size;
    if n_bytes <= max_datagram - 8 {
        1
    } else {
        n_bytes.div_ceil(max_datagram - 20)
    }
}

/// Sends through a bad network from a sender that cuts at `max_datagram`, and holds our counters against its record.
fn check(sender: &str, max_datagram: usize, seed: u64, faults: &str, sizes: &[usize]) {
    const N_MESSAGES: u64 = 400;
    let faults = Faults::from_text(faults).expect("written below");
    let peers = &Peers::find();
    let mut network = BadNetwork::new(seed, faults, Faults::default());
    let sending = Sending {
        channel: "lossy",
        n_channels: 1,
        seed,
        count: N_MESSAGES,
        pace: Pace::PerSecond(1000),
        sizes,
    };
    let ours = implementation("bowline");
    let mut receiver = ours.receive(peers, &network.there, URL_ACROSS_LINKS, "lossy", 0);
    let process = implementation(sender).send(peers, &network.here, URL_ACROSS_LINKS, &sending);
    let sizes = sizes
        .iter()
        .cycle()
        .take(usize::try_from(N_MESSAGES).expect("few"));
    let n_sent = sizes
        .map(|size| n_datagrams(max_datagram, sending.channel, *size))
        .sum();
    network.wait_for(Way::There, n_sent);
    assert_eq!(process.finish().len(), 1);
    let (_hosts, record) = network.end();

    let mut heard = Vec::new();
    let counts = await_datagrams(&mut receiver, passed(&record).count(), &mut heard);
    heard.extend(receiver.finish());
    heard.pop();
    let context = format!("{sender}, seed {seed}, {faults}: {counts}");
    let count = |name: &str| counts[name].as_u64().expect("a count");
    let expected = seen(&record);
    assert_eq!(
        (expected.lost, expected.duplicates),
        injected(&record),
        "{context}"
    );
    let is_harmed = expected.lost + expected.unfinished > 0;
    assert_eq!(is_harmed, faults.lost > 0, "{context}");
    let lines: Vec<String> = expected
        .delivered
        .iter()
        .map(|index| sending.line((*index).into()))
        .collect();
    assert_eq!(heard, lines, "{context}");
    let counted = Account {
        lost: count("lost"),
        late: count("late"),
        duplicates: count("duplicates"),
        // What may still be completed is given up only when nothing came for a while.
        unfinished: count("partial") + count("incomplete"),
        delivered: expected.delivered.clone(),
    };
    assert_eq!(counted, expected, "{context}");
    for clean in [
        "kernel_drops",
        "malformed",
        "conflicts",
        "unwanted",
        "queue_drops",
    ] {
        assert_eq!(count(clean), 0, "{clean}: {context}");
    }
    let of_sender = &counts["of_senders"][0];
    assert_eq!(of_sender["lost"], expected.lost, "{context}");
    assert_eq!(of_sender["late"], expected.late, "{context}");
    assert_eq!(of_sender["restarts"], 0, "{context}");
}

const SHORT: &[usize] = &[0, 100, 1_400];
const ALL: &[usize] = &[100, 1_400, 3_000, 20_000];
const LARGE: &[usize] = &[100, 70_000, 140_000];
/// What ours sends over a link of 1500 bytes, and liblcm anywhere.
const OURS: usize = 1_472;
const THEIRS: usize = 65_507;

const HARSH: &str = "lost=100,duplicated=50,reordered=50";
const MILD: &str = "lost=20,duplicated=20,reordered=20";
const LATE: &str = "reordered=300,delay_us=10000,jitter_us=3000";

/// Who sends, what seed and what faults, and what is sent.
const CASES: &[(&str, usize, u64, &str, &[usize])] = &[
    ("bowline", OURS, 41, HARSH, SHORT),
    ("C", THEIRS, 42, HARSH, SHORT),
    ("bowline", OURS, 43, MILD, ALL),
    ("C", THEIRS, 44, HARSH, LARGE),
    ("bowline", OURS, 45, LATE, ALL),
    ("bowline", OURS, 46, "lost=500,duplicated=300", SHORT),
    ("bowline", OURS, 47, "", ALL),
];

#[test]
fn counters_equal_what_a_bad_network_did() {
    let job = |&(sender, max_datagram, seed, faults, sizes)| -> Job<'_> {
        Box::new(move || check(sender, max_datagram, seed, faults, sizes))
    };
    in_two_threads(CASES.iter().map(job).collect());
}
