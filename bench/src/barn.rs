//! Worlds of the BARN challenge's kind, by laser alone, with the pilot and with a plain dynamic-window driver.
//!
//! Worlds of our own, which our code generates as the challenge describes its own; and those of the challenge where the data
//! set `barn` is found. `runs.rs` makes the runs.

mod runs;
#[cfg(test)]
mod tests;

use crate::{Length, stopwatch};
use anyhow::Result;
use bowline_tests::data::{self, Use};
use runs::{End, N_GENERATED, Run, drive_all, errands, generate};
use std::path::{Path, PathBuf};
use std::time::Duration;

const USE: Use<'_> = Use {
    set: "barn",
    what: "worlds of the BARN challenge, in the bench",
};

pub(crate) fn run(length: Length) -> Result<()> {
    let folder = tempfile::tempdir()?;
    measure(
        "generated worlds of BARN's kind",
        &generate(folder.path(), 0..N_GENERATED)?,
        length,
    )?;
    if let Some(folder) = USE.find() {
        measure("BARN's own worlds", &data::files(&folder, "json"), length)?;
    }
    println!(
        "  published for BARN, in Gazebo: dynamic window 0.17 (success 0.83 to 0.88), the challenge's leaders 0.40 to 0.45; best possible 0.5\n"
    );
    Ok(())
}

/// Drives both robots through these worlds, and prints what came of it.
fn measure(title: &str, worlds: &[PathBuf], length: Length) -> Result<()> {
    let (n_worlds, seeds) = match length {
        Length::Full => (worlds.len(), 1..=3),
        Length::Quick => (4, 1..=1),
    };
    let errands = errands(&worlds[..n_worlds.min(worlds.len())], seeds.clone());
    println!(
        "{title}: {n_worlds} worlds, seeds {seeds:?}, by laser alone (aim: success 0.95, metric 0.40)"
    );
    println!(
        "  {:<18} {:>8} {:>8} {:>9} {:>8} {:>8} {:>14} {:>12}",
        "", "success", "contact", "timed out", "went on", "metric", "mean time, s", "took here, s"
    );
    for (name, file) in [
        ("pilot", "jackal.toml"),
        ("dynamic window", "jackal_window.toml"),
    ] {
        let robot = root().join("robots").join(file);
        let mut runs = Ok(Vec::new());
        let took = stopwatch::time(|| runs = drive_all(&robot, &errands));
        report(name, &runs?, took);
    }
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn report(name: &str, runs: &[Run], took: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let mean =
        |each: &dyn Fn(&Run) -> f64| runs.iter().map(each).sum::<f64>() / runs.len().max(1) as f64;
    let share = |end: End| mean(&|run| f64::from(u8::from(run.end == end)));
    println!(
        "  {name:<18} {:>8.3} {:>8.3} {:>9.3} {:>8.3} {:>8.3} {:>14.1} {:>12.1}",
        share(End::Reached),
        share(End::Contact),
        share(End::TimedOut),
        share(End::WentOn),
        mean(&|run| run.metric),
        mean(&|run| run.took_s),
        took.as_secs_f64(),
    );
    for run in runs.iter().filter(|run| run.end != End::Reached) {
        let Run {
            world, seed, end, ..
        } = run;
        println!("    world {world:03}, seed {seed}: {end:?}");
    }
}
