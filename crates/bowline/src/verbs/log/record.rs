//! `bowline log record`: record a bus, with lcm-logger's options and more.
//!
//! The recorder itself is in `bowline_log`; here it gets its options, a status line, keys, and an end by ^C.

mod keys;
mod options;
mod screen;

use crate::terminal::{Woken, wait};
use crate::{Outcome, input, output};
use anyhow::Context as _;
use bowline_bus::Bus;
use bowline_log::record::Recorder;
use clap::Args;
use keys::{Key, Keyboard};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use screen::{Audience, Screen};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline log record                              to lcmlog-YYYY-MM-DD.NN, everything
  bowline log record dive.mcap                    compressed, with types inside (or: --mcap FILE)
  bowline log record -c 'vehicle\\..*' -i dive     some channels, to dive.00, dive.01, ...
  bowline log record --rotate=5 --split-mb=100 x  the last 500 MB, in x.0 (newest) to x.4
  bowline log record --select streams.toml dive   which streams, and how often
  bowline log record --before 30s --after 10s --trigger 'battery.volts < 11.5' incident
                                                  only around what happens; again and again

Keys in a terminal:  b  set a bookmark and type a note      t  write what was kept (with --before)
                     s  go on in a new file                 q  end, as ^C does
Signals:             SIGHUP begins a new file; SIGINT and SIGTERM end the log.

A selection file:
  others = true                # whether streams are recorded that are not named here
  [[stream]]                   # the first that matches counts
  channel = \"camera\\\\..*\"      # a name, or a regular expression
  max_rate_hz = 2.0            # or: every = 10, or: record = false

When the disk is full or fails, recording goes on in memory (-m), the newest data is kept, and an
alarm is raised: here, and on the channel bowline.recorder. It resumes by itself when there is room.
Exit code 0 if everything is recorded; 1 if anything was lost, which the summary counts; 2 for wrong
usage.";

#[derive(Args, Debug)]
#[command(
    about = "Record a bus to a log, without loss",
    after_help = EXAMPLES,
    infer_long_args = true
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of a command line"
)]
pub(crate) struct Arguments {
    #[arg(
        value_name = "FILE",
        help = "The log; without it lcmlog-%Y-%m-%d with --strftime and --increment"
    )]
    file: Option<PathBuf>,
    /// Go on with a log that is there
    #[arg(short = 'a', long, conflicts_with = "force")]
    append: bool,
    /// Channels to record: a name or a regular expression that matches the whole name
    #[arg(short = 'c', long, value_name = "REGEX", default_value = ".*")]
    channel: String,
    /// Replace a file that is there
    #[arg(short = 'f', long)]
    force: bool,
    /// Add the first number that is free to the name
    #[arg(short = 'i', long)]
    increment: bool,
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    lcm_url: Option<String>,
    /// How much may wait in memory while nothing can be written, in MB
    #[arg(short = 'm', long, value_name = "SZ", default_value = "100", value_parser = options::megabytes)]
    max_unwritten_mb: u64,
    /// Print only what is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    /// Put the date and time into the name, as in log-%Y-%m-%d-%H%M
    #[arg(short = 's', long)]
    strftime: bool,
    /// Record all channels but those
    #[arg(short = 'v', long)]
    invert_channels: bool,
    /// Have the log on the disk every so many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100)]
    flush_interval: u64,
    /// Always write to FILE.0; older files become FILE.1 and so on, of which so many are kept
    #[arg(long, value_name = "NUM", conflicts_with = "increment")]
    rotate: Option<u32>,
    /// Begin a new file when one has so many MB, which may be a fraction; with --increment or --rotate
    #[arg(long, value_name = "N", value_parser = options::megabytes)]
    split_mb: Option<u64>,
    /// Begin a new file after so many seconds, or as in 10m; with --increment or --rotate
    #[arg(long, value_name = "S", value_parser = input::period)]
    split_s: Option<Duration>,
    /// Leave so much room on the disk, such as 50G or "0.05 TiB"
    #[arg(long, value_name = "SIZE", value_parser = options::size)]
    disk_quota: Option<u64>,
    /// Publish the status every so often on the channel bowline.recorder, as in 500ms; without it only what is wrong
    #[arg(long, value_name = "DURATION", value_parser = input::period)]
    status_every: Option<Duration>,
    /// Write MCAP whatever the name; a name that ends in .mcap has the same effect
    #[arg(long)]
    mcap: bool,
    /// Types to describe in the log, and to decode for --trigger: .lcm files, or folders of them
    #[arg(long, value_name = "DIR")]
    types: Vec<PathBuf>,
    /// A file that names which streams to record and how often
    #[arg(long, value_name = "FILE.toml")]
    select: Option<PathBuf>,
    /// Record only when something happens, and so much of the time before, as in 30 or 2m
    #[arg(long, value_name = "DURATION", value_parser = input::period)]
    before: Option<Duration>,
    /// Keep at most so many MB of the time before
    #[arg(long, value_name = "MB", default_value = "256", value_parser = options::megabytes)]
    before_mb: u64,
    /// With --before: how long to record after it happened; without it, until the end
    #[arg(long, value_name = "DURATION", value_parser = input::period)]
    after: Option<Duration>,
    /// What has to happen: CHANNEL.FIELD and a comparison, or just a channel; several are alternatives
    #[arg(long, value_name = "CONDITION")]
    trigger: Vec<bowline_log::record::Condition>,
    /// Print a line of JSON a second, and one at the end
    #[arg(long)]
    json: bool,
}

