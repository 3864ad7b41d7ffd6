//! How sure the height of a measured point is.
//!
//! # Derivation
//!
//! A device at `o` measures a range `r` in a direction `s` (length 1, in axes of the map). The point is `p = o + r s`, and
//! `d = p - q` is how far it is from the frame `q` whose pose is known. To first order `p` is off by
//!
//! ```text
//!   s δr            the range is wrong,       variance σr²
//! + r (β × s)       the direction is wrong,   variance σb² about each axis across the ray
//! + θ × d           the attitude is wrong,    covariance C, of small turns about the axes of the map
//! + t               the position is wrong,    covariance P
//! ```
//!
//! A map asks for the height at a place. Where the ground rises by `g` (metres a metre along x and y), a point that is off
//! by `e` is off in height by `e_z - g_x e_x - g_y e_y`. The gradient is not known before the ground is; it is taken as
//! random, with mean 0 and variance `γ²` along each axis. Then the variance of the height is
//!
//! ```text
//!   v = Var e_z + γ² (Var e_x + Var e_y)
//! ```
//!
//! and with `s_z² + |s_xy|² = 1` the four parts, which are independent, add up to
//!
//! ```text
//!   v = σr² (s_z² + γ² (1 - s_z²))
//!     + r² σb² ((1 - s_z²) + γ² (1 + s_z²))
//!     + (Cyy + γ² Czz) dx² + (Cxx + γ² Czz) dy² + γ² (Cxx + Cyy) dz²
//!       - 2 Cxy dx dy - 2 γ² Cxz dx dz - 2 γ² Cyz dy dz
//!     + Pzz + γ² (Pxx + Pyy)
//! ```
//!
//! So a ray that grazes the ground (`s_z` near 0) has its height from its direction and hardly from its range, and one
//! that looks down has it from its range: the incidence is in `s_z`.

use bowline_geometry::{Transform, Vec3};
use bowline_msgs::Range3d;

/// How well a device measures, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensorNoise {
    /// Nearer than this it sees nothing.
    pub min_range_m: f32,
    /// Farther than this it sees nothing.
    pub max_range_m: f32,
    /// Standard deviation of a range; at 1 m where it grows.
    pub range_sd_m: f32,
    /// How much that grows with each metre.
    pub range_sd_per_m: f32,
    /// Standard deviation of a direction.
    pub bearing_sd_rad: f32,
}

impl SensorNoise {
    /// As the message has it. What is no number, or below 0, is 0.
    #[must_use]
    pub fn of(ranges: &Range3d) -> Self {
        // `max` gives the other one where one is NaN.
        let not_below_0 = |it: f32| it.max(0.0);
        Self {
            min_range_m: not_below_0(ranges.min_range_m),
            max_range_m: not_below_0(ranges.max_range_m),
            range_sd_m: not_below_0(ranges.range_sd_m),
            range_sd_per_m: not_below_0(ranges.range_sd_per_m),
            bearing_sd_rad: not_below_0(ranges.bearing_sd_rad),
        }
    }

    /// Standard deviation of a range.
    #[inline]
    #[must_use]
    pub fn range_sd(&self, range_m: f32) -> f32 {
        (self.range_sd_m + self.range_sd_per_m * (range_m - 1.0)).max(0.0)
    }
}

/// How sure a pose is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoseNoise {
    /// Covariance of small turns about the axes of the map, radians squared.
    pub attitude: [Vec3; 3],
    /// Covariance of the position, metres squared.
    pub position: [Vec3; 3],
}

/// From where a device looked.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Where the device was.
    pub map_from_sensor: Transform,
    /// Where the frame was whose pose is known.
    pub posed_at: Vec3,
    /// How sure that pose is.
    pub noise: PoseNoise,
}

impl View {
    /// Where a ray ends: at its point, or as far as the device sees where it met nothing. `None` for what is no ray.
    pub(crate) fn ray_end(&self, point: [f32; 4], sensor: &SensorNoise) -> Option<Vec3> {
        let [x, y, z, range_m] = point.map(f64::from);
        let stretch = if range_m == f64::INFINITY {
            f64::from(sensor.max_range_m) / x.hypot(y).hypot(z)
        } else if (f64::from(sensor.min_range_m)..=f64::from(sensor.max_range_m)).contains(&range_m)
        {
            1.0
        } else {
            return None;
        };
        let end = self
            .map_from_sensor
            .apply([x * stretch, y * stretch, z * stretch]);
        end.iter().all(|it| it.is_finite()).then_some(end)
    }
}

/// The variance of heights seen from one place by one device: the formula above, with what is the same for all points
/// worked out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeightNoise {
    sensor: SensorNoise,
    gamma2: f32,
    /// Of dx², dy², dz², dx dy, dx dz, dy dz.
    attitude: [f32; 6],
    position: f32,
}

/// What is measured too well to be true: it keeps variances above 0.
const MIN_VARIANCE: f32 = 1e-6;

impl HeightNoise {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "variances need no more digits"
    )]
    pub(crate) fn new(sensor: SensorNoise, pose: &PoseNoise, slope_sd: f64) -> Self {
        let gamma2 = slope_sd * slope_sd;
        let ([c0, c1, c2], p) = (&pose.attitude, &pose.position);
        let attitude = [
            c1[1] + gamma2 * c2[2],
            c0[0] + gamma2 * c2[2],
            gamma2 * (c0[0] + c1[1]),
            -2.0 * c0[1],
            -2.0 * gamma2 * c0[2],
            -2.0 * gamma2 * c1[2],
        ];
        let position = p[2][2] + gamma2 * (p[0][0] + p[1][1]);
        Self {
            sensor,
            gamma2: gamma2 as f32,
            attitude: attitude.map(|it| it as f32),
            position: position as f32,
        }
    }

    /// The variance of a point at `ray` from the device, `range_m` by its own measure, and at `d` from the pose.
    #[inline]
    pub(crate) fn variance(&self, ray: [f32; 3], range_m: f32, d: [f32; 3]) -> f32 {
        let [x, y, z] = ray;
        let [dx, dy, dz] = d;
        let range2 = (x * x + y * y + z * z).max(MIN_VARIANCE);
        let down2 = z * z / range2;
        let level2 = 1.0 - down2;
        let range_sd = self.sensor.range_sd(range_m);
        let bearing_sd = self.sensor.bearing_sd_rad;
        let of_range = range_sd * range_sd * (down2 + self.gamma2 * level2);
        let across2 = range2 * bearing_sd * bearing_sd;
        let of_bearing = across2 * (level2 + self.gamma2 * (1.0 + down2));
        let [xx, yy, zz, xy, xz, yz] = self.attitude;
        let of_attitude =
            dx * (xx * dx + xy * dy + xz * dz) + dy * (yy * dy + yz * dz) + zz * dz * dz;
        // A covariance that is none may make it negative.
        (of_range + of_bearing + of_attitude.max(0.0) + self.position).max(MIN_VARIANCE)
    }
}
