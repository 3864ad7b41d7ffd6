//! Decisions of autonomous vehicles: what the terrain is like, which arcs are good, where to go, how to get there.
//!
//! In: ranges, poses, maps, votes. Out: maps, votes, plans, and one command for the vehicle.
//!
//! Deliberately absent: devices, sockets, clocks. Everything here is a function of what components receive.

mod alarms;
mod arcs;
pub mod control;
pub mod estimate;
mod flat;
pub mod gate;
pub mod helm;
mod jump;
pub mod map;
mod mission;
pub mod operator;
pub mod plan;
pub mod vote;
mod whereabouts;

pub use alarms::{Alarms, AlarmsParameters};
pub use arcs::{Fan, MAX_ARCS, Travel};
pub use flat::{Place, within_half_turn};
pub use jump::{Agility, Jump, JumpWatch};
pub use mission::{Mission, MissionParameters};
pub use whereabouts::{BadPose, Whereabouts, forward_speed_mps, transform_of};

use std::time::Duration;

/// The time between two of so many times a second.
fn period(rate_hz: f64) -> Duration {
    Duration::try_from_secs_f64(1.0 / rate_hz).unwrap_or(Duration::MAX)
}
