//! How far the peer's clock is ahead of ours, and how long a round trip takes: from reports, without anybody's clock
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
//! round trip.

use bowline_node::Time;
use std::time::Duration;

/// For how long the shortest round trip counts; clocks drift, and links change.
const WINDOW: Duration = Duration::from_secs(10);

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    rtt_us: i64,
    offset_us: i64,
}

/// What is known of the peer's clock over one path.
#[derive(Debug, Default)]
pub(crate) struct PeerClock {
    /// The shortest of this window, and of the one before.
    best: [Option<RoundTrip>; 2],
    window_began_at: Time,
    smooth_us: Option<i64>,
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

    /// How long ago something was sent by the peer's clock; `None` while that is not known.
    pub(crate) fn transit(&self, sent_utime: i64, now: Time) -> Option<Duration> {
        let theirs = now.utime().saturating_add(self.best()?.offset_us);
        let transit_us = theirs.saturating_sub(sent_utime);
        Some(Duration::from_micros(
            u64::try_from(transit_us).unwrap_or(0),
        ))
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
    fn the_shortest_round_trip_says_how_far_the_clocks_are_apart() {
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
        assert_eq!(transit, Some(Duration::from_millis(10)));
    }

    #[test]
    fn a_round_trip_that_took_less_than_no_time_is_not_believed() {
        let mut clock = PeerClock::default();
        clock.learn([10, 0, 100, 20], Time::ZERO);
        assert_eq!(clock.rtt(), None);
        clock.learn([i64::MIN, i64::MAX, i64::MIN, i64::MAX], Time::ZERO);
    }
}
