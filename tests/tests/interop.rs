//! Every implementation to every other, in a network namespace: all sizes, many channels, many processes.

use bowline_tests::bus_peers::{
    IMPLEMENTATIONS, Implementation, Pace, Sending, URL, URL_ACROSS_LINKS, implementation,
};
use bowline_tests::netns::{Namespace, Port};
use bowline_tests::peers::Peers;
use bowline_tests::process::Process;
use bowline_tests::report::{Job, in_two_threads};
use bowline_tests::sweep;
use std::time::Duration;

/// Four bytes, so that the sizes below meet what the implementations do at their limits.
const CHANNEL: &str = "PEER";
const MIB: usize = 1 << 20;
/// How often a message that may overrun a buffer is sent.
const MAX_ATTEMPTS: usize = 40;
/// After which time such a message is taken for lost. Too short only sends it once more.
const ATTEMPT: Duration = Duration::from_secs(2);

/// None at all, one byte, one Ethernet frame, both sides of where Java and C begin to cut, all around the largest
/// datagram, what Java cannot send, and many fragments.
fn sizes() -> Vec<usize> {
    let mut sizes = vec![0, 1, 1_400, 63_995, 63_996, 63_997];
    // The last that fits into one datagram has 65,494 bytes.
    let n_below = sweep::pick("sizes up to the largest datagram", 5, 60);
    sizes.extend(65_495 - n_below..=65_500);
    sizes.extend([127_995, 127_996, 127_997, 1_000_000, 8_000_000]);
    if sweep::is_whole() {
        sizes.push(64 * MIB);
    }
    // What follows the last shows whether it came.
    sizes.push(1);
    sizes
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It arrives at once.
    Arrives,
    /// It arrives, but may have to be sent again: see [`Implementation::surely_receives_bytes`].
    ArrivesInTheEnd,
    /// Something of its size arrives, whose last byte was never sent.
    ArrivesWithAWrongByte,
    /// The byte that was never sent is missed.
    IsIncomplete,
}

fn outcome(sender: &Implementation, receiver: &Implementation, size: usize) -> Outcome {
    let has_all = !(sender.forgets_last_byte)(CHANNEL, size);
    match (has_all, receiver.delivers_unsent_bytes) {
        (true, _) if size <= receiver.surely_receives_bytes => Outcome::Arrives,
        (true, _) => Outcome::ArrivesInTheEnd,
        (false, true) => Outcome::ArrivesWithAWrongByte,
        (false, false) => Outcome::IsIncomplete,
    }
}

/// A sender with what it sends, and what its receiver must print.
struct Direction {
    sender: Process,
    receiver: Process,
    name: String,
}

impl Direction {
    fn send(&mut self, index: u64) {
        self.sender.tell(index);
        assert_eq!(self.sender.line(), format!("sent {index}"), "{}", self.name);
    }

    fn send_until_it_arrives(&mut self, index: u64, expected: &str) {
        for _ in 0..MAX_ATTEMPTS {
            self.send(index);
            if self.hears(expected) {
                return;
            }
        }
        assert!(
            self.hears(expected),
            "{}: expected {expected}, sent {MAX_ATTEMPTS} times, found nothing",
            self.name
        );
    }

    /// Whether the receiver prints a line. Others are of messages that were taken for lost, and were only late.
    fn hears(&self, expected: &str) -> bool {
        std::iter::from_fn(|| self.receiver.line_within(ATTEMPT)).any(|line| line == expected)
    }
}

fn check_direction(peers: &Peers, sender: &Implementation, receiver: &Implementation) {
    let place = Namespace::new();
    place.limit_rate("lo", receiver.keeps_up_megabits_per_second);
    let sizes = sizes();
    let sending = Sending {
        channel: CHANNEL,
        n_channels: 1,
        seed: 11,
        count: 0,
        pace: Pace::Step,
        sizes: &sizes,
    };
    let mut direction = Direction {
        receiver: receiver.receive(peers, &place, URL, CHANNEL, 0),
        sender: sender.send(peers, &place, URL, &sending),
        name: format!("{} to {}", sender.name, receiver.name),
    };
    let mut earlier = String::new();
    for (index, &size) in (0..).zip(&sizes) {
        let expected = sending.line(index);
        match outcome(sender, receiver, size) {
            Outcome::Arrives => {
                direction.send(index);
                let mut line = direction.receiver.line();
                // A second copy of a message that was taken for lost.
                while line == earlier {
                    line = direction.receiver.line();
                }
                assert_eq!(line, expected, "{}", direction.name);
            }
            Outcome::ArrivesInTheEnd => direction.send_until_it_arrives(index, &expected),
            Outcome::ArrivesWithAWrongByte => {
                direction.send(index);
                let line = direction.receiver.line();
                let start = format!("{CHANNEL} {size} ");
                assert!(line.starts_with(&start), "{}: {line}", direction.name);
            }
            Outcome::IsIncomplete => direction.send(index),
        }
        earlier = expected;
    }
    for process in [direction.sender, direction.receiver] {
        let last = process.finish().pop().unwrap_or_default();
        assert!(last.starts_with("done "), "{}: {last}", direction.name);
    }
}

