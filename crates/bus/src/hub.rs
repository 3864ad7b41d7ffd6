//! The hub that `tcpq` clients meet at: relays what one publishes to all that want it.
//!
//! In: frames of LCM's TCP protocol from any client, ours or LCM's. Out: the same frames, once to each client with a
//! pattern that matches the whole channel, the publisher too. Messages of one publisher keep their order.
//!
//! A client that reads slowly, or not at all, delays no other: what waits for it is bounded, the oldest
//! messages go first and are counted, and one that takes nothing for a while is sent away. So is one that breaks the
//! protocol, with a reason, unless only one frame of it is of no use: that is left out and counted.
//!
//! Deliberately absent: authentication and encryption. Any host that reaches the port receives and publishes anything; bind it to
//! loopback, or to a network that is yours.

mod client;
mod outbox;
mod server;

use crate::sys::Flag;
use crate::transport::tcpq;
use crate::url::{BadUrl, Url};
use client::Gauge;
use server::Server;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How much news is remembered for later queries.
const REMEMBERED_NEWS: usize = 64;

/// A running hub, on a thread of its own. Stops when it is dropped.
///
/// ```
/// use bowline_bus::{Bus, Hub};
/// # use std::time::Duration;
///
/// let hub = Hub::bind("127.0.0.1:0")?;
/// let bus = Bus::open(&hub.url())?;
/// let inbox = bus.events("GREETING")?;
/// bus.publish_bytes("GREETING", b"hello")?;
/// let (_, event) = inbox.recv_timeout(Duration::from_secs(30))?.expect("the hub relays it");
/// assert_eq!(&event.payload[..], b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Hub {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How much a hub puts up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many clients there may be. Further ones are refused.
    pub max_clients: usize,
    /// How many bytes may wait for one client before its oldest messages are dropped.
    pub queue_bytes: usize,
    /// How long a client may take nothing while something waits for it.
    pub stall: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_clients: 1_000,
            queue_bytes: 64 << 20,
            stall: Duration::from_secs(10),
        }
    }
}

/// What the hub's thread and its owners share.
#[derive(Debug)]
struct Shared {
    wake: Flag,
    is_stopping: AtomicBool,
    messages: AtomicU64,
    bytes: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
    ignored: AtomicU64,
    roll: Mutex<Roll>,
}

#[derive(Debug, Default)]
struct Roll {
    present: Vec<Arc<Gauge>>,
    n_joined: u64,
    news: VecDeque<News>,
    n_news: u64,
}

/// What a hub did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Who is connected.
    pub clients: Vec<Client>,
    /// Clients so far.
    pub joined: u64,
    /// Clients refused because there were too many.
    pub refused: u64,
    /// Messages that were published.
    pub messages: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Messages dropped because a client was slow, over all clients so far. A message that three clients did not get
    /// counts three times.
    pub dropped: u64,
    /// Subscriptions and messages that were left out because they break a rule, over all clients so far.
    pub ignored: u64,
}

/// One client of a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Where it connected from.
    pub peer: SocketAddr,
    /// How many patterns it subscribes to.
    pub patterns: u64,
    /// Messages it published.
    pub received: u64,
    /// Frames it was sent.
    pub sent: u64,
    /// Messages it did not get because it was slow.
    pub dropped: u64,
    /// About the bytes that wait for it.
    pub waiting_bytes: u64,
    /// Subscriptions and messages of it that were left out because they break a rule.
    pub ignored: u64,
}

/// Something that happened at a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Counts news, from 1.
    pub number: u64,
    /// Where the client had connected from.
    pub peer: SocketAddr,
    /// What it did, or what was done to it.
    pub what: Happened,
}

/// What happened to a client. Reasons are in words, as in "it hung up".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It sent its hello.
    Joined,
    /// It went by itself, or the network failed.
    Left {
        /// Which of them.
        why: String,
    },
    /// It had to go.
    SentAway {
        /// For what.
        why: String,
    },
    /// It sent something that was left out. Reported once for each connection; all are counted.
    Ignored {
        /// What, and what would have been right.
        what: String,
    },
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined => f.write_str("joined"),
            Self::Left { why } => write!(f, "left: {why}"),
            Self::SentAway { why } => write!(f, "was sent away: {why}"),
            Self::Ignored { what } => write!(f, "stays, but this was left out: {what}"),
        }
    }
}

