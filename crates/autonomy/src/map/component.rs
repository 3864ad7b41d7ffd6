//! Maps as components of a robot.

pub(crate) mod bathymetry;
mod intake;
pub(crate) mod obstacle_map;
pub(crate) mod terrain_map;
pub(crate) mod traverse_map;
