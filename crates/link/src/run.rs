//! A session with a bus, carriers and a clock: one thread that waits for all of them at once.

use crate::authority;
use crate::carrier::{Carrier, Happened, Meet, Opening, Sent};
use crate::counts::Cause;
use crate::file::LinkFile;
use crate::keys::{Identity, LoadKeyError};
use crate::session::{Delivery, Session, Setup};
use crate::status::{Names, PathName, status};
use bowline_bus::transport::SendError;
use bowline_bus::{Bus, Inbox, Pattern, PublishError, Queue, SubscriptionId};
use bowline_component::Time;
use bowline_host::clock::Live;
use bowline_msgs::Link as LinkStatus;
use bowline_wire::random::fnv;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// Between two words about how the link is.
const STATUS_EVERY: Duration = Duration::from_millis(500);
/// Between two attempts to send what a carrier had no room for.
const RETRY: Duration = Duration::from_millis(2);
/// Messages of the bus that are taken at a time, so that packets get their turn.
const MAX_OFFERS: usize = 256;
/// Packets that are sent at a time, so that the bus gets its turn.
const MAX_PACKETS: usize = 256;
/// What was just published is known again for so long, and so much of it.
const ECHO: Duration = Duration::from_secs(2);
const MAX_ECHOES: usize = 1_024;

/// A running end of a link.
#[derive(Debug)]
pub struct Link {
    file: LinkFile,
    clock: Live,
    session: Session,
    bus: Bus,
    inbox: Inbox,
    /// In the order of the file.
    subscriptions: Vec<Subscribed>,
    /// When nothing waited on the bus, for the last time.
    empty_at: Time,
    ways: Vec<Way>,
    names: Vec<PathName>,
    said_at: Time,
    /// What came over the link to channels that are sent too.
    echoes: VecDeque<(u64, Time)>,
    packet: Vec<u8>,
    happened: Vec<Happened>,
    news: Vec<News>,
}

/// What is taken from the bus for a stream.
#[derive(Debug)]
struct Subscribed {
    id: SubscriptionId,
    stream: usize,
    /// Messages that found no room to wait for us, as far as they were counted.
    n_dropped: u64,
}

#[derive(Debug)]
struct Way {
    carrier: Box<dyn Carrier>,
    /// What it had no room for.
    unsent: Vec<u8>,
}

/// What people should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Which path, by its name.
    pub path: String,
    /// What happened.
    pub what: String,
}

