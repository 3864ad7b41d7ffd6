//! What is carried, as the two ends' files declare it.

use std::time::Duration;

/// What a stream keeps of the messages that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The newest: a newer message takes the place of one that waits. For states and direct control.
    Newest,
    /// As many as fit, in order; the oldest makes room. For measurements that all count.
    Fifo,
    /// As many as fit, in order, each sent again until it has arrived or is too old. For tasks and leases.
    Reliable,
}

impl Keep {
    /// As files have it.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("newest", Self::Newest),
        ("fifo", Self::Fifo),
        ("reliable", Self::Reliable),
    ];

    pub(crate) fn bits(self) -> u8 {
        match self {
            Self::Newest => 0,
            Self::Fifo => 1,
            Self::Reliable => 2,
        }
    }

    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0 => Some(Self::Newest),
            1 => Some(Self::Fifo),
            2 => Some(Self::Reliable),
            _ => None,
        }
    }
}

/// A channel that is sent to the other end. Everything about how is declared here, at the sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// The channel on this end's bus.
    pub channel: String,
    /// The name that it is carried under, by which the other end knows it.
    pub name: String,
    /// What is kept of the messages that wait.
    pub keep: Keep,
    /// Within this time it should be there. Streams with a deadline go before all others, the earliest first.
    pub deadline: Option<Duration>,
    /// Older messages are worth nothing: they are neither sent nor delivered.
    pub ttl: Duration,
    /// What a message is worth, compared with one of another stream.
    pub value: f64,
    /// No more often than this, messages a second.
    pub rate_hz: Option<f64>,
    /// At least this often if there is anything to send, messages a second, whatever else there is.
    pub min_rate_hz: Option<f64>,
    /// Larger messages are not carried.
    pub max_bytes: usize,
    /// How many messages wait at most, for streams that keep more than the newest.
    pub queue: usize,
    /// The same bytes are not sent again within this time.
    pub again: Option<Duration>,
    /// Whether messages that differ in their utime alone, which is their first field, are the same by `again`.
    pub is_timeless: bool,
}

impl Outgoing {
    /// More is no message for a thin link by default, bytes.
    pub const DEFAULT_MAX_BYTES: usize = 1 << 20;
    /// So many messages wait by default.
    pub const DEFAULT_QUEUE: usize = 32;
    /// So long messages are good for by default.
    pub const DEFAULT_TTL: Duration = Duration::from_secs(1);

    /// A channel under its own name, newest only, without a deadline.
    #[must_use]
    pub fn new(channel: &str) -> Self {
        Self {
            channel: channel.to_owned(),
            name: channel.to_owned(),
            keep: Keep::Newest,
            deadline: None,
            ttl: Self::DEFAULT_TTL,
            value: 1.0,
            rate_hz: None,
            min_rate_hz: None,
            max_bytes: Self::DEFAULT_MAX_BYTES,
            queue: Self::DEFAULT_QUEUE,
            again: None,
            is_timeless: false,
        }
    }
}

/// A channel that the other end may send. Nothing else is taken from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The name that it is carried under.
    pub name: String,
    /// The channel on this end's bus.
    pub channel: String,
    /// Larger messages are refused.
    pub max_bytes: usize,
    /// Its messages are commands, and must be by the station that the peer is, or by a person there; stops may be by any sender.
    pub is_command: bool,
}

impl Incoming {
    /// A channel under its own name.
    #[must_use]
    pub fn new(channel: &str) -> Self {
        Self {
            name: channel.to_owned(),
            channel: channel.to_owned(),
            max_bytes: Outgoing::DEFAULT_MAX_BYTES,
            is_command: false,
        }
    }
}

/// What a stream is known by on the wire: a hash of its name (FNV-1a), so that nothing needs to be agreed upon first.
/// The reader of files sees to it that no two names of one end have the same.
#[must_use]
pub fn stream_id(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
