//! The fence: a polygon that the vehicle is to stay in.

use bowline_component::Time;
use std::time::Duration;

/// Fewer corners enclose nothing, and more are a mistake.
const CORNERS: std::ops::RangeInclusive<usize> = 3..=1_000;

/// A fence, and on which side of it the vehicle is.
///
/// ```text
///              a place inside                       a place outside, or none for too long
///   Unknown ─────────────────▶ kept, nothing wrong ─────────────────────────────────────▶ breached
///      │                              ▲                                                     │ excused by a person
///      │ no place yet                 │ a place inside                                      ▼
///      └──▶ breached                  └─────────────────────────────────────────────── let be, for this breach only
/// ```
#[derive(Clone, Debug)]
pub(super) struct Fence {
    corners_m: Vec<[f64; 2]>,
    /// A place is good for so long.
    fresh_for: Duration,
    seen: Option<Time>,
    side: Side,
    excuse: Option<Excuse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Inside,
    Outside,
    Unknown,
}

/// Why a fence is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breach {
    /// The vehicle is on the wrong side.
    Outside,
    /// It is unknown on which side it is.
    Lost,
    /// The same, and it was never known in this instance of the gate.
    Unplaced,
}

/// A person has seen what is wrong, and lets the vehicle move all the same: how else would it come back.
#[derive(Clone, Debug)]
struct Excuse {
    breach: Breach,
    station: String,
}

impl Breach {
    /// Why the vehicle has to stop.
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::Outside => "the vehicle is outside the fence",
            Self::Lost => "where the vehicle is is not known, so the fence cannot be kept",
            Self::Unplaced => "where the vehicle is is not known yet, so the fence cannot be kept",
        }
    }
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
            excuse: None,
        })
    }

    /// The vehicle was there at that time. What is no place is none.
    pub(super) fn look(&mut self, at: Time, place_m: [f64; 2]) {
        if !place_m.iter().all(|it| it.is_finite()) {
            return;
        }
        self.seen = self.seen.max(Some(at));
        self.side = match self.contains(place_m) {
            true => Side::Inside,
            false => Side::Outside,
        };
        self.review();
    }

    /// When the last place is good no longer: the last moment before that.
    pub(super) fn until(&self) -> Option<Time> {
        let is_watching = matches!(self.side, Side::Inside | Side::Outside);
        let seen = self.seen.filter(|_| is_watching)?;
        Some(seen + self.fresh_for)
    }

    /// What is wrong, excused or not. Nothing is checked while a stop is latched, so what is over is forgotten first.
    pub(super) fn breach(&mut self, now: Time) -> Option<Breach> {
        if self.until().is_some_and(|until| now > until) {
            self.side = Side::Unknown;
            self.review();
        }
        self.found()
    }

    /// What is wrong and not excused.
    pub(super) fn unexcused(&mut self, now: Time) -> Option<Breach> {
        self.breach(now).filter(|_| self.excuse.is_none())
    }

    /// A person knows, and lets the vehicle move all the same.
    pub(super) fn excuse(&mut self, breach: Breach, station: &str) {
        self.excuse = Some(Excuse {
            breach,
            station: station.to_owned(),
        });
        self.review();
    }

    /// No station answers for it any more, but for this station if it is the one that did.
    pub(super) fn end_excuse(&mut self, unless: Option<&str>) {
        self.excuse = self
            .excuse
            .take()
            .filter(|it| Some(it.station.as_str()) == unless);
    }

    /// What is excused, and by whom.
    pub(super) fn excused(&self) -> Option<(Breach, &str)> {
        let excuse = self.excuse.as_ref()?;
        Some((excuse.breach, &excuse.station))
    }

    fn found(&self) -> Option<Breach> {
        match (self.side, self.seen) {
            (Side::Inside, _) => None,
            (Side::Outside, _) => Some(Breach::Outside),
            (Side::Unknown, Some(_)) => Some(Breach::Lost),
            (Side::Unknown, None) => Some(Breach::Unplaced),
        }
    }

    /// What was excused is what was wrong then, and nothing else.
    fn review(&mut self) {
        let found = self.found();
        self.excuse.take_if(|it| Some(it.breach) != found);
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
