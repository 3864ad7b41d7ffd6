//! Path planning's voter: arcs that lead along the plan are good.

use super::model::{Action, Control};
use super::track::Track;
use crate::vote::{Judgement, curvature_to, favour, vote_on};
use crate::{Fan, Place, Whereabouts, forward_speed_mps, within_half_turn};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Vehicle,
};
use bowline_msgs::{Plan, PoseTransform, Vote};
use std::time::Duration;

bowline_component::parameters! {
    /// How a plan is followed.
    pub struct FollowParameters {
        in vehicle: Vehicle;
        /// Arcs on each side of straight on.
        n_arcs_each_side: i64 = 20, within 1..=500;
        /// How far ahead on the plan it steers for at least, metres.
        ahead_m: f64 = 3.0, within 0.05..=100.0 => live;
        /// And how much farther for each metre a second, seconds.
        ahead_s: f64 = 0.5, within 0.0..=10.0 => live;
        /// Farther beside the plan than this it abstains, metres.
        off_m: f64 = 3.0, within 0.05..=100.0;
        /// How gently it brakes before the end of the plan, metres a second squared.
        gentle_brake_mps2: f64 = 0.5, within 0.05..=20.0;
        /// How sure it is of its votes: 0 to 1.
        confidence: f64 = 0.8, within 0.0..=1.0 => live;
        /// How often it votes, times a second.
        rate_hz: f64 = 10.0, within 0.1..=100.0;
        /// Older poses are none.
        deadline: Duration = Duration::from_millis(400);
        /// Older plans are none.
        plan_deadline: Duration = Duration::from_secs(3);
    }
}

/// Votes for arcs that lead along the plan.
#[derive(Debug)]
pub struct Follow {
    parameters: FollowParameters,
    whereabouts: Whereabouts,
    fan: Fan,
    track: Track,
    plan: Input<Plan>,
    pose: Input<PoseTransform>,
    votes: Output<Vote>,
}

impl Build for Follow {
    type Parameters = FollowParameters;

    fn build(parameters: FollowParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            fan: Fan::of(&parameters.vehicle, parameters.n_arcs_each_side)?,
            track: Track::default(),
            plan: ports.input_on(
                "plan",
                "How to get to the next goal.",
                Expect::within(parameters.plan_deadline),
                "plan",
            ),
            pose: ports.input_on(
                "pose",
                "Where the vehicle is.",
                Expect::within(parameters.deadline),
                "pose",
            ),
            votes: ports.output_on("vote", "What it thinks of each arc.", "vote.follow"),
            parameters,
        })
    }
}

impl Component for Follow {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(plan) = step.arrived(self.plan) {
            self.track = track_of(&plan);
        }
        if !step.is_tick() {
            return;
        }
        match self.judged(step) {
            Ok(vote) => {
                out.health(Health::Good);
                out.send(self.votes, vote);
            }
            Err(why) => out.health(Health::Degraded(why)),
        }
    }
}

/// The track of a plan that came as a message; empty if it is none.
fn track_of(plan: &Plan) -> Track {
    let is_finite = plan
        .states
        .iter()
        .flatten()
        .all(|number| number.is_finite());
    let actions: Vec<Action> = plan
        .actions
        .iter()
        .map(|action| Action {
            control: Control {
                speed_mps: action.speed_mps,
                turn_radps: action.turn_radps,
            },
            duration_s: action.duration_s,
        })
        .collect();
    let is_sound = actions.iter().all(|action| {
        action.length_m().is_finite() && action.turned_rad().is_finite() && action.duration_s >= 0.0
    });
    if !is_finite || !is_sound || plan.states.len() != actions.len() + 1 {
        return Track::default();
    }
    let states: Vec<Place> = plan
        .states
        .iter()
        .map(|[x_m, y_m, heading_rad]| Place::new(*x_m, *y_m, *heading_rad))
        .collect();
    Track::along(&states, &actions)
}

/// What following a track asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wish {
    /// The arc to the point ahead, 1/metres; the sharpest one where the plan turns on the spot.
    pub(crate) curvature_per_m: f64,
    /// How far it is to the end of the track, or to where it turns on the spot, metres.
    pub(crate) left_m: f64,
    /// How far the vehicle is beside it, metres.
    pub(crate) off_m: f64,
    /// Whether the plan goes backward here.
    pub(crate) is_backward: bool,
    /// Whether the plan ends here.
    pub(crate) is_end: bool,
}

/// Smaller turns on the spot need none: the arc to the point ahead turns as much on the way.
const TURN_RAD: f64 = 0.6;
/// With as little of the plan left as this, it is at its end, metres: the arc to a point so near may be any.
const END_M: f64 = 0.1;
/// As near as this to where the plan turns on the spot, it turns, metres.
const CORNER_M: f64 = 0.2;

/// What following a track asks for from a place; none without a track.
pub(crate) fn wish(track: &Track, place: Place, ahead_m: f64, max_per_m: f64) -> Option<Wish> {
    let nearest = track.nearest(place, 0, f64::INFINITY);
    let here_m = track.along_m(nearest);
    let ahead = track.ahead(nearest, ahead_m);
    let wish = |to: usize, left_m: f64| {
        let (on, to_m) = (track.places().get(nearest)?, track.places().get(to)?);
        Some(Wish {
            curvature_per_m: curvature_to(place, to_m.position_m(), max_per_m),
            left_m,
            off_m: on.apart(place).0,
            is_backward: track.is_backward(to),
            is_end: track.length_m() - here_m <= END_M,
        })
    };
    let Some([corner, turned]) = track.turn_between(nearest, ahead, TURN_RAD) else {
        return wish(ahead, track.length_m() - here_m);
    };
    let to_corner_m = track.along_m(corner) - here_m;
    if to_corner_m > CORNER_M {
        return wish(corner, to_corner_m);
    }
    let turn_rad = within_half_turn(track.places().get(turned)?.heading_rad - place.heading_rad);
    Some(Wish {
        curvature_per_m: max_per_m.copysign(turn_rad),
        ..wish(corner, to_corner_m)?
    })
}

