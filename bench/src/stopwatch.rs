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

/// The middle, 99 of 100 and the most, ms.
pub(crate) fn shares(times: &mut [Duration]) -> [f64; 3] {
    times.sort_unstable();
    [50, 99, 100].map(|share| {
        let nth = (times.len() * share).div_ceil(100).saturating_sub(1);
        times.get(nth).map_or(f64::NAN, |it| it.as_secs_f64() * 1e3)
    })
}
