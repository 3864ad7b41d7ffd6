//! QUIC with keys on both sides: a packet is a datagram of an encrypted connection. No peer without the right key gets as far
//! as a packet.
//!
//! The protocol is quinn's state machine; socket, thread and clock are ours. It sends what it is given at once: the
//! link paces itself, by what it knows of its streams.

mod tls;

use super::udp::{any_of, bound};
use super::{Backoff, Carrier, Happened, MAX_READ, Meet, Opening, Sent, Watch};
use crate::keys::SERVER_NAME;
use crate::path::Carriage;
use bowline_component::Time;
use bowline_host::clock::Live;
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event,
    Incoming, SendDatagramError, VarInt,
};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tls::{Pinned, client, server};

/// IP, UDP, Ethernet, QUIC's header and tag, bytes.
const OVERHEAD: usize = 42 + 30;
/// A connection is lost after so long without a word.
const IDLE: Duration = Duration::from_secs(5);
/// What may wait in the connection, bytes: a packet or two.
const SEND_BUFFER: usize = 3_000;
/// What may have arrived and not be taken, bytes.
const RECEIVE_BUFFER: usize = 256 << 10;
/// Connections that may be in the making at a time; from so many on, a new peer has to prove its address.
const MAX_PENDING: usize = 8;
const PROVE_FROM: usize = 2;

#[derive(Debug)]
pub(super) struct Quic {
    socket: UdpSocket,
    address: SocketAddr,
    endpoint: Endpoint,
    client: Option<ClientConfig>,
    clock: Live,
    /// Those that are being made, the one that is used, and those that are ending.
    connections: Vec<Link>,
    backoff: Backoff,
    unsent: Option<(SocketAddr, Vec<u8>)>,
}

struct Link {
    handle: ConnectionHandle,
    connection: Connection,
    state: State,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { handle, state, .. } = self;
        write!(f, "Link({handle:?}, {state:?})")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Used,
    Ending,
}

impl Quic {
    pub(super) fn open(opening: &Opening) -> io::Result<Self> {
        let missing = || {
            io::Error::new(
                ErrorKind::InvalidInput,
                "expected a key and the peer's, found none",
            )
        };
        let identity = opening.identity.as_deref().ok_or_else(missing)?;
        let pinned = Arc::new(Pinned::new(opening.peer.ok_or_else(missing)?));
        let (bind, server, client) = match opening.meet {
            Meet::Listen(address) => (address, Some(Arc::new(server(identity, pinned)?)), None),
            Meet::Connect(address) => (any_of(address), None, Some(client(identity, pinned)?)),
        };
        let socket = bound(bind)?;
        let address = match opening.meet {
            Meet::Listen(_) => socket.local_addr()?,
            Meet::Connect(address) => address,
        };
        let config = Arc::new(EndpointConfig::default());
        Ok(Self {
            socket,
            address,
            endpoint: Endpoint::new(config, server, false, None),
            client,
            clock: opening.clock,
            connections: Vec::new(),
            backoff: Backoff::default(),
            unsent: None,
        })
    }

    fn connect(&mut self, now: Time, happened: &mut Vec<Happened>) {
        let is_there = self.connections.iter().any(|it| it.state != State::Ending);
        let Some(client) = self
            .client
            .clone()
            .filter(|_| !is_there && self.backoff.is_due(now))
        else {
            return;
        };
        let at = self.clock.instant(now);
        match self.endpoint.connect(at, client, self.address, SERVER_NAME) {
            Ok((handle, connection)) => self.connections.push(Link {
                handle,
                connection,
                state: State::Pending,
            }),
            Err(error) => {
                self.backoff.failed(now);
                happened.push(Happened::Problem(error.to_string()));
            }
        }
    }

    fn read(&mut self, now: Time, happened: &mut Vec<Happened>) {
        let mut buffer = [0; 2_048];
        for _ in 0..MAX_READ {
            let (n, from) = match self.socket.recv_from(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => return happened.push(Happened::Problem(error.to_string())),
            };
            let datagram = BytesMut::from(buffer.get(..n).unwrap_or_default());
            let at = self.clock.instant(now);
            let mut answer = Vec::new();
            let event = self
                .endpoint
                .handle(at, from, None, None, datagram, &mut answer);
            match event {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(link) = self.connections.iter_mut().find(|it| it.handle == handle) {
                        link.connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.greet(incoming, now, happened),
                Some(DatagramEvent::Response(transmit)) => self.put(transmit.destination, answer),
                None => {}
            }
        }
    }

    /// A connection is requested.
    fn greet(&mut self, incoming: Incoming, now: Time, happened: &mut Vec<Happened>) {
        let n_pending = self
            .connections
            .iter()
            .filter(|it| it.state != State::Used)
            .count();
        let mut answer = Vec::new();
        if n_pending >= MAX_PENDING {
            let transmit = self.endpoint.refuse(incoming, &mut answer);
            return self.put(transmit.destination, answer);
        }
        if n_pending >= PROVE_FROM && incoming.may_retry() && !incoming.remote_address_validated() {
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut answer) {
                self.put(transmit.destination, answer);
            }
            return;
        }
        let at = self.clock.instant(now);
        match self.endpoint.accept(incoming, at, &mut answer, None) {
            Ok((handle, connection)) => self.connections.push(Link {
                handle,
                connection,
                state: State::Pending,
            }),
            Err(refused) => {
                happened.push(Happened::Problem(refused.cause.to_string()));
                if let Some(transmit) = refused.response {
                    self.put(transmit.destination, answer);
                }
            }
        }
    }

