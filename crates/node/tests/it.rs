//! Services, presence and the rest of `bowline-node`, through its public interface.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on panics"
)]

#[path = "it/service_bus.rs"]
mod service_bus;
#[path = "it/supervise.rs"]
mod supervise;
#[path = "it/supervise_fixture.rs"]
mod supervise_fixture;
#[path = "it/supervise_returns.rs"]
mod supervise_returns;
