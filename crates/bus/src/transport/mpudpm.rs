//! UDP multicast with channels spread over the ports of one group, as LCM does it:
//! `mpudpm://GROUP:PORT?nports=500`, with the options of `udpm`.
//!
//! The datagrams are those of udpm. A channel's port follows from its name, so a subscriber to names listens at
//! their ports only, and the kernel keeps the rest away. A pattern may match names that are not in use yet: it
//! listens at all ports from the start, since a port that is opened when a channel first appears is opened too late
//! for its first message. Where there are too many ports, or too few descriptors, it does as LCM does: it asks which
//! channels there are, listens at theirs, and follows what publishers announce. A name with dots in it is such a pattern;
//! `vehicle\.pose` is a name.
//!
//! Loss is seen from sequences only while all ports are listened at: a sender counts its messages over all ports, so
//! that otherwise gaps mean nothing. Messages of a sender come in order over all channels, by the kernel's time stamps.
//!
//! Deliberately absent: a self-test, as in udpm. Requests of others are answered by the thread that reads the bus, and by a
//! publisher without a reading thread at its next message.

mod map;
mod merge;
mod ports;

use crate::clock::{self, Wait};
use crate::counts::{NetworkCounts, SenderCounts};
use crate::event::Arrival;
use crate::router::{Body, Inlet, Interest};
use crate::schemes::{Capability, Scheme, UrlOption};
use crate::sys::{self, Batch, Patience};
use crate::transport::udpm::{self, Intake, Sender, Settings, Sink};
use crate::transport::{
    Buffered, ListenError, Observed, OpenError, Outgoing, ReceiveError, Selective, SendError,
    Transport,
};
use crate::url::{BadUrl, Url};
use bowline_wire::mpudpm::{
    DEFAULT_N_PORTS, MAP_REQUEST, MAP_REQUEST_CHANNEL, MAP_UPDATE_CHANNEL, RESERVED_PREFIX,
    is_reserved,
};
use bytes::Bytes;
use map::{ChannelMap, Learnt};
use merge::Merge;
use ports::Ports;
use socket2::Socket;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Datagrams for one call into the kernel.
const BATCH: usize = 32;
/// How many ports are opened in advance for a pattern. Each takes a descriptor.
const MAX_IN_ADVANCE: u16 = 1_024;
/// How often a publisher without a reading thread looks for requests.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How many bytes wait to be put in order before the other sockets have to wait for the next round. In such a flood,
/// order over channels is given up.
const MAX_HELD: usize = 8 << 20;
/// Messages of the protocol's own that are looked at in one round. A flood of them must not grow memory.
const MAX_CONTROL: usize = 64;

/// The row of the table.
pub static SCHEME: Scheme = Scheme {
    name: "mpudpm",
    summary: "LCM's UDP multicast with channels spread over ports",
    example: "mpudpm://239.255.76.67:7667?ttl=0",
    options: &[
        udpm::IFACE,
        udpm::MAX_DATAGRAM,
        UrlOption {
            name: "nports",
            sample: "10",
            default: "500",
            meaning: "how many ports there are",
        },
        udpm::RECV_BUF_SIZE,
        udpm::TTL,
    ],
    capabilities: &[Capability::Multicast],
    check,
    open,
    examine: udpm::examine,
    checks: &[],
};

/// Checks a URL.
fn check(url: &Url) -> Result<(), BadUrl> {
    settings_of(url).map(|_| ())
}

/// Opens a bus on the ports of a group.
fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    let (settings, n_ports) = settings_of(url)?;
    let sender = Sender::open(&settings)?;
    let group = settings.group.address;
    // Publishers differ by the port they send from; without one yet, by when they were opened.
    let spread = u16::try_from(clock::wall_ns() / 1_000 % i64::from(u16::MAX)).unwrap_or(0);
    let ports = Ports::new(settings).map_err(OpenError::system("watch sockets"))?;
    Ok(Arc::new(Mpudpm {
        group,
        n_ports,
        sender,
        ports,
        map: Mutex::new(ChannelMap::new(group.port(), n_ports, spread)),
        wishes: Mutex::default(),
        state: Mutex::new(State {
            batch: Batch::new(BATCH),
            intake: Intake::new(None),
            merge: Merge::default(),
            is_following: true,
            looked: None,
            nonsense: 0,
        }),
    }))
}

