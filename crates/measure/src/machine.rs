//! What figures were measured on.

use std::fs;

/// One line about this machine.
#[must_use]
pub fn describe() -> String {
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
#[must_use]
pub fn describe_load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let recent = load.split(' ').next().unwrap_or("unknown");
    format!("load over the last minute, before this: {recent}")
}
