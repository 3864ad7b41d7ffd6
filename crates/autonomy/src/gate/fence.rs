//! The fence: a polygon that the vehicle is to stay in.

use bowline_node::Time;
use std::time::Duration;

/// Fewer corners enclose nothing, and more are somebody's mistake.
const CORNERS: std::ops::RangeInclusive<usize> = 3..=1_000;

/// A fence, and on which side of it the vehicle is.
#[derive(Clone, Debug)]
pub(super) struct Fence {
    corners_m: Vec<[f64; 2]>,
    /// A place is good for so long.
    fresh_for: Duration,
    seen: Option<Time>,
    side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Inside,
    Outside,
    Unknown,
    /// A person has seen that it is not inside, and lets it move: until it is inside again.
    Excused,
}

/// What is wrong with a fence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadFence {
    /// It encloses nothing, or has too many corners.
    #[error("a fence has 3 to 1000 corners, found {found}")]
    Corners {
        /// How many there are.
        found: usize,
    },
    /// A corner is nowhere.
    #[error("corner {nth} of the fence is not a number")]
    Nowhere {
        /// Which one, from 1 on.
        nth: usize,
    },
}

impl Fence {
    pub(super) fn new(corners_m: Vec<[f64; 2]>, fresh_for: Duration) -> Result<Self, BadFence> {
        let found = corners_m.len();
        if !CORNERS.contains(&found) {
            return Err(BadFence::Corners { found });
        }
        let is_nowhere = |corner: &[f64; 2]| !corner.iter().all(|it| it.is_finite());
        if let Some(at) = corners_m.iter().position(is_nowhere) {
            return Err(BadFence::Nowhere { nth: at + 1 });
        }
        Ok(Self {
            corners_m,
            fresh_for,
            seen: None,
            side: Side::Unknown,
        })
    }

    /// The vehicle is there. What is no place is none.
    pub(super) fn look(&mut self, now: Time, [x_m, y_m]: [f64; 2]) {
        if !x_m.is_finite() || !y_m.is_finite() {
            return;
        }
        self.seen = Some(now);
        self.side = match (self.contains([x_m, y_m]), self.side) {
            (true, _) => Side::Inside,
            (false, Side::Excused) => Side::Excused,
            (false, Side::Inside | Side::Outside | Side::Unknown) => Side::Outside,
        };
    }

    /// When the last place is good no longer: the last moment before that.
    pub(super) fn until(&self) -> Option<Time> {
        let is_watching = matches!(self.side, Side::Inside | Side::Outside);
        let seen = self.seen.filter(|_| is_watching)?;
        Some(seen + self.fresh_for)
    }

    /// Why the vehicle has to stop, if it has to.
    pub(super) fn breach(&mut self, now: Time) -> Option<&'static str> {
        self.forget(now);
        match self.side {
            Side::Inside | Side::Excused => None,
            Side::Outside => Some("the vehicle is outside the fence"),
            Side::Unknown => Some("where the vehicle is is not known, so the fence cannot be kept"),
        }
    }

    /// A person knows, and lets the vehicle move all the same: how else would it come back.
    pub(super) fn excuse(&mut self, now: Time) {
        self.forget(now);
        if self.side != Side::Inside {
            self.side = Side::Excused;
        }
    }

    /// Nobody looks while a stop is latched, so whoever asks which side it is on has what is over forgotten first.
    fn forget(&mut self, now: Time) {
        if self.until().is_some_and(|until| now > until) {
            self.side = Side::Unknown;
        }
    }

    /// By the number of edges east of it.
    fn contains(&self, [x_m, y_m]: [f64; 2]) -> bool {
        let next = self.corners_m.iter().cycle().skip(1);
        let is_crossed = |(from, to): &(&[f64; 2], &[f64; 2])| {
            let ([x0, y0], [x1, y1]) = (**from, **to);
            (y0 > y_m) != (y1 > y_m) && x_m < x0 + (x1 - x0) * (y_m - y0) / (y1 - y0)
        };
        self.corners_m.iter().zip(next).filter(is_crossed).count() % 2 == 1
    }
}
