//! What is wrong with a log, and where.

use crate::bytes::{In, Out};
use std::fmt;

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
    /// An event whose bytes do not match its checksum.
    Changed {
        /// The event's number.
        number: i64,
    },
    /// Events that are in the index and not in the file any more.
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
        /// Events of it that are known to be lost.
        n_lost: Option<u64>,
    },
    /// A chunk that expands to more than real chunks do: it was made to exhaust memory, and is left out.
    TooLarge {
        /// How many bytes it may expand to.
        limit: u64,
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
            Self::NoEvent
            | Self::CutOff
            | Self::TooLarge { .. }
            | Self::Attachment
            | Self::Directory => 0,
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
                    None => f.write_str("how many are lost is not known"),
                }
            }
            DamageKind::TooLarge { limit } => write!(
                f,
                "a chunk expands to more than {limit} bytes, which no real one does; its events are left out"
            ),
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
    is_lossy: bool,
    /// Where the last place ends, if it may go on.
    open_end: Option<u64>,
}

impl Damages {
    /// How many places are kept one by one. The rest is counted.
    pub const MAX_LISTED: usize = 1_000;

    /// Adds a place. One that continues the last is part of it.
    pub fn add(&mut self, damage: Damage) {
        self.n_bytes += damage.len;
        self.n_lost += damage.kind.n_lost();
        self.is_lossy |= damage.kind != DamageKind::Directory;
        let is_open = damage.kind == DamageKind::NoEvent;
        let goes_on = is_open && self.open_end == Some(damage.offset);
        self.open_end = is_open.then_some(damage.offset.saturating_add(damage.len));
        let is_last_listed = self.n_places == self.listed.len() as u64;
        if goes_on {
            let last = self.listed.last_mut().filter(|_| is_last_listed);
            last.into_iter().for_each(|last| last.len += damage.len);
            return;
        }
        self.n_places += 1;
        if self.listed.len() < Self::MAX_LISTED {
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

    /// How many events are known to be lost. The number is a lower bound where no index or summary gives it.
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
        self.is_lossy
    }

    pub(crate) fn write(&self, out: &mut Out) {
        out.len(self.listed.len());
        for damage in &self.listed {
            damage.write(out);
        }
        // What is beyond the list is counted, too.
        out.u64(self.n_places);
        out.u64(self.n_bytes);
        out.u64(self.n_lost);
        out.u64(u64::from(self.is_lossy));
    }

    pub(crate) fn read(input: &mut In<'_>) -> Option<Self> {
        let mut damages = Self::default();
        for _ in 0..input.len()? {
            damages.listed.push(Damage::read(input)?);
        }
        damages.n_places = input.u64()?;
        damages.n_bytes = input.u64()?;
        damages.n_lost = input.u64()?;
        damages.is_lossy = input.u64()? != 0;
        let is_sound = damages.listed.len() <= Self::MAX_LISTED
            && damages.n_places >= damages.listed.len() as u64;
        is_sound.then_some(damages)
    }
}

impl Damage {
    fn write(&self, out: &mut Out) {
        out.u64(self.offset);
        out.u64(self.len);
        let (kind, first, second) = match &self.kind {
            DamageKind::NoEvent => (0, 0, 0),
            DamageKind::Changed { number } => (1, number.cast_unsigned(), 0),
            DamageKind::Missing { n_events } => (2, *n_events, 0),
            DamageKind::CutOff => (3, 0, 0),
            DamageKind::Chunk { n_saved, n_lost } => (4, *n_saved, n_lost.map_or(0, |n| n + 1)),
            DamageKind::Directory => (5, 0, 0),
            DamageKind::Attachment => (6, 0, 0),
            DamageKind::TooLarge { limit } => (7, *limit, 0),
        };
        out.u64(kind);
        out.u64(first);
        out.u64(second);
    }

    fn read(input: &mut In<'_>) -> Option<Self> {
        let (offset, len) = (input.u64()?, input.u64()?);
        let (kind, first, second) = (input.u64()?, input.u64()?, input.u64()?);
        let kind = match kind {
            0 => DamageKind::NoEvent,
            1 => DamageKind::Changed {
                number: first.cast_signed(),
            },
            2 => DamageKind::Missing { n_events: first },
            3 => DamageKind::CutOff,
            4 => DamageKind::Chunk {
                n_saved: first,
                n_lost: second.checked_sub(1),
            },
            5 => DamageKind::Directory,
            6 => DamageKind::Attachment,
            7 => DamageKind::TooLarge { limit: first },
            _ => return None,
        };
        Some(Self { offset, len, kind })
    }
}
