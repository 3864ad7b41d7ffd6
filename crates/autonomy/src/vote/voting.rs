//! What voters have in common: judgements of arcs, and the vote that is made of them.

use crate::{Fan, Place, Travel};
use bowline_msgs::{Arc, Vote};

/// What a voter thinks of one arc.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Whether the arc must not be driven.
    pub veto: bool,
    /// No faster than this, metres a second; infinite without a limit.
    pub max_speed_mps: f64,
    /// How good the arc is, from -1 for the worst to 1 for the best; limited to that range.
    pub vote: f64,
    /// How much that is to count, from 0 to 1; limited to that range.
    pub confidence: f64,
    /// How far the arc can be driven, metres; infinite where no end is known.
    pub free_m: f64,
}

impl Judgement {
    /// Neither for the arc nor against it, without limits.
    pub const INDIFFERENT: Self = Self {
        veto: false,
        max_speed_mps: f64::INFINITY,
        vote: 0.0,
        confidence: 0.0,
        free_m: f64::INFINITY,
    };
}

/// A vote on driving forward along each arc of a fan, as `judge` finds it by its curvature, 1/metres. `voter` is the name by which an arbiter
/// knows the voter, `reason` a text for operators; `utime` and `place` are the time and the place of the data that the
/// vote rests on.
///
/// ```
/// use bowline_autonomy::vote::{Judgement, favour, vote_on};
/// use bowline_autonomy::{Fan, Place};
///
/// // Three arcs: right, straight on, left. This voter prefers the left.
/// let fan = Fan::new(0.5, 1);
/// let place = Place::new(0.0, 0.0, 0.0);
/// let vote = vote_on(("left", "because".to_owned()), 0, place, &fan, |curvature_per_m| Judgement {
///     vote: favour(curvature_per_m, 0.5, fan.max_per_m()),
///     confidence: 0.5,
///     ..Judgement::INDIFFERENT
/// });
///
/// assert!(vote.arcs[2].vote > vote.arcs[1].vote && vote.arcs[1].vote > vote.arcs[0].vote);
/// ```
#[must_use]
pub fn vote_on(
    (voter, reason): (&str, String),
    utime: i64,
    place: Place,
    fan: &Fan,
    judge: impl FnMut(f64) -> Judgement,
) -> Vote {
    let vote = Vote {
        utime,
        voter: voter.to_owned(),
        position_m: [place.x_m, place.y_m],
        heading_rad: place.heading_rad,
        reason,
        ..Vote::default()
    };
    with_arcs(vote, Travel::Forward, fan, judge)
}

/// The same vote, with a judgement of each arc of a fan for one way.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "votes travel in single precision"
)]
pub fn with_arcs(
    vote: Vote,
    travel: Travel,
    fan: &Fan,
    mut judge: impl FnMut(f64) -> Judgement,
) -> Vote {
    let n = fan.curvatures_per_m().len();
    let (mut arcs, mut free_m) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for curvature in fan.curvatures_per_m() {
        let judgement = judge(*curvature);
        arcs.push(Arc {
            veto: judgement.veto,
            curvature_per_m: *curvature as f32,
            max_speed_mps: judgement.max_speed_mps as f32,
            vote: judgement.vote.clamp(-1.0, 1.0) as f32,
            confidence: judgement.confidence.clamp(0.0, 1.0) as f32,
        });
        free_m.push(judgement.free_m as f32);
    }
    let vote = match travel {
        Travel::Forward => Vote {
            arcs,
            free_m,
            ..vote
        },
        Travel::Backward => Vote {
            backward: arcs,
            backward_free_m: free_m,
            ..vote
        },
    };
    vote.with_lengths()
}

/// The curvature of the arc from a place through a point of the map, 1/metres, positive to the left; the sharpest towards a
/// point that lies behind.
#[must_use]
pub fn curvature_to(from: Place, at_m: [f64; 2], max_per_m: f64) -> f64 {
    let [forward_m, left_m] = from.see(at_m);
    let away2 = forward_m * forward_m + left_m * left_m;
    if forward_m <= 0.0 {
        return max_per_m.copysign(left_m);
    }
    (2.0 * left_m / away2.max(1e-6)).clamp(-max_per_m, max_per_m)
}

/// A vote for curvatures near a wanted one: from 0.95 for the wanted arc down to -0.95 for the opposite one of the sharpest.
#[must_use]
pub fn favour(curvature_per_m: f64, wanted_per_m: f64, max_per_m: f64) -> f64 {
    0.95 - 1.9 * (curvature_per_m - wanted_per_m).abs() / (2.0 * max_per_m)
}
