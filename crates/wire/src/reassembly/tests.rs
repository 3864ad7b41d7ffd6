//! Promises, one by one; those about any schedule are in `properties.rs`.

mod properties;

use super::*;
use crate::datagram::{Cut, Datagram};
use alloc::string::{String, ToString as _};

/// The datagrams of a message on channel "c".
fn cut(sequence: u32, message: &[u8], body: usize) -> Vec<Vec<u8>> {
    let cut = Cut::new("c", message.len(), body).expect("a message that can be cut");
    let write = |index| {
        let mut datagram = Vec::new();
        cut.write_header(sequence, index, &mut datagram);
        datagram.extend_from_slice(message.get(cut.range(index)).expect("ranges lie within"));
        datagram
    };
    (0..cut.count()).map(write).collect()
}

fn parse(datagram: &[u8]) -> Fragment<'_> {
    match Datagram::parse(datagram) {
        Ok(Datagram::Fragment(fragment)) => fragment,
        other => panic!("expected a fragment, found {other:?}"),
    }
}

fn fragment<'a>(
    size: u32,
    offset: u32,
    (index, count): (u16, u16),
    payload: &'a [u8],
) -> Fragment<'a> {
    let channel = (index == 0).then_some("c");
    Fragment {
        sequence: 0,
        message_size: size,
        offset,
        index,
        count,
        channel,
        payload,
    }
}

fn noise(size: usize, seed: u8) -> Vec<u8> {
    (0..size)
        .map(|at| (at.wrapping_mul(31) ^ (at >> 8)).to_le_bytes()[0].wrapping_add(seed))
        .collect()
}

fn complete(payload: &[u8]) -> Outcome {
    Outcome::Complete {
        channel: "c".into(),
        payload: payload.to_vec(),
    }
}

/// A reassembler of which one sender's messages are wanted.
struct Rig {
    reassembler: Reassembler<u16>,
    now_us: u64,
}

impl Rig {
    fn new(limits: Limits) -> Self {
        Self {
            reassembler: Reassembler::new(limits),
            now_us: 0,
        }
    }

    fn accept(&mut self, fragment: &Fragment<'_>) -> Outcome {
        self.accept_from(0, fragment)
    }

    fn accept_from(&mut self, sender: u16, fragment: &Fragment<'_>) -> Outcome {
        self.reassembler
            .accept(sender, fragment, self.now_us, &mut |_| true)
    }

    fn counts(&self) -> Counts {
        Counts {
            bytes_held: 0,
            ..self.reassembler.counts()
        }
    }
}

#[test]
fn a_message_arrives_in_whatever_order_its_fragments_come() {
    let message = noise(1_000, 0);
    let datagrams = cut(5, &message, 300);
    let orders = [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [1, 0, 3, 2],
        [2, 3, 0, 1],
        [1, 3, 0, 2],
    ];
    for order in orders {
        let mut rig = Rig::new(Limits::default());
        let mut outcomes = order
            .iter()
            .map(|at| rig.accept(&parse(datagrams.get(*at).unwrap())))
            .collect::<Vec<_>>();
        assert_eq!(outcomes.pop(), Some(complete(&message)), "{order:?}");
        assert!(
            outcomes.iter().all(|outcome| *outcome == Outcome::Pending),
            "{order:?}"
        );
        assert_eq!(
            rig.counts(),
            Counts {
                completed: 1,
                ..Counts::default()
            }
        );
    }
}

#[test]
fn a_message_without_bytes_arrives() {
    let mut rig = Rig::new(Limits::default());
    assert_eq!(rig.accept(&fragment(0, 0, (0, 1), b"")), complete(b""));
}

