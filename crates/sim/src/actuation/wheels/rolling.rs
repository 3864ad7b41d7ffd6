//! What wheels do to a vehicle: springs carry it, tyres hold it.
//!
//! A tyre is a patch of bristles. They bend when the vehicle moves against the ground, pull it back, and slide where they
//! would pull harder than friction allows; rolling brings new ones. So a vehicle at rest stays where it is, on slopes
//! too, and a moving one goes where its wheels point.

use super::Wheel;
use super::turning::{Motion, Steering};
use crate::physics::{ChassisState, Physics};
use crate::vehicle::Vehicle;
use rapier3d_f64::math::{Rotation, Vector};

/// What is the same for all wheels of a vehicle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspension {
    /// How fast the vehicle would bounce, hertz.
    pub(super) bounce_hz: f64,
    /// How hard tyres hold, as a share of what they carry.
    pub(super) grip: f64,
    pub(super) gravity_mps2: f64,
}

/// All wheels of a vehicle, as they are now.
#[derive(Clone, Debug)]
pub(super) struct Rolling {
    wheels: Vec<RollingWheel>,
    suspension: Suspension,
    steering: Steering,
    /// What was lost in turning, for vehicles that skid: they correct it by their gyroscope.
    turn_lost_rad: f64,
}

/// A wheel that rolls.
#[derive(Clone, Debug)]
struct RollingWheel {
    wheel: Wheel,
    is_steered: bool,
    /// What it carries at rest, newtons.
    load_n: f64,
    /// What its tyre feels when it is pushed sideways, kilograms: less than it carries, because the vehicle leans.
    felt_kg: f64,
    /// How far its bristles are bent, forward and to the left, metres.
    bent_m: [f64; 2],
    /// How far it has turned, radians.
    turned_rad: f64,
    rate_radps: f64,
    angle_rad: f64,
}

/// How far a wheel has turned, how fast it turns, and where it points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WheelState {
    /// Radians since the beginning, forward positive.
    pub turned_rad: f64,
    /// Radians a second.
    pub rate_radps: f64,
    /// Radians, to the left positive.
    pub steering_rad: f64,
}

/// How long a tyre rolls until its bristles are new, metres.
const RENEWAL_M: f64 = 0.3;
/// How stiff the bristles of a tyre are: how fast the vehicle would swing on them, radians a second.
const BRISTLE_RADPS: f64 = 60.0;
/// How much of a swing is taken away, of what would just end it.
const BRISTLE_DAMPING: f64 = 0.5;
const SPRING_DAMPING: f64 = 0.6;

impl Rolling {
    pub(super) fn new(
        vehicle: &Vehicle,
        wheels: &[Wheel],
        steering: Steering,
        suspension: Suspension,
    ) -> Self {
        let wheelbase_m = vehicle.wheelbase_m();
        let is_ackermann = matches!(steering, Steering::Ackermann { .. });
        let loads = loads(vehicle, wheels, suspension.gravity_mps2);
        let lean = lean(vehicle);
        let wheels = wheels
            .iter()
            .zip(loads)
            .map(|(wheel, load_n)| RollingWheel {
                wheel: wheel.clone(),
                is_steered: is_ackermann && wheel.centre_m[0] > wheelbase_m / 2.0,
                load_n,
                felt_kg: load_n / suspension.gravity_mps2 * lean,
                bent_m: [0.0; 2],
                turned_rad: 0.0,
                rate_radps: 0.0,
                angle_rad: 0.0,
            });
        Self {
            wheels: wheels.collect(),
            suspension,
            steering,
            turn_lost_rad: 0.0,
        }
    }

    /// Forgets what tyres felt: the vehicle was put somewhere else.
    pub(super) fn settle(&mut self) {
        for wheel in &mut self.wheels {
            wheel.bent_m = [0.0; 2];
            wheel.rate_radps = 0.0;
        }
        self.turn_lost_rad = 0.0;
    }

    /// The wheel that a body is.
    pub(super) fn state(&self, part: usize) -> Option<WheelState> {
        let found = self.wheels.iter().find(|it| it.wheel.part == part)?;
        Some(WheelState {
            turned_rad: found.turned_rad,
            rate_radps: found.rate_radps,
            steering_rad: found.angle_rad,
        })
    }

