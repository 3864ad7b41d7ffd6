//! The senders on a bus: what was seen of them, what programs announce, and what this machine knows of its own.

use crate::publishers::{Publisher, Publishers};
use bowline_bus::{Event, Sender, SenderCounts};
use bowline_wire::Fingerprint;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Senders that are remembered; what others send is counted together.
const MAX_SENDERS: usize = 4_096;
/// Of each sender.
const MAX_CHANNELS: usize = 4_096;
const MAX_TYPES: usize = 16;

/// What came from each sender.
#[derive(Clone, Debug, Default)]
pub struct Senders {
    seen: HashMap<Sender, Sending>,
    unlisted: u64,
}

/// What came from one of them.
#[derive(Clone, Debug, Default)]
struct Sending {
    messages: u64,
    bytes: u64,
    channels: BTreeMap<String, BTreeSet<Fingerprint>>,
}

/// A process of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// What it is called.
    pub name: String,
    /// Its number.
    pub pid: u32,
}

/// A program on the bus, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// What the program is called.
    pub process: Option<String>,
    /// Its process.
    pub pid: Option<i64>,
    /// Its machine.
    pub host: Option<String>,
    /// Where its messages come from.
    pub sender: Option<Sender>,
    /// Whether it announces what it publishes, as ours do.
    pub is_announced: bool,
    /// Its channels, each with what its messages begin with.
    pub channels: BTreeMap<String, Vec<TypeName>>,
    /// Messages that came from it; `None` where senders cannot be distinguished.
    pub messages: Option<u64>,
    /// Their payload bytes.
    pub bytes: Option<u64>,
    /// What the transport knows of it.
    pub counts: Option<SenderCounts>,
}

/// A type by its name, or by what its messages begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeName {
    /// Its name.
    Named(String),
    /// Its type has no description.
    Unknown(Fingerprint),
}

impl Senders {
    /// Counts a message.
    pub fn take(&mut self, event: &Event) {
        let sender = event.arrival.sender;
        if !self.seen.contains_key(&sender) && self.seen.len() >= MAX_SENDERS {
            self.unlisted += 1;
            return;
        }
        let sending = self.seen.entry(sender).or_default();
        sending.messages += 1;
        sending.bytes += event.payload.len() as u64;
        if !sending.channels.contains_key(event.channel.as_str()) {
            if sending.channels.len() >= MAX_CHANNELS {
                return;
            }
            sending
                .channels
                .insert(event.channel.to_string(), BTreeSet::new());
        }
        if let Some(types) = sending.channels.get_mut(event.channel.as_str())
            && types.len() < MAX_TYPES
        {
            types.extend(crate::fingerprint(&event.payload));
        }
    }

    /// Messages of senders beyond those that are remembered.
    #[must_use]
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// All senders that were seen.
    pub fn iter(&self) -> impl Iterator<Item = Sender> {
        let mut senders: Vec<_> = self.seen.keys().copied().collect();
        senders.sort();
        senders.into_iter()
    }

    /// Puts together what is known. `counts` are the transport's, `local` are processes of this machine by where they
    /// send from, `name` finds the names of types.
    #[must_use]
    pub fn who(
        &self,
        publishers: &Publishers,
        counts: &[SenderCounts],
        local: &HashMap<Sender, Process>,
        name: impl Fn(Fingerprint) -> Option<String>,
    ) -> Vec<Who> {
        let mut senders: BTreeSet<Sender> = self.iter().collect();
        senders.extend(counts.iter().map(|counts| counts.sender));
        let mut found = Vec::new();
        for sender in senders {
            let publisher = publishers.of_sender(sender);
            let mut who = self.seen_as(sender, &name);
            who.counts = counts.iter().find(|it| it.sender == sender).copied();
            who.name_by(publisher, local.get(&sender));
            found.push(who);
        }
        // Behind a hub are many, whose announcements name where they publish.
        let is_shown = |publisher: &&Publisher| {
            let is_own = |sender: &Sender| publishers.of_sender(*sender).is_some();
            publisher.senders.iter().any(is_own)
        };
        let hidden = publishers.iter().filter(|publisher| !is_shown(publisher));
        found.extend(hidden.map(Who::of_publisher));
        found
    }

    fn seen_as(&self, sender: Sender, name: impl Fn(Fingerprint) -> Option<String>) -> Who {
        let sending = self.seen.get(&sender).cloned().unwrap_or_default();
        let named = |fingerprint: &Fingerprint| match name(*fingerprint) {
            Some(name) => TypeName::Named(name),
            None => TypeName::Unknown(*fingerprint),
        };
        let channels = sending.channels.iter();
        let channels =
            channels.map(|(channel, types)| (channel.clone(), types.iter().map(named).collect()));
        Who {
            sender: Some(sender),
            channels: channels.collect(),
            messages: Some(sending.messages),
            bytes: Some(sending.bytes),
            ..Who::default()
        }
    }
}

impl Who {
    /// What the machine knows of its own processes counts more than what they announce.
    fn name_by(&mut self, publisher: Option<&Publisher>, local: Option<&Process>) {
        if let Some(publisher) = publisher {
            self.process = Some(publisher.process.clone());
            self.pid = Some(publisher.pid.into());
            self.host = Some(publisher.host.clone());
            self.is_announced = true;
        }
        if let Some(local) = local {
            // The name of a program is longer than the kernel's.
            let is_said = self.pid == Some(local.pid.into());
            if !is_said {
                self.process = Some(local.name.clone());
                self.pid = Some(local.pid.into());
            }
        }
    }

    fn of_publisher(publisher: &Publisher) -> Self {
        let channels = publisher.channels.iter();
        let named = |name: &String| TypeName::Named(name.clone());
        Self {
            process: Some(publisher.process.clone()),
            pid: Some(publisher.pid.into()),
            host: Some(publisher.host.clone()),
            sender: publisher.senders.first().copied(),
            is_announced: true,
            channels: channels
                .map(|(channel, types)| (channel.clone(), types.iter().map(named).collect()))
                .collect(),
            ..Self::default()
        }
    }
}
