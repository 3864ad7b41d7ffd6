//! Keys and the screen, while a log is played.
//!
//! In: keys, signals, and what the player does. Out: commands, and a screen. The terminal is as it was before when this
//! ends, however it ends.

use super::screen::{View, lines};
use crate::terminal::{Extent, Terminal, Woken, pressed, wait};
use anyhow::Context as _;
use bowline_bus::Pattern;
use bowline_log::play::{Command, Controls, Range, Rate, Report, Runner};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use crossterm::terminal::{Clear, ClearType, size};
use crossterm::{cursor, queue, style};
use nix::sys::signalfd::SignalFd;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two screens.
const REFRESH: Duration = Duration::from_millis(50);
/// How far the arrow keys go, and the page keys.
const SEEK_US: i64 = 5_000_000;
const SEEK_FAR_US: i64 = 60_000_000;

/// What a screen shows besides what the player does.
pub(crate) struct Setting {
    pub(crate) title: String,
    pub(crate) bookmarks: Vec<(i64, String)>,
    pub(crate) signals: SignalFd,
}

/// Plays, with keys and a screen.
pub(crate) fn run(runner: Runner, setting: Setting) -> anyhow::Result<Report> {
    let controls = runner.controls();
    let terminal =
        Terminal::take(Extent::Screen).context("cannot draw on the terminal; try --quiet")?;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let mut console = Console::new(controls, setting);
    let draw = move || {
        let drawn = console.keep_drawing(&terminal, &over);
        drop(terminal);
        // A player that cannot be seen or stopped should not go on.
        console.controls.send(Command::Quit);
        drawn
    };
    let thread = std::thread::Builder::new().name("console".to_owned());
    let thread = thread.spawn(draw).context("cannot start a thread")?;
    let played = runner.run();
    is_over.store(true, Ordering::Release);
    let drawn = thread.join();
    if let Ok(drawn) = drawn {
        drawn.context("cannot draw on the terminal")?;
    }
    Ok(played?)
}

struct Console {
    controls: Controls,
    signals: SignalFd,
    view: View,
    drawn: Vec<String>,
    /// What was played by then, for rates.
    earlier: Arc<Report>,
}

impl Console {
    fn new(controls: Controls, setting: Setting) -> Self {
        let report = controls.report();
        Self {
            view: View {
                title: format!("bowline log play {}", setting.title),
                report: Arc::clone(&report),
                bookmarks: setting.bookmarks,
                selected: 0,
                message: String::new(),
                is_help: false,
                events_per_second: 0.0,
                mb_per_second: 0.0,
            },
            controls,
            signals: setting.signals,
            drawn: Vec::new(),
            earlier: report,
        }
    }

    fn keep_drawing(&mut self, terminal: &Terminal, is_over: &AtomicBool) -> io::Result<()> {
        while !is_over.load(Ordering::Acquire) {
            self.look();
            self.draw()?;
            match wait(&self.signals, Some(terminal), REFRESH)? {
                Woken::Signal | Woken::Gone => return Ok(()),
                Woken::Maybe => {}
            }
            for event in terminal.events()? {
                self.take(&event);
            }
        }
        Ok(())
    }

    fn take(&mut self, event: &Event) {
        if let Some(key) = pressed(event) {
            self.press(key);
        } else if matches!(event, Event::Resize(..)) {
            // All of it is drawn again: who knows what the terminal made of the old.
            self.drawn.clear();
        }
    }

    fn look(&mut self) {
        let report = self.controls.report();
        let seconds = report.elapsed.saturating_sub(self.earlier.elapsed);
        if seconds > Duration::from_millis(500) {
            let (now, then) = (report.status.tallies, self.earlier.status.tallies);
            let per_second = |now: u64, then: u64| {
                let n = u32::try_from(now.saturating_sub(then)).unwrap_or(u32::MAX);
                f64::from(n) / seconds.as_secs_f64()
            };
            self.view.events_per_second = per_second(now.n_published, then.n_published);
            self.view.mb_per_second = per_second(now.n_bytes, then.n_bytes) / 1e6;
            self.earlier = Arc::clone(&report);
        }
        let n_channels = report.channels.len();
        self.view.selected = self.view.selected.min(n_channels.saturating_sub(1));
        self.view.report = report;
    }

