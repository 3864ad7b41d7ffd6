//! What components and services promise, through the public interface.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "it/inputs.rs"]
mod inputs;
#[path = "it/parameters.rs"]
mod parameters;
#[path = "it/service_hostile.rs"]
mod service_hostile;
#[path = "it/service_simulator.rs"]
mod service_simulator;
