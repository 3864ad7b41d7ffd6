//! For how long a sign of life that is due has not come, and how much of that time counts.
//!
//! Two kinds of time do not count against a process, because nothing can be concluded from them: the supervisor itself
//! did not run (a hold-up), or the process was ready to run and got no processor (starvation). Both are bounded, so that
//! a process that hangs on a busy machine is found too.

use bowline_component::Time;
use std::time::Duration;

/// A silence lasts at most so many times its limit, however long the process waited for a processor meanwhile. Only
/// hold-ups of the supervisor itself come on top.
pub const MAX_SILENCE: u32 = 5;
/// In one silence, hold-ups of the supervisor extend the limit at most so often.
pub const MAX_HOLD_UPS: u32 = 4;

/// A process is doubted in the last half of its limit, but not for longer than this before it is over: looks at the
/// system cost time.
const DOUBT: Duration = Duration::from_secs(1);

/// A silence that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Silence {
    /// When the last sign of life came.
    pub(super) began: Time,
    /// The same, moved by hold-ups of the supervisor.
    counted_from: Time,
    n_hold_ups: u32,
    /// For how long the process waited for a processor, since it was looked at.
    starved: Duration,
    /// Whether it is among the extensions that were counted.
    is_counted: bool,
}

impl Silence {
    pub(super) fn new(now: Time) -> Self {
        Self {
            began: now,
            counted_from: now,
            n_hold_ups: 0,
            starved: Duration::ZERO,
            is_counted: false,
        }
    }

    /// When it has lasted for too long.
    pub(super) fn over_at(&self, limit: Duration) -> Time {
        self.counted_from + limit.saturating_add(self.starved)
    }

    /// How much of it does not count.
    pub(super) fn extension(&self) -> Duration {
        self.counted_from
            .since(self.began)
            .saturating_add(self.starved)
    }

    /// Whether it may soon be over: only then the system is asked what the process waits for.
    pub(super) fn is_doubtful(&self, now: Time, limit: Duration) -> bool {
        now >= self.began + (limit - (limit / 2).min(DOUBT))
    }

    /// A sign of life came. One that was sent before the last one changes nothing.
    pub(super) fn end(&mut self, at: Time) {
        if at > self.began {
            *self = Self {
                counted_from: self.counted_from.max(at),
                ..Self::new(at)
            };
        }
    }

    /// The supervisor did not run for so long, until now: there are at least `listen` left from now, unless that is more
    /// than it was held up.
    pub(super) fn hold_up(&mut self, now: Time, gap: Duration, limit: Duration, listen: Duration) {
        if self.n_hold_ups >= MAX_HOLD_UPS {
            return;
        }
        let recent = now - limit.saturating_sub(listen);
        let counted_from = self.counted_from.max(recent.min(self.counted_from + gap));
        if counted_from > self.counted_from {
            self.counted_from = counted_from;
            self.n_hold_ups += 1;
        }
    }

    /// The process waited for a processor for so long.
    pub(super) fn starve(&mut self, waited: Duration, limit: Duration) {
        let most = limit.saturating_mul(MAX_SILENCE - 1);
        self.starved = self.starved.saturating_add(waited).min(most);
    }

    /// Whether it would be over now without what does not count. True once.
    pub(super) fn is_extended_anew(&mut self, now: Time, limit: Duration) -> bool {
        let is_extended = now >= self.began + limit && now < self.over_at(limit);
        let is_new = is_extended && !self.is_counted;
        self.is_counted |= is_extended;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(650);
    const LISTEN: Duration = Duration::from_millis(250);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(after: u64) -> Time {
        Time::from_ns(5_000_000_000) + ms(after)
    }

    #[test]
    fn silence_without_extension_is_over_at_its_limit() {
        let silence = Silence::new(at(0));
        assert_eq!(silence.over_at(LIMIT), at(650));
        assert_eq!(silence.extension(), Duration::ZERO);
        assert!(!silence.is_doubtful(at(324), LIMIT));
        assert!(silence.is_doubtful(at(325), LIMIT));
        assert!(!silence.is_doubtful(at(58_999), Duration::from_secs(60)));
        assert!(silence.is_doubtful(at(59_000), Duration::from_secs(60)));
    }

    #[test]
    fn time_without_a_processor_extends_the_limit_up_to_the_bound() {
        let mut silence = Silence::new(at(0));
        silence.starve(ms(100), LIMIT);
        assert_eq!(silence.over_at(LIMIT), at(750));
        for _ in 0..1_000 {
            silence.starve(ms(100), LIMIT);
        }
        assert_eq!(silence.over_at(LIMIT), at(650 * u64::from(MAX_SILENCE)));
    }

    #[test]
    fn hold_ups_of_the_supervisor_extend_the_limit_a_bounded_number_of_times() {
        let mut silence = Silence::new(at(0));
        let mut now = 0;
        let mut over = Vec::new();
        for _ in 0..6 {
            now += 1_000;
            silence.hold_up(at(now), ms(1_000), LIMIT, LISTEN);
            over.push(silence.over_at(LIMIT));
        }
        let expected = [1_250, 2_250, 3_250, 4_250, 4_250, 4_250].map(at);
        assert_eq!(over, expected);
    }

    #[test]
    fn a_hold_up_that_changes_nothing_is_not_counted() {
        let mut silence = Silence::new(at(0));
        for now in [10, 20, 30, 40, 50, 60] {
            silence.hold_up(at(now), ms(301), LIMIT, LISTEN);
        }
        assert_eq!(silence.over_at(LIMIT), at(650));
        silence.hold_up(at(2_000), ms(1_900), LIMIT, LISTEN);
        assert_eq!(silence.over_at(LIMIT), at(2_250));
    }

    #[test]
    fn a_heartbeat_ends_starvation_but_not_what_a_hold_up_gave() {
        let mut silence = Silence::new(at(0));
        silence.starve(ms(500), LIMIT);
        silence.hold_up(at(2_000), ms(2_000), LIMIT, LISTEN);
        assert_eq!(silence.over_at(LIMIT), at(2_750));
        // It came while the supervisor did not run.
        silence.end(at(1_200));
        assert_eq!(silence.over_at(LIMIT), at(2_250));
        assert_eq!(silence.extension(), ms(400));
        silence.end(at(2_100));
        assert_eq!(silence.over_at(LIMIT), at(2_750));
        assert_eq!(silence.extension(), Duration::ZERO);
        silence.end(at(900));
        assert_eq!(
            silence.over_at(LIMIT),
            at(2_750),
            "an older heartbeat changes nothing"
        );
    }

    #[test]
    fn an_extension_is_counted_once_and_only_when_it_was_needed() {
        let mut silence = Silence::new(at(0));
        silence.starve(ms(100), LIMIT);
        assert!(!silence.is_extended_anew(at(649), LIMIT));
        assert!(silence.is_extended_anew(at(650), LIMIT));
        silence.starve(ms(100), LIMIT);
        assert!(!silence.is_extended_anew(at(800), LIMIT));
        silence.end(at(820));
        assert!(
            !silence.is_extended_anew(at(1_470), LIMIT),
            "it is over then"
        );
    }
}
