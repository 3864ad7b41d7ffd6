//! A sender that means harm: datagrams that are cut, flipped, lie, come twice, or come from thousands of places.
//!
//! [`ATTACKS`] is the table. What an attack sends depends only on its row, so that a failure can be had again. Its channel
//! is [`CHANNEL`], and nothing that it sends is on a channel that the tests use for good traffic: whatever a victim
//! delivers there must be what the good sender sent.

mod send;

pub use send::attack;

use crate::lcm_datagram::{Fragment, fragments, short};
use crate::random::Random;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The channel of attacks, as far as it is not mangled.
pub const CHANNEL: &str = "EVIL";
/// How many senders a flood has.
pub const N_SOURCES: u32 = 10_000;
/// What receivers of the reference take for the largest message.
const MAX_MESSAGE_BYTES: u32 = 1 << 28;

/// One way to do harm.
#[derive(Debug)]
pub struct Attack {
    /// What it is called.
    pub name: &'static str,
    /// What it sends.
    pub datagrams: fn() -> Vec<Hostile>,
}

/// A datagram, and whom it claims to be from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hostile {
    /// None for the attacker's own socket.
    pub source: Option<SocketAddrV4>,
    /// What LCM sees.
    pub datagram: Vec<u8>,
}

/// All attacks.
pub const ATTACKS: &[Attack] = &[
    Attack {
        name: "bit-flips",
        datagrams: || honest(bit_flips()),
    },
    Attack {
        name: "claims",
        datagrams: claims,
    },
    Attack {
        name: "duplicates",
        datagrams: || honest(duplicates()),
    },
    Attack {
        name: "flood",
        datagrams: flood,
    },
    Attack {
        name: "names",
        datagrams: || honest(names()),
    },
    Attack {
        name: "noise",
        datagrams: || honest(noise()),
    },
    Attack {
        name: "truncations",
        datagrams: || honest(truncations()),
    },
    Attack {
        name: "valid",
        datagrams: || honest(valid(0).concat()),
    },
    Attack {
        name: "wraps",
        datagrams: || honest(wraps()),
    },
];

/// The attack with that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Attack> {
    ATTACKS.iter().find(|attack| attack.name == name)
}

fn honest(datagrams: Vec<Vec<u8>>) -> Vec<Hostile> {
    let from_us = |datagram| Hostile {
        source: None,
        datagram,
    };
    datagrams.into_iter().map(from_us).collect()
}

/// Nothing wrong with them: a short message, an empty one, and one of three fragments. What the others are made from.
fn valid(seqno: u32) -> Vec<Vec<Vec<u8>>> {
    vec![
        vec![short(seqno, CHANNEL, b"sixteen bytes ok")],
        vec![short(seqno + 1, CHANNEL, b"")],
        fragments(seqno + 2, CHANNEL, b"twenty bytes, thrice", 7),
    ]
}

/// Every beginning of every valid datagram, with the rest of its message whole.
fn truncations() -> Vec<Vec<u8>> {
    mangled(|datagram| {
        (0..datagram.len())
            .map(|n| datagram[..n].to_vec())
            .collect()
    })
}

/// Every valid datagram with every one of its bits flipped, with the rest of its message whole.
fn bit_flips() -> Vec<Vec<u8>> {
    let flip = |datagram: &[u8], bit: usize| {
        let mut datagram = datagram.to_vec();
        datagram[bit / 8] ^= 1 << (bit % 8);
        datagram
    };
    mangled(|datagram| {
        (0..8 * datagram.len())
            .map(|bit| flip(datagram, bit))
            .collect()
    })
}

/// Every valid message with one of its datagrams mangled, in all ways that there are. Each has numbers of its own, so that
/// none completes what another left, unless it is the number that is mangled.
fn mangled(mangle: impl Fn(&[u8]) -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut seqno = 0;
    for (at, message) in valid(0).iter().enumerate() {
        for part in 0..message.len() {
            for way in 0..mangle(&message[part]).len() {
                seqno += 3;
                let mut message = valid(seqno).swap_remove(at);
                message[part] = mangle(&message[part]).swap_remove(way);
                all.extend(message);
            }
        }
    }
    all
}

/// Fragments whose numbers do not fit together, at all the places where sums and differences wrap.
fn wraps() -> Vec<Vec<u8>> {
    let body = [CHANNEL.as_bytes(), b"\0twelve bytes"].concat();
    let length = u32::try_from(body.len()).expect("short");
    let edges = [
        0,
        1,
        length - 1,
        length,
        i32::MAX.cast_unsigned(),
        1 << 31,
        u32::MAX - length,
        u32::MAX - length + 1,
        u32::MAX,
    ];
    let sizes = [MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES + 1];
    let mut all = Vec::new();
    let mut seqno = 0;
    for offset in edges {
        for message_size in edges.into_iter().chain(sizes) {
            for (index, count) in [
                (0, 0),
                (0, 1),
                (0, 2),
                (1, 1),
                (1, 2),
                (u16::MAX, 2),
                (u16::MAX, u16::MAX),
            ] {
                seqno += 1;
                let header = Fragment {
                    seqno,
                    message_size,
                    offset,
                    index,
                    count,
                };
                all.push(header.datagram(&body));
                all.push(header.datagram(b""));
            }
        }
    }
    all
}

