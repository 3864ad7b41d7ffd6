//! A station: everything together, on threads of its own.

use crate::audit::Auditor;
use crate::feed::Feed;
use crate::frame;
use crate::http::{self, Peer};
use crate::live::Live;
use crate::people::People;
use crate::replay::Replay;
use crate::sessions::Sessions;
use crate::tls::{Certificate, TlsError};
use axum::{Extension, Router};
use bowline_bus::Bus;
use bowline_inspect::OpenSourceError;
use bowline_log::play::State;
use bowline_log::{Reader, WriteError};
use bowline_node::clock;
use bytes::Bytes;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// How often pages are told how the station is.
const STATUS_EVERY: Duration = Duration::from_millis(200);
/// Connections at once, pages among them. One more is told to come back later.
const MAX_CONNECTIONS: usize = 256;
/// Pages at once.
const MAX_PAGES: usize = 64;
/// Passwords that are checked at once.
const MAX_LOGINS: usize = 2;
/// How long a browser may take to say what it wants.
const ASK_WITHIN: Duration = Duration::from_secs(10);
/// What a request may be long without its body.
const MAX_HEAD: usize = 32 << 10;
/// The longest name that a gate knows.
const MAX_STATION: usize = 64;

/// What a station is made of.
#[derive(Debug)]
pub struct Options {
    /// Where messages come from.
    pub origin: Origin,
    /// Where browsers find it; port 0 is any free one.
    pub listen: SocketAddr,
    /// What it is called: people command under this name, with their own after it where they log in.
    pub name: String,
    /// Who may use it.
    pub access: Access,
    /// Names that browsers may know it by, beside the address that it listens at.
    pub hosts: Vec<String>,
    /// Charts to draw the map on.
    pub charts: Vec<Chart>,
    /// Models of the robots, to know where their sensors are.
    pub models: Vec<Model>,
    /// Where it is written down what people do. Nothing may be there yet.
    pub audit: Option<PathBuf>,
    /// What is recorded meanwhile, for people to see.
    pub recording: Option<String>,
    /// For how long somebody stays logged in.
    pub session: Duration,
}

/// Where messages come from.
#[derive(Debug)]
pub enum Origin {
    /// A bus: what happens now.
    Bus(Bus),
    /// A log: what happened then. Nobody can be commanded.
    Log(Box<Reader>),
}

/// Who may use a station.
#[derive(Debug)]
pub enum Access {
    /// Whoever is on this machine.
    Open,
    /// Who logs in.
    LogIn {
        /// Who they are.
        people: People,
        /// What the station proves itself with; without it only this machine reaches it.
        certificate: Option<Certificate>,
    },
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it is called in addresses.
    pub name: String,
    /// The chart itself.
    pub geojson: Bytes,
}

/// The model of a robot.
#[derive(Debug)]
pub struct Model {
    /// What stands before the names of its channels.
    pub prefix: String,
    /// Where everything on it is.
    pub model: bowline_geometry::Model,
}

