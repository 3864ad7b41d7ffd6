//! Log files through the public interface.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "it/damage.rs"]
mod damage;
#[path = "it/files.rs"]
mod files;
#[path = "it/hostile.rs"]
mod hostile;
#[path = "it/scanner.rs"]
mod scanner;
#[path = "it/support.rs"]
mod support;
