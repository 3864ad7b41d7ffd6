//! Local control: what is between a command and the actuators.

mod drive;

pub use drive::{Asked, Drive, DriveLimits, Motion, Steering};
