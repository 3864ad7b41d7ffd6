//! Data sets of others, which are no part of the repository.
//!
//! A set is a folder of `../shared/data/` beside the repository, or of the folder that `BOWLINE_DATA` names. A test or a
//! bench that uses a set runs on data that our own code generates, too; where the set is missing, only that half runs, and
//! [`Use::find`] leaves a line in `target/not-run.txt`, which the run prints at its end.

use crate::peers::workspace;
use bowline_testing::record::{note, target};
use std::path::{Path, PathBuf};

/// A test that uses a data set, for the lines about what was not run.
#[derive(Clone, Copy, Debug)]
pub struct Use<'u> {
    /// The set: the name of its folder.
    pub set: &'u str,
    /// What runs on it.
    pub what: &'u str,
}

impl Use<'_> {
    /// The folder of the set. Without it, records that and why this use was not run.
    ///
    /// # Panics
    /// When `BOWLINE_DATA` names no folder, or the record cannot be written.
    #[must_use]
    pub fn find(&self) -> Option<PathBuf> {
        let chosen = std::env::var_os("BOWLINE_DATA").map(PathBuf::from);
        let place = Place {
            chosen: chosen.as_deref(),
            repository: &workspace(),
            record: &target().join("not-run.txt"),
        };
        self.find_in(&place)
    }

    /// The same with another place for sets and for the record.
    ///
    /// # Panics
    /// When the chosen folder is none: a misspelt setting must not pass for a missing set.
    #[must_use]
    pub fn find_in(&self, place: &Place<'_>) -> Option<PathBuf> {
        if let Some(chosen) = place.chosen {
            assert!(
                chosen.is_dir(),
                "expected BOWLINE_DATA to name a folder, found {}",
                chosen.display()
            );
        }
        let (root, name) = match place.chosen {
            Some(chosen) => (chosen.to_owned(), "the folder that BOWLINE_DATA names"),
            None => (place.repository.join("../shared/data"), "../shared/data"),
        };
        let folder = root.join(self.set);
        if folder.is_dir() {
            return Some(folder);
        }
        let Self { set, what } = self;
        let line = format!("not run: {set}: {what}: no folder {set} in {name}");
        println!("{line}");
        note(place.record, &line);
        None
    }
}

/// Where sets are looked for, and where it is recorded that one is missing.
#[derive(Clone, Copy, Debug)]
pub struct Place<'p> {
    /// The folder that was chosen, with `BOWLINE_DATA`.
    pub chosen: Option<&'p Path>,
    /// The root of the repository.
    pub repository: &'p Path,
    /// The file of lines about what was not run.
    pub record: &'p Path,
}

/// The files of a folder whose names end so, in their order.
///
/// # Panics
/// When the folder cannot be read, or has no such file.
#[must_use]
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    let is_wanted = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
    let mut paths: Vec<PathBuf> = paths.filter(is_wanted).collect();
    paths.sort();
    assert!(
        !paths.is_empty(),
        "expected files *.{extension} in {}, found none",
        folder.display()
    );
    paths
}