#[test]
fn a_duplicate_does_not_stand_in_for_what_is_missing() {
    let message = noise(500, 0);
    let datagrams = cut(0, &message, 200);
    let mut rig = Rig::new(Limits::default());
    for at in [1, 1, 1, 0, 0, 1] {
        assert!(!matches!(
            rig.accept(&parse(datagrams.get(at).unwrap())),
            Outcome::Complete { .. }
        ));
    }
    assert_eq!(
        rig.counts(),
        Counts {
            duplicates: 4,
            partial: 1,
            ..Counts::default()
        }
    );
    assert_eq!(
        rig.accept(&parse(datagrams.get(2).unwrap())),
        complete(&message)
    );
    for datagram in &datagrams {
        assert_eq!(
            rig.accept(&parse(datagram)),
            Outcome::Dropped(DropReason::Duplicate),
            "not delivered twice"
        );
    }
}

#[test]
fn a_message_that_lacks_its_last_byte_is_not_delivered() {
    let mut rig = Rig::new(Limits::default());
    assert_eq!(rig.accept(&fragment(4, 0, (0, 2), b"ab")), Outcome::Pending);
    assert_eq!(
        rig.accept(&fragment(4, 2, (1, 2), b"c")),
        Outcome::Pending,
        "all fragments, but not all bytes"
    );
    rig.reassembler.expire(10_000_000);
    assert_eq!(
        rig.counts(),
        Counts {
            idle: 1,
            ..Counts::default()
        }
    );
}

#[test]
fn overlaps_that_agree_are_harmless() {
    let mut rig = Rig::new(Limits::default());
    let steps: [(u32, &[u8], bool); 7] = [
        (6, b"6", true),
        (2, b"23", true),
        (5, b"567", true),
        (3, b"3456", true),
        (2, b"234567", false),
        (8, b"8", true),
        (6, b"678", false),
    ];
    for (offset, payload, is_new) in steps {
        let expected = if is_new {
            Outcome::Pending
        } else {
            Outcome::Dropped(DropReason::Duplicate)
        };
        assert_eq!(
            rig.accept(&fragment(9, offset, (1, 9), payload)),
            expected,
            "{offset}"
        );
    }
    assert_eq!(
        rig.accept(&fragment(9, 0, (0, 9), b"0123")),
        complete(b"012345678")
    );
}

#[test]
fn a_contradiction_spoils_the_message_whatever_comes_after() {
    let lies = [
        fragment(8, 2, (1, 4), b"2x"),
        fragment(8, 4, (1, 4), b"x5"),
        fragment(8, 0, (1, 4), b"x"),
        fragment(9, 6, (2, 4), b"67"),
        fragment(8, 6, (2, 5), b"67"),
        Fragment {
            channel: Some("other"),
            ..fragment(8, 0, (0, 4), b"01")
        },
    ];
    for lie in lies {
        let mut rig = Rig::new(Limits::default());
        assert_eq!(
            rig.accept(&fragment(8, 0, (0, 4), b"0123")),
            Outcome::Pending
        );
        assert_eq!(rig.accept(&fragment(8, 5, (2, 4), b"56")), Outcome::Pending);
        let lie = if lie.offset == 4 {
            fragment(8, 4, (1, 4), b"4x")
        } else {
            lie
        };
        assert_eq!(
            rig.accept(&lie),
            Outcome::Dropped(DropReason::Conflict),
            "{lie:?}"
        );
        for rest in [
            fragment(8, 0, (0, 4), b"0123"),
            fragment(8, 4, (1, 4), b"4567"),
        ] {
            assert_eq!(
                rig.accept(&rest),
                Outcome::Dropped(DropReason::Conflict),
                "{lie:?}"
            );
        }
        assert_eq!(
            rig.counts(),
            Counts {
                conflicts: 1,
                ..Counts::default()
            }
        );
    }
}

#[test]
fn restarted_sender_is_received_after_silence() {
    let (old, new) = (noise(500, 0), noise(500, 1));
    for keep in [[0, 1], [0, 2], [1, 2]] {
        let mut rig = Rig::new(Limits::default());
        for at in keep {
            assert_eq!(
                rig.accept(&parse(cut(0, &old, 200).get(at).unwrap())),
                Outcome::Pending
            );
        }
        rig.now_us += 300_000;
        rig.reassembler.forget(0);
        let outcomes: Vec<_> = cut(0, &new, 200)
            .iter()
            .map(|datagram| rig.accept(&parse(datagram)))
            .collect();
        assert_eq!(
            outcomes,
            [Outcome::Pending, Outcome::Pending, complete(&new)],
            "{keep:?}"
        );
        assert_eq!(
            rig.counts(),
            Counts {
                completed: 1,
                superseded: 1,
                ..Counts::default()
            }
        );
    }
}

