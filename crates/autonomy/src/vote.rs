//! Who thinks what of which arc, and which one is driven.
//!
//! Every voter is a component that emits votes on arcs; the arbiter combines them, and is the only one that commands the
//! vehicle.

mod arbiter;
mod ballot;
mod decide;
mod hazard;
mod sweep;
mod teleop;
mod voting;
mod waypoint;

pub use arbiter::{Arbiter, ArbiterParameters};
pub use ballot::{Ballot, Ballots, Fault, Opinion};
pub use decide::{Chosen, Decision, Lead, Motion, Rules, Voter, decide};
pub use hazard::{Avoidance, Hazard, HazardParameters};
pub use sweep::{Footing, Ground, Outline, Sweeper, Swept};
pub use teleop::{Teleop, TeleopParameters};
pub use voting::{Judgement, curvature_to, favour, vote_on, with_arcs};
pub use waypoint::{Waypoint, WaypointParameters};
