//! What became of messages: every one that was offered or that began to arrive is in one of these counts. Parts that came
//! too late or again are counted beside them.

use std::collections::VecDeque;
use std::time::Duration;

/// Why a message was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It waited longer than it was good for.
    Expired,
    /// A newer one took its place before it was sent.
    Replaced,
    /// It could not have arrived while it was good, so it was not begun.
    Shed,
    /// There was no room to wait.
    QueueFull,
    /// It is larger than its stream allows.
    TooLarge,
    /// The same was sent a moment ago, as its stream wants it.
    Unchanged,
    /// It came from the other end, which has it.
    Looped,
    /// It arrived too old, or after a newer one, or from before a stall.
    Stale,
    /// It had arrived before.
    Duplicate,
    /// Not all of its parts arrived.
    Incomplete,
    /// It is no command by the station that the peer is.
    NotPeers,
}

impl Cause {
    /// All of them, each with its name.
    pub const ALL: [(&'static str, Self); 11] = [
        ("expired", Self::Expired),
        ("replaced", Self::Replaced),
        ("shed", Self::Shed),
        ("queue full", Self::QueueFull),
        ("too large", Self::TooLarge),
        ("unchanged", Self::Unchanged),
        ("looped", Self::Looped),
        ("stale", Self::Stale),
        ("duplicate", Self::Duplicate),
        ("incomplete", Self::Incomplete),
        ("not the peer's", Self::NotPeers),
    ];
}

/// What became of a stream's messages at one end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that this end's bus had for the other, or that began to arrive.
    pub n_offered: u64,
    /// Messages that were sent whole, each once; of reliable streams those that arrived.
    pub n_sent: u64,
    /// Messages that were delivered.
    pub n_delivered: u64,
    /// Payload bytes that were sent, or delivered.
    pub n_bytes: u64,
    /// Parts that were sent more than once.
    pub n_resent: u64,
    dropped: [u64; Cause::ALL.len()],
}

impl Counts {
    /// So many were dropped for this cause.
    #[must_use]
    pub fn dropped(&self, cause: Cause) -> u64 {
        self.dropped.get(cause as usize).copied().unwrap_or(0)
    }

    /// So many were dropped.
    #[must_use]
    pub fn n_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) fn add(&mut self, cause: Cause) {
        self.add_many(cause, 1);
    }

    pub(crate) fn add_many(&mut self, cause: Cause, n_dropped: u64) {
        if let Some(n) = self.dropped.get_mut(cause as usize) {
            *n += n_dropped;
        }
    }

    pub(crate) fn deliver(&mut self, n_bytes: usize) {
        self.n_delivered += 1;
        self.n_bytes += u64::try_from(n_bytes).unwrap_or(0);
    }

    /// One that was counted as delivered was dropped instead.
    pub(crate) fn undeliver(&mut self, n_bytes: usize, cause: Cause) {
        let n_bytes = u64::try_from(n_bytes).unwrap_or(0);
        self.n_delivered = self.n_delivered.saturating_sub(1);
        self.n_bytes = self.n_bytes.saturating_sub(n_bytes);
        self.add(cause);
    }
}

/// How old messages were when they were delivered: the last of them.
#[derive(Clone, Debug, Default)]
pub struct Ages {
    last: VecDeque<Duration>,
}

impl Ages {
    /// Enough for a percentile that means something.
    const MAX: usize = 1_024;

    pub(crate) fn add(&mut self, age: Duration) {
        if self.last.len() == Self::MAX {
            self.last.pop_front();
        }
        self.last.push_back(age);
    }

    /// So much of them were at most this old; `None` before the first one.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.last.iter().copied().collect();
        sorted.sort_unstable();
        let nth = (sorted.len() * percent).div_ceil(100).max(1) - 1;
        sorted.get(nth).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_stand_in_the_table_where_their_counts_are() {
        for (nth, (name, cause)) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, nth, "{name}");
        }
    }

    #[test]
    fn a_percentile_is_one_of_the_ages() {
        let mut ages = Ages::default();
        assert_eq!(ages.percentile(99), None);
        (1..=200).for_each(|ms| ages.add(Duration::from_millis(ms)));
        assert_eq!(ages.percentile(50), Some(Duration::from_millis(100)));
        assert_eq!(ages.percentile(99), Some(Duration::from_millis(198)));
        assert_eq!(ages.percentile(100), Some(Duration::from_millis(200)));
    }
}