    /// The forces of one step, each with its point. Wheels turn by the motion.
    pub(super) fn forces(
        &mut self,
        (physics, chassis): (&Physics, &ChassisState),
        motion: &Motion,
        dt: f64,
    ) -> Vec<(Vector, Vector)> {
        let turn_radps = self.turn(motion, chassis, dt);
        let (suspension, steering) = (self.suspension, self.steering);
        let mut forces = Vec::new();
        for wheel in &mut self.wheels {
            let tan = match steering {
                Steering::Ackermann { wheelbase_m, .. } => motion.steering_rad.tan() / wheelbase_m,
                Steering::Sides { .. } => 0.0,
            };
            wheel.aim(motion.speed_mps, tan, turn_radps);
            wheel.turned_rad += wheel.rate_radps * dt;
            forces.extend(wheel.force(physics, chassis, suspension, dt));
        }
        forces
    }

    /// How fast the sides of a vehicle are to turn it: skidding wheels lose some of it.
    fn turn(&mut self, motion: &Motion, chassis: &ChassisState, dt: f64) -> f64 {
        let up = chassis.pose.rotation * Vector::Z;
        let is_still = motion.turn_radps == 0.0 && motion.speed_mps == 0.0;
        if matches!(self.steering, Steering::Ackermann { .. }) || is_still {
            self.turn_lost_rad = 0.0;
            return motion.turn_radps;
        }
        let lost = motion.turn_radps - chassis.rate.dot(up);
        self.turn_lost_rad = (self.turn_lost_rad + lost * dt).clamp(-0.5, 0.5);
        motion.turn_radps + TURN_GAIN * self.turn_lost_rad + 0.5 * lost
    }
}

/// How hard what was lost in turning is made up for, 1/s.
const TURN_GAIN: f64 = 4.0;

impl RollingWheel {
    /// Points the wheel and turns it so that it rolls along its own arc.
    fn aim(&mut self, speed_mps: f64, curvature_per_m: f64, turn_radps: f64) {
        let [x, y, _] = self.wheel.centre_m;
        let along = if curvature_per_m == 0.0 {
            // By its side: as fast as the ground passes below it.
            self.angle_rad = 0.0;
            let turn = if self.is_steered { 0.0 } else { turn_radps };
            speed_mps - turn * y
        } else {
            // Where the wheel is goes (1 - c y, c x) times the speed.
            let (forward, left) = (1.0 - curvature_per_m * y, curvature_per_m * x);
            self.angle_rad = if self.is_steered {
                left.atan2(forward)
            } else {
                0.0
            };
            let pace = if self.is_steered {
                forward.hypot(left)
            } else {
                forward
            };
            speed_mps * pace
        };
        self.rate_radps = along / self.wheel.radius_m;
    }

    fn force(
        &mut self,
        physics: &Physics,
        chassis: &ChassisState,
        suspension: Suspension,
        dt: f64,
    ) -> Option<(Vector, Vector)> {
        let up = chassis.pose.rotation * Vector::Z;
        let centre = chassis.pose * Vector::from_array(self.wheel.centre_m);
        let radius = self.wheel.radius_m;
        // From above the wheel, so that ground that came up is found.
        let from = centre + up * (0.5 * radius);
        let met = physics.cast(from, -up, 2.0 * radius);
        let Some(met) = met.filter(|met| met.normal.dot(up) > 0.2) else {
            self.bent_m = [0.0; 2];
            return None;
        };
        let point = from - up * met.range_m;
        let pressed_m = 1.5 * radius - met.range_m;
        let velocity = chassis.velocity_at(point) - physics.velocity_of(met.body, point);

        let mass = self.load_n / suspension.gravity_mps2;
        let bounce = std::f64::consts::TAU * suspension.bounce_hz;
        let spring = self.load_n + mass * bounce * bounce * pressed_m;
        let damper = -2.0 * SPRING_DAMPING * mass * bounce * velocity.dot(met.normal);
        let carried = (spring + damper).clamp(0.0, 10.0 * self.load_n);
        if carried <= 0.0 || pressed_m < -0.25 * radius {
            self.bent_m = [0.0; 2];
            return None;
        }
        let friction = physics.body(met.body).map_or(1.0, |body| body.friction);
        let grip = if self.wheel.is_castor {
            0.0
        } else {
            suspension.grip * friction
        };
        let points_to =
            chassis.pose.rotation * Rotation::from_rotation_z(self.angle_rad) * Vector::X;
        let left = met.normal.cross(points_to).normalize_or_zero();
        let forward = left.cross(met.normal);
        let slip = [
            velocity.dot(forward) - self.rate_radps * radius,
            velocity.dot(left),
        ];
        let [pull, push] = self.tyre(slip, grip * carried, dt);
        let force = met.normal * carried + forward * pull + left * push;
        Some((force, point))
    }

