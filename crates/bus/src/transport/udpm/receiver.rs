//! The receiving socket, read in batches by whoever waits for a message.

use super::filter;
use super::{Group, Intake, Settings};
use crate::clock::Wait;
use crate::counts::{NetworkCounts, SenderCounts};
use crate::router::{Inlet, Interest};
use crate::sys::{self, Batch, Instruction, LinkWatch};
use crate::transport::{ListenError, ReceiveError};
use socket2::Socket;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Datagrams for one call into the kernel. Each needs 64 KiB, touched only when it is used.
const BATCH: usize = 32;
/// How many reads in a row before control goes back, so that other mailboxes' readers and deadlines get their turn.
const MAX_READS: usize = 4;
/// The receive buffer asked for where the system lets us have any: half a second at a gigabit a second.
const AMBITIOUS_BUFFER: usize = 64 << 20;

/// A socket in the group.
#[derive(Debug)]
pub(super) struct Receiver {
    socket: Socket,
    group: Group,
    /// Word of interfaces that come and go. Without it, memberships are never renewed.
    links: Option<LinkWatch>,
    receive_buffer: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    batch: Batch,
    intake: Intake,
    filter: Filter,
    rejoins: u64,
}

/// Whether the kernel leaves out what nobody wants.
#[derive(Debug, Default)]
struct Filter {
    /// What it would run, if the subscriptions are simple enough.
    program: Option<Vec<Instruction>>,
    /// While it runs: the drop counts when it was attached.
    since: Option<DropMarks>,
    /// Left out so far, in phases that are over.
    filtered: u64,
    /// The counts of unwanted and all datagrams when the present window began.
    window: (u64, u64),
    overflowed: u64,
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
    pub(super) fn open(settings: &Settings) -> Result<Self, ListenError> {
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
            state: Mutex::new(State {
                batch: Batch::new(BATCH),
                intake: Intake::default(),
                filter: Filter::default(),
                rejoins: 0,
            }),
        })
    }

    pub(super) fn want(&self, interest: &Interest) {
        let mut state = self.lock();
        self.stop_filtering(&mut state);
        state.filter.program = filter::program(interest.patterns());
    }

    pub(super) fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        if !wait.is_poll() && !self.wait(wait)? {
            return Ok(());
        }
        let mut state = self.lock();
        for _ in 0..MAX_READS {
            let State { batch, intake, .. } = &mut *state;
            let (n_received, is_all) = batch.receive(self.socket.as_fd(), BATCH)?;
            for at in 0..n_received {
                if let Some(datagrams) = batch.get(at) {
                    intake.take(&datagrams, inlet);
                }
            }
            if is_all || !wait.is_poll() {
                break;
            }
        }
        self.judge_filter(&mut state);
        Ok(())
    }

    /// Waits for datagrams; says whether there are some. Word of changed interfaces is dealt with on the way.
    fn wait(&self, wait: &Wait<'_>) -> io::Result<bool> {
        let timeout = wait.left();
        let Some(links) = &self.links else {
            let [has_data, _] = sys::poll([self.socket.as_fd(), wait.interrupt()], timeout)?;
            return Ok(has_data);
        };
        let descriptors = [self.socket.as_fd(), links.as_fd(), wait.interrupt()];
        let [has_data, has_news, _] = sys::poll(descriptors, timeout)?;
        if has_news && links.take() && self.group.join_again(&self.socket).is_ok() {
            self.lock().rejoins += 1;
        }
        Ok(has_data)
    }

    /// Attaches or detaches the filter when a window of datagrams says that it pays.
    fn judge_filter(&self, state: &mut State) {
        let (unwanted, all) = state.intake.unwanted();
        let (unwanted_before, all_before) = state.filter.window;
        let n_seen = all - all_before;
        if n_seen < WINDOW {
            return;
        }
        state.filter.window = (unwanted, all);
        match &state.filter.since {
            // Three of four are of no use: without them, a reader sleeps that much more.
            None if (unwanted - unwanted_before) * 4 >= n_seen * 3 => self.start_filtering(state),
            Some(marks) if u64::from(self.marks().socket.wrapping_sub(marks.socket)) < n_seen => {
                self.stop_filtering(state);
            }
            None | Some(_) => {}
        }
    }

    fn start_filtering(&self, state: &mut State) {
        let Some(program) = &state.filter.program else {
            return;
        };
        let socket = self.socket.as_fd();
        // A coalesced packet would be judged by its first message alone.
        let started = sys::set_option(socket, libc::SOL_UDP, libc::UDP_GRO, 0)
            .and_then(|()| sys::attach_filter(socket, program));
        if started.is_ok() {
            state.filter.since = Some(self.marks());
            state.intake.follow_senders(false);
        }
    }

    fn stop_filtering(&self, state: &mut State) {
        if state.filter.since.is_none() {
            return;
        }
        let (filtered, overflowed) = state.filter.totals(self.marks());
        let socket = self.socket.as_fd();
        // Without coalescing it works as well, only slower.
        drop(sys::detach_filter(socket));
        drop(sys::set_option(socket, libc::SOL_UDP, libc::UDP_GRO, 1));
        state.filter.filtered = filtered;
        state.filter.overflowed = overflowed;
        state.filter.since = None;
        state.intake.follow_senders(true);
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
        let (filtered, _) = state.filter.totals(marks);
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
    /// What the filter left out, and what overflowed while it ran. The kernel counts both as one; overflows of the
    /// whole host tell them apart as far as that goes.
    fn totals(&self, now: DropMarks) -> (u64, u64) {
        let Some(since) = self.since else {
            return (self.filtered, self.overflowed);
        };
        let dropped = u64::from(now.socket.wrapping_sub(since.socket));
        let overflowed = now.overflows.saturating_sub(since.overflows).min(dropped);
        (
            self.filtered + dropped - overflowed,
            self.overflowed + overflowed,
        )
    }
}

/// Asks for time stamps, coalescing and a large buffer; returns the buffer that was granted.
pub(crate) fn set_up(socket: &Socket, receive_buffer: Option<usize>) -> io::Result<usize> {
    socket.set_nonblocking(true)?;
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
    let text = std::fs::read_to_string("/proc/net/snmp").ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|name| name == "RcvbufErrors")?;
    values.split(' ').nth(at)?.parse().ok()
}
