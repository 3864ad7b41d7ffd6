//! Where a vessel is, by what its inertial unit felt, and how sure that is: an error-state Kalman filter.
//!
//! # What is estimated
//!
//! Of the inertial unit itself, so that nothing has to be differentiated: position `p` and velocity `v` in the map, its
//! turn `R` (map from unit), the biases of its gyros `g` and of its accelerometers `a`, and the deviation `c` of the
//! compass. Between two samples, rates `w` and forces `f`:
//!
//! ```text
//!   p' = v      v' = R (f - a) + gravity      R' = R [w - g]x
//! ```
//!
//! Errors are kept apart from it: `p + dp`, `v + dv`, `exp(t) R` with a small turn `t` about the axes of the map, which is
//! the covariance that a `pose_transform_t` carries, `g + dg`, `a + da`, `c + dc`. To first order
//!
//! ```text
//!   dp' = dv      dv' = -[R f]x t - R da      t' = -R dg
//! ```
//!
//! The noise that drives them is that of the unit, as it reports it itself; so the filter is as sure as it should be whatever the
//! vessel and the sea do, and needs to know neither.
//!
//! Deliberately absent: which measurement to believe, and the order in which they come. `belief` and `history` have those.

use super::vectors::{added, cross, scaled, seconds, subtracted};
use crate::within_half_turn;
use bowline_geometry::{Transform, Vec3};

/// How many errors there are.
pub(super) const N: usize = 16;
/// Where they are.
const P: usize = 0;
const V: usize = 3;
const T: usize = 6;
const G: usize = 9;
const A: usize = 12;
const C: usize = 15;

const GRAVITY_MPS2: Vec3 = [0.0, 0.0, -9.806_65];

/// What is believed of the quantities that no sensor measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beliefs {
    /// Standard deviation of a gyro's bias at the beginning, radians a second.
    pub gyro_bias_sd_radps: f64,
    /// How much it wanders, radians a second for a square root of a second.
    pub gyro_walk: f64,
    /// Standard deviation of an accelerometer's bias at the beginning, metres a second squared.
    pub accel_bias_sd_mps2: f64,
    /// How much it wanders, metres a second squared for a square root of a second.
    pub accel_walk: f64,
    /// Standard deviation of the compass's deviation at the beginning, radians.
    pub deviation_sd_rad: f64,
    /// How much it wanders, radians for a square root of a second.
    pub deviation_walk: f64,
    /// Standard deviation of the speed at the beginning, metres a second.
    pub speed_sd_mps: f64,
    /// What a vessel without an inertial unit may do: standard deviation of its acceleration, metres a second squared.
    pub unfelt_mps2: f64,
    /// The same of its rate, radians a second.
    pub unfelt_radps: f64,
}

/// How sure the sensors are that found the unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StartSds {
    pub(super) horizontal_m: f64,
    pub(super) vertical_m: f64,
    pub(super) level_rad: f64,
    pub(super) heading_rad: f64,
}

/// What an inertial unit felt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Felt {
    /// When, microseconds since the epoch.
    pub utime: i64,
    /// About its axes, radians a second.
    pub rate_radps: Vec3,
    /// Along its axes, metres a second squared.
    pub force_mps2: Vec3,
    /// Standard deviation of a rate.
    pub rate_sd_radps: f64,
    /// Standard deviation of a force.
    pub force_sd_mps2: f64,
}

/// Where the unit is, how it moves, and how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter {
    /// At this time, microseconds since the epoch.
    pub(super) utime: i64,
    position_m: Vec3,
    velocity_mps: Vec3,
    /// Without a shift.
    map_from_imu: Transform,
    gyro_bias_radps: Vec3,
    accel_bias_mps2: Vec3,
    /// What the compass shows more than it should, radians.
    deviation_rad: f64,
    covariance: [[f64; N]; N],
    felt: Option<Felt>,
    /// Between the last two samples, seconds.
    felt_every_s: f64,
    beliefs: Beliefs,
}

/// A number that was measured, against what it should be: `measured = expected + row . errors + noise`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Innovation {
    pub(super) off: f64,
    pub(super) row: [f64; N],
    pub(super) variance: f64,
}

/// Longer steps are taken in parts.
const MAX_STEP_US: i64 = 50_000;
/// After so long without a sample, nothing is felt any more.
const UNFELT_AFTER_US: i64 = 300_000;

