//! Waypoint following: arcs that lead to the next goal are good.

use super::voting::{Judgement, curvature_to, favour, vote_on};
use crate::{Fan, Whereabouts};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Vehicle,
};
use bowline_msgs::{Path, PoseTransform, Vote};
use std::time::Duration;

bowline_component::parameters! {
    /// How goals are driven to.
    pub struct WaypointParameters {
        in vehicle: Vehicle;
        /// Arcs on each side of straight on.
        n_arcs_each_side: i64 = 20, within 1..=500;
        /// How sure it is of its votes: 0 to 1.
        confidence: f64 = 0.6, within 0.0..=1.0 => live;
        /// How gently it brakes before the last goal, metres a second squared.
        gentle_brake_mps2: f64 = 0.5, within 0.05..=20.0;
        /// How often it votes, times a second.
        rate_hz: f64 = 10.0, within 0.1..=100.0;
        /// Older data is no data.
        deadline: Duration = Duration::from_millis(400);
    }
}

/// Votes for arcs that lead to the next goal.
#[derive(Debug)]
pub struct Waypoint {
    parameters: WaypointParameters,
    whereabouts: Whereabouts,
    fan: Fan,
    goals: Input<Path>,
    pose: Input<PoseTransform>,
    votes: Output<Vote>,
}

impl Build for Waypoint {
    type Parameters = WaypointParameters;

    fn build(parameters: WaypointParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            fan: Fan::of(&parameters.vehicle, parameters.n_arcs_each_side)?,
            goals: ports.input_on(
                "goals",
                "Where to go: what is left of the mission, the next goal first.",
                Expect::within(Duration::from_secs(2)),
                "goals",
            ),
            pose: ports.input_on(
                "pose",
                "Where the vehicle is.",
                Expect::within(parameters.deadline),
                "pose",
            ),
            votes: ports.output_on("vote", "What it thinks of each arc.", "vote.waypoint"),
            parameters,
        })
    }
}

impl Component for Waypoint {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
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

impl Waypoint {
    fn judged(&self, step: &Step<'_>) -> Result<Vote, String> {
        let pose = step.fresh(self.pose).ok_or("it has no pose")?;
        let goals = step.fresh(self.goals).ok_or("it has no mission")?;
        let place = self
            .whereabouts
            .place(&pose)
            .map_err(|why| why.to_string())?;
        let Some(goal) = goals.waypoints.first() else {
            let reason = ("waypoint", "all goals are reached".to_owned());
            return Ok(vote_on(reason, pose.utime, place, &self.fan, |_| {
                Judgement {
                    max_speed_mps: 0.0,
                    ..Judgement::INDIFFERENT
                }
            }));
        };
        let is_last = goals.waypoints.len() == 1;
        let at = goal.position.map(f64::from);
        let away_m = (at[0] - place.x_m).hypot(at[1] - place.y_m);
        let wanted = curvature_to(place, at, self.fan.max_per_m());
        let slow_mps = (2.0 * self.parameters.gentle_brake_mps2 * away_m).sqrt();
        let reason = ("waypoint", format!("{} is {away_m:.1} m away", goal.id));
        Ok(vote_on(reason, pose.utime, place, &self.fan, |curvature| {
            Judgement {
                vote: favour(curvature, wanted, self.fan.max_per_m()),
                confidence: self.parameters.confidence,
                max_speed_mps: if is_last { slow_mps } else { f64::INFINITY },
                ..Judgement::INDIFFERENT
            }
        }))
    }
}
