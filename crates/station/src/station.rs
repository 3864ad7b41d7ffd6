//! A station: everything together, on threads of its own.

use crate::assets;
use crate::audit::Auditor;
use crate::crowd::{Crowd, Place};
use crate::door::Door;
use crate::feed::Feed;
use crate::frame;
use crate::live::Live;
use crate::names::{hosts, main_host};
use crate::notices::Notices;
use crate::panels::{BadPanels, Panels};
use crate::people::People;
use crate::replay::Replay;
use crate::sessions::{Sessions, site_of};
use crate::tls::{Certificate, TlsError};
use bowline_bus::Bus;
use bowline_host::clock;
use bowline_inspect::OpenSourceError;
use bowline_log::play::State;
use bowline_log::{Reader, WriteError};
use bowline_msgs::Audit;
use bytes::Bytes;
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio_rustls::TlsAcceptor;

/// How often pages receive the state of the station.
const STATUS_EVERY: Duration = Duration::from_millis(200);
/// Pages at once, and pages of one person where people log in.
const MAX_PAGES: usize = 64;
const MAX_OF_PERSON: usize = 8;
/// Passwords that are checked at once.
const MAX_LOGINS: usize = 2;
/// Calls to others that are under way at once: each has a thread.
const MAX_CALLS: usize = 32;
/// Unknown channels that all pages together may stop vehicles on.
const MAX_UNHEARD: usize = 256;
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
    /// A folder of custom panels: modules that the page loads, as docs/panels.md has them.
    pub panels: Option<PathBuf>,
    /// Models of the robots, to know where their sensors are.
    pub models: Vec<Model>,
    /// Where it is written down what people do. Nothing may be there yet.
    pub audit: Option<PathBuf>,
    /// What is recorded meanwhile, for people to see.
    pub recording: Option<String>,
    /// How long a session lasts.
    pub session: Duration,
}

/// Where messages come from.
#[derive(Debug)]
pub enum Origin {
    /// A bus: what happens now.
    Bus(Bus),
    /// A log: what happened then. Nothing can be commanded.
    Log(Box<Reader>),
}

/// Who may use a station.
#[derive(Debug)]
pub enum Access {
    /// All users of this machine.
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
    /// Others could use it without a name.
    #[error(
        "expected log-in and TLS at {0}: others reach that address. Give --users, --tls-cert and --tls-key, or listen at \
         127.0.0.1"
    )]
    Exposed(SocketAddr),
    /// A name that no gate would know.
    #[error("expected a name of 1 to 31 bytes for the station, found {0:?}")]
    Name(String),
    /// Two charts with one name: browsers would see the first only.
    #[error("expected charts with different names, found two that are called {0:?}")]
    Chart(String),
    /// The folder of panels cannot be used.
    #[error(transparent)]
    Panels(#[from] BadPanels),
    /// The address is taken, or not this machine's.
    #[error("cannot listen at {address}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The bus cannot be read.
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

/// Connections that the system keeps until they are let in or turned away. Beyond that it drops them without a word, and
/// browsers try again after a second or three: a crowd must not keep those waiting who come with it.
const MAX_WAITING: i32 = 1_024;
/// How long pages get to receive the end.
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
        let listener = {
            let _inside = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener);
            listener.map_err(|source| StartError::Listen { address, source })?
        };
        runtime.spawn(Door::new(&context, tls).open(listener));
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

    /// Where a browser finds it: where it listens, or at the first of its names if it listens everywhere.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.context.is_tls() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}/", self.context.main_host)
    }

    /// How many pages are open.
    #[must_use]
    pub fn n_pages(&self) -> usize {
        self.context.feed.counts().n_pages
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // The receiver may be gone.
        self.end.send_replace(true);
        if let Some(runtime) = self.runtime.take() {
            let pages_gone = async {
                while !self.context.seats.is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            drop(runtime.block_on(async { tokio::time::timeout(END_WITHIN, pages_gone).await }));
            runtime.shutdown_timeout(END_WITHIN);
        }
        // Last, because what is refused until here is to be written down too.
        let rest = self.context.notices().take_all(self.context.clock.now());
        self.context.note_all(rest);
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
    let mut names = BTreeSet::new();
    let twice = options.charts.iter().find(|it| !names.insert(&it.name));
    match twice {
        Some(chart) => Err(StartError::Chart(chart.name.clone())),
        None => Ok(()),
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    let bind = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        // A station that is started again finds its port free.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(MAX_WAITING)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    bind().map_err(|source| StartError::Listen { address, source })
}

fn local_address(listener: &TcpListener, address: SocketAddr) -> Result<SocketAddr, StartError> {
    listener
        .local_addr()
        .map_err(|source| StartError::Listen { address, source })
}

/// What all pages of a station share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) feed: Arc<Feed>,
    pub(crate) source: Source,
    pub(crate) clock: clock::Live,
    pub(crate) name: String,
    pub(crate) access: Access,
    hosts: Vec<String>,
    main_host: String,
    pub(crate) port: u16,
    pub(crate) charts: Vec<ServedChart>,
    pub(crate) panels: Option<Panels>,
    pub(crate) models: Vec<Model>,
    pub(crate) auditor: Auditor,
    recording: Option<String>,
    sessions: Mutex<Sessions>,
    pub(crate) logins: Semaphore,
    calls: Semaphore,
    seats: Arc<Crowd<String>>,
    unheard: Mutex<BTreeSet<String>>,
    notices: Mutex<Notices>,
    pub(crate) counts: Counts,
    ended: watch::Receiver<bool>,
}

/// A chart, ready to be sent.
#[derive(Debug)]
pub(crate) struct ServedChart {
    pub(crate) chart: Chart,
    /// The same in fewer bytes.
    pub(crate) zipped: Option<Bytes>,
}

/// The source of messages.
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
    /// Stops that were repeated within a moment, after one that went through.
    pub(crate) repeated_stops: AtomicU64,
    pub(crate) refused_requests: AtomicU64,
    pub(crate) sent_away: AtomicU64,
    pub(crate) turned_away: AtomicU64,
    pub(crate) not_accepted: AtomicU64,
}

