//! How sure a pose is: hand-measured mounts are where most of the error of a range comes from.
//!
//! The error of `a_from_b` is six small numbers: a shift along the axes of `a`, and a turn about the axes of `a` through
//! the origin of `b`. That is how people measure: "two millimetres either way along x, half a degree of roll".
//! Errors of different edges of a chain are independent; they are carried along to first order.

use crate::transform::{Transform, Vec3};

/// The covariance of a pose: x, y, z in metres, then small turns about x, y and z in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Covariance(pub [[f64; 6]; 6]);

impl Covariance {
    /// A pose that is exact.
    pub const ZERO: Self = Self([[0.0; 6]; 6]);

    /// Six independent errors, by their standard deviations.
    #[must_use]
    pub fn from_deviations(xyz_m: Vec3, rpy_rad: Vec3) -> Self {
        let mut matrix = [[0.0; 6]; 6];
        let deviations = xyz_m.into_iter().chain(rpy_rad);
        for (idx, deviation) in deviations.enumerate() {
            matrix[idx][idx] = deviation * deviation;
        }
        Self(matrix)
    }

    /// The standard deviations of the shift and of the turn.
    #[must_use]
    pub fn deviations(&self) -> (Vec3, Vec3) {
        let at = |idx: usize| self.0[idx][idx].max(0.0).sqrt();
        ([at(0), at(1), at(2)], [at(3), at(4), at(5)])
    }

    /// Whether it is one: symmetric, with no variance below 0 and no correlation above 1.
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let m = &self.0;
        let pairs = (0..6).flat_map(|i| (0..6).map(move |j| (i, j)));
        pairs.into_iter().all(|(i, j)| {
            let bound = m[i][i] * m[j][j];
            let is_symmetric = (m[i][j] - m[j][i]).abs() <= 1e-9 * bound.abs().sqrt();
            m[i][i] >= 0.0
                && m[i][j].is_finite()
                && is_symmetric
                && m[i][j] * m[i][j] <= bound * (1.0 + 1e-9)
        })
    }

    fn sandwiched(&self, by: &[[f64; 6]; 6]) -> Self {
        let mut out = [[0.0; 6]; 6];
        for (i, row) in out.iter_mut().enumerate() {
            for (j, cell) in row.iter_mut().enumerate() {
                for (k, variances) in self.0.iter().enumerate() {
                    let along = (0..6).map(|l| variances[l] * by[j][l]).sum::<f64>();
                    *cell += by[i][k] * along;
                }
            }
        }
        Self(out)
    }

    fn add(&mut self, other: &Self) {
        for (row, others) in self.0.iter_mut().zip(&other.0) {
            for (cell, other) in row.iter_mut().zip(others) {
                *cell += other;
            }
        }
    }
}

/// One step of a chain, as it is crossed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// As declared, not as crossed.
    pub(crate) pose: Transform,
    pub(crate) covariance: Option<Covariance>,
    pub(crate) is_inverse: bool,
}

impl Step {
    fn crossed(&self) -> Transform {
        if self.is_inverse {
            self.pose.inverse()
        } else {
            self.pose
        }
    }
}

/// The covariance of the product of a chain.
pub(crate) fn propagate(chain: &[Step]) -> Covariance {
    // From the far end, so that what follows each step is at hand.
    let mut total = Covariance::ZERO;
    let mut end_in_step = Transform::IDENTITY;
    for step in chain.iter().rev() {
        let crossed = step.crossed();
        let end = crossed * end_in_step;
        // What was found so far is about the axes of the step's far side.
        total = total.sandwiched(&block(&crossed, None, 1.0));
        if let Some(covariance) = &step.covariance {
            // The turn swings all that follows, which the declared side's axes see with this arm.
            let jacobian = if step.is_inverse {
                // The error is about the far side's axes: the end moves against it.
                let (to, from) = (end_in_step.xyz(), step.pose.xyz());
                block(&crossed, Some(between(to, from)), -1.0)
            } else {
                let (to, from) = (end.xyz(), crossed.xyz());
                block(&Transform::IDENTITY, Some(between(to, from)), 1.0)
            };
            total.add(&covariance.sandwiched(&jacobian));
        }
        end_in_step = end;
    }
    total
}

/// From one point to another.
fn between(from: Vec3, to: Vec3) -> Vec3 {
    [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
}

/// `[s R, s R [arm]x; 0, s R]`.
fn block(turn: &Transform, arm: Option<Vec3>, sign: f64) -> [[f64; 6]; 6] {
    let rotation = turn.rotation();
    let [x, y, z] = arm.unwrap_or_default();
    let hat = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
    let mut out = [[0.0; 6]; 6];
    for (i, row) in rotation.iter().enumerate() {
        for (j, cell) in row.iter().enumerate() {
            out[i][j] = sign * cell;
            out[i + 3][j + 3] = sign * cell;
            out[i][j + 3] = sign * (0..3).map(|k| row[k] * hat[k][j]).sum::<f64>();
        }
    }
    out
}
