//! The bus through its public interface: every transport, real sockets, network namespaces of the tests' own.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on panics"
)]

#[path = "it/conformance.rs"]
mod conformance;
#[path = "it/namespace.rs"]
mod namespace;
#[path = "it/queues.rs"]
mod queues;
#[path = "it/udpm.rs"]
mod udpm;
