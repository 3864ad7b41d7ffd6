//! Drivers that need no arbiter: a laser, a pose and goals in, a command out.
//!
//! What they have in common is here: where the vehicle is by now, what the laser has met, where to go, how a control becomes
//! a command; and that without fresh data, or without a goal, the command is to stand. How to drive is the driver's.

mod pilot;
mod window;

pub use pilot::{PilotDriver, PilotParameters};
pub use window::{WindowDriver, WindowParameters};

use super::model::Control;
use crate::{Place, Whereabouts, forward_speed_mps};
use bowline_component::{
    BuildError, Expect, Health, Input, Outbox, Output, Ports, Seen, Step, Time, Vehicle,
};
use bowline_geometry::Transform;
use bowline_msgs::{Path, PoseTransform, Range3d, Velocity};
use std::ops::RangeInclusive;
use std::time::Duration;

/// What a laser has met, in the map's coordinates.
#[derive(Debug)]
struct Scan {
    from_m: [f64; 2],
    hits_m: Vec<[f64; 2]>,
}

/// Where the vehicle is, what it does, and where it should go.
#[derive(Clone, Copy, Debug)]
struct Situation {
    place: Place,
    now: Control,
    goal_m: [f64; 2],
}

/// A driver in a [`Seat`].
trait Driver {
    /// Takes what the laser has met.
    fn see(&mut self, scan: &Scan);

    /// Returns a command, once in each period.
    fn drive(&mut self, situation: &Situation) -> Control;
}

/// What a seat is made from.
struct SeatRule<'a> {
    vehicle: &'a Vehicle,
    /// What is lower or higher than this is not in the way, metres above the ground below the vehicle.
    heights_m: RangeInclusive<f64>,
    period: Duration,
    deadline: Duration,
}

/// Where a driver sits: it sees out of here, and commands from here.
#[derive(Debug)]
struct Seat {
    whereabouts: Whereabouts,
    wheelbase_m: f64,
    heights_m: RangeInclusive<f64>,
    laser: Input<Range3d>,
    pose: Input<PoseTransform>,
    goals: Input<Path>,
    command: Output<Velocity>,
}

/// How far into the future a pose is carried on at most, seconds: deadlines allow more than that holds for.
const MAX_CARRIED_S: f64 = 0.2;
/// A turn on the spot is asked for as an arc at this speed, metres a second: a command has no other word for it.
const SPOT_MPS: f64 = 0.01;

impl Seat {
    fn new(rule: SeatRule<'_>, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(rule.period);
        let fresh = Expect::within(rule.deadline);
        Ok(Self {
            whereabouts: Whereabouts::of(rule.vehicle)?,
            wheelbase_m: rule.vehicle.wheelbase_m()?,
            heights_m: rule.heights_m,
            laser: ports.input_on("laser", "What is around the vehicle.", fresh, "laser"),
            pose: ports.input_on("pose", "Where the vehicle is.", fresh, "pose"),
            goals: ports.input_on(
                "goals",
                "Where to go: what is left of the mission, the next goal first.",
                Expect::within(Duration::from_secs(2)),
                "goals",
            ),
            command: ports.output_on("command", "How to move.", "command"),
        })
    }

    /// One event: the driver sees what has come, and drives at each tick.
    fn step(&self, driver: &mut dyn Driver, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(ranges) = step.arrived(self.laser) {
            match self.scan(step, &ranges) {
                Ok(scan) => driver.see(&scan),
                Err(why) => out.health(Health::Degraded(why)),
            }
        }
        if !step.is_tick() {
            return;
        }
        let control = match self.situation(step) {
            Ok(situation) => {
                out.health(Health::Good);
                situation.map_or_else(Control::default, |situation| driver.drive(&situation))
            }
            Err(why) => {
                out.health(Health::Degraded(why));
                Control::default()
            }
        };
        out.send(self.command, self.velocity(step.now(), control));
    }

    /// Where everything is; `None` when there is nowhere to go any more.
    fn situation(&self, step: &Step<'_>) -> Result<Option<Situation>, String> {
        let pose = step.fresh(self.pose).ok_or("it has no pose")?;
        step.fresh(self.laser).ok_or("it has no laser")?;
        let goals = step.fresh(self.goals).ok_or("it has no mission")?;
        let (place, now) = self.carried_on(&pose, step.now())?;
        Ok(goals.waypoints.first().map(|goal| Situation {
            place,
            now,
            goal_m: goal.position.map(f64::from),
        }))
    }

    /// Where the vehicle is at a time shortly after a pose, if it has gone on as it went then; and how it went.
    fn carried_on(&self, pose: &PoseTransform, to: Time) -> Result<(Place, Control), String> {
        let place = self.whereabouts.place(pose);
        let place = place.map_err(|why| why.to_string())?;
        let [.., turn_radps] = pose.rate_radps;
        let now = Control {
            speed_mps: forward_speed_mps(pose).ok_or("its pose has no speed")?,
            turn_radps: if turn_radps.is_finite() {
                turn_radps
            } else {
                0.0
            },
        };
        let since = to.since(Time::from_utime(pose.utime));
        let place = now.advance(&place, since.as_secs_f64().min(MAX_CARRIED_S));
        Ok((place, now))
    }

    fn scan(&self, step: &Step<'_>, ranges: &Range3d) -> Result<Scan, String> {
        let pose: Seen<'_, PoseTransform> = step.fresh(self.pose).ok_or("it has no pose")?;
        let (place, _) = self.carried_on(&pose, Time::from_utime(ranges.utime))?;
        let vehicle_from_laser = self.vehicle_from(&pose, &ranges.frame)?;
        let [x_m, y_m, _] = vehicle_from_laser.xyz();
        let hits = ranges.points.iter().filter_map(|[x, y, z, range_m]| {
            // Infinite: nothing was met. Not a number: the device failed.
            if !range_m.is_finite() {
                return None;
            }
            let [x_m, y_m, z_m] = vehicle_from_laser.apply([x, y, z].map(|at| f64::from(*at)));
            let is_in_the_way = self.heights_m.contains(&z_m);
            is_in_the_way.then(|| place.point([x_m, y_m]))
        });
        Ok(Scan {
            from_m: place.point([x_m, y_m]),
            hits_m: hits.collect(),
        })
    }

    fn vehicle_from(&self, pose: &PoseTransform, frame: &str) -> Result<Transform, String> {
        let map_from_vehicle = self.whereabouts.vehicle(pose);
        let map_from_frame = self.whereabouts.frame(pose, frame);
        let (vehicle, frame) = (map_from_vehicle, map_from_frame);
        let inverse = |vehicle: Transform| Ok(vehicle.inverse_mul(&frame?));
        vehicle
            .and_then(inverse)
            .map_err(|why: crate::BadPose| why.to_string())
    }

    fn velocity(&self, now: Time, control: Control) -> Velocity {
        let Control {
            speed_mps,
            turn_radps,
        } = control;
        let is_spot = speed_mps.abs() < SPOT_MPS && turn_radps != 0.0;
        let speed_mps = if is_spot { SPOT_MPS } else { speed_mps };
        let steering_rad = if speed_mps == 0.0 {
            0.0
        } else {
            (turn_radps / speed_mps * self.wheelbase_m).atan()
        };
        Velocity {
            utime: now.utime(),
            steering_rad,
            speed_mps,
        }
    }
}
