//! Rigid transforms: turn, then shift.
//!
//! # Conventions
//!
//! - Lengths are metres, angles radians; x forward, y left, z up; right-handed.
//! - `a_from_b` takes coordinates in `b` to coordinates in `a`; it is also the pose of `b` in `a`. Chains read:
//!   `a_from_c = a_from_b * b_from_c`.
//! - `rpy` is roll, pitch, yaw about the *fixed* axes x, y, z, in this order, as in URDF and SDF:
//!   `R = Rz(yaw) Ry(pitch) Rx(roll)`.
//! - Quaternions are written `w x y z`, and mean the same turn as their negative.
//!
//! The turn is kept as a 3x3 matrix. What is asked most is `inverse_mul`: it takes 6.8 to 6.9 ns with matrices, 6.8 to
//! 9.7 ns with unit quaternions (2026-11-16, AMD EPYC Zen 3, two cores that others used, best of 400 bursts), and what
//! people do with the answer, moving points, is cheaper with a matrix.

use std::ops::Mul;

/// A point or a direction.
pub type Vec3 = [f64; 3];

/// A rigid transform: `a_from_b`, or the pose of `b` in `a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    rotation: [Vec3; 3],
    translation: Vec3,
}

impl Transform {
    /// The one that changes nothing.
    pub const IDENTITY: Self = Self {
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.0; 3],
    };

    /// How far a matrix may be from a rigid transform: enough for four digits typed by hand.
    pub const MATRIX_TOLERANCE: f64 = 1e-3;

    /// A shift without a turn.
    #[must_use]
    pub fn from_xyz(xyz: Vec3) -> Self {
        Self {
            translation: xyz,
            ..Self::IDENTITY
        }
    }

    /// A turn by roll, pitch and yaw about the fixed axes x, y and z, then a shift.
    #[must_use]
    pub fn from_xyz_rpy(xyz: Vec3, [roll, pitch, yaw]: Vec3) -> Self {
        let (sr, cr) = roll.sin_cos();
        let (sp, cp) = pitch.sin_cos();
        let (sy, cy) = yaw.sin_cos();
        Self {
            rotation: [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ],
            translation: xyz,
        }
    }

    /// A turn by a quaternion `w x y z`, which is brought to length 1, then a shift.
    ///
    /// # Errors
    ///
    /// When the quaternion has no direction: all zero, or not finite.
    pub fn from_xyz_quat(xyz: Vec3, wxyz: [f64; 4]) -> Result<Self, MakeTransformError> {
        // Twice, so that squares of very small and very large numbers do no harm.
        let largest = wxyz.iter().fold(0.0_f64, |max, it| max.max(it.abs()));
        let scaled = wxyz.map(|it| it / largest);
        let length = scaled.iter().map(|it| it * it).sum::<f64>().sqrt();
        let [w, x, y, z] = scaled.map(|it| it / length);
        if ![w, x, y, z].iter().all(|it| it.is_finite()) {
            return Err(MakeTransformError::NoDirection { found: wxyz });
        }
        Ok(Self {
            rotation: [
                [
                    1.0 - 2.0 * (y * y + z * z),
                    2.0 * (x * y - w * z),
                    2.0 * (x * z + w * y),
                ],
                [
                    2.0 * (x * y + w * z),
                    1.0 - 2.0 * (x * x + z * z),
                    2.0 * (y * z - w * x),
                ],
                [
                    2.0 * (x * z - w * y),
                    2.0 * (y * z + w * x),
                    1.0 - 2.0 * (x * x + y * y),
                ],
            ],
            translation: xyz,
        })
    }

    /// A homogeneous 4x4 matrix, row by row. What is nearly a turn is made one.
    ///
    /// # Errors
    ///
    /// When it is further than [`Self::MATRIX_TOLERANCE`] from a rigid transform.
    pub fn from_matrix(m: [[f64; 4]; 4]) -> Result<Self, MakeTransformError> {
        let [r0, r1, r2, bottom] = m;
        let rotation = [r0, r1, r2].map(|[x, y, z, _]| [x, y, z]);
        let translation = [r0[3], r1[3], r2[3]];
        let off_bottom = off(&bottom, &[0.0, 0.0, 0.0, 1.0]);
        if !within_tolerance(off_bottom) {
            return Err(MakeTransformError::NotHomogeneous { found: bottom });
        }
        let products = mul3(&rotation, &transposed(&rotation));
        let off_turn = products
            .iter()
            .zip(&Self::IDENTITY.rotation)
            .map(|(row, unit)| off(row, unit))
            .fold(0.0, largest);
        if !within_tolerance(off_turn) {
            return Err(MakeTransformError::NotATurn { off: off_turn });
        }
        if determinant(&rotation) < 0.0 {
            return Err(MakeTransformError::Mirrors);
        }
        let nearly = Self {
            rotation,
            translation,
        };
        Self::from_xyz_quat(translation, nearly.quat())
    }

    /// A turn about an axis of length 1.
    #[must_use]
    pub fn from_axis_angle([x, y, z]: Vec3, angle_rad: f64) -> Self {
        let (s, c) = angle_rad.sin_cos();
        let t = 1.0 - c;
        Self {
            rotation: [
                [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
                [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
                [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
            ],
            translation: [0.0; 3],
        }
    }

    /// A turn that takes the z axis to a direction of length 1.
    pub(crate) fn with_z_along(axis: Vec3) -> Self {
        let [x, y, z] = axis;
        // The axis of the world that is furthest from it makes the steadiest basis.
        let helper = if x.abs() <= y.abs() && x.abs() <= z.abs() {
            [1.0, 0.0, 0.0]
        } else if y.abs() <= z.abs() {
            [0.0, 1.0, 0.0]
        } else {
            [0.0, 0.0, 1.0]
        };
        let across = cross(axis, helper);
        let across = across.map(|it| it / norm(across));
        let third = cross(axis, across);
        Self {
            rotation: transposed(&[across, third, axis]),
            translation: [0.0; 3],
        }
    }

    /// The shift: where the origin of `b` is in `a`.
    #[must_use]
    pub const fn xyz(&self) -> Vec3 {
        self.translation
    }

    /// The turn, row by row.
    #[must_use]
    pub const fn rotation(&self) -> [Vec3; 3] {
        self.rotation
    }

    /// The turn as roll, pitch and yaw. Straight up or down, where roll and yaw are one, roll is 0.
    #[must_use]
    pub fn rpy(&self) -> Vec3 {
        let [[r00, r01, _], [r10, r11, _], [r20, r21, r22]] = self.rotation;
        let across = r00.hypot(r10);
        let pitch = (-r20).atan2(across);
        if across < 1e-12 {
            return [0.0, pitch, (-r01).atan2(r11)];
        }
        [r21.atan2(r22), pitch, r10.atan2(r00)]
    }

    /// The turn as a quaternion `w x y z` with `w` not below 0.
    #[must_use]
    pub fn quat(&self) -> [f64; 4] {
        let [[a, b, c], [d, e, f], [g, h, i]] = self.rotation;
        // The largest of the four comes from a root, the others by division by it, so that nothing cancels.
        let q = if a + e + i > 0.0 {
            [1.0 + a + e + i, h - f, c - g, d - b]
        } else if a >= e && a >= i {
            [h - f, 1.0 + a - e - i, b + d, c + g]
        } else if e >= i {
            [c - g, b + d, 1.0 - a + e - i, f + h]
        } else {
            [d - b, c + g, f + h, 1.0 - a - e + i]
        };
        let length = q.iter().map(|it| it * it).sum::<f64>().sqrt();
        let sign = if q[0] < 0.0 { -1.0 } else { 1.0 };
        q.map(|it| sign * it / length)
    }

    /// The homogeneous 4x4 matrix, row by row.
    #[must_use]
    pub const fn matrix(&self) -> [[f64; 4]; 4] {
        let ([r0, r1, r2], [x, y, z]) = (self.rotation, self.translation);
        [
            [r0[0], r0[1], r0[2], x],
            [r1[0], r1[1], r1[2], y],
            [r2[0], r2[1], r2[2], z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    }

    /// How far it turns, 0 to pi.
    #[must_use]
    pub fn angle_rad(&self) -> f64 {
        let [w, x, y, z] = self.quat();
        2.0 * norm([x, y, z]).atan2(w)
    }

    /// How far it shifts.
    #[must_use]
    pub fn distance_m(&self) -> f64 {
        norm(self.translation)
    }

    /// `b_from_a`.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let rotation = transposed(&self.rotation);
        let back = turn(&rotation, self.translation);
        Self {
            rotation,
            translation: back.map(|it| -it),
        }
    }

    /// `self.inverse() * other` at half the price: `b_from_c` from `a_from_b` and `a_from_c`.
    #[inline]
    #[must_use]
    pub fn inverse_mul(&self, other: &Self) -> Self {
        let rotation = transposed(&self.rotation);
        let ([ax, ay, az], [bx, by, bz]) = (self.translation, other.translation);
        Self {
            rotation: mul3(&rotation, &other.rotation),
            translation: turn(&rotation, [bx - ax, by - ay, bz - az]),
        }
    }

    /// A point of `b` in coordinates of `a`.
    #[inline]
    #[must_use]
    pub fn apply(&self, point: Vec3) -> Vec3 {
        let [x, y, z] = turn(&self.rotation, point);
        let [tx, ty, tz] = self.translation;
        [x + tx, y + ty, z + tz]
    }

    /// A direction of `b` in coordinates of `a`.
    #[inline]
    #[must_use]
    pub fn turn(&self, direction: Vec3) -> Vec3 {
        turn(&self.rotation, direction)
    }

    /// `self` after a turn about z, or a shift along it: what a joint does, in its own basis.
    #[inline]
    pub(crate) fn after_turn_about_z(&self, angle_rad: f64) -> Self {
        let (s, c) = angle_rad.sin_cos();
        let [r0, r1, r2] = self.rotation;
        let [x, y, z] = self.translation;
        let mix = |a: Vec3, b: Vec3, p: f64, q: f64| {
            [
                p * a[0] + q * b[0],
                p * a[1] + q * b[1],
                p * a[2] + q * b[2],
            ]
        };
        Self {
            rotation: [mix(r0, r1, c, -s), mix(r0, r1, s, c), r2],
            translation: [c * x - s * y, s * x + c * y, z],
        }
    }

    #[inline]
    pub(crate) fn after_shift_along_z(&self, distance_m: f64) -> Self {
        let [x, y, z] = self.translation;
        Self {
            rotation: self.rotation,
            translation: [x, y, z + distance_m],
        }
    }

    /// Whether all of its numbers are finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        let numbers = self.rotation.iter().chain([&self.translation]).flatten();
        numbers.copied().all(f64::is_finite)
    }
}

/// `a_from_c = a_from_b * b_from_c`.
impl Mul for Transform {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        Self {
            rotation: mul3(&self.rotation, &other.rotation),
            translation: self.apply(other.translation),
        }
    }
}

impl Default for Transform {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// Numbers that are no rigid transform.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MakeTransformError {
    /// By its last row it does more than turn and shift.
    #[error("expected 0 0 0 1 as the last row of the matrix, found {found:?}")]
    NotHomogeneous {
        /// The last row.
        found: [f64; 4],
    },
    /// It stretches or shears.
    #[error(
        "expected rows of the matrix's 3x3 part that have length 1 and are at right angles, \
         within {}, found them off by {off:.2e}",
        Transform::MATRIX_TOLERANCE
    )]
    NotATurn {
        /// The largest difference from what a turn has.
        off: f64,
    },
    /// It makes left hands of right ones.
    #[error("expected a turn, found a mirror image: the determinant of the matrix is -1")]
    Mirrors,
    /// A quaternion of length 0, or one that is not finite.
    #[error("expected a quaternion other than 0 0 0 0, found {found:?}")]
    NoDirection {
        /// The quaternion, `w x y z`.
        found: [f64; 4],
    },
}

