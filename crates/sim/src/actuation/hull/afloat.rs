//! What water, wind and thrusters do to a vessel: Fossen's model of surge, sway and yaw.
//!
//! ```text
//!   (M_RB + M_A) dν_r/dt + C(ν_r) ν_r + D(ν_r) ν_r = τ       ν_r: velocity through the water
//! ```
//!
//! About the centre of mass, with hulls that are alike fore and aft, so that both masses are diagonal (Handbook of Marine
//! Craft Hydrodynamics and Motion Control, chapter 6). The accelerations that come out are handed to the physics engine as
//! forces, so that piers push back; heave, roll and pitch follow the waves and are laid over what the engine knows.
//! Deliberately absent: thrust that fades with speed, drift by waves, and what a contact does to added mass.

use super::super::{Propulsion, Start, Stride};
use super::Hull;
use super::thrusters::Thrusters;
use crate::physics::{ChassisState, Push};
use crate::sea::{Raft, Water};
use bowline_component::Time;
use bowline_msgs::Thrust;
use rapier3d_f64::math::{Pose, Rotation, Vector};
use std::any::Any;

/// Of air at 15 degrees, kilograms a cubic metre.
const AIR_KGPM3: f64 = 1.225;

/// A vessel on its sea.
#[derive(Debug)]
pub(super) struct Afloat {
    hull: Hull,
    /// What it weighs, and its inertia about z.
    mass_kg: f64,
    inertia_kgm2: f64,
    centre: Vector,
    gravity_mps2: f64,
    thrusters: Thrusters,
    water: Water,
    ride: Ride,
}

/// How a vessel lies on the waves, and how fast that changes.
#[derive(Clone, Copy, Debug, Default)]
struct Ride {
    heave_m: f64,
    roll_rad: f64,
    pitch_rad: f64,
    heave_mps: f64,
    roll_radps: f64,
    pitch_radps: f64,
}

impl Afloat {
    pub(super) fn new(hull: &Hull, start: &Start<'_>) -> Self {
        let Start {
            vehicle,
            settings,
            world,
        } = start;
        let chassis = &vehicle.chassis;
        Self {
            hull: hull.clone(),
            mass_kg: chassis.mass_kg,
            inertia_kgm2: chassis.inertia_kgm2[2][2],
            centre: Vector::from_array(chassis.centre_m),
            gravity_mps2: world.gravity(),
            thrusters: Thrusters::new(hull, settings.limits.timeout),
            water: Water::new(world.sea.clone().unwrap_or_default(), settings.seed),
            ride: Ride::default(),
        }
    }

    /// What pushes it during a step, newtons and newton metres, in the plane.
    fn push_in_plane(&self, state: &ChassisState, elapsed_ns: u64) -> Push {
        let heading = Rotation::from_rotation_z(heading(&state.pose));
        let back = heading.inverse();
        let [east, north] = self.water.current(elapsed_ns);
        let through = back * (state.velocity - Vector::new(east, north, 0.0));
        let nu = [through.x, through.y, state.rate.z];
        let gained = self.acceleration(nu, self.loads(state, elapsed_ns));
        // What the hull gains through the water turns with it.
        let [surge, sway, yaw] = gained;
        let gained = Vector::new(surge - nu[1] * nu[2], sway + nu[0] * nu[2], 0.0);
        Push {
            force: heading * gained * self.mass_kg,
            torque: Vector::Z * (yaw * self.inertia_kgm2),
        }
    }

    /// Fossen's model: from velocities through the water and loads to accelerations, in surge, sway and yaw.
    fn acceleration(&self, nu: [f64; 3], loads: [f64; 3]) -> [f64; 3] {
        let rigid = [self.mass_kg, self.mass_kg, self.inertia_kgm2];
        let mass = [0, 1, 2].map(|axis| rigid[axis] + self.hull.added_mass[axis]);
        let [u, v, r] = nu;
        let [added_u, added_v, _] = self.hull.added_mass;
        let coriolis = [
            -mass[1] * v * r,
            mass[0] * u * r,
            self.hull.munk_ratio * (added_v - added_u) * u * v,
        ];
        [0, 1, 2].map(|axis| {
            let (linear, square) = (self.hull.linear_drag[axis], self.hull.quadratic_drag[axis]);
            let drag = (linear + square * nu[axis].abs()) * nu[axis];
            (loads[axis] - coriolis[axis] - drag) / mass[axis]
        })
    }