#[test]
fn a_number_is_used_again_without_notice_after_a_silence() {
    let (old, new) = (noise(500, 0), noise(500, 1));
    let mut rig = Rig::new(Limits::default());
    assert_eq!(
        rig.accept(&parse(cut(0, &old, 200).first().unwrap())),
        Outcome::Pending
    );
    for message in [&new, &new, &old] {
        rig.now_us += 300_000;
        let outcomes: Vec<_> = cut(0, message, 200)
            .iter()
            .map(|datagram| rig.accept(&parse(datagram)))
            .collect();
        assert_eq!(
            outcomes,
            [Outcome::Pending, Outcome::Pending, complete(message)]
        );
    }
    assert_eq!(
        rig.counts(),
        Counts {
            completed: 3,
            superseded: 1,
            ..Counts::default()
        }
    );
}

#[test]
fn an_unwanted_message_is_asked_for_once_and_takes_no_memory() {
    let message = noise(10_000, 0);
    let datagrams = cut(0, &message, 1_000);
    for first in [0, 4] {
        let mut asked = Vec::<String>::new();
        let mut reassembler = Reassembler::new(Limits::default());
        let (late, early) = datagrams.split_at(first);
        for datagram in early.iter().chain(late) {
            let _outcome = reassembler.accept((), &parse(datagram), 0, &mut |channel| {
                asked.push(channel.to_string());
                false
            });
        }
        assert_eq!(asked, ["c"]);
        let counts = reassembler.counts();
        assert_eq!((counts.unwanted, counts.partial), (1, 0));
        assert!(counts.bytes_held <= ENTRY_SIZE, "{counts:?}");
        assert_eq!(
            reassembler.accept((), &parse(datagrams.last().unwrap()), 0, &mut |_| true),
            Outcome::Unwanted
        );
    }
}

#[test]
fn a_claim_takes_no_memory() {
    let mut rig = Rig::new(Limits {
        small_bytes: 1 << 20,
        ..Limits::default()
    });
    for sender in 0..100 {
        let claim = fragment(i32::MAX.unsigned_abs(), 1 << 30, (1, u16::MAX), b"12345678");
        assert_eq!(rig.accept_from(sender, &claim), Outcome::Pending);
        let claim = Fragment {
            sequence: 1,
            ..fragment(i32::MAX.unsigned_abs(), 0, (0, u16::MAX), b"12345678")
        };
        assert_eq!(rig.accept_from(sender, &claim), Outcome::Pending);
    }
    assert!(
        rig.reassembler.counts().bytes_held < 200 * 600,
        "{:?}",
        rig.reassembler.counts()
    );
}

#[test]
fn what_is_larger_than_allowed_is_refused() {
    let mut rig = Rig::new(Limits {
        max_message_size: 99,
        ..Limits::default()
    });
    assert_eq!(
        rig.accept(&fragment(100, 0, (0, 2), b"x")),
        Outcome::Dropped(DropReason::TooLarge)
    );
    assert_eq!(
        rig.accept(&fragment(99, 99, (1, 2), b"x")),
        Outcome::Dropped(DropReason::Malformed)
    );
    assert_eq!(
        rig.counts(),
        Counts {
            too_large: 1,
            malformed: 1,
            ..Counts::default()
        }
    );
}

#[test]
fn crumbs_in_greater_number_than_fragments_are_refused() {
    let mut rig = Rig::new(Limits::default());
    let outcomes: Vec<_> = (1..7)
        .map(|at| rig.accept(&fragment(100, at * 2, (1, 5), b"x")))
        .collect();
    assert_eq!(
        outcomes.last(),
        Some(&Outcome::Dropped(DropReason::Conflict))
    );
    assert_eq!(rig.counts().conflicts, 1);
}

