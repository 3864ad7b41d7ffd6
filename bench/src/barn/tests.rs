//! The Jackal through worlds of the BARN challenge's kind, by laser alone and without a map, as its robot file has it.
//!
//! Worlds of our own come from the generator (`bowline sim barn`), which follows the challenge's published description; the
//! challenge's own worlds are driven through where the data set `barn` is found. A sample runs by default, all of them with
//! `BOWLINE_SWEEP=whole`.

use super::root;
use super::runs::{End, N_GENERATED, Run, drive_all, errands, generate};
use bowline_tests::data::{self, Use};
use bowline_tests::sweep;
use std::path::PathBuf;

const SET: Use<'_> = Use {
    set: "barn",
    what: "the Jackal through the worlds of the BARN challenge",
};
/// How many runs a sample has, in worlds of each kind. Evenly chosen, seven have every fill, every smoothing and every seed.
const N_SAMPLE: usize = 7;

/// The share of all runs that must reach the goal, stand there, and touch nothing. Of a sample each does.
const ALL: f64 = 1.0;
/// The aim for worlds on which nothing was tuned.
const GENERATED: f64 = 0.95;

/// Makes a sample of the runs, or all of them.
fn sweep(name: &str, worlds: &[PathBuf], least_of_whole: f64) {
    let chosen = sweep::choose(name, errands(worlds, 1..=3), N_SAMPLE);
    let runs = drive_all(&root().join("robots/jackal.toml"), &chosen);
    let runs = runs.expect("the robot and the worlds are right");
    assert_eq!(runs.len(), chosen.len());
    let failed: Vec<&Run> = runs.iter().filter(|run| run.end != End::Reached).collect();
    println!("{name}: {} failed: {failed:?}", failed.len());
    let slowest_s = runs.iter().map(|run| run.took_s).fold(0.0, f64::max);
    println!("{name}: the slowest took {slowest_s:.1} s");
    let success = 1.0 - failed.len() as f64 / runs.len() as f64;
    let least = if sweep::is_whole() {
        least_of_whole
    } else {
        ALL
    };
    assert!(
        success >= least,
        "{name}: {success} of {least}: {failed:#?}"
    );
}

#[test]
fn jackal_in_barn_worlds_reaches_the_goal_without_contact() {
    let folder = tempfile::tempdir().expect("a folder");
    let worlds = generate(folder.path(), 0..N_GENERATED).expect("files can be written");
    let name = "Jackal in generated barn worlds, three seeds";
    sweep(name, &worlds, GENERATED);
    if let Some(folder) = SET.find() {
        let worlds = data::files(&folder, "json");
        sweep(
            "Jackal in worlds of the set barn, three seeds",
            &worlds,
            ALL,
        );
    }
}
