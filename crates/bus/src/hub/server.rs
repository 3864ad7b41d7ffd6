//! The one thread of a hub: waits for all sockets at once, reads, relays, writes.

use super::client::{Deed, Misdeed, Seat};
use super::{Happened, Settings, Shared};
use crate::clock;
use crate::sys::{self, Readiness};
use crate::transport::tcpq::frames::Published;
use socket2::{SockRef, TcpKeepalive};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How many channels' receivers are remembered.
const REMEMBERED_CHANNELS: usize = 16_384;
/// How often clients that do nothing are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a connection may take to send its hello.
const HELLO_PATIENCE: Duration = Duration::from_secs(10);
/// How long no connection is accepted when the system has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// When a client whose host went away is given up.
const DEAD_AFTER: Duration = Duration::from_secs(30);

const READ: Readiness = Readiness {
    read: true,
    write: false,
};
const NOTHING: Readiness = Readiness {
    read: false,
    write: false,
};

#[derive(Debug)]
pub(super) struct Server {
    listener: TcpListener,
    settings: Settings,
    shared: Arc<Shared>,
    clients: BTreeMap<u64, (TcpStream, Seat)>,
    next_id: u64,
    /// The clients that get what is published on a channel. Forgotten when any subscription changes.
    routes: HashMap<Box<str>, Arc<[u64]>>,
    accept_after: Option<Instant>,
}

