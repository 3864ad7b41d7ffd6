//! TCP through a hub, as LCM does it: `tcpq://HOST:PORT`. For links where multicast does not pass.
//!
//! In: frames from a hub, which relays what any client publishes. Out: the same. The hub is `bowline hub`, or LCM's own.
//!
//! A bus opens whether or not a hub is there. While there is none, publishing fails with that error, subscribers wait, and
//! every call tries again, at most every two seconds; subscriptions are sent anew to whichever hub answers. Host names
//! are resolved once, when the bus is opened.
//!
//! With our hub, a subscription is in force at the hub when the call that made it returns. LCM's does not confirm it.
//!
//! Deliberately absent: a thread. Connecting goes on in the calls that need a connection, and no call waits for it
//! longer than `CONNECT_PATIENCE`.

mod backoff;
mod connection;
mod examine;
pub(crate) mod frames;
mod writer;

use crate::clock::{self, Wait};
use crate::counts::NetworkCounts;
use crate::diagnosis::Check;
use crate::router::{Inlet, Interest};
use crate::schemes::{Capability, Scheme};
use crate::sys::{self, Readiness};
use crate::transport::{
    Buffered, ListenError, Observed, OpenError, Outgoing, ReceiveError, Selective, SendError,
    Transport,
};
use crate::url::{BadUrl, Url};
use backoff::Backoff;
use connection::{Connection, ConnectionLost, HubKind, Tallies};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use writer::WriteError;

const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 7700;
/// How long opening a bus waits for a connection, and a subscription for the hub's word that it has it.
const OPEN_PATIENCE: Duration = Duration::from_secs(1);
/// How long an attempt to connect may take before another is made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// How often one who waits for the hub's word looks whether another thread has read it.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How long a hub that was unplugged may go unnoticed.
const DEAD_AFTER: Duration = Duration::from_secs(10);

/// The row of the table.
pub static SCHEME: Scheme = Scheme {
    name: "tcpq",
    summary: "TCP through a hub: `bowline hub`",
    example: "tcpq://127.0.0.1:7700",
    options: &[],
    capabilities: &[Capability::NeedsHub],
    check,
    open,
    examine: examine::examine,
    checks: &[Check {
        name: "hub",
        look: examine::hub,
    }],
};

/// Where a hub is, taken from a URL: host and port.
pub(crate) fn hub_address(url: &Url) -> Result<(String, u16), BadUrl> {
    let options = url.options();
    let text = url.address();
    let bad = || {
        options.bad(format!(
            "expected HOST:PORT such as 127.0.0.1:7700 or [::1]:7700, found {text:?}"
        ))
    };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or_else(bad)?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let host = if host.is_empty() { DEFAULT_HOST } else { host };
    let port = match port {
        "" => DEFAULT_PORT,
        port => {
            let port = port.strip_prefix(':').and_then(|port| port.parse().ok());
            port.ok_or_else(bad)?
        }
    };
    options.finish()?;
    Ok((host.to_owned(), port))
}

/// Checks a URL.
fn check(url: &Url) -> Result<(), BadUrl> {
    hub_address(url).map(|_| ())
}

/// Opens a bus through a hub.
fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    let (host, port) = hub_address(url)?;
    let resolved = (host.as_str(), port).to_socket_addrs();
    let addresses: Vec<SocketAddr> = resolved
        .map_err(OpenError::system(format!("find the address of {host:?}")))?
        .collect();
    let name = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    let transport = Tcpq {
        name,
        addresses,
        link: Mutex::default(),
        tallies: Tallies::default(),
    };
    transport.connect_patiently();
    Ok(Arc::new(transport))
}

#[derive(Debug)]
struct Tcpq {
    /// For people.
    name: String,
    addresses: Vec<SocketAddr>,
    link: Mutex<Link>,
    tallies: Tallies,
}

/// The way to the hub, and what to do about it.
#[derive(Debug, Default)]
struct Link {
    state: State,
    backoff: Backoff,
    /// Which address is next.
    n_attempts: usize,
    was_up: bool,
    wanted: BTreeSet<String>,
    /// Why it is not up.
    fault: Option<String>,
}

/// ```text
///            due                     connected
///   Down ───────────▶ Connecting ───────────────▶ Up
///    ▲                    │ refused, or too long   │ closed, or nonsense
///    └────────────────────┴────────────────────────┘
/// ```
#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Down,
    Connecting(Arc<Socket>, Instant),
    Up(Arc<Connection>),
}