#[test]
fn a_flood_does_not_push_out_a_transfer_that_moves() {
    let limits = Limits {
        small_bytes: 256 << 10,
        max_partial: 64,
        large_from: 16 << 10,
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    let message = noise(200_000, 0);
    let datagrams = cut(0, &message, 1_400);
    let mut n_complete = 0;
    for (at, datagram) in datagrams.iter().enumerate() {
        n_complete += usize::from(rig.accept(&parse(datagram)) == complete(&message));
        for junk in 0..20 {
            let sender = u16::try_from(at * 20 + junk + 1).unwrap();
            let junk = noise(5_000, 0);
            let _outcome = rig.accept_from(sender, &fragment(10_000, 0, (0, 2), &junk));
        }
        let counts = rig.reassembler.counts();
        assert!(
            counts.bytes_held <= limits.small_bytes + 200_000 + 64 * ENTRY_SIZE + 1_000,
            "{counts:?}"
        );
        assert!(counts.partial <= 65);
    }
    assert_eq!(n_complete, 1);
    assert!(rig.counts().evicted > 2_000);
}

#[test]
fn large_messages_do_not_push_each_other_out_forever() {
    let limits = Limits {
        large_from: 1_000,
        large_bytes: 250_000,
        small_bytes: 100_000,
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    let message = noise(100_000, 0);
    let datagrams = cut(0, &message, 1_000);
    let mut n_complete = 0;
    for datagram in &datagrams {
        for sender in 0..4 {
            n_complete +=
                usize::from(rig.accept_from(sender, &parse(datagram)) == complete(&message));
            assert!(
                rig.reassembler.counts().bytes_held
                    <= limits.large_bytes + limits.small_bytes + 4 * ENTRY_SIZE
            );
        }
    }
    assert_eq!(n_complete, 2, "as many as there is room for");
    assert_eq!(
        rig.counts(),
        Counts {
            completed: 2,
            evicted: 2,
            ..Counts::default()
        }
    );
}

#[test]
fn a_message_larger_than_the_room_arrives_if_it_is_alone() {
    let limits = Limits {
        large_from: 1_000,
        large_bytes: 20_000,
        small_bytes: 10_000,
        ..Limits::default()
    };
    let message = noise(100_000, 0);
    let datagrams = cut(0, &message, 1_000);
    let mut rig = Rig::new(limits);
    let last = datagrams
        .iter()
        .map(|datagram| rig.accept(&parse(datagram)))
        .last();
    assert!(last == Some(complete(&message)));

    for datagram in datagrams.iter().take(5) {
        assert_eq!(rig.accept_from(1, &parse(datagram)), Outcome::Pending);
    }
    let outcomes: Vec<_> = datagrams
        .iter()
        .map(|datagram| rig.accept_from(2, &parse(datagram)))
        .collect();
    assert!(
        outcomes.contains(&Outcome::Dropped(DropReason::NoRoom)),
        "beside another it gives way"
    );
    let last = datagrams
        .iter()
        .skip(5)
        .map(|datagram| rig.accept_from(1, &parse(datagram)))
        .last();
    assert!(last == Some(complete(&message)));
}

#[test]
fn what_is_idle_is_given_up_and_what_is_not_is_kept() {
    let mut rig = Rig::new(Limits::default());
    let message = noise(300, 0);
    let datagrams = cut(0, &message, 100);
    for sender in [1, 2] {
        assert_eq!(
            rig.accept_from(sender, &parse(datagrams.first().unwrap())),
            Outcome::Pending
        );
    }
    rig.now_us = 6_000_000;
    assert_eq!(
        rig.accept_from(1, &parse(datagrams.get(1).unwrap())),
        Outcome::Pending
    );
    rig.reassembler.expire(10_000_000);
    assert_eq!(
        rig.counts(),
        Counts {
            idle: 1,
            partial: 1,
            ..Counts::default()
        }
    );
    rig.reassembler.expire(16_000_000);
    assert_eq!(
        rig.reassembler.counts(),
        Counts {
            idle: 2,
            ..Counts::default()
        }
    );
}
