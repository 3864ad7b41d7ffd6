//! The sending socket: headers, cuts, batches.

use super::pacing::Pacer;
use super::{Group, Settings};
use crate::clock;
use crate::pattern::Pattern;
use crate::sys::{self, Piece, Segmenting};
use crate::transport::{OpenError, Outgoing, SendError};
use bowline_wire::datagram::{
    Cut, CutError, FRAGMENT_HEADER_SIZE, MAX_DATAGRAM_SIZE, MAX_SHORT_SIZE, SHORT_HEADER_SIZE,
    write_short_header,
};
use socket2::{SockAddr, Socket};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a network may take nothing before a publisher gets an error.
const MAX_BUSY: Duration = Duration::from_millis(100);
/// How many datagrams go to the kernel in one piece.
const MAX_SEGMENTS: u16 = 128;
/// Kernels before 6.9 take no more than this.
const OLD_MAX_SEGMENTS: u16 = 64;
/// Smaller datagrams than this would be mostly headers.
const MIN_DATAGRAM: usize = 256;
const MAX_FRAGMENTS: usize = u16::MAX as usize;
/// Enough that a large message does not wait for the interface more often than it must.
const SEND_BUFFER: usize = 4 << 20;

/// Sends to one group.
#[derive(Debug)]
pub(crate) struct Sender {
    socket: Socket,
    group: Group,
    /// The largest datagram that the path carries whole.
    path_datagram: usize,
    /// Where our datagrams come from, as far as that is known.
    source: Option<SocketAddr>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    next_sequence: u32,
    /// Scratch space for headers.
    headers: Vec<u8>,
    /// Whether the kernel cuts for us. Not all interfaces let it.
    can_segment: bool,
    max_segments: u16,
    pacer: Pacer,
}

impl Sender {
    pub(crate) fn open(settings: &Settings) -> Result<Self, OpenError> {
        let socket = settings.group.sending_socket()?;
        // The system may grant less; then a burst waits sooner.
        drop(socket.set_send_buffer_size(SEND_BUFFER));
        // Without a route nothing is known about the path, and sending will fail with the reason.
        let path = settings.group.path().ok();
        let path_datagram = path.map_or(MAX_DATAGRAM_SIZE, |path| path.max_datagram);
        let path_datagram = settings.max_datagram.unwrap_or(path_datagram);
        let port = socket
            .local_addr()
            .ok()
            .and_then(|address| address.as_socket());
        let address = path.and_then(|path| path.source);
        let source = address
            .zip(port)
            .map(|(address, bound)| (address, bound.port()).into());
        Ok(Self {
            socket,
            source,
            group: settings.group.clone(),
            path_datagram: path_datagram.clamp(MIN_DATAGRAM, MAX_DATAGRAM_SIZE),
            state: Mutex::new(State {
                next_sequence: 0,
                headers: Vec::new(),
                can_segment: true,
                max_segments: MAX_SEGMENTS,
                pacer: Pacer::new(settings.group.address),
            }),
        })
    }

    /// Where our datagrams come from, as far as that is known.
    pub(crate) fn source(&self) -> Option<SocketAddr> {
        self.source
    }

    /// Sends one short message.
    pub(crate) fn send_short(
        &self,
        to: &SockAddr,
        message: &Outgoing<'_>,
    ) -> Result<(), SendError> {
        let mut state = self.lock();
        let sequence = state.take_sequence();
        let State { headers, .. } = &mut *state;
        headers.clear();
        write_short_header(sequence, message.channel, headers);
        let piece = Piece {
            header: headers,
            body: message.payload,
            group: 0,
        };
        match sys::send_one(self.socket.as_fd(), to, piece) {
            Ok(()) => Ok(()),
            Err(error) => self.patiently(error, || sys::send_one(self.socket.as_fd(), to, piece)),
        }
    }

