//! What a subscriber gets.

use bowline_wire::Channel;
use bytes::Bytes;
use std::fmt;
use std::net::SocketAddr;

/// One message as it arrived, not decoded.
///
/// Cheap to clone: the channel and the payload are shared.
#[derive(Clone, Debug)]
pub struct Event {
    /// Where it was published.
    pub channel: Channel,
    /// What was published.
    pub payload: Bytes,
    /// How it came.
    pub arrival: Arrival,
}

/// When and from whom a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it was received, in nanoseconds since the epoch: from the kernel where that stamps datagrams, otherwise
    /// from the clock when it was read; from a log, when it was recorded if the URL asks for that.
    pub received_ns: i64,
    /// Who sent it.
    pub sender: Sender,
    /// The sender's own count of its messages, on transports that carry one.
    pub sequence: Option<u32>,
}

impl Arrival {
    /// When it was received, in microseconds since the epoch, as LCM counts.
    #[must_use]
    pub fn utime(&self) -> i64 {
        self.received_ns.div_euclid(1_000)
    }
}

/// The sender of a message, as far as the transport knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sender {
    /// A socket of some process on some host.
    Socket(SocketAddr),
    /// A publisher in this process.
    Process,
    /// A publisher that shares memory with us, by the low bits of its identity.
    Memory(u64),
    /// A client of a hub, which does not identify it.
    Hub,
    /// A log.
    Log,
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address) => address.fmt(f),
            Self::Process => f.write_str("this process"),
            Self::Memory(id) => write!(f, "shm:{id:016x}"),
            Self::Hub => f.write_str("hub"),
            Self::Log => f.write_str("log"),
        }
    }
}
