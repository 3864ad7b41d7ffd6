//! A message of each channel of an undescribed type, to guess what it is.

use bowline_bus::{Channel, Event};
use bowline_inspect::{fingerprint, guess};
use bowline_log::Catalog;
use std::collections::HashMap;

/// Channels of which a message is kept, and how much of it.
const MAX_CHANNELS: usize = 1_024;
const MAX_BYTES: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Samples {
    kept: HashMap<Channel, Vec<u8>>,
}

impl Samples {
    pub(super) fn take(&mut self, event: &Event, catalog: &Catalog) {
        if self.kept.contains_key(&event.channel) || self.kept.len() >= MAX_CHANNELS {
            return;
        }
        let known = fingerprint(&event.payload).and_then(|print| catalog.find(print));
        if known.is_none() {
            let start = event.payload.get(..MAX_BYTES).unwrap_or(&event.payload);
            self.kept.insert(event.channel.clone(), start.to_vec());
        }
    }

    /// What it is, if it is no message of LCM.
    pub(super) fn other(&self, channel: &str, catalog: &Catalog) -> Option<String> {
        let payload = self.kept.get(channel)?;
        let guess = guess(payload, catalog);
        let is_other =
            payload.len() < 8 || guess.starts_with("looks like") || guess.contains("zeros");
        is_other.then_some(guess)
    }
}
