//! One voter's vote, checked, and its value for any curvature.

use crate::Place;
use crate::arcs::{MAX_ARCS, Travel};
use bowline_msgs::{Arc, Vote};

/// Log-odds of the best and the worst vote: 1 in 200.
const MAX_LOG_ODDS: f64 = 5.3;

/// A valid vote: as many arcs as declared, with growing curvatures, and numbers within their ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Ballot {
    /// When the data is from that it rests on, microseconds since the epoch.
    pub utime: i64,
    /// Where the vehicle was.
    pub place: Place,
    /// Why, in the voter's words.
    pub reason: String,
    arcs: Vec<Judged>,
    /// Curvatures that must not be driven, both ends included; apart and growing.
    vetoes: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Judged {
    curvature_per_m: f64,
    opinion: Opinion,
}

/// What a voter thinks of a curvature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opinion {
    /// Whether it is vetoed.
    pub is_vetoed: bool,
    /// Whether the voter has judged it at all.
    pub is_judged: bool,
    /// No faster than this, metres a second.
    pub max_speed_mps: f64,
    /// For it, or against it: log-odds, weighed by the voter's confidence.
    pub favour: f64,
    /// How far one can go, metres.
    pub free_m: f64,
}

impl Opinion {
    const NONE: Self = Self {
        is_vetoed: false,
        is_judged: false,
        max_speed_mps: f64::INFINITY,
        favour: 0.0,
        free_m: f64::INFINITY,
    };
}

/// Why a vote does not count.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// There is none.
    #[error("it has not voted")]
    Silent,
    /// There is none for this way.
    #[error("it has not judged driving {}", match .0 { Travel::Forward => "forward", Travel::Backward => "backward" })]
    Unjudged(Travel),
    /// A person leads, and this voter wants to go somewhere else.
    #[error("overruled by {by}")]
    Overruled {
        /// The voter that votes for the person.
        by: String,
    },
    /// It rests on old data.
    #[error("its vote is {age_s:.2} s old")]
    Old {
        /// How old the data is, seconds.
        age_s: f64,
    },
    /// The vehicle is somewhere else by now.
    #[error("its vote is for a place {moved_m:.1} m and {turned_deg:.0} degrees away")]
    Elsewhere {
        /// How far the vehicle has moved, metres.
        moved_m: f64,
        /// How far it has turned, degrees.
        turned_deg: f64,
    },
    /// It is another voter's.
    #[error("its vote names {found:?}")]
    Foreign {
        /// The voter that it names.
        found: String,
    },
    /// It makes no sense.
    #[error("{0}")]
    Nonsense(&'static str),
}

/// What a voter thinks of driving forward, and of driving backward; one of both at least.
#[derive(Clone, Debug, PartialEq)]
pub struct Ballots {
    forward: Option<Ballot>,
    backward: Option<Ballot>,
}

impl Ballots {
    /// Checks a vote.
    ///
    /// # Errors
    ///
    /// As [`Ballot::new`], for either way.
    pub fn new(vote: &Vote, half_spacing_per_m: f64) -> Result<Self, Fault> {
        let is_only_backward = vote.arcs.is_empty() && !vote.backward.is_empty();
        let of = |travel, is_judged: bool| {
            let ballot = is_judged.then(|| Ballot::new(vote, travel, half_spacing_per_m));
            ballot.transpose()
        };
        Ok(Self {
            forward: of(Travel::Forward, !is_only_backward)?,
            backward: of(Travel::Backward, !vote.backward.is_empty())?,
        })
    }

    /// That for one way.
    ///
    /// # Errors
    ///
    /// When the voter has judged only the other.
    pub fn of(&self, travel: Travel) -> Result<&Ballot, Fault> {
        let ballot = match travel {
            Travel::Forward => &self.forward,
            Travel::Backward => &self.backward,
        };
        ballot.as_ref().ok_or(Fault::Unjudged(travel))
    }
}

impl Ballot {
    /// Checks a vote for one way. Vetoes reach `half_spacing_per_m` to either side of an arc, or half way to its neighbours if that is
    /// more.
    ///
    /// # Errors
    ///
    /// When anything in it makes no sense: then the voter is at fault, and nothing of it counts.
    pub fn new(vote: &Vote, travel: Travel, half_spacing_per_m: f64) -> Result<Self, Fault> {
        let (arcs, free_m) = match travel {
            Travel::Forward => (&vote.arcs, &vote.free_m),
            Travel::Backward => (&vote.backward, &vote.backward_free_m),
        };
        let place = Place::new(vote.position_m[0], vote.position_m[1], vote.heading_rad);
        let is_somewhere = [place.x_m, place.y_m, place.heading_rad]
            .iter()
            .all(|it| it.is_finite());
        if !is_somewhere {
            return Err(Fault::Nonsense("its place is not a number"));
        }
        if arcs.is_empty() || arcs.len() > MAX_ARCS {
            return Err(Fault::Nonsense("it has no arcs, or too many"));
        }
        if free_m.len() != arcs.len() {
            return Err(Fault::Nonsense("it has not one free length for each arc"));
        }
        let arcs = arcs
            .iter()
            .zip(free_m)
            .map(|(arc, free_m)| judge(arc, f64::from(*free_m)))
            .collect::<Result<Vec<_>, _>>()?;
        if !arcs.is_sorted_by(|one, two| one.curvature_per_m < two.curvature_per_m) {
            return Err(Fault::Nonsense("its curvatures do not grow"));
        }
        Ok(Self {
            utime: vote.utime,
            place,
            reason: vote.reason.clone(),
            vetoes: vetoes(&arcs, half_spacing_per_m),
            arcs,
        })
    }