fn within_tolerance(off: f64) -> bool {
    off <= Transform::MATRIX_TOLERANCE
}

/// The larger of two, and a number that is none above all.
fn largest(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

fn off<const N: usize>(found: &[f64; N], expected: &[f64; N]) -> f64 {
    let pairs = found.iter().zip(expected);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, largest)
}

fn transposed([a, b, c]: &[Vec3; 3]) -> [Vec3; 3] {
    [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]]
}

#[inline]
fn mul3(a: &[Vec3; 3], b: &[Vec3; 3]) -> [Vec3; 3] {
    let row = |[x, y, z]: Vec3| {
        [
            x * b[0][0] + y * b[1][0] + z * b[2][0],
            x * b[0][1] + y * b[1][1] + z * b[2][1],
            x * b[0][2] + y * b[1][2] + z * b[2][2],
        ]
    };
    [row(a[0]), row(a[1]), row(a[2])]
}

#[inline]
fn turn([a, b, c]: &[Vec3; 3], [x, y, z]: Vec3) -> Vec3 {
    [a, b, c].map(|row| row[0] * x + row[1] * y + row[2] * z)
}

fn determinant(&[a, b, c]: &[Vec3; 3]) -> f64 {
    let [x, y, z] = cross(b, c);
    a[0] * x + a[1] * y + a[2] * z
}

pub(crate) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

pub(crate) fn norm([x, y, z]: Vec3) -> f64 {
    x.hypot(y).hypot(z)
}
