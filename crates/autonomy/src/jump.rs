//! Poses that no vehicle could have moved to: something is wrong with one of the two.

use bowline_geometry::Transform;
use std::fmt;

/// What a vehicle can do between two poses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agility {
    /// Faster than this it does not move, metres a second.
    pub max_speed_mps: f64,
    /// Nor does it turn faster than this, radians a second.
    pub max_turn_radps: f64,
}

/// How far a pose is from the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jump {
    /// Metres.
    pub by_m: f64,
    /// Radians.
    pub by_rad: f64,
}

/// Positions that agree within this are no jump, however close in time: the noise of a position, metres.
const NOISE_M: f64 = 0.5;
/// Nor are attitudes that agree within this, radians: 6 degrees.
const NOISE_RAD: f64 = 0.1;

impl Agility {
    /// The jump between two poses that are so far apart in time; none if a vehicle may have moved so.
    #[must_use]
    pub fn jump(&self, last: &Transform, next: &Transform, elapsed_s: f64) -> Option<Jump> {
        let moved = last.inverse_mul(next);
        let (by_m, by_rad) = (moved.distance_m(), moved.angle_rad());
        let elapsed_s = elapsed_s.max(0.0);
        let is_jump = by_m > NOISE_M + self.max_speed_mps * elapsed_s
            || by_rad > NOISE_RAD + self.max_turn_radps * elapsed_s;
        is_jump.then_some(Jump { by_m, by_rad })
    }
}

/// Looks at one pose after the other.
#[derive(Clone, Copy, Debug)]
pub struct JumpWatch {
    agility: Agility,
    /// The last pose and its time, microseconds since the epoch.
    last: Option<(i64, Transform)>,
}

impl JumpWatch {
    /// Before the first pose.
    #[must_use]
    pub const fn new(agility: Agility) -> Self {
        Self {
            agility,
            last: None,
        }
    }

    /// The jump to the next pose, if it is one.
    pub fn see(&mut self, utime: i64, pose: Transform) -> Option<Jump> {
        let (last_utime, last) = self.last.replace((utime, pose))?;
        let elapsed_s = utime.saturating_sub(last_utime) as f64 / 1e6;
        self.agility.jump(&last, &pose, elapsed_s)
    }
}

impl fmt::Display for Jump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the pose jumped by {:.1} m and {:.0} degrees",
            self.by_m,
            self.by_rad.to_degrees()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_vehicle_can_do_is_no_jump_and_everything_else_is() {
        let agility = Agility {
            max_speed_mps: 10.0,
            max_turn_radps: 4.0,
        };
        let at = |x: f64, degrees: f64| {
            Transform::from_xyz_rpy([x, 0.0, 0.0], [0.0, 0.0, degrees.to_radians()])
        };
        // Metres, degrees, seconds.
        let cases = [
            (0.0, 0.0, 0.02, false),
            (0.6, 0.0, 0.02, false),
            (2.0, 0.0, 0.02, true),
            (-2.0, 0.0, 0.02, true),
            (2.0, 0.0, 0.2, false),
            (0.0, 8.0, 0.02, false),
            (0.0, 30.0, 0.02, true),
            (0.0, -30.0, 0.02, true),
            (0.0, 30.0, 0.2, false),
            (0.0, 30.0, -1.0, true),
        ];
        for (metres, degrees, elapsed_s, expected) in cases {
            let jump = agility.jump(
                &at(5.0, 175.0),
                &at(5.0 + metres, 175.0 + degrees),
                elapsed_s,
            );
            assert_eq!(
                jump.is_some(),
                expected,
                "{metres} m, {degrees} degrees in {elapsed_s} s"
            );
        }
    }
}