    /// The vote for a curvature: between two arcs, interpolated votes, and the more careful of their
    /// limits; beyond them, nothing.
    #[must_use]
    pub fn at(&self, curvature_per_m: f64) -> Opinion {
        let veto = self
            .vetoes
            .partition_point(|(_, end)| *end < curvature_per_m);
        let above = self
            .arcs
            .partition_point(|arc| arc.curvature_per_m < curvature_per_m);
        self.between(curvature_per_m, veto, above)
    }

    /// The votes for many growing curvatures: as [`Self::at`], only faster.
    pub(super) fn along(&self, curvatures_per_m: &[f64]) -> impl Iterator<Item = Opinion> {
        let (mut veto, mut above) = (0, 0);
        curvatures_per_m.iter().map(move |curvature| {
            while self
                .vetoes
                .get(veto)
                .is_some_and(|(_, end)| end < curvature)
            {
                veto += 1;
            }
            let is_below = |arc: &Judged| arc.curvature_per_m < *curvature;
            while self.arcs.get(above).is_some_and(is_below) {
                above += 1;
            }
            self.between(*curvature, veto, above)
        })
    }

    /// The vote for a curvature, given the first veto that does not end below it and the first arc that is not below.
    fn between(&self, curvature_per_m: f64, veto: usize, above: usize) -> Opinion {
        let is_vetoed = self
            .vetoes
            .get(veto)
            .is_some_and(|(start, _)| *start <= curvature_per_m);
        Opinion {
            is_vetoed,
            ..self.judged(curvature_per_m, above)
        }
    }

    fn judged(&self, curvature_per_m: f64, above: usize) -> Opinion {
        let Some(upper) = self.arcs.get(above) else {
            return Opinion::NONE;
        };
        if upper.curvature_per_m <= curvature_per_m {
            return upper.opinion;
        }
        let Some(lower) = above.checked_sub(1).and_then(|below| self.arcs.get(below)) else {
            return Opinion::NONE;
        };
        let (one, two) = (lower.opinion, upper.opinion);
        let share = (curvature_per_m - lower.curvature_per_m)
            / (upper.curvature_per_m - lower.curvature_per_m);
        Opinion {
            is_vetoed: false,
            is_judged: true,
            max_speed_mps: one.max_speed_mps.min(two.max_speed_mps),
            favour: one.favour + share * (two.favour - one.favour),
            free_m: one.free_m.min(two.free_m),
        }
    }
}

fn judge(arc: &Arc, free_m: f64) -> Result<Judged, Fault> {
    let curvature_per_m = f64::from(arc.curvature_per_m);
    let max_speed_mps = f64::from(arc.max_speed_mps);
    if !curvature_per_m.is_finite() {
        return Err(Fault::Nonsense("a curvature is not a number"));
    }
    // Not a number is neither.
    if !(max_speed_mps >= 0.0 && free_m >= 0.0) {
        return Err(Fault::Nonsense(
            "a speed or a free length is negative or not a number",
        ));
    }
    let (vote, confidence) = (f64::from(arc.vote), f64::from(arc.confidence));
    if !(-1.0..=1.0).contains(&vote) {
        return Err(Fault::Nonsense("a vote is not from -1 to 1"));
    }
    if !(0.0..=1.0).contains(&confidence) {
        return Err(Fault::Nonsense("a confidence is not from 0 to 1"));
    }
    let log_odds = ((1.0 + vote) / (1.0 - vote)).ln();
    Ok(Judged {
        curvature_per_m,
        opinion: Opinion {
            is_vetoed: arc.veto,
            is_judged: true,
            max_speed_mps,
            favour: confidence * log_odds.clamp(-MAX_LOG_ODDS, MAX_LOG_ODDS),
            free_m,
        },
    })
}

fn vetoes(arcs: &[Judged], half_spacing_per_m: f64) -> Vec<(f64, f64)> {
    let curvature = |idx: Option<usize>| {
        idx.and_then(|idx| arcs.get(idx))
            .map(|arc| arc.curvature_per_m)
    };
    let mut vetoes: Vec<(f64, f64)> = Vec::new();
    for (idx, arc) in arcs.iter().enumerate() {
        if !arc.opinion.is_vetoed {
            continue;
        }
        let at = arc.curvature_per_m;
        let reach = |neighbour: Option<f64>| {
            let half_way = neighbour.map_or(0.0, |it| (it - at).abs() / 2.0);
            half_way.max(half_spacing_per_m)
        };
        let start = at - reach(curvature(idx.checked_sub(1)));
        let end = at + reach(curvature(idx.checked_add(1)));
        match vetoes.last_mut() {
            Some((_, last_end)) if start <= *last_end => *last_end = last_end.max(end),
            Some(_) | None => vetoes.push((start, end)),
        }
    }
    vetoes
}
