//! Hostile datagrams: that they arrive, and what a victim makes of the good traffic beside them.

use bowline_tests::built::own_program;
use bowline_tests::bus_peers::{
    Implementation, Pace, Sending, URL, await_datagrams, implementation,
};
use bowline_tests::hostile::{ATTACKS, Attack, Hostile, N_SOURCES};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::Peers;
use bowline_tests::process::Process;
use bowline_tests::report::{Job, in_two_threads};
use bowline_tests::tap::Heard;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::time::Duration;

const GROUP: &str = "239.255.76.67:7667";
const GOOD: Sending<'_> = Sending {
    channel: "good",
    n_channels: 1,
    seed: 31,
    count: 100,
    pace: Pace::PerSecond(200),
    sizes: &[0, 100, 3_000, 70_000],
};
/// Hostile datagrams a second: as fast as a tap and a victim surely take them on a busy machine.
const PER_SECOND: u32 = 20_000;

/// What came of an attack.
struct Siege {
    /// All datagrams that were on the wire and not the good sender's.
    hostile: Vec<Heard>,
    /// What the victim delivered of the good channel. It listens to all.
    delivered: Vec<String>,
    /// What it delivered of the channel of attacks.
    evil: Vec<String>,
    /// How it ended.
    status: ExitStatus,
    /// What it counted, if it is ours.
    counts: Value,
    /// All datagrams that were on the wire.
    n_heard: usize,
    /// How much more memory it had at its worst than before.
    growth_kib: Option<u64>,
}

