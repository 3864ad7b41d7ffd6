//! What components, their hosts and services promise, through the library's public interface.

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
#[path = "it/inputs.rs"]
mod inputs;
#[path = "it/parameters.rs"]
mod parameters;
#[path = "it/parts.rs"]
mod parts;
#[path = "it/robot_plans.rs"]
mod robot_plans;
#[path = "it/robots.rs"]
mod robots;
#[path = "it/served.rs"]
mod served;
#[path = "it/service_bus.rs"]
mod service_bus;
#[path = "it/service_hostile.rs"]
mod service_hostile;
#[path = "it/service_simulator.rs"]
mod service_simulator;
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