impl Hub {
    /// Starts a hub. Port 0 is any free port; [`address`](Self::address) returns which.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub fn bind(address: impl ToSocketAddrs) -> Result<Self, BindHubError> {
        Self::bind_with(address, Settings::default())
    }

    /// Starts a hub where clients of `tcpq://HOST:PORT` look for it; what is left out is 127.0.0.1 and 7700.
    ///
    /// # Errors
    /// When the URL is malformed, or the address cannot be listened at.
    pub fn open(url: &str) -> Result<Self, BindHubError> {
        let url = Url::parse(url)?;
        if url.scheme() != tcpq::SCHEME.name {
            let what = format!("expected tcpq://HOST:PORT, found {:?}", url.scheme());
            return Err(BadUrl::new(url.to_string(), what).into());
        }
        let (host, port) = tcpq::hub_address(&url)?;
        Self::bind((host.as_str(), port))
    }

    /// [`bind`](Self::bind) with a choice of its limits.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub fn bind_with(
        address: impl ToSocketAddrs,
        settings: Settings,
    ) -> Result<Self, BindHubError> {
        let listener = TcpListener::bind(address).map_err(BindHubError::Listen)?;
        Self::start(listener, settings).map_err(BindHubError::Start)
    }

    fn start(listener: TcpListener, settings: Settings) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            wake: Flag::new()?,
            is_stopping: AtomicBool::new(false),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            ignored: AtomicU64::new(0),
            roll: Mutex::default(),
        });
        let server = Server::new(listener, settings, Arc::clone(&shared));
        let thread = std::thread::Builder::new().name("bowline-hub".to_owned());
        let thread = thread.spawn(move || server.run())?;
        Ok(Self {
            address,
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients open.
    #[must_use]
    pub fn url(&self) -> String {
        format!("tcpq://{}", self.address)
    }

    /// What it did so far.
    #[must_use]
    pub fn status(&self) -> Status {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let roll = self.shared.roll();
        Status {
            clients: roll.present.iter().map(|gauge| gauge.read()).collect(),
            joined: roll.n_joined,
            refused: load(&self.shared.refused),
            messages: load(&self.shared.messages),
            bytes: load(&self.shared.bytes),
            dropped: load(&self.shared.dropped),
            ignored: load(&self.shared.ignored),
        }
    }

    /// What happened since the news of that number; 0 is the beginning. The oldest may be forgotten.
    #[must_use]
    pub fn news_since(&self, number: u64) -> Vec<News> {
        let roll = self.shared.roll();
        let news = roll.news.iter();
        news.filter(|news| news.number > number).cloned().collect()
    }

    /// Closes all connections and ends. May be called from any thread, and again.
    pub fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.wake.raise();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // A panic there has been printed.
            drop(thread.join());
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn join(&self, gauge: &Arc<Gauge>) {
        let mut roll = self.roll();
        roll.n_joined += 1;
        roll.present.push(Arc::clone(gauge));
    }

    fn leave(&self, gauge: &Arc<Gauge>, what: Happened) {
        self.roll()
            .present
            .retain(|present| !Arc::ptr_eq(present, gauge));
        self.tell(gauge.peer, what);
    }

    /// Counts what was left out, and reports it if it is to be reported.
    fn ignore(&self, peer: SocketAddr, fault: Option<&client::Fault>) {
        self.ignored.fetch_add(1, Ordering::Relaxed);
        if let Some(fault) = fault {
            let what = fault.to_string();
            self.tell(peer, Happened::Ignored { what });
        }
    }

    fn tell(&self, peer: SocketAddr, what: Happened) {
        let mut roll = self.roll();
        roll.n_news += 1;
        let number = roll.n_news;
        if roll.news.len() >= REMEMBERED_NEWS {
            roll.news.pop_front();
        }
        roll.news.push_back(News { number, peer, what });
    }

    fn roll(&self) -> MutexGuard<'_, Roll> {
        self.roll.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a hub did not start.
#[derive(Debug, thiserror::Error)]
pub enum BindHubError {
    /// The URL makes no sense.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// The address cannot be listened at.
    #[error("cannot listen there: {0}; `ss -tlnp` lists who does")]
    Listen(io::Error),
    /// The system has no thread or descriptor left.
    #[error("cannot start a hub: {0}")]
    Start(io::Error),
}
