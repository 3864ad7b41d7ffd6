//! A terminal that gives keys one by one, for a screen or a status line.
//!
//! crossterm sets it and understands its keys. Waiting is done here: for keys and signals at once, and because crossterm
//! reads a terminal that is gone for ever.

use crossterm::event::{
    DisableMouseCapture, EnableMouseCapture, Event, KeyEvent, KeyEventKind, poll, read,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll as poll_descriptors};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{getpgrp, tcgetpgrp};
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

/// How long a look for keys takes where there are none. With no time at all crossterm does not look.
const GLANCE: Duration = Duration::from_millis(1);

/// How much of a terminal is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A screen of its own; what was there comes back.
    Screen,
    /// The same, with the mouse.
    ScreenAndMouse,
    /// Its last line.
    Line,
}

/// A terminal that was taken. Dropped, it is as it was, which also happens when something panics. Meanwhile ^C is a key
/// like any other, and lines end with `\r\n`.
#[derive(Debug)]
pub(crate) struct Terminal {
    extent: Extent,
}

/// What came of waiting for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// A key, maybe, or the time is over.
    Maybe,
    /// A signal.
    Signal,
    /// The terminal is gone, and no keys can come from there any more.
    Gone,
}

impl Terminal {
    /// Whether keys can be had: a program in the background must leave the terminal alone. Where the terminal controls
    /// no session of ours there is no background.
    pub(crate) fn is_ours() -> bool {
        let stdin = io::stdin();
        stdin.is_terminal() && tcgetpgrp(stdin).map_or(true, |group| group == getpgrp())
    }

    pub(crate) fn take(extent: Extent) -> io::Result<Self> {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // First, so that the message stays on the screen that people see.
            restore(extent);
            earlier(panic);
        }));
        enable_raw_mode()?;
        let taken = Self { extent };
        if extent != Extent::Line {
            execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        }
        if extent == Extent::ScreenAndMouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        Ok(taken)
    }

    /// What happened since the last time: keys, and changes of its size.
    #[expect(
        clippy::unused_self,
        reason = "there are no keys where no terminal was taken"
    )]
    pub(crate) fn events(&self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        while poll(GLANCE)? {
            events.push(read()?);
        }
        Ok(events)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore(self.extent);
    }
}

fn restore(extent: Extent) {
    // Where the terminal is gone there is nothing to restore.
    if extent == Extent::ScreenAndMouse {
        drop(execute!(io::stdout(), DisableMouseCapture));
    }
    if extent != Extent::Line {
        drop(execute!(io::stdout(), LeaveAlternateScreen, cursor::Show));
    }
    drop(disable_raw_mode());
}

/// The signals that end a program, to be waited for. To be called before there are threads, so that all of them leave
/// the signals to this.
pub(crate) fn end_signals() -> nix::Result<SignalFd> {
    let mut signals = SigSet::empty();
    for signal in [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ] {
        signals.add(signal);
    }
    signals.thread_block()?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)
}

/// The key that was pressed, if that is what happened.
pub(crate) fn pressed(event: &Event) -> Option<KeyEvent> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(*key),
        Event::Key(_)
        | Event::Resize(..)
        | Event::FocusGained
        | Event::FocusLost
        | Event::Mouse(_)
        | Event::Paste(_) => None,
    }
}

/// Waits for a signal, and for keys if a terminal was taken.
pub(crate) fn wait(
    signals: &SignalFd,
    terminal: Option<&Terminal>,
    timeout: Duration,
) -> io::Result<Woken> {
    let stdin = io::stdin();
    let mut descriptors = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    if terminal.is_some() {
        descriptors.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
    }
    let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
    match poll_descriptors(&mut descriptors, timeout) {
        Ok(_) => {}
        // A signal without a handler here, such as that of another size.
        Err(nix::errno::Errno::EINTR) => return Ok(Woken::Maybe),
        Err(error) => return Err(error.into()),
    }
    let mut found = descriptors.iter().map(PollFd::revents);
    if found.next().flatten().is_some_and(|it| !it.is_empty()) {
        return Ok(Woken::Signal);
    }
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    let is_gone = found.flatten().any(|it| it.intersects(gone));
    Ok(if is_gone { Woken::Gone } else { Woken::Maybe })
}