impl Tcpq {
    /// Goes on with connecting as far as that is possible without waiting.
    fn drive(&self, link: &mut Link) {
        let now = clock::monotonic();
        match &link.state {
            State::Up(_) => {}
            State::Connecting(socket, since) => {
                let socket = Arc::clone(socket);
                let is_late = now.duration_since(*since) >= CONNECT_PATIENCE;
                match connect_outcome(&socket) {
                    Some(Ok(())) => self.establish(link, socket),
                    Some(Err(error)) => self.fail(link, &error, now),
                    None if is_late => {
                        self.fail(link, &io::ErrorKind::TimedOut.into(), now);
                    }
                    None => {}
                }
            }
            State::Down if link.backoff.left(now).is_zero() => self.attempt(link, now),
            State::Down => {}
        }
    }

    /// Tries the addresses in turn; only when all of them failed there is a pause.
    fn attempt(&self, link: &mut Link, now: Instant) {
        loop {
            let Some(address) = self
                .addresses
                .get(link.n_attempts % self.addresses.len().max(1))
            else {
                return;
            };
            match start_connecting(*address) {
                Ok((socket, true)) => return self.establish(link, Arc::new(socket)),
                Ok((socket, false)) => {
                    link.state = State::Connecting(Arc::new(socket), now);
                    return;
                }
                Err(error) => self.fail(link, &error, now),
            }
            if !link.backoff.left(now).is_zero() {
                return;
            }
        }
    }

    fn establish(&self, link: &mut Link, socket: Arc<Socket>) {
        // A thread may be polling it still; the new one is the same to the kernel.
        let socket = match Arc::try_unwrap(socket) {
            Ok(socket) => Ok(socket),
            Err(shared) => shared.try_clone(),
        };
        let socket = match socket {
            Ok(socket) => socket,
            Err(error) => return self.fail(link, &error, clock::monotonic()),
        };
        if link.was_up {
            self.tallies.reconnects.fetch_add(1, Ordering::Relaxed);
        }
        link.was_up = true;
        link.fault = None;
        link.state = State::Up(Arc::new(Connection::new(socket, &link.wanted)));
    }

    fn fail(&self, link: &mut Link, error: &io::Error, now: Instant) {
        link.state = State::Down;
        link.n_attempts += 1;
        if link.n_attempts.is_multiple_of(self.addresses.len().max(1)) {
            link.backoff.fail(now);
        }
        link.fault = Some(if error.kind() == io::ErrorKind::ConnectionRefused {
            let name = &self.name;
            format!("no hub listens there; `bowline hub tcpq://{name}` starts one")
        } else {
            error.to_string()
        });
    }

    /// Lets go of a connection that is of no use.
    fn lose(&self, connection: &Arc<Connection>, why: &dyn std::fmt::Display) {
        let mut link = self.lock();
        if !matches!(&link.state, State::Up(present) if Arc::ptr_eq(present, connection)) {
            return;
        }
        // A hub that sent its hello was one; others are asked less and less often.
        if connection.hub() != HubKind::Unknown {
            link.backoff.succeed();
        }
        link.backoff.fail(clock::monotonic());
        link.state = State::Down;
        link.fault = Some(why.to_string());
    }

    /// For the opening: a connection that is made at once should be there at once.
    fn connect_patiently(&self) {
        let started = clock::monotonic();
        loop {
            let mut link = self.lock();
            self.drive(&mut link);
            let State::Connecting(socket, _) = &link.state else {
                return;
            };
            let socket = Arc::clone(socket);
            drop(link);
            let waited = clock::monotonic().duration_since(started);
            let left = OPEN_PATIENCE.saturating_sub(waited);
            if left.is_zero() || sys::poll_write(socket.as_fd(), left).is_err() {
                return;
            }
        }
    }