/// A figure of a process, in KiB; none when it has died.
fn memory_kib(process: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Attacks a victim that also listens to a good sender, before and beside the attack.
fn besiege(victim: &Implementation, attack: &Attack) -> Siege {
    let peers = &Peers::find();
    let place = Namespace::new();
    let tap = Process::start_ready("tap", place.command(own_program("tap")).arg(GROUP));
    let is_ours = victim.name == "bowline";
    let mut victim = victim.receive(peers, &place, URL, ".*", 0);
    let before = memory_kib(victim.id(), "VmRSS:");
    let sender = implementation("C").send(peers, &place, URL, &GOOD);
    let mut attacker = place.command(own_program("hostile"));
    attacker.args([GROUP, &PER_SECOND.to_string(), attack.name]);
    let attacker = Process::start_ready("hostile", &mut attacker);
    let n_datagrams = (attack.datagrams)().len();
    let said = [format!("{} {n_datagrams}", attack.name), "done".to_string()];
    assert_eq!(attacker.finish(), said);
    assert_eq!(sender.finish().len(), 1);
    let heard = tap.finish();
    let (mut delivered, mut counts) = (Vec::new(), Value::Null);
    if is_ours {
        counts = await_datagrams(&mut victim, heard.len(), &mut delivered);
    } else {
        delivered = victim.lines_while(usize::MAX, Duration::from_secs(1));
    }
    let worst = memory_kib(victim.id(), "VmHWM:");
    let (status, rest) = victim.end();
    delivered.extend(rest);
    let evil = delivered.iter().filter(|line| line.starts_with("EVIL "));
    let evil = evil.cloned().collect();
    delivered.retain(|line| line.starts_with("good "));
    let heard: Vec<Heard> = heard.iter().map(|line| Heard::from_line(line)).collect();
    Siege {
        hostile: hostile_of(&heard, attack),
        delivered,
        evil,
        status,
        counts,
        n_heard: heard.len(),
        growth_kib: worst
            .zip(before)
            .map(|(worst, before)| worst.saturating_sub(before)),
    }
}

/// What an attack sent, of all that was received.
fn hostile_of(heard: &[Heard], attack: &Attack) -> Vec<Heard> {
    let digest = |hostile: &Hostile| bowline_tests::content::digest(&hostile.datagram);
    let sent: BTreeSet<u32> = (attack.datagrams)().iter().map(digest).collect();
    let is_hostile = |heard: &&Heard| sent.contains(&heard.digest);
    heard.iter().filter(is_hostile).cloned().collect()
}

#[test]
fn every_attack_reaches_the_wire_whole() {
    let check = |attack: &Attack| {
        // The reference may die of it; this is about whether it was there.
        let siege = besiege(implementation("Python"), attack);
        let sent = (attack.datagrams)();
        assert_eq!(siege.hostile.len(), sent.len(), "{}", attack.name);
        let sources: BTreeSet<_> = siege.hostile.iter().map(|heard| heard.source).collect();
        let spoofed: BTreeSet<_> = sent.iter().filter_map(|hostile| hostile.source).collect();
        assert_eq!(sources.len(), spoofed.len().max(1), "{}", attack.name);
    };
    assert!(ATTACKS.len() >= 5, "{} attacks", ATTACKS.len());
    let jobs = ATTACKS
        .iter()
        .map(|attack| -> Job<'_> { Box::new(move || check(attack)) });
    in_two_threads(jobs.collect());
}

#[test]
fn good_messages_beside_valid_ones_are_all_delivered() {
    let valid = bowline_tests::hostile::find("valid").expect("in the table");
    let siege = besiege(implementation("Python"), valid);
    let good: Vec<String> = (0..GOOD.count).map(|index| GOOD.line(index)).collect();
    assert_eq!(siege.delivered, good);
    assert!(siege.status.success(), "{}", siege.status);
}

/// What our counters must show of an attack beside good traffic.
fn check_counts(attack: &str, counts: &Value) {
    let count = |name: &str| counts[name].as_u64().expect("a count");
    let n_unfinished = count("partial") + count("incomplete");
    assert_eq!(count("kernel_drops"), 0, "{attack}: {counts}");
    let (is_seen, what) = match attack {
        "bit-flips" | "names" | "noise" | "truncations" | "wraps" => {
            (count("malformed") > 0, "malformed")
        }
        "claims" => (n_unfinished >= 1_000, "partial"),
        "duplicates" => (
            count("duplicates") > 0 && count("conflicts") > 0,
            "duplicates and conflicts",
        ),
        "flood" => {
            let all = u64::from(N_SOURCES);
            (count("senders") >= all && n_unfinished >= all, "senders")
        }
        "valid" => (count("malformed") == 0, "nothing malformed"),
        _ => (false, "a line here with the counter that it counts as"),
    };
    assert!(is_seen, "{attack}: expected {what}, found {counts}");
}

#[test]
fn no_attack_harms_our_receiver_or_the_good_traffic_beside_it() {
    const MAX_GROWTH_KIB: u64 = 64 << 10;
    let good: Vec<String> = (0..GOOD.count).map(|index| GOOD.line(index)).collect();
    let check = |attack: &Attack| {
        let siege = besiege(implementation("bowline"), attack);
        let name = attack.name;
        assert!(siege.status.success(), "{name}: {}", siege.status);
        assert_eq!(siege.delivered, good, "{name}");
        assert_eq!(siege.counts["datagrams"], siege.n_heard, "{name}");
        let growth_kib = siege.growth_kib.expect("it is alive");
        assert!(growth_kib <= MAX_GROWTH_KIB, "{name}: {growth_kib} KiB");
        check_counts(name, &siege.counts);
        let deliverable = match name {
            // The only message that ever came whole.
            "duplicates" => Some("EVIL 31 "),
            "claims" | "flood" | "wraps" => None,
            _ => Some("EVIL "),
        };
        let is_wrong = |line: &&String| deliverable.is_none_or(|start| !line.starts_with(start));
        assert_eq!(siege.evil.iter().find(is_wrong), None, "{name}");
    };
    let check = &check;
    let job = |attack: &'static Attack| -> Job<'_> { Box::new(move || check(attack)) };
    in_two_threads(ATTACKS.iter().map(job).collect());
}
