//! Measurements in the order in which they were made, whatever the order in which they came.
//!
//! In: measurements, each with its time. Out: what is believed, as if all had come in their turn: one that is late goes
//! where it belongs, and what came after it is taken in again. That goes back for a bounded time and a bounded number; what
//! is later still is counted and left out.

use super::belief::{Belief, Measured};
use std::collections::VecDeque;

/// How many measurements can be taken in again.
pub const MAX_KEPT: usize = 512;
/// What is ahead of the clock by more than this is no time, microseconds.
const MAX_AHEAD_US: i64 = 50_000;

/// What became of the times of measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeCounts {
    /// They came in their turn.
    pub in_turn: u64,
    /// They came after later ones, and were put where they belong.
    pub late: u64,
    /// They came after that was possible.
    pub too_late: u64,
    /// There was one of the same sensor at that time already.
    pub repeated: u64,
    /// They are not yet.
    pub ahead: u64,
}

/// What is believed, and how to go back.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Before everything that is kept.
    base: Belief,
    kept: VecDeque<Kept>,
    max_us: i64,
    counts: TimeCounts,
}

#[derive(Clone, Debug)]
struct Kept {
    utime: i64,
    measured: Measured,
    /// What was believed after it.
    after: Belief,
}

impl History {
    pub(super) const fn new(base: Belief, max_us: i64) -> Self {
        Self {
            base,
            kept: VecDeque::new(),
            max_us,
            counts: TimeCounts {
                in_turn: 0,
                late: 0,
                too_late: 0,
                repeated: 0,
                ahead: 0,
            },
        }
    }

    /// What is believed after the latest measurement.
    pub(super) fn latest(&self) -> &Belief {
        self.kept.back().map_or(&self.base, |kept| &kept.after)
    }

    pub(super) const fn counts(&self) -> TimeCounts {
        self.counts
    }

    /// Takes a measurement in.
    pub(super) fn take(&mut self, now_utime: i64, utime: i64, measured: Measured) {
        if utime > now_utime.saturating_add(MAX_AHEAD_US) {
            self.counts.ahead += 1;
            return;
        }
        if utime <= self.base.filter.utime {
            self.counts.too_late += 1;
            return;
        }
        let key = (utime, rank(&measured));
        let at = self
            .kept
            .partition_point(|kept| (kept.utime, rank(&kept.measured)) < key);
        let same = self.kept.get(at);
        if same.is_some_and(|kept| (kept.utime, rank(&kept.measured)) == key) {
            self.counts.repeated += 1;
            return;
        }
        if at == self.kept.len() {
            self.counts.in_turn += 1;
        } else {
            self.counts.late += 1;
        }
        let kept = Kept {
            utime,
            measured,
            after: self.base.clone(),
        };
        self.kept.insert(at, kept);
        self.again_from(at);
        self.trim(now_utime);
    }

    /// Takes in again everything from a place on.
    fn again_from(&mut self, first: usize) {
        let before = first.checked_sub(1).and_then(|at| self.kept.get(at));
        let mut belief = before.map_or_else(|| self.base.clone(), |kept| kept.after.clone());
        for kept in self.kept.iter_mut().skip(first) {
            belief.measure(kept.utime, &kept.measured);
            kept.after.clone_from(&belief);
        }
    }

    fn trim(&mut self, now_utime: i64) {
        let oldest = now_utime.saturating_sub(self.max_us);
        while self.kept.len() > MAX_KEPT || self.kept.front().is_some_and(|it| it.utime < oldest) {
            // The last one stays: it is what is believed.
            if self.kept.len() < 2 {
                break;
            }
            if let Some(first) = self.kept.pop_front() {
                self.base = first.after;
            }
        }
    }
}

/// Which of several sensors comes first at the same time.
const fn rank(measured: &Measured) -> u8 {
    match measured {
        Measured::Felt(_) => 0,
        Measured::Fix { .. } => 1,
        Measured::Heading { .. } => 2,
    }
}