    /// Sends a datagram; if there is no room, one waits and others are lost, as on any network.
    fn put(&mut self, to: SocketAddr, datagram: Vec<u8>) {
        let sent = self.socket.send_to(&datagram, to);
        if sent.is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
            self.unsent.get_or_insert((to, datagram));
        }
    }

    fn put_unsent(&mut self) -> bool {
        if let Some((to, datagram)) = self.unsent.take() {
            self.put(to, datagram);
        }
        self.unsent.is_none()
    }

    /// Lets all connections do what they have to do.
    fn drive(&mut self, now: Time, happened: &mut Vec<Happened>) {
        let at = self.clock.instant(now);
        for nth in 0..self.connections.len() {
            self.drive_one(nth, at, now, happened);
        }
        self.connections.retain(|it| !it.connection.is_drained());
    }

    fn drive_one(&mut self, nth: usize, at: Instant, now: Time, happened: &mut Vec<Happened>) {
        let Some(link) = self.connections.get_mut(nth) else {
            return;
        };
        if link.connection.poll_timeout().is_some_and(|due| due <= at) {
            link.connection.handle_timeout(at);
        }
        while let Some(event) = link.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(link.handle, event) {
                link.connection.handle_event(event);
            }
        }
        self.flush(nth, at);
        loop {
            let event = self
                .connections
                .get_mut(nth)
                .and_then(|it| it.connection.poll());
            let Some(event) = event else { return };
            self.take(nth, event, now, happened);
        }
    }

    fn flush(&mut self, nth: usize, at: Instant) {
        while self.put_unsent() {
            let mut datagram = Vec::new();
            let link = self.connections.get_mut(nth);
            let Some(transmit) =
                link.and_then(|it| it.connection.poll_transmit(at, 1, &mut datagram))
            else {
                return;
            };
            datagram.truncate(transmit.size);
            self.put(transmit.destination, datagram);
        }
    }

    fn take(&mut self, nth: usize, event: Event, now: Time, happened: &mut Vec<Happened>) {
        match event {
            Event::Connected => self.use_connection(nth, now, happened),
            Event::ConnectionLost { reason } => {
                let Some(link) = self.connections.get_mut(nth) else {
                    return;
                };
                let was = std::mem::replace(&mut link.state, State::Ending);
                match was {
                    State::Used => happened.push(Happened::Down(reason.to_string())),
                    State::Pending => happened.push(Happened::Problem(reason.to_string())),
                    State::Ending => {}
                }
                if was != State::Ending {
                    self.backoff.failed(now);
                }
            }
            Event::DatagramReceived => {
                let Some(link) = self.connections.get_mut(nth) else {
                    return;
                };
                let is_used = link.state == State::Used;
                while let Some(packet) = link.connection.datagrams().recv() {
                    if is_used {
                        happened.push(Happened::Received(packet.to_vec()));
                    }
                }
            }
            Event::HandshakeDataReady | Event::Stream(_) | Event::DatagramsUnblocked => {}
        }
    }

    /// A peer with the right key is there. If there was a connection, it has another one now: it was restarted.
    fn use_connection(&mut self, nth: usize, now: Time, happened: &mut Vec<Happened>) {
        let at = self.clock.instant(now);
        for (other, link) in self.connections.iter_mut().enumerate() {
            if other != nth && link.state == State::Used {
                link.connection
                    .close(at, VarInt::from_u32(0), "replaced".into());
                link.state = State::Ending;
                happened.push(Happened::Down("the peer connected anew".to_owned()));
            }
        }
        self.backoff.succeeded();
        if let Some(link) = self.connections.get_mut(nth) {
            link.state = State::Used;
            let max_packet = link.connection.datagrams().max_size();
            happened.push(Happened::Up(Carriage {
                max_packet: max_packet.unwrap_or(1_000),
                overhead: OVERHEAD,
                is_sealed: false,
            }));
        }
    }
}

