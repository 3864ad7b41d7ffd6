//! Moments and how they differ. Where they come from is the host's business.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment: nanoseconds since the epoch, whether the clock is live, a log's or a simulator's.
///
/// A component gets the time and never asks, so it cannot know which clock it is from.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);

    /// The end of time: later than everything that happens.
    pub const MAX: Self = Self(i64::MAX);

    /// From nanoseconds since the epoch.
    #[must_use]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// From microseconds since the epoch, as LCM counts.
    #[must_use]
    pub const fn from_utime(utime: i64) -> Self {
        Self(utime.saturating_mul(1_000))
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn ns(self) -> i64 {
        self.0
    }

    /// Microseconds since the epoch, for the `utime` of messages.
    #[must_use]
    pub const fn utime(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// How long after `earlier` this is; nothing if it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        let ns = self.0.saturating_sub(earlier.0);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(whole_ns(duration)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(whole_ns(duration)))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ns) = (
            self.0.div_euclid(1_000_000_000),
            self.0.rem_euclid(1_000_000_000),
        );
        write!(f, "{seconds}.{ns:09} s")
    }
}

fn whole_ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
