//! The only look at a clock in everything that runs components.

use crate::time::Time;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A live clock: the wall clock's time when it was made, and from then on as the monotonic clock runs.
///
/// So it never steps: no deadline is missed or tripped because somebody set the date. How far the wall clock has gone
/// from it since is told in every presence message, so that a step can be seen.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    started: Instant,
    started_at: Time,
}

impl Live {
    /// Starts it.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        clippy::disallowed_methods,
        reason = "this is the clock, and reading it should be seen where it is done"
    )]
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            started_at: wall(),
        }
    }

    /// The time.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn now(&self) -> Time {
        self.started_at + Instant::now().saturating_duration_since(self.started)
    }

    /// A moment as the system's monotonic clock has it, for libraries that want that.
    #[must_use]
    pub fn instant(&self, moment: Time) -> Instant {
        self.started + moment.since(self.started_at)
    }

    /// A moment of the system's monotonic clock as this one has it.
    #[must_use]
    pub fn time(&self, moment: Instant) -> Time {
        self.started_at + moment.saturating_duration_since(self.started)
    }

    /// When it was made.
    #[must_use]
    pub fn started_at(&self) -> Time {
        self.started_at
    }

    /// Lets time pass, for hosts that hold simulated time to this clock.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn wait(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    /// How long it is until a moment; nothing if that has passed.
    #[must_use]
    pub fn until(&self, moment: Time) -> Duration {
        moment.since(self.now())
    }

    /// How long a message waited until it was taken: by the wall clock, which stamped it. Somebody may have set that, so
    /// it cannot be longer than since nothing waited.
    #[must_use]
    pub fn waited(&self, stamp_ns: i64, taken_at: Time, empty_at: Time) -> Duration {
        let received = stamp_ns.saturating_sub(self.wall_offset_ns());
        let waited = taken_at.since(Time::from_ns(received));
        waited.min(taken_at.since(empty_at))
    }

    /// How far the wall clock is ahead of this one, nanoseconds: about 0 until somebody sets the date.
    #[must_use]
    pub fn wall_offset_ns(&self) -> i64 {
        wall().ns().saturating_sub(self.now().ns())
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Time::ZERO + since.unwrap_or_default()
}