/// Between two looks at how it goes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let options = options::recorder(arguments)?;
    // Before there are threads, so that all of them leave the signals to us.
    let signals = signals().context("cannot wait for signals")?;
    let bus = Bus::open(arguments.lcm_url.as_deref().unwrap_or_default())?;
    let recorder = Recorder::start(&bus, options)?;
    let (mut keyboard, audience) = audience(arguments);
    let mut screen = Screen::new(audience);
    screen.begin(&bus, &recorder);
    while !recorder.is_over() && goes_on(&recorder, &signals, &mut keyboard)? {
        screen.show(&recorder, keyboard.note());
    }
    let status = screen.end(recorder);
    drop(keyboard);
    screen.summarize(&status)?;
    Ok(if status.is_lossy() {
        Outcome::Diagnostics
    } else {
        Outcome::Fine
    })
}

/// Who looks and who may press keys.
fn audience(arguments: &Arguments) -> (Keyboard, Audience) {
    if arguments.json {
        return (Keyboard::none(), Audience::Json);
    }
    if arguments.quiet {
        return (Keyboard::none(), Audience::Nobody);
    }
    let keyboard = Keyboard::open();
    let audience = if keyboard.terminal().is_some() {
        Audience::Terminal
    } else {
        Audience::Reader
    };
    (keyboard, audience)
}

fn signals() -> nix::Result<SignalFd> {
    let mut signals = SigSet::empty();
    for signal in [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGQUIT,
        Signal::SIGHUP,
    ] {
        signals.add(signal);
    }
    signals.thread_block()?;
    // A file that may not grow is a refused write like any other, not an end.
    let mut too_large = SigSet::empty();
    too_large.add(Signal::SIGXFSZ);
    too_large.thread_block()?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// Waits for a moment, and does what keys and signals ask; returns whether recording goes on.
fn goes_on(
    recorder: &Recorder,
    signals: &SignalFd,
    keyboard: &mut Keyboard,
) -> anyhow::Result<bool> {
    match wait(signals, keyboard.terminal(), LOOK_EVERY)? {
        Woken::Gone => return Ok(false),
        Woken::Signal => {
            while let Some(signal) = signals.read_signal()? {
                if signal.ssi_signo != Signal::SIGHUP as u32 {
                    return Ok(false);
                }
                recorder.split();
            }
        }
        Woken::Maybe => {}
    }
    for key in keyboard.read()? {
        match key {
            Key::Quit => return Ok(false),
            Key::Split => recorder.split(),
            Key::Trigger => recorder.trigger(),
            Key::Bookmark { utime, text } => recorder.bookmark(utime, text),
        }
    }
    Ok(true)
}

/// Prints what is wrong; recording does not end where that fails.
fn warn(text: &str) {
    output::note(&warning(text));
}

fn warning(text: &str) -> String {
    format!("warning: {text}")
}