impl Filter {
    /// At rest, as sure as sensors are that found it there.
    pub(super) fn new(utime: i64, pose: &Transform, sds: &StartSds, beliefs: Beliefs) -> Self {
        let mut covariance = [[0.0; N]; N];
        let sds = [
            [sds.horizontal_m, sds.horizontal_m, sds.vertical_m],
            [beliefs.speed_sd_mps; 3],
            [sds.level_rad, sds.level_rad, sds.heading_rad],
            [beliefs.gyro_bias_sd_radps; 3],
            [beliefs.accel_bias_sd_mps2; 3],
        ];
        let sds = sds.iter().flatten().chain([&beliefs.deviation_sd_rad]);
        for (at, sd) in sds.enumerate() {
            covariance[at][at] = sd * sd;
        }
        // A heading that comes from the compass is off by what the compass is off.
        let shared = beliefs.deviation_sd_rad * beliefs.deviation_sd_rad;
        covariance[T + 2][T + 2] += shared;
        covariance[T + 2][C] = -shared;
        covariance[C][T + 2] = -shared;
        Self {
            utime,
            position_m: pose.xyz(),
            velocity_mps: [0.0; 3],
            map_from_imu: upright(*pose),
            gyro_bias_radps: [0.0; 3],
            accel_bias_mps2: [0.0; 3],
            deviation_rad: 0.0,
            covariance,
            felt: None,
            felt_every_s: seconds(MAX_STEP_US),
            beliefs,
        }
    }

    /// Goes on to a time with what was felt last.
    pub(super) fn advance(&mut self, utime: i64) {
        self.advance_feeling(utime, None);
    }

    /// Goes on to the time of a sample, with it.
    pub(super) fn feel(&mut self, felt: Felt) {
        if let Some(last) = self.felt {
            self.felt_every_s = seconds(felt.utime - last.utime).clamp(1e-4, seconds(MAX_STEP_US));
        }
        self.advance_feeling(felt.utime, Some(felt));
        self.felt = Some(felt);
    }

    fn advance_feeling(&mut self, utime: i64, next: Option<Felt>) {
        let felt_until = self
            .felt
            .map(|felt| felt.utime.saturating_add(UNFELT_AFTER_US));
        while self.utime < utime {
            let step_us = (utime - self.utime).min(MAX_STEP_US);
            let is_felt = felt_until.is_some_and(|until| self.utime < until);
            match self.felt.filter(|_| is_felt) {
                Some(last) => self.step_felt(seconds(step_us), &last, next.as_ref()),
                None => self.step_unfelt(seconds(step_us)),
            }
            self.utime += step_us;
        }
    }

    /// One step with the sample before it, and the one after it if that is known.
    fn step_felt(&mut self, step_s: f64, last: &Felt, next: Option<&Felt>) {
        let mean = |of: fn(&Felt) -> Vec3| match next {
            Some(next) => scaled(added(of(last), of(next)), 0.5),
            None => of(last),
        };
        let rate = subtracted(mean(|felt| felt.rate_radps), self.gyro_bias_radps);
        let force = subtracted(mean(|felt| felt.force_mps2), self.accel_bias_mps2);
        let half = turn_by(scaled(rate, 0.5 * step_s));
        let force_in_map = (self.map_from_imu * half).turn(force);
        let acceleration = added(force_in_map, GRAVITY_MPS2);
        self.step_errors(step_s, force_in_map);
        self.position_m = added(
            self.position_m,
            added(
                scaled(self.velocity_mps, step_s),
                scaled(acceleration, 0.5 * step_s * step_s),
            ),
        );
        self.velocity_mps = added(self.velocity_mps, scaled(acceleration, step_s));
        self.map_from_imu = upright(self.map_from_imu * turn_by(scaled(rate, step_s)));
        let noise = step_s * self.felt_every_s;
        self.blur(V, last.force_sd_mps2 * last.force_sd_mps2 * noise);
        self.blur(T, last.rate_sd_radps * last.rate_sd_radps * noise);
    }

    /// One step of a vessel without an inertial unit: it goes on as it went, more or less.
    fn step_unfelt(&mut self, step_s: f64) {
        self.step_errors(step_s, [0.0; 3]);
        self.position_m = added(self.position_m, scaled(self.velocity_mps, step_s));
        let Beliefs {
            unfelt_mps2,
            unfelt_radps,
            ..
        } = self.beliefs;
        // What it does lasts for about a second.
        self.blur(V, unfelt_mps2 * unfelt_mps2 * step_s);
        self.blur(T, unfelt_radps * unfelt_radps * step_s);
    }

