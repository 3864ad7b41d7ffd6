//! The receiving socket, read in batches by the thread that waits for a message.

use super::filter::{self, Judged, Source};
use super::{Group, Intake, Settings};
use crate::clock::Wait;
use crate::counts::{NetworkCounts, SenderCounts};
use crate::pattern::Pattern;
use crate::router::{Inlet, Interest};
use crate::sys::{self, Batch, Instruction, LinkWatch, Patience};
use crate::transport::{ListenError, ReceiveError};
use socket2::Socket;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Datagrams for one call into the kernel. Each needs 64 KiB, touched only when it is used.
pub(super) const BATCH: usize = 32;
/// How many reads in a row before control goes back, so that other mailboxes' readers and deadlines get their turn.
const MAX_READS: usize = 4;
/// The receive buffer asked for where the system lets us have any: half a second at a gigabit a second.
const AMBITIOUS_BUFFER: usize = 64 << 20;

/// How long a reader that need not notice anything else may wait for a datagram in one call into the kernel, which
/// saves the second call that waiting for several things takes.
const INATTENTION: Duration = Duration::from_millis(50);
/// How many reads between two looks for changed interfaces, when there is no silence.
const LINKS_EVERY: u64 = 1_024;

/// A socket in the group.
#[derive(Debug)]
pub(super) struct Receiver {
    socket: Socket,
    group: Group,
    /// Word of interfaces that come and go. Without it, memberships are never renewed.
    links: Option<LinkWatch>,
    receive_buffer: usize,
    source: Option<Source>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    intake: Intake,
    filter: Filter,
    rejoins: u64,
    /// Whether the last read left nothing in the socket.
    has_read_all: bool,
}

/// Whether the kernel leaves out what has no subscriber.
#[derive(Debug, Default)]
struct Filter {
    /// Of all subscriptions.
    patterns: Arc<[Pattern]>,
    /// Whether one of our own large messages was wanted back. It stays so: a message may be under way.
    admits_own_fragments: bool,
    /// What it would run, if the subscriptions are simple enough, to leave out what we publish ourselves and do not
    /// want back: always worth it, since it would wake us for nothing.
    own: Option<Vec<Instruction>>,
    /// The same for what any host publishes: only worth it when that is most of the traffic, since then gaps in the
    /// senders' sequences mean nothing any more.
    all: Option<Vec<Instruction>>,
    /// Which of them runs.
    scope: Option<Scope>,
    /// It pays to leave out what any host publishes, as soon as nothing that was coalesced waits in the socket.
    is_due: bool,
    /// While one runs: the drop counts when it was attached.
    since: Option<DropMarks>,
    /// Left out so far, in phases that are over.
    filtered: u64,
    /// The counts of unwanted and all datagrams when the present window began.
    window: (u64, u64),
    overflowed: u64,
}

/// Whose datagrams are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Own,
    All,
}

/// What came of attaching a program.
enum Attached {
    Program,
    NotYet,
    Nothing,
}

/// Drops at our socket, and overflows of all sockets of the host.
#[derive(Clone, Copy, Debug, Default)]
struct DropMarks {
    socket: u32,
    overflows: u64,
}

/// A window of datagrams after which it is judged whether filtering pays.
const WINDOW: u64 = 2_000;

impl Receiver {
    /// `source` is where our own datagrams come from.
    pub(super) fn open(
        settings: &Settings,
        source: Option<SocketAddr>,
    ) -> Result<Self, ListenError> {
        let group = settings.group.clone();
        let socket = group.receiving_socket(group.address.port())?;
        let receive_buffer =
            set_up(&socket, settings.receive_buffer).map_err(|source| ListenError::System {
                doing: "set up a receiving socket".to_owned(),
                source,
                hint: None,
            })?;
        Ok(Self {
            socket,
            group,
            links: LinkWatch::new().ok(),
            receive_buffer,
            source: match source {
                Some(SocketAddr::V4(source)) => Some(Source {
                    address: *source.ip(),
                    port: source.port(),
                }),
                Some(SocketAddr::V6(_)) | None => None,
            },
            state: Mutex::new(State {
                intake: Intake::new(source),
                filter: Filter::default(),
                rejoins: 0,
                has_read_all: false,
            }),
        })
    }

    pub(super) fn want(&self, interest: &Interest) {
        let mut state = self.lock();
        state.filter.patterns = interest.patterns().into();
        self.write_programs(&mut state);
        self.filter(&mut state, Scope::Own);
    }

    /// What of our own comes back to us, as far as we can help it.
    pub(super) fn own_patterns(&self) -> Arc<[Pattern]> {
        Arc::clone(&self.lock().filter.patterns)
    }

