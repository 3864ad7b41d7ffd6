//! Ways to carry messages, chosen by the scheme of a URL.
//!
//! A transport is one file below `transport/` and one row of [`SCHEMES`]. It holds no subscriptions and starts no
//! threads that read: the bus owns both, and reads a transport on the thread that waits for its messages.

pub mod file;
pub mod memq;
pub mod mpudpm;
#[cfg(feature = "shm")]
pub mod shm;
pub mod tcpq;
pub mod udpm;

use crate::clock::Wait;
use crate::counts::{NetworkCounts, SenderCounts};
use crate::router::{Inlet, Interest};
use crate::url::{BadUrl, Url};
use bytes::Bytes;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A way to carry messages between buses.
///
/// Every implementation passes the conformance suite (`tests/it/conformance.rs`).
pub trait Transport: Send + Sync + fmt::Debug {
    /// Hands messages to the network, in order, as few calls as it takes. Any thread; never waits for receivers.
    ///
    /// # Errors
    /// When a message could not be handed over; those before it were.
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError>;

    /// Called whenever subscriptions change, before a new one counts as made: opens what receiving needs, and may
    /// have the network leave out what nobody wants. `inlet` makes a way in for transports that the bus does not read.
    ///
    /// # Errors
    /// When receiving is impossible.
    fn want(&self, interest: &Interest, inlet: &dyn Fn() -> Inlet) -> Result<(), ListenError>;

    /// Waits for traffic as long as `wait` says, and hands in what arrived. At most one thread at a time. May return
    /// early with nothing.
    ///
    /// # Errors
    /// When nothing can be received now, or nothing more will ever come.
    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError>;

    /// Whether the bus has to call [`receive`](Self::receive). Otherwise senders hand in by themselves.
    fn is_read_by_bus(&self) -> bool {
        true
    }

    /// Whether something waits to be read. A cheap guess; `true` costs a needless look.
    fn holds_unread(&self) -> bool {
        true
    }

    /// How long it can surely be left unread. Then somebody looks whether it is pressed.
    fn stamina(&self) -> Duration {
        Duration::from_millis(20)
    }

    /// Whether what waits to be read will soon be lost for want of room.
    fn is_pressed(&self) -> bool {
        false
    }

    /// What was seen so far.
    fn counts(&self) -> NetworkCounts;

    /// What keeps messages from coming and going now, in words, if the transport knows of anything.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// What was seen so far of each sender, where senders can be told apart.
    fn senders(&self) -> Vec<SenderCounts> {
        Vec::new()
    }
}

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

/// A row of the table of transports.
#[derive(Debug)]
pub struct Scheme {
    /// What URLs begin with.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Says what is wrong with a URL, as far as that can be told without opening it.
    pub check: fn(&Url) -> Result<(), BadUrl>,
    /// Opens one.
    pub open: fn(&Url) -> Result<Arc<dyn Transport>, OpenError>,
}

/// All transports, sorted by name. Add yours here; nothing else needs to change.
pub const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "file",
        summary: "a log, played or written: file:///path/to/log?mode=r&speed=1.0",
        check: file::check,
        open: file::open,
    },
    Scheme {
        name: "memq",
        summary: "within this process, without copies: memq:// for one bus, memq://NAME to share",
        check: memq::check,
        open: memq::open,
    },
    Scheme {
        name: "mpudpm",
        summary: "UDP multicast with channels spread over ports: mpudpm://239.255.76.67:7667?ttl=0&nports=500",
        check: mpudpm::check,
        open: mpudpm::open,
    },
    #[cfg(feature = "shm")]
    Scheme {
        name: "shm",
        summary: "shared memory on one host, without copies for large messages: shm://NAME",
        check: shm::check,
        open: shm::open,
    },
    Scheme {
        name: "tcpq",
        summary: "TCP through a hub (`bowline hub`): tcpq://127.0.0.1:7700",
        check: tcpq::check,
        open: tcpq::open,
    },
    Scheme {
        name: "udpm",
        summary: "UDP multicast as LCM does it: udpm://239.255.76.67:7667?ttl=0",
        check: udpm::check,
        open: udpm::open,
    },
];

/// Opens the transport that a URL names.
pub(crate) fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    (scheme_of(url)?.open)(url)
}

/// Says what is wrong with a URL, as far as that can be told without opening its transport.
pub(crate) fn check(url: &Url) -> Result<(), BadUrl> {
    (scheme_of(url)?.check)(url)
}

fn scheme_of(url: &Url) -> Result<&'static Scheme, BadUrl> {
    let scheme = SCHEMES.iter().find(|scheme| scheme.name == url.scheme());
    scheme.ok_or_else(|| {
        let known: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
        let what = format!(
            "expected one of {}, found {:?}",
            known.join(", "),
            url.scheme()
        );
        BadUrl::new(url.to_string(), what)
    })
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
        /// What the system said.
        source: io::Error,
    },
}

impl OpenError {
    /// For `map_err`: says what was tried.
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
        /// What the system said.
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
    /// There is nobody to send to, for now.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_sorted_and_unique() {
        assert!(SCHEMES.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn an_unknown_scheme_is_told_the_known_ones() {
        let url = Url::parse("smoke://signals").unwrap();
        let error = open(&url).unwrap_err().to_string();
        assert!(
            error.contains("expected one of") && error.contains("udpm"),
            "{error}"
        );
    }
}