/// Why a station does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Others could use it, and nobody would know who they are.
    #[error(
        "expected log-in and TLS at {0}: others reach that address. Give --users, --tls-cert and --tls-key, or listen at \
         127.0.0.1"
    )]
    Exposed(SocketAddr),
    /// A name that no gate would know.
    #[error("expected a name of 1 to 31 bytes for the station, found {0:?}")]
    Name(String),
    /// The address is taken, or not this machine's.
    #[error("cannot listen at {address}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The bus cannot be heard.
    #[error(transparent)]
    Source(#[from] OpenSourceError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The audit log cannot be begun.
    #[error("cannot begin the audit log")]
    Audit(#[from] WriteError),
    /// The system gives no threads.
    #[error("cannot start threads")]
    Threads(#[source] io::Error),
}

/// A station that runs. Ends when it is dropped.
#[derive(Debug)]
pub struct Station {
    context: Arc<Context>,
    address: SocketAddr,
    end: watch::Sender<bool>,
    runtime: Option<tokio::runtime::Runtime>,
}

/// How long pages get to hear that it ends.
const END_WITHIN: Duration = Duration::from_secs(1);

impl Station {
    /// Starts it.
    ///
    /// # Errors
    /// When it is not safe, or not possible.
    pub fn start(options: Options) -> Result<Self, StartError> {
        check(&options)?;
        let listener = listen(options.listen)?;
        let address = local_address(&listener, options.listen)?;
        let tls = match &options.access {
            Access::LogIn {
                certificate: Some(certificate),
                ..
            } => Some(TlsAcceptor::from(certificate.config()?)),
            Access::LogIn { .. } | Access::Open => None,
        };
        let (end, ended) = watch::channel(false);
        let context = Arc::new(Context::new(options, address, ended)?);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("station")
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let door = Door {
            router: http::router(&context),
            context: Arc::clone(&context),
            tls,
        };
        runtime.spawn(door.open(listener));
        runtime.spawn(tell_status(Arc::clone(&context)));
        Ok(Self {
            context,
            address,
            end,
            runtime: Some(runtime),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where a browser finds it.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.context.is_tls() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}/", self.address)
    }

    /// How many pages are open.
    #[must_use]
    pub fn n_pages(&self) -> usize {
        self.context.feed.counts().n_pages
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // Nobody may be left to hear it.
        self.end.send_replace(true);
        if let Some(runtime) = self.runtime.take() {
            let pages_gone = async {
                while self.context.feed.counts().n_pages > 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            drop(runtime.block_on(async { tokio::time::timeout(END_WITHIN, pages_gone).await }));
            runtime.shutdown_timeout(END_WITHIN);
        }
    }
}

fn check(options: &Options) -> Result<(), StartError> {
    let is_guarded = matches!(
        options.access,
        Access::LogIn {
            certificate: Some(_),
            ..
        }
    );
    if !options.listen.ip().is_loopback() && !is_guarded {
        return Err(StartError::Exposed(options.listen));
    }
    if !(1..=MAX_STATION / 2 - 1).contains(&options.name.len()) {
        return Err(StartError::Name(options.name.clone()));
    }
    Ok(())
}

fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    let bind = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    bind().map_err(|source| StartError::Listen { address, source })
}

fn local_address(listener: &TcpListener, address: SocketAddr) -> Result<SocketAddr, StartError> {
    listener
        .local_addr()
        .map_err(|source| StartError::Listen { address, source })
}

/// What everybody in a station shares.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) feed: Arc<Feed>,
    pub(crate) source: Source,
    pub(crate) clock: clock::Live,
    pub(crate) name: String,
    pub(crate) access: Access,
    hosts: Vec<String>,
    pub(crate) charts: Vec<Chart>,
    pub(crate) models: Vec<Model>,
    pub(crate) auditor: Auditor,
    recording: Option<String>,
    sessions: Mutex<Sessions>,
    pub(crate) logins: Semaphore,
    seats: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    pub(crate) counts: Counts,
    ended: watch::Receiver<bool>,
}

/// Where messages come from, and are heard.
#[derive(Debug)]
pub(crate) enum Source {
    Live(Live),
    Replay(Replay),
}

/// What was turned away, and what went through.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) published: AtomicU64,
    /// That the bus did not take.
    pub(crate) unpublished: AtomicU64,
    pub(crate) refused_messages: AtomicU64,
    pub(crate) refused_requests: AtomicU64,
    pub(crate) sent_away: AtomicU64,
    pub(crate) turned_away: AtomicU64,
}

/// A page's place. One more page than there are places is not let in.
#[derive(Debug)]
pub(crate) struct Seat(
    #[expect(dead_code, reason = "it is given back when it is dropped")] OwnedSemaphorePermit,
);

impl Context {
    fn new(
        options: Options,
        address: SocketAddr,
        ended: watch::Receiver<bool>,
    ) -> Result<Self, StartError> {
        let feed = Arc::new(Feed::default());
        let clock = clock::Live::new();
        let bus = match &options.origin {
            Origin::Bus(bus) => Some(bus.clone()),
            Origin::Log(_) => None,
        };
        let auditor = Auditor::begin(options.audit.as_deref(), bus)?;
        let source = match options.origin {
            Origin::Bus(bus) => Source::Live(Live::start(bus, Arc::clone(&feed), clock)?),
            Origin::Log(reader) => {
                Source::Replay(Replay::start(*reader, Arc::clone(&feed), clock)?)
            }
        };
        Ok(Self {
            feed,
            source,
            clock,
            name: options.name,
            access: options.access,
            hosts: hosts(address, &options.hosts),
            charts: options.charts,
            models: options.models,
            auditor,
            recording: options.recording,
            sessions: Mutex::new(Sessions::new(options.session)),
            logins: Semaphore::new(MAX_LOGINS),
            seats: Arc::new(Semaphore::new(MAX_PAGES)),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            counts: Counts::default(),
            ended,
        })
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_tls(&self) -> bool {
        matches!(
            self.access,
            Access::LogIn {
                certificate: Some(_),
                ..
            }
        )
    }

    /// Whether browsers may know the station by this name.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        self.hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(host))
    }

    /// Whether a page is our own, if it came from this host.
    pub(crate) fn is_origin(&self, origin: &str, host: &str) -> bool {
        let scheme = if self.is_tls() { "https://" } else { "http://" };
        origin
            .strip_prefix(scheme)
            .is_some_and(|it| it.eq_ignore_ascii_case(host))
    }

    /// A place for a page, if there is one.
    pub(crate) fn sit_down(&self) -> Option<Seat> {
        Arc::clone(&self.seats).try_acquire_owned().ok().map(Seat)
    }

    /// The name that somebody commands under.
    pub(crate) fn station_of(&self, person: &str) -> String {
        match person {
            "" => self.name.clone(),
            _ => format!("{}/{person}", self.name),
        }
    }

    pub(crate) fn chart_addresses(&self) -> Vec<String> {
        let charts = self.charts.iter();
        charts
            .map(|chart| format!("charts/{}", chart.name))
            .collect()
    }

    pub(crate) fn source_name(&self) -> &'static str {
        match self.source {
            Source::Replay(_) => "replay",
            Source::Live(_) if self.feed.is_simulated() => "sim",
            Source::Live(_) => "live",
        }
    }

    /// The clock that ages are told by, and how fast it runs.
    pub(crate) fn time(&self) -> (i64, f64) {
        match &self.source {
            Source::Live(_) => (self.clock.now().utime(), 1.0),
            Source::Replay(replay) => {
                let status = replay.view().status;
                let first = status.span.map_or(0, |(first, _)| first);
                let rate = match status.state {
                    State::Playing => status.rate.times(),
                    State::Paused | State::Ended => 0.0,
                };
                (status.log_utime.unwrap_or(first), rate)
            }
        }
    }

    /// How the station is.
    pub(crate) fn status(&self) -> Bytes {
        let (utime, rate) = self.time();
        frame::status(&Status {
            utime,
            rate,
            counts: self.all_counts(),
            rates: self.feed.rates(self.clock.now()),
            player: self.player(),
            recording: self.recording.as_deref(),
        })
    }

    fn player(&self) -> Option<PlayerStatus> {
        let Source::Replay(replay) = &self.source else {
            return None;
        };
        let view = replay.view();
        let status = &view.status;
        let (first_utime, last_utime) = status.span.unwrap_or_default();
        let bookmarks = view.bookmarks.iter().take(MAX_BOOKMARKS);
        Some(PlayerStatus {
            state: match status.state {
                State::Playing => "playing",
                State::Paused => "paused",
                State::Ended => "ended",
            },
            rate: status.rate.times(),
            utime: status.log_utime.unwrap_or(first_utime),
            first_utime,
            last_utime,
            is_looping: status.is_looping,
            bookmarks: bookmarks
                .map(|bookmark| (bookmark.utime, bookmark.text.clone()).into())
                .collect(),
            error: view.error,
            log: view.log,
        })
    }

    fn all_counts(&self) -> BTreeMap<&'static str, u64> {
        let feed = self.feed.counts();
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts {
            published,
            unpublished,
            refused_messages,
            refused_requests,
            sent_away,
            turned_away,
        } = &self.counts;
        let (audited, audit_lost) = self.auditor.counts();
        let (bus_lost, bus_failed) = match &self.source {
            Source::Live(live) => (live.bus.counts().lost(), live.n_failed()),
            Source::Replay(_) => (0, 0),
        };
        BTreeMap::from([
            ("pages", feed.n_pages as u64),
            ("pages ever", feed.n_pages_ever),
            ("messages heard", feed.board.heard),
            ("frames sent", feed.outbox.frames),
            ("bytes sent", feed.outbox.bytes),
            ("messages skipped for slow pages", feed.outbox.skipped),
            ("messages too large", feed.board.too_large),
            ("messages on too many channels", feed.board.unlisted),
            ("channels forgotten", feed.board.forgotten),
            ("messages not kept", feed.board.unkept),
            ("messages lost on the bus", bus_lost),
            ("failures of the bus", bus_failed),
            ("commands published", load(published)),
            ("commands not taken by the bus", load(unpublished)),
            ("commands refused", load(refused_messages)),
            ("requests refused", load(refused_requests)),
            ("pages sent away", load(sent_away)),
            ("connections turned away", load(turned_away)),
            ("audited", audited),
            ("audit lost", audit_lost),
        ])
    }

    /// Waits for the end of the station.
    pub(crate) async fn ended(&self) {
        let mut ended = self.ended.clone();
        // Without anybody who could say so, it has ended.
        drop(ended.wait_for(|ended| *ended).await);
    }
}

