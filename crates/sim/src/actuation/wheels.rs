//! Wheels and castors that a vehicle stands on, and that are driven: from commands to forces.

mod rolling;
mod turning;

use super::{ActuationKind, CommandPort, Gear, MountedBody, Propulsion, Site, Start, Stride};
use crate::physics::{ChassisState, Push};
use crate::vehicle::WheelName;
use crate::world::Spawn;
use bowline_autonomy::control::{Drive, DriveLimits};
use bowline_autonomy::gate::GateComponent;
use bowline_component::{BuildError, Kind, Time};
use bowline_geometry::{Shape, ShapeKind, Transform, Vec3};
use bowline_msgs::Velocity;
use rolling::{Rolling, Suspension};
use std::any::Any;

pub use rolling::WheelState;
pub(crate) use turning::SQUARE_RAD;
pub use turning::{Motion, Steering};

pub(super) const KIND: ActuationKind = ActuationKind {
    needs: "at least 3 bodies with Wheel or Castor in their names and a cylinder or a sphere as their shape",
    elements: &[],
    build,
    gate: Some(Kind::of::<GateComponent<Velocity>>(
        "gate_drive",
        "Decides what may move a ground vehicle; the only writer of its drive commands.",
    )),
};

/// What a vehicle stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Wheels(Vec<Wheel>);

/// A wheel, or a castor.
#[derive(Clone, Debug, PartialEq)]
pub struct Wheel {
    /// The body that it is.
    pub part: usize,
    /// Its middle, in coordinates of the vehicle, metres.
    pub centre_m: Vec3,
    /// Metres.
    pub radius_m: f64,
    /// Whether it only carries, and slides wherever it is pulled.
    pub is_castor: bool,
}

/// A model with wheels would fall over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {}, found {found}", KIND.needs)]
pub struct TooFewWheels {
    /// How many there are.
    pub found: usize,
}

fn build(bodies: &[MountedBody<'_>]) -> Result<Option<Box<dyn Gear>>, BuildError> {
    let mut wheels = Vec::new();
    for mounted in bodies {
        let Some(name) = WheelName::of(mounted.body) else {
            continue;
        };
        let mut shapes = mounted.body.shapes.iter();
        let wheel = shapes.find_map(|shape| {
            Some(Wheel {
                part: mounted.part,
                centre_m: (mounted.vehicle_from_body * shape.body_from_shape).xyz(),
                radius_m: wheel_radius(shape)?,
                is_castor: name == WheelName::Castor,
            })
        });
        wheels.extend(wheel);
    }
    match wheels.len() {
        0 => Ok(None),
        found @ 1..3 => Err(TooFewWheels { found }.into()),
        _ => Ok(Some(Box::new(Wheels(wheels)))),
    }
}

fn wheel_radius(shape: &Shape) -> Option<f64> {
    match shape.kind {
        ShapeKind::Cylinder { radius_m, .. } | ShapeKind::Sphere { radius_m } => Some(radius_m),
        ShapeKind::Box { .. } | ShapeKind::Mesh { .. } => None,
    }
}

/// From where the ground is looked for by default.
const SKY_M: f64 = 100.0;

impl Gear for Wheels {
    fn command(&self) -> CommandPort {
        CommandPort::of::<Velocity>(
            "command",
            "How to move. Without one for the timeout it stops.",
        )
    }

    fn start(&self, start: &Start<'_>) -> Box<dyn Propulsion> {
        Box::new(Driven::new(&self.0, start))
    }

    /// On whatever is below a place, each wheel as well as it can.
    fn stand(&self, site: &Site<'_>, spawn: &Spawn) -> Transform {
        let (sin, cos) = spawn.heading_rad.sin_cos();
        let from = spawn.from_z_m.unwrap_or(SKY_M);
        let [x0, y0] = spawn.xy_m;
        let centre = site.height_m(spawn.xy_m, from).unwrap_or(0.0);
        // Heights below the wheels, as a plane through them: z = a + b x + c y in the vehicle's own directions.
        let below = self.0.iter().map(|wheel| {
            let [x, y, z] = wheel.centre_m;
            let at = [x0 + cos * x - sin * y, y0 + sin * x + cos * y];
            let ground = site.height_m(at, from).unwrap_or(centre);
            [x, y, ground - (z - wheel.radius_m)]
        });
        let below: Vec<[f64; 3]> = below.collect();
        let [a, b, c] = rolling::plane(&below).unwrap_or([centre, 0.0, 0.0]);
        let upright = Transform::from_xyz_rpy([x0, y0, a], [0.0, 0.0, spawn.heading_rad]);
        let lean = Transform::from_xyz_rpy([0.0; 3], [c.atan(), -b.atan(), 0.0]);
        upright * lean
    }

    fn wheels(&self) -> &[Wheel] {
        &self.0
    }
}

/// Wheels, and their commands.
#[derive(Debug)]
struct Driven {
    wheels: Rolling,
    drive: Drive,
    motion: Motion,
    limits: DriveLimits,
    steering: Steering,
}

impl Driven {
    fn new(wheels: &[Wheel], start: &Start<'_>) -> Self {
        let settings = start.settings;
        let suspension = Suspension {
            bounce_hz: settings.bounce_hz,
            grip: settings.grip,
            gravity_mps2: start.world.gravity(),
        };
        let mut drive = Drive::new(settings.limits);
        drive.advance(Time::ZERO);
        Self {
            wheels: Rolling::new(start.vehicle, wheels, settings.steering, suspension),
            drive,
            motion: Motion::default(),
            limits: settings.limits,
            steering: settings.steering,
        }
    }
}

impl Propulsion for Driven {
    fn command(&mut self, now: Time, command: &dyn Any) {
        if let Some(command) = command.downcast_ref::<Velocity>() {
            self.drive.command(now, command);
        }
    }

    fn is_silent(&self, now: Time) -> bool {
        self.drive.is_silent(now)
    }

    /// Forgets what tyres felt and what was commanded.
    fn settle(&mut self, _state: &ChassisState, now: Time, _elapsed_ns: u64) {
        self.wheels.settle();
        self.drive = Drive::new(self.limits);
        self.drive.advance(now);
        self.motion = Motion::default();
    }

    fn push(&mut self, stride: &Stride<'_>) -> Push {
        let Stride {
            physics,
            state,
            now,
            step_s,
            strength,
            ..
        } = *stride;
        self.drive
            .set_limits(Steering::weakened(self.limits, strength));
        let told = self.drive.advance(now);
        self.motion = self.steering.motion(told, self.motion, step_s);
        let mut push = Push::default();
        for (force, point) in self.wheels.forces((physics, &state), &self.motion, step_s) {
            push.force += force;
            push.torque += (point - state.centre).cross(force);
        }
        push
    }

    fn wheel(&self, part: usize) -> Option<WheelState> {
        self.wheels.state(part)
    }

    fn motion(&self) -> Motion {
        self.motion
    }
}
