//! What components and their hosts promise, through the library's public interface.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

#[path = "it/engine.rs"]
mod engine;
#[path = "it/hosts.rs"]
mod hosts;
#[path = "it/inputs.rs"]
mod inputs;
#[path = "it/parameters.rs"]
mod parameters;
#[path = "it/parts.rs"]
mod parts;
#[path = "it/robots.rs"]
mod robots;
#[path = "it/service_bus.rs"]
mod service_bus;
#[path = "it/verify.rs"]
mod verify;
