//! The values of a joint over time: a bounded run in order of time.

use std::collections::VecDeque;
use std::f64::consts::{PI, TAU};

/// A joint's value at a time, in microseconds since the epoch.
pub(super) type Told = (i64, f64);

#[derive(Clone, Debug, Default)]
pub(super) struct History {
    told: VecDeque<Told>,
}

/// A time that a history does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// There is no value.
    Empty,
    /// Before the first that is kept, which is this.
    Before(i64),
    /// After the last.
    After(i64),
}

/// A value that is older than what is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Older {
    pub(super) newest: i64,
}

impl History {
    /// Ten seconds at 100 Hz, as tf2 keeps, and some.
    pub(super) const CAPACITY: usize = 1_024;

    /// Takes the next value; one of the same time replaces the last.
    pub(super) fn push(&mut self, utime: i64, value: f64) -> Result<(), Older> {
        if let Some(last) = self.told.back_mut() {
            if utime < last.0 {
                return Err(Older { newest: last.0 });
            }
            if utime == last.0 {
                last.1 = value;
                return Ok(());
            }
        }
        if self.told.len() == Self::CAPACITY {
            self.told.pop_front();
        }
        self.told.push_back((utime, value));
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.told.clear();
    }

    pub(super) fn newest(&self) -> Option<Told> {
        self.told.back().copied()
    }

    pub(super) fn oldest(&self) -> Option<Told> {
        self.told.front().copied()
    }

    /// The value at a time, interpolated. `is_round` is of joints for which a full turn is none.
    pub(super) fn at(&self, utime: i64, is_round: bool) -> Result<f64, Gap> {
        let (Some(&(first, _)), Some(&(last, newest))) = (self.told.front(), self.told.back())
        else {
            return Err(Gap::Empty);
        };
        if utime < first {
            return Err(Gap::Before(first));
        }
        if utime >= last {
            let value = (utime == last).then_some(newest);
            return value.ok_or(Gap::After(last));
        }
        let idx = self.last_not_after(utime, first, last);
        let ((t0, v0), (t1, v1)) = (self.told[idx], self.told[idx + 1]);
        let ratio = utime.abs_diff(t0) as f64 / t1.abs_diff(t0) as f64;
        let mut step = v1 - v0;
        if is_round && step.abs() > PI {
            step -= TAU * (step / TAU).round();
        }
        Ok(v0 + ratio * step)
    }

    /// Where the last value is that is not after a time within the history.
    ///
    /// Devices publish at a steady rate, so the place is guessed and then corrected; a bad guess costs a binary search.
    fn last_not_after(&self, utime: i64, first: i64, last: i64) -> usize {
        let n_steps = self.told.len() - 1;
        let ratio = utime.abs_diff(first) as f64 / last.abs_diff(first) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a ratio of 0 to 1 of a number of steps"
        )]
        let guess = (ratio * n_steps as f64) as usize;
        let mut idx = guess.min(n_steps - 1);
        for _ in 0..8 {
            if self.told[idx].0 > utime {
                idx = idx.saturating_sub(1);
            } else if self.told[idx + 1].0 <= utime {
                idx += 1;
            } else {
                return idx;
            }
        }
        self.told.partition_point(|(at, _)| *at <= utime) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(times: impl IntoIterator<Item = i64>) -> History {
        let mut history = History::default();
        for utime in times {
            history.push(utime, utime as f64).expect("times go up");
        }
        history
    }

    #[test]
    fn values_are_found_at_any_rhythm() {
        let bursts = (0..600).map(|idx| idx * idx * idx % 997 + 1_000 * idx);
        for history in [
            history((0..1_000).map(|idx| idx * 10)),
            history(bursts),
            history([0, 1, 2, 3, 1_000_000_000]),
            history([-5, 1_000_000_000 - 1, 1_000_000_000]),
        ] {
            let (first, last) = (history.oldest().unwrap().0, history.newest().unwrap().0);
            for step in 0..=2_000 {
                let utime = first + (last - first) / 2_000 * step;
                let found = history.at(utime, false).unwrap();
                assert!((found - utime as f64).abs() < 1e-3, "{utime}: {found}");
            }
        }
    }

    #[test]
    fn extreme_times_do_no_harm() {
        let history = history([i64::MIN, 0, i64::MAX]);
        assert_eq!(history.at(0, false), Ok(0.0));
        assert!(history.at(i64::MAX - 1, false).is_ok());
        assert!(history.at(i64::MIN + 1, true).is_ok());
    }
}
