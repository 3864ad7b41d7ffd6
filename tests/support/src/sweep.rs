//! How much of a sweep is run: a sample, or the whole with `BOWLINE_SWEEP=whole`.

use crate::record::{note, target};
use std::collections::BTreeSet;

/// Whether whole sweeps were asked for.
///
/// A misspelt setting panics: it must not run the sample in silence.
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

/// So many of all cases, evenly spread from the first on; all of them if there are no more.
#[must_use]
pub fn evenly<T>(all: Vec<T>, n_chosen: usize) -> Vec<T> {
    let n_all = all.len();
    let n_chosen = n_chosen.min(n_all);
    let nths: BTreeSet<usize> = (0..n_chosen).map(|nth| nth * n_all / n_chosen).collect();
    let cases = all.into_iter().enumerate();
    let chosen = cases.filter(|(nth, _)| nths.contains(nth));
    chosen.map(|(_, case)| case).collect()
}

/// A sample of that many cases, or all of them; prints how many, and appends that to `target/swept.txt`.
#[must_use]
pub fn choose<T>(name: &str, all: Vec<T>, n_sample: usize) -> Vec<T> {
    let n_all = all.len();
    let chosen = evenly(all, pick(n_sample, n_all));
    let line = format!("swept: {name}: {} of {n_all}", chosen.len());
    println!("{line}");
    note(&target().join("swept.txt"), &line);
    chosen
}