    /// Moves the errors on: rows, then columns, of what differs from nothing.
    fn step_errors(&mut self, step_s: f64, force: Vec3) {
        let [fx, fy, fz] = scaled(force, step_s);
        let r = self.map_from_imu.rotation();
        let mut moves = [(0_usize, 0_usize, 0.0_f64); 27];
        let mut n = 0;
        let mut push = |to, from, factor| {
            moves[n] = (to, from, factor);
            n += 1;
        };
        for axis in 0..3 {
            push(P + axis, V + axis, step_s);
        }
        push(V, T + 1, fz);
        push(V, T + 2, -fy);
        push(V + 1, T, -fz);
        push(V + 1, T + 2, fx);
        push(V + 2, T, fy);
        push(V + 2, T + 1, -fx);
        for (row, values) in r.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                push(V + row, A + column, -step_s * value);
                push(T + row, G + column, -step_s * value);
            }
        }
        let before = self.covariance;
        let mut half = before;
        for (to, from, factor) in moves {
            for column in 0..N {
                half[to][column] += factor * before[from][column];
            }
        }
        let mut after = half;
        for (to, from, factor) in moves {
            for row in 0..N {
                after[row][to] += factor * half[row][from];
            }
        }
        self.covariance = after;
        let Beliefs {
            gyro_walk,
            accel_walk,
            deviation_walk,
            ..
        } = self.beliefs;
        self.blur(G, gyro_walk * gyro_walk * step_s);
        self.blur(A, accel_walk * accel_walk * step_s);
        self.covariance[C][C] += deviation_walk * deviation_walk * step_s;
    }

    /// Adds the same to the variance of three errors.
    fn blur(&mut self, first: usize, variance: f64) {
        for at in first..first + 3 {
            self.covariance[at][at] += variance;
        }
    }
}

/// What measurements should be, and what they show about the errors.
impl Filter {
    /// A coordinate of a point of the unit, by a measurement of it.
    pub(super) fn position(
        &self,
        axis: usize,
        point_in_imu: Vec3,
        measured: (f64, f64),
    ) -> Innovation {
        let arm = self.map_from_imu.turn(point_in_imu);
        let mut row = [0.0; N];
        row[P + axis] = 1.0;
        // A small turn moves the point by t x arm.
        for turned in 0..3 {
            let mut about = [0.0; 3];
            about[turned] = 1.0;
            row[T + turned] = cross(about, arm)[axis];
        }
        let (measured_m, variance) = measured;
        Innovation {
            off: measured_m - self.position_m[axis] - arm[axis],
            row,
            variance,
        }
    }

    /// The heading of an axis of the unit, by a compass. An axis that points up has none.
    pub(super) fn heading(&self, axis_in_imu: Vec3, measured: (f64, f64)) -> Innovation {
        let [x, y, z] = self.map_from_imu.turn(axis_in_imu);
        let level2 = (x * x + y * y).max(1e-6);
        let (measured_rad, variance) = measured;
        let mut row = [0.0; N];
        row[T] = -z * x / level2;
        row[T + 1] = -z * y / level2;
        row[T + 2] = 1.0;
        row[C] = 1.0;
        Innovation {
            off: within_half_turn(measured_rad - y.atan2(x) - self.deviation_rad),
            row,
            variance,
        }
    }

    /// How the up axis of the vessel leans along an axis of the map: it floats upright, more or less.
    pub(super) fn lean(&self, axis: usize, up_in_imu: Vec3, variance: f64) -> Innovation {
        let up = self.map_from_imu.turn(up_in_imu);
        let mut row = [0.0; N];
        for turned in 0..3 {
            let mut about = [0.0; 3];
            about[turned] = 1.0;
            row[T + turned] = cross(about, up)[axis];
        }
        Innovation {
            off: -up[axis],
            row,
            variance,
        }
    }

    /// The variance of what a measurement is off by, if all is as the filter believes.
    pub(super) fn variance_of(&self, innovation: &Innovation) -> f64 {
        self.covariance_of(innovation, innovation) + innovation.variance
    }

    /// How two measurements are off together.
    pub(super) fn covariance_of(&self, one: &Innovation, other: &Innovation) -> f64 {
        let rows = self
            .covariance
            .iter()
            .zip(&one.row)
            .filter(|(_, it)| **it != 0.0);
        rows.map(|(row, it)| it * dot(row, &other.row)).sum()
    }

    /// Takes a number in.
    pub(super) fn correct(&mut self, innovation: &Innovation) {
        let gain: [f64; N] = std::array::from_fn(|at| dot(&self.covariance[at], &innovation.row));
        let variance = dot(&gain, &innovation.row) + innovation.variance;
        // Nothing is measured better than perfectly.
        if variance.is_nan() || variance <= 0.0 {
            return;
        }
        for row in 0..N {
            for column in 0..=row {
                let less = self.covariance[row][column] - gain[row] * gain[column] / variance;
                self.covariance[row][column] = less;
                self.covariance[column][row] = less;
            }
        }
        self.absorb(&gain.map(|it| it * innovation.off / variance));
    }