    /// From now on our own large messages come back, since we want one of them.
    pub(super) fn admit_own_fragments(&self) {
        let mut state = self.lock();
        if state.filter.admits_own_fragments {
            return;
        }
        state.filter.admits_own_fragments = true;
        self.write_programs(&mut state);
        if state.filter.scope == Some(Scope::Own) {
            self.filter(&mut state, Scope::Own);
        }
    }

    fn write_programs(&self, state: &mut State) {
        let judged = if state.filter.admits_own_fragments {
            Judged::Short
        } else {
            Judged::ShortAndFragments
        };
        let patterns = &state.filter.patterns;
        let own = self.source.map(judged);
        let own = own.and_then(|judged| filter::program(patterns, judged));
        let all = filter::program(patterns, Judged::All);
        state.filter.own = own;
        state.filter.all = all;
    }

    pub(super) fn receive(
        &self,
        batch: &mut Batch,
        inlet: &mut Inlet,
        wait: &Wait<'_>,
    ) -> Result<(), ReceiveError> {
        let mut patience = Patience::None;
        if wait.may_be_inattentive(INATTENTION) {
            patience = Patience::Inattentive;
        } else if !wait.is_poll() && !self.wait(wait)? {
            return Ok(());
        }
        let mut n_all = 0;
        for _ in 0..MAX_READS {
            let (n_received, is_all) = batch.receive(self.socket.as_fd(), BATCH, patience)?;
            let mut state = self.lock();
            for at in 0..n_received {
                if let Some(datagrams) = batch.get(at) {
                    state.intake.take(&datagrams, inlet);
                }
            }
            state.has_read_all = is_all;
            self.judge_filter(&mut state);
            n_all += n_received;
            if is_all || !wait.is_poll() {
                break;
            }
        }
        // A read that does not wait for changes of interfaces learns of them in silence, or now and then.
        let n_reads = batch.count_reads();
        if let Some(links) = &self.links
            && (n_all == 0 || n_reads.is_multiple_of(LINKS_EVERY))
        {
            self.follow_links(links);
        }
        Ok(())
    }

    /// Waits for datagrams; returns whether there are some. Changes of interfaces are dealt with on the way.
    fn wait(&self, wait: &Wait<'_>) -> io::Result<bool> {
        let timeout = wait.left();
        let Some(links) = &self.links else {
            let [has_data, _] = sys::poll([self.socket.as_fd(), wait.interrupt()], timeout)?;
            return Ok(has_data);
        };
        let descriptors = [self.socket.as_fd(), links.as_fd(), wait.interrupt()];
        let [has_data, has_news, _] = sys::poll(descriptors, timeout)?;
        if has_news {
            self.follow_links(links);
        }
        Ok(has_data)
    }

    /// Joins again where a membership went with its interface.
    fn follow_links(&self, links: &LinkWatch) {
        let news = links.take();
        if news.has_changed && self.group.join_missing(&self.socket, &news) {
            self.lock().rejoins += 1;
        }
    }

    /// Attaches or detaches the filter when a window of datagrams shows that it pays.
    fn judge_filter(&self, state: &mut State) {
        let (unwanted, all) = state.intake.unwanted();
        let (unwanted_before, all_before) = state.filter.window;
        let n_seen = all - all_before;
        let is_all = state.filter.scope == Some(Scope::All);
        if n_seen >= WINDOW {
            state.filter.window = (unwanted, all);
            // Three of four are of no use: without them, a reader sleeps that much more.
            let is_due = !is_all && (unwanted - unwanted_before) * 4 >= n_seen * 3;
            state.filter.is_due = is_due && state.filter.all.is_some();
            if is_all && state.filter.left_out_since(self.marks()) < n_seen {
                self.filter(state, Scope::Own);
            }
        }
        if state.filter.is_due && state.has_read_all {
            self.filter(state, Scope::All);
        }
    }

    /// Has the kernel leave out what has no subscriber, from ourselves or from all, as far as it can.
    fn filter(&self, state: &mut State, scope: Scope) {
        let now = self.marks();
        let Totals {
            filtered,
            overflowed,
        } = state.filter.settled(now);
        let was_all = state.filter.scope == Some(Scope::All);
        let attached = match (scope, &state.filter.own, &state.filter.all) {
            (Scope::Own, Some(program), _) => self.attach(program, scope),
            (Scope::All, _, Some(program)) => self.attach(program, scope),
            (Scope::Own, None, _) | (Scope::All, _, None) => Attached::Nothing,
        };
        let scope = match attached {
            Attached::Program => Some(scope),
            // All is as it was, to be tried again after the next read.
            Attached::NotYet => return,
            Attached::Nothing => {
                if state.filter.scope.is_some() {
                    drop(sys::detach_filter(self.socket.as_fd()));
                }
                drop(self.coalesce(true));
                None
            }
        };
        state.filter.is_due = false;
        state.filter.scope = scope;
        state.filter.since = scope.map(|_| now);
        state.filter.filtered = filtered;
        state.filter.overflowed = overflowed;
        let is_all = scope == Some(Scope::All);
        if is_all != was_all {
            state.intake.follow_senders(!is_all);
        }
    }

