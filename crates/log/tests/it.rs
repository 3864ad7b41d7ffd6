//! Logs through their public interface.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "it/damage.rs"]
mod damage;
#[path = "it/files.rs"]
mod files;
#[path = "it/play.rs"]
mod play;
#[path = "it/play_runner.rs"]
mod play_runner;
#[path = "it/record.rs"]
mod record;
#[path = "it/support.rs"]
mod support;
#[path = "it/tools.rs"]
mod tools;
