//! The operator's side, from the outside.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on panics"
)]

#[path = "it/bench.rs"]
mod bench;
#[path = "it/commands.rs"]
mod commands;
#[path = "it/explored.rs"]
mod explored;
#[path = "it/vectors.rs"]
mod vectors;
