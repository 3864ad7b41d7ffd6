//! `bowline log info`: what is in a log.

use super::choice;
use super::report;
use crate::known_types::Types;
use crate::progress::Progress;
use crate::{Outcome, output};
use bowline_log::{
    Catalog, ChannelSummary, Damages, Gap, IndexState, IndexUse, IsoTime, Reader, Summary,
};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bowline log info day.log                                   everything at a glance
  bowline log info day.log --types types/                    names of types that are not inside
  bowline log info --json day.mcap | jq '.channels | keys'   for a program

The first time, an index is made beside the log (day.log.index); after that, the answer takes no
time however large it is. Damage is what was there when the index was made: `bowline log index
--check` reads everything again.
Exit code 1 if something is lost.";

#[derive(Args, Debug)]
#[command(about = "Show what is in a log: span, channels, types, rates, gaps, bookmarks, damage", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The logs
    #[arg(value_name = "FILE", required = true)]
    logs: Vec<PathBuf>,
    #[command(flatten)]
    types: Types,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Everything that is printed about a log.
struct Info {
    log: Reader,
    size: u64,
    summary: Summary,
    damages: Damages,
    catalog: Catalog,
    index: &'static str,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Fine;
    for (at, path) in arguments.logs.iter().enumerate() {
        let info = gather(choice::open(path, IndexUse::Make)?, &arguments.types)?;
        if arguments.json {
            output::line(&format!("{:#}", info.to_json()))?;
        } else {
            let gap = if at > 0 { "\n" } else { "" };
            output::bytes(format!("{gap}{}", info.to_text()).as_bytes())?;
        }
        if info.damages.is_lossy() {
            outcome = Outcome::Diagnostics;
        }
    }
    Ok(outcome)
}

fn gather(mut log: Reader, types: &Types) -> anyhow::Result<Info> {
    let (_, size) = log.progress()?;
    let mut catalog = types.catalog_with(&log)?;
    let known = log.summary().cloned().zip(log.known_damages().cloned());
    let (summary, damages, index) = match known {
        Some((summary, damages)) => {
            let index = match log.index_state() {
                IndexState::Made => "made now",
                IndexState::Unwritable => "not there, and cannot be written",
                IndexState::Found | IndexState::Absent => "there",
            };
            (summary, damages, index)
        }
        // What the index knows of is not all there any more: see what is.
        None => {
            let summary = read(&mut log)?;
            catalog.learn_from(&log);
            (summary, log.damages().clone(), "of more than there is now")
        }
    };
    Ok(Info {
        log,
        size,
        summary,
        damages,
        catalog,
        index,
    })
}

fn read(log: &mut Reader) -> anyhow::Result<Summary> {
    let mut summary = Summary::default();
    let mut progress = Progress::new("reading");
    while let Some(event) = log.next_event()? {
        summary.add(&event);
        if summary.n_events.is_multiple_of(1_024) {
            let (done, all) = log.progress()?;
            progress.at(done, all);
        }
    }
    summary.schemas.merge(&log.schemas());
    Ok(summary)
}

impl Info {
    fn to_text(&self) -> String {
        let summary = &self.summary;
        let mut rows = vec![
            row("log", self.log.path().display().to_string()),
            row(
                "format",
                format!(
                    "{}, {}, index {}",
                    self.log.format(),
                    bytes(self.size),
                    self.index
                ),
            ),
        ];
        if let Some((first, last)) = summary.span {
            rows.push(row("from", IsoTime(first).to_string()));
            rows.push(row("to", IsoTime(last).to_string()));
            rows.push(row("duration", duration(span_us(summary))));
        }
        let events = format!(
            "{}, {} of messages",
            summary.n_events,
            bytes(summary.n_bytes)
        );
        rows.push(row("events", events));
        if summary.longest_gap.us > 0 {
            rows.push(row("longest gap", self.gap(summary.longest_gap)));
        }
        if summary.n_backward > 0 {
            let text = format!(
                "{} events are earlier than the one before them",
                summary.n_backward
            );
            rows.push(row("times", text));
        }
        if summary.n_unlisted > 0 {
            rows.push(row(
                "not listed",
                format!("{} events on more channels", summary.n_unlisted),
            ));
        }
        let damages = &self.damages;
        let damage = if damages.is_empty() {
            "none known".to_owned()
        } else {
            format!(
                "{}, {}, {} known to be lost",
                output::count(damages.n_places(), "place"),
                bytes(damages.n_bytes()),
                output::count(damages.n_lost(), "event")
            )
        };
        rows.push(row("damage", damage));
        let mut text = output::table(&rows, &[0, 1]);
        for line in report::damage_lines(damages) {
            text += &format!("  {line}\n");
        }
        text + &self.channels_text() + &self.bookmarks_text()
    }

    fn gap(&self, gap: Gap) -> String {
        let first = self.summary.span.map_or(0, |(first, _)| first);
        let after = gap.from_utime.saturating_sub(first);
        format!("{} at {}", duration(gap.us), seconds(after))
    }