    /// Writes the lines that changed.
    fn draw(&mut self) -> io::Result<()> {
        let (width, height) = size()?;
        let lines = lines(&self.view, width.into(), height.into());
        let mut out = io::stdout().lock();
        if self.drawn.len() != lines.len() {
            self.drawn.clear();
            queue!(out, Clear(ClearType::All))?;
        }
        for (row, line) in lines.iter().enumerate() {
            if self.drawn.get(row) != Some(line) {
                let row = u16::try_from(row).unwrap_or(u16::MAX);
                queue!(
                    out,
                    cursor::MoveTo(0, row),
                    Clear(ClearType::UntilNewLine),
                    style::Print(line)
                )?;
            }
        }
        self.drawn = lines;
        out.flush()
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a keyboard has more keys than we have uses for"
    )]
    fn press(&mut self, key: KeyEvent) {
        self.view.message.clear();
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        // What depends on what the player does is left to it: this is what it did a moment ago.
        let status = &self.view.report.status;
        let (first, last) = status.span.unwrap_or_default();
        let utime = status.log_utime.unwrap_or(first);
        match key.code {
            KeyCode::Char('c' | 'd') if is_control => self.tell(Command::Quit),
            KeyCode::Char('q') => self.tell(Command::Quit),
            KeyCode::Char(' ') => self.tell(Command::Toggle),
            KeyCode::Char('n') => self.tell(Command::Step),
            KeyCode::Char('N' | 's') => self.step_to_marked(),
            KeyCode::Left => self.tell(Command::SeekBy(-SEEK_US)),
            KeyCode::Right => self.tell(Command::SeekBy(SEEK_US)),
            KeyCode::PageUp => self.tell(Command::SeekBy(-SEEK_FAR_US)),
            KeyCode::PageDown => self.tell(Command::SeekBy(SEEK_FAR_US)),
            KeyCode::Home => self.tell(Command::SeekTo(first)),
            KeyCode::End => self.tell(Command::SeekTo(last)),
            KeyCode::Char('+' | '=') => self.tell(Command::Faster),
            KeyCode::Char('-') => self.tell(Command::Slower),
            KeyCode::Char('1') => self.tell(Command::SetRate(Rate::default())),
            KeyCode::Char('0') => self.tell(Command::SetRate(Rate::Max)),
            KeyCode::Char('[') => self.tell(Command::StartHere),
            KeyCode::Char(']') => self.tell(Command::EndHere),
            KeyCode::Char('\\') => self.tell(Command::SetRange(Range::default())),
            KeyCode::Char('l') => self.tell(Command::ToggleLoop),
            KeyCode::Char('b') => self.next_bookmark(utime),
            KeyCode::Char('B') => self.bookmark_before(utime),
            KeyCode::Up => self.view.selected = self.view.selected.saturating_sub(1),
            KeyCode::Down => self.view.selected = self.view.selected.saturating_add(1),
            KeyCode::Enter => self.toggle_marked(),
            KeyCode::Char('a') => self.tell(Command::Enable(everything())),
            KeyCode::Char('?') => self.view.is_help = !self.view.is_help,
            KeyCode::Esc => self.view.is_help = false,
            _ => "press ? for help".clone_into(&mut self.view.message),
        }
    }

    fn tell(&mut self, command: Command) {
        if !self.controls.send(command) {
            "the player is busy: that key was lost".clone_into(&mut self.view.message);
        }
    }

    fn marked(&self) -> Option<(Pattern, bool)> {
        let channel = self.view.report.channels.get(self.view.selected)?;
        Some((Pattern::exact(&channel.channel), channel.is_enabled))
    }

    fn step_to_marked(&mut self) {
        match self.marked() {
            Some((pattern, true)) => {
                self.view.message = format!("to the next event of {}", pattern.as_str());
                self.tell(Command::StepTo(pattern));
            }
            Some((_, false)) => {
                "the marked channel is not played: press enter".clone_into(&mut self.view.message);
            }
            None => "no channel is marked".clone_into(&mut self.view.message),
        }
    }

    fn toggle_marked(&mut self) {
        if let Some((pattern, is_enabled)) = self.marked() {
            self.tell(if is_enabled {
                Command::Disable(pattern)
            } else {
                Command::Enable(pattern)
            });
        }
    }

    fn next_bookmark(&mut self, utime: i64) {
        let next = self.view.bookmarks.iter().find(|(at, _)| *at > utime);
        self.jump(next.cloned());
    }

    /// One that was just passed counts as where we are.
    fn bookmark_before(&mut self, utime: i64) {
        let before = |(at, _): &&(i64, String)| *at < utime.saturating_sub(1_000_000);
        let found = self.view.bookmarks.iter().rfind(before);
        self.jump(found.cloned());
    }

    fn jump(&mut self, bookmark: Option<(i64, String)>) {
        let Some((utime, text)) = bookmark else {
            "no bookmark there".clone_into(&mut self.view.message);
            return;
        };
        self.view.message = format!("at the bookmark {text:?}");
        self.tell(Command::SeekTo(utime));
    }
}

fn everything() -> Pattern {
    Pattern::new(".*").expect("this is a regular expression")
}
