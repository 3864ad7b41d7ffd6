//! What carries and moves a vehicle: which kinds there are, and what all of them do.
//!
//! A kind is one file below this one and one row of [`ACTUATIONS`]; a program adds rows of its own by
//! [`Tables`](crate::Tables). The model decides which one a vehicle has: the first whose parts it has.

pub mod hull;
pub mod wheels;

use crate::math::{pose, transform, vector};
use crate::physics::{ChassisState, Physics, Push};
use crate::sea::Water;
use crate::simulation::Settings;
use crate::vehicle::Vehicle;
use crate::world::{Spawn, World};
use bowline_component::{BuildError, Expect, Input, Kind, Ports, Step, Time, TypeInfo};
use bowline_geometry::{Body, ElementKind, Transform, Vec3};
use bowline_wire::{Decode, Message};
use std::any::Any;
use std::fmt;

pub(crate) use wheels::SQUARE_RAD;
use wheels::{Motion, Wheel, WheelState};

/// All kinds of actuation, in the order in which a model is looked through for their parts. Add yours here; nothing else
/// needs to change.
pub const ACTUATIONS: &[ActuationKind] = &[hull::KIND, wheels::KIND];

/// A kind of actuation that models can have.
#[derive(Clone, Copy, Debug)]
pub struct ActuationKind {
    /// What a model needs to have it, for the error when it has none: `a <hull>`.
    pub needs: &'static str,
    /// The elements of Body files that belong to it, with their documentation.
    pub elements: &'static [ElementKind],
    /// Takes it from a model's bodies; none where they have none of it.
    pub build: BuildGear,
    /// The gate for such vehicles, as a kind of component: `GateComponent` of the command's type; none where persons and
    /// programs drive it without one.
    pub gate: Option<Kind>,
}

/// Takes a kind of actuation from a model's bodies.
pub type BuildGear = fn(&[MountedBody<'_>]) -> Result<Option<Box<dyn Gear>>, BuildError>;

/// A body of a model where it sits on the vehicle.
#[derive(Clone, Copy, Debug)]
pub struct MountedBody<'m> {
    /// Its number in the model.
    pub part: usize,
    /// As the model has it.
    pub body: &'m Body,
    /// Where it is.
    pub vehicle_from_body: Transform,
}

/// What carries and moves a vehicle, as its model describes it.
pub trait Gear: Any + fmt::Debug + Send + Sync {
    /// How commands come in.
    fn command(&self) -> CommandPort;

    /// Begins to move a vehicle: at rest, without a command.
    fn start(&self, start: &Start<'_>) -> Box<dyn Propulsion>;

    /// Where the vehicle's frame is when it is put somewhere.
    fn stand(&self, site: &Site<'_>, spawn: &Spawn) -> Transform;

    /// Whether it needs a world with a sea.
    fn needs_sea(&self) -> bool {
        false
    }

    /// Whether the physics engine moves it in the plane only. [`Propulsion::seen`] may lay more over that.
    fn is_planar(&self) -> bool {
        false
    }

    /// What it stands on; nothing for what floats.
    fn wheels(&self) -> &[Wheel] {
        &[]
    }
}

/// What moves a vehicle, as it is now.
pub trait Propulsion: fmt::Debug + Send {
    /// Takes a command that has just arrived. One of another type than that of the port is none of its business.
    fn command(&mut self, now: Time, command: &dyn Any);

    /// Whether there is no command that counts.
    fn is_silent(&self, now: Time) -> bool;

    /// At rest and without commands: the vehicle was put somewhere.
    fn settle(&mut self, state: &ChassisState, now: Time, elapsed_ns: u64);

    /// What pushes the vehicle during a step.
    fn push(&mut self, stride: &Stride<'_>) -> Push;

    /// What follows once a step was taken, at its end.
    fn follow(&mut self, _state: &ChassisState, _elapsed_ns: u64, _step_s: f64) {}

    /// The vehicle as it truly is, from what the engine knows.
    fn seen(&self, state: ChassisState) -> ChassisState {
        state
    }

    /// What it floats on or dives in.
    fn water(&self) -> Option<&Water> {
        None
    }

    /// The wheel that a body is.
    fn wheel(&self, _part: usize) -> Option<WheelState> {
        None
    }

    /// How the vehicle is to move now, on wheels.
    fn motion(&self) -> Motion {
        Motion::default()
    }
}

/// What propulsion begins with.
#[derive(Clone, Copy, Debug)]
pub struct Start<'s> {
    /// The vehicle.
    pub vehicle: &'s Vehicle,
    /// What the simulation was made with.
    pub settings: &'s Settings,
    /// Where the vehicle is.
    pub world: &'s World,
}

/// A step that is about to be taken.
#[derive(Clone, Copy, Debug)]
pub struct Stride<'s> {
    pub(crate) physics: &'s Physics,
    pub(crate) state: ChassisState,
    pub(crate) elapsed_ns: u64,
    pub(crate) now: Time,
    pub(crate) step_s: f64,
    pub(crate) strength: f64,
}

impl Stride<'_> {
    /// The vehicle before the step, as the engine knows it.
    #[must_use]
    pub const fn state(&self) -> &ChassisState {
        &self.state
    }

    /// When it begins, nanoseconds since the simulation did.
    #[must_use]
    pub const fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// The same, for the age of commands.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// How long it is, seconds.
    #[must_use]
    pub const fn step_s(&self) -> f64 {
        self.step_s
    }

    /// How much of its strength the drive has: 1, unless a fault takes some.
    #[must_use]
    pub const fn strength(&self) -> f64 {
        self.strength
    }

    /// How far it is from a point of the map to what a ray of a direction of length 1 meets, metres.
    #[must_use]
    pub fn range_m(&self, from: Vec3, direction: Vec3, most_m: f64) -> Option<f64> {
        let met = self.physics.cast(vector(from), vector(direction), most_m);
        met.map(|met| met.range_m)
    }
}

/// A world that a vehicle is put into.
#[derive(Clone, Copy, Debug)]
pub struct Site<'s> {
    pub(crate) physics: &'s Physics,
    /// As it was at the beginning.
    pub world: &'s World,
}

