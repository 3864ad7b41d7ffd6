//! What was heard on each channel, in bounded memory.

use bowline_bus::{Channel, Event, Sender};
use std::collections::{BTreeMap, BTreeSet};

/// More channels than any system has; what is on others is still counted, together.
const MAX_CHANNELS: usize = 65_536;
/// Senders that are remembered for each channel.
const MAX_SENDERS: usize = 64;

/// All channels, sorted by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channels {
    rows: BTreeMap<Channel, Traffic>,
    /// Messages on channels beyond those.
    pub(crate) unlisted: u64,
}

/// What came on one channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) last_size: usize,
    pub(crate) senders: BTreeSet<Sender>,
}

impl Channels {
    pub(crate) fn count(&mut self, event: &Event) {
        if self.rows.len() >= MAX_CHANNELS && !self.rows.contains_key(&event.channel) {
            self.unlisted += 1;
            return;
        }
        let traffic = self.rows.entry(event.channel.clone()).or_default();
        traffic.messages += 1;
        traffic.bytes += event.payload.len() as u64;
        traffic.last_size = event.payload.len();
        if traffic.senders.len() < MAX_SENDERS {
            traffic.senders.insert(event.arrival.sender);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Channel, &Traffic)> {
        self.rows.iter()
    }
}
