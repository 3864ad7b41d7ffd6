//! Lines that tests leave for the end of a run: what was not run and why, and how much of a sweep was.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Where cargo puts what it builds, and runs leave their records.
#[must_use]
pub fn target() -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    workspace.join(chosen.map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

/// Appends a line to a record, whole: several tests may write to it at once.
pub fn note(record: &Path, line: &str) {
    let folder = record.parent().expect("a record is in a folder");
    std::fs::create_dir_all(folder).expect("the target folder can be made");
    let file = OpenOptions::new().create(true).append(true).open(record);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.unwrap_or_else(|error| panic!("cannot write {}: {error}", record.display()));
}
