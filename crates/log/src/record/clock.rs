//! The recorder's only look at a clock: when to flush, to sync, to try again and to report its status.
//!
//! What is recorded, and into which file, follows the times of the events.

use std::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "data must not stay in memory for longer than a moment of the real clock"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}
