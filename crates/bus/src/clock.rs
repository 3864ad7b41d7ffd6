//! The bus's only look at clocks: deadlines of waiting calls, and receive times where the kernel gives none.
//!
//! No decision about a message depends on what is read here, with one exception: mpudpm puts off by a moment what
//! arrived after it began to read, so that messages of several sockets stay in order.

use crate::sys::Flag;
use crate::transport::ReceiveError;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// For deadlines.
#[expect(
    clippy::disallowed_methods,
    reason = "waiting with a deadline needs a clock"
)]
pub(crate) fn monotonic() -> Instant {
    Instant::now()
}

/// For receive times: nanoseconds since the epoch.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "transports without kernel stamps need a receive time"
)]
pub fn wall_ns() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// How long a call may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    Never,
    /// Take what is there.
    Now,
    At(Instant),
}

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        if timeout.is_zero() {
            return Self::Now;
        }
        // Longer than the clock can count is for ever.
        monotonic()
            .checked_add(timeout)
            .map_or(Self::Never, Self::At)
    }

    /// What is left; `None` is for ever.
    pub(crate) fn left(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::Now => Some(Duration::ZERO),
            Self::At(at) => Some(at.saturating_duration_since(monotonic())),
        }
    }

    pub(crate) fn has_passed(self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
}

/// How long a transport may wait for traffic, and what ends the waiting early.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    pub(crate) deadline: Deadline,
    pub(crate) interrupt: &'a Flag,
    pub(crate) reader: Reader,
}

/// Who reads a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A thread that waits for its own mailbox. The bus cannot close meanwhile.
    Subscriber,
    /// The thread that calls back.
    Callbacks,
    /// A thread of the bus that reads no mailbox.
    Relief,
}

impl Wait<'_> {
    /// How long still; `None` is for ever, zero is "take what is there".
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.deadline.left()
    }

    /// Whether there is no time at all.
    #[must_use]
    pub fn is_poll(&self) -> bool {
        matches!(self.deadline, Deadline::Now)
    }

    /// Whether it is fine to be deaf to interrupts for as long as `time`.
    #[must_use]
    pub fn may_be_inattentive(&self, time: Duration) -> bool {
        self.reader == Reader::Subscriber && self.left().is_none_or(|left| left >= time)
    }

    /// Whether a thread of the bus reads, not one that reads mailboxes too: it can wait for those who do.
    #[must_use]
    pub fn is_for_others(&self) -> bool {
        self.reader == Reader::Relief
    }

    /// Waits until the waiting should end, where nothing can come.
    ///
    /// # Errors
    /// When a signal came whose handler does not let system calls go on.
    pub fn idle(&self) -> Result<(), ReceiveError> {
        Ok(self.interrupt.wait(self.left())?)
    }

    /// Becomes readable when the waiting should end. To be polled beside a transport's own descriptors.
    #[must_use]
    pub fn interrupt(&self) -> BorrowedFd<'_> {
        self.interrupt.as_fd()
    }
}
