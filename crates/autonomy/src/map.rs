//! Maps of the ground around a vehicle: how high it is, and where one can drive.
//!
//! In: ranges of any device (`range3d_t`), poses (`pose_transform_t`), the robot's model. Out: maps (`map_t`) and pictures
//! of them.
//!
//! ```text
//!   range3d_t ─▶ waiting ─▶ terrain ─▶ grid of cells ─▶ map_t ─▶ traverse ─▶ map_t ─▶ draw
//!   pose_transform_t ─▶ track ──▲  ▲
//!   model: where devices are ──────┘
//! ```
//!
//! What is not known is NaN and never free ground.
//!
//! Deliberately absent: three dimensions. A cell has one height, a top and a bottom; what hangs over the vehicle is left
//! out by its height.

mod cell;
mod chart;
mod clear;
mod component;
pub mod draw;
mod grid;
mod mapper;
mod movers;
mod noise;
mod obstacles;
mod planes;
mod seabed;
mod shoals;
mod terrain;
mod track;
mod traverse;
mod walk;

pub use cell::{Cell, GATE, Height, REFUTATION, TAKEOVER};
pub use chart::Chart;
pub use component::bathymetry::{Bathymetry, BathymetryParameters};
pub use component::obstacle_map::{ObstacleMap, ObstacleMapParameters};
pub use component::terrain_map::{TerrainMapComponent, TerrainMapParameters};
pub use component::traverse_map::{TraverseMapComponent, TraverseMapParameters};
pub use grid::{Grid, MAX_SIDE, MakeGridError};
pub use mapper::{MAX_WAITING, Mapper, MapperCounts, MapperSettings};
pub use movers::Movers;
pub use noise::{PoseNoise, SensorNoise, View};
pub use obstacles::{ObstacleSettings, Obstacles};
pub use planes::{Planes, ReadMapError};
pub use seabed::{Seabed, SeabedSettings};
pub use shoals::{MAX_SHOALS, Shoal, ShoalSettings, shoals};
pub use terrain::{Terrain, TerrainCounts, TerrainSettings, Weighting};
pub use track::{MAX_POSES, NoPose, Posed, Refused, Taken, Track};
pub use traverse::{Limits, traverse};