    /// What bent bristles do, forward and to the left.
    fn tyre(&mut self, slip_mps: [f64; 2], most_n: f64, dt: f64) -> [f64; 2] {
        let stiffness = self.felt_kg * BRISTLE_RADPS * BRISTLE_RADPS;
        let damping = 2.0 * BRISTLE_DAMPING * self.felt_kg * BRISTLE_RADPS;
        let renewed = (self.rate_radps * self.wheel.radius_m).abs() * dt / RENEWAL_M;
        let keep = 1.0 / (1.0 + renewed);
        for (bent, slip) in self.bent_m.iter_mut().zip(slip_mps) {
            *bent = (*bent + slip * dt) * keep;
        }
        let force = [0, 1].map(|axis| -stiffness * self.bent_m[axis] - damping * slip_mps[axis]);
        let size = force[0].hypot(force[1]);
        if size <= most_n {
            return force;
        }
        // It slides: bristles are bent as far as friction bends them.
        let force = force.map(|it| it * most_n / size);
        for (axis, bent) in self.bent_m.iter_mut().enumerate() {
            *bent = -force[axis] / stiffness;
        }
        force
    }
}

/// How much of the vehicle a push at the ground moves at once: the rest is that it begins to lean.
fn lean(vehicle: &Vehicle) -> f64 {
    let chassis = &vehicle.chassis;
    let [[xx, ..], [_, yy, _], _] = chassis.inertia_kgm2;
    let height = chassis.centre_m[2];
    1.0 / (1.0 + chassis.mass_kg * height * height / xx.min(yy).max(1e-9))
}

/// The plane `z = a + b x + c y` that is nearest to points `x y z`; none if they are on a line.
pub(super) fn plane(points: &[[f64; 3]]) -> Option<[f64; 3]> {
    let mut m = [[0.0; 4]; 3];
    for [x, y, z] in points {
        let row = [1.0, *x, *y];
        for (sums, left) in m.iter_mut().zip(row) {
            for (sum, right) in sums.iter_mut().zip([row[0], row[1], row[2], *z]) {
                *sum += left * right;
            }
        }
    }
    solve(m)
}

/// What each wheel carries when the vehicle stands on flat ground: the most even way to hold it.
fn loads(vehicle: &Vehicle, wheels: &[Wheel], gravity_mps2: f64) -> Vec<f64> {
    let weight = vehicle.chassis.mass_kg * gravity_mps2;
    let [cx, cy, _] = vehicle.chassis.centre_m;
    // load = a + b x + c y for each wheel, with the sum and both moments given.
    let mut m = [[0.0; 4]; 3];
    for wheel in wheels {
        let row = [1.0, wheel.centre_m[0], wheel.centre_m[1]];
        for (sums, left) in m.iter_mut().zip(row) {
            for (sum, right) in sums.iter_mut().zip(row) {
                *sum += left * right;
            }
        }
    }
    for (sums, right) in m.iter_mut().zip([weight, weight * cx, weight * cy]) {
        sums[3] = right;
    }
    let n_wheels = f64::from(u32::try_from(wheels.len()).unwrap_or(1));
    let [a, b, c] = solve(m).unwrap_or([weight / n_wheels, 0.0, 0.0]);
    let least = 0.02 * weight;
    let each = |wheel: &Wheel| (a + b * wheel.centre_m[0] + c * wheel.centre_m[1]).max(least);
    wheels.iter().map(each).collect()
}

/// Three equations by elimination; none if they have no single solution.
fn solve(mut m: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot =
            (column..3).max_by(|a, b| m[*a][column].abs().total_cmp(&m[*b][column].abs()))?;
        m.swap(column, pivot);
        if m[column][column].abs() < 1e-9 {
            return None;
        }
        let lead = m[column].map(|it| it / m[column][column]);
        m[column] = lead;
        for (row, line) in m.iter_mut().enumerate() {
            if row != column {
                let factor = line[column];
                for (value, lead) in line.iter_mut().zip(lead) {
                    *value -= factor * lead;
                }
            }
        }
    }
    Some([m[0][3], m[1][3], m[2][3]])
}
