//! A bad network between two devices, as bad as a seed makes it, which keeps a record of what it did.
//!
//! ```text
//! host A: vA ==== wA : relay : wB ==== vB : host B
//! ```
//!
//! Frames are taken from one device and put onto the other, and all but LCM's datagrams pass untouched. A datagram of many
//! frames is put together first, so that fate strikes datagrams, as LCM counts them, and never a part of one. What is
//! decided depends only on the seed, the direction, which sender of its address it is, and which datagram: two runs decide
//! alike, whatever the timing. The senders of one address are distinguished by the order in which they begin.
//!
//! [`decide`] decides, [`frames`] knows Ethernet, IP and UDP, [`queue`] keeps what comes later, [`run`] does the work, and
//! [`network`] is all of it together with its two hosts. None but the last two do I/O.

pub mod decide;
pub mod frames;
pub mod network;
pub mod queue;
pub mod run;

use crate::lcm_datagram::Id;
use std::fmt;
use std::net::SocketAddrV4;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From the first device to the second.
    There,
    /// From the second device to the first.
    Back,
}

/// What is done to a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fate {
    /// How often it is passed on: 0 is a loss, 2 a duplicate.
    pub n_copies: u8,
    /// How many of the datagrams behind it overtake it, or its second copy if there are two.
    pub overtaken_by: u8,
    /// How much later it is passed on, in microseconds.
    pub delay_us: u32,
}

/// A line of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A datagram came, and what becomes of it.
    Came(Fate),
    /// A copy of it was passed on.
    Passed,
}

/// Something that happened to a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Which way it went.
    pub way: Way,
    /// Who sent it.
    pub source: SocketAddrV4,
    /// Which of the sender's datagrams it is.
    pub id: Id,
    /// What happened.
    pub event: Event,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::There => "there",
            Way::Back => "back",
        };
        write!(f, "{way} {} {} ", self.source, self.id.to_text())?;
        match self.event {
            Event::Passed => f.write_str("passed"),
            Event::Came(fate) => {
                let Fate {
                    n_copies,
                    overtaken_by,
                    delay_us,
                } = fate;
                write!(f, "came {n_copies} {overtaken_by} {delay_us}")
            }
        }
    }
}

impl Entry {
    /// Reads a line of the record. Panics when it is none.
    #[must_use]
    pub fn from_line(line: &str) -> Self {
        Self::read(line).unwrap_or_else(|| panic!("expected a line of a relay, found {line:?}"))
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let way = match words.next()? {
            "there" => Way::There,
            "back" => Way::Back,
            _ => return None,
        };
        let source = words.next()?.parse().ok()?;
        let id = Id::from_text(words.next()?)?;
        let event = match words.next()? {
            "passed" => Event::Passed,
            "came" => Event::Came(Fate {
                n_copies: words.next()?.parse().ok()?,
                overtaken_by: words.next()?.parse().ok()?,
                delay_us: words.next()?.parse().ok()?,
            }),
            _ => return None,
        };
        Some(Self {
            way,
            source,
            id,
            event,
        })
    }
}
