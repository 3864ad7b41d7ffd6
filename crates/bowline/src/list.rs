//! `bowline list`: what is on a bus, and what was lost on the way here.
//!
//! In: every event of the bus for a while. Out: a table of channels, then every counter of the bus that is not 0, or
//! that nothing was lost, so that this is something to read and not to hope for. It decodes nothing.

mod channels;
mod report;

use crate::{Outcome, doctor, input, output};
use bowline_bus::{Bus, Inbox, Queue};
use channels::Channels;
use clap::Args;
use report::{Detail, Report};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  bowline list                                       two seconds of what programs use by default
  bowline list 'udpm://239.255.76.67:7667?ttl=1'     of another bus
  bowline list --for 10s                             listen longer
  bowline list -v                                    with the counters that are 0
  bowline list --json | jq -r '.channels[].channel'  only the names

It subscribes to everything, so it also shows what a busy receiver would lose.
Exit code 0 if anything was heard; 1 if nothing was: `bowline doctor` may know why.";

#[derive(Args, Debug)]
#[command(about = "List the channels on a bus, their traffic, and everything that was lost", after_help = EXAMPLES)]
pub(crate) struct List {
    #[arg(
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: Option<String>,
    /// How long to listen, as in 500ms or 1m; seconds without a unit
    #[arg(long = "for", value_name = "DURATION", default_value = "2s", value_parser = input::period)]
    period: Duration,
    /// Show all counters, those that are 0 too
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How often the table is drawn again for people who watch.
const REFRESH: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &List) -> anyhow::Result<Outcome> {
    let bus = Bus::open(args.url.as_deref().unwrap_or_default())?;
    let inbox = bus.inbox();
    inbox.subscribe(".*", Queue::default())?;
    let mut screen = (!args.json && std::io::stdout().is_terminal()).then(Screen::default);
    let detail = if args.verbose {
        Detail::All
    } else {
        Detail::Losses
    };
    let show = |report: &Report| report.to_text(detail);
    let report = listen(&bus, &inbox, args.period, |report| match &mut screen {
        Some(screen) => screen.draw(&show(report)),
        None => Ok(()),
    })?;
    if args.json {
        output::line(&format!("{:#}", report.to_json()))?;
    } else if let Some(screen) = &mut screen {
        screen.finish(&show(&report))?;
    } else {
        output::bytes(show(&report).as_bytes())?;
    }
    if report.channels.is_empty() {
        let why = why_silent(&bus, &report);
        output::note(&format!("nothing was heard in {:?}: {why}", args.period));
        return Ok(Outcome::Diagnostics);
    }
    Ok(Outcome::Fine)
}

fn why_silent(bus: &Bus, report: &Report) -> String {
    if let Some(trouble) = &report.trouble {
        return trouble.clone();
    }
    if bus.url().scheme() == "memq" {
        return "memq stays inside one process, so nobody else can be seen there".to_owned();
    }
    let url = doctor::quote(&bus.url().to_string());
    format!("is anybody publishing? `bowline doctor {url}` says whether messages can arrive")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a listener's period is one of the real clock"
)]
fn listen(
    bus: &Bus,
    inbox: &Inbox,
    period: Duration,
    mut watch: impl FnMut(&Report) -> anyhow::Result<()>,
) -> anyhow::Result<Report> {
    let start = Instant::now();
    let mut channels = Channels::default();
    let mut refresh_at = REFRESH;
    loop {
        let elapsed = start.elapsed();
        if elapsed >= period {
            return Ok(Report::new(bus, channels, elapsed));
        }
        if elapsed >= refresh_at {
            refresh_at = elapsed + REFRESH;
            watch(&Report::new(bus, channels.clone(), elapsed))?;
        }
        match inbox.recv_timeout((period - elapsed).min(REFRESH)) {
            Ok(Some((_, event))) => channels.count(&event),
            Ok(None) => {}
            Err(error) if error.is_end() => {
                return Ok(Report::new(bus, channels, start.elapsed()));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A terminal on which a text is drawn over the one before.
#[derive(Default)]
struct Screen {
    n_lines: usize,
}

impl Screen {
    /// Draws what fits, so that the cursor can find back.
    fn draw(&mut self, text: &str) -> anyhow::Result<()> {
        let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let lines: Vec<String> = text
            .lines()
            .take(height.saturating_sub(1))
            .map(|line| line.chars().take(width).collect())
            .collect();
        let frame = format!("{}{}\n", self.back(), lines.join("\n"));
        self.n_lines = lines.len();
        output::bytes(frame.as_bytes())
    }

    fn finish(&mut self, text: &str) -> anyhow::Result<()> {
        output::bytes(format!("{}{text}", self.back()).as_bytes())
    }

    /// Takes the cursor to the beginning of the last text, and that text away.
    fn back(&self) -> String {
        match self.n_lines {
            0 => String::new(),
            n => format!("\x1b[{n}A\x1b[J"),
        }
    }
}
