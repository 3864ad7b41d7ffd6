//! The stopwatch.

use std::time::Duration;

/// How long `work` takes.
#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark is about the real clock"
)]
pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = std::time::Instant::now();
    work();
    start.elapsed()
}
