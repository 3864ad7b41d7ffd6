//! Where to drive to get to a goal: sampling-based model predictive control (SBMPC), as the IGVC paper describes it.
//!
//! In: which cells are blocked, where the vehicle is, what it can do, where it should go. Out: actions of a speed, a
//! duration and a turn rate, that lead there and along which its whole outline stays free; or that there is no way.
//!
//! Deliberately absent: the time. A search is bounded by how many states it may look at.

pub mod drive;
mod drivers;
pub mod dubins;
pub mod dwa;
pub mod field;
mod follow;
mod grid;
pub mod model;
pub mod pilot;
mod planner;
pub mod search;
pub mod sparse;
pub mod sweep;
pub mod track;
pub mod worlds;

pub use drivers::{PilotDriver, PilotParameters, WindowDriver, WindowParameters};
pub use follow::{Follow, FollowParameters};
pub use planner::{Planner, PlannerParameters};