    /// Thrust, wind and waves, in surge, sway and yaw.
    fn loads(&self, state: &ChassisState, elapsed_ns: u64) -> [f64; 3] {
        let [mut surge, mut sway, yaw] = self.thrusters.loads(self.centre);
        let heading = heading(&state.pose);
        let [east, north] = self.water.wind(elapsed_ns);
        let wind = Vector::new(east, north, 0.0) - state.velocity;
        let wind = Rotation::from_rotation_z(-heading) * wind;
        let pressure = 0.5 * AIR_KGPM3 * wind.x.hypot(wind.y);
        surge += pressure * self.hull.windage_m2[0] * wind.x;
        sway += pressure * self.hull.windage_m2[1] * wind.y;
        // It slides down the slopes of waves.
        let slope = self.water.lie(&self.raft(state), elapsed_ns).slope;
        let weight = self.mass_kg * self.gravity_mps2;
        [surge - weight * slope[0], sway - weight * slope[1], yaw]
    }

    fn raft(&self, state: &ChassisState) -> Raft {
        let at = state.pose.translation;
        Raft {
            xy_m: [at.x, at.y],
            heading_rad: heading(&state.pose),
            length_m: self.hull.length_m,
            beam_m: self.hull.beam_m,
        }
    }

    /// Lays it on the waves where it is after a step.
    fn ride(&mut self, state: &ChassisState, elapsed_ns: u64, step_s: f64) {
        let lie = self.water.lie(&self.raft(state), elapsed_ns);
        // With z up and y to the left, a bow that rises is a pitch below 0.
        let (roll_rad, pitch_rad) = (lie.slope[1].atan(), -lie.slope[0].atan());
        let before = self.ride;
        self.ride = Ride {
            heave_m: lie.heave_m,
            roll_rad,
            pitch_rad,
            heave_mps: (lie.heave_m - before.heave_m) / step_s,
            roll_radps: (roll_rad - before.roll_rad) / step_s,
            pitch_radps: (pitch_rad - before.pitch_rad) / step_s,
        };
    }

    /// The vessel as it truly lies, from what the engine knows of it in the plane.
    fn lifted(&self, flat: &ChassisState) -> ChassisState {
        let ride = &self.ride;
        let heading = Rotation::from_rotation_z(heading(&flat.pose));
        let pitched = heading * Rotation::from_rotation_y(ride.pitch_rad);
        let turn = pitched * Rotation::from_rotation_x(ride.roll_rad);
        let at = flat.pose.translation + Vector::Z * ride.heave_m;
        let pose = Pose::from_parts(at, turn);
        let rate = flat.rate
            + heading * Vector::Y * ride.pitch_radps
            + pitched * Vector::X * ride.roll_radps;
        let origin = flat.velocity_at(flat.pose.translation) + Vector::Z * ride.heave_mps;
        let centre = pose * self.centre;
        ChassisState {
            pose,
            velocity: origin + rate.cross(centre - at),
            rate,
            centre,
        }
    }
}

impl Propulsion for Afloat {
    fn command(&mut self, now: Time, command: &dyn Any) {
        if let Some(command) = command.downcast_ref::<Thrust>() {
            self.thrusters.command(now, command);
        }
    }

    fn is_silent(&self, now: Time) -> bool {
        self.thrusters.is_silent(now)
    }

    fn settle(&mut self, state: &ChassisState, _now: Time, elapsed_ns: u64) {
        self.thrusters.settle();
        self.ride = Ride::default();
        self.ride(state, elapsed_ns, f64::INFINITY);
    }

    fn push(&mut self, stride: &Stride<'_>) -> Push {
        self.thrusters
            .advance(stride.now, stride.strength, stride.step_s);
        self.push_in_plane(&stride.state, stride.elapsed_ns)
    }

    fn follow(&mut self, state: &ChassisState, elapsed_ns: u64, step_s: f64) {
        self.ride(state, elapsed_ns, step_s);
    }

    fn seen(&self, state: ChassisState) -> ChassisState {
        self.lifted(&state)
    }

    fn water(&self) -> Option<&Water> {
        Some(&self.water)
    }
}

fn heading(pose: &Pose) -> f64 {
    let forward = pose.rotation * Vector::X;
    forward.y.atan2(forward.x)
}

#[cfg(test)]
mod tests;
