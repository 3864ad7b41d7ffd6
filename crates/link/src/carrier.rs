//! What packets travel in: a carrier is one file below `carrier/` and one row of [`CARRIERS`].
//!
//! Carriers own their sockets and nothing else: the runner of a link waits for all of them at once and calls them.
//! Below a carrier as little as possible should wait, because what waits there cannot be replaced by something newer.

mod quic;
mod tcp;
mod udp;

use crate::keys::{Fingerprint, Identity};
use crate::path::Carriage;
use bowline_component::Time;
use bowline_host::clock::Live;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// What happened on a carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// There is a connection.
    Up(Carriage),
    /// A packet arrived.
    Received(Vec<u8>),
    /// A packet arrived from another sender than the other end, and was dropped.
    Refused,
    /// There is no connection any more.
    Down(String),
    /// Something is wrong that people should know.
    Problem(String),
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way, or there is no peer to send it to.
    Taken,
    /// There is no room; try again.
    Full,
}

/// Something to wait for.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'c> {
    /// The descriptor. Something to read is always waited for.
    pub fd: BorrowedFd<'c>,
    /// Whether room to write is waited for too.
    pub is_for_room: bool,
}

/// Carries packets to the other end and back, over a network that may lose them.
pub trait Carrier: fmt::Debug + Send {
    /// What to wait for; at most one descriptor each.
    fn watched(&self) -> Option<Watch<'_>>;

    /// When to work though nothing is there to read.
    fn wakes_at(&mut self) -> Option<Time>;

    /// Does what there is to do, without waiting.
    fn work(&mut self, now: Time, happened: &mut Vec<Happened>);

    /// Sends a packet, without waiting.
    fn send(&mut self, packet: &[u8], now: Time) -> Sent;

    /// Where it listens, or whom it connects to.
    fn address(&self) -> SocketAddr;
}

/// Where a carrier meets the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meet {
    /// Here.
    Listen(SocketAddr),
    /// There.
    Connect(SocketAddr),
}

/// What makes a carrier.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Where.
    pub meet: Meet,
    /// Who this end is.
    pub identity: Option<Arc<Identity>>,
    /// Who the other end must be.
    pub peer: Option<Fingerprint>,
    /// For libraries that want moments of the system's clock.
    pub clock: Live,
}

/// A row of the table; a program adds rows of its own by the [`Tables`](crate::Tables) that it reads files of links with.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// As files name it.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Whether it authenticates the other end, and lets no third party read.
    pub is_secure: bool,
    /// Opens one.
    pub open: fn(&Opening) -> io::Result<Box<dyn Carrier>>,
}

impl Row {
    /// Opens one.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(&self, opening: &Opening) -> io::Result<Box<dyn Carrier>> {
        (self.open)(opening)
    }
}

/// All there are, by name.
pub const CARRIERS: &[Row] = &[
    Row {
        name: "quic",
        about: "encrypted, and both ends know each other by their keys",
        is_secure: true,
        open: |opening| Ok(Box::new(quic::Quic::open(opening)?)),
    },
    Row {
        name: "tcp",
        about: "where nothing else gets through; what is lost holds up what follows. Any host may read, change and send",
        is_secure: false,
        open: |opening| Ok(Box::new(tcp::Tcp::open(opening)?)),
    },
    Row {
        name: "udp",
        about: "least overhead. Any host may read, change and send",
        is_secure: false,
        open: |opening| Ok(Box::new(udp::Udp::open(opening)?)),
    },
];

/// The one of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    CARRIERS.iter().find(|row| row.name == name)
}

/// What may wait in a socket's send buffer, bytes; the kernel counts twice what it is given.
const SEND_BUFFER: usize = 16 << 10;
/// Packets that are read at a time, so that sending gets its turn.
const MAX_READ: usize = 64;

/// The rests between two attempts to connect: longer each time.
#[derive(Clone, Copy, Debug, Default)]
struct Backoff {
    n_tries: u32,
    try_at: Option<Time>,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(3);

    fn is_due(&self, now: Time) -> bool {
        self.try_at.is_none_or(|at| now >= at)
    }

    fn failed(&mut self, now: Time) {
        let rest = Self::FIRST.saturating_mul(1 << self.n_tries.min(8));
        self.try_at = Some(now + rest.min(Self::LONGEST));
        self.n_tries += 1;
    }

    fn succeeded(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::CARRIERS;

    #[test]
    fn the_table_is_sorted_and_its_names_are_unique() {
        assert!(CARRIERS.is_sorted_by(|before, after| before.name < after.name));
    }
}
