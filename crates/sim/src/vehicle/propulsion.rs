//! What moves a vehicle: wheels, or thrusters on a hull. Everything that differs between the two is asked here.

use super::afloat::Afloat;
use super::driven::Driven;
use super::turning::Motion;
use super::wheels::WheelState;
use super::{RunningGear, Vehicle};
use crate::math::vector;
use crate::physics::{ChassisState, Physics};
use crate::sea::Water;
use crate::simulation::Settings;
use crate::world::World;
use bowline_component::Time;

/// What moves a vehicle, as it is now.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a simulation has one of them, and keeps it"
)]
pub(crate) enum Propulsion {
    Wheels(Driven),
    Hull(Afloat),
}

/// A step that is about to be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stride {
    /// When it begins, nanoseconds since the simulation did.
    pub(crate) elapsed_ns: u64,
    pub(crate) now: Time,
    pub(crate) step_s: f64,
    /// How much of its strength the drive has.
    pub(crate) strength: f64,
}

impl Propulsion {
    pub(crate) fn new(vehicle: &Vehicle, settings: &Settings, world: &World) -> Self {
        let gravity_mps2 = vector(world.gravity_mps2).length().max(0.1);
        match &vehicle.running_gear {
            RunningGear::Wheels(wheels) => {
                Self::Wheels(Driven::new(vehicle, wheels, settings, gravity_mps2))
            }
            RunningGear::Hull(hull) => {
                let sea = world.sea.clone().unwrap_or_default();
                let (seed, timeout) = (settings.seed, settings.limits.timeout);
                let afloat = Afloat::new(vehicle, hull, (sea, seed), (gravity_mps2, timeout));
                Self::Hull(afloat)
            }
        }
    }

    /// Whether nobody commands it any more.
    pub(crate) fn is_silent(&self, now: Time) -> bool {
        match self {
            Self::Wheels(driven) => driven.is_silent(now),
            Self::Hull(afloat) => afloat.thrusters.is_silent(now),
        }
    }

    /// At rest and without commands: the vehicle was put somewhere.
    pub(crate) fn settle(&mut self, physics: &Physics, now: Time, elapsed_ns: u64) {
        match (self, physics.vehicle()) {
            (Self::Wheels(driven), _) => driven.settle(now),
            (Self::Hull(afloat), Some(state)) => afloat.settle(&state, elapsed_ns),
            (Self::Hull(_), None) => {}
        }
    }

    /// Pushes the vehicle during the next step.
    pub(crate) fn push(&mut self, physics: &mut Physics, stride: &Stride) {
        let Stride {
            elapsed_ns,
            now,
            step_s,
            strength,
        } = *stride;
        let push = match self {
            Self::Wheels(driven) => driven.push(physics, (now, strength), step_s),
            Self::Hull(afloat) => {
                let Some(state) = physics.vehicle() else {
                    return;
                };
                afloat.thrusters.advance(now, strength, step_s);
                afloat.push(&state, elapsed_ns)
            }
        };
        physics.push(&push);
    }

    /// What follows once a step was taken.
    pub(crate) fn follow(&mut self, physics: &Physics, elapsed_ns: u64, step_s: f64) {
        if let (Self::Hull(afloat), Some(state)) = (self, physics.vehicle()) {
            afloat.ride(&state, elapsed_ns, step_s);
        }
    }

    /// The vehicle as it truly is, from what the engine knows.
    pub(crate) fn seen(&self, state: ChassisState) -> ChassisState {
        match self {
            Self::Wheels(_) => state,
            Self::Hull(afloat) => afloat.seen(&state),
        }
    }

    /// What a vessel floats on.
    pub(crate) fn water(&self) -> Option<&Water> {
        match self {
            Self::Wheels(_) => None,
            Self::Hull(afloat) => Some(&afloat.water),
        }
    }

    pub(crate) fn wheel(&self, part: usize) -> Option<WheelState> {
        match self {
            Self::Wheels(driven) => driven.wheel(part),
            Self::Hull(_) => None,
        }
    }

    pub(crate) fn motion(&self) -> Motion {
        match self {
            Self::Wheels(driven) => driven.motion(),
            Self::Hull(_) => Motion::default(),
        }
    }
}
