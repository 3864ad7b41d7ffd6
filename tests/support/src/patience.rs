//! How long a test waits for what must happen. It only guards against waiting for ever: nothing is measured with it, and
//! a busy machine is no reason to fail.

use std::time::{Duration, Instant};

/// How long any test waits.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks. Without a pause, a test that waits would take the processor from what it waits for.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Asks until the answer is yes. For what no event reports.
pub fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    assert!(is_so_in_time(is_so), "expected {what}, found none");
}

/// Asks until there is an answer, and returns it. For what no event reports.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    wait_until(what, || {
        found = look();
        found.is_some()
    });
    found.expect("wait_until returns once there is an answer")
}

/// Asks until the answer is yes, or the patience is over.
#[expect(
    clippy::disallowed_methods,
    reason = "guards against asking for ever; nothing is measured with it"
)]
pub fn is_so_in_time(mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
    true
}
