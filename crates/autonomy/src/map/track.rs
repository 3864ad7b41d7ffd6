//! Where the vehicle was: its latest poses, and what lies between them.
//!
//! In: poses, in the order of their times. Out: the pose at a time between two of them. Nothing is guessed: after the
//! latest pose there is none yet, and across a gap there is none at all.

use super::noise::PoseNoise;
use crate::jump::{Agility, Jump};
use bowline_geometry::{MakeTransformError, Transform, Vec3};
use bowline_msgs::PoseTransform;
use std::collections::VecDeque;
use std::time::Duration;

/// How many poses are kept: five seconds at 100 Hz.
pub const MAX_POSES: usize = 512;

/// The latest poses of a frame of the vehicle.
#[derive(Clone, Debug)]
pub struct Track {
    max_gap_us: i64,
    agility: Agility,
    poses: VecDeque<Posed>,
    frame: String,
    reference: String,
}

/// Where a frame was at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posed {
    /// When, microseconds since the epoch.
    pub utime: i64,
    /// Where.
    pub map_from_frame: Transform,
    /// How sure that is.
    pub noise: PoseNoise,
}

/// Why a pose was not taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Its matrix is none.
    #[error("a pose is no rigid transform: {0}")]
    Matrix(#[from] MakeTransformError),
    /// Not finite numbers.
    #[error("a pose has numbers that are not finite")]
    NotFinite,
    /// It is not later than what is known.
    #[error("a pose is not later than the one before")]
    NotLater,
    /// It is another frame's, or in other coordinates.
    #[error("expected poses of {expected}, found one of {found}")]
    OtherFrame {
        /// `frame in reference`.
        expected: String,
        /// `frame in reference`.
        found: String,
    },
}

/// What a pose means for what was known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Taken {
    /// It goes on from the one before.
    Steady,
    /// No vehicle moves like that: what was mapped before is somewhere else now.
    Jumped(Jump),
}

/// Why there is no pose at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPose {
    /// Not yet: a later one may come.
    NotYet,
    /// It is before everything that is kept, or in a gap.
    Never,
}

impl Track {
    /// Without a pose. Between poses that are further apart than the gap nothing is known; one that is further from the
    /// last than a vehicle can move is a jump.
    #[must_use]
    pub fn new(max_gap: Duration, agility: Agility) -> Self {
        Self {
            max_gap_us: i64::try_from(max_gap.as_micros()).unwrap_or(i64::MAX),
            agility,
            poses: VecDeque::with_capacity(MAX_POSES),
            frame: String::new(),
            reference: String::new(),
        }
    }

    /// Takes a pose in. After a jump the poses before it are forgotten.
    ///
    /// # Errors
    /// When it is no pose, or not one of this track.
    pub fn take(&mut self, pose: &PoseTransform) -> Result<Taken, Refused> {
        let posed = self.checked(pose)?;
        let mut taken = Taken::Steady;
        if let Some(last) = self.poses.back() {
            let elapsed_s = seconds(posed.utime - last.utime);
            let (from, to) = (&last.map_from_frame, &posed.map_from_frame);
            if let Some(jump) = self.agility.jump(from, to, elapsed_s) {
                taken = Taken::Jumped(jump);
                self.poses.clear();
            }
        }
        if self.poses.len() == MAX_POSES {
            self.poses.pop_front();
        }
        self.poses.push_back(posed);
        Ok(taken)
    }

    fn checked(&mut self, pose: &PoseTransform) -> Result<Posed, Refused> {
        let rows = pose.matrix.as_chunks::<4>().0;
        let map_from_frame = Transform::from_matrix(std::array::from_fn(|row| rows[row]))?;
        let noise = PoseNoise {
            attitude: square(&pose.attitude_covariance),
            position: square(&pose.position_covariance),
        };
        let mut variances = noise.attitude.iter().chain(&noise.position).flatten();
        if !map_from_frame.is_finite() || !variances.all(|it| it.is_finite()) {
            return Err(Refused::NotFinite);
        }
        if let Some(last) = self.poses.back() {
            if pose.frame != self.frame || pose.reference != self.reference {
                let name = |frame: &str, reference: &str| format!("{frame:?} in {reference:?}");
                return Err(Refused::OtherFrame {
                    expected: name(&self.frame, &self.reference),
                    found: name(&pose.frame, &pose.reference),
                });
            }
            if pose.utime <= last.utime {
                return Err(Refused::NotLater);
            }
        }
        self.frame.clone_from(&pose.frame);
        self.reference.clone_from(&pose.reference);
        Ok(Posed {
            utime: pose.utime,
            map_from_frame,
            noise,
        })
    }

    /// The frame whose poses these are; empty before the first.
    #[must_use]
    pub fn frame(&self) -> &str {
        &self.frame
    }

    /// In whose coordinates they are; empty before the first.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// The latest pose.
    #[must_use]
    pub fn latest(&self) -> Option<&Posed> {
        self.poses.back()
    }

    /// The pose at a time.
    ///
    /// # Errors
    /// When it is not known: not yet, or never.
    pub fn at(&self, utime: i64) -> Result<Posed, NoPose> {
        let after = self.poses.partition_point(|it| it.utime < utime);
        let Some(next) = self.poses.get(after) else {
            return Err(NoPose::NotYet);
        };
        if next.utime == utime {
            return Ok(*next);
        }
        let before = after.checked_sub(1).and_then(|it| self.poses.get(it));
        let Some(before) = before else {
            return Err(NoPose::Never);
        };
        let span_us = next.utime - before.utime;
        if span_us > self.max_gap_us {
            return Err(NoPose::Never);
        }
        let part = seconds(utime - before.utime) / seconds(span_us);
        Ok(Posed {
            utime,
            map_from_frame: between(&before.map_from_frame, &next.map_from_frame, part),
            noise: before.noise,
        })
    }
}

/// A pose between two that are near: positions on a line, turns at the same speed to second order of the angle.
fn between(a: &Transform, b: &Transform, part: f64) -> Transform {
    let ([ax, ay, az], [bx, by, bz]) = (a.xyz(), b.xyz());
    let mix = |from: f64, to: f64| from + part * (to - from);
    let (one, mut other) = (a.quat(), b.quat());
    // Of the two quaternions that mean the same turn, the nearer one.
    if one.iter().zip(&other).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
        other = other.map(|it| -it);
    }
    let turn = std::array::from_fn(|at| mix(one[at], other[at]));
    let xyz = [mix(ax, bx), mix(ay, by), mix(az, bz)];
    Transform::from_xyz_quat(xyz, turn).unwrap_or(*a)
}

#[expect(clippy::cast_precision_loss, reason = "spans are short")]
fn seconds(us: i64) -> f64 {
    us as f64 * 1e-6
}

fn square(numbers: &[f64; 9]) -> [Vec3; 3] {
    let [a, b, c, d, e, f, g, h, i] = *numbers;
    [[a, b, c], [d, e, f], [g, h, i]]
}
