//! Waiting for a moment more precisely than the system wakes.
//!
//! Sleeping ends late, by as much as a few milliseconds on a busy host. So the last bit before a moment is spent
//! looking at the clock: as much as sleeping was late lately, but at most a fifth of the time between events, so that
//! no rate costs more than a fifth of a core.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The most that is spent looking at the clock before an event.
const MAX_SPIN: Duration = Duration::from_millis(2);
/// Sleeping is never more exact than this.
const MIN_SPIN: Duration = Duration::from_micros(60);
const SHARE: u32 = 5;

/// The one clock of a runner.
#[derive(Debug)]
pub(super) struct Waiting {
    origin: Instant,
    /// How late sleeping was, lately.
    oversleep: Duration,
    /// Between waits for events, lately.
    interval: Duration,
    waited_at: Duration,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self {
            origin: now(),
            oversleep: Duration::from_micros(200),
            interval: Duration::from_secs(1),
            waited_at: Duration::ZERO,
        }
    }

    /// Since it was made.
    pub(super) fn now(&self) -> Duration {
        now().duration_since(self.origin)
    }

    /// Waits until an event is due, or until a command comes, or until it is time to look at other things, which
    /// need not be exact.
    pub(super) fn until<T>(
        &mut self,
        due: Option<Duration>,
        look: Duration,
        told: &Receiver<T>,
    ) -> Option<T> {
        let start = self.now();
        let due = due.filter(|due| *due <= look);
        let spin = due.map_or(Duration::ZERO, |_| self.spin(start));
        let sleep_until = due.unwrap_or(look).saturating_sub(spin);
        if sleep_until > start {
            match told.recv_timeout(sleep_until - start) {
                Ok(told) => return Some(told),
                Err(RecvTimeoutError::Timeout) => self.overslept(sleep_until),
                // A runner keeps a sender of its own, so there is always one.
                Err(RecvTimeoutError::Disconnected) => {}
            }
        }
        while due.is_some_and(|due| self.now() < due) {
            std::hint::spin_loop();
        }
        None
    }

    fn spin(&mut self, start: Duration) -> Duration {
        let interval = start.saturating_sub(self.waited_at);
        self.waited_at = start;
        self.interval = (self.interval * 7 + interval) / 8;
        let needed = self.oversleep + self.oversleep / 4;
        needed.clamp(MIN_SPIN, MAX_SPIN).min(self.interval / SHARE)
    }

    /// Remembers the worst for a while.
    fn overslept(&mut self, sleep_until: Duration) {
        let oversleep = self.now().saturating_sub(sleep_until);
        self.oversleep = oversleep.max(self.oversleep - self.oversleep / 64);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "playing in real time needs the real clock; players themselves are given the time"
)]
fn now() -> Instant {
    Instant::now()
}
