//! How much of a sweep is run: a sample, or the whole with `BOWLINE_SWEEP=whole`.

use crate::data;
use std::collections::BTreeSet;

/// Whether whole sweeps were asked for.
///
/// # Panics
/// When `BOWLINE_SWEEP` is anything but `whole`: a misspelt setting must not run the sample in silence.
#[must_use]
pub fn is_whole() -> bool {
    match std::env::var_os("BOWLINE_SWEEP") {
        None => false,
        Some(value) if value == "whole" => true,
        Some(value) => panic!("expected BOWLINE_SWEEP=whole or none, found {value:?}"),
    }
}

/// The one for a sample, or the one for the whole.
#[must_use]
pub fn pick<T>(sample: T, whole: T) -> T {
    if is_whole() { whole } else { sample }
}

/// All cases, or so many of them, evenly chosen and the first among them; prints how many, and appends that to
/// `target/swept.txt`.
#[must_use]
pub fn choose<T>(name: &str, all: Vec<T>, n_sample: usize) -> Vec<T> {
    let n_all = all.len();
    let n_run = pick(n_sample.min(n_all), n_all);
    let nths: BTreeSet<usize> = (0..n_run).map(|nth| nth * n_all / n_run).collect();
    let cases = all.into_iter().enumerate();
    let chosen = cases.filter(|(nth, _)| nths.contains(nth));
    let chosen: Vec<T> = chosen.map(|(_, case)| case).collect();
    let line = format!("swept: {name}: {n_run} of {n_all}");
    println!("{line}");
    data::note(&data::target().join("swept.txt"), &line);
    chosen
}