fn settings_of(url: &Url) -> Result<(Settings, u16), BadUrl> {
    let mut options = url.options();
    let settings = Settings::take(url, &mut options)?;
    let n_ports = options.parse("nports", "1 to 65535")?;
    let n_ports: u16 = n_ports.unwrap_or(DEFAULT_N_PORTS);
    let base_port = settings.group.address.port();
    if n_ports == 0 || base_port.checked_add(n_ports - 1).is_none() {
        let what =
            format!("expected ports up to 65535, found nports={n_ports} from {base_port} on");
        return Err(options.bad(what));
    }
    options.finish()?;
    Ok((settings, n_ports))
}

#[derive(Debug)]
struct Mpudpm {
    group: SocketAddr,
    n_ports: u16,
    sender: Sender,
    ports: Ports,
    map: Mutex<ChannelMap>,
    wishes: Mutex<Wishes>,
    state: Mutex<State>,
}

/// What subscribers want.
#[derive(Debug, Default)]
struct Wishes {
    interest: Interest,
    /// Whether all ports are listened at.
    has_all_ports: bool,
}

/// For the reading thread.
#[derive(Debug)]
struct State {
    batch: Batch,
    intake: Intake,
    merge: Merge,
    is_following: bool,
    /// When a publisher last looked for requests.
    looked: Option<Instant>,
    /// Messages of the protocol's own that made no sense.
    nonsense: u64,
}

/// A message for the transport itself.
#[derive(Debug)]
enum Control {
    Update(Bytes),
    Request,
}

/// Keeps the protocol's own messages from subscribers.
struct Divert<'a> {
    inlet: Option<&'a mut Inlet>,
    control: &'a mut Vec<Control>,
}

impl Sink for Divert<'_> {
    fn wants(&mut self, channel: &str) -> bool {
        if is_reserved(channel) {
            return channel == MAP_UPDATE_CHANNEL;
        }
        self.inlet
            .as_deref_mut()
            .is_some_and(|inlet| inlet.wants(channel))
    }

    fn deliver(&mut self, channel: &str, body: Body<'_>, arrival: Arrival) -> bool {
        if !is_reserved(channel) {
            let inlet = self.inlet.as_deref_mut();
            return inlet.is_some_and(|inlet| inlet.deliver(channel, body, arrival));
        }
        if self.control.len() < MAX_CONTROL {
            match channel {
                MAP_UPDATE_CHANNEL => {
                    self.control.push(Control::Update(body.into_bytes()));
                }
                MAP_REQUEST_CHANNEL => self.control.push(Control::Request),
                // liblcm's self-test, and what later versions may invent.
                _ => {}
            }
        }
        true
    }
}

