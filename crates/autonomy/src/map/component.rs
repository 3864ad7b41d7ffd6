//! Maps as components of a robot.

pub(crate) mod terrain_map;
pub(crate) mod traverse_map;
