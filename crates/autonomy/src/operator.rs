//! A scripted operator: the words of scripts, and the component that follows one through `bowline_operator::Client`.
//!
//! Deliberately absent: any right. An operator can only ask; the gate decides.

mod component;
mod script;

pub use component::{Operator, OperatorParameters};
pub use script::{BadSetpoint, BadStep, Setpoint, Step, parse_step, task_named};
