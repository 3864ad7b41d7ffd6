//! What a gate lets through: a set-point of any kind of actuation, described by its axes.
//!
//! A kind is one file below this one, or in another crate, and a row of the simulator's table of actuations. Everything
//! else goes by what the gate publishes of it: operators' clients, scripts, the command line, the page.

mod thrust;
mod velocity;

use bowline_msgs::DirectCommand;
use bowline_wire::{Decode, Message};
use std::fmt;

/// A set-point of actuators, as far as a gate needs to know it. Its default is neutral.
pub trait Actuation:
    Message + for<'a> Decode<'a> + Clone + Default + fmt::Debug + PartialEq + Send + Sync + 'static
{
    /// What direct commands call it, and what its channels begin with, such as that of `WORD.command`.
    const WORD: &'static str;
    /// What people type to set it directly.
    const VERB: &'static str;
    /// Its numbers, in the order of direct commands.
    const AXES: &'static [Axis<Self>];

    /// The same, sent at that time.
    #[must_use]
    fn at(&self, utime: i64) -> Self;

    /// Whether it moves nothing, as a person's input that is let go.
    fn is_neutral(&self) -> bool {
        let mut moving = Self::AXES.iter().filter(|axis| axis.moves);
        moving.all(|axis| (axis.get)(self).abs() <= LET_GO)
    }

    /// The set-point that a direct command asks for.
    ///
    /// # Errors
    /// When the command is for another kind of actuation, or has another number of values.
    fn of(command: &DirectCommand) -> Result<Self, BadDirect> {
        let DirectCommand {
            actuation, values, ..
        } = command;
        if actuation != Self::WORD {
            return Err(BadDirect::OtherActuation {
                expected: Self::WORD,
                found: actuation.clone(),
            });
        }
        if values.len() != Self::AXES.len() {
            return Err(BadDirect::Length {
                expected: Self::AXES.len(),
                found: values.len(),
            });
        }
        let mut setpoint = Self::default();
        for (axis, value) in Self::AXES.iter().zip(values) {
            (axis.set)(&mut setpoint, *value);
        }
        Ok(setpoint)
    }

    /// Checks each axis against its limit, in either direction; a value that is not a number is beyond all limits.
    ///
    /// # Errors
    /// With the axis, its limit and its value, when one is beyond its limit.
    fn check(&self, limits: impl Iterator<Item = f64>) -> Result<(), BadDirect> {
        for (axis, limit) in Self::AXES.iter().zip(limits) {
            let found = (axis.get)(self);
            if !(-limit..=limit).contains(&found) {
                let field = axis.field;
                return Err(BadDirect::Beyond {
                    field,
                    limit,
                    found,
                });
            }
        }
        Ok(())
    }
}

/// One number of a set-point.
#[derive(Clone, Debug)]
pub struct Axis<A> {
    /// Its field in the message.
    pub field: &'static str,
    /// What people call it, in lower case.
    pub word: &'static str,
    /// The unit of its values: `ratio`, `m/s`, `rad`.
    pub unit: &'static str,
    /// Beyond this, in either direction, it is no value of any vehicle.
    pub bound: f64,
    /// How far a direct command may go, in either direction, where the robot file has no other limit.
    pub direct_limit: f64,
    /// How it answers to a person's hands.
    pub hands: Hands,
    /// Whether the vehicle moves by it. Neutral input has 0 on all of these.
    pub moves: bool,
    /// Its value.
    pub get: fn(&A) -> f64,
    /// Sets its value.
    pub set: fn(&mut A, f64),
}

/// How an axis answers to a person's hands: shares of its range, -1 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hands {
    /// For hands that are full ahead.
    pub ahead: f64,
    /// For hands that are full left.
    pub left: f64,
}

/// Why a direct command is no set-point of the vehicle.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadDirect {
    /// It is for another vehicle.
    #[error("expected a set-point of {expected:?}, found {found:?}")]
    OtherActuation {
        /// That of the gate.
        expected: &'static str,
        /// That of the command.
        found: String,
    },
    /// It has not one value for each axis.
    #[error("expected {expected} values, found {found}")]
    Length {
        /// How many axes there are.
        expected: usize,
        /// How many values the command has.
        found: usize,
    },
    /// A value is beyond its limit, or not a number.
    #[error("expected {field} from {:?} to {limit:?}, found {found:?}", -limit)]
    Beyond {
        /// The field of the axis.
        field: &'static str,
        /// How far it may go, in either direction.
        limit: f64,
        /// Its value.
        found: f64,
    },
}

/// A lever this near to the middle is let go: a thousandth of its way.
const LET_GO: f64 = 1e-3;
