//! From where a vessel should go to what its two thrusters should give.
//!
//! In: guidance, the vessel's pose, and what the thrusters give. Out: a wish for thrust, ten times a second. Whether it
//! comes true is the gate's to decide.

mod craft;
mod law;

pub use craft::Craft;
pub use law::{State, VesselLaw, VesselSettings};

use crate::whereabouts::{model_and_frame, model_of};
use crate::{Place, Whereabouts};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Time, Vehicle,
};
use bowline_msgs::{Guidance, PoseTransform, Thrust};
use std::time::Duration;

bowline_component::parameters! {
    /// How hard a vessel is steered. What it weighs and how it is driven is in its model.
    pub struct VesselControllerParameters {
        in vehicle: Vehicle;
        /// How far ahead on a leg the vessel looks at least, metres: two lengths of it.
        lookahead_m: f64 = 4.0, within 0.5..=100.0;
        /// The same by time, seconds: a little more than it needs to turn its bow.
        lookahead_s: f64 = 3.0, within 0.5..=60.0;
        /// How much the way off a leg is added up, so that what always pushes is held against; 0: not at all.
        integral: f64 = 0.1, within 0.0..=1.0;
        /// Within so much of its station the vessel does not mind, metres.
        station_m: f64 = 0.5, within 0.0..=100.0;
        /// How fast it goes back to its station at most, metres a second.
        station_mps: f64 = 0.8, within 0.1..=10.0;
        /// How long it takes to learn how water and wind set it, seconds.
        drift_s: f64 = 8.0, within 1.0..=600.0;
        /// How old a pose or guidance may be.
        timeout: Duration = Duration::from_millis(500), within Duration::from_millis(50)..=Duration::from_secs(5);
        /// How often it publishes its set-point, times a second.
        rate_hz: f64 = 10.0, within 2.0..=100.0;
    }
}

/// Closes the loop of a vessel with two thrusters.
#[derive(Debug)]
pub struct VesselController {
    law: VesselLaw,
    whereabouts: Whereabouts,
    last: Option<Time>,
    pose: Input<PoseTransform>,
    guidance: Input<Guidance>,
    thrust: Input<Thrust>,
    wish: Output<Thrust>,
}

impl Build for VesselController {
    type Parameters = VesselControllerParameters;

    fn build(
        parameters: VesselControllerParameters,
        ports: &mut Ports,
    ) -> Result<Self, BuildError> {
        let model = model_of(&parameters.vehicle)?;
        let (_, vehicle) = model_and_frame(&parameters.vehicle)?;
        let craft = Craft::of(&model, &vehicle)?;
        let period = crate::period(parameters.rate_hz);
        ports.tick(period);
        let settings = VesselSettings {
            period_s: period.as_secs_f64(),
            lookahead_m: parameters.lookahead_m,
            lookahead_s: parameters.lookahead_s,
            integral: parameters.integral,
            station_m: parameters.station_m,
            station_mps: parameters.station_mps,
            drift_s: parameters.drift_s,
        };
        let within = Expect::within(parameters.timeout);
        Ok(Self {
            law: VesselLaw::new(craft, settings),
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            last: None,
            pose: ports.input_on("pose", "Where the vessel is.", within, "pose"),
            guidance: ports.input_on("guidance", "Where it should go.", within, "helm.guidance"),
            thrust: ports.input_on(
                "thrust",
                "What the thrusters give; without it they are taken to give what is wished for.",
                within.optional(),
                "thrust",
            ),
            wish: ports.output_on("wish", "What the thrusters should give.", "thrust.wish"),
        })
    }
}

impl Component for VesselController {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if !step.is_tick() {
            return;
        }
        let now = step.now();
        let elapsed_s = self.last.map_or(0.0, |last| now.since(last).as_secs_f64());
        self.last = Some(now);
        let given = step
            .fresh(self.thrust)
            .map(|it| [it.port_ratio, it.starboard_ratio]);
        let (ratios, health) = match self.state(step) {
            Ok((state, guidance)) => {
                self.law.observe(elapsed_s, &state, given);
                (self.law.steer(elapsed_s, &state, guidance), Health::Good)
            }
            Err(why) => {
                self.law.rest();
                ([0.0; 2], Health::Degraded(format!("no thrust: {why}")))
            }
        };
        out.health(health);
        let [port_ratio, starboard_ratio] = ratios;
        out.send(
            self.wish,
            Thrust {
                utime: now.utime(),
                port_ratio,
                starboard_ratio,
            },
        );
    }
}

impl VesselController {
    /// What the vessel does and should do, if both are known.
    fn state<'a>(&self, step: &Step<'a>) -> Result<(State, &'a Guidance), String> {
        let pose = step
            .fresh(self.pose)
            .ok_or("the pose of the vessel is unknown")?;
        let guidance = step
            .fresh(self.guidance)
            .ok_or("there is no guidance")?
            .message();
        let map_from_vehicle = self
            .whereabouts
            .vehicle(&pose)
            .map_err(|why| why.to_string())?;
        let [forward_mps, left_mps, _] = pose.velocity_mps;
        let [_, _, rate_radps] = pose.rate_radps;
        let numbers = [forward_mps, left_mps, rate_radps];
        let numbers = numbers
            .iter()
            .chain([&guidance.heading_rad, &guidance.speed_mps]);
        let mut numbers = numbers.chain(&guidance.from_m).chain(&guidance.to_m);
        if !numbers.all(|it| it.is_finite()) {
            return Err("the pose or the guidance has numbers that are none".to_owned());
        }
        let place = Place::of(&map_from_vehicle);
        let (sin, cos) = place.heading_rad.sin_cos();
        let state = State {
            place,
            velocity_mps: [
                cos * forward_mps - sin * left_mps,
                sin * forward_mps + cos * left_mps,
            ],
            rate_radps,
        };
        Ok((state, guidance))
    }
}
