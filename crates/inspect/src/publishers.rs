//! The programs on a bus and what they publish, by their announcements.
//!
//! Any program can announce anything, so all of this is unverified, and in bounded memory.

use bowline_bus::Sender;
use bowline_msgs::Schema;
use std::collections::{BTreeMap, BTreeSet};

/// Programs that are remembered. The one that was silent for longest makes room.
const MAX_PUBLISHERS: usize = 1_024;
/// Of each program.
const MAX_CHANNELS: usize = 4_096;
const MAX_TYPES: usize = 4_096;
const MAX_SENDERS: usize = 64;
/// Longer names are cut: real programs have none.
const MAX_NAME: usize = 256;

/// A program that announces what it publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The name of its machine.
    pub host: String,
    /// Its own name.
    pub process: String,
    /// Its process on that machine.
    pub pid: i32,
    /// Where its announcements came from: several where it has several buses, or the hub.
    pub senders: BTreeSet<Sender>,
    /// Where it publishes, each with the names of the types.
    pub channels: BTreeMap<String, BTreeSet<String>>,
    /// When its last announcement came, nanoseconds since the epoch.
    pub heard_ns: i64,
}

/// All programs that announce, by host, process and number.
#[derive(Clone, Debug, Default)]
pub struct Publishers {
    rows: BTreeMap<(String, String, i32), Publisher>,
    n_dropped: u64,
}

impl Publishers {
    /// Takes in an announcement. In a log they have no publisher.
    pub fn hear(&mut self, schema: &Schema, sender: Sender, received_ns: i64) {
        if schema.pid == 0 && schema.process.is_empty() {
            return;
        }
        let key = (cut(&schema.host), cut(&schema.process), schema.pid);
        if !self.rows.contains_key(&key) && self.rows.len() >= MAX_PUBLISHERS {
            self.drop_oldest();
        }
        let (host, process, pid) = key.clone();
        let row = self.rows.entry(key).or_insert_with(|| Publisher {
            host,
            process,
            pid,
            senders: BTreeSet::new(),
            channels: BTreeMap::new(),
            heard_ns: received_ns,
        });
        row.hear(schema, sender, received_ns);
    }

    fn drop_oldest(&mut self) {
        let oldest = self.rows.iter().min_by_key(|(_, row)| row.heard_ns);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.rows.remove(&key);
            self.n_dropped += 1;
        }
    }

    /// All of them, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Publisher> {
        self.rows.values()
    }

    /// The program whose announcements come from there, if there is just one. Behind a hub there may be others that
    /// announce nothing.
    #[must_use]
    pub fn of_sender(&self, sender: Sender) -> Option<&Publisher> {
        if matches!(sender, Sender::Hub | Sender::Log) {
            return None;
        }
        let mut found = self.iter().filter(|row| row.senders.contains(&sender));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// Programs that were forgotten because there were too many.
    #[must_use]
    pub fn n_dropped(&self) -> u64 {
        self.n_dropped
    }
}

impl Publisher {
    fn hear(&mut self, schema: &Schema, sender: Sender, received_ns: i64) {
        self.heard_ns = received_ns;
        if self.senders.len() < MAX_SENDERS {
            self.senders.insert(sender);
        }
        let name = cut(&schema.name);
        for channel in &schema.channels {
            let channel = cut(channel);
            if self.channels.len() >= MAX_CHANNELS && !self.channels.contains_key(&channel) {
                continue;
            }
            let types = self.channels.entry(channel).or_default();
            if types.len() < MAX_TYPES {
                types.insert(name.clone());
            }
        }
    }
}

fn cut(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}