impl Follow {
    fn judged(&self, step: &Step<'_>) -> Result<Vote, String> {
        let pose = step.fresh(self.pose).ok_or("it has no pose")?;
        step.fresh(self.plan).ok_or("it has no plan")?;
        let place = self.whereabouts.place(&pose);
        let place = place.map_err(|why| why.to_string())?;
        let speed_mps = forward_speed_mps(&pose).unwrap_or(0.0).abs();
        let FollowParameters {
            ahead_m, ahead_s, ..
        } = self.parameters;
        let max_per_m = self.fan.max_per_m();
        let wish = wish(&self.track, place, ahead_m + ahead_s * speed_mps, max_per_m);
        // The plan has a deadline of its own; the vote about arcs is as new as the pose.
        let utime = pose.utime;
        match wish {
            None => Ok(self.stand(utime, place, "there is no way to the goal")),
            Some(wish) if wish.off_m > self.parameters.off_m => Err(format!(
                "the vehicle is {:.1} m beside the plan",
                wish.off_m
            )),
            // Beyond its end the plan would be behind the vehicle, and followed in circles.
            Some(wish) if wish.is_end => Ok(self.stand(utime, place, "the plan ends here")),
            Some(wish) if wish.is_backward => {
                Ok(self.stand(utime, place, "the plan goes backward, and arcs do not"))
            }
            Some(wish) => Ok(self.along(utime, place, &wish)),
        }
    }

    fn along(&self, utime: i64, place: Place, wish: &Wish) -> Vote {
        let max_speed_mps = (2.0 * self.parameters.gentle_brake_mps2 * wish.left_m).sqrt();
        let reason = format!("{:.1} m of the plan are left", wish.left_m);
        vote_on(("follow", reason), utime, place, &self.fan, |curvature| {
            Judgement {
                vote: favour(curvature, wish.curvature_per_m, self.fan.max_per_m()),
                confidence: self.parameters.confidence,
                max_speed_mps: max_speed_mps.max(0.3),
                ..Judgement::INDIFFERENT
            }
        })
    }

    fn stand(&self, utime: i64, place: Place, why: &str) -> Vote {
        vote_on(("follow", why.to_owned()), utime, place, &self.fan, |_| {
            Judgement {
                max_speed_mps: 0.0,
                ..Judgement::INDIFFERENT
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    const SHARPEST_PER_M: f64 = 4.0;

    /// 2 m east, a turn on the spot, 2 m on.
    fn corner(turn_rad: f64) -> Track {
        let action = |speed_mps: f64, turn_radps: f64, duration_s: f64| Action {
            control: Control {
                speed_mps,
                turn_radps,
            },
            duration_s,
        };
        let actions = [
            action(1.0, 0.0, 2.0),
            action(0.0, turn_rad, 1.0),
            action(1.0, 0.0, 2.0),
        ];
        let mut states = vec![Place::default()];
        for action in &actions {
            let last = states.last().copied().unwrap_or_default();
            states.push(action.control.advance(&last, action.duration_s));
        }
        Track::along(&states, &actions)
    }

    fn wish_at(track: &Track, place: Place) -> Wish {
        wish(track, place, 1.0, SHARPEST_PER_M).expect("there is a track")
    }

    #[test]
    fn corners_are_driven_to_and_then_turned_in() {
        for turn_rad in [FRAC_PI_2, -FRAC_PI_2, 2.5] {
            let track = corner(turn_rad);
            let before = wish_at(&track, Place::new(1.3, 0.0, 0.0));
            assert!(before.curvature_per_m.abs() < 1e-9, "straight to it");
            assert!((before.left_m - 0.7).abs() < 0.06, "{before:?}");
            let sharpest = SHARPEST_PER_M.copysign(turn_rad);
            for turned in [0.0, 0.5] {
                let there = wish_at(&track, Place::new(2.0, 0.0, turned * turn_rad));
                assert!((there.curvature_per_m - sharpest).abs() < 1e-9, "{there:?}");
            }
            let after = wish_at(&track, Place::new(2.0, 0.0, 0.9 * turn_rad));
            assert!(after.curvature_per_m.abs() < 1.0, "on from it: {after:?}");
            assert!((after.left_m - 2.0).abs() < 0.06, "{after:?}");
        }
    }

    #[test]
    fn a_plan_ends_at_its_end_and_not_before() {
        let track = corner(0.0);
        for (x_m, is_end) in [(3.0, false), (3.8, false), (3.95, true), (4.5, true)] {
            let wish = wish_at(&track, Place::new(x_m, 0.1, 0.0));
            assert_eq!(wish.is_end, is_end, "at {x_m} m: {wish:?}");
        }
    }

    #[test]
    fn slight_turns_on_the_spot_are_taken_as_arcs() {
        let wish = wish_at(&corner(0.4), Place::new(1.5, 0.0, 0.0));
        assert!((wish.left_m - 2.5).abs() < 0.06, "{wish:?}");
        assert!((0.1..1.0).contains(&wish.curvature_per_m), "{wish:?}");
    }
}
