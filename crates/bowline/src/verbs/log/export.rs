//! `bowline log export`: messages as tables.

use super::choice::{self, TIMES_HELP, Times};
use super::report;
use crate::known_types::Types;
use crate::progress::Progress;
use crate::{Outcome, output};
use bowline_log::{ExportedTable, Exporter, IndexUse, Left, SCHEMA_CHANNEL, TableFormat};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bowline log export day.log tables/                             a Parquet file for each channel
  bowline log export day.log tables/ --format csv -c '^pose$'    one channel, as text

A file is named after its channel; if a channel has messages of several types, the others have
the type's name too. Columns are the fields: pose.depth_m for nested ones, state[0] for each of
up to 64 elements of a fixed array. Other arrays are lists in Parquet and JSON in CSV; bytes are
binary, in CSV base64; enums are numbers. Before them come log_utime and log_number. In Parquet
the comments of the fields are metadata: bowline.doc.FIELD.
Exit code 1 if the log is damaged, or holds messages that are in no table.";

#[derive(Args, Debug)]
#[command(about = "Write messages as tables: Parquet or CSV, one for each channel", after_help = format!("{EXAMPLES}\n\n{TIMES_HELP}"))]
pub(crate) struct Arguments {
    /// The log
    log: PathBuf,
    /// The folder for the tables, which is made if need be; files in it are replaced
    folder: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "parquet")]
    format: Kind,
    #[command(flatten)]
    channels: choice::Channels,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    types: Types,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Csv,
    Parquet,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut log = choice::open(&arguments.log, IndexUse::Make)?;
    let mut catalog = arguments.types.catalog_with(&log)?;
    let selection = choice::selection(&mut log, &arguments.channels, &arguments.times)?;
    if selection.times.from_utime > i64::MIN {
        log.seek_to(selection.times.from_utime)?;
    }
    let format = match arguments.format {
        Kind::Csv => TableFormat::Csv,
        Kind::Parquet => TableFormat::Parquet,
    };
    let mut exporter = Exporter::new(&arguments.folder, format)?;
    let mut progress = Progress::new("exporting");
    let mut n_read = 0_u64;
    loop {
        catalog.learn_from(&log);
        let Some(event) = log.next_event()? else {
            break;
        };
        catalog.learn(&event);
        if event.channel != SCHEMA_CHANNEL && selection.contains(&event) {
            exporter.add(&event, &catalog)?;
        }
        n_read += 1;
        if n_read.is_multiple_of(1_024) {
            let (done, all) = log.progress()?;
            progress.at(done, all);
        }
    }
    let (tables, left) = exporter.finish()?;
    drop(progress);
    if arguments.json {
        output::line(&format!("{:#}", to_json(&tables, &left)))?;
    } else {
        print(&tables, &left)?;
    }
    report::note_damage(log.damages());
    Ok(if log.damages().is_lossy() || left.is_lossy() {
        Outcome::Diagnostics
    } else {
        Outcome::Fine
    })
}

fn print(tables: &[ExportedTable], left: &Left) -> anyhow::Result<()> {
    let head = ["table", "type", "rows", "columns"]
        .map(str::to_owned)
        .to_vec();
    let rows = tables.iter().map(|table| {
        vec![
            table.path.display().to_string(),
            table.type_name.clone(),
            table.n_rows.to_string(),
            table.n_columns.to_string(),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    output::bytes(output::table(&rows, &[0, 1]).as_bytes())?;
    let Left {
        unknown,
        n_undecodable,
        n_beyond,
        n_not_text,
    } = left;
    for (channel, n) in unknown.iter().take(20) {
        output::note(&format!(
            "{channel}: {n} messages of an unknown type; --types names its place"
        ));
    }
    let counted = [
        (*n_undecodable, "messages do not match their type"),
        (
            *n_beyond,
            "messages are on channels beyond those that fit; choose some with --channel",
        ),
        (
            *n_not_text,
            "strings are not UTF-8; what is none of it is marked in the tables",
        ),
    ];
    for (n, what) in counted.into_iter().filter(|(n, _)| *n > 0) {
        output::note(&format!("{n} {what}"));
    }
    Ok(())
}

fn to_json(tables: &[ExportedTable], left: &Left) -> Value {
    let tables: Vec<Value> = tables
        .iter()
        .map(|table| {
            json!({
                "path": table.path.display().to_string(),
                "channel": table.channel,
                "type": table.type_name,
                "n_rows": table.n_rows,
                "n_columns": table.n_columns,
            })
        })
        .collect();
    json!({
        "tables": tables,
        "unknown": left.unknown,
        "n_undecodable": left.n_undecodable,
        "n_beyond": left.n_beyond,
        "n_not_text": left.n_not_text,
    })
}
