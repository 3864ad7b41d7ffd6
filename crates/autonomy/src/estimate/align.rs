//! The beginning: where the vessel is before it was anywhere.

use super::belief::Measured;
use super::filter::{Beliefs, Felt, Filter, StartSds};
use super::vectors::{added, scaled, seconds};
use bowline_geometry::{Transform, Vec3};

/// A vessel without an inertial unit is begun with after so long, seconds.
const UNFELT_AFTER_S: f64 = 2.0;
/// How many samples the level is found from: a second or so, which evens out some of the waves.
const N_LEVEL: u32 = 50;
/// How far off that is, radians, and for a vessel without an inertial unit.
const LEVEL_SD_RAD: [f64; 2] = [0.05, 0.15];

/// What is known so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Aligning {
    fix: Option<(i64, Vec3, [f64; 2], Vec3)>,
    heading: Option<(i64, f64, f64, Vec3)>,
    force_mps2: Vec3,
    n_felt: u32,
    since_utime: Option<i64>,
    latest_utime: i64,
}

impl Aligning {
    pub(super) fn take(&mut self, utime: i64, measured: Measured) {
        let since = *self.since_utime.get_or_insert(utime);
        self.since_utime = Some(since.min(utime));
        self.latest_utime = self.latest_utime.max(utime);
        match measured {
            Measured::Felt(Felt { force_mps2, .. }) => {
                self.force_mps2 = added(self.force_mps2, force_mps2);
                self.n_felt = self.n_felt.saturating_add(1);
            }
            Measured::Fix {
                at_m,
                sd_m,
                antenna_in_imu,
            } => self.fix = Some((utime, at_m, sd_m, antenna_in_imu)),
            Measured::Heading {
                heading_rad,
                sd_rad,
                axis_in_imu,
            } => self.heading = Some((utime, heading_rad, sd_rad, axis_in_imu)),
        }
    }

    /// The filter, as soon as enough is known.
    pub(super) fn filter(&self, beliefs: Beliefs) -> Option<Filter> {
        let (fix_utime, at_m, [level_sd_m, up_sd_m], antenna_in_imu) = self.fix?;
        let (_, heading_rad, heading_sd_rad, axis_in_imu) = self.heading?;
        let waited_s = seconds(self.latest_utime - self.since_utime?);
        let is_felt = self.n_felt >= N_LEVEL;
        if !is_felt && waited_s < UNFELT_AFTER_S {
            return None;
        }
        let up_in_imu = match self.n_felt {
            0 => [0.0, 0.0, 1.0],
            n => scaled(self.force_mps2, f64::from(n).recip()),
        };
        let map_from_imu = turn_with(up_in_imu, axis_in_imu, heading_rad);
        let [arm_x, arm_y, arm_z] = map_from_imu.turn(antenna_in_imu);
        let [x, y, z] = at_m;
        let pose = Transform::from_xyz([x - arm_x, y - arm_y, z - arm_z]) * map_from_imu;
        let [felt_rad, unfelt_rad] = LEVEL_SD_RAD;
        // A vessel that drifted since the fix is not quite there.
        let drifted_m = beliefs.speed_sd_mps * seconds(self.latest_utime - fix_utime);
        let sds = StartSds {
            horizontal_m: level_sd_m.hypot(drifted_m),
            vertical_m: up_sd_m,
            level_rad: if self.n_felt > 0 {
                felt_rad
            } else {
                unfelt_rad
            },
            heading_rad: heading_sd_rad,
        };
        Some(Filter::new(self.latest_utime, &pose, &sds, beliefs))
    }
}

/// The turn of a unit whose up is known, and the heading of one of its axes.
fn turn_with(up_in_imu: Vec3, axis_in_imu: Vec3, heading_rad: f64) -> Transform {
    let [x, y, z] = up_in_imu;
    let roll = y.atan2(z);
    let pitch = (-x).atan2(y.hypot(z));
    let level = Transform::from_xyz_rpy([0.0; 3], [roll, pitch, 0.0]);
    let [east, north, _] = level.turn(axis_in_imu);
    let yaw = heading_rad - north.atan2(east);
    Transform::from_xyz_rpy([0.0; 3], [0.0, 0.0, yaw]) * level
}
