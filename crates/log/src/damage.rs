//! What is wrong with a log, and where.

use std::fmt;

/// How many are kept one by one. The rest is counted.
const MAX_LISTED: usize = 1_000;

/// A place in a log that does not hold what was written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the beginning of the file.
    pub offset: u64,
    /// How long it is, in bytes.
    pub len: u64,
    /// What was found.
    pub kind: DamageKind,
}

/// Kinds of damage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// Bytes between events that are no event.
    NoEvent,
    /// An event with other bytes than were written, as its checksum tells.
    Changed {
        /// The event's number.
        number: i64,
    },
    /// Events that were written, as the index tells, and are not in the file any more.
    Missing {
        /// How many.
        n_events: u64,
    },
    /// The file ends within an event or a chunk.
    CutOff,
    /// A chunk of events that is not what was written, and how many of its events could be saved.
    Chunk {
        /// Events of it that are intact.
        n_saved: u64,
        /// Events of it that are lost, as far as anybody can tell.
        n_lost: Option<u64>,
    },
    /// An attachment of MCAP that is not what was written.
    Attachment,
    /// What helps to find events, but not the events themselves. They are read without it.
    Directory,
}

impl DamageKind {
    /// Events that are known to be lost.
    #[must_use]
    pub fn n_lost(&self) -> u64 {
        match self {
            Self::Changed { .. } => 1,
            Self::Missing { n_events } => *n_events,
            Self::Chunk { n_lost, .. } => n_lost.unwrap_or(0),
            Self::NoEvent | Self::CutOff | Self::Attachment | Self::Directory => 0,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, len, kind } = self;
        write!(f, "byte {offset}, {len} bytes: ")?;
        match kind {
            DamageKind::NoEvent => f.write_str("no event"),
            DamageKind::Changed { number } => {
                write!(f, "event {number} is not what was written")
            }
            DamageKind::Missing { n_events } => {
                write!(f, "{n_events} events that were written are gone")
            }
            DamageKind::CutOff => f.write_str("the file ends before the event does"),
            DamageKind::Chunk { n_saved, n_lost } => {
                write!(
                    f,
                    "a chunk is not what was written; {n_saved} of its events are intact, "
                )?;
                match n_lost {
                    Some(n_lost) => write!(f, "{n_lost} are lost"),
                    None => f.write_str("nobody knows how many are lost"),
                }
            }
            DamageKind::Attachment => f.write_str("an attachment is not what was written"),
            DamageKind::Directory => {
                f.write_str("the directory is damaged, the events are read without it")
            }
        }
    }
}

/// All damage that was found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damages {
    listed: Vec<Damage>,
    n_places: u64,
    n_bytes: u64,
    n_lost: u64,
}

impl Damages {
    /// Adds a place. One that continues the last is part of it.
    pub fn add(&mut self, damage: Damage) {
        self.n_bytes += damage.len;
        self.n_lost += damage.kind.n_lost();
        if let Some(last) = self.listed.last_mut()
            && last.kind == DamageKind::NoEvent
            && damage.kind == DamageKind::NoEvent
            && last.offset + last.len == damage.offset
        {
            last.len += damage.len;
            return;
        }
        self.n_places += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(damage);
        }
    }

    /// The first places, one by one.
    #[must_use]
    pub fn listed(&self) -> &[Damage] {
        &self.listed
    }

    /// How many places there are.
    #[must_use]
    pub fn n_places(&self) -> u64 {
        self.n_places
    }

    /// How many bytes they are together.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// How many events are known to be lost. There may be more where nothing tells how many there were.
    #[must_use]
    pub fn n_lost(&self) -> u64 {
        self.n_lost
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n_places == 0
    }

    /// What is lost, rather than only harder to find.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        self.listed
            .iter()
            .any(|damage| damage.kind != DamageKind::Directory)
            || self.n_places > self.listed.len() as u64
    }
}
