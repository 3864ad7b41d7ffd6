//! Hostile datagrams: that they arrive, and what a victim makes of the good traffic beside them.

use bowline_tests::bus_peers::{Implementation, Pace, Sending, URL, implementation};
use bowline_tests::hostile::{ATTACKS, Attack, Hostile};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::Peers;
use bowline_tests::process::{Process, own_program};
use bowline_tests::tap::Heard;
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
    /// How it ended.
    status: ExitStatus,
}

/// Attacks a victim that also listens to a good sender, before and beside the attack.
fn besiege(victim: &Implementation, attack: &Attack) -> Siege {
    let peers = &Peers::find();
    let place = Namespace::new();
    let tap = Process::start_ready("tap", place.command(own_program("tap")).arg(GROUP));
    let victim = victim.receive(peers, &place, URL, ".*", 0);
    let sender = implementation("C").send(peers, &place, URL, &GOOD);
    let mut attacker = place.command(own_program("hostile"));
    attacker.args([GROUP, &PER_SECOND.to_string(), attack.name]);
    let attacker = Process::start_ready("hostile", &mut attacker);
    let n_datagrams = (attack.datagrams)().len();
    let said = [format!("{} {n_datagrams}", attack.name), "done".to_string()];
    assert_eq!(attacker.finish(), said);
    assert_eq!(sender.finish().len(), 1);
    let mut delivered = victim.lines_while(usize::MAX, Duration::from_secs(1));
    let (status, rest) = victim.end();
    delivered.extend(rest);
    delivered.retain(|line| line.starts_with("good "));
    let heard = tap.finish();
    let heard: Vec<Heard> = heard.iter().map(|line| Heard::from_line(line)).collect();
    Siege {
        hostile: hostile_of(&heard, attack),
        delivered,
        status,
    }
}

/// What an attack sent, of all that was heard.
fn hostile_of(heard: &[Heard], attack: &Attack) -> Vec<Heard> {
    let digest = |hostile: &Hostile| bowline_tests::content::digest(&hostile.datagram);
    let sent: BTreeSet<u32> = (attack.datagrams)().iter().map(digest).collect();
    let is_hostile = |heard: &&Heard| sent.contains(&heard.digest);
    heard.iter().filter(is_hostile).cloned().collect()
}

#[test]
fn every_attack_reaches_the_wire_whole() {
    for attack in ATTACKS {
        // The reference may die of it; this is about whether it was there.
        let siege = besiege(implementation("Python"), attack);
        let sent = (attack.datagrams)();
        assert_eq!(siege.hostile.len(), sent.len(), "{}", attack.name);
        let sources: BTreeSet<_> = siege.hostile.iter().map(|heard| heard.source).collect();
        let spoofed: BTreeSet<_> = sent.iter().filter_map(|hostile| hostile.source).collect();
        assert_eq!(sources.len(), spoofed.len().max(1), "{}", attack.name);
    }
}

#[test]
fn good_messages_beside_valid_ones_are_all_delivered() {
    let valid = bowline_tests::hostile::find("valid").expect("in the table");
    let siege = besiege(implementation("Python"), valid);
    let good: Vec<String> = (0..GOOD.count).map(|index| GOOD.line(index)).collect();
    assert_eq!(siege.delivered, good);
    assert!(siege.status.success(), "{}", siege.status);
}
