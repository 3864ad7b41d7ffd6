//! What a log knows of its types, published for inspectors of the bus on which it is played.

use bowline_bus::Bus;
use bowline_format::{LogEvent, Reader, Schemas};
use bowline_wire::Fingerprint;
use std::collections::{HashMap, HashSet};

/// What is known, and what was published.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    schemas: Schemas,
    n_learnt: usize,
    /// On which channels messages of a type were described.
    described: HashMap<Fingerprint, HashSet<String>>,
}

/// How many types and channels are remembered as described. Others are looked up each time.
const MAX_DESCRIBED: usize = 65_536;

impl Descriptions {
    /// Takes over what a log has described since the last time.
    pub(super) fn learn_from(&mut self, log: &Reader) {
        let n_schemas = log.n_schemas();
        if n_schemas != self.n_learnt {
            self.n_learnt = n_schemas;
            self.schemas.merge(&log.schemas());
        }
    }

    /// Has the bus describe what is about to be published, if that was not done before.
    pub(super) fn describe(&mut self, bus: &Bus, channel: &str, event: &LogEvent<'_>) {
        if self.schemas.is_empty() {
            return;
        }
        let Some(fingerprint) = event.fingerprint() else {
            return;
        };
        let channels = self.described.get(&fingerprint);
        if channels.is_some_and(|channels| channels.contains(channel)) {
            return;
        }
        if let Some((types, id)) = self.schemas.find(fingerprint) {
            bus.describe(channel, types, id);
        }
        if self.described.len() < MAX_DESCRIBED {
            let channels = self.described.entry(fingerprint).or_default();
            if channels.len() < MAX_DESCRIBED {
                channels.insert(channel.to_owned());
            }
        }
    }
}
