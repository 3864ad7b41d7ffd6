//! When the moments of a log come.
//!
//! ```text
//!   log time                   . event
//!      |                   . '
//!      |               . '          slope: the rate
//!      |  anchor   . '
//!      |         +                  paused: flat; sought: a new anchor
//!      +---------------------------- now
//! ```
//!
//! Log time is kept against one anchor, so that lateness does not add up. What moves the anchor: seeking, a change of
//! the rate, times that go back, gaps that are to be shortened, and being held up.

use std::time::Duration;

/// Events that are earlier than the one before them by less than this are in disorder: they are due at once, and the
/// others stay where they are. Where it is more, a clock was set back, and the timeline goes with it.
const DISORDER_US: i64 = 100_000;

/// How fast a log is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// So many seconds of log time in a second. Above 0.
    Times(f64),
    /// As fast as the bus takes it.
    Max,
}

impl Rate {
    const SLOWEST: f64 = 1.0 / 1024.0;
    const FASTEST: f64 = 1024.0;

    /// A rate from a number: what is 0 or less is as fast as possible, as LCM has it.
    #[must_use]
    pub fn new(times: f64) -> Self {
        if times > 0.0 && times.is_finite() {
            Self::Times(times)
        } else {
            Self::Max
        }
    }

    /// The number: 0 is as fast as possible.
    #[must_use]
    pub fn times(self) -> f64 {
        match self {
            Self::Times(times) => times,
            Self::Max => 0.0,
        }
    }

    /// The next power of two above; above those that make sense, as fast as possible.
    #[must_use]
    pub fn faster(self) -> Self {
        match self {
            Self::Times(times) if times < Self::FASTEST => {
                Self::Times((times.log2().floor() + 1.0).exp2().max(Self::SLOWEST))
            }
            Self::Times(_) | Self::Max => Self::Max,
        }
    }

    /// The next power of two below.
    #[must_use]
    pub fn slower(self) -> Self {
        match self {
            Self::Times(times) => {
                Self::Times((times.log2().ceil() - 1.0).exp2().max(Self::SLOWEST))
            }
            Self::Max => Self::Times(Self::FASTEST),
        }
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self::Times(1.0)
    }
}

/// Where log time is, and when it will be elsewhere. Durations are since any moment that the caller chooses.
#[derive(Clone, Debug)]
pub struct Timeline {
    rate: Rate,
    is_running: bool,
    /// `None` until there is a moment to begin with.
    anchor: Option<Anchor>,
    /// Where log time was when the last event was due.
    last_utime: i64,
    /// The timeline that was left when times went back, in case they come back to it.
    left: Option<Left>,
}

/// A timeline that was left.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// How far it is ahead.
    ahead_us: i64,
    /// Where log time was on it. A reader that arrives by the new one does not come back.
    utime: i64,
}

/// A moment when it is known what log time is.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    now: Duration,
    utime: i64,
}

/// What an event did to the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// Nothing: it is later than the one before it, or not much earlier.
    InOrder,
    /// Times went back, and the timeline with them.
    Backward,
    /// The gap before it was shortened.
    Shortened,
}

impl Timeline {
    /// A timeline that begins with its first event.
    #[must_use]
    pub fn new(rate: Rate, is_running: bool) -> Self {
        Self {
            rate,
            is_running,
            anchor: None,
            last_utime: 0,
            left: None,
        }
    }

    /// How fast log time runs.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Has log time run so fast from now on.
    pub fn set_rate(&mut self, rate: Rate, now: Duration) {
        self.anchor_at(now);
        self.rate = rate;
    }

    /// Has log time run or stand still from now on.
    pub fn run(&mut self, is_running: bool, now: Duration) {
        self.anchor_at(now);
        self.is_running = is_running;
    }

    /// Log time is `utime` now, whatever it was before.
    pub fn jump(&mut self, utime: i64, now: Duration) {
        self.anchor = Some(Anchor { now, utime });
        self.last_utime = utime;
        self.left = None;
    }

    /// Takes the time of the next event as the current time.
    pub fn forget(&mut self) {
        self.anchor = None;
        self.left = None;
    }

    /// Log time stood still for as long.
    pub fn delay(&mut self, by: Duration) {
        if let Some(anchor) = &mut self.anchor {
            anchor.now = anchor.now.saturating_add(by);
        }
    }

    /// Log time, if it has begun.
    #[must_use]
    pub fn utime(&self, now: Duration) -> Option<i64> {
        let anchor = self.anchor?;
        let Rate::Times(times) = self.rate else {
            return Some(anchor.utime);
        };
        if !self.is_running {
            return Some(anchor.utime);
        }
        let passed_s = now.saturating_sub(anchor.now).as_secs_f64() * times;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "what is too far is as far as it goes"
        )]
        let passed_us = (passed_s * 1e6) as i64;
        Some(anchor.utime.saturating_add(passed_us))
    }

    /// When log time is `utime`; `None` if that is at once. Only while it runs.
    #[must_use]
    pub fn due(&self, utime: i64) -> Option<Duration> {
        let (Some(anchor), Rate::Times(times)) = (self.anchor, self.rate) else {
            return None;
        };
        let ahead_us = i128::from(utime) - i128::from(anchor.utime);
        let ahead = Duration::from_micros(u64::try_from(ahead_us.max(0)).unwrap_or(u64::MAX));
        // What is later than can be counted is never.
        let ahead = Duration::try_from_secs_f64(ahead.as_secs_f64() / times);
        Some(anchor.now.saturating_add(ahead.unwrap_or(Duration::MAX)))
    }

    /// When the event that was placed last is due; `None` if that is at once.
    #[must_use]
    pub fn due_placed(&self) -> Option<Duration> {
        self.due(self.last_utime)
    }

    /// Takes the next event in.
    pub fn place(&mut self, utime: i64, max_gap_us: Option<i64>, now: Duration) -> Placed {
        let Some(anchor) = &mut self.anchor else {
            self.jump(utime, now);
            return Placed::InOrder;
        };
        if self.rate == Rate::Max {
            anchor.utime = utime;
            let is_backward = utime < self.last_utime.saturating_sub(DISORDER_US);
            self.last_utime = utime;
            return if is_backward {
                Placed::Backward
            } else {
                Placed::InOrder
            };
        }
        let ahead_us = utime.saturating_sub(self.last_utime);
        if ahead_us < -DISORDER_US {
            anchor.utime = anchor.utime.saturating_add(ahead_us);
            self.left = Some(Left {
                ahead_us: ahead_us.saturating_neg(),
                utime: self.last_utime,
            });
            self.last_utime = utime;
            return Placed::Backward;
        }
        let ahead_us = match self.left {
            Some(left) if ahead_us >= left.ahead_us => {
                anchor.utime = anchor.utime.saturating_add(left.ahead_us);
                self.left = None;
                ahead_us - left.ahead_us
            }
            Some(left) if utime >= left.utime => {
                self.left = None;
                ahead_us
            }
            Some(_) | None => ahead_us,
        };
        self.last_utime = self.last_utime.max(utime);
        match max_gap_us {
            Some(max_us) if ahead_us > max_us => {
                anchor.utime = anchor.utime.saturating_add(ahead_us - max_us);
                Placed::Shortened
            }
            Some(_) | None => Placed::InOrder,
        }
    }

    fn anchor_at(&mut self, now: Duration) {
        if let Some(utime) = self.utime(now) {
            self.anchor = Some(Anchor { now, utime });
        }
    }
}
