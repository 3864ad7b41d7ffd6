//! A request that is repeated until the gate has confirmed or refused it.

use super::Now;
use bowline_msgs::Authority;

/// How a request stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// There was none.
    #[default]
    Idle,
    /// It is repeated, and not answered.
    Waiting,
    /// The gate has confirmed it.
    Done,
    /// The gate has refused it for a reason that does not pass.
    Refused,
    /// The gate has not answered in time.
    Expired,
    /// The session does not hold the lease that it needs.
    Lost,
    /// A later command or another stop has replaced it.
    Replaced,
}

/// At most one request of a kind, and how the last one stands.
///
/// ```text
///            begin                       confirm, end          (a task of heading and speed is repeated when it is done)
///   Idle ───────────▶ Waiting ─────┬───────────────▶ Done
///     any other state ──▲          ├─ refusal ─────▶ Refused
///                                  ├─ time ────────▶ Expired
///                                  ├─ lease lost ──▶ Lost
///                                  └─ replaced ────▶ Replaced
/// ```
#[derive(Clone, Debug)]
pub(super) struct Slot<T> {
    waiting: Option<Waiting<T>>,
    progress: Progress,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    what: T,
    since: Now,
    sent_ms: Option<i64>,
    /// Commands of this request have larger numbers.
    after_sequence: i64,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self {
            waiting: None,
            progress: Progress::Idle,
        }
    }
}

impl<T> Slot<T> {
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }

    /// What is repeated.
    pub(super) fn what(&self) -> Option<&T> {
        self.waiting.as_ref().map(|it| &it.what)
    }

    pub(super) fn set(&mut self, what: T) {
        if let Some(waiting) = &mut self.waiting {
            waiting.what = what;
        }
    }

    pub(super) fn begin(&mut self, what: T, now: Now, after_sequence: i64) {
        self.progress = Progress::Waiting;
        self.waiting = Some(Waiting {
            what,
            since: now,
            sent_ms: None,
            after_sequence,
        });
    }

    /// Ends a request that was never begun, or another one.
    pub(super) fn settle(&mut self, progress: Progress) {
        self.waiting = None;
        self.progress = progress;
    }

    /// Ends what is repeated, if anything is.
    pub(super) fn end(&mut self, progress: Progress) {
        if self.waiting.is_some() {
            self.settle(progress);
        }
    }

    /// Done, and still repeated.
    pub(super) fn confirm(&mut self) {
        self.progress = Progress::Done;
    }

    pub(super) fn replace(&mut self) {
        self.end(Progress::Replaced);
    }

    pub(super) fn lose(&mut self) {
        self.end(Progress::Lost);
    }

    /// A refusal of a command of this request.
    pub(super) fn refuse(&mut self, by: &Authority, passes: bool) {
        let is_it = |it: &Waiting<T>| by.sequence > it.after_sequence;
        if !passes && self.waiting.as_ref().is_some_and(is_it) {
            self.settle(Progress::Refused);
        }
    }

    /// Whether this was received after the request was begun.
    pub(super) fn is_since(&self, received_utime: i64) -> bool {
        self.waiting
            .as_ref()
            .is_some_and(|it| received_utime > it.since.utime)
    }

    pub(super) fn is_sent(&self) -> bool {
        self.waiting.as_ref().is_some_and(|it| it.sent_ms.is_some())
    }

    /// What is to be published now, if it is due.
    pub(super) fn due(&self, now: Now, every_ms: i64) -> Option<&T> {
        let is_due = |it: &&Waiting<T>| it.sent_ms.is_none_or(|sent| now.ms - sent >= every_ms);
        self.waiting.as_ref().filter(is_due).map(|it| &it.what)
    }

    /// It is published now; returns whether it was before.
    pub(super) fn sent(&mut self, now: Now) -> bool {
        let sent_ms = self.waiting.as_mut().map(|it| &mut it.sent_ms);
        sent_ms.is_some_and(|it| it.replace(now.ms).is_some())
    }

    /// Gives it up if it has waited for longer; returns whether it did.
    pub(super) fn expire(&mut self, now: Now, for_ms: i64) -> bool {
        let is_over = |it: &Waiting<T>| now.ms - it.since.ms > for_ms;
        let is_over =
            self.progress == Progress::Waiting && self.waiting.as_ref().is_some_and(is_over);
        if is_over {
            self.settle(Progress::Expired);
        }
        is_over
    }
}