/// A page's place. One more page than there are places is not let in.
pub(crate) type Seat = Place<String>;

impl Context {
    fn new(
        options: Options,
        address: SocketAddr,
        ended: watch::Receiver<bool>,
    ) -> Result<Self, StartError> {
        let panels = options.panels.as_deref().map(Panels::open).transpose()?;
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
        let is_tls = is_tls(&options.access);
        let hosts = hosts(address, &options.hosts, is_tls);
        let charts = options.charts.into_iter();
        Ok(Self {
            feed,
            source,
            clock,
            name: options.name,
            access: options.access,
            main_host: main_host(address, &options.hosts),
            hosts,
            port: address.port(),
            charts: charts.map(ServedChart::new).collect(),
            panels,
            models: options.models,
            auditor,
            recording: options.recording,
            sessions: Mutex::new(Sessions::new(options.session)),
            logins: Semaphore::new(MAX_LOGINS),
            calls: Semaphore::new(MAX_CALLS),
            seats: Crowd::new(MAX_PAGES),
            unheard: Mutex::default(),
            notices: Mutex::default(),
            counts: Counts::default(),
            ended,
        })
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_tls(&self) -> bool {
        is_tls(&self.access)
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

    /// A place for a page of this person, if there is one. At a station without log-in all pages belong to one person.
    pub(crate) fn sit_down(&self, person: &str) -> Option<Seat> {
        let most = match &self.access {
            Access::Open => MAX_PAGES,
            Access::LogIn { .. } => MAX_OF_PERSON,
        };
        self.seats.enter(person.to_owned(), most)
    }

    /// Permission to call a service, which may take long to answer; the error is for people.
    pub(crate) fn may_call(&self) -> Result<SemaphorePermit<'_>, String> {
        let permit = self.calls.try_acquire().ok();
        permit.ok_or_else(|| "too many requests are under way".to_owned())
    }

    /// Whether an unknown channel may be published on, among all those that were before.
    pub(crate) fn may_begin(&self, channel: &str) -> bool {
        let mut unheard = self.unheard.lock().unwrap_or_else(PoisonError::into_inner);
        if unheard.len() >= MAX_UNHEARD {
            return unheard.contains(channel);
        }
        unheard.insert(channel.to_owned());
        true
    }

    /// Writes down that something was refused, as often as that makes sense.
    pub(crate) fn note_refusal(&self, address: SocketAddr, audit: Audit) {
        let now = self.clock.now();
        let audit = Audit {
            utime: now.utime(),
            address: address.to_string(),
            is_done: false,
            ..audit
        };
        let told = self.notices().hear(now, site_of(address.ip()), audit);
        if let Some(audit) = told {
            self.auditor.note(audit);
        }
    }

    fn note_all(&self, audits: Vec<Audit>) {
        for audit in audits {
            self.auditor.note(audit);
        }
    }

    fn notices(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name in commands of a person.
    pub(crate) fn station_of(&self, person: &str) -> String {
        match person {
            "" => self.name.clone(),
            _ => format!("{}/{person}", self.name),
        }
    }

    pub(crate) fn chart_addresses(&self) -> Vec<String> {
        let charts = self.charts.iter();
        charts
            .map(|it| format!("charts/{}", it.chart.name))
            .collect()
    }

    /// Addresses of the custom panels that there are now.
    pub(crate) fn panel_addresses(&self) -> Vec<String> {
        let modules = self.panels.iter().flat_map(Panels::modules);
        modules.map(|name| format!("panels/{name}")).collect()
    }

    pub(crate) fn source_name(&self) -> &'static str {
        match self.source {
            Source::Replay(_) => "replay",
            Source::Live(_) if self.feed.is_simulated() => "sim",
            Source::Live(_) => "live",
        }
    }

    /// The clock of ages, and how fast it runs.
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
            repeated_stops,
            refused_requests,
            sent_away,
            turned_away,
            not_accepted,
        } = &self.counts;
        let (audited, audit_lost) = self.auditor.counts();
        let (bus_lost, bus_failed) = match &self.source {
            Source::Live(live) => (live.bus.counts().lost(), live.n_failed()),
            Source::Replay(_) => (0, 0),
        };
        BTreeMap::from([
            ("pages", feed.n_pages as u64),
            ("pages ever", feed.n_pages_ever),
            ("messages received", feed.board.heard),
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
            ("stops repeated too often", load(repeated_stops)),
            ("requests refused", load(refused_requests)),
            ("pages sent away", load(sent_away)),
            ("connections turned away", load(turned_away)),
            ("connections not accepted", load(not_accepted)),
            ("audited", audited),
            ("audit lost", audit_lost),
        ])
    }

    /// Waits for the end of the station.
    pub(crate) async fn ended(&self) {
        let mut ended = self.ended.clone();
        // Without a sender it has ended.
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

impl ServedChart {
    fn new(chart: Chart) -> Self {
        Self {
            zipped: assets::zip(&chart.geojson),
            chart,
        }
    }
}

fn is_tls(access: &Access) -> bool {
    matches!(
        access,
        Access::LogIn {
            certificate: Some(_),
            ..
        }
    )
}

async fn tell_status(context: Arc<Context>) {
    let mut ticks = tokio::time::interval(STATUS_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                context.feed.tell_status(&context.status());
                let due = context.notices().take(context.clock.now());
                context.note_all(due);
            }
            () = context.ended() => return,
        }
    }
}
