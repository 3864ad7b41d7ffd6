//! `bowline log diff`: the first difference between two logs, channel by channel.

use super::choice::{self, Channels};
use super::report;
use crate::input::Usage;
use crate::known_types::Types;
use crate::progress::Progress;
use crate::{Outcome, output};
use bowline_log::{
    ChannelDifference, DiffOptions, Difference, DifferenceKind, Explanation, IndexUse, Moment,
    Place, Reader, TimeRule, diff, explain,
};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  bowline log diff run1.log run2.log                     same inputs, same outputs?
  bowline log diff run1.log run2.log --ignore '^debug'   without some channels
  bowline log diff a.log b.mcap --times --tolerance 1ms  the times, too
  bowline log diff run1.log run2.log --times=relative    those after each log's first event

The n-th message of each channel is held against the n-th of the other log's, however the
channels interleave. The logs are read side by side; one may be ahead of the other by four
million messages, after which the channel that is furthest ahead is given up and named.
What Bowline publishes about itself is not compared (heartbeats, statuses, output, descriptions: bowline.*),
as it differs from run to run; calls of services, their answers and bookmarks are. With
--housekeeping, or channels that are named by -c, only descriptions of types (bowline.schema) are left out.
Exit code 0 if they are the same; 1 if they differ, or a log is damaged.";

#[derive(Args, Debug)]
#[command(about = "Show the first difference between two logs, channel by channel", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The one log
    a: PathBuf,
    /// The other
    b: PathBuf,
    #[command(flatten)]
    channels: Channels,
    /// Not channels that match. Several add up
    #[arg(long, value_name = "REGEX")]
    ignore: Vec<String>,
    /// Compare Bowline's own channels, too: heartbeats, steps, statuses and output
    #[arg(long)]
    housekeeping: bool,
    /// Compare times, too: since 1970, or since the first event of each log
    #[arg(long, value_name = "SINCE", num_args = 0..=1, require_equals = true, default_missing_value = "absolute")]
    times: Option<Since>,
    /// How far apart times may be, as in 5ms
    #[arg(long, value_name = "TIME", default_value = "0", requires = "times")]
    tolerance: Moment,
    /// How many channels, and fields of each, are shown
    #[arg(long, value_name = "N", default_value_t = 20)]
    show: usize,
    #[command(flatten)]
    types: Types,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Since {
    Absolute,
    Relative,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let options = options(arguments)?;
    let manner = Manner {
        show: arguments.show,
        types: &arguments.types,
        json: arguments.json,
    };
    if !compares_own(arguments) && !arguments.json {
        output::note(LEFT_OUT);
    }
    compare([&arguments.a, &arguments.b], &options, &manner)
}

/// How a comparison is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner<'a> {
    /// How many channels, and fields of each.
    pub(crate) show: usize,
    pub(crate) types: &'a Types,
    pub(crate) json: bool,
}

const LEFT_OUT: &str = "not compared: what Bowline publishes about itself (bowline.*), as it differs from run to run; --housekeeping does";
/// Bowline's own channels: all but calls, their answers and bookmarks, which are the robot's and
/// people's.
const HOUSEKEEPING: &str = "^bowline\\.(?!call\\.|answer\\.|bookmark$)";
/// What describes types, as often as publishers like.
const DESCRIPTIONS: &str = "^bowline\\.schema$";

/// Compares two logs and shows the differences.
pub(crate) fn compare(
    paths: [&Path; 2],
    options: &DiffOptions,
    manner: &Manner<'_>,
) -> anyhow::Result<Outcome> {
    let [a, b] = paths;
    choice::check_is_log(a)?;
    choice::check_is_log(b)?;
    let mut a = choice::open(a, IndexUse::IfThere)?;
    let mut b = choice::open(b, IndexUse::IfThere)?;
    let mut progress = Progress::new("comparing");
    let difference = diff(&mut a, &mut b, options, &mut |done, all| {
        progress.at(done, all);
    })?;
    let damages = [a.damages().clone(), b.damages().clone()];
    let shown = difference.channels.len().min(manner.show);
    let shown = difference.channels.get(..shown).unwrap_or_default();
    let mut catalogs = [
        manner.types.catalog_with(&a)?,
        manner.types.catalog_with(&b)?,
    ];
    let explained = if shown.is_empty() {
        Vec::new()
    } else {
        explain([&mut a, &mut b], shown, &mut catalogs, manner.show)?
    };
    drop(progress);
    if manner.json {
        output::line(&format!("{:#}", to_json(&difference, &explained)))?;
    } else {
        let first_utime = [first_utime(&mut a)?, first_utime(&mut b)?];
        print(&difference, &explained, first_utime)?;
    }
    for (path, damages) in paths.into_iter().zip(&damages) {
        if !damages.is_empty() {
            output::note(&format!("{}:", path.display()));
            report::note_damage(damages);
        }
    }
    let is_lossy = damages.iter().any(bowline_log::Damages::is_lossy);
    Ok(if difference.is_same() && !is_lossy {
        Outcome::Fine
    } else {
        Outcome::Diagnostics
    })
}

/// Whether Bowline's own channels are compared: on request, or where channels are named.
fn compares_own(arguments: &Arguments) -> bool {
    arguments.housekeeping || !arguments.channels.channels.is_empty()
}

