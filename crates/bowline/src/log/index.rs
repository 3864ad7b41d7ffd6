//! `bowline log index`: make the index of a log, or check the log by it.

use crate::{Outcome, output};
use bowline_log::{IndexUse, Reader};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bowline log index lcmlog-2026-11-16.00   make lcmlog-2026-11-16.00.index, unless it is there

Everything that needs an index makes it; this is for doing so in advance.";

#[derive(Args, Debug)]
#[command(about = "Make the index of a log, which makes it quick to open and shows damage", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The logs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    for path in &arguments.files {
        let reader = Reader::open_with(path, IndexUse::Make, &mut |_, _| {})?;
        let n_events = reader.summary().map_or(0, |summary| summary.n_events);
        output::line(&format!("{}: {n_events} events", path.display()))?;
    }
    Ok(Outcome::Fine)
}
