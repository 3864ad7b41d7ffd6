//! A terminal at which a password is typed.

use crate::terminal::Woken;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll as poll_descriptors};
use nix::sys::signalfd::SignalFd;
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::AsFd as _;

/// A terminal that does not echo its keys. Dropped, it is as it was.
#[derive(Debug)]
pub(super) struct Quiet {
    earlier: Termios,
}

impl Quiet {
    pub(super) fn begin() -> io::Result<Self> {
        let earlier = tcgetattr(io::stdin())?;
        let mut quiet = earlier.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        quiet.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &quiet)?;
        Ok(Self { earlier })
    }

    /// Waits for a line, or for a signal: a program that a signal ends would leave the terminal as it is now.
    #[expect(
        clippy::unused_self,
        reason = "it is waited for what is typed while nothing is shown"
    )]
    pub(super) fn wait(&self, signals: &SignalFd) -> io::Result<Woken> {
        let stdin = io::stdin();
        let mut descriptors = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
        ];
        loop {
            match poll_descriptors(&mut descriptors, PollTimeout::NONE) {
                Ok(_) => break,
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let is_signal = descriptors[0].revents().is_some_and(|it| !it.is_empty());
        Ok(if is_signal {
            Woken::Signal
        } else {
            Woken::Maybe
        })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let restored = tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &self.earlier);
        // Where the terminal is gone there is nothing to restore.
        restored.unwrap_or_default();
    }
}
