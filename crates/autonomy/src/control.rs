//! Local control: what is the last step before actuators, and what closes a vessel's loop.

mod drive;
mod vessel;

pub use drive::{Drive, DriveComponent, DriveLimits, DriveParameters, Setpoint};
pub use vessel::{
    Craft, State, VesselController, VesselControllerParameters, VesselLaw, VesselSettings,
};
