//! Any schedule of loss, repetition and disorder.

use super::*;
use alloc::vec;
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Debug)]
struct Sent {
    sender: u16,
    sequence: u32,
    message: Vec<u8>,
    body: usize,
}

fn sent() -> impl Strategy<Value = Vec<Sent>> {
    let message = (0..3u16, 10usize..200, 0usize..1_500, any::<u8>());
    proptest::collection::vec(message, 1..6).prop_map(|messages| {
        let numbered = (0..).zip(messages);
        let sent = |(sequence, (sender, body, size, seed))| Sent {
            sender,
            sequence,
            message: noise(size, seed),
            body,
        };
        numbered.map(sent).collect()
    })
}

/// Datagrams to be dropped, repeated and exchanged: a list of places from which to take the next.
fn schedule() -> impl Strategy<Value = Vec<Index>> {
    proptest::collection::vec(any::<Index>(), 0..200)
}

proptest! {
    #[test]
    fn what_is_delivered_was_sent_and_all_that_arrived_is_delivered_once(
        sent in sent(),
        schedule in schedule(),
        junk in proptest::collection::vec((any::<Index>(), 0..3u16, 0..40u32, 0..4u16), 0..10),
    ) {
        let datagrams: Vec<_> = sent
            .iter()
            .flat_map(|sent| cut(sent.sequence, &sent.message, sent.body).into_iter().map(move |bytes| (sent, bytes)))
            .collect();
        let mut rig = Rig::new(Limits::default());
        let mut arrived = vec![0; datagrams.len()];
        let mut delivered = vec![0; sent.len()];
        for (step, place) in schedule.iter().enumerate() {
            let at = place.index(datagrams.len());
            let (from, bytes) = datagrams.get(at).unwrap();
            *arrived.get_mut(at).unwrap() += 1;
            match rig.accept_from(from.sender, &parse(bytes)) {
                Outcome::Complete { channel, payload } => {
                    prop_assert_eq!(&*channel, "c");
                    prop_assert_eq!(&payload, &from.message);
                    *delivered.get_mut(from.sequence as usize).unwrap() += 1;
                }
                Outcome::Pending | Outcome::Dropped(DropReason::Duplicate) => {}
                other @ (Outcome::Unwanted | Outcome::Dropped(_)) => prop_assert!(false, "{:?}", other),
            }
            // Junk has numbers of its own.
            for (when, sender, offset, index) in &junk {
                if when.index(schedule.len()) == step {
                    let junk = fragment(50, *offset, (*index, 4), b"junk");
                    let _outcome = rig.accept_from(*sender, &Fragment { sequence: 1_000, ..junk });
                }
            }
        }
        for (number, sent) in sent.iter().enumerate() {
            let mut parts = datagrams.iter().zip(&arrived).filter(|((from, _), _)| from.sequence == sent.sequence);
            let is_whole = parts.all(|(_, n_times)| *n_times > 0);
            prop_assert_eq!(*delivered.get(number).unwrap(), u32::from(is_whole), "message {}", number);
        }
    }

    #[test]
    fn corrupted_fragments_deliver_nothing_that_contradicts_the_others(
        message in proptest::collection::vec(any::<u8>(), 100..600),
        flips in proptest::collection::vec((any::<Index>(), any::<Index>(), 1..=255u8), 1..4),
        schedule in schedule(),
    ) {
        let good = cut(0, &message, 60);
        let mut datagrams = good.clone();
        for (which, place, flip) in flips {
            let mut bad = good.get(which.index(good.len())).unwrap().clone();
            let at = 20 + place.index(bad.len() - 20);
            *bad.get_mut(at).unwrap() ^= flip;
            datagrams.push(bad);
        }
        let mut rig = Rig::new(Limits::default());
        let mut arrived = Vec::new();
        for place in schedule {
            let datagram = datagrams.get(place.index(datagrams.len())).unwrap();
            let Ok(Datagram::Fragment(fragment)) = Datagram::parse(datagram) else { continue };
            arrived.push(fragment);
            if let Outcome::Complete { channel, payload } = rig.accept(&fragment) {
                for part in &arrived {
                    let range = part.offset as usize..part.offset as usize + part.payload.len();
                    prop_assert_eq!(payload.get(range), Some(part.payload));
                    prop_assert!(part.channel.is_none_or(|name| *name == *channel));
                }
                break;
            }
        }
    }

    #[test]
    fn memory_stays_within_bounds_whatever_comes(
        fragments in proptest::collection::vec((0..20u16, 0..4u32, 0..3_000u32, 1..300usize, 0..4u16), 0..400),
    ) {
        let limits = Limits {
            max_message_size: 4_000, large_from: 1_000, small_bytes: 6_000, large_bytes: 9_000, max_partial: 10,
            ..Limits::default()
        };
        let bytes = noise(4_000, 0);
        let mut rig = Rig::new(limits);
        for (sender, sequence, offset, len, index) in fragments {
            let from = offset as usize;
            let payload = bytes.get(from..from + len).unwrap();
            let fragment = Fragment { sequence, ..fragment(3_500, offset, (index, 4), payload) };
            match rig.accept_from(sender, &fragment) {
                Outcome::Complete { payload, .. } => prop_assert_eq!(Some(&*payload), bytes.get(..3_500)),
                Outcome::Pending | Outcome::Unwanted | Outcome::Dropped(_) => {}
            }
            let Counts { bytes_held, partial, .. } = rig.reassembler.counts();
            prop_assert!(bytes_held <= limits.small_bytes + limits.large_bytes + limits.max_partial * ENTRY_SIZE);
            prop_assert!(partial <= 10 + 9);
        }
    }
}
