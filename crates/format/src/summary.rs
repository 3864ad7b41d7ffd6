//! What is in a log, in figures that are small whatever its size.

use crate::bytes::{In, Out};
use crate::event::LogEvent;
use crate::schemas::{BOOKMARK_CHANNEL, SCHEMA_CHANNEL, Schemas};
use bowline_wire::messages::{Bookmark, Schema};
use bowline_wire::{Fingerprint, Message as _};
use std::collections::BTreeMap;

/// Bounds on what hostile logs can make us remember.
const MAX_CHANNELS: usize = 100_000;
const MAX_BOOKMARKS: usize = 10_000;
const MAX_TYPES: usize = 16;

/// What is in a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many events there are.
    pub n_events: u64,
    /// Bytes of their messages.
    pub n_bytes: u64,
    /// The earliest and the latest time, microseconds since the epoch. `None` if there are no events.
    pub span: Option<(i64, i64)>,
    /// How often an event is earlier than the one before it.
    pub n_backward: u64,
    /// The longest time without any event, and when it began.
    pub longest_gap: Gap,
    /// By name.
    pub channels: BTreeMap<String, ChannelSummary>,
    /// Events on channels that are not listed, because there are too many.
    pub n_unlisted: u64,
    /// In the order of the log.
    pub bookmarks: Vec<Bookmark>,
    /// The types that are described in the log itself.
    pub schemas: Schemas,
    last_utime: Option<i64>,
}

/// What is on one channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelSummary {
    /// How many events.
    pub n_events: u64,
    /// Bytes of their messages.
    pub n_bytes: u64,
    /// When the first was received, in the order of the log.
    pub first_utime: i64,
    /// When the last was received.
    pub last_utime: i64,
    /// The longest time without one.
    pub longest_gap: Gap,
    /// Which types its messages claim to be, and how many of each; messages that are too short for a fingerprint are in none.
    pub types: Vec<(Fingerprint, u64)>,
}

/// A time without events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// When it began, microseconds since the epoch.
    pub from_utime: i64,
    /// How long it was, microseconds.
    pub us: u64,
}

impl Gap {
    fn stretch(&mut self, from: i64, to: i64) {
        let us = u64::try_from(i128::from(to) - i128::from(from)).unwrap_or(0);
        if us > self.us {
            *self = Self {
                from_utime: from,
                us,
            };
        }
    }
}

impl ChannelSummary {
    /// Events a second, if there are two at different times.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn rate_hz(&self) -> Option<f64> {
        let us = u64::try_from(i128::from(self.last_utime) - i128::from(self.first_utime)).ok()?;
        (us > 0 && self.n_events > 1).then(|| (self.n_events - 1) as f64 * 1e6 / us as f64)
    }

    fn add(&mut self, event: &LogEvent<'_>) {
        if self.n_events == 0 {
            self.first_utime = event.utime;
        } else {
            self.longest_gap.stretch(self.last_utime, event.utime);
        }
        self.n_events += 1;
        self.n_bytes += event.payload.len() as u64;
        self.last_utime = event.utime;
        let Some(fingerprint) = event.fingerprint() else {
            return;
        };
        let known = self
            .types
            .iter_mut()
            .find(|(found, _)| *found == fingerprint);
        if let Some((_, n_events)) = known {
            *n_events += 1;
        } else if self.types.len() < MAX_TYPES {
            self.types.push((fingerprint, 1));
        }
    }
}

impl Summary {
    /// Takes the next event in.
    pub fn add(&mut self, event: &LogEvent<'_>) {
        self.n_events += 1;
        self.n_bytes += event.payload.len() as u64;
        let (first, last) = self.span.unwrap_or((event.utime, event.utime));
        self.span = Some((first.min(event.utime), last.max(event.utime)));
        if let Some(before) = self.last_utime.replace(event.utime) {
            self.longest_gap.stretch(before, event.utime);
            self.n_backward += u64::from(event.utime < before);
        }
        match event.channel {
            SCHEMA_CHANNEL => self.add_schema(event.payload),
            BOOKMARK_CHANNEL => self.add_bookmark(event.payload),
            _ => {}
        }
        // Not by entry: that would make a string of every name.
        if let Some(channel) = self.channels.get_mut(event.channel) {
            channel.add(event);
        } else if self.channels.len() < MAX_CHANNELS {
            let mut channel = ChannelSummary::default();
            channel.add(event);
            self.channels.insert(event.channel.to_owned(), channel);
        } else {
            self.n_unlisted += 1;
        }
    }

