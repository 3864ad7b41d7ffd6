//! What a gate lets through: one type for each sort of vehicle.

use bowline_msgs::{Authority, Thrust, ThrustCommand, Velocity, VelocityCommand};
use bowline_wire::{Decode, Message};
use std::fmt;

/// What actuators are told, as far as a gate needs to know it.
pub trait Actuation:
    Message + for<'a> Decode<'a> + Clone + fmt::Debug + PartialEq + Send + Sync + 'static
{
    /// The same from a person, with the right by which it is commanded.
    type Command: Message + for<'a> Decode<'a> + Send + Sync + 'static;
    /// The name of that command in the table of commands.
    const COMMAND: &'static str;
    /// Its numbers, in the order of [`values`](Self::values).
    const AXES: &'static [Axis];

    /// What moves nothing.
    fn neutral() -> Self;
    /// Whether it moves nothing, as a person's input that is let go.
    fn is_neutral(&self) -> bool;
    /// The value of each axis.
    fn values(&self) -> [f64; 2];
    /// The same, said at that time.
    #[must_use]
    fn at(&self, utime: i64) -> Self;
    /// What a person asks for, and by which right.
    fn of(command: &Self::Command) -> (&Authority, &Self);

    /// Checks each axis against its limit, in either direction; a value that is no number is beyond all limits. Says which
    /// one is beyond.
    ///
    /// # Errors
    /// With the axis, its limit and its value, when one is beyond its limit.
    fn check(&self, limits: impl Iterator<Item = f64>) -> Result<(), String> {
        for ((axis, value), limit) in Self::AXES.iter().zip(self.values()).zip(limits) {
            // Not a number is within no limits.
            if !(-limit..=limit).contains(&value) {
                let field = axis.field;
                return Err(format!(
                    "expected {field} from {:?} to {limit:?}, found {value:?}",
                    -limit
                ));
            }
        }
        Ok(())
    }
}

/// One number of a set-point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Its field in the message.
    pub field: &'static str,
    /// Beyond this, in either direction, it is no value of any vehicle.
    pub bound: f64,
    /// How far a direct command may go, in either direction, where the robot file has no other limit.
    pub direct_limit: f64,
}

/// A lever this near to the middle is let go: a thousandth of its way.
const LET_GO: f64 = 1e-3;

impl Actuation for Thrust {
    type Command = ThrustCommand;
    const COMMAND: &'static str = "thrust";
    const AXES: &'static [Axis] = &[
        Axis {
            field: "port_ratio",
            bound: 1.0,
            direct_limit: 1.0,
        },
        Axis {
            field: "starboard_ratio",
            bound: 1.0,
            direct_limit: 1.0,
        },
    ];

    fn neutral() -> Self {
        Self::default()
    }

    fn is_neutral(&self) -> bool {
        self.port_ratio.abs() <= LET_GO && self.starboard_ratio.abs() <= LET_GO
    }

    fn values(&self) -> [f64; 2] {
        [self.port_ratio, self.starboard_ratio]
    }

    fn at(&self, utime: i64) -> Self {
        Self { utime, ..*self }
    }

    fn of(command: &ThrustCommand) -> (&Authority, &Self) {
        (&command.by, &command.thrust)
    }
}

impl Actuation for Velocity {
    type Command = VelocityCommand;
    const COMMAND: &'static str = "velocity";
    const AXES: &'static [Axis] = &[
        // Bound: faster than anything on wheels that this is for. Limit: a fast walk, for a person who sees it by camera.
        Axis {
            field: "speed_mps",
            bound: 100.0,
            direct_limit: 2.0,
        },
        Axis {
            field: "steering_rad",
            bound: std::f64::consts::PI,
            direct_limit: 0.5,
        },
    ];

    fn neutral() -> Self {
        Self::default()
    }

    /// A wheel that is turned moves nothing.
    fn is_neutral(&self) -> bool {
        self.speed_mps.abs() <= LET_GO
    }

    fn values(&self) -> [f64; 2] {
        [self.speed_mps, self.steering_rad]
    }

    fn at(&self, utime: i64) -> Self {
        Self { utime, ..*self }
    }

    fn of(command: &VelocityCommand) -> (&Authority, &Self) {
        (&command.by, &command.velocity)
    }
}
