//! What happened to a component, step by step: enough to let it live the same life again, and to see whether it does.
//!
//! A trace records when a component was woken and by what; the messages themselves are in the log, and the trace knows them
//! by their hashes. It also has the hashes of what the component sent, so that a replay is checked while it runs.

mod lives;

pub use lives::{BadSteps, Lives, read_steps};

use crate::engine::Event;
use crate::outbox::Emission;
use crate::time::Time;
use xxhash_rust::xxh3::xxh3_64;

/// The channel of traces.
pub const STEPS_CHANNEL: &str = "bowline.steps";

/// The hash that messages are known by.
#[must_use]
pub fn hash(message: &[u8]) -> u64 {
    xxh3_64(message)
}

/// Steps of a component, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The number of the first one since the component started.
    pub first: u64,
    /// The steps.
    pub entries: Vec<Entry>,
}

/// Steps of a component since they were last asked for.
#[derive(Clone, Debug)]
pub struct Taken<'a> {
    /// Its name.
    pub component: &'a str,
    /// What it was made from, in words.
    pub settings: &'a str,
    /// The steps.
    pub trace: Trace,
}

/// One event in the life of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The time of the step.
    pub at: Time,
    /// Why it was woken.
    pub reason: Reason,
    /// Its outputs: port and hash of each message.
    pub sent: Vec<(usize, u64)>,
}

/// Why a component was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// To begin.
    Start,
    /// By a message.
    Message {
        /// Where it came in.
        port: usize,
        /// When it was received.
        received: Time,
        /// What it was.
        hash: u64,
    },
    /// Because something was due.
    Time,
}

impl Reason {
    pub(crate) fn of(event: &Event) -> Self {
        match event {
            Event::Start => Self::Start,
            Event::Time => Self::Time,
            Event::Message {
                port,
                parcel,
                received,
            } => Self::Message {
                port: *port,
                received: *received,
                hash: hash(parcel.bytes()),
            },
        }
    }
}

impl Entry {
    pub(crate) fn new(at: Time, reason: Reason, sent: &[Emission]) -> Self {
        let sent = sent
            .iter()
            .map(|emission| (emission.port, hash(emission.parcel.bytes())));
        Self {
            at,
            reason,
            sent: sent.collect(),
        }
    }
}

impl Trace {
    pub(crate) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes what is there; numbers go on.
    pub(crate) fn take(&mut self) -> Self {
        let entries = std::mem::take(&mut self.entries);
        let first = self.first;
        self.first += entries.len() as u64;
        Self { first, entries }
    }
}