fn options(arguments: &Arguments) -> anyhow::Result<DiffOptions> {
    let own = match compares_own(arguments) {
        true => DESCRIPTIONS,
        false => HOUSEKEEPING,
    };
    let mut ignored = vec![own.to_owned()];
    ignored.extend(arguments.ignore.iter().cloned());
    let Moment::AfterStart(tolerance_us) = arguments.tolerance else {
        return Err(Usage("expected a tolerance such as 5ms, found a time".to_owned()).into());
    };
    Ok(DiffOptions {
        channels: arguments.channels.filter()?,
        ignored: Some(choice::filter(&ignored)?),
        times: arguments.times.map(|since| TimeRule {
            is_relative: since == Since::Relative,
            tolerance_us: tolerance_us.unsigned_abs(),
        }),
        ..DiffOptions::default()
    })
}

fn first_utime(log: &mut Reader) -> anyhow::Result<i64> {
    log.rewind()?;
    Ok(log.next_event()?.map_or(0, |event| event.utime))
}

fn print(
    difference: &Difference,
    explained: &[Explanation],
    first_utime: [i64; 2],
) -> anyhow::Result<()> {
    for (found, explanation) in difference.channels.iter().zip(explained) {
        output::line(&headline(found))?;
        let sides = [("a", found.a), ("b", found.b)];
        for ((side, place), first_utime) in sides.into_iter().zip(first_utime) {
            if let Some(Place { number, utime }) = place {
                let after_s = utime.saturating_sub(first_utime) as f64 / 1e6;
                output::line(&format!(
                    "  {side}: event {number}, {after_s:.6} s after the first, utime {utime}"
                ))?;
            }
        }
        for line in explain_lines(found.kind, explanation) {
            output::line(&format!("  {line}"))?;
        }
    }
    let n_more = difference.channels.len() - explained.len();
    if n_more > 0 {
        output::line(&format!("and {n_more} more channels"))?;
    }
    if difference.n_unlisted > 0 {
        output::line(&format!(
            "{} events are on more channels than can be distinguished",
            difference.n_unlisted
        ))?;
    }
    let Difference {
        n_same, n_channels, ..
    } = difference;
    let n_different = difference.channels.len();
    output::line(&if difference.is_same() {
        format!("the same: {n_same} messages on {n_channels} channels")
    } else {
        format!(
            "{n_different} of {n_channels} channels differ; {n_same} messages before that are the same"
        )
    })
}

fn headline(found: &ChannelDifference) -> String {
    let ChannelDifference { channel, index, .. } = found;
    let (n_a, n_b) = found.n_messages;
    match found.kind {
        DifferenceKind::Message => format!("{channel}: message {index} differs"),
        DifferenceKind::Time => format!("{channel}: message {index} is the same at another time"),
        DifferenceKind::OnlyInA if n_b == 0 => format!("{channel}: only in a, {n_a} messages"),
        DifferenceKind::OnlyInB if n_a == 0 => format!("{channel}: only in b, {n_b} messages"),
        DifferenceKind::OnlyInA => format!(
            "{channel}: the first {index} messages are the same, a has {} more",
            n_a - n_b
        ),
        DifferenceKind::OnlyInB => format!(
            "{channel}: the first {index} messages are the same, b has {} more",
            n_b - n_a
        ),
        DifferenceKind::TooFarApart => {
            format!(
                "{channel}: given up after {index} messages that are the same: the logs are too far apart"
            )
        }
    }
}

fn explain_lines(kind: DifferenceKind, explanation: &Explanation) -> Vec<String> {
    if kind != DifferenceKind::Message {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if let (Some(a), Some(b)) = &explanation.types
        && a != b
    {
        lines.push(format!("type: {a} | {b}"));
    }
    if let (Some(a), Some(b)) = explanation.lens
        && a != b
    {
        lines.push(format!("length: {a} | {b} bytes"));
    }
    for field in &explanation.fields {
        lines.push(format!("{}: {} | {}", field.path, field.a, field.b));
    }
    if explanation.has_more_fields {
        lines.push("and more fields".to_owned());
    }
    if let (true, Some(byte)) = (explanation.fields.is_empty(), explanation.byte) {
        lines.push(format!("byte {byte} is the first that differs"));
    }
    lines
}

fn to_json(difference: &Difference, explained: &[Explanation]) -> Value {
    let channels = difference.channels.iter().enumerate().map(|(at, found)| {
        let place =
            |place: Option<Place>| place.map(|it| json!({"number": it.number, "utime": it.utime}));
        let kind = match found.kind {
            DifferenceKind::Message => "message",
            DifferenceKind::Time => "time",
            DifferenceKind::OnlyInA => "only_in_a",
            DifferenceKind::OnlyInB => "only_in_b",
            DifferenceKind::TooFarApart => "too_far_apart",
        };
        let explanation = explained.get(at);
        let fields = explanation.map(|it| {
            let fields = it.fields.iter();
            fields
                .map(|field| json!({"path": field.path, "a": field.a, "b": field.b}))
                .collect::<Vec<_>>()
        });
        json!({
            "channel": found.channel,
            "index": found.index,
            "kind": kind,
            "a": place(found.a),
            "b": place(found.b),
            "n_a": found.n_messages.0,
            "n_b": found.n_messages.1,
            "types": explanation.map(|it| json!([it.types.0, it.types.1])),
            "first_byte": explanation.and_then(|it| it.byte),
            "fields": fields,
        })
    });
    json!({
        "same": difference.is_same(),
        "n_same": difference.n_same,
        "n_channels": difference.n_channels,
        "n_unlisted": difference.n_unlisted,
        "channels": channels.collect::<Vec<_>>(),
    })
}
