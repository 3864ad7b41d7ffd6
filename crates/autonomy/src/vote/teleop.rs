//! Tele-operation: what a person asks for, as votes, so that vetoes of others hold for people, too.

use super::voting::{Judgement, favour, vote_on};
use crate::{Fan, Whereabouts};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Vehicle,
};
use bowline_msgs::{PoseTransform, Velocity, Vote};
use std::time::Duration;

bowline_component::parameters! {
    /// How a person's wishes become votes.
    pub struct TeleopParameters {
        in vehicle: Vehicle;
        /// Arcs on each side of straight on.
        n_arcs_each_side: i64 = 20, within 1..=500;
        /// How often it votes, times a second.
        rate_hz: f64 = 10.0, within 0.1..=100.0;
        /// A person who has said nothing for so long asks for nothing.
        deadline: Duration = Duration::from_millis(400);
    }
}

/// Votes for what a person asks for, and says nothing when nobody does.
#[derive(Debug)]
pub struct Teleop {
    wheelbase_m: f64,
    whereabouts: Whereabouts,
    fan: Fan,
    wish: Input<Velocity>,
    pose: Input<PoseTransform>,
    votes: Output<Vote>,
}

impl Build for Teleop {
    type Parameters = TeleopParameters;

    fn build(parameters: TeleopParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let fresh = Expect::within(parameters.deadline);
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            wheelbase_m: parameters.vehicle.wheelbase_m()?,
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            fan: Fan::of(&parameters.vehicle, parameters.n_arcs_each_side)?,
            wish: ports.input(
                "wish",
                "How a person wants the vehicle to move.",
                fresh.optional(),
            ),
            pose: ports.input_on("pose", "Where the vehicle is.", fresh, "pose"),
            votes: ports.output_on("vote", "What the person thinks of each arc.", "vote.teleop"),
        })
    }
}

impl Component for Teleop {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if !step.is_tick() {
            return;
        }
        let (Some(wish), Some(pose)) = (step.fresh(self.wish), step.fresh(self.pose)) else {
            // Nobody asks for anything, which is how it should be mostly.
            out.health(Health::Good);
            return;
        };
        let place = match self.whereabouts.place(&pose) {
            Ok(place) => place,
            Err(why) => {
                out.health(Health::Degraded(why.to_string()));
                return;
            }
        };
        // What is not a number is no wish; the arcs are for driving forward.
        if !wish.steering_rad.is_finite() || !(0.0..=1e3).contains(&wish.speed_mps) {
            out.health(Health::Degraded(
                "the person's wish is no forward motion".into(),
            ));
            return;
        }
        let max_per_m = self.fan.max_per_m();
        let wanted = (wish.steering_rad.tan() / self.wheelbase_m).clamp(-max_per_m, max_per_m);
        let reason = (
            "teleop",
            format!("a person asks for {:.1} m/s", wish.speed_mps),
        );
        let utime = wish.utime.min(pose.utime);
        out.health(Health::Good);
        out.send(
            self.votes,
            vote_on(reason, utime, place, &self.fan, |curvature| Judgement {
                vote: favour(curvature, wanted, max_per_m),
                confidence: 1.0,
                max_speed_mps: wish.speed_mps,
                ..Judgement::INDIFFERENT
            }),
        );
    }
}
