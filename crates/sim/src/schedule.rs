//! When a sensor measures: exact multiples of an exact period.
//!
//! 37.6 Hz is 26,595,744.68 ns. Added up tick by tick, rounding would be off by a tick after a day; so the k-th moment is
//! worked out from k.

/// A rate as a fraction: so many times in so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    times: u64,
    in_ns: u64,
}

impl Rate {
    /// Once a second.
    pub const SECOND: Self = Self {
        times: 1,
        in_ns: 1_000_000_000,
    };

    /// Of a number of hertz with up to three digits after the point; `None` if it is not above 0, or above 100 kHz.
    #[must_use]
    pub fn from_hz(hz: f64) -> Option<Self> {
        let thousandths = (hz * 1e3).round();
        if !(1.0..=1e8).contains(&thousandths) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and within 1 to 10^8"
        )]
        let times = thousandths as u64;
        Some(Self {
            times,
            in_ns: 1_000_000_000_000,
        })
    }

    /// When the k-th measurement is, in nanoseconds from the first.
    #[must_use]
    pub fn due_ns(self, k: u64) -> u64 {
        let exact = u128::from(k) * u128::from(self.in_ns) / u128::from(self.times);
        u64::try_from(exact).unwrap_or(u64::MAX)
    }
}

/// The moments of one sensor.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    rate: Rate,
    tick: u64,
}

impl Schedule {
    /// From the first moment on, which is one period after the beginning.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        Self { rate, tick: 1 }
    }

    /// The next measurement that is due by then: its number and its moment.
    pub fn next_by(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        let due = self.rate.due_ns(self.tick);
        if due > now_ns {
            return None;
        }
        let tick = self.tick;
        self.tick += 1;
        Some((tick, due))
    }
}