impl Carrier for Quic {
    fn watched(&self) -> Option<Watch<'_>> {
        Some(Watch {
            fd: self.socket.as_fd(),
            is_for_room: self.unsent.is_some(),
        })
    }

    fn wakes_at(&mut self) -> Option<Time> {
        let clock = self.clock;
        let links = self.connections.iter_mut();
        let timers = links.filter_map(|it| it.connection.poll_timeout());
        let first = timers.min().map(|at| clock.time(at));
        let is_there = self.connections.iter().any(|it| it.state != State::Ending);
        let connect =
            (self.client.is_some() && !is_there).then(|| self.backoff.try_at.unwrap_or(Time::ZERO));
        first.into_iter().chain(connect).min()
    }

    fn work(&mut self, now: Time, happened: &mut Vec<Happened>) {
        self.connect(now, happened);
        self.put_unsent();
        self.read(now, happened);
        self.drive(now, happened);
    }

    fn send(&mut self, packet: &[u8], now: Time) -> Sent {
        let at = self.clock.instant(now);
        let nth = self
            .connections
            .iter()
            .position(|it| it.state == State::Used);
        let Some((nth, link)) = nth.and_then(|nth| Some((nth, self.connections.get_mut(nth)?)))
        else {
            return Sent::Taken;
        };
        let packet = bytes::Bytes::copy_from_slice(packet);
        let sent = match link.connection.datagrams().send(packet, false) {
            Err(SendDatagramError::Blocked(_)) => Sent::Full,
            Ok(()) | Err(_) => Sent::Taken,
        };
        self.flush(nth, at);
        sent
    }

    fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::tls::{PROTOCOL, provider, transport};
    use super::*;
    use crate::keys::{self, Fingerprint, Identity};
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use quinn_proto::crypto::rustls::QuicClientConfig;
    use std::path::Path;

    fn opening(folder: &Path, key: &str, peer: Fingerprint, meet: Meet) -> Opening {
        Opening {
            meet,
            identity: Some(Arc::new(Identity::load(&folder.join(key)).expect("a key"))),
            peer: Some(peer),
            clock: Live::new(),
        }
    }

    /// Lets both work until one has something to send, and returns what each sent.
    fn drive(
        ends: &mut [Quic; 2],
        is_enough: impl Fn(&[Vec<Happened>; 2]) -> bool,
    ) -> [Vec<Happened>; 2] {
        let mut said = [Vec::new(), Vec::new()];
        for _ in 0..10_000 {
            for (end, said) in ends.iter_mut().zip(&mut said) {
                end.work(end.clock.now(), said);
            }
            if is_enough(&said) {
                break;
            }
            let fds = ends.iter().filter_map(Quic::watched);
            let mut fds: Vec<PollFd<'_>> = fds
                .map(|it| PollFd::new(it.fd, PollFlags::POLLIN))
                .collect();
            poll(&mut fds, PollTimeout::from(5_u8)).expect("it waits");
        }
        said
    }

    fn is_up(said: &[Happened]) -> bool {
        said.iter().any(|it| matches!(it, Happened::Up(_)))
    }

    #[test]
    fn peer_without_a_certificate_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let make = |name: &str| keys::generate(&folder.path().join(name)).expect("a key");
        let (vehicle, station) = (make("vehicle"), make("station"));
        let anywhere = Meet::Listen(SocketAddr::from(([127, 0, 0, 1], 0)));
        let server =
            Quic::open(&opening(folder.path(), "vehicle", station, anywhere)).expect("it opens");
        let there = Meet::Connect(server.address);
        let open =
            || Quic::open(&opening(folder.path(), "station", vehicle, there)).expect("it opens");
        let mut nameless = open();
        let tls = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("versions");
        let mut tls = tls
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned::new(vehicle)))
            .with_no_client_auth();
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        let tls = QuicClientConfig::try_from(tls).expect("a configuration");
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(transport().expect("a configuration"));
        nameless.client = Some(config);

        let mut ends = [server, nameless];
        let said = drive(&mut ends, |[server, _]| !server.is_empty());
        assert!(!is_up(&said[0]), "{said:?}");
        assert!(
            matches!(said[0].as_slice(), [Happened::Problem(_), ..]),
            "{said:?}"
        );
        let [server, _] = ends;
        let mut ends = [server, open()];
        let said = drive(&mut ends, |[server, client]| is_up(server) && is_up(client));
        assert!(said.iter().all(|it| is_up(it)), "{said:?}");
    }

    #[test]
    fn half_open_connections_leave_room_for_the_peer() {
        let folder = tempfile::tempdir().expect("a folder");
        let make = |name: &str| keys::generate(&folder.path().join(name)).expect("a key");
        let (vehicle, station) = (make("vehicle"), make("station"));
        let anywhere = Meet::Listen(SocketAddr::from(([127, 0, 0, 1], 0)));
        let mut server =
            Quic::open(&opening(folder.path(), "vehicle", station, anywhere)).expect("it opens");
        let there = Meet::Connect(server.address);
        let open =
            || Quic::open(&opening(folder.path(), "station", vehicle, there)).expect("it opens");
        let mut said = Vec::new();
        for _ in 0..100 {
            let mut knocker = open();
            knocker.work(knocker.clock.now(), &mut said);
            server.work(server.clock.now(), &mut said);
        }
        assert!(
            server.connections.len() <= MAX_PENDING,
            "{}",
            server.connections.len()
        );
        let mut ends = [server, open()];
        let said = drive(&mut ends, |[server, client]| is_up(server) && is_up(client));
        assert!(said.iter().all(|it| is_up(it)), "{said:?}");
    }
}
