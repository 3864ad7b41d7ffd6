//! What hosts, robot files, supervision and services on a bus promise, through the public interface.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on panics"
)]

#[path = "it/directory.rs"]
mod directory;
#[path = "it/engine.rs"]
mod engine;
#[path = "it/graph.rs"]
mod graph;
#[path = "it/hosts.rs"]
mod hosts;
#[path = "it/made_from.rs"]
mod made_from;
#[path = "it/parts.rs"]
mod parts;
#[path = "it/program.rs"]
mod program;
#[path = "it/robot_plans.rs"]
mod robot_plans;
#[path = "it/robots.rs"]
mod robots;
#[path = "it/served.rs"]
mod served;
#[path = "it/service_bus.rs"]
mod service_bus;
#[path = "it/supervise.rs"]
mod supervise;
#[path = "it/supervise_busy.rs"]
mod supervise_busy;
#[path = "it/supervise_fixture.rs"]
mod supervise_fixture;
#[path = "it/supervise_plans.rs"]
mod supervise_plans;
#[path = "it/supervise_returns.rs"]
mod supervise_returns;
#[path = "it/verify.rs"]
mod verify;
