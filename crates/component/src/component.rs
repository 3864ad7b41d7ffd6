//! The one interface that matters: a component is a state machine from events to events.
//!
//! It gets the time and never asks; it holds no socket, no thread, no file. So the same instance runs alone in a
//! process on the live bus, with others in one process, from a log at any speed, and in lockstep with a simulator, and
//! its outputs are a function of its inputs.

use crate::outbox::Outbox;
use crate::parameter::Parameters;
use crate::port::Ports;
use crate::step::Step;
use std::error::Error;

/// One module of a robot.
pub trait Component: Send {
    /// One event: a message, a tick, an input gone stale, a call or an answer. Outputs go to `out`; no output is
    /// an answer.
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>);

    /// What can be read and changed at run time. A change is a step of its own.
    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        None
    }
}

/// How a component is made from its parameters.
pub trait Build: Component + Sized + 'static {
    /// What can be set; [`NoParameters`](crate::NoParameters) if nothing can.
    type Parameters: Parameters + Default;

    /// Makes one, and declares what it reads and writes.
    ///
    /// # Errors
    /// When it cannot do its work with these parameters; the text is shown to the author of the robot file.
    fn build(parameters: Self::Parameters, ports: &mut Ports) -> Result<Self, BuildError>;

    /// For a component that cannot be made from its defaults: declares the ports that it has whatever its parameters are,
    /// and names the others in a sentence. So it can be explained without a robot.
    fn outline(_ports: &mut Ports) -> Option<&'static str> {
        None
    }
}

/// Why a component was not made, in its own words: components are written by strangers, with errors of any type.
pub type BuildError = Box<dyn Error + Send + Sync>;
