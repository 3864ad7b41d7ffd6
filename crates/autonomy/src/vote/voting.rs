//! What voters have in common.

use crate::{Fan, Place};
use bowline_msgs::{Arc, Vote};

/// What a voter thinks of one arc.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) veto: bool,
    pub(crate) max_speed_mps: f64,
    pub(crate) vote: f64,
    pub(crate) confidence: f64,
    pub(crate) free_m: f64,
}

impl Judgement {
    /// Nothing to say, and nothing against it.
    pub(crate) const INDIFFERENT: Self = Self {
        veto: false,
        max_speed_mps: f64::INFINITY,
        vote: 0.0,
        confidence: 0.0,
        free_m: f64::INFINITY,
    };
}

/// A vote on each arc of a fan.
#[expect(
    clippy::cast_possible_truncation,
    reason = "votes travel in single precision"
)]
pub(crate) fn vote(
    (voter, reason): (&str, String),
    utime: i64,
    place: Place,
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
    Vote {
        utime,
        voter: voter.to_owned(),
        position_m: [place.x_m, place.y_m],
        heading_rad: place.heading_rad,
        arcs,
        free_m,
        reason,
        ..Vote::default()
    }
    .with_lengths()
}