/// What a page lists at most.
const MAX_BOOKMARKS: usize = 100;

#[derive(Serialize)]
struct Status<'a> {
    utime: i64,
    rate: f64,
    counts: BTreeMap<&'static str, u64>,
    rates: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    player: Option<PlayerStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<&'a str>,
}

#[derive(Serialize)]
struct PlayerStatus {
    log: String,
    state: &'static str,
    rate: f64,
    utime: i64,
    first_utime: i64,
    last_utime: i64,
    is_looping: bool,
    bookmarks: Vec<BookmarkStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct BookmarkStatus {
    utime: i64,
    text: String,
}

impl From<(i64, String)> for BookmarkStatus {
    fn from((utime, text): (i64, String)) -> Self {
        Self { utime, text }
    }
}

/// The names that browsers may use: as given, with the port where that is not said; on this machine, its usual names.
fn hosts(address: SocketAddr, given: &[String]) -> Vec<String> {
    let port = address.port();
    let mut hosts = vec![address.to_string()];
    if address.ip().is_loopback() {
        hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}")));
    }
    for host in given {
        hosts.push(host.clone());
        hosts.push(format!("{host}:{port}"));
    }
    hosts
}

async fn tell_status(context: Arc<Context>) {
    let mut ticks = tokio::time::interval(STATUS_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => context.feed.tell_status(&context.status()),
            () = context.ended() => return,
        }
    }
}

