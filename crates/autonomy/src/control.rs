//! Local control: the last step before actuators.

mod drive;

pub use drive::{Drive, DriveComponent, DriveLimits, DriveParameters, Setpoint};