impl Mpudpm {
    fn at_port(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.group.ip(), port)
    }

    /// Sends a message of the protocol's own.
    fn tell(&self, channel: &str, payload: &[u8]) -> Result<(), SendError> {
        let message = Outgoing {
            channel,
            payload,
            shared: None,
        };
        self.sender.send_to(self.group, &[message], &[])
    }

    /// Answers requests while no thread reads: subscribers with patterns wait for it.
    fn look_for_requests(&self, now: Instant) {
        // The thread that holds it reads, and answers.
        let Ok(mut state) = self.state.try_lock() else {
            return;
        };
        let since = state.looked.map(|at| now.saturating_duration_since(at));
        if since.is_some_and(|since| since < LOOK_EVERY) || !self.wishes().interest.is_empty() {
            return;
        }
        state.looked = Some(now);
        // A publisher that cannot listen publishes all the same; its channels are announced from time to time.
        if self.ports.open(self.group.port()).is_err() {
            return;
        }
        let mut control = Vec::new();
        if let Some(socket) = self.ports.get(self.group.port()) {
            let mut divert = Divert {
                inlet: None,
                control: &mut control,
            };
            // What is wrong with it shows to those who subscribe.
            drop(state.read(|| Ok(vec![socket]), &mut divert));
        }
        self.heed(&mut state, control, now);
    }

    /// Answers the requests of others, and learns from their announcements.
    fn heed(&self, state: &mut State, control: Vec<Control>, now: Instant) {
        let mut has_learnt = false;
        let mut answer = None;
        for message in control {
            match message {
                Control::Request => answer = answer.or_else(|| self.map().answer(now)),
                Control::Update(update) => {
                    let learnt = self.map().learn(&update, now);
                    has_learnt |= learnt == Learnt::Channels;
                    state.nonsense += u64::from(learnt == Learnt::Nonsense);
                }
            }
        }
        if let Some(answer) = answer {
            // No thread here waits for it; the one that asked will ask again or get an announcement within five seconds.
            drop(self.tell(MAP_UPDATE_CHANNEL, &answer));
        }
        let wishes = self.wishes();
        if has_learnt && !wishes.has_all_ports {
            for port in self.ports_wanted(&wishes.interest) {
                // There are no descriptors left, most likely; what is open goes on.
                drop(self.ports.open(port));
            }
        }
    }

    /// The ports of channels that are known and wanted.
    fn ports_wanted(&self, interest: &Interest) -> BTreeSet<u16> {
        let map = self.map();
        let patterns = interest.patterns();
        let names = patterns.iter().filter_map(|one| one.only_channel());
        let mut ports: BTreeSet<u16> = names.map(|name| map.port_of(&name)).collect();
        ports.extend(map.ports_of(|name| patterns.iter().any(|pattern| pattern.matches(name))));
        ports.insert(self.group.port());
        ports
    }

    fn all_ports(&self) -> BTreeSet<u16> {
        let base = self.group.port();
        (0..self.n_ports)
            .map(|at| base.saturating_add(at))
            .collect()
    }

    /// Listens at all ports if that can be, and returns whether it can.
    fn open_all(&self) -> bool {
        self.n_ports <= MAX_IN_ADVANCE
            && self
                .all_ports()
                .into_iter()
                .all(|port| self.ports.open(port).is_ok())
    }

    fn map(&self) -> MutexGuard<'_, ChannelMap> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Reads sockets, and hands in what arrived in the order in which it did; not all at once, since queues are short.
    fn read(
        &mut self,
        sockets: impl FnOnce() -> io::Result<Vec<Arc<Socket>>>,
        divert: &mut Divert<'_>,
    ) -> io::Result<()> {
        if !self.merge.has_due() {
            let (began_ns, mut rest_since_ns) = (clock::wall_ns(), None::<i64>);
            let sockets = sockets()?;
            let is_alone = sockets.len() == 1 && self.merge.is_empty();
            for socket in &sockets {
                if self.merge.n_bytes() > MAX_HELD {
                    break;
                }
                let read_until_ns = self.read_socket(socket, is_alone, began_ns, divert)?;
                let earliest = [rest_since_ns, read_until_ns].into_iter().flatten().min();
                rest_since_ns = earliest;
            }
            self.merge.end_round(began_ns, rest_since_ns);
        }
        let Self { merge, intake, .. } = self;
        merge.give(BATCH, |datagrams| intake.take(datagrams, divert));
        Ok(())
    }

    /// Reads one socket; if that did not empty it, returns until when it was read.
    fn read_socket(
        &mut self,
        socket: &Socket,
        is_alone: bool,
        began_ns: i64,
        divert: &mut Divert<'_>,
    ) -> io::Result<Option<i64>> {
        let (n_received, is_all) = self.batch.receive(socket.as_fd(), BATCH, Patience::None)?;
        let mut last_ns = None;
        for datagrams in (0..n_received).filter_map(|at| self.batch.get(at)) {
            last_ns = datagrams.received_ns;
            let is_due = last_ns.is_none_or(|stamp| stamp <= began_ns);
            if is_alone && is_due && self.merge.is_empty() {
                self.intake.take(&datagrams, divert);
            } else {
                self.merge.add(socket.as_raw_fd(), &datagrams);
            }
        }
        Ok(last_ns.filter(|_| !is_all))
    }

    fn follow_senders(&mut self, is_following: bool) {
        if self.is_following != is_following {
            self.is_following = is_following;
            self.intake.follow_senders(is_following);
        }
    }
}

