//! `bowline log play`: publish a log again, in its own time or in another.
//!
//! The player is in `bowline_log`; here it gets its arguments, and keys and a screen where there is a terminal.

mod console;
mod screen;
mod summary;

use super::choice;
use crate::input::{self, Usage};
use crate::terminal::{self, Terminal, Woken};
use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_bus::{Bus, Pattern};
use bowline_log::play::{
    Channels, Command, Controls, Player, PlayerOptions, Range, Rate, Report, Runner, RunnerOptions,
};
use bowline_log::{IndexUse, LogEvent, Moment, Reader};
use clap::Args;
use nix::sys::signalfd::SignalFd;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline log play run.lcmlog                       in its own time, onto the default bus
  bowline log play -s 4 run.mcap                    four times as fast
  bowline log play -s max -l tcpq://127.0.0.1 run   as fast as the bus takes it
  bowline log play --start 90 --end -10 --loop run  again and again, but for the first 90 s
                                                    and the last 10 s
  bowline log play --start 'at the dock' -p run     wait at a bookmark
  bowline log play -e 'vehicle\\..*' --rename 'vehicle\\.(.*)=recorded.$1' run

WHEN is one of
  90, 250ms, 2m              after the beginning; seconds without a unit
  -10                        seconds before the end
  1763269200000000           microseconds since the epoch
  2026-11-16T05:00:00Z       a time; UTC by default
  at the dock                the text of a bookmark

On a terminal there are keys: ? shows them. Everywhere, `bowline log control` drives it over
the bus. A step by channel publishes everything up to that channel's next event, at once.

-v, -s, -e and -l are lcm-logplayer's, -p and --filter lcm-logplayer-gui's. Where their letters
differ lcm-logplayer's count: -v is --verbose, and --invert-filter has no letter. Patterns match
whole names. What was recorded on bowline.player.request and bowline.player.status is not
played, unless it is renamed: it would drive this player.

Exit code 0 if everything was played; 1 if the log is damaged or the bus did not take something.";

#[derive(Args, Debug)]
#[command(about = "Play a log onto a bus: faster, slower, in parts, step by step", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The log: LCM's or MCAP
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        help = "Where to play; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: Option<String>,
    /// How fast: 2 is twice, 0.5 half as fast; 0 or max is as fast as possible
    #[arg(short, long, value_name = "X", default_value = "1", allow_negative_numbers = true, value_parser = rate)]
    speed: Rate,
    /// Play only channels that match; may be given several times
    #[arg(
        short = 'e',
        long = "regexp",
        visible_short_alias = 'f',
        visible_alias = "filter",
        value_name = "RE"
    )]
    enable: Vec<String>,
    /// Play only channels that --regexp does not match
    #[arg(long, requires = "enable")]
    invert_filter: bool,
    /// Do not play channels that match, even if --regexp matches; may be given several times
    #[arg(long, value_name = "RE")]
    disable: Vec<String>,
    #[command(flatten)]
    renames: choice::Renames,
    /// Begin there
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    start: Option<String>,
    /// End there
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    end: Option<String>,
    /// Start again at the end, for ever
    #[arg(long = "loop")]
    is_looping: bool,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    output: OutputOptions,
}

// How it goes about it. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct Manner {
    /// Wait for a key or a request before the first event
    #[arg(short, long)]
    paused: bool,
    /// Make times without events at most this long, in log time, as in 2 or 500ms
    #[arg(long, value_name = "DURATION", value_parser = input::duration)]
    max_gap: Option<Duration>,
    /// At the end wait, instead of quitting
    #[arg(long)]
    stay: bool,
    /// Neither listen to bowline.player.request nor publish bowline.player.status
    #[arg(long)]
    no_control: bool,
    /// What the player is called in its status
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

// What is printed. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct OutputOptions {
    /// Print a line for each event: its time, its channel and the size of its message
    #[arg(short, long)]
    verbose: bool,
    /// No screen and no summary
    #[arg(short, long)]
    quiet: bool,
    /// Print the summary as JSON; no screen
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    // Before there are threads, so that all of them leave the signals to us.
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    let is_interactive = arguments.output.is_interactive();
    let mut reader = open(arguments, is_interactive)?;
    let player = Player::new(player_options(arguments, &mut reader)?);
    let bus = open_bus(arguments)?;
    let options = RunnerOptions {
        name: arguments.name(),
        is_staying: arguments.manner.stay,
        on_publish: arguments
            .output
            .verbose
            .then(|| Box::new(print_event) as Box<_>),
    };
    let title = format!("{} -> {}", arguments.file.display(), bus.url());
    let played = if is_interactive {
        let bookmarks = bookmarks(&reader);
        let player = with_channels(player, &reader);
        let runner = start(arguments, Runner::new(reader, bus, player, options));
        console::run(
            runner,
            console::Setting {
                title,
                bookmarks,
                signals,
            },
        )
    } else {
        let runner = start(arguments, Runner::new(reader, bus, player, options));
        quit_on_signal(signals, runner.controls())?;
        runner.run().map_err(Into::into)
    };
    finish(arguments, &played?)
}

fn finish(arguments: &Arguments, report: &Report) -> anyhow::Result<Outcome> {
    if arguments.output.json {
        output::line(&format!("{:#}", summary::to_json(&arguments.file, report)))?;
    } else if !arguments.output.quiet {
        output::bytes(summary::to_text(&arguments.file, report).as_bytes())?;
    }
    for trouble in summary::troubles(report) {
        output::note(&trouble);
    }
    let is_fine = report.n_failed == 0 && !report.damages.is_lossy();
    Ok(if is_fine {
        Outcome::Fine
    } else {
        Outcome::Diagnostics
    })
}