    /// Sends any messages to a group, which may differ from the sender's own in the port. `own` is what this process
    /// wants back.
    pub(crate) fn send_to(
        &self,
        group: SocketAddr,
        messages: &[Outgoing<'_>],
        own: &[Pattern],
    ) -> Result<(), SendError> {
        let to = SockAddr::from(group);
        if let [message] = messages
            && self.is_short(message)
        {
            return self.send_short(&to, message);
        }
        let mut state = self.lock();
        let line = Line {
            sender: self,
            group,
            to: &to,
            own,
            state: &mut state,
        };
        line.send(messages)
    }

    /// Messages that fit in one datagram, as LCM cuts them, or that the path carries whole.
    pub(super) fn is_short(&self, message: &Outgoing<'_>) -> bool {
        let size = message.channel.len() + 1 + message.payload.len();
        size <= MAX_SHORT_SIZE.min(self.path_datagram - SHORT_HEADER_SIZE)
    }

    /// How large fragments are: what the path carries whole, or more when there would be too many.
    fn fragment_body(&self, message: &Outgoing<'_>) -> usize {
        let body = self.path_datagram - FRAGMENT_HEADER_SIZE;
        let size = message.channel.len() + 1 + message.payload.len();
        if size.div_ceil(body) <= MAX_FRAGMENTS {
            return body;
        }
        bowline_wire::datagram::MAX_FRAGMENT_BODY
    }

    /// Tries again, after an error, while the interface is busy, but not for ever.
    #[cold]
    fn patiently<T>(
        &self,
        mut error: io::Error,
        send: impl Fn() -> io::Result<T>,
    ) -> Result<T, SendError> {
        let mut started = None;
        let mut has_chosen = false;
        loop {
            let is_busy = error.kind() == io::ErrorKind::WouldBlock
                || error.raw_os_error() == Some(libc::ENOBUFS);
            if !has_chosen && is_interface_gone(&error) {
                // One that went and came again has another number, which the socket has to get.
                has_chosen = true;
                self.group.choose_interface(&self.socket)?;
            } else if is_busy || error.kind() == io::ErrorKind::Interrupted {
                let now = clock::monotonic();
                let waited = now.duration_since(*started.get_or_insert(now));
                if waited >= MAX_BUSY {
                    return Err(SendError::Busy { waited });
                }
                sys::poll_write(self.socket.as_fd(), MAX_BUSY - waited)?;
            } else {
                return Err(SendError::System(error));
            }
            error = match send() {
                Ok(sent) => return Ok(sent),
                Err(error) => error,
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_sequence(&mut self) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence = sequence.wrapping_add(1);
        sequence
    }
}

/// A sender at work.
struct Line<'a> {
    sender: &'a Sender,
    group: SocketAddr,
    to: &'a SockAddr,
    own: &'a [Pattern],
    state: &'a mut State,
}

impl Line<'_> {
    /// Runs of short messages go together; a large one goes by itself.
    fn send(mut self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        self.state.pacer.begin(self.group);
        for run in messages.chunk_by(|a, b| self.sender.is_short(a) && self.sender.is_short(b)) {
            match run {
                [large] if !self.sender.is_short(large) => self.send_fragments(large)?,
                short => self.send_short_run(short)?,
            }
        }
        Ok(())
    }

    fn send_short_run(&mut self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        let mut headers = std::mem::take(&mut self.state.headers);
        headers.clear();
        let mut ends = Vec::with_capacity(messages.len());
        for message in messages {
            write_short_header(self.state.take_sequence(), message.channel, &mut headers);
            ends.push(headers.len());
        }
        let bodies = messages.iter().map(|message| message.payload);
        let mut pieces = pieces(&headers, &ends, bodies);
        // The filter at our own receiver judges what is handed over as one by its first channel.
        let mut is_own = None;
        let mut channel = "";
        let mut n_changes = 0;
        for (piece, message) in pieces.iter_mut().zip(messages) {
            if is_own.is_none() || message.channel != channel {
                channel = message.channel;
                let is_now_own = Some(is_wanted(self.own, channel));
                n_changes += usize::from(is_own != is_now_own);
                is_own = is_now_own;
            }
            piece.group = n_changes;
        }
        let sent = self.send_pieces(&pieces);
        self.state.headers = headers;
        sent
    }

    fn send_fragments(&mut self, message: &Outgoing<'_>) -> Result<(), SendError> {
        let body = self.sender.fragment_body(message);
        let cut = Cut::new(message.channel, message.payload.len(), body)
            .map_err(|error| too_large(message, error))?;
        let sequence = self.state.take_sequence();
        let mut headers = std::mem::take(&mut self.state.headers);
        self.state.pacer.begin(self.group);
        let mut sent = Ok(());
        let mut ends = Vec::with_capacity(MAX_SEGMENTS.into());
        let mut next = 0;
        while next < cut.count() && sent.is_ok() {
            let until = next.saturating_add(MAX_SEGMENTS).min(cut.count());
            headers.clear();
            ends.clear();
            for index in next..until {
                cut.write_header(sequence, index, &mut headers);
                ends.push(headers.len());
            }
            let bodies = (next..until)
                .map(|index| message.payload.get(cut.range(index)).unwrap_or_default());
            sent = self.send_pieces(&pieces(&headers, &ends, bodies));
            next = until;
        }
        self.state.headers = headers;
        sent
    }

    /// Hands datagrams to the kernel in runs: equal ones in one piece, others in one call.
    fn send_pieces(&mut self, pieces: &[Piece<'_>]) -> Result<(), SendError> {
        let mut rest = pieces;
        while let Some(first) = rest.first() {
            let n_equal = self.equal_run(rest);
            let (segmenting, n_run) = match u16::try_from(first.len()) {
                Ok(size) if n_equal > 1 => (Segmenting::Equal(size), n_equal),
                _ => (Segmenting::Apart, self.unequal_run(rest)),
            };
            let run = rest.get(..n_run).unwrap_or_default();
            self.state
                .pacer
                .wait_for_room(run.iter().map(Piece::len).sum());
            let n_sent = self.send_run(run, segmenting)?;
            rest = rest.get(n_sent..).unwrap_or_default();
        }
        Ok(())
    }

    fn send_run(&mut self, run: &[Piece<'_>], segmenting: Segmenting) -> Result<usize, SendError> {
        let socket = self.sender.socket.as_fd();
        let send = || sys::send_datagrams(socket, self.to, run, segmenting);
        let sent = send().or_else(|error| self.sender.patiently(error, send));
        match sent {
            Err(SendError::System(error))
                if segmenting != Segmenting::Apart && cannot_segment(&error) =>
            {
                // An old kernel takes fewer. Otherwise the interface cannot cut, or has become narrower: from now on we
                // hand over one by one.
                if run.len() > usize::from(OLD_MAX_SEGMENTS) {
                    self.state.max_segments = OLD_MAX_SEGMENTS;
                } else {
                    self.state.can_segment = false;
                }
                Ok(0)
            }
            sent => sent,
        }
    }

    /// How many datagrams from the first on the kernel can cut by itself: all of one size, the last may be smaller.
    fn equal_run(&self, pieces: &[Piece<'_>]) -> usize {
        let size = pieces.first().map_or(0, Piece::len);
        if !self.state.can_segment
            || size > self.sender.path_datagram
            || size * 2 > MAX_DATAGRAM_SIZE
        {
            return 1;
        }
        let most = usize::from(self.state.max_segments)
            .min(MAX_DATAGRAM_SIZE / size.max(1))
            .min(pieces.len());
        let group = pieces.first().map_or(0, |first| first.group);
        let equal = pieces
            .iter()
            .take(most)
            .take_while(|piece| piece.len() == size && piece.group == group)
            .count();
        let is_last_smaller = equal < most
            && pieces
                .get(equal)
                .is_some_and(|last| last.len() < size && last.group == group);
        equal + usize::from(is_last_smaller)
    }

    /// How many datagrams from the first on have to go one by one, in one call: as many as make a burst.
    fn unequal_run(&self, pieces: &[Piece<'_>]) -> usize {
        let mut n_bytes = 0;
        let mut n_run = 0;
        while let Some(piece) = pieces.get(n_run)
            && n_run < usize::from(MAX_SEGMENTS)
            && (n_run == 0 || n_bytes + piece.len() <= MAX_DATAGRAM_SIZE)
            && (n_run == 0 || self.equal_run(pieces.get(n_run..).unwrap_or_default()) == 1)
        {
            n_bytes += piece.len();
            n_run += 1;
        }
        n_run
    }
}

/// Whether one of the patterns is for this channel.
pub(super) fn is_wanted(patterns: &[Pattern], channel: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(channel))
}

/// Joins headers that lie end to end with their bodies.
fn pieces<'a>(
    headers: &'a [u8],
    ends: &[usize],
    bodies: impl Iterator<Item = &'a [u8]>,
) -> Vec<Piece<'a>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let headers = starts
        .zip(ends)
        .map(|(start, end)| headers.get(start..*end).unwrap_or_default());
    headers
        .zip(bodies)
        .map(|(header, body)| Piece {
            header,
            body,
            group: 0,
        })
        .collect()
}

fn is_interface_gone(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENODEV | libc::ENXIO | libc::ENETUNREACH | libc::EADDRNOTAVAIL)
    )
}

fn cannot_segment(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::ENOPROTOOPT | libc::EOPNOTSUPP)
    )
}

fn too_large(message: &Outgoing<'_>, error: CutError) -> SendError {
    let limit = match error {
        CutError::TooLarge { max, .. } => usize::try_from(max).unwrap_or(usize::MAX),
        CutError::Channel(_) | CutError::Body { .. } => MAX_SHORT_SIZE,
    };
    SendError::TooLarge {
        size: message.payload.len(),
        limit,
    }
}
