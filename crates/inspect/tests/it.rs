//! What is shown of messages, through the public interface.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "it/golden.rs"]
mod golden;
#[path = "it/tree.rs"]
mod tree;
