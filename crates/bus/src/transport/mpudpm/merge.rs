//! Datagrams of several sockets in the order in which the kernel got them.
//!
//! A publisher's messages go to several ports and wait in several sockets, which are read one after the other. What
//! arrived after the reading began is put off until the next round, since something older may have come to a socket
//! that was read already. A socket's own order comes first: while the kernel is about to start stamping, it makes up
//! stamps when datagrams are read, which are later than those of the datagrams behind them.

use crate::sys::Datagrams;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// Collects, and gives out in order.
#[derive(Debug, Default)]
pub(super) struct Merge {
    /// In order, to be given out.
    due: VecDeque<Held>,
    /// Of this round, and put off in the round before: the first ones, which wait no longer.
    fresh: Vec<Held>,
    n_put_off: usize,
    n_bytes: usize,
    /// For sockets with something fresh: nothing that follows may come before this.
    floors_ns: BTreeMap<i32, i64>,
}

#[derive(Debug)]
struct Held {
    /// Where it belongs: when it was received, or later if that would be before what its socket gave earlier.
    order_ns: i64,
    received_ns: Option<i64>,
    bytes: Vec<u8>,
    segment_size: usize,
    sender: Option<SocketAddr>,
}

impl Merge {
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty() && self.fresh.is_empty()
    }

    /// Whether there is something to give out.
    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Adds what was read from a socket, which is known by any number.
    pub(super) fn add(&mut self, socket: i32, datagrams: &Datagrams<'_>) {
        self.n_bytes += datagrams.bytes.len();
        let floor_ns = self.floors_ns.entry(socket).or_insert(i64::MIN);
        *floor_ns = datagrams.received_ns.unwrap_or(i64::MIN).max(*floor_ns);
        self.fresh.push(Held {
            order_ns: *floor_ns,
            received_ns: datagrams.received_ns,
            bytes: datagrams.bytes.to_vec(),
            segment_size: datagrams.segment_size,
            sender: datagrams.sender,
        });
    }

    /// Ends a round that began at `began_ns`: what arrived before is due. If sockets were left with something in them,
    /// `rest_since_ns` is when that began to arrive; if not, what was put off before is due too, whatever its stamp.
    pub(super) fn end_round(&mut self, began_ns: i64, rest_since_ns: Option<i64>) {
        let overdue = self.fresh.iter().take(self.n_put_off);
        let overdue = overdue.map(|held| held.order_ns).max();
        let horizon_ns = match rest_since_ns {
            Some(rest_since_ns) => began_ns.min(rest_since_ns),
            None => began_ns.max(overdue.unwrap_or(i64::MIN)),
        };
        self.fresh.sort_by_key(|held| held.order_ns);
        let n_due = self
            .fresh
            .partition_point(|held| held.order_ns <= horizon_ns);
        self.due.extend(self.fresh.drain(..n_due));
        self.n_put_off = self.fresh.len();
        if self.fresh.is_empty() {
            self.floors_ns.clear();
        }
    }

    /// Gives out what is due, the oldest first, but no more than `max` at once: queues are short.
    pub(super) fn give(&mut self, max: usize, mut take: impl FnMut(&Datagrams<'_>)) {
        for _ in 0..max {
            let Some(held) = self.due.pop_front() else {
                return;
            };
            self.n_bytes -= held.bytes.len();
            take(&Datagrams {
                bytes: &held.bytes,
                segment_size: held.segment_size,
                sender: held.sender,
                received_ns: held.received_ns,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(merge: &mut Merge, socket: i32, stamps: &[i64]) {
        for stamp in stamps {
            let datagrams = Datagrams {
                bytes: b"x",
                segment_size: 1,
                sender: None,
                received_ns: Some(*stamp),
            };
            merge.add(socket, &datagrams);
        }
    }

    fn release(merge: &mut Merge, began_ns: i64, rest_since_ns: Option<i64>) -> Vec<i64> {
        let mut given = Vec::new();
        merge.end_round(began_ns, rest_since_ns);
        while merge.has_due() {
            merge.give(2, |datagrams| given.extend(datagrams.received_ns));
        }
        given
    }

    #[test]
    fn the_oldest_comes_first_and_what_is_too_new_waits_one_round() {
        let mut merge = Merge::default();
        add(&mut merge, 1, &[10, 30, 50]);
        add(&mut merge, 2, &[20, 40]);
        assert_eq!(release(&mut merge, 35, None), [10, 20, 30]);
        assert!(!merge.is_empty());
        add(&mut merge, 1, &[55, 90]);
        assert_eq!(release(&mut merge, 60, None), [40, 50, 55]);
        assert_eq!(
            release(&mut merge, 60, None),
            [90],
            "a clock that was set back holds nothing up"
        );
        assert!(merge.is_empty());
        assert_eq!(merge.n_bytes(), 0);
    }

    #[test]
    fn order_within_a_socket_stays_with_any_stamps() {
        let mut merge = Merge::default();
        // The first was stamped when it was read, the others when they arrived.
        add(&mut merge, 1, &[100, 11, 12]);
        add(&mut merge, 2, &[5, 200]);
        assert_eq!(release(&mut merge, 50, None), [5]);
        add(&mut merge, 1, &[13]);
        assert_eq!(release(&mut merge, 60, None), [100, 11, 12, 13, 200]);
    }

    #[test]
    fn what_waits_in_a_socket_goes_before_what_came_later_to_another() {
        let mut merge = Merge::default();
        add(&mut merge, 1, &[10, 20]);
        add(&mut merge, 2, &[50]);
        assert_eq!(release(&mut merge, 100, Some(20)), [10, 20]);
        add(&mut merge, 1, &[30]);
        assert_eq!(release(&mut merge, 100, Some(30)), [30]);
        add(&mut merge, 1, &[40]);
        assert_eq!(release(&mut merge, 100, None), [40, 50]);
    }
}
