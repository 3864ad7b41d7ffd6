//! The simulator: a world, a vehicle that moves in it, and sensors that see it.
//!
//! In: a world file, a robot's model, commands. Out: the traffic that the real vehicle and its sensors would publish, and
//! the truth, apart. The same seed gives the same bytes.
//!
//! ```text
//!   world file ─▶ World ─┐
//!   model ─▶ Vehicle ────┼─▶ Simulation: commands in, steps, measurements out ─▶ the component `sim`
//!   seed ─▶ noise ───────┘
//! ```
//!
//! Deliberately absent: the bus, clocks, threads. The caller advances a simulation.

pub mod actuation;
mod beams;
mod catalog;
mod chart;
mod component;
mod fault;
mod math;
mod noise;
mod outline;
mod paint;
mod physics;
mod scene;
mod schedule;
mod sea;
mod sensor;
mod simulation;
mod solid;
mod survey;
mod vehicle;
mod view;
mod world;

pub use actuation::wheels::{Motion, Steering, Wheel, WheelState};
pub use actuation::{
    ACTUATIONS, ActuationKind, BuildGear, CommandPort, Gear, MountedBody, Propulsion, Site, Start,
    Stride,
};
pub use catalog::{Catalog, Ours, Tables};
pub use chart::{to_geojson, to_truth};
pub use component::{Sim, SimParameters};
pub use fault::{Fault, FaultKind, PlannedFault};
pub use noise::{Seed, Stream};
pub use physics::{ChassisState, Push};
pub use schedule::{Rate, Schedule};
pub use sea::Water;
pub use sensor::{Instrument, Reach, Reading, SENSORS, Sample, Sensor, SensorKind};
pub use simulation::{Event, Settings, Simulation};
pub use solid::{MakeMeshError, Mesh, Solid};
pub use survey::{Survey, SurveyParameters};
pub use vehicle::{MakeVehicleError, Mounted, NoSuchPort, VEHICLE_FRAME, Vehicle};
pub use view::{to_svg, world_to_svg};
pub use world::{
    Area, AreaKind, BadBarn, Barn, Body, Flow, Line, LoadWorldError, Moves, Origin, Part, Path,
    PathEnd, Plume, Sea, Spawn, Waves, World,
};
