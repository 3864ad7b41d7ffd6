//! The bus through its public interface: every transport, real sockets, network namespaces of the tests' own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "it/conformance.rs"]
mod conformance;
#[path = "it/eventlog.rs"]
mod eventlog;
#[path = "it/folder.rs"]
mod folder;
#[path = "it/namespace.rs"]
mod namespace;
#[path = "it/queues.rs"]
mod queues;
#[path = "it/udpm.rs"]
mod udpm;
