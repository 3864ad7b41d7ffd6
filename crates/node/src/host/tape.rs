//! A log as a source of events: in its order, at its times.

use super::lockstep::Source;
use crate::engine::Arrival;
use crate::parcel::Parcel;
use crate::time::Time;
use bowline_bus::{Bytes, Channel};
use bowline_log::{LogEvent, ReadError, Reader};
use std::collections::BTreeSet;

/// The events of a log, on the channels that somebody wants.
#[derive(Debug)]
pub struct Tape {
    log: Reader,
    channels: BTreeSet<Channel>,
    last: Option<Time>,
}

impl Tape {
    /// From where the log is at.
    #[must_use]
    pub fn new(log: Reader, channels: impl IntoIterator<Item = Channel>) -> Self {
        Self {
            log,
            channels: channels.into_iter().collect(),
            last: None,
        }
    }

    /// When the last event was recorded that was read, wanted or not.
    #[must_use]
    pub fn last(&self) -> Option<Time> {
        self.last
    }
}

impl Source for Tape {
    fn next(&mut self) -> Result<Option<Arrival>, ReadError> {
        while let Some(event) = self.log.next_event()? {
            let received = time_of(&event);
            self.last = Some(received);
            if let Some(channel) = self.channels.get(event.channel) {
                return Ok(Some(Arrival {
                    received,
                    channel: channel.clone(),
                    parcel: Parcel::from_bytes(Bytes::copy_from_slice(event.payload)),
                }));
            }
        }
        Ok(None)
    }
}

/// When an event was recorded.
pub(crate) fn time_of(event: &LogEvent<'_>) -> Time {
    let ns = event.utime.saturating_mul(1_000);
    Time::from_ns(ns.saturating_add(i64::from(event.nanos)))
}
