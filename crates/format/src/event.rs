//! What a log consists of.

use bowline_wire::Fingerprint;
use bowline_wire::eventlog::Record;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One event of a log, where it was read or before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEvent<'a> {
    /// The writer's count of its events. Ours count from 0.
    pub number: i64,
    /// When it was received, microseconds since the epoch.
    pub utime: i64,
    /// Nanoseconds beyond that, below 1000. LCM's logs do not have them.
    pub nanos: u16,
    /// Where it was published.
    pub channel: &'a str,
    /// The message.
    pub payload: &'a [u8],
}

impl<'a> LogEvent<'a> {
    /// The first eight bytes of the message, which identify its type. Shorter messages have none.
    #[must_use]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let front = self.payload.first_chunk()?;
        Some(Fingerprint(u64::from_be_bytes(*front)))
    }

    /// When it was received, nanoseconds since the epoch, as MCAP has it: 0 if that is before.
    #[must_use]
    pub fn log_ns(&self) -> u64 {
        let ns = u64::try_from(self.utime).ok();
        let ns = ns.and_then(|utime| utime.checked_mul(1_000));
        ns.map_or(0, |ns| ns.saturating_add(u64::from(self.nanos)))
    }

    /// The same event, to keep.
    #[must_use]
    pub fn to_owned(self) -> OwnedEvent {
        let mut owned = OwnedEvent::default();
        owned.set(self);
        owned
    }
}

impl<'a> From<Record<'a>> for LogEvent<'a> {
    fn from(record: Record<'a>) -> Self {
        Self {
            number: record.number,
            utime: record.utime,
            nanos: 0,
            channel: record.channel,
            payload: record.payload,
        }
    }
}

/// An event that outlives the reader's next step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedEvent {
    /// The writer's count of its events.
    pub number: i64,
    /// When it was received, microseconds since the epoch.
    pub utime: i64,
    /// Nanoseconds beyond that, below 1000.
    pub nanos: u16,
    /// Where it was published.
    pub channel: String,
    /// The message.
    pub payload: Vec<u8>,
}

impl OwnedEvent {
    /// Takes over another event, in the memory of the last.
    pub fn set(&mut self, event: LogEvent<'_>) {
        self.number = event.number;
        self.utime = event.utime;
        self.nanos = event.nanos;
        self.channel.clear();
        self.channel.push_str(event.channel);
        self.payload.clear();
        self.payload.extend_from_slice(event.payload);
    }

    /// The event, to hand on.
    #[must_use]
    pub fn as_event(&self) -> LogEvent<'_> {
        LogEvent {
            number: self.number,
            utime: self.utime,
            nanos: self.nanos,
            channel: &self.channel,
            payload: &self.payload,
        }
    }
}

/// What an MCAP log has of an event and an LCM log does not: for copies.
#[derive(Clone, Copy, Debug)]
pub struct Provenance<'a> {
    pub(crate) sequence: u32,
    /// When it was published, nanoseconds since the epoch.
    pub publish_ns: u64,
    /// The description of the channel by another writer.
    pub(crate) foreign: Option<Foreign<'a>>,
}

/// The description of a channel's messages by another writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreign<'a> {
    pub(crate) encoding: &'a str,
    pub(crate) metadata: &'a BTreeMap<String, String>,
    pub(crate) schema: Option<&'a Arc<ForeignSchema>>,
}

/// How another writer describes a type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ForeignSchema {
    pub(crate) name: String,
    pub(crate) encoding: String,
    pub(crate) data: Vec<u8>,
}
