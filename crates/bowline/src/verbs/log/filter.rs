//! `bowline log filter`: some events of a log into another.

use super::choice::{self, Files, TIMES_HELP, Times};
use super::report;
use crate::input::Usage;
use crate::{Outcome, output};
use bowline_log::{ChannelFilter, CopyPlan, RateLimit, Selection, Writer, WriterOptions};
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  bowline log filter -c '^(pose|gps)$' -s 60 -e 120 day.log minute.log   two channels, one minute
  bowline log filter -i -c image day.log small.log                       all but pictures
  bowline log filter --rate pose=5 --rate 50 day.log thin.log            poses 5/s, the rest 50/s
  bowline log filter --rename POSE=vehicle.pose old.log new.log          another name
  bowline log filter --rename 'front\\.(.*)=rear.$1' old.log new.log      names by a pattern

The options are those of lcm-logfilter, and some more. Descriptions of types come along, and
bookmarks of the time; from MCAP to MCAP also what other writers put there: schemas, attachments
and metadata.
The format is that of the new file's name: `bowline log convert --help` has more about that.
Exit code 0 if all was copied; 1 if the log is damaged or something could not be written.";

#[derive(Args, Debug)]
#[command(about = "Copy some channels, times and rates of a log into another", after_help = format!("{EXAMPLES}\n\n{TIMES_HELP}"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    channels: choice::Channels,
    /// Only channels that do not match
    #[arg(short, long)]
    invert: bool,
    #[command(flatten)]
    times: Times,
    #[arg(
        long,
        value_name = "[REGEX=]HZ",
        help = "At most so many messages a second on each channel that matches; the first that fits counts"
    )]
    rate: Vec<String>,
    #[command(flatten)]
    renames: choice::Renames,
    /// Report how much was kept of each channel
    #[arg(short, long)]
    verbose: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut log = arguments.files.open()?;
    let channels = arguments.channels.filter()?;
    let plan = CopyPlan {
        selection: Selection {
            channels: if arguments.invert {
                channels.inverted()
            } else {
                channels
            },
            times: arguments.times.range(&mut log)?,
        },
        rates: arguments
            .rate
            .iter()
            .map(|rate| limit(rate))
            .collect::<Result<_, _>>()?,
        renames: arguments.renames.iter().collect(),
    };
    let options = WriterOptions {
        mcap: log.mcap_options()?,
        ..WriterOptions::default()
    };
    let writer = Writer::create(&arguments.files.destination, options)?;
    let copied = choice::copy_all("filtering", &mut log, writer, &plan)?;
    report::note_copied(&copied, arguments.verbose);
    report::note_damage(log.damages());
    if copied.n_written == 0 {
        output::note(
            "nothing was kept: `bowline log info` lists the channels and times that there are",
        );
    }
    Ok(report::outcome(&copied, log.damages()))
}

fn limit(text: &str) -> anyhow::Result<RateLimit> {
    let (channels, hz) = match text.rsplit_once('=') {
        Some((pattern, hz)) => (choice::filter(&[pattern.to_owned()])?, hz),
        None => (ChannelFilter::default(), text),
    };
    let hz: f64 = hz.parse().unwrap_or(0.0);
    if !(hz > 0.0 && hz.is_finite()) {
        let message =
            format!("expected a rate such as 10 or pose=2.5, in messages a second, found {text:?}");
        return Err(Usage(message).into());
    }
    Ok(RateLimit { channels, hz })
}
