//! Ways to carry messages.
//!
//! A transport is one file, here or in a crate of its own, with an implementation of [`Transport`] and a row for the
//! table of [`Schemes`](crate::Schemes), which chooses it by the scheme of a URL.

pub mod file;
pub mod memq;
pub mod mpudpm;
#[cfg(feature = "shm")]
pub mod shm;
mod slot;
pub mod tcpq;
pub mod udpm;

use crate::clock::Wait;
use crate::counts::{NetworkCounts, SenderCounts};
use crate::router::{Inlet, Interest};
use crate::url::BadUrl;
use bytes::Bytes;
use std::fmt;
use std::io;
use std::time::Duration;

/// A way to carry messages between buses: what every transport must do, and access to what some can.
///
/// Implementations do no encoding, hold no subscriptions and start no threads that read: the bus owns all three. Every
/// implementation passes the suite of the crate `bowline-conformance`.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Hands messages to the network, in order, in as few calls as it takes. Any thread; never waits for receivers.
    ///
    /// # Errors
    /// When a message could not be handed over; those before it were.
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError>;

    /// Waits for traffic for `wait` at most, and hands in what arrived. At most one thread at a time. May return
    /// early with nothing; [`Wait::idle`] is for times when nothing can come.
    ///
    /// # Errors
    /// When nothing can be received now, or nothing more will ever come.
    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError>;

    /// For a transport that filters by subscriptions. Others hand in all that arrives.
    fn selective(&self) -> Option<&dyn Selective> {
        None
    }

    /// For a transport whose senders hand in messages on their own threads. Others are read by the bus.
    fn direct(&self) -> Option<&dyn Direct> {
        None
    }

    /// For a transport that knows how full its receive buffer is. Others are read when a subscriber waits.
    fn buffered(&self) -> Option<&dyn Buffered> {
        None
    }

    /// For a transport that counts what it sees.
    fn observed(&self) -> Option<&dyn Observed> {
        None
    }

    /// For a transport whose memory messages can be encoded into. To others they are handed encoded.
    fn lending(&self) -> Option<&dyn Lending> {
        None
    }
}

/// A transport that filters by subscriptions.
pub trait Selective {
    /// Called whenever subscriptions change, before a new one counts as made: opens what receiving needs, and may have
    /// the network leave out what no one subscribes to. What arrives meanwhile may be handed in.
    ///
    /// # Errors
    /// When receiving is impossible.
    fn want(&self, interest: &Interest, inlet: &mut Inlet) -> Result<(), ListenError>;
}

/// A transport whose senders hand in messages on their own threads.
pub trait Direct {
    /// Called once, before the first subscription counts as made: where senders hand in from now on.
    fn attach(&self, inlet: Inlet);
}

/// A transport that knows how full its receive buffer is.
pub trait Buffered {
    /// Whether something waits to be read. A cheap guess; `true` costs a needless look.
    fn holds_unread(&self) -> bool;

    /// Whether what waits to be read will soon be lost for want of room.
    fn is_pressed(&self) -> bool;

    /// For how long it can safely be left unread. Then the bus asks whether it is pressed.
    fn endurance(&self) -> Duration {
        DEFAULT_ENDURANCE
    }
}

/// A transport that counts what it sees.
pub trait Observed {
    /// What was seen so far.
    fn counts(&self) -> NetworkCounts;

    /// What keeps messages from coming and going now, in words, if the transport knows of anything.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// What was seen so far of each sender, where senders are distinguished.
    fn senders(&self) -> Vec<SenderCounts> {
        Vec::new()
    }
}

/// A transport whose memory messages can be encoded into.
pub trait Lending {
    /// Sends a message of `size` bytes, which `write` puts where they are to be. If that returns that it could not,
    /// nothing is sent.
    ///
    /// # Errors
    /// When the message could not be handed over.
    fn send_written(
        &self,
        channel: &str,
        size: usize,
        write: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<(), SendError>;
}

/// How long a receive buffer of a usual size holds usual traffic.
pub(crate) const DEFAULT_ENDURANCE: Duration = Duration::from_millis(20);

/// A message on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Checked: 1 to 63 bytes without NUL.
    pub channel: &'a str,
    /// What to send.
    pub payload: &'a [u8],
    /// The same payload, if it is shared already and can be kept without a copy.
    pub shared: Option<&'a Bytes>,
}

impl Outgoing<'_> {
    /// The payload, to keep.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.shared
            .cloned()
            .unwrap_or_else(|| Bytes::copy_from_slice(self.payload))
    }
}

/// Why a bus cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL makes no sense.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// The system refused.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried, as in "make a socket".
        doing: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl OpenError {
    /// For `map_err`: adds what was tried.
    pub fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }
}

/// Why a transport cannot receive.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The system refused.
    #[error("cannot {doing}: {source}{}", hint.map(|hint| format!("\n{hint}")).unwrap_or_default())]
    System {
        /// What was tried, as in "join 239.255.76.67".
        doing: String,
        /// The error of the system.
        source: io::Error,
        /// How to mend it.
        hint: Option<&'static str>,
    },
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The transport cannot carry so much.
    #[error("expected at most {limit} bytes, found {size}")]
    TooLarge {
        /// What there is.
        size: usize,
        /// What there may be.
        limit: usize,
    },
    /// The network takes no more for now.
    #[error("the network is busy: nothing was accepted for {waited:?}")]
    Busy {
        /// How long it was tried.
        waited: Duration,
    },
    /// There is no receiver, for now.
    #[error("not connected to {to}")]
    NotConnected {
        /// To whom.
        to: String,
    },
    /// It only receives.
    #[error("{what} cannot be published to")]
    ReceiveOnly {
        /// The transport, as in "a log that is being read".
        what: &'static str,
    },
    /// The channel is not for users.
    #[error(
        "expected a channel of your own, found {channel:?}: names that begin with {prefix} are the transport's"
    )]
    Reserved {
        /// Where it was to be published.
        channel: String,
        /// What names must not begin with.
        prefix: &'static str,
    },
    /// The system refused.
    #[error("cannot send: {0}")]
    System(#[from] io::Error),
}

/// Why nothing was received.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The bus is closed.
    #[error("the bus is closed")]
    Closed,
    /// A log is at its end.
    #[error("the log is at its end")]
    End,
    /// The system refused.
    #[error("cannot receive: {0}")]
    System(#[from] io::Error),
}

impl ReceiveError {
    /// Whether a signal came whose handler does not let system calls go on.
    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, Self::System(error) if error.kind() == io::ErrorKind::Interrupted)
    }
}