    /// Waits for the hub's word that it knows of all subscriptions, if it gives such. Others may read meanwhile.
    fn await_confirmation(
        &self,
        connection: &Connection,
        inlet: &mut Inlet,
    ) -> Result<(), ConnectionLost> {
        let started = clock::monotonic();
        let mut question = None;
        while clock::monotonic().duration_since(started) < OPEN_PATIENCE {
            connection.read(Some(inlet), &self.tallies)?;
            match (connection.hub(), question) {
                (HubKind::Plain, _) => return Ok(()),
                (HubKind::Confirming, None) => question = Some(connection.ask()?),
                (HubKind::Confirming, Some(question)) if connection.is_confirmed(question) => {
                    return Ok(());
                }
                (HubKind::Confirming, Some(_)) | (HubKind::Unknown, _) => {}
            }
            let wanted = Readiness {
                read: true,
                write: connection.has_unsent(),
            };
            sys::poll_many(&[(connection.socket.as_fd(), wanted)], Some(LOOK_EVERY))?;
            connection.flush()?;
        }
        Ok(())
    }

    fn receive_from(
        &self,
        connection: &Connection,
        inlet: &mut Inlet,
        wait: &Wait<'_>,
    ) -> Result<(), ConnectionLost> {
        if !wait.is_poll() {
            let wanted = Readiness {
                read: true,
                write: connection.has_unsent(),
            };
            let interrupt = Readiness {
                read: true,
                write: false,
            };
            let descriptors = [
                (connection.socket.as_fd(), wanted),
                (wait.interrupt(), interrupt),
            ];
            let ready = sys::poll_many(&descriptors, wait.left())?;
            if ready
                .first()
                .is_none_or(|ready| !ready.read && !ready.write)
            {
                return Ok(());
            }
        }
        if connection.has_unsent() {
            connection.flush()?;
        }
        connection.read(Some(inlet), &self.tallies)
    }

    fn not_connected(&self, fault: Option<&str>) -> SendError {
        SendError::NotConnected {
            to: self.describe(fault),
        }
    }

    fn describe(&self, fault: Option<&str>) -> String {
        let fault = fault.unwrap_or("still trying");
        format!("the hub at {}: {fault}", self.name)
    }