#[test]
fn messages_of_all_sizes_arrive_whole_from_every_implementation_at_every_other() {
    let peers = &Peers::find();
    println!("{} sizes, of 79", sizes().len());
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for sender in IMPLEMENTATIONS {
        for receiver in IMPLEMENTATIONS {
            jobs.push(Box::new(move || check_direction(peers, sender, receiver)));
        }
    }
    in_two_threads(jobs);
}

#[test]
fn thousands_of_channels_of_one_sender_arrive() {
    // As many small messages as any receiver's socket has room for.
    const N_AT_ONCE: u64 = 50;
    let n_channels: u64 = sweep::pick("channels of one sender", 2_000, 10_000);
    let peers = &Peers::find();
    let next = IMPLEMENTATIONS.iter().cycle().skip(1);
    for (sender, receiver) in IMPLEMENTATIONS.iter().zip(next) {
        let place = Namespace::new();
        let sending = Sending {
            channel: "channel.",
            n_channels,
            seed: 12,
            count: n_channels,
            pace: Pace::Step,
            sizes: &[20],
        };
        let receiver = receiver.receive(peers, &place, URL, "channel\\..*", n_channels);
        let mut sender = sender.send(peers, &place, URL, &sending);
        for start in (0..n_channels / N_AT_ONCE).map(|batch| batch * N_AT_ONCE) {
            let batch = start..start + N_AT_ONCE;
            for index in batch.clone() {
                sender.tell(index);
            }
            for index in batch {
                assert_eq!(receiver.line(), sending.line(index));
            }
        }
        let expected = format!("done {n_channels} messages {} bytes", n_channels * 20);
        assert_eq!(receiver.finish(), [&*expected]);
        assert_eq!(sender.finish().last(), Some(&expected));
    }
}

#[test]
fn two_hundred_processes_share_a_bus() {
    const N_PROCESSES: usize = 200;
    const N_MESSAGES: u64 = 10;
    let peers = &Peers::find();
    let place = Namespace::new();
    // Mostly ours, and some of the reference beside them.
    let [ours, theirs] = ["bowline", "C"].map(implementation);
    let sending = Sending {
        channel: "everyone",
        n_channels: 1,
        seed: 13,
        count: N_MESSAGES,
        pace: Pace::Step,
        sizes: &[100, 1000],
    };
    let start = |n: usize| {
        let one = if n.is_multiple_of(10) { theirs } else { ours };
        one.receive(peers, &place, URL, "everyone", N_MESSAGES)
    };
    let receivers: Vec<Process> = (1..N_PROCESSES).map(start).collect();
    let mut sender = ours.send(peers, &place, URL, &sending);
    for index in 0..N_MESSAGES {
        sender.tell(index);
        for receiver in &receivers {
            assert_eq!(receiver.line(), sending.line(index));
        }
    }
    for receiver in receivers {
        assert_eq!(
            receiver.finish(),
            [format!("done {N_MESSAGES} messages 5500 bytes")]
        );
    }
    assert_eq!(
        sender.finish().last().map(String::as_str),
        Some("done 10 messages 5500 bytes")
    );
}

#[test]
fn every_implementation_receives_another_host() {
    let peers = &Peers::find();
    let [here, there] = [(); 2].map(|()| Namespace::without_multicast());
    Namespace::link([
        Port {
            namespace: &here,
            device: "net0",
            address: Some("10.7.0.1/24"),
        },
        Port {
            namespace: &there,
            device: "net0",
            address: Some("10.7.0.2/24"),
        },
    ]);
    let sending = Sending {
        channel: "far",
        n_channels: 1,
        seed: 15,
        count: 3,
        pace: Pace::Step,
        sizes: &[0, 1_500, 70_000],
    };
    let next = IMPLEMENTATIONS.iter().cycle().skip(1);
    for (sender, receiver) in IMPLEMENTATIONS.iter().zip(next) {
        let receiver = receiver.receive(peers, &there, URL_ACROSS_LINKS, "far", 3);
        let mut sender = sender.send(peers, &here, URL_ACROSS_LINKS, &sending);
        for index in 0..3 {
            sender.tell(index);
            assert_eq!(receiver.line(), sending.line(index));
        }
        assert_eq!(receiver.finish(), ["done 3 messages 71500 bytes"]);
    }
}

#[test]
fn every_implementation_echoes() {
    let peers = &Peers::find();
    let place = Namespace::new();
    let sizes = [0, 100, 70_000];
    for echo in IMPLEMENTATIONS {
        let (ask, answer) = (
            format!("ask.{}", echo.name),
            format!("answer.{}", echo.name),
        );
        let sending = Sending {
            channel: &ask,
            n_channels: 1,
            seed: 14,
            count: 0,
            pace: Pace::Step,
            sizes: &sizes,
        };
        let echo = echo.echo(peers, &place, URL, &ask, &answer);
        let c = implementation("C");
        let receiver = c.receive(peers, &place, URL, &answer, 3);
        let mut sender = c.send(peers, &place, URL, &sending);
        for index in 0..3 {
            sender.tell(index);
            assert_eq!(receiver.line(), sending.line(index).replace(&ask, &answer));
        }
        assert_eq!(echo.finish(), ["done 3 messages 70100 bytes"]);
    }
}
