//! `bowline log recover`: what is intact in a damaged log, into one that is not.

use super::choice::Files;
use super::report;
use crate::progress::Progress;
use crate::{Outcome, output};
use bowline_log::{Format, Recovered, Recovery, Writer, WriterOptions, recover};
use clap::Args;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  bowline log recover crashed.mcap whole.mcap         everything that is intact
  bowline log recover --json bad.log good.log | jq .  and an account of what is not, for a program

The log itself is not changed. With an index beside it, an LCM log is checked event by event;
without one, what makes sense is believed. MCAP is checked by its own checksums, and ours if it
has them. Schemas, attachments and metadata of other MCAP writers come along as they are.
Exit code 0 if all of it was intact; 3 if some of it is lost; 1 if nothing came back.";

#[derive(Args, Debug)]
#[command(about = "Bring back everything that is intact in a damaged log", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    /// Also take what can be read of damaged chunks of MCAP, although no checksum vouches for it
    #[arg(long)]
    unverified: bool,
    /// Print the account as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut log = arguments.files.open()?;
    let destination = &arguments.files.destination;
    if arguments.unverified {
        log.accept_unverified();
    }
    let options = WriterOptions {
        format: Some(log.format()),
        mcap: log.mcap_options()?,
        ..WriterOptions::default()
    };
    if Format::of_name(destination) != log.format() {
        output::note(&format!(
            "{} is written as {}, like the log that it comes from",
            destination.display(),
            log.format()
        ));
    }
    let mut writer = Writer::create(destination, options)?;
    let mut progress = Progress::new("recovering");
    let recovered = recover(&mut log, &mut writer, &mut |done, all| {
        progress.at(done, all);
    })?;
    drop(progress);
    if arguments.json {
        let account = json!({
            "recovered": report::copied_json(&recovered.copied),
            "verified": recovered.is_verified,
            "damage": report::damages_json(&recovered.damages),
        });
        output::line(&format!("{account:#}"))?;
    } else {
        note(&recovered);
    }
    Ok(match recovered.recovery() {
        Recovery::Whole => Outcome::Fine,
        Recovery::Lossy => Outcome::Lossy,
        Recovery::Nothing => Outcome::Diagnostics,
    })
}

fn note(recovered: &Recovered) {
    report::note_copied(&recovered.copied, false);
    report::note_damage(&recovered.damages);
    if !recovered.is_verified {
        output::note("without an index the bytes within events cannot be checked");
    }
}
