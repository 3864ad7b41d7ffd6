//! `bowline spy`: everything on a bus or in a log, live, on a terminal.
//!
//! In: events and keys. Out: a screen. [`app`] has all of it but for the terminal and the clock, which are here.

mod app;
mod dots;
mod feed;
mod gallery;
mod graphics;
mod help;
mod image;
mod message;
mod paint;
mod plot;
mod plots;
mod scan;
mod stretch;
mod table;

use crate::Outcome;
use crate::known_types::Types;
use crate::terminal::{self, Extent, Terminal, Woken};
use anyhow::Context as _;
use app::{App, Wish};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bowline_bus::Queue;
use bowline_inspect::{Source, SourceOptions};
use clap::Args;
use crossterm::event::Event as Input;
use feed::Feed;
use gallery::Gallery;
use graphics::Graphics;
use image::Colours;
use nix::sys::signalfd::SignalFd;
use ratatui::backend::CrosstermBackend;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  bowline spy                                     what programs use by default
  bowline spy 'udpm://239.255.76.67:7667?ttl=1'   another bus
  bowline spy dive.lcmlog                         a log, in its own time
  bowline spy -c 'vehicle\\..*'                    some channels
  bowline spy --types ~/robot/lcmtypes            types of programs that do not describe them

Types come from --types, from the types/ or lcmtypes/ folder of the project that you are in, from
the log or the bus itself, and Bowline's own are built in. Keys: ? shows them.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[arg(
        value_name = "URL|LOG",
        help = "A bus or a log; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    place: Option<String>,
    /// The same, as lcm-spy takes it
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL|LOG",
        conflicts_with = "place"
    )]
    url: Option<String>,
    /// Only channels that match, with their whole name: a name, or a regular expression. Several add up
    #[arg(short, long = "channel", value_name = "PATTERN")]
    channels: Vec<String>,
    #[command(flatten)]
    types: Types,
}

/// Between two screens at least: 60 a second.
const MIN_REFRESH: Duration = Duration::from_millis(16);
/// Between two screens when no key is pressed: numbers that change faster cannot be read.
const REFRESH: Duration = Duration::from_millis(100);
/// Of its time, a slow terminal may take one part in so many.
const SHARE: u32 = 4;
/// How much may wait for the spy, so that what it cannot keep up with is its own loss and no one else's.
const QUEUE: Queue = Queue::keep_newest(32_768).with_max_bytes(32 << 20);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        anyhow::bail!(
            "spy needs a terminal; `bowline list`, `echo`, `rate` and `who` print to anything"
        );
    }
    // Before there are threads, so that all of them leave the signals to us.
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    let place = arguments.place.as_deref().or(arguments.url.as_deref());
    let place = place.unwrap_or_default();
    let source = Source::open(
        place,
        SourceOptions {
            patterns: arguments.channels.clone(),
            queue: QUEUE,
            catalog: arguments.types.catalog()?,
            ..SourceOptions::default()
        },
    )?;
    let terminal = Terminal::take(Extent::ScreenAndMouse).context("cannot draw on the terminal")?;
    let shown = show(source, &terminal, &signals);
    drop(terminal);
    shown?;
    Ok(Outcome::Fine)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a screen is drawn in the time of those who look at it"
)]
fn now() -> Instant {
    Instant::now()
}

fn show(source: Source, terminal: &Terminal, signals: &SignalFd) -> anyhow::Result<()> {
    let mut screen = ratatui::Terminal::new(CrosstermBackend::new(io::stdout()))?;
    let mut feed = Feed::new(source, now());
    let mut app = App::new(gallery());
    let mut events = Vec::new();
    let mut next_draw = now();
    loop {
        feed.read(now(), &mut events)?;
        for event in events.drain(..) {
            app.take(event, &feed);
        }
        // Right before the keys, because keys of a terminal that is gone are waited for in vain. A bus was waited for
        // above; a log was not.
        let patience = if feed.is_log() {
            MIN_REFRESH
        } else {
            Duration::ZERO
        };
        match terminal::wait(signals, Some(terminal), patience)? {
            Woken::Maybe => {}
            Woken::Signal | Woken::Gone => return Ok(()),
        }
        let mut is_touched = false;
        for input in terminal.events()? {
            is_touched = true;
            match answer(&mut app, &input, &mut feed) {
                Wish::Nothing => {}
                Wish::Quit => return Ok(()),
                Wish::Copy(text) => copy(&text)?,
            }
        }
        let begin = now();
        if begin >= next_draw || (is_touched && begin + REFRESH - MIN_REFRESH >= next_draw) {
            screen.draw(|frame| app.draw(frame, &feed, begin))?;
            write_out(&app.graphics())?;
            next_draw = begin + REFRESH.max(begin.elapsed() * SHARE);
        }
    }
}

fn answer(app: &mut App, input: &Input, feed: &mut Feed) -> Wish {
    if let Some(key) = terminal::pressed(input) {
        return app.press(key, feed, now());
    }
    if let Input::Mouse(mouse) = input {
        app.click(*mouse, feed);
    }
    Wish::Nothing
}

/// What the terminal can show of pictures.
#[expect(
    clippy::disallowed_methods,
    reason = "terminals describe themselves in the environment"
)]
fn gallery() -> Gallery {
    let colours = Colours::of_terminal(|name| std::env::var(name).ok());
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    let graphics = terminal.and_then(|mut terminal| Graphics::ask(&mut terminal));
    // Where the terminal cannot be asked, or does not report how large its letters are, blocks do.
    let graphics = graphics.unwrap_or(Graphics::Blocks);
    let cell = crossterm::terminal::window_size().map_or((0, 0), |size| {
        let across = size.width.checked_div(size.columns).unwrap_or(0);
        (across, size.height.checked_div(size.rows).unwrap_or(0))
    });
    Gallery::new(colours, graphics, cell)
}

fn write_out(bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Hands text to the terminal's clipboard, as terminals understand it since xterm.
fn copy(text: &str) -> io::Result<()> {
    write_out(format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text)).as_bytes())
}
