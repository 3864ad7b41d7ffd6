//! The bus through its public interface: every transport, real sockets, network namespaces of the tests' own.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test that cannot go on panics, and its numbers are small"
)]

#[path = "it/announce.rs"]
mod announce;
#[path = "it/file.rs"]
mod file;
#[path = "it/folder.rs"]
mod folder;
#[path = "it/hub.rs"]
mod hub;
#[path = "it/lend.rs"]
mod lend;
#[path = "it/queues.rs"]
mod queues;
#[cfg(feature = "shm")]
#[path = "it/shm.rs"]
mod shm;
#[path = "it/udpm.rs"]
mod udpm;
