//! `bowline log index`: make the index of a log, or check the log by it.

use super::choice;
use super::report;
use crate::progress::Progress;
use crate::{Outcome, output};
use anyhow::bail;
use bowline_log::{IndexState, IndexUse, Reader};
use clap::Args;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  bowline log index day.log             make day.log.index, unless it is there
  bowline log index --check day.log     hold every event against it, and name what is damaged
  bowline log index --rebuild day.log   make it anew: what is there now is what is right

Everything that needs an index makes it; this is for doing so in advance. A log that our recorder
wrote has one already, with a checksum of each event as it was recorded.
Exit code 1 if something is lost.";

#[derive(Args, Debug)]
#[command(about = "Make the index of a log, which makes it quick to open and shows damage", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The logs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Read every event, and name what is damaged
    #[arg(long, conflicts_with = "rebuild")]
    check: bool,
    /// Make the index anew
    #[arg(long)]
    rebuild: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Fine;
    for path in &arguments.files {
        if arguments.rebuild {
            remove(&Reader::index_path(path))?;
        }
        let mut log = choice::open(path, IndexUse::Make)?;
        let is_lossy = if arguments.check {
            check(path, &mut log)?
        } else {
            describe(path, &log)?
        };
        if is_lossy {
            outcome = Outcome::Diagnostics;
        }
    }
    Ok(outcome)
}

/// Prints the contents of the index; returns whether something is lost.
fn describe(path: &Path, log: &Reader) -> anyhow::Result<bool> {
    let what = match log.index_state() {
        IndexState::Made => "made",
        IndexState::Found => "was there",
        IndexState::Absent | IndexState::Unwritable => {
            bail!("the index of {path:?} cannot be written beside it; the log can be read without")
        }
    };
    let path = path.display();
    let Some(summary) = log.summary() else {
        output::line(&format!(
            "{path}: the index is of more than there is now; --check lists what is missing, --rebuild drops it"
        ))?;
        return Ok(true);
    };
    output::line(&format!(
        "{path}: index {what}, {} events",
        summary.n_events
    ))?;
    let damages = log.known_damages();
    damages.inspect(|damages| report::note_damage(damages));
    Ok(damages.is_some_and(bowline_log::Damages::is_lossy))
}

/// Reads everything; whether something is lost.
fn check(path: &Path, log: &mut Reader) -> anyhow::Result<bool> {
    let mut n_events = 0_u64;
    let mut progress = Progress::new("checking");
    while log.next_event()?.is_some() {
        n_events += 1;
        if n_events.is_multiple_of(1_024) {
            let (done, all) = log.progress()?;
            progress.at(done, all);
        }
    }
    drop(progress);
    let is_lossy = log.damages().is_lossy();
    let verdict = if is_lossy { "damaged" } else { "intact" };
    output::line(&format!(
        "{}: {n_events} events are what was written, {verdict}",
        path.display()
    ))?;
    report::note_damage(log.damages());
    Ok(is_lossy)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
