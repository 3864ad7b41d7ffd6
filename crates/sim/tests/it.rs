//! What the simulator promises, through its public interface.

#[path = "it/support.rs"]
mod support;

#[path = "it/driving.rs"]
mod driving;
