//! What comes on each channel, in bounded memory.
//!
//! Every message is counted; whether it can be decoded is looked at as long as a small budget lasts, and it is known how
//! many were looked at. Time is that of the events, so that a log looks as it did live.

use crate::rhythm::Rhythm;
use bowline_bus::{Channel, Event, Sender};
use bowline_format::Catalog;
use bowline_wire::Fingerprint;
use std::collections::HashMap;

/// More channels than any system has; what is on others is still counted, together.
const MAX_CHANNELS: usize = 65_536;
/// What is remembered of one channel.
const MAX_SENDERS: usize = 16;
const MAX_TYPES: usize = 4;
/// What may be decoded in each slice of time to see whether it can be: messages and bytes.
const SLICE_NS: i64 = 50_000_000;
const MESSAGES_PER_SLICE: u32 = 100;
const BYTES_PER_SLICE: usize = 1 << 20;

/// All channels.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    channels: HashMap<Channel, Traffic>,
    unlisted: u64,
    budget: Budget,
    latest_ns: i64,
}

/// What came on one channel.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// How many messages.
    pub messages: u64,
    /// Their payload, in bytes.
    pub bytes: u64,
    /// The size of the latest, in bytes.
    pub last_size: usize,
    /// When the latest was received, in nanoseconds since the epoch.
    pub last_ns: i64,
    /// Messages whose types had no description when they came, or that are not LCM's.
    pub unknown: u64,
    /// Messages that were decoded, to see whether that is possible.
    pub checked: u64,
    /// How many of those do not match their type.
    pub broken: u64,
    rhythm: Rhythm,
    types: Vec<Fingerprint>,
    senders: Vec<Sender>,
    has_more_senders: bool,
    last_type: Option<Fingerprint>,
    is_known: bool,
}

/// What may still be decoded.
#[derive(Clone, Debug, Default)]
struct Budget {
    slice: i64,
    n_messages: u32,
    n_bytes: usize,
}

impl Watch {
    /// Counts a message.
    pub fn take(&mut self, event: &Event, catalog: &Catalog) {
        let now_ns = event.arrival.received_ns;
        self.latest_ns = now_ns;
        if !self.channels.contains_key(&event.channel) {
            if self.channels.len() >= MAX_CHANNELS {
                self.unlisted += 1;
                return;
            }
            self.channels
                .insert(event.channel.clone(), Traffic::default());
        }
        if let Some(traffic) = self.channels.get_mut(&event.channel) {
            traffic.count(event);
            if traffic.identify(&event.payload, catalog)
                && self.budget.allows(now_ns, event.payload.len())
            {
                traffic.check(&event.payload, catalog);
            }
        }
    }

    /// Forgets everything, as when a log is played again from its beginning.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// One channel.
    #[must_use]
    pub fn get(&self, channel: &str) -> Option<&Traffic> {
        self.channels.get(channel)
    }

    /// All channels, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&Channel, &Traffic)> {
        self.channels.iter()
    }

    /// How many channels there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.channels.len()
    }

    /// Whether nothing has come.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Messages on channels beyond those that are remembered.
    #[must_use]
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// When the latest message came, in nanoseconds since the epoch; 0 before there is one.
    #[must_use]
    pub fn latest_ns(&self) -> i64 {
        self.latest_ns
    }
}

impl Traffic {
    fn count(&mut self, event: &Event) {
        let size = event.payload.len();
        self.messages += 1;
        self.bytes += size as u64;
        self.last_size = size;
        self.last_ns = event.arrival.received_ns;
        self.rhythm.beat(event.arrival.received_ns, size);
        let sender = event.arrival.sender;
        if self.senders.last() == Some(&sender) {
            return;
        }
        // The latest one last.
        if let Some(at) = self.senders.iter().position(|known| *known == sender) {
            self.senders.remove(at);
        } else if self.senders.len() >= MAX_SENDERS {
            self.senders.remove(0);
            self.has_more_senders = true;
        }
        self.senders.push(sender);
    }

    /// Returns whether its type is known.
    fn identify(&mut self, payload: &[u8], catalog: &Catalog) -> bool {
        let fingerprint = fingerprint(payload);
        if fingerprint != self.last_type {
            self.last_type = fingerprint;
            self.is_known = false;
            if let Some(new) = fingerprint {
                self.types.retain(|known| *known != new);
                self.types.insert(0, new);
                self.types.truncate(MAX_TYPES);
            }
        }
        if !self.is_known {
            let found = fingerprint.and_then(|fingerprint| catalog.find(fingerprint));
            self.is_known = found.is_some();
        }
        self.unknown += u64::from(!self.is_known);
        self.is_known
    }

    fn check(&mut self, payload: &[u8], catalog: &Catalog) {
        self.checked += 1;
        self.broken += u64::from(!matches!(catalog.decode(payload), Some(Ok(_))));
    }

    /// What its messages begin with, the latest first.
    #[must_use]
    pub fn types(&self) -> &[Fingerprint] {
        &self.types
    }

    /// Who sent the latest.
    #[must_use]
    pub fn sender(&self) -> Option<Sender> {
        self.senders.last().copied()
    }

    /// Who sends, the latest last, and whether there are more than that.
    #[must_use]
    pub fn senders(&self) -> (&[Sender], bool) {
        (&self.senders, self.has_more_senders)
    }

    /// Messages a second, as of late.
    #[must_use]
    pub fn rate_hz(&self, now_ns: i64) -> f64 {
        self.rhythm.rate_hz(now_ns)
    }

    /// Payload bytes a second, as of late.
    #[must_use]
    pub fn bytes_per_second(&self, now_ns: i64) -> f64 {
        self.rhythm.bytes_per_second(now_ns)
    }

    /// The standard deviation of the time between two messages, as of late, in seconds.
    #[must_use]
    pub fn jitter_s(&self) -> f64 {
        self.rhythm.jitter_s()
    }

    /// Messages that cannot be decoded, as far as was looked.
    #[must_use]
    pub fn undecodable(&self) -> u64 {
        self.unknown + self.broken
    }

    /// Whether some messages were not looked at, so that more may be broken.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.checked + self.unknown < self.messages
    }
}

impl Budget {
    fn allows(&mut self, now_ns: i64, size: usize) -> bool {
        let slice = now_ns.div_euclid(SLICE_NS);
        if slice != self.slice {
            *self = Self {
                slice,
                ..Self::default()
            };
        }
        if self.n_messages >= MESSAGES_PER_SLICE || self.n_bytes >= BYTES_PER_SLICE {
            return false;
        }
        self.n_messages += 1;
        self.n_bytes += size;
        true
    }
}

/// What a message of LCM begins with.
#[must_use]
pub fn fingerprint(payload: &[u8]) -> Option<Fingerprint> {
    let first = payload.first_chunk()?;
    Some(Fingerprint(u64::from_be_bytes(*first)))
}
