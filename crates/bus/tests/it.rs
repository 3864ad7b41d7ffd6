//! The bus through its public interface: every transport, real sockets, network namespaces of the tests' own.

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