/// Channels without an end, without a beginning, and of all lengths around what is allowed.
fn names() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for length in [0, 1, 62, 63, 64, 65, 255, 256, 1_000, 65_000] {
        let name = "E".repeat(length);
        let ended = short(0, &name, b"");
        all.push(ended[..ended.len() - 1].to_vec());
        all.push(ended);
        let message_size = 10;
        let header = Fragment {
            message_size,
            count: 1,
            ..Fragment::default()
        };
        all.push(header.datagram(name.as_bytes()));
        all.push(header.datagram(&[name.as_bytes(), b"\0ten bytes!"].concat()));
    }
    // Not text, and a name that goes on into what an earlier datagram left in a buffer.
    all.push([&short(1, "", b"")[..8], &[0xff, 0xfe, 0x80, 0]].concat());
    all.push(short(2, &"A".repeat(60_000), b""));
    all.push([&short(3, "", b"")[..8], b"AAA"].concat());
    all
}

/// Fragments that come twice while another never comes, messages that come twice, fragments of one number that belong to
/// different messages, and fragments that overlap.
fn duplicates() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for seqno in 0..200 {
        let parts = fragments(seqno, CHANNEL, b"one hundred bytes, or not quite", 11);
        let [first, second, third] = &parts[..] else {
            panic!("expected three parts, found {}", parts.len());
        };
        let again = fragments(seqno, CHANNEL, b"other bytes, but as many of it!", 11);
        let longer = fragments(seqno, CHANNEL, &[7; 40], 15);
        let overlapping = fragments(seqno, CHANNEL, &[8; 31], 16);
        let sequences: [&[&Vec<u8>]; 6] = [
            &[first, first, second],
            &[second, second, second],
            &[third, first, first],
            &[first, &again[1], &longer[2]],
            &[first, &overlapping[1], &overlapping[1]],
            &[first, second, third, first, second, third],
        ];
        let which = usize::try_from(seqno).expect("small") % sequences.len();
        all.extend(sequences[which].iter().map(|&part| part.clone()));
    }
    all
}

/// Random bytes, with and without a beginning that looks right.
fn noise() -> Vec<Vec<u8>> {
    let mut random = Random::new(666);
    let mut one = |_| {
        let n_bytes = random.below(100);
        let start = *random.pick(&[&b""[..], b"LC02", b"LC03", b"LC04"]);
        let mut datagram = start.to_vec();
        datagram.extend((0..n_bytes).map(|_| random.bits().to_le_bytes()[0]));
        datagram
    };
    (0..2_000).map(&mut one).collect()
}

/// The first half of a message, from everywhere, and the second is never sent.
fn flood() -> Vec<Hostile> {
    let half = |n| Hostile {
        source: Some(source(n)),
        datagram: fragments(n, CHANNEL, &[0x66; 2_800], 1_400).swap_remove(0),
    };
    (0..N_SOURCES).map(half).collect()
}

/// A few bytes of messages as large as can be: a receiver that believes them has no memory left.
fn claims() -> Vec<Hostile> {
    let claim = |n| Hostile {
        source: Some(source(n)),
        datagram: Fragment {
            seqno: n,
            message_size: MAX_MESSAGE_BYTES,
            count: u16::MAX,
            ..Fragment::default()
        }
        .datagram(b"EVIL\0few bytes"),
    };
    (0..1_000).map(claim).collect()
}

/// An address without a host.
fn source(n: u32) -> SocketAddrV4 {
    let address = Ipv4Addr::from_bits(Ipv4Addr::new(10, 66, 0, 1).to_bits() + n);
    SocketAddrV4::new(address, 7667)
}

#[cfg(test)]
mod tests {
    use super::{ATTACKS, CHANNEL, N_SOURCES, bit_flips, flood, mangled, truncations, valid};
    use std::collections::BTreeSet;

    #[test]
    fn attacks_are_sorted_and_send_the_same_each_time() {
        assert!(ATTACKS.is_sorted_by_key(|attack| attack.name));
        for attack in ATTACKS {
            let datagrams = (attack.datagrams)();
            assert!(!datagrams.is_empty(), "{}", attack.name);
            assert_eq!(datagrams, (attack.datagrams)(), "{}", attack.name);
        }
    }

    #[test]
    fn every_bit_and_every_length_has_its_turn() {
        let n_bytes: usize = valid(0).concat().iter().map(Vec::len).sum();
        let n_of_message: Vec<usize> = valid(0).iter().map(Vec::len).collect();
        assert_eq!(n_of_message, [1, 1, 3]);
        let n_short: usize = valid(0)[..2].concat().iter().map(Vec::len).sum();
        // A mangled fragment comes with two whole ones.
        let n_datagrams = n_short + 3 * (n_bytes - n_short);
        assert_eq!(truncations().len(), n_datagrams);
        assert_eq!(bit_flips().len(), 8 * n_datagrams);
        let untouched: BTreeSet<_> = mangled(|datagram| vec![datagram.to_vec()])
            .into_iter()
            .collect();
        assert_eq!(untouched.len(), valid(0).concat().len() + 2 * 3);
    }

    #[test]
    fn a_flood_comes_from_everywhere() {
        let sources: BTreeSet<_> = flood().iter().map(|hostile| hostile.source).collect();
        assert_eq!(sources.len(), usize::try_from(N_SOURCES).unwrap());
        assert!(!sources.contains(&None));
        assert_eq!(CHANNEL.len(), 4);
    }
}
