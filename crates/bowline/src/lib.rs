//! Command and control for mobile robots on LCM: one dependency for a robot of your own.
//!
//! The crates of Bowline are here under short names, from [`component`], with which components are written, to
//! [`station`], which shows them to people. An [`App`] is the `bowline` command with your kinds of components beside
//! Bowline's own: `run` in all its forms, `sim`, `graph`, `log`, `spy`, `station` and the other verbs know them as if they were
//! built in.
//!
//! ```no_run
//! use bowline::component::{Build, BuildError, Component, Expect, Input, Kind, Outbox, Output, Ports, Step};
//! use bowline::msgs::{Laser, Velocity};
//! use std::process::ExitCode;
//! use std::time::Duration;
//!
//! bowline::component::parameters! {
//!     /// How a distance is kept.
//!     pub struct KeeperParameters {
//!         /// The distance to keep, metres.
//!         distance_m: f64 = 5.0, within 0.5..=50.0;
//!     }
//! }
//!
//! /// Drives until the nearest obstacle is at a distance.
//! struct Keeper {
//!     parameters: KeeperParameters,
//!     scan: Input<Laser>,
//!     command: Output<Velocity>,
//! }
//!
//! impl Build for Keeper {
//!     type Parameters = KeeperParameters;
//!
//!     fn build(parameters: KeeperParameters, ports: &mut Ports) -> Result<Self, BuildError> {
//!         let scan = ports.input("scan", "What is ahead.", Expect::within(Duration::from_millis(200)));
//!         let command = ports.output("command", "How to move.");
//!         Ok(Self { parameters, scan, command })
//!     }
//! }
//!
//! impl Component for Keeper {
//!     fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
//!         let scan = step.fresh(self.scan);
//!         let nearest_m = scan.and_then(|scan| scan.ranges.iter().copied().reduce(f32::min));
//!         // Without fresh data the vehicle stands still.
//!         let error_m = nearest_m.map_or(0.0, |it| f64::from(it) - self.parameters.distance_m);
//!         let speed_mps = error_m.clamp(-1.0, 1.0);
//!         out.send(self.command, Velocity { utime: step.now().utime(), speed_mps, ..Velocity::default() });
//!     }
//! }
//!
//! /// What robot files of this program can name beside Bowline's kinds.
//! const KINDS: &[Kind] = &[Kind::of::<Keeper>("keeper", "Keeps a distance from what is ahead.")];
//!
//! fn main() -> ExitCode {
//!     bowline::App::new().name("my-robot").kinds(KINDS).main()
//! }
//! ```
//!
//! With that, `my-robot run robot.toml --source sim` runs a robot file with `kind = "keeper"`, and `--lockstep`, `--record`,
//! `--check` and `--verify` do what they do in `bowline`. The folder examples/robot of the repository is such a program with
//! its types, a robot file, a world and tests.
//!
//! # Features
//!
//! Each feature is a module with dependencies of its own. All are on by default; without any there are `run`, `sim`, the
//! logs and all verbs not named here.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `bench` | the verb `bench` |
//! | `export` | the verb `log export`: tables as Parquet and CSV |
//! | `link` | the verb `link`, and [`link`] with its carriers |
//! | `shm` | the transport `shm://` |
//! | `spy` | the verb `spy` |
//! | `station` | the verbs `station` and `demo`, and [`station`] |
//!
//! # Exit codes
//!
//! 0 fine, 1 a problem with the input, 2 wrong usage, 3 some data was lost.

mod app;
mod help;
mod input;
mod kinds;
mod known_types;
mod languages;
#[cfg(feature = "link")]
mod links;
#[cfg(not(feature = "link"))]
#[path = "links/absent.rs"]
mod links;
mod listen;
mod output;
mod progress;
mod robot_file;
mod screen;
mod supervisors;
mod table;
mod terminal;
mod transports;
mod verb;
mod verbs;

pub use app::{App, LoadRobotError, SetUpError, main};
pub use kinds::KINDS;
pub use table::NameClashError;
pub use verb::Verb;

pub use bowline_autonomy as autonomy;
pub use bowline_bus as bus;
pub use bowline_component as component;
pub use bowline_drivers as drivers;
pub use bowline_geometry as geometry;
pub use bowline_host as host;
pub use bowline_inspect as inspect;
pub use bowline_lang as lang;
#[cfg(feature = "link")]
pub use bowline_link as link;
pub use bowline_log as log;
pub use bowline_msgs as msgs;
pub use bowline_operator as operator;
pub use bowline_sim as sim;
#[cfg(feature = "station")]
pub use bowline_station as station;
pub use bowline_wire as wire;
pub use clap;

use verb::Outcome;
