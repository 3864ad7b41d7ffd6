//! `bowline log cat`: the events of a log as JSON, one on each line.

use super::choice::{self, TIMES_HELP, Times};
use super::report;
use crate::input::Usage;
use crate::known_types::Types;
use crate::{Outcome, output};
use bowline_log::{FieldChoice, IndexUse, Line, SCHEMA_CHANNEL};
use clap::Args;
use std::io::{self, Write as _};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bowline log cat day.log -n 3 --pretty                    the first three events
  bowline log cat day.log -c '^pose$' --field 'state[0]'   one field of each pose
  bowline log cat day.log --field pose_t.state --field lat fields of types that have them
  bowline log cat day.mcap -s 10 -e 12 | jq 'select(.channel==\"gps\").message.lat'

Each line has utime (microseconds since 1970), number, channel, type and message. What cannot be
decoded has fingerprint and base64 instead: --types names the place of its type.
Exit code 1 if the log is damaged, or no type has a field that was asked for.";

#[derive(Args, Debug)]
#[command(about = "Print events as lines of JSON", after_help = format!("{EXAMPLES}\n\n{TIMES_HELP}"))]
pub(crate) struct Arguments {
    /// The log
    log: PathBuf,
    #[command(flatten)]
    channels: choice::Channels,
    #[command(flatten)]
    times: Times,
    /// Stop after so many events
    #[arg(short = 'n', long, value_name = "N")]
    count: Option<u64>,
    /// Only this field, by its path, with or without the type's name before it. Several add up
    #[arg(long = "field", value_name = "PATH")]
    fields: Vec<String>,
    /// Print each event on several lines
    #[arg(long)]
    pretty: bool,
    #[command(flatten)]
    types: Types,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut fields = FieldChoice::new(&arguments.fields).map_err(|it| Usage(it.to_string()))?;
    let mut log = choice::open(&arguments.log, IndexUse::IfThere)?;
    let mut catalog = arguments.types.catalog_with(&log)?;
    let selection = choice::selection(&mut log, &arguments.channels, &arguments.times)?;
    if log.summary().is_some() && selection.times.from_utime > i64::MIN {
        log.seek_to(selection.times.from_utime)?;
    }
    let mut out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut n_left = arguments.count.unwrap_or(u64::MAX);
    while n_left > 0 {
        catalog.learn_from(&log);
        let Some(event) = log.next_event()? else {
            break;
        };
        if event.channel == SCHEMA_CHANNEL {
            catalog.learn(&event);
        }
        if !selection.contains(&event) {
            continue;
        }
        let Some(line) = Line::new(event, &catalog, &mut fields) else {
            continue;
        };
        let text = if arguments.pretty {
            line.to_json_pretty()
        } else {
            line.to_json()
        };
        writeln!(out, "{text}")?;
        n_left -= 1;
    }
    out.flush()?;
    drop(out);
    let mut is_fine = !log.damages().is_lossy();
    report::note_damage(log.damages());
    for path in fields.not_found() {
        output::note(&format!(
            "no message that was read has the field {path:?}, of those whose type is known"
        ));
        is_fine = false;
    }
    Ok(if is_fine {
        Outcome::Fine
    } else {
        Outcome::Diagnostics
    })
}