    fn add_schema(&mut self, payload: &[u8]) {
        // What is no schema is an event like any other.
        if let Ok(schema) = Schema::decode(payload) {
            drop(self.schemas.add_bytes(&schema.bytes));
        }
    }

    fn add_bookmark(&mut self, payload: &[u8]) {
        if self.bookmarks.len() < MAX_BOOKMARKS
            && let Ok(bookmark) = Bookmark::decode(payload)
        {
            self.bookmarks.push(bookmark);
        }
    }

    pub(crate) fn write(&self, out: &mut Out) {
        out.u64(self.n_events);
        out.u64(self.n_bytes);
        out.u64(u64::from(self.span.is_some()));
        let (first, last) = self.span.unwrap_or_default();
        out.i64(first);
        out.i64(last);
        out.u64(self.n_backward);
        self.longest_gap.write(out);
        out.u64(self.n_unlisted);
        out.i64(self.last_utime.unwrap_or_default());
        out.len(self.channels.len());
        for (name, channel) in &self.channels {
            out.bytes(name.as_bytes());
            channel.write(out);
        }
        out.len(self.bookmarks.len());
        for bookmark in &self.bookmarks {
            out.i64(bookmark.utime);
            out.bytes(bookmark.text.as_bytes());
        }
        out.len(self.schemas.sets().len());
        for set in self.schemas.sets() {
            out.bytes(set);
        }
    }

    pub(crate) fn read(input: &mut In<'_>) -> Option<Self> {
        let mut summary = Self {
            n_events: input.u64()?,
            n_bytes: input.u64()?,
            ..Self::default()
        };
        let has_span = input.u64()? != 0;
        let span = (input.i64()?, input.i64()?);
        summary.span = has_span.then_some(span);
        summary.n_backward = input.u64()?;
        summary.longest_gap = Gap::read(input)?;
        summary.n_unlisted = input.u64()?;
        let last_utime = input.i64()?;
        summary.last_utime = has_span.then_some(last_utime);
        for _ in 0..input.len()? {
            let name = input.text()?.to_owned();
            summary.channels.insert(name, ChannelSummary::read(input)?);
        }
        for _ in 0..input.len()? {
            let utime = input.i64()?;
            let text = input.text()?.to_owned();
            summary.bookmarks.push(Bookmark { utime, text });
        }
        for _ in 0..input.len()? {
            summary.schemas.add_bytes(input.bytes()?).ok()?;
        }
        Some(summary)
    }
}

impl ChannelSummary {
    fn write(&self, out: &mut Out) {
        out.u64(self.n_events);
        out.u64(self.n_bytes);
        out.i64(self.first_utime);
        out.i64(self.last_utime);
        self.longest_gap.write(out);
        out.len(self.types.len());
        for (fingerprint, n_events) in &self.types {
            out.u64(fingerprint.0);
            out.u64(*n_events);
        }
    }

    fn read(input: &mut In<'_>) -> Option<Self> {
        let mut channel = Self {
            n_events: input.u64()?,
            n_bytes: input.u64()?,
            first_utime: input.i64()?,
            last_utime: input.i64()?,
            longest_gap: Gap::read(input)?,
            types: Vec::new(),
        };
        for _ in 0..input.len()? {
            channel
                .types
                .push((Fingerprint(input.u64()?), input.u64()?));
        }
        Some(channel)
    }
}

impl Gap {
    fn write(self, out: &mut Out) {
        out.i64(self.from_utime);
        out.u64(self.us);
    }

    fn read(input: &mut In<'_>) -> Option<Self> {
        Some(Self {
            from_utime: input.i64()?,
            us: input.u64()?,
        })
    }
}
