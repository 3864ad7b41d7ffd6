//! What components and their hosts promise, through the library's public interface.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

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
#[path = "it/verify.rs"]
mod verify;
