//! What inspectors see, through the library's public interface.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "it/golden.rs"]
mod golden;
#[path = "it/source.rs"]
mod source;
#[path = "it/tree.rs"]
mod tree;