/// Lets browsers in.
#[derive(Clone)]
struct Door {
    router: Router,
    context: Arc<Context>,
    tls: Option<TlsAcceptor>,
}

impl Door {
    async fn open(self, listener: TcpListener) {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
            return;
        };
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.context.ended() => return,
            };
            match accepted {
                Ok((stream, peer)) => self.admit(stream, peer),
                // There are too many open files, for a moment.
                Err(_) => tokio::time::sleep(STATUS_EVERY).await,
            }
        }
    }

    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let connections = Arc::clone(&self.context.connections);
        let Ok(permit) = connections.try_acquire_owned() else {
            self.context
                .counts
                .turned_away
                .fetch_add(1, Ordering::Relaxed);
            // Whether it is heard or not; with TLS it is only closed.
            if self.tls.is_none() {
                drop(stream.try_write(BUSY));
            }
            return;
        };
        let door = self.clone();
        tokio::spawn(async move {
            door.serve(stream, peer).await;
            drop(permit);
        });
    }

    async fn serve(self, stream: TcpStream, peer: SocketAddr) {
        // Small frames should not wait for others.
        drop(stream.set_nodelay(true));
        match &self.tls {
            None => self.converse(stream, peer).await,
            Some(tls) => {
                let accepted = tokio::time::timeout(ASK_WITHIN, tls.accept(stream)).await;
                if let Ok(Ok(stream)) = accepted {
                    self.converse(stream, peer).await;
                }
            }
        }
    }

    async fn converse<S>(&self, stream: S, peer: SocketAddr)
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let router = self.router.clone().layer(Extension(Peer(peer)));
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(ASK_WITHIN)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .with_upgrades();
        // Whatever is wrong with a connection is over with it.
        drop(served.await);
    }
}

const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
