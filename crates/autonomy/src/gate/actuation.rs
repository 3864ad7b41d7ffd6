//! What a gate lets through: one type for each sort of vehicle.

use bowline_msgs::{Authority, Thrust, ThrustCommand, Velocity, VelocityCommand};
use bowline_wire::{Decode, Message};
use std::fmt;

/// What actuators are told, as far as a gate needs to know it.
pub trait Actuation:
    Message + for<'a> Decode<'a> + Clone + fmt::Debug + PartialEq + Send + Sync + 'static
{
    /// The same from a person, with the right by which it is said.
    type Command: Message + for<'a> Decode<'a> + Send + Sync + 'static;
    /// The end of the channel of such commands, and what refusals call them.
    const WORD: &'static str;

    /// What moves nothing.
    fn neutral() -> Self;
    /// Whether it moves nothing, as a person's input that is let go.
    fn is_neutral(&self) -> bool;
    /// Whether it is within what can be meant at all.
    fn is_sane(&self) -> bool;
    /// The same, said at that time.
    #[must_use]
    fn at(&self, utime: i64) -> Self;
    /// What a person asks for, and by which right.
    fn of(command: &Self::Command) -> (&Authority, &Self);
}

/// A lever this near to the middle is let go: a thousandth of its way.
const LET_GO: f64 = 1e-3;

impl Actuation for Thrust {
    type Command = ThrustCommand;
    const WORD: &'static str = "thrust";

    fn neutral() -> Self {
        Self::default()
    }

    fn is_neutral(&self) -> bool {
        self.port_ratio.abs() <= LET_GO && self.starboard_ratio.abs() <= LET_GO
    }

    fn is_sane(&self) -> bool {
        let is_ratio = |ratio: f64| (-1.0..=1.0).contains(&ratio);
        is_ratio(self.port_ratio) && is_ratio(self.starboard_ratio)
    }

    fn at(&self, utime: i64) -> Self {
        Self { utime, ..*self }
    }

    fn of(command: &ThrustCommand) -> (&Authority, &Self) {
        (&command.by, &command.thrust)
    }
}

/// Faster than anything on wheels that this is for, metres a second.
const MAX_SPEED_MPS: f64 = 100.0;

impl Actuation for Velocity {
    type Command = VelocityCommand;
    const WORD: &'static str = "velocity";

    fn neutral() -> Self {
        Self::default()
    }

    /// A wheel that is turned moves nothing.
    fn is_neutral(&self) -> bool {
        self.speed_mps.abs() <= LET_GO
    }

    fn is_sane(&self) -> bool {
        let is_angle = self.steering_rad.abs() <= std::f64::consts::PI;
        is_angle && self.speed_mps.abs() <= MAX_SPEED_MPS
    }

    fn at(&self, utime: i64) -> Self {
        Self { utime, ..*self }
    }

    fn of(command: &VelocityCommand) -> (&Authority, &Self) {
        (&command.by, &command.velocity)
    }
}
