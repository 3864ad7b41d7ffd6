//! How much of a sweep is run: a sample, or the whole with `BOWLINE_SWEEP=whole`.

/// Whether whole sweeps were asked for.
#[must_use]
pub fn is_whole() -> bool {
    std::env::var_os("BOWLINE_SWEEP").is_some_and(|v| v == "whole")
}

/// The one for a sample, or the one for the whole.
#[must_use]
pub fn pick<T>(sample: T, whole: T) -> T {
    if is_whole() { whole } else { sample }
}
