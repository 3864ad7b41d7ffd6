//! The bus through its public interface: every transport, real sockets, network namespaces of the tests' own.

#[path = "it/conformance.rs"]
mod conformance;
#[path = "it/hub.rs"]
mod hub;
#[path = "it/namespace.rs"]
mod namespace;
#[path = "it/queues.rs"]
mod queues;
