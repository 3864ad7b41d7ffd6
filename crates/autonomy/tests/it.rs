//! What the components of vehicles promise.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "it/arbiter.rs"]
mod arbiter;
#[path = "it/barn.rs"]
mod barn;
#[path = "it/barn_loop.rs"]
mod barn_loop;
#[path = "it/drive.rs"]
mod drive;
#[path = "it/obstacles.rs"]
mod obstacles;
#[path = "it/planner.rs"]
mod planner;
#[path = "it/plans.rs"]
mod plans;
#[path = "it/sparse.rs"]
mod sparse;
#[path = "it/voters.rs"]
mod voters;