/// Why a client is no longer one.
#[derive(Debug, thiserror::Error)]
enum Parting {
    #[error("it hung up")]
    HungUp,
    #[error("{0}")]
    Failed(#[from] io::Error),
    #[error("{0}")]
    Misdeed(#[from] Misdeed),
    #[error("it took nothing for {0:?}")]
    Stalled(Duration),
    #[error("it sent no hello")]
    NoHello,
}

impl From<&Parting> for Happened {
    fn from(parting: &Parting) -> Self {
        let why = parting.to_string();
        match parting {
            Parting::HungUp | Parting::Failed(_) => Self::Left { why },
            Parting::Misdeed(_) | Parting::Stalled(_) | Parting::NoHello => Self::SentAway { why },
        }
    }
}

impl Server {
    pub(super) fn new(listener: TcpListener, settings: Settings, shared: Arc<Shared>) -> Self {
        Self {
            listener,
            settings,
            shared,
            clients: BTreeMap::new(),
            next_id: 0,
            routes: HashMap::new(),
            accept_after: None,
        }
    }

    /// Serves until it is stopped.
    pub(super) fn run(mut self) {
        let mut looked = clock::monotonic();
        while !self.shared.is_stopping.load(Ordering::Acquire) {
            let Ok((is_called, ready)) = self.wait() else {
                // No memory for the list, at worst: the next round may have some.
                continue;
            };
            let now = clock::monotonic();
            if is_called {
                self.accept(now);
            }
            for (id, ready) in ready {
                self.serve(id, ready, now);
            }
            self.write_all(now);
            if now.duration_since(looked) >= LOOK_EVERY.min(self.settings.stall) {
                self.part_with_idlers(now);
                looked = now;
            }
        }
    }

    /// Waits until something can be done: whether a connection waits, and which clients are ready for what.
    fn wait(&self) -> io::Result<(bool, Vec<(u64, Readiness)>)> {
        let is_accepting = self
            .accept_after
            .is_none_or(|after| clock::monotonic() >= after);
        let calls = if is_accepting { READ } else { NOTHING };
        let clients = self.clients.values().map(|(stream, seat)| {
            let wanted = Readiness {
                read: true,
                write: !seat.outbox.is_empty(),
            };
            (stream.as_fd(), wanted)
        });
        let descriptors: Vec<_> = [
            (self.shared.wake.as_fd(), READ),
            (self.listener.as_fd(), calls),
        ]
        .into_iter()
        .chain(clients)
        .collect();
        let timeout = match (is_accepting, self.clients.is_empty()) {
            (false, _) => Some(ACCEPT_PAUSE),
            (true, false) => Some(LOOK_EVERY.min(self.settings.stall)),
            (true, true) => None,
        };
        let ready = sys::poll_many(&descriptors, timeout)?;
        let is_called = ready.get(1).is_some_and(|ready| ready.read);
        let clients = self.clients.keys().copied();
        let ready = clients.zip(ready.into_iter().skip(2));
        Ok((
            is_called,
            ready.filter(|(_, ready)| *ready != NOTHING).collect(),
        ))
    }

    fn accept(&mut self, now: Instant) {
        self.accept_after = None;
        loop {
            match self.listener.accept() {
                Ok((stream, peer)) => self.welcome(stream, peer, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // They hung up before we answered.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_no_descriptor_left) => {
                    self.accept_after = now.checked_add(ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, stream: TcpStream, peer: SocketAddr, now: Instant) {
        if self.clients.len() >= self.settings.max_clients {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
            let most = self.settings.max_clients;
            let why = format!("there are {most} clients already");
            self.shared.tell(peer, Happened::SentAway { why });
            return;
        }
        if let Err(error) = set_up(&stream) {
            let why = error.to_string();
            self.shared.tell(peer, Happened::Left { why });
            return;
        }
        let seat = Seat::new(peer, &self.settings, now);
        self.shared.join(&seat.gauge);
        self.clients.insert(self.next_id, (stream, seat));
        self.next_id += 1;
    }

    fn serve(&mut self, id: u64, ready: Readiness, now: Instant) {
        let mut outcome = Ok(());
        if ready.write {
            outcome = self.write(id, now);
        }
        if ready.read && outcome.is_ok() {
            outcome = self.read(id);
        }
        if let Err(parting) = outcome {
            self.part(id, &parting);
        }
    }

    fn read(&mut self, id: u64) -> Result<(), Parting> {
        let Some((stream, seat)) = self.clients.get_mut(&id) else {
            return Ok(());
        };
        let (buffer, max) = seat.reader.room();
        match sys::read_stream(stream.as_fd(), buffer, max) {
            Ok(0) => return Err(Parting::HungUp),
            Ok(_) => {}
            Err(error) if is_passing(&error) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        // LCM's clients write a frame in pieces, each of which the kernel holds back until the one before is acknowledged:
        // by its own choice after 40 ms. The option holds until the next read.
        SockRef::from(&*stream).set_tcp_quickack(true)?;
        while let Some((_, seat)) = self.clients.get_mut(&id) {
            let deed = seat.next()?;
            if !seat.has_joined && seat.reader.version().is_some() {
                seat.has_joined = true;
                self.shared.tell(seat.gauge.peer, Happened::Joined);
            }
            let peer = seat.gauge.peer;
            match deed {
                None => break,
                Some(Deed::Published(message)) => self.relay(message),
                Some(Deed::WantsChanged) => self.routes.clear(),
                Some(Deed::Answered) => {}
                Some(Deed::Ignored(fault)) => self.shared.ignore(peer, fault.as_ref()),
            }
        }
        Ok(())
    }

    /// Queues a message once for every client that wants it, its publisher too.
    fn relay(&mut self, message: Published) {
        self.shared.messages.fetch_add(1, Ordering::Relaxed);
        let size = message.payload().len() as u64;
        self.shared.bytes.fetch_add(size, Ordering::Relaxed);
        let receivers = self.receivers(message.channel());
        if receivers.is_empty() {
            return;
        }
        let frame = message.into_frame();
        for id in receivers.iter() {
            if let Some((_, seat)) = self.clients.get_mut(id) {
                let n_dropped = seat.push(frame.clone());
                self.shared.dropped.fetch_add(n_dropped, Ordering::Relaxed);
            }
        }
    }

    fn receivers(&mut self, channel: &str) -> Arc<[u64]> {
        if let Some(receivers) = self.routes.get(channel) {
            return Arc::clone(receivers);
        }
        if self.routes.len() >= REMEMBERED_CHANNELS {
            self.routes.clear();
        }
        let clients = self.clients.iter();
        let wanting = clients.filter(|(_, (_, seat))| seat.wants(channel));
        let receivers: Arc<[u64]> = wanting.map(|(id, _)| *id).collect();
        self.routes.insert(channel.into(), Arc::clone(&receivers));
        receivers
    }

    fn write_all(&mut self, now: Instant) {
        let waiting = self.clients.iter();
        let waiting = waiting.filter(|(_, (_, seat))| !seat.outbox.is_empty());
        let waiting: Vec<u64> = waiting.map(|(id, _)| *id).collect();
        for id in waiting {
            if let Err(parting) = self.write(id, now) {
                self.part(id, &parting);
            }
        }
    }

    /// Writes what waits for a client, as far as it takes it.
    fn write(&mut self, id: u64, now: Instant) -> Result<(), Parting> {
        let Some((stream, seat)) = self.clients.get_mut(&id) else {
            return Ok(());
        };
        while !seat.outbox.is_empty() {
            match sys::write_stream(stream.as_fd(), &seat.outbox.pieces()) {
                Ok(n_written) => {
                    let n_sent = seat.outbox.advance(n_written);
                    seat.gauge.sent.fetch_add(n_sent, Ordering::Relaxed);
                    seat.took = now;
                }
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let waiting = seat.outbox.cost() as u64;
        seat.gauge.waiting.store(waiting, Ordering::Relaxed);
        if seat.outbox.is_empty() {
            seat.took = now;
        }
        Ok(())
    }

    fn part_with_idlers(&mut self, now: Instant) {
        let stall = self.settings.stall;
        let parting = |seat: &Seat| {
            if seat.reader.version().is_none() && now.duration_since(seat.since) >= HELLO_PATIENCE {
                return Some(Parting::NoHello);
            }
            let has_stalled =
                !seat.outbox.is_empty() && now.saturating_duration_since(seat.took) >= stall;
            has_stalled.then_some(Parting::Stalled(stall))
        };
        let clients = self.clients.iter();
        let idlers = clients.filter_map(|(id, (_, seat))| Some((*id, parting(seat)?)));
        for (id, parting) in idlers.collect::<Vec<_>>() {
            self.part(id, &parting);
        }
    }

    fn part(&mut self, id: u64, parting: &Parting) {
        let Some((_, seat)) = self.clients.remove(&id) else {
            return;
        };
        self.routes.clear();
        self.shared.leave(&seat.gauge, parting.into());
    }
}

fn set_up(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let probes = TcpKeepalive::new()
        .with_time(DEAD_AFTER / 2)
        .with_interval(DEAD_AFTER / 10)
        .with_retries(5);
    SockRef::from(stream).set_tcp_keepalive(&probes)
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
