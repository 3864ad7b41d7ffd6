//! When to try again.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);

/// Waits longer after every failure in a row, up to a bound. Reads no clock: times are handed in.
#[derive(Debug)]
pub(super) struct Backoff {
    next_delay: Duration,
    due: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            next_delay: FIRST,
            due: None,
        }
    }
}

impl Backoff {
    /// It did not work: not again at once.
    pub(super) fn fail(&mut self, now: Instant) {
        self.due = now.checked_add(self.next_delay);
        self.next_delay = (self.next_delay * 2).min(LONGEST);
    }

    /// It worked: the next failure is the first again.
    pub(super) fn succeed(&mut self) {
        *self = Self::default();
    }

    /// How long to wait still; zero when it is time.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.due
            .map_or(Duration::ZERO, |due| due.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_further_apart_up_to_a_bound_and_success_forgets_them() {
        let mut now = crate::clock::monotonic();
        let mut backoff = Backoff::default();
        assert_eq!(backoff.left(now), Duration::ZERO);
        for expected_ms in [100, 200, 400, 800, 1_600, 2_000, 2_000] {
            backoff.fail(now);
            assert_eq!(backoff.left(now), Duration::from_millis(expected_ms));
            now += Duration::from_millis(expected_ms);
            assert_eq!(backoff.left(now), Duration::ZERO);
        }
        backoff.succeed();
        backoff.fail(now);
        assert_eq!(backoff.left(now), Duration::from_millis(100));
    }
}
