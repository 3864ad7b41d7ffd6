//! Logs through their public interface.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "it/play.rs"]
mod play;
#[path = "it/play_runner.rs"]
mod play_runner;
#[path = "it/record.rs"]
mod record;
// Logs to try things on are those of the format.
#[path = "../../format/tests/it/support.rs"]
mod support;
#[path = "it/tools.rs"]
mod tools;
