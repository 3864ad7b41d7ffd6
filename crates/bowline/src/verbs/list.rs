//! `bowline list`: what is on a bus, and what was lost on the way here.
//!
//! In: every event of a bus or a log for a while. Out: a table of channels with their types, then every counter of the
//! bus that is not 0, or that nothing was lost, so that this is something to read and not to hope for.

mod report;
mod samples;

use crate::known_types::Types;
use crate::listen::{Heard, Listener};
use crate::screen::{REFRESH, Screen};
use crate::{Outcome, input, output};
use bowline_inspect::Watch;
use clap::Args;
use report::{Detail, Report};
use samples::Samples;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline list                                       two seconds of what programs use by default
  bowline list 'udpm://239.255.76.67:7667?ttl=1'     of another bus
  bowline list day.log                               of a log, all of it
  bowline list --for 10s                             listen longer
  bowline list -v                                    with the counters that are 0
  bowline list --json | jq -r '.channels[].channel'  only the names

The type of a channel is its name, or the fingerprint of an undescribed one (--types names
where it is), or ? for what is not LCM's, with a guess. Jitter is the standard deviation of the time
between messages, of late.
It subscribes to everything, so it also shows what a busy receiver would lose. Ctrl-C ends early.
Exit code 0 if anything was received; 1 if nothing was: `bowline doctor` may know why.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {
    #[arg(
        help = "Where the bus is, or the path of a log; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: Option<String>,
    /// The same as URL, as the other tools have it
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        conflicts_with = "url"
    )]
    lcm_url: Option<String>,
    /// How long to listen, as in 500ms or 1m; seconds without a unit. Without it 2s, or all of a log
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period)]
    period: Option<Duration>,
    /// Stop after so many messages
    #[arg(short = 'n', long, value_name = "N")]
    count: Option<u64>,
    /// Show all counters, those that are 0 too
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    types: Types,
}

/// How long a bus is listened to.
const PERIOD: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &List) -> anyhow::Result<Outcome> {
    let place = args.url.as_deref().or(args.lcm_url.as_deref());
    let catalog = args.types.catalog()?;
    let mut listener = Listener::open(place, &[], args.period, Some(catalog))?;
    if listener.source.bus().is_some() {
        listener.end_after(args.period.unwrap_or(PERIOD));
    }
    let mut screen = Screen::watched().filter(|_| !args.json);
    let detail = if args.verbose {
        Detail::All
    } else {
        Detail::Losses
    };
    let report = listen(&mut listener, args.count, |report| match &mut screen {
        Some(screen) => screen.draw(&report.to_text(detail)),
        None => Ok(()),
    })?;
    if args.json {
        output::line(&format!("{:#}", report.to_json()))?;
    } else if let Some(screen) = &mut screen {
        screen.finish(&report.to_text(detail))?;
    } else {
        output::bytes(report.to_text(detail).as_bytes())?;
    }
    if report.is_empty() {
        let why = listener.why_silent();
        let elapsed = listener.elapsed();
        output::note(&format!("nothing was received in {elapsed:.1?}: {why}"));
        return Ok(Outcome::Diagnostics);
    }
    Ok(Outcome::Fine)
}

fn listen(
    listener: &mut Listener,
    count: Option<u64>,
    mut show: impl FnMut(&Report) -> anyhow::Result<()>,
) -> anyhow::Result<Report> {
    let mut watch = Watch::default();
    let mut samples = Samples::default();
    let mut n_left = count.unwrap_or(u64::MAX);
    let mut shown_at = Duration::ZERO;
    while n_left > 0 {
        match listener.next()? {
            Heard::Event(event) => {
                let catalog = listener.source.catalog();
                watch.take(&event, catalog);
                samples.take(&event, catalog);
                n_left -= 1;
            }
            Heard::Silence => {}
            Heard::Over => break,
        }
        let elapsed = listener.elapsed();
        if listener.source.bus().is_some() && elapsed >= shown_at + REFRESH {
            shown_at = elapsed;
            show(&Report::new(listener, &watch, &samples))?;
        }
    }
    Ok(Report::new(listener, &watch, &samples))
}