impl Transport for Mpudpm {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        if let Some(own) = messages.iter().find(|message| is_reserved(message.channel)) {
            return Err(SendError::Reserved {
                channel: own.channel.to_owned(),
                prefix: RESERVED_PREFIX,
            });
        }
        let now = clock::monotonic();
        self.look_for_requests(now);
        let (news, ports) = {
            let mut map = self.map();
            let news = map.register(messages.iter().map(|message| message.channel));
            let news = news.or_else(|| map.refresh(now));
            let ports = messages.iter().map(|message| map.port_of(message.channel));
            (news, ports.collect::<Vec<u16>>())
        };
        if let Some(news) = news {
            self.tell(MAP_UPDATE_CHANNEL, &news)?;
        }
        let mut rest = messages;
        for run in ports.chunk_by(|a, b| a == b) {
            let (now, later) = rest.split_at_checked(run.len()).unwrap_or((rest, &[]));
            rest = later;
            let port = run.first().copied().unwrap_or(self.group.port());
            self.sender.send_to(self.at_port(port), now, &[])?;
        }
        Ok(())
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        if !wait.is_poll() && self.state().merge.is_empty() {
            let [has_data, _] = sys::poll([self.ports.as_fd(), wait.interrupt()], wait.left())?;
            if !has_data {
                return Ok(());
            }
        }
        let mut control = Vec::new();
        let mut state = self.state();
        let mut divert = Divert {
            inlet: Some(inlet),
            control: &mut control,
        };
        state.read(|| self.ports.ready(), &mut divert)?;
        if !control.is_empty() {
            self.heed(&mut state, control, clock::monotonic());
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

impl Selective for Mpudpm {
    fn want(&self, interest: &Interest, _: &mut Inlet) -> Result<(), ListenError> {
        let mut wishes = self.wishes();
        let known: BTreeSet<&str> = wishes
            .interest
            .patterns()
            .iter()
            .map(|one| one.as_str())
            .collect();
        let new = interest.patterns().iter();
        let new = new.filter(|pattern| !known.contains(pattern.as_str()));
        let (names, patterns): (Vec<_>, Vec<_>) = new
            .map(|pattern| pattern.only_channel())
            .partition(Option::is_some);
        let names: Vec<String> = names.into_iter().flatten().collect();
        let has_patterns = interest
            .patterns()
            .iter()
            .any(|pattern| pattern.only_channel().is_none());
        let news = self.map().register(names.iter().map(String::as_str));

        self.ports.open(self.group.port())?;
        let wanted = self.ports_wanted(interest);
        for port in &wanted {
            self.ports.open(*port)?;
        }
        wishes.has_all_ports = has_patterns && self.open_all() || self.n_ports == 1;
        if !wishes.has_all_ports {
            self.ports.retain(&wanted);
        }
        wishes.interest = interest.clone();
        let has_all_ports = wishes.has_all_ports;
        drop(wishes);
        self.state().follow_senders(has_all_ports);
        // Others do without if it gets lost, as everything here may.
        if let Some(news) = news {
            drop(self.tell(MAP_UPDATE_CHANNEL, &news));
        }
        if !has_all_ports && !patterns.is_empty() {
            drop(self.tell(MAP_REQUEST_CHANNEL, MAP_REQUEST));
        }
        Ok(())
    }
}

impl Buffered for Mpudpm {
    fn holds_unread(&self) -> bool {
        !self.state().merge.is_empty() || self.ports.ready().is_ok_and(|ready| !ready.is_empty())
    }

    fn is_pressed(&self) -> bool {
        let is_pressed = |socket: &Arc<Socket>| {
            let memory = sys::socket_memory(socket.as_fd()).unwrap_or_default();
            memory.used > memory.limit / 2
        };
        self.ports
            .ready()
            .is_ok_and(|ready| ready.iter().any(is_pressed))
    }
}

impl Observed for Mpudpm {
    fn counts(&self) -> NetworkCounts {
        let state = self.state();
        let counts = state.intake.counts();
        NetworkCounts {
            kernel_drops: self.ports.drops(),
            malformed: counts.malformed + state.nonsense,
            reconnects: self.ports.rejoins(),
            receive_buffer: self.ports.receive_buffer(),
            ..counts
        }
    }

    fn senders(&self) -> Vec<SenderCounts> {
        self.state().intake.senders()
    }

    fn trouble(&self) -> Option<String> {
        let wishes = self.wishes();
        let mut patterns = wishes.interest.patterns().iter();
        let pattern = patterns.find(|pattern| pattern.only_channel().is_none())?;
        (!wishes.has_all_ports).then(|| {
            format!(
                "{:?} may miss the first message of a channel: not all of {} ports could be opened",
                pattern.as_str(),
                self.n_ports
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_do_not_exist_are_refused() {
        let n_ports = |url| settings_of(&Url::parse(url).unwrap()).map(|(_, n_ports)| n_ports);
        assert_eq!(n_ports("mpudpm://"), Ok(500));
        assert_eq!(n_ports("mpudpm://:65535?nports=1"), Ok(1));
        for (url, part) in [
            ("mpudpm://:65535?nports=2", "ports up to 65535"),
            ("mpudpm://?nports=0", "ports up to 65535"),
            ("mpudpm://?nports=many", "nports= expects 1 to 65535"),
            ("mpudpm://?port=1", "no option \"port\""),
        ] {
            let error = n_ports(url).unwrap_err().to_string();
            assert!(error.contains(part), "{url}: {error}");
        }
    }
}