    fn attach(&self, program: &[Instruction], scope: Scope) -> Attached {
        // A coalesced packet would be judged by its first message alone, so there must be none from now on. What was
        // coalesced before could not be taken apart any more, so there must be none in the socket either. Our own
        // packets never mix what we want with what we do not.
        if scope == Scope::All && !(self.coalesce(false).is_ok() && self.fill().0 == 0) {
            drop(self.coalesce(true));
            return Attached::NotYet;
        }
        let attached = sys::attach_filter(self.socket.as_fd(), program);
        if scope == Scope::Own {
            // Only now: the program before this one may have been one for all.
            drop(self.coalesce(true));
        }
        match attached {
            Ok(()) => Attached::Program,
            Err(_unsupported) => Attached::Nothing,
        }
    }

    /// Kernels before 5.0 cannot; then each datagram comes by itself.
    fn coalesce(&self, is_on: bool) -> io::Result<()> {
        sys::set_option(
            self.socket.as_fd(),
            libc::SOL_UDP,
            libc::UDP_GRO,
            i32::from(is_on),
        )
    }

    fn marks(&self) -> DropMarks {
        DropMarks {
            socket: sys::socket_memory(self.socket.as_fd())
                .unwrap_or_default()
                .drops,
            overflows: host_overflows().unwrap_or(0),
        }
    }

    /// How full the socket's buffer is, and how full it can be.
    pub(super) fn fill(&self) -> (u32, u32) {
        let memory = sys::socket_memory(self.socket.as_fd()).unwrap_or_default();
        (memory.used, memory.limit)
    }

    pub(super) fn counts(&self) -> NetworkCounts {
        let state = self.lock();
        let marks = self.marks();
        let Totals { filtered, .. } = state.filter.settled(marks);
        NetworkCounts {
            kernel_drops: u64::from(marks.socket).saturating_sub(filtered),
            filtered,
            reconnects: state.rejoins,
            receive_buffer: self.receive_buffer as u64,
            ..state.intake.counts()
        }
    }

    pub(super) fn senders(&self) -> Vec<SenderCounts> {
        self.lock().intake.senders()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filter {
    /// The books as of `now`. The kernel counts what the filter left out and what overflowed as one; overflows of the
    /// whole host distinguish them as far as that goes.
    fn settled(&self, now: DropMarks) -> Totals {
        let dropped = self.left_out_since(now);
        let since = self.since.map_or(now.overflows, |since| since.overflows);
        let overflowed = now.overflows.saturating_sub(since).min(dropped);
        Totals {
            filtered: self.filtered + dropped - overflowed,
            overflowed: self.overflowed + overflowed,
        }
    }

    fn left_out_since(&self, now: DropMarks) -> u64 {
        self.since
            .map_or(0, |since| u64::from(now.socket.wrapping_sub(since.socket)))
    }
}

/// What was left out on purpose, and what overflowed meanwhile.
struct Totals {
    filtered: u64,
    overflowed: u64,
}

/// Asks for time stamps, coalescing and a large buffer; returns the buffer that was granted.
pub(crate) fn set_up(socket: &Socket, receive_buffer: Option<usize>) -> io::Result<usize> {
    socket.set_read_timeout(Some(INATTENTION))?;
    sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    // Kernels before 5.0 cannot; then each datagram comes by itself.
    drop(sys::set_option(
        socket.as_fd(),
        libc::SOL_UDP,
        libc::UDP_GRO,
        1,
    ));
    let size = receive_buffer.unwrap_or(AMBITIOUS_BUFFER);
    // The privileged way passes the system's limit; the other is cut down to it.
    let forced = i32::try_from(size).map_err(io::Error::other);
    let forced = forced.and_then(|size| {
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, size)
    });
    if forced.is_err() {
        socket.set_recv_buffer_size(size)?;
    }
    // The kernel reports twice what it was asked for: its own books are in it.
    Ok(socket.recv_buffer_size()? / 2)
}

/// How many datagrams all sockets of this network namespace lost for want of room.
fn host_overflows() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|name| name == "RcvbufErrors")?;
    values.split(' ').nth(at)?.parse().ok()
}
