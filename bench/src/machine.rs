//! What the figures were measured on, and the stopwatch.

use std::fs;
use std::time::Duration;

/// One line about this machine.
pub(crate) fn describe() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or(": unknown processor");
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "machine: {}, {n_cores} cores, Linux {}",
        model.trim_start_matches(['\t', ' ', ':']).trim(),
        kernel.trim()
    )
}

/// How busy the machine was before the benchmark added to it: other work makes every figure worse.
pub(crate) fn describe_load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let recent = load.split(' ').next().unwrap_or("unknown");
    format!("load over the last minute, before this: {recent}")
}

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
