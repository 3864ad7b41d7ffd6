//! How far the peer's clock is ahead of ours, and how long a round trip takes: from reports, without either clock
//! being right.
//!
//! ```text
//!  ours    t1 ──────┐             ┌────▶ t4
//!                   │             │
//!  theirs           └─▶ t2 ─── t3 ┘        round trip = (t4 - t1) - (t3 - t2)
//!                                          offset = ((t2 - t1) + (t3 - t4)) / 2
//! ```
//!
//! The offset of the shortest round trip counts: it had the least time to wait anywhere. Its error is at most half that
//! round trip, so what must not be old is taken to be older by that. Two round trips that contradict each other mean that
//! one of the clocks stood still or jumped, as that of a suspended machine does: then the newer one counts.

use bowline_component::Time;
use std::time::Duration;

/// For how long the shortest round trip counts; clocks drift, and links change.
const WINDOW: Duration = Duration::from_secs(10);
/// More than clocks drift apart within two windows, microseconds: each is slewed by 500 millionths at most.
const DRIFT_US: i64 = 20_000;

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    rtt_us: i64,
    offset_us: i64,
}

/// How long something was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transit {
    /// If both ways take the same time.
    pub(crate) likely: Duration,
    /// If the way back takes none.
    pub(crate) most: Duration,
}

/// What is known of the peer's clock over one path.
#[derive(Debug, Default)]
pub(crate) struct PeerClock {
    /// The shortest of this window, and of the one before.
    best: [Option<RoundTrip>; 2],
    window_began_at: Time,
    smooth_us: Option<i64>,
}

impl RoundTrip {
    /// Whether no offset is within the error of both.
    fn contradicts(self, other: Self) -> bool {
        let apart_us = self.offset_us.saturating_sub(other.offset_us);
        let error_us = (self.rtt_us / 2).saturating_add(other.rtt_us / 2);
        apart_us.saturating_abs() > error_us.saturating_add(DRIFT_US)
    }
}

impl PeerClock {
    /// A report came: what was sent at `t1` arrived at `t2`, and the report that left at `t3` is here at `t4`.
    pub(crate) fn learn(&mut self, [t1, t2, t3, t4]: [i64; 4], now: Time) {
        let rtt_us = t4.saturating_sub(t1).saturating_sub(t3.saturating_sub(t2));
        if rtt_us < 0 {
            return;
        }
        let there = t2.saturating_sub(t1);
        let back = t3.saturating_sub(t4);
        let trip = RoundTrip {
            rtt_us,
            offset_us: there / 2 + back / 2,
        };
        if now.since(self.window_began_at) > WINDOW {
            self.window_began_at = now;
            self.best = [None, self.best[0]];
        }
        if self.best().is_some_and(|best| best.contradicts(trip)) {
            self.best = [None; 2];
        }
        let is_better = self.best[0].is_none_or(|best| rtt_us <= best.rtt_us);
        if is_better {
            self.best[0] = Some(trip);
        }
        let smooth_us = self.smooth_us.unwrap_or(rtt_us);
        self.smooth_us = Some(smooth_us + (rtt_us - smooth_us) / 8);
    }

    fn best(&self) -> Option<RoundTrip> {
        let both = self.best.iter().flatten();
        both.min_by_key(|trip| trip.rtt_us).copied()
    }

    /// How long ago something was sent by the peer's clock; `None` while that is not known, or cannot be.
    pub(crate) fn transit(&self, sent_utime: i64, now: Time) -> Option<Transit> {
        let best = self.best()?;
        let theirs = now.utime().saturating_add(best.offset_us);
        let transit_us = theirs.saturating_sub(sent_utime);
        // Nothing arrives before it is sent: the clocks are not as they were.
        if transit_us < -best.rtt_us.saturating_add(DRIFT_US) {
            return None;
        }
        let likely = Duration::from_micros(u64::try_from(transit_us).unwrap_or(0));
        let error = Duration::from_micros(u64::try_from(best.rtt_us / 2).unwrap_or(0));
        Some(Transit {
            likely,
            most: likely.saturating_add(error),
        })
    }

    /// The shortest round trip of late.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        let rtt_us = self.best()?.rtt_us;
        Some(Duration::from_micros(u64::try_from(rtt_us).unwrap_or(0)))
    }

    /// A round trip as it usually is.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        let rtt_us = u64::try_from(self.smooth_us?).unwrap_or(0);
        Some(Duration::from_micros(rtt_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_round_trip_gives_the_clock_offset() {
        let mut clock = PeerClock::default();
        let now = Time::from_utime(1_000_000);
        assert_eq!(clock.transit(0, now), None);
        // An hour ahead; 10 ms each way, and once 300 ms in a queue on the way there.
        let ahead = 3_600_000_000;
        clock.learn([0, 310_000 + ahead, 310_000 + ahead, 320_000], now);
        clock.learn([500_000, 510_000 + ahead, 515_000 + ahead, 525_000], now);
        clock.learn([600_000, 910_000 + ahead, 910_000 + ahead, 920_000], now);
        assert_eq!(clock.min_rtt(), Some(Duration::from_millis(20)));
        let transit = clock.transit(990_000 + ahead, now);
        let [likely, most] = [10, 20].map(Duration::from_millis);
        assert_eq!(transit, Some(Transit { likely, most }));
    }

    #[test]
    fn what_would_have_come_before_it_was_sent_is_not_believed() {
        let mut clock = PeerClock::default();
        let now = Time::from_utime(1_000_000);
        clock.learn([500_000, 510_000, 510_000, 520_000], now);
        let likely = |sent| clock.transit(sent, now).map(|it| it.likely);
        assert_eq!(likely(990_000), Some(Duration::from_millis(10)));
        assert_eq!(likely(1_015_000), Some(Duration::ZERO), "within the error");
        assert_eq!(likely(1_050_000), None);
        assert_eq!(likely(i64::MAX), None);
    }

    #[test]
    fn after_a_clock_has_jumped_the_next_round_trip_counts_though_it_is_longer() {
        for jump in [-5_000_000, 5_000_000] {
            let mut clock = PeerClock::default();
            let now = Time::from_utime(1_000_000);
            clock.learn([0, 10_000, 10_000, 20_000], now);
            // Longer, and it contradicts nothing.
            clock.learn([0, 300_000, 300_000, 320_000], now);
            assert_eq!(clock.min_rtt(), Some(Duration::from_millis(20)));
            clock.learn([0, 15_000 + jump, 15_000 + jump, 30_000], now);
            let transit = clock.transit(990_000 + jump, now).expect("it is known");
            assert_eq!(transit.likely, Duration::from_millis(10));
        }
    }

    #[test]
    fn a_round_trip_that_took_less_than_no_time_is_not_believed() {
        let mut clock = PeerClock::default();
        clock.learn([10, 0, 100, 20], Time::ZERO);
        assert_eq!(clock.rtt(), None);
        clock.learn([i64::MIN, i64::MAX, i64::MIN, i64::MAX], Time::ZERO);
    }
}
