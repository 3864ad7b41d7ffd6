//! Services, presence and the rest of `bowline-node`, through its public interface.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on panics"
)]

#[path = "it/service_bus.rs"]
mod service_bus;
