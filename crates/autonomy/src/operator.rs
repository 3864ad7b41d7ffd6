//! Whoever commands a vehicle, on the other side of its gate.
//!
//! `session.rs` keeps what a station must bring with each command; the command line, stations and the scripted operator all
//! speak through it. `script.rs` has the words of a script, `component.rs` the one who follows it.
//!
//! Deliberately absent: any right. An operator can only ask; the gate decides.

mod component;
mod script;
mod session;

pub use component::{Operator, OperatorParameters};
pub use script::{BadStep, Step, parse_step, task_named};
pub use session::Session;