impl OutputOptions {
    fn is_interactive(&self) -> bool {
        let Self {
            verbose,
            quiet,
            json,
        } = self;
        let is_terminal = || Terminal::is_ours() && std::io::stdout().is_terminal();
        !verbose && !quiet && !json && is_terminal()
    }
}

impl Arguments {
    fn name(&self) -> String {
        self.manner.name.clone().unwrap_or_else(|| {
            let host = nix::unistd::gethostname().unwrap_or_default();
            format!("{}:{}", host.to_string_lossy(), std::process::id())
        })
    }

    fn whens(&self) -> anyhow::Result<[Option<Moment>; 2]> {
        let when = |text: &Option<String>| text.as_deref().map(str::parse::<Moment>).transpose();
        Ok([usage(when(&self.start))?, usage(when(&self.end))?])
    }
}

/// An error of the command line.
fn usage<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, Usage> {
    result.map_err(|error| Usage(error.to_string()))
}

fn open(arguments: &Arguments, is_interactive: bool) -> anyhow::Result<Reader> {
    let whens = arguments.whens()?;
    let is_needed = whens.iter().flatten().any(Moment::needs_summary);
    let index = if is_interactive || is_needed {
        IndexUse::Make
    } else {
        IndexUse::IfThere
    };
    choice::open(&arguments.file, index)
}

fn player_options(arguments: &Arguments, reader: &mut Reader) -> anyhow::Result<PlayerOptions> {
    let [start, end] = arguments.whens()?;
    let first_utime = match reader.summary().and_then(|summary| summary.span) {
        Some((first, _)) => first,
        None => {
            let first = reader.next_event()?.map_or(0, |event| event.utime);
            reader.rewind()?;
            first
        }
    };
    let resolve = |when: Option<Moment>| {
        let resolved = when.map(|when| when.resolve(first_utime, reader.summary()));
        usage(resolved.transpose())
    };
    let range = Range {
        start: resolve(start)?,
        end: resolve(end)?,
    };
    if let Range {
        start: Some(start),
        end: Some(end),
    } = range
        && start > end
    {
        let message = format!("expected a start before the end, found {start} and {end}");
        return Err(Usage(message).into());
    }
    Ok(PlayerOptions {
        rate: arguments.speed,
        is_paused: arguments.manner.paused,
        range,
        is_looping: arguments.is_looping,
        max_gap: arguments.manner.max_gap,
        channels: channels(arguments)?,
        span: reader.summary().and_then(|summary| summary.span),
    })
}

fn channels(arguments: &Arguments) -> Result<Channels, Usage> {
    let mut channels = if arguments.enable.is_empty() || arguments.invert_filter {
        Channels::default()
    } else {
        Channels::none()
    };
    for pattern in &arguments.enable {
        let pattern = usage(Pattern::new(pattern))?;
        if arguments.invert_filter {
            channels.disable(pattern);
        } else {
            channels.enable(pattern);
        }
    }
    for pattern in &arguments.disable {
        channels.disable(usage(Pattern::new(pattern))?);
    }
    for rename in arguments.renames.iter() {
        channels.rename(rename);
    }
    Ok(channels)
}

fn open_bus(arguments: &Arguments) -> anyhow::Result<Bus> {
    let url = arguments.url.as_deref().unwrap_or_default();
    // As lcm-logplayer does: its users have URLs with unknown options.
    Ok(Bus::open_ignoring(url, |error| {
        output::note(&format!("ignored: {error}"));
    })?)
}

/// Lets it be controlled over the bus, where that is possible.
fn start(arguments: &Arguments, mut runner: Runner) -> Runner {
    if !arguments.manner.no_control
        && let Err(error) = runner.listen()
        && arguments.output.verbose
    {
        output::note(&format!("cannot be controlled over the bus: {error}"));
    }
    runner
}

/// What a screen shows before it is played.
fn with_channels(mut player: Player, reader: &Reader) -> Player {
    if let Some(summary) = reader.summary() {
        player.expect_channels(summary.channels.keys().map(String::as_str));
    }
    player
}

fn bookmarks(reader: &Reader) -> Vec<(i64, String)> {
    let bookmarks = reader.summary().map(|summary| &summary.bookmarks);
    let bookmarks = bookmarks.into_iter().flatten();
    let mut bookmarks: Vec<_> = bookmarks
        .map(|bookmark| (bookmark.utime, bookmark.text.clone()))
        .collect();
    bookmarks.sort();
    bookmarks
}

fn print_event(event: &LogEvent<'_>, channel: &str) {
    let line = format!("{} {channel} {}", event.utime, event.payload.len());
    // A closed pipe takes no more lines, but the events may be wanted.
    drop(output::line(&line));
}

/// For a player without a screen. The thread waits until the program ends.
fn quit_on_signal(signals: SignalFd, controls: Controls) -> std::io::Result<()> {
    let wait = move || {
        while matches!(
            terminal::wait(&signals, None, Duration::MAX),
            Ok(Woken::Maybe)
        ) {}
        controls.send(Command::Quit);
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(wait).map(drop)
}

fn rate(text: &str) -> Result<Rate, String> {
    if text == "max" {
        return Ok(Rate::Max);
    }
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| number.is_finite());
    number
        .map(Rate::new)
        .ok_or_else(|| format!("expected a number such as 0.5 or 2, or max, found {text:?}"))
}
