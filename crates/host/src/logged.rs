//! A log of what components receive and send, in the one order of events.

use bowline_component::Parcel;
use bowline_component::Time;
use bowline_component::engine::{Arrival, Sent, Sink};
use bowline_format::{LogEvent, WriteError, Writer};

/// How many bytes wait in memory at most.
const MOST_PENDING: usize = 1 << 20;

/// Writes everything into a log. What cannot be written is kept as an error, which ends the writing.
#[derive(Debug)]
pub struct Logged {
    writer: Writer,
    error: Option<WriteError>,
    scope: Scope,
}

/// What goes into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// What components receive from outside and what they send.
    Everything,
    /// What they send.
    Outputs,
}

impl Logged {
    /// Into a log that was begun.
    #[must_use]
    pub fn new(writer: Writer, scope: Scope) -> Self {
        Self {
            writer,
            error: None,
            scope,
        }
    }

    /// Ends the log.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(mut self) -> Result<(), WriteError> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }

    /// Writes an event that is not a component's.
    pub fn write(&mut self, at: Time, channel: &str, payload: &[u8]) {
        if self.error.is_some() {
            return;
        }
        let event = LogEvent {
            number: 0,
            utime: at.utime(),
            nanos: u16::try_from(at.ns().rem_euclid(1_000)).unwrap_or(0),
            channel,
            payload,
        };
        let written = self.writer.write(event).map(drop);
        let written = written.and_then(|()| match self.writer.n_pending() > MOST_PENDING {
            true => self.writer.flush(),
            false => Ok(()),
        });
        self.error = written.err();
    }

    /// What keeps it from writing, if anything does.
    #[must_use]
    pub fn error(&self) -> Option<&WriteError> {
        self.error.as_ref()
    }

    fn write_parcel(&mut self, at: Time, channel: &str, parcel: &Parcel) {
        self.write(at, channel, parcel.bytes());
    }
}

impl Sink for Logged {
    fn publish(&mut self, sent: &Sent<'_>) {
        self.write_parcel(sent.at, sent.channel, sent.parcel);
    }

    fn arrived(&mut self, now: Time, arrival: &Arrival) {
        if self.scope == Scope::Everything {
            self.write_parcel(now, &arrival.channel, &arrival.parcel);
        }
    }
}
