//! How much of a sweep is run: a sample, or the whole with `BOWLINE_SWEEP=whole`.

use crate::record::{note, target};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

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

/// How many of something: those of a sample, or of the whole. Prints which, and appends that to `target/swept.txt`, whose
/// lines the run prints at its end.
#[must_use]
pub fn pick<N: Copy + Display>(name: &str, n_sample: N, n_whole: N) -> N {
    pick_noted(&target().join("swept.txt"), name, n_sample, n_whole)
}

/// What [`pick`] does, with another record.
#[must_use]
pub fn pick_noted<N: Copy + Display>(record: &Path, name: &str, n_sample: N, n_whole: N) -> N {
    let n_picked = if is_whole() { n_whole } else { n_sample };
    let line = format!("swept: {name}: {n_picked} of {n_whole}");
    println!("{line}");
    note(record, &line);
    n_picked
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

/// A sample of that many cases, or all of them, as [`pick`] has it.
#[must_use]
pub fn choose<T>(name: &str, all: Vec<T>, n_sample: usize) -> Vec<T> {
    let n_all = all.len();
    evenly(all, pick(name, n_sample.min(n_all), n_all))
}
