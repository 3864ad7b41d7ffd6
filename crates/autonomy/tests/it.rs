//! What the components of vehicles promise.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on panics, and its numbers are small and exact"
)]

#[path = "it/arbiter.rs"]
mod arbiter;
#[path = "it/components.rs"]
mod components;
#[path = "it/draw.rs"]
mod draw;
#[path = "it/drive.rs"]
mod drive;
#[path = "it/drivers.rs"]
mod drivers;
#[path = "it/estimate.rs"]
mod estimate;
#[path = "it/fusion.rs"]
mod fusion;
#[path = "it/grid.rs"]
mod grid;
#[path = "it/helm.rs"]
mod helm;
#[path = "it/mapper.rs"]
mod mapper;
#[path = "it/obstacles.rs"]
mod obstacles;
#[path = "it/planner.rs"]
mod planner;
#[path = "it/plans.rs"]
mod plans;
#[path = "it/seabed.rs"]
mod seabed;
#[path = "it/sparse.rs"]
mod sparse;
#[path = "it/steered.rs"]
mod steered;
#[path = "it/support.rs"]
mod support;
#[path = "it/terrain.rs"]
mod terrain;
#[path = "it/traverse.rs"]
mod traverse;
#[path = "it/vessel.rs"]
mod vessel;
#[path = "it/voters.rs"]
mod voters;
