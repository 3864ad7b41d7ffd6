//! What became of all that came from a device: one account for every driver, and the message that shows it.

use bowline_component::{Health, Time};
use bowline_msgs::Device;
use std::time::Duration;

/// How a device is, in the eyes of its driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// It has not sent anything that counts yet.
    #[default]
    Starting,
    /// What it sends can be believed.
    Working,
    /// It sends something, but nothing that can be believed.
    Erroneous,
    /// It sends nothing.
    Silent,
}

impl Condition {
    fn code(self) -> i8 {
        match self {
            Self::Starting => Device::STARTING,
            Self::Working => Device::WORKING,
            Self::Erroneous => Device::ERRONEOUS,
            Self::Silent => Device::SILENT,
        }
    }
}

/// Counts of everything that a driver believed, and of everything that it did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes that came.
    pub n_bytes: u64,
    /// Bytes that went.
    pub n_sent_bytes: u64,
    /// Frames that were believed, or commands that were taken.
    pub n_good: u64,
    /// Frames that are right, and that were not requested.
    pub n_ignored: u64,
    /// Frames that are right, and that cannot be believed; or commands that were not taken.
    pub n_refused: u64,
    /// Frames with a wrong checksum.
    pub n_bad_checksum: u64,
    /// Frames that are cut, too long, or not of their form.
    pub n_malformed: u64,
    /// Bytes between frames that mean nothing.
    pub n_garbage_bytes: u64,
    /// Answers, or commands, that did not come in time.
    pub n_timeouts: u64,
    /// How often the device was initialised again.
    pub n_restarts: u64,
    last_good: Option<Time>,
    last_heard: Option<Time>,
    last_error: Option<(Time, String)>,
}

impl Counts {
    /// Something can be believed.
    pub fn good(&mut self, now: Time) {
        self.n_good += 1;
        self.last_good = Some(now);
    }

    /// Something was wrong. The caller counts it where it belongs.
    pub fn error(&mut self, now: Time, what: impl Into<String>) {
        self.last_error = Some((now, what.into()));
    }

    /// When something was last believed.
    #[must_use]
    pub fn last_good(&self) -> Option<Time> {
        self.last_good
    }

    /// When a byte last came.
    #[must_use]
    pub fn last_heard(&self) -> Option<Time> {
        self.last_heard
    }

    /// What was last wrong; empty if nothing ever was.
    #[must_use]
    pub fn last_error(&self) -> &str {
        self.last_error.as_ref().map_or("", |(_, what)| what)
    }

    /// The state of a device that should send something good now and then, and that was first looked at when it `began`.
    #[must_use]
    pub fn condition(&self, now: Time, began: Time, silent_after: Duration) -> Condition {
        let is_recent = |at: Time| now.since(at) <= silent_after;
        match (self.last_heard, self.last_good) {
            (_, Some(good)) if is_recent(good) => Condition::Working,
            (Some(heard), None) if is_recent(heard) && is_recent(began) => Condition::Starting,
            (Some(heard), _) if is_recent(heard) => Condition::Erroneous,
            (None, _) if is_recent(began) => Condition::Starting,
            (Some(_) | None, _) => Condition::Silent,
        }
    }

    /// Bytes came.
    pub(crate) fn heard(&mut self, now: Time, n_bytes: usize) {
        if n_bytes > 0 {
            self.n_bytes += n_bytes as u64;
            self.last_heard = Some(now);
        }
    }

    /// How the component is that drives a device of this condition.
    pub(crate) fn health(&self, condition: Condition) -> Health {
        match (condition, self.last_error()) {
            (Condition::Starting, _) => Health::Starting,
            (Condition::Working, _) => Health::Good,
            (Condition::Erroneous, "") => Health::Degraded("nothing can be believed".to_owned()),
            (Condition::Erroneous, why) => Health::Degraded(why.to_owned()),
            (Condition::Silent, "") => Health::Degraded("silent".to_owned()),
            (Condition::Silent, why) => Health::Degraded(format!("silent; before that: {why}")),
        }
    }

    /// The same as a message.
    pub(crate) fn message(
        &self,
        device: &str,
        now: Time,
        (condition, since): (Condition, Time),
    ) -> Device {
        let utime = |time: Option<Time>| time.map_or(0, Time::utime);
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        Device {
            utime: now.utime(),
            device: device.to_owned(),
            state: condition.code(),
            since_utime: since.utime(),
            last_good_utime: utime(self.last_good),
            last_error_utime: utime(self.last_error.as_ref().map(|(at, _)| *at)),
            last_error: self.last_error().to_owned(),
            n_bytes: whole(self.n_bytes),
            n_sent_bytes: whole(self.n_sent_bytes),
            n_good: whole(self.n_good),
            n_ignored: whole(self.n_ignored),
            n_refused: whole(self.n_refused),
            n_bad_checksum: whole(self.n_bad_checksum),
            n_malformed: whole(self.n_malformed),
            n_garbage_bytes: whole(self.n_garbage_bytes),
            n_timeouts: whole(self.n_timeouts),
            n_restarts: whole(self.n_restarts),
        }
    }
}