    fn up(&self) -> Option<Arc<Connection>> {
        match &self.lock().state {
            State::Up(connection) => Some(Arc::clone(connection)),
            State::Down | State::Connecting(..) => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Tcpq {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        let (connection, is_read) = {
            let mut link = self.lock();
            self.drive(&mut link);
            match &link.state {
                State::Up(connection) => (Arc::clone(connection), !link.wanted.is_empty()),
                State::Down | State::Connecting(..) => {
                    return Err(self.not_connected(link.fault.as_deref()));
                }
            }
        };
        // Without a reading thread nothing else would notice that the hub is gone, and the next message would be lost.
        let noticed = match is_read {
            true => Ok(()),
            false => connection.read(None, &self.tallies),
        };
        let sent = match noticed {
            Ok(()) => connection.send(messages),
            Err(lost) => {
                self.lose(&connection, &lost);
                return Err(self.not_connected(Some(&lost.to_string())));
            }
        };
        sent.map_err(|error| match error {
            WriteError::Refused(error) => error,
            WriteError::Broken(error) => {
                self.lose(&connection, &error);
                self.not_connected(Some(&error.to_string()))
            }
        })
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        let (state, pause) = {
            let mut link = self.lock();
            self.drive(&mut link);
            (link.state.clone(), link.backoff.left(clock::monotonic()))
        };
        let no_longer_than = |most: Duration| Some(wait.left().map_or(most, |left| left.min(most)));
        match state {
            State::Up(connection) => {
                if let Err(lost) = self.receive_from(&connection, inlet, wait) {
                    self.lose(&connection, &lost);
                }
            }
            State::Connecting(socket, _) => {
                let connected = Readiness {
                    read: false,
                    write: true,
                };
                let interrupt = Readiness {
                    read: true,
                    write: false,
                };
                let descriptors = [(socket.as_fd(), connected), (wait.interrupt(), interrupt)];
                sys::poll_many(&descriptors, no_longer_than(CONNECT_PATIENCE))?;
            }
            State::Down => {
                sys::poll([wait.interrupt()], no_longer_than(pause))?;
            }
        }
        Ok(())
    }

    fn selective(&self) -> Option<&dyn Selective> {
        Some(self)
    }

    fn buffered(&self) -> Option<&dyn Buffered> {
        Some(self)
    }

    fn observed(&self) -> Option<&dyn Observed> {
        Some(self)
    }
}

impl Selective for Tcpq {
    fn want(&self, interest: &Interest, inlet: &mut Inlet) -> Result<(), ListenError> {
        let patterns = interest.patterns().iter();
        let wanted: BTreeSet<String> = patterns.map(|one| one.as_str().to_owned()).collect();
        let mut link = self.lock();
        let is_told = matches!(link.state, State::Up(_));
        let has_new = !wanted.is_subset(&link.wanted);
        link.wanted.clone_from(&wanted);
        self.drive(&mut link);
        let State::Up(connection) = &link.state else {
            return Ok(());
        };
        let connection = Arc::clone(connection);
        // Within the lock, so that the last change of subscriptions is the last that is sent.
        let told = match is_told {
            true => connection.tell(&wanted),
            false => Ok(true),
        };
        drop(link);
        let confirmed = match told {
            Ok(_) if has_new => self.await_confirmation(&connection, inlet),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(lost) = confirmed {
            self.lose(&connection, &lost);
        }
        Ok(())
    }
}

impl Buffered for Tcpq {
    fn holds_unread(&self) -> bool {
        self.up().is_some_and(|connection| {
            sys::socket_memory(connection.socket.as_fd()).is_ok_and(|memory| memory.used > 0)
        })
    }

    fn is_pressed(&self) -> bool {
        // A connection that is down is looked after too, so that messages come again without a waiting reader.
        let link = self.lock();
        match &link.state {
            State::Up(connection) => {
                let memory = sys::socket_memory(connection.socket.as_fd()).unwrap_or_default();
                memory.used > memory.limit / 4
            }
            State::Connecting(..) => true,
            State::Down => link.backoff.left(clock::monotonic()).is_zero(),
        }
    }
}

impl Observed for Tcpq {
    fn counts(&self) -> NetworkCounts {
        let buffer = self.up().and_then(|up| up.socket.recv_buffer_size().ok());
        NetworkCounts {
            datagrams: self.tallies.frames.load(Ordering::Relaxed),
            malformed: self.tallies.malformed.load(Ordering::Relaxed),
            reconnects: self.tallies.reconnects.load(Ordering::Relaxed),
            receive_buffer: buffer.unwrap_or(0) as u64,
            ..NetworkCounts::default()
        }
    }

    fn trouble(&self) -> Option<String> {
        let link = self.lock();
        match &link.state {
            State::Up(_) => None,
            State::Down | State::Connecting(..) => Some(self.describe(link.fault.as_deref())),
        }
    }
}

impl Drop for Tcpq {
    fn drop(&mut self) {
        if let Some(connection) = self.up() {
            connection.finish();
        }
    }
}

/// A socket on its way to `address`, and whether it is there already.
fn start_connecting(address: SocketAddr) -> io::Result<(Socket, bool)> {
    let kind = Type::STREAM.nonblocking();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    let probes = TcpKeepalive::new()
        .with_time(DEAD_AFTER / 2)
        .with_interval(DEAD_AFTER / 10)
        .with_retries(5);
    socket.set_tcp_keepalive(&probes)?;
    socket.set_tcp_user_timeout(Some(DEAD_AFTER))?;
    match socket.connect(&address.into()) {
        Ok(()) => Ok((socket, true)),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok((socket, false)),
        Err(error) => Err(error),
    }
}

/// How an attempt to connect ended, if it did.
fn connect_outcome(socket: &Socket) -> Option<io::Result<()>> {
    match sys::poll_write(socket.as_fd(), Duration::ZERO) {
        Ok(false) => None,
        Ok(true) => Some(
            socket
                .take_error()
                .and_then(|error| error.map_or(Ok(()), Err)),
        ),
        Err(error) => Some(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_leaves_out_is_the_default() {
        for (url, expected) in [
            ("tcpq://", ("127.0.0.1", 7700)),
            ("tcpq://robot", ("robot", 7700)),
            ("tcpq://robot:1", ("robot", 1)),
            ("tcpq://:99", ("127.0.0.1", 99)),
            ("tcpq://[::1]:99", ("::1", 99)),
        ] {
            let (host, port) = hub_address(&Url::parse(url).unwrap()).unwrap();
            assert_eq!((host.as_str(), port), expected, "{url}");
        }
        for (url, part) in [
            ("tcpq://robot:hub", "expected HOST:PORT"),
            ("tcpq://robot:70000", "expected HOST:PORT"),
            ("tcpq://robot?ttl=1", "no option \"ttl\""),
        ] {
            let error = hub_address(&Url::parse(url).unwrap())
                .unwrap_err()
                .to_string();
            assert!(error.contains(part), "{url}: {error}");
        }
    }
}