    fn channels_text(&self) -> String {
        if self.summary.channels.is_empty() {
            return String::new();
        }
        let head = ["channel", "type", "events", "Hz", "bytes", "longest gap"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for (name, channel) in &self.summary.channels {
            rows.push(vec![
                name.clone(),
                self.type_names(channel).join(", "),
                channel.n_events.to_string(),
                channel
                    .rate_hz()
                    .map_or("-".to_owned(), |hz| format!("{hz:.2}")),
                bytes(channel.n_bytes),
                if channel.longest_gap.us > 0 {
                    duration(channel.longest_gap.us)
                } else {
                    "-".to_owned()
                },
            ]);
        }
        format!("\n{}", output::table(&rows, &[0, 1]))
    }

    /// The types of a channel; of undescribed ones only one by its fingerprint, and how many more.
    fn type_names(&self, channel: &ChannelSummary) -> Vec<String> {
        let types = channel.types.iter().map(|(fingerprint, _)| *fingerprint);
        let (known, unknown): (Vec<_>, Vec<_>) =
            types.partition(|fingerprint| self.catalog.find(*fingerprint).is_some());
        let mut names: Vec<String> = known
            .into_iter()
            .filter_map(|fingerprint| self.catalog.name(fingerprint))
            .collect();
        match unknown.as_slice() {
            [] => {}
            [one] => names.push(one.to_string()),
            [first, others @ ..] => names.push(format!("{first} and {} more", others.len())),
        }
        names
    }

    fn bookmarks_text(&self) -> String {
        let first = self.summary.span.map_or(0, |(first, _)| first);
        let rows: Vec<Vec<String>> = self
            .summary
            .bookmarks
            .iter()
            .map(|bookmark| {
                let after = bookmark.utime.saturating_sub(first);
                vec![
                    seconds(after),
                    IsoTime(bookmark.utime).to_string(),
                    one_line(&bookmark.text),
                ]
            })
            .collect();
        if rows.is_empty() {
            return String::new();
        }
        format!("\nbookmarks\n{}", output::table(&rows, &[1, 2]))
    }

    fn to_json(&self) -> Value {
        let summary = &self.summary;
        let channels = summary.channels.iter().map(|(name, channel)| {
            let types: Vec<Value> = channel
                .types
                .iter()
                .map(|(fingerprint, n_events)| {
                    json!({
                        "name": self.catalog.name(*fingerprint),
                        "fingerprint": fingerprint.to_string(),
                        "n_events": n_events,
                    })
                })
                .collect();
            let figures = json!({
                "n_events": channel.n_events,
                "n_bytes": channel.n_bytes,
                "first_utime": channel.first_utime,
                "last_utime": channel.last_utime,
                "rate_hz": channel.rate_hz(),
                "longest_gap": gap_json(channel.longest_gap),
                "types": types,
            });
            (name.clone(), figures)
        });
        let bookmarks = summary.bookmarks.iter();
        let bookmarks = bookmarks.map(|it| json!({"utime": it.utime, "text": it.text}));
        json!({
            "log": self.log.path().display().to_string(),
            "format": self.log.format().to_string(),
            "size": self.size,
            "index": self.index,
            "first_utime": summary.span.map(|(first, _)| first),
            "last_utime": summary.span.map(|(_, last)| last),
            "duration_us": span_us(summary),
            "n_events": summary.n_events,
            "n_bytes": summary.n_bytes,
            "n_backward": summary.n_backward,
            "n_unlisted": summary.n_unlisted,
            "longest_gap": gap_json(summary.longest_gap),
            "channels": channels.collect::<serde_json::Map<_, _>>(),
            "bookmarks": bookmarks.collect::<Vec<_>>(),
            "damage": report::damages_json(&self.damages),
        })
    }
}

fn row(name: &str, value: String) -> Vec<String> {
    vec![name.to_owned(), value]
}

fn gap_json(gap: Gap) -> Value {
    json!({"from_utime": gap.from_utime, "us": gap.us})
}

fn span_us(summary: &Summary) -> u64 {
    let (first, last) = summary.span.unwrap_or_default();
    u64::try_from(i128::from(last) - i128::from(first)).unwrap_or(0)
}

/// Control characters in a bookmark are not for the terminal.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect()
}

fn bytes(n_bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let n = n_bytes as f64;
    match units.into_iter().find(|(size, _)| n >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", n / size),
        None => format!("{n_bytes} B"),
    }
}

/// Seconds after the first event.
fn seconds(us: i64) -> String {
    format!("{:+.3} s", us as f64 / 1e6)
}

fn duration(us: u64) -> String {
    let s = us as f64 / 1e6;
    let whole_minutes = us / 60_000_000;
    match us {
        0..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{:.1} ms", s * 1e3),
        1_000_000..60_000_000 => format!("{s:.3} s"),
        60_000_000..3_600_000_000 => format!("{whole_minutes} min {:.1} s", s % 60.0),
        _ => format!(
            "{} h {} min {:.0} s",
            whole_minutes / 60,
            whole_minutes % 60,
            s % 60.0
        ),
    }
}