/// Why a link cannot be.
#[derive(Debug, thiserror::Error)]
pub enum OpenLinkError {
    /// There is no bus.
    #[error("cannot open the bus {url}: {source}")]
    Bus {
        /// Its URL.
        url: String,
        /// Why.
        source: bowline_bus::transport::OpenError,
    },
    /// A channel cannot be subscribed to.
    #[error(transparent)]
    Subscribe(#[from] bowline_bus::transport::ListenError),
    /// There is no key.
    #[error(transparent)]
    Key(#[from] LoadKeyError),
    /// A path cannot be opened.
    #[error("cannot open {path}: {source}")]
    Path {
        /// Carrier and address.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl Link {
    /// Opens everything that a file names. `life` is a number that is another one each time.
    ///
    /// # Errors
    /// When there is no bus, no key, or an address cannot be had.
    pub fn open(file: LinkFile, clock: Live, life: u32) -> Result<Self, OpenLinkError> {
        let url = file.bus.clone().unwrap_or_else(bowline_bus::default_url);
        let bus = Bus::open(&url).map_err(|source| OpenLinkError::Bus { url, source })?;
        let inbox = bus.inbox();
        let mut subscriptions = Vec::new();
        for (stream, sent) in file.sends.iter().enumerate() {
            let pattern = Pattern::exact(&sent.channel);
            let id = inbox.subscribe_to(pattern, Queue::keep_newest(MAX_OFFERS))?;
            subscriptions.push(Subscribed {
                id,
                stream,
                n_dropped: 0,
            });
        }
        let identity = file.key.as_deref().map(Identity::load).transpose()?;
        let identity = identity.map(Arc::new);
        let setup = Setup {
            life,
            sends: file.sends.clone(),
            receives: file.receives.clone(),
            n_paths: file.paths.len(),
        };
        let mut session = Session::new(setup, file.scheduler.make());
        let (mut ways, mut names) = (Vec::new(), Vec::new());
        for (nth, path) in file.paths.iter().enumerate() {
            let opening = Opening {
                meet: path.meet,
                identity: identity.clone(),
                peer: file.peer_key,
                clock,
            };
            let (Meet::Listen(address) | Meet::Connect(address)) = path.meet;
            let opened = path.carrier.open(&opening);
            let carrier = opened.map_err(|source| OpenLinkError::Path {
                path: format!("{} {address}", path.carrier.name),
                source,
            })?;
            if let Some(limit) = path.limit_bytes_per_s {
                session.limit(nth, limit);
            }
            names.push(PathName {
                name: format!("{} {}", path.carrier.name, carrier.address()),
                is_secure: path.carrier.is_secure,
                problem: String::new(),
            });
            ways.push(Way {
                carrier,
                unsent: Vec::new(),
            });
        }
        Ok(Self {
            file,
            clock,
            session,
            bus,
            inbox,
            subscriptions,
            empty_at: clock.now(),
            ways,
            names,
            said_at: Time::ZERO,
            echoes: VecDeque::new(),
            packet: Vec::new(),
            happened: Vec::new(),
            news: Vec::new(),
        })
    }

    /// Where each path listens, or whom it connects to.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.ways.iter().map(|way| way.carrier.address())
    }

    /// What is known of it.
    #[must_use]
    pub fn status(&self) -> LinkStatus {
        let names = Names {
            name: &self.file.name,
            peer: &self.file.peer,
            scheduler: self.file.scheduler.name,
            paths: &self.names,
        };
        status(&self.session, names, self.clock.now())
    }

    /// What happened since this was asked.
    pub fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Waits until there is something to do, and does it. Whether `end` has something to read.
    ///
    /// # Errors
    /// When the system refuses to wait, or the bus is gone.
    pub fn turn(&mut self, end: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let is_ended = self.wait(end)?;
        let now = self.clock.now();
        self.work_carriers(now);
        self.offer(now)?;
        // What was offered is sent at once, and what arrived is answered.
        let now = self.clock.now();
        self.deliver(now);
        self.send(now);
        self.say(now);
        Ok(is_ended)
    }

    fn wait(&mut self, end: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let now = self.clock.now();
        let mut wake = self.session.wakes_at(now).min(self.said_at + STATUS_EVERY);
        for way in &mut self.ways {
            if !way.unsent.is_empty() {
                wake = wake.min(now + RETRY);
            }
            wake = way.carrier.wakes_at().map_or(wake, |at| wake.min(at));
        }
        let mut fds = vec![PollFd::new(self.inbox.fd()?, PollFlags::POLLIN)];
        for watch in self.ways.iter().filter_map(|way| way.carrier.watched()) {
            let room = match watch.is_for_room {
                true => PollFlags::POLLOUT,
                false => PollFlags::empty(),
            };
            fds.push(PollFd::new(watch.fd, PollFlags::POLLIN | room));
        }
        fds.extend(end.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        match ppoll(&mut fds, Some(TimeSpec::from(wake.since(now))), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let last = fds.last().filter(|_| end.is_some());
        Ok(last.is_some_and(|fd| fd.any().unwrap_or(false)))
    }

    fn work_carriers(&mut self, now: Time) {
        for nth in 0..self.ways.len() {
            let mut happened = std::mem::take(&mut self.happened);
            if let Some(way) = self.ways.get_mut(nth) {
                way.carrier.work(now, &mut happened);
            }
            for event in happened.drain(..) {
                self.take(nth, event, now);
            }
            self.happened = happened;
        }
    }

    fn take(&mut self, nth: usize, event: Happened, now: Time) {
        match event {
            Happened::Received(packet) => self.session.receive(nth, &packet, now),
            Happened::Refused => self.session.count_bad(nth),
            Happened::Up(carriage) => {
                if let Some(way) = self.ways.get_mut(nth) {
                    way.unsent.clear();
                }
                self.session.set_blocked(nth, false);
                self.session.path_up(nth, carriage, now);
                self.tell(nth, "connected".to_owned(), false);
            }
            Happened::Down(why) => {
                self.session.path_down(nth, now);
                self.tell(nth, format!("connection lost: {why}"), true);
            }
            Happened::Problem(why) => self.tell(nth, why, true),
        }
    }

    fn tell(&mut self, nth: usize, what: String, is_problem: bool) {
        let Some(name) = self.names.get_mut(nth) else {
            return;
        };
        if is_problem && name.problem == what {
            return;
        }
        name.problem = if is_problem {
            what.clone()
        } else {
            String::new()
        };
        self.news.push(News {
            path: name.name.clone(),
            what,
        });
    }

    /// Takes what the bus has for the other end. What had to wait for us is as old as that.
    fn offer(&mut self, now: Time) -> io::Result<()> {
        for _ in 0..MAX_OFFERS {
            let Some((id, event)) = self.inbox.try_recv().map_err(io::Error::other)? else {
                self.empty_at = now;
                return Ok(());
            };
            let found = self.subscriptions.iter().find(|it| it.id == id);
            let Some(stream) = found.map(|it| it.stream) else {
                continue;
            };
            if self.is_echo(&event.channel, &event.payload, now) {
                if let Some(counts) = self.session.count_send(stream) {
                    counts.n_offered += 1;
                    counts.add(Cause::Looped);
                }
                continue;
            }
            let stamp_ns = event.arrival.received_ns;
            let waited = self.clock.waited(stamp_ns, now, self.empty_at);
            match authority::is_stop(&event.payload) {
                true => self.session.offer_stop(stream, event.payload, now - waited),
                false => self.session.offer(stream, event.payload, now - waited),
            }
        }
        Ok(())
    }

    /// Counts what came faster than it was taken.
    fn count_overflow(&mut self) {
        for it in &mut self.subscriptions {
            let n_dropped = self.inbox.queue_counts(it.id).dropped;
            let n_new = n_dropped.saturating_sub(it.n_dropped);
            it.n_dropped = n_dropped;
            if let Some(counts) = self.session.count_send(it.stream) {
                counts.n_offered += n_new;
                counts.add_many(Cause::QueueFull, n_new);
            }
        }
    }

    /// Whether a message is one that came over this link a moment ago: it does not go back.
    fn is_echo(&mut self, channel: &str, payload: &[u8], now: Time) -> bool {
        self.echoes.retain(|(_, at)| now.since(*at) < ECHO);
        if self.echoes.is_empty() {
            return false;
        }
        let known = echo(channel, payload);
        let found = self.echoes.iter().position(|(it, _)| *it == known);
        found.and_then(|nth| self.echoes.remove(nth)).is_some()
    }

    /// Publishes what arrived.
    fn deliver(&mut self, now: Time) {
        while let Some(message) = self.session.deliver() {
            self.publish(&message, now);
        }
    }

    fn publish(&mut self, message: &Delivery, now: Time) {
        let Some(declared) = self.file.receives.get(message.stream) else {
            return;
        };
        if declared.is_command && !authority::is_by(&message.payload, &self.file.peer) {
            self.session.undeliver(message, Cause::NotPeers);
            return;
        }
        if let Err(error) = self.bus.publish_shared(&declared.channel, &message.payload) {
            self.news.push(News {
                path: declared.channel.clone(),
                what: error.to_string(),
            });
            let cause = match error {
                PublishError::Send(SendError::TooLarge { .. }) => Cause::TooLarge,
                // The bus has no room for it at present.
                PublishError::Send(_) | PublishError::Channel(_) | PublishError::Encode(_) => {
                    Cause::QueueFull
                }
            };
            self.session.undeliver(message, cause);
            return;
        }
        let mut sends = self.file.sends.iter();
        if sends.any(|it| it.channel == declared.channel) {
            if self.echoes.len() == MAX_ECHOES {
                self.echoes.pop_front();
            }
            self.echoes
                .push_back((echo(&declared.channel, &message.payload), now));
        }
    }

    fn send(&mut self, now: Time) {
        for (nth, way) in self.ways.iter_mut().enumerate() {
            if !way.unsent.is_empty() && way.carrier.send(&way.unsent, now) == Sent::Taken {
                way.unsent.clear();
                self.session.set_blocked(nth, false);
            }
        }
        for _ in 0..MAX_PACKETS {
            let now = self.clock.now();
            let Some(nth) = self.session.transmit(now, &mut self.packet) else {
                return;
            };
            let Some(way) = self.ways.get_mut(nth) else {
                return;
            };
            if way.carrier.send(&self.packet, now) == Sent::Full {
                way.unsent.clone_from(&self.packet);
                self.session.set_blocked(nth, true);
            }
        }
    }

    /// Publishes its status, now and then.
    fn say(&mut self, now: Time) {
        if now.since(self.said_at) < STATUS_EVERY {
            return;
        }
        self.said_at = now;
        self.count_overflow();
        // A bus that does not take it has worse trouble than this.
        let _heard = self.bus.publish(&self.file.status, &self.status());
    }
}

/// What a message on a channel is known by.
fn echo(channel: &str, payload: &[u8]) -> u64 {
    fnv(payload) ^ fnv(channel.as_bytes()).rotate_left(17)
}
