//! A vehicle on wheels that are driven: from commands to forces.

use super::turning::{Motion, Steering};
use super::wheels::{Suspension, WheelState, Wheels};
use super::{Vehicle, Wheel};
use crate::physics::{Physics, Push};
use crate::simulation::Settings;
use bowline_autonomy::control::{Drive, DriveLimits};
use bowline_component::Time;
use bowline_msgs::Velocity;

/// Wheels, and what they are told.
#[derive(Clone, Debug)]
pub(crate) struct Driven {
    wheels: Wheels,
    drive: Drive,
    motion: Motion,
    limits: DriveLimits,
    steering: Steering,
}

impl Driven {
    pub(crate) fn new(
        vehicle: &Vehicle,
        wheels: &[Wheel],
        settings: &Settings,
        gravity_mps2: f64,
    ) -> Self {
        let suspension = Suspension {
            bounce_hz: settings.bounce_hz,
            grip: settings.grip,
            gravity_mps2,
        };
        let mut drive = Drive::new(settings.limits);
        drive.advance(Time::ZERO);
        Self {
            wheels: Wheels::new(vehicle, wheels, settings.steering, suspension),
            drive,
            motion: Motion::default(),
            limits: settings.limits,
            steering: settings.steering,
        }
    }

    pub(crate) fn command(&mut self, now: Time, command: &Velocity) {
        self.drive.command(now, command);
    }

    pub(crate) fn is_silent(&self, now: Time) -> bool {
        self.drive.is_silent(now)
    }

    pub(crate) const fn motion(&self) -> Motion {
        self.motion
    }

    pub(crate) fn wheel(&self, part: usize) -> Option<WheelState> {
        self.wheels.state(part)
    }

    /// Forgets what tyres felt and what it was told: the vehicle was put somewhere else.
    pub(crate) fn settle(&mut self, now: Time) {
        self.wheels.settle();
        self.drive = Drive::new(self.limits);
        self.drive.advance(now);
        self.motion = Motion::default();
    }

    /// What wheels do during a step, with a share of the drive's strength.
    pub(crate) fn push(
        &mut self,
        physics: &Physics,
        (now, strength): (Time, f64),
        step_s: f64,
    ) -> Push {
        let Some(state) = physics.vehicle() else {
            return Push::default();
        };
        self.drive
            .set_limits(Steering::weakened(self.limits, strength));
        let told = self.drive.advance(now);
        self.motion = self.steering.motion(told, self.motion, step_s);
        let mut push = Push::default();
        for (force, point) in self.wheels.forces(physics, &self.motion, step_s) {
            push.force += force;
            push.torque += (point - state.centre).cross(force);
        }
        push
    }
}