impl Site<'_> {
    /// How high the world is at a place, looked at from a height; none where there is nothing below.
    #[must_use]
    pub fn height_m(&self, xy_m: [f64; 2], from_z_m: f64) -> Option<f64> {
        self.physics.height_m(xy_m, from_z_m)
    }
}

impl ChassisState {
    /// Where the vehicle's frame is.
    #[must_use]
    pub fn map_from_vehicle(&self) -> Transform {
        transform(&self.pose)
    }

    /// How the centre of mass moves, metres a second in the map frame.
    #[must_use]
    pub fn velocity_mps(&self) -> Vec3 {
        self.velocity.to_array()
    }

    /// How it turns, radians a second in the map frame.
    #[must_use]
    pub fn rate_radps(&self) -> Vec3 {
        self.rate.to_array()
    }

    /// The same with the vehicle's frame elsewhere, moving so: what [`Propulsion::seen`] lays over the engine's plane.
    #[must_use]
    pub fn at(&self, map_from_vehicle: &Transform, velocity_mps: Vec3, rate_radps: Vec3) -> Self {
        let moved = pose(map_from_vehicle);
        Self {
            pose: moved,
            velocity: vector(velocity_mps),
            rate: vector(rate_radps),
            centre: moved * (self.pose.inverse() * self.centre),
        }
    }
}

impl Push {
    /// A force at the centre of mass, newtons, and a torque, newton metres; in the map frame.
    #[must_use]
    pub fn new(force_n: Vec3, torque_nm: Vec3) -> Self {
        Self {
            force: vector(force_n),
            torque: vector(torque_nm),
        }
    }
}

/// Where the commands of a vehicle come in.
#[derive(Clone, Copy, Debug)]
pub struct CommandPort {
    /// The port's name, which is its channel, too, by default.
    pub name: &'static str,
    /// What commands mean and what happens without them.
    pub doc: &'static str,
    /// Their type.
    pub message: TypeInfo,
    listen: fn(&mut Ports, Self) -> Box<dyn Commands>,
}

impl CommandPort {
    /// A port for commands of a type.
    #[must_use]
    pub const fn of<M>(name: &'static str, doc: &'static str) -> Self
    where
        M: Message + for<'a> Decode<'a> + Send + Sync + 'static,
    {
        Self {
            name,
            doc,
            message: TypeInfo::of::<M>(),
            listen: listen::<M>,
        }
    }

    /// Declares the input.
    pub(crate) fn declare(self, ports: &mut Ports) -> Box<dyn Commands> {
        (self.listen)(ports, self)
    }
}

fn listen<M>(ports: &mut Ports, port: CommandPort) -> Box<dyn Commands>
where
    M: Message + for<'a> Decode<'a> + Send + Sync + 'static,
{
    let CommandPort { name, doc, .. } = port;
    let input: Input<M> = ports.input_on(name, doc, Expect::ever().optional(), name);
    Box::new(input)
}

/// The input of commands, of whatever type they are.
pub(crate) trait Commands: fmt::Debug + Send {
    /// Passes on a command that arrived in this step.
    fn take(&self, step: &Step<'_>, to: &mut dyn FnMut(&dyn Any));
}

impl<M: 'static> Commands for Input<M> {
    fn take(&self, step: &Step<'_>, to: &mut dyn FnMut(&dyn Any)) {
        if let Some(command) = step.arrived(*self) {
            to(&*command);
        }
    }
}