    /// Brings errors that have become known into what is believed.
    fn absorb(&mut self, errors: &[f64; N]) {
        let part = |first: usize| [errors[first], errors[first + 1], errors[first + 2]];
        self.position_m = added(self.position_m, part(P));
        self.velocity_mps = added(self.velocity_mps, part(V));
        self.map_from_imu = upright(turn_by(part(T)) * self.map_from_imu);
        self.gyro_bias_radps = added(self.gyro_bias_radps, part(G));
        self.accel_bias_mps2 = added(self.accel_bias_mps2, part(A));
        self.deviation_rad = within_half_turn(self.deviation_rad + errors[C]);
    }

    /// Forgets how the horizontal position and velocity go with everything else: the position is there, within so much,
    /// and the velocity is larger by what measurements of the position showed.
    pub(super) fn lose_position(
        &mut self,
        point_in_imu: Vec3,
        [x_m, y_m]: [f64; 2],
        sd_m: f64,
        [faster_x_mps, faster_y_mps]: [f64; 2],
    ) {
        let [arm_x, arm_y, _] = self.map_from_imu.turn(point_in_imu);
        self.position_m[0] = x_m - arm_x;
        self.position_m[1] = y_m - arm_y;
        self.velocity_mps[0] += faster_x_mps;
        self.velocity_mps[1] += faster_y_mps;
        for at in [P, P + 1] {
            self.forget(at, sd_m * sd_m);
        }
        for at in [V, V + 1] {
            self.forget(at, self.beliefs.speed_sd_mps * self.beliefs.speed_sd_mps);
        }
    }

    /// Roll and pitch may be anything that they are on water.
    pub(super) fn lose_level(&mut self, sd_rad: f64) {
        for at in [T, T + 1] {
            self.forget(at, sd_rad * sd_rad);
        }
    }

    /// The compass is off by something else than before.
    pub(super) fn lose_deviation(&mut self, sd_rad: f64) {
        self.forget(C, sd_rad * sd_rad);
    }

    /// The heading is unknown.
    pub(super) fn lose_heading(&mut self, sd_rad: f64) {
        self.forget(T + 2, sd_rad * sd_rad);
    }

    fn forget(&mut self, at: usize, variance: f64) {
        self.covariance[at] = [0.0; N];
        for row in &mut self.covariance {
            row[at] = 0.0;
        }
        self.covariance[at][at] = variance;
    }
}

/// What others may know.
impl Filter {
    /// Where the unit is.
    pub(super) fn pose(&self) -> Transform {
        Transform::from_xyz(self.position_m) * self.map_from_imu
    }

    /// What the compass shows more than it should, radians, and the standard deviation of that.
    pub(super) fn deviation(&self) -> (f64, f64) {
        (self.deviation_rad, self.covariance[C][C].max(0.0).sqrt())
    }

    /// How the unit turns, radians a second about its own axes.
    pub(super) fn rate_radps(&self) -> Vec3 {
        let is_felt = |felt: &Felt| self.utime - felt.utime <= UNFELT_AFTER_US;
        let felt = self.felt.as_ref().filter(|felt| is_felt(felt));
        felt.map_or([0.0; 3], |felt| {
            subtracted(felt.rate_radps, self.gyro_bias_radps)
        })
    }

    /// How a point of the unit moves, metres a second in the map.
    pub(super) fn velocity_mps(&self, point_in_imu: Vec3) -> Vec3 {
        let about = self
            .map_from_imu
            .turn(cross(self.rate_radps(), point_in_imu));
        added(self.velocity_mps, about)
    }

    /// Covariance of small turns about the axes of the map, row by row.
    pub(super) fn attitude_covariance(&self) -> [f64; 9] {
        std::array::from_fn(|at| self.covariance[T + at / 3][T + at % 3])
    }

    /// Covariance of a point of the unit, row by row.
    pub(super) fn position_covariance(&self, point_in_imu: Vec3) -> [f64; 9] {
        let along = [0, 1, 2].map(|axis| self.position(axis, point_in_imu, (0.0, 0.0)));
        std::array::from_fn(|at| self.covariance_of(&along[at / 3], &along[at % 3]))
    }

    /// Whether all of it is numbers.
    pub(super) fn is_finite(&self) -> bool {
        self.pose().is_finite()
            && self.velocity_mps.iter().all(|it| it.is_finite())
            && self.covariance.iter().flatten().all(|it| it.is_finite())
    }
}

/// A small turn, by a vector along its axis.
fn turn_by(turn: Vec3) -> Transform {
    let angle = dot(&turn, &turn).sqrt();
    if angle < 1e-12 {
        return Transform::IDENTITY;
    }
    Transform::from_axis_angle(scaled(turn, angle.recip()), angle)
}

/// The turn alone, made a turn again where rounding has bent it.
fn upright(turn: Transform) -> Transform {
    Transform::from_xyz_quat([0.0; 3], turn.quat()).unwrap_or(Transform::IDENTITY)
}

fn dot<const M: usize>(one: &[f64; M], other: &[f64; M]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
