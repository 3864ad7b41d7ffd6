//! Tele-operation: what a person asks for, as votes, so that vetoes of others hold for people, too.

use super::voting::{Judgement, favour, with_arcs};
use crate::{Fan, Travel, Whereabouts};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Parameters, Ports, Step,
    Vehicle,
};
use bowline_msgs::{PoseTransform, Velocity, Vote};
use std::time::Duration;

bowline_component::parameters! {
    /// How a person's set-points become votes.
    pub struct TeleopParameters {
        in vehicle: Vehicle;
        /// Arcs on each side of straight on.
        n_arcs_each_side: i64 = 20, within 1..=500;
        /// How far the vehicle may be steered from what the person asks for, as a share of the sharpest turn: arcs beyond are
        /// vetoed, so that a vehicle with something in its way stops instead of going round it.
        astray: f64 = 0.2, within 0.0..=2.0 => live;
        /// How often it votes, times a second.
        rate_hz: f64 = 10.0, within 0.1..=100.0;
        /// An older set-point of a person is none.
        deadline: Duration = Duration::from_millis(400);
    }
}

/// Votes for what a person asks for, and abstains while no person does.
#[derive(Debug)]
pub struct Teleop {
    parameters: TeleopParameters,
    wheelbase_m: f64,
    whereabouts: Whereabouts,
    fan: Fan,
    direct: Input<Velocity>,
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
            direct: ports.input_on(
                "direct",
                "How a person asks the vehicle to move, from the gate.",
                fresh.optional(),
                "teleop.velocity",
            ),
            pose: ports.input_on("pose", "Where the vehicle is.", fresh, "pose"),
            votes: ports.output_on("vote", "What the person thinks of each arc.", "vote.teleop"),
            parameters,
        })
    }
}

impl Component for Teleop {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        // A set-point that is voted on at once reaches the vehicle at the rate at which the person sends it.
        if !step.is_tick() && step.arrived(self.direct).is_none() {
            return;
        }
        let (Some(direct), Some(pose)) = (step.fresh(self.direct), step.fresh(self.pose)) else {
            // No person asks for anything, as is usual.
            out.health(Health::Good);
            return;
        };
        match self.vote(&direct, &pose) {
            Ok(vote) => {
                out.health(Health::Good);
                out.send(self.votes, vote);
            }
            Err(why) => out.health(Health::Degraded(why)),
        }
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

impl Teleop {
    fn vote(&self, direct: &Velocity, pose: &PoseTransform) -> Result<Vote, String> {
        let Velocity {
            steering_rad,
            speed_mps,
            ..
        } = *direct;
        let place = self
            .whereabouts
            .place(pose)
            .map_err(|why| why.to_string())?;
        if !steering_rad.is_finite() || !(-1e3..=1e3).contains(&speed_mps) {
            return Err("what the person asks for is no motion of a vehicle".into());
        }
        let travel = match speed_mps < 0.0 {
            true => Travel::Backward,
            false => Travel::Forward,
        };
        let (max_per_m, spacing_per_m) = (self.fan.max_per_m(), self.fan.spacing_per_m());
        let wanted = (steering_rad.tan() / self.wheelbase_m).clamp(-max_per_m, max_per_m);
        // One arc at least is left.
        let astray_per_m = (self.parameters.astray * max_per_m).max(spacing_per_m);
        let vote = Vote {
            utime: direct.utime.min(pose.utime),
            voter: "teleop".to_owned(),
            position_m: [place.x_m, place.y_m],
            heading_rad: place.heading_rad,
            reason: format!("a person asks for {speed_mps:.1} m/s"),
            ..Vote::default()
        };
        Ok(with_arcs(vote, travel, &self.fan, |curvature| Judgement {
            veto: (curvature - wanted).abs() > astray_per_m,
            vote: favour(curvature, wanted, max_per_m),
            confidence: 1.0,
            max_speed_mps: speed_mps.abs(),
            ..Judgement::INDIFFERENT
        }))
    }
}
