//! Datagrams of several sockets in the order in which the kernel got them.
//!
//! A publisher's messages go to several ports and wait in several sockets, which are read one after the other. What
//! arrived after the reading began is put off until the next round, since something older may have come to a socket
//! that was read already.

use crate::sys::Datagrams;
use std::net::SocketAddr;

/// Collects, and gives out in order.
#[derive(Debug, Default)]
pub(super) struct Merge {
    waiting: Vec<Waiting>,
    /// How many of them were put off in the round before. They wait no longer.
    n_put_off: usize,
}

#[derive(Debug)]
struct Waiting {
    received_ns: i64,
    bytes: Vec<u8>,
    segment_size: usize,
    sender: Option<SocketAddr>,
}

impl Merge {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.bytes.len()).sum()
    }

    pub(super) fn add(&mut self, datagrams: &Datagrams<'_>) {
        self.waiting.push(Waiting {
            received_ns: datagrams.received_ns.unwrap_or(i64::MIN),
            bytes: datagrams.bytes.to_vec(),
            segment_size: datagrams.segment_size,
            sender: datagrams.sender,
        });
    }

    /// Ends a round: gives out what arrived up to `horizon_ns`, the oldest first, and what was put off before.
    pub(super) fn release(&mut self, horizon_ns: i64, mut give: impl FnMut(&Datagrams<'_>)) {
        let overdue = self.waiting.get(..self.n_put_off).unwrap_or_default();
        let overdue = overdue.iter().map(|waiting| waiting.received_ns).max();
        let horizon_ns = horizon_ns.max(overdue.unwrap_or(i64::MIN));
        self.waiting.sort_by_key(|waiting| waiting.received_ns);
        let n_ready = self
            .waiting
            .partition_point(|waiting| waiting.received_ns <= horizon_ns);
        for ready in self.waiting.drain(..n_ready) {
            give(&Datagrams {
                bytes: &ready.bytes,
                segment_size: ready.segment_size,
                sender: ready.sender,
                received_ns: Some(ready.received_ns).filter(|stamp| *stamp != i64::MIN),
            });
        }
        self.n_put_off = self.waiting.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(merge: &mut Merge, stamps: &[i64]) {
        for stamp in stamps {
            merge.add(&Datagrams {
                bytes: b"x",
                segment_size: 1,
                sender: None,
                received_ns: Some(*stamp),
            });
        }
    }

    fn release(merge: &mut Merge, horizon_ns: i64) -> Vec<i64> {
        let mut given = Vec::new();
        merge.release(horizon_ns, |datagrams| given.extend(datagrams.received_ns));
        given
    }

    #[test]
    fn the_oldest_comes_first_and_what_is_too_new_waits_one_round() {
        let mut merge = Merge::default();
        add(&mut merge, &[10, 30, 50]);
        add(&mut merge, &[20, 40]);
        assert_eq!(release(&mut merge, 35), [10, 20, 30]);
        assert!(!merge.is_empty());
        add(&mut merge, &[45, 90]);
        assert_eq!(release(&mut merge, 60), [40, 45, 50]);
        assert_eq!(
            release(&mut merge, 60),
            [90],
            "a clock that was set back holds nothing up"
        );
        assert!(merge.is_empty());
    }
}
