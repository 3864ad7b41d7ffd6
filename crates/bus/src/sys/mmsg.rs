//! Datagrams in batches: many for one call into the kernel, in both directions.

use super::{check, socklen};
use socket2::{SockAddr, SockAddrStorage};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;

/// The largest datagram, and the largest that the kernel coalesces to.
const SLOT_SIZE: usize = 65_536;
/// Room for the control messages asked for: time stamp, segment size.
const CONTROL_WORDS: usize = 16;

/// Buffers that datagrams are received into.
#[derive(Debug)]
pub(crate) struct Batch {
    slots: Box<[Slot]>,
    headers: Box<[libc::mmsghdr]>,
    /// How many slots the next call offers: few while traffic is thin, since preparing one takes time.
    n_offered: usize,
    n_reads: u64,
}

/// Whether a read waits for the first datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    /// As long as the socket's own timeout, deaf to everything else.
    Inattentive,
}

struct Slot {
    buffer: Box<[u8]>,
    name: SockAddrStorage,
    control: [u64; CONTROL_WORDS],
    vector: libc::iovec,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

// SAFETY: the pointers in `headers` and `vector` point into `slots`, on the heap, which moves along.
unsafe impl Send for Batch {}

/// One datagram, or several of equal size that the kernel coalesced.
#[derive(Debug)]
pub(crate) struct Datagrams<'a> {
    pub(crate) bytes: &'a [u8],
    /// The size of each but the last.
    pub(crate) segment_size: usize,
    pub(crate) sender: Option<SocketAddr>,
    /// When the kernel got it, in nanoseconds since the epoch.
    pub(crate) received_ns: Option<i64>,
}

impl Batch {
    pub(crate) fn new(n_slots: usize) -> Self {
        let slot = || Slot {
            buffer: vec![0; SLOT_SIZE].into_boxed_slice(),
            name: SockAddrStorage::zeroed(),
            control: [0; CONTROL_WORDS],
            vector: libc::iovec {
                iov_base: ptr::null_mut(),
                iov_len: 0,
            },
        };
        let slots: Box<[Slot]> = (0..n_slots.max(1)).map(|_| slot()).collect();
        // SAFETY: all zeros is a valid header: no buffers, no lengths.
        let header = || unsafe { std::mem::zeroed::<libc::mmsghdr>() };
        let headers = (0..slots.len()).map(|_| header()).collect();
        Self {
            slots,
            headers,
            n_offered: 1,
            n_reads: 0,
        }
    }

    /// Takes what waits at the socket, at most `max` datagrams. Returns how many there are, and whether that was all.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        max: usize,
        patience: Patience,
    ) -> io::Result<(usize, bool)> {
        let flags = match patience {
            Patience::None => libc::MSG_DONTWAIT,
            Patience::Inattentive => libc::MSG_WAITFORONE,
        };
        self.n_reads += 1;
        let n_offered = self.n_offered.min(max).clamp(1, self.slots.len());
        for (slot, header) in self
            .slots
            .iter_mut()
            .zip(&mut *self.headers)
            .take(n_offered)
        {
            slot.prepare(header);
        }
        let count = libc::c_uint::try_from(n_offered).map_err(io::Error::other)?;
        // SAFETY: the first `count` headers were just pointed at their slots, which outlive the call.
        let code = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count,
                flags,
                ptr::null_mut(),
            )
        };
        let n_received = match check(code) {
            Ok(count) => usize::try_from(count).unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            // With a timeout on the socket, a signal interrupts this too, however its handler was installed.
            Err(error) => super::unless_calls_go_on(error).map(|()| 0)?,
        };
        let is_all = n_received < n_offered;
        self.n_offered = if is_all {
            (n_received + 1).max(self.n_offered / 2)
        } else {
            (self.n_offered * 4).min(self.slots.len())
        };
        Ok((n_received, is_all))
    }

    /// How many reads there were.
    pub(crate) fn count_reads(&self) -> u64 {
        self.n_reads
    }

    /// What the last call put into slot `at`.
    pub(crate) fn get(&self, at: usize) -> Option<Datagrams<'_>> {
        let (slot, header) = self.slots.get(at).zip(self.headers.get(at))?;
        let bytes = slot.buffer.get(..usize::try_from(header.msg_len).ok()?)?;
        let mut datagrams = Datagrams {
            bytes,
            segment_size: bytes.len(),
            sender: slot.sender(header.msg_hdr.msg_namelen),
            received_ns: None,
        };
        slot.read_control(&header.msg_hdr, &mut datagrams);
        Some(datagrams)
    }
}

impl Slot {
    fn prepare(&mut self, header: &mut libc::mmsghdr) {
        self.vector = libc::iovec {
            iov_base: self.buffer.as_mut_ptr().cast(),
            iov_len: self.buffer.len(),
        };
        header.msg_len = 0;
        let message = &mut header.msg_hdr;
        message.msg_name = (&raw mut self.name).cast();
        message.msg_namelen = socklen::<SockAddrStorage>();
        message.msg_iov = &raw mut self.vector;
        message.msg_iovlen = 1;
        message.msg_control = self.control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&self.control);
        message.msg_flags = 0;
    }

    fn sender(&self, length: libc::socklen_t) -> Option<SocketAddr> {
        let mut name = SockAddrStorage::zeroed();
        // SAFETY: both are the same plain bytes, and each is valid for any of them.
        unsafe { ptr::copy_nonoverlapping(&raw const self.name, &raw mut name, 1) };
        // SAFETY: the kernel wrote `length` bytes of an address there, or zero, which is then of no family.
        unsafe { SockAddr::new(name, length) }.as_socket()
    }

    fn read_control(&self, message: &libc::msghdr, into: &mut Datagrams<'_>) {
        // SAFETY: the kernel filled `control` and set its length; the macros stay within it.
        let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
        // SAFETY: what the macros return is null or a whole header within `control`.
        while let Some(header) = unsafe { next.as_ref() } {
            // SAFETY: `header` is a header within `control`.
            let data = unsafe { libc::CMSG_DATA(header) };
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                    // SAFETY: this message carries a timespec, perhaps unaligned.
                    let stamp = unsafe { ptr::read_unaligned(data.cast::<libc::timespec>()) };
                    let seconds_ns = stamp.tv_sec.saturating_mul(1_000_000_000);
                    into.received_ns = Some(seconds_ns.saturating_add(stamp.tv_nsec));
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    // SAFETY: this message carries an int.
                    let size = unsafe { ptr::read_unaligned(data.cast::<libc::c_int>()) };
                    into.segment_size = usize::try_from(size).unwrap_or(0).max(1);
                }
                _ => {}
            }
            // SAFETY: `header` came from the macros for the same message.
            next = unsafe { libc::CMSG_NXTHDR(message, header) };
        }
    }
}

/// One datagram to be sent, in pieces that the kernel joins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) header: &'a [u8],
    pub(crate) body: &'a [u8],
    /// Pieces of different groups are never handed over as one.
    pub(crate) group: usize,
}

impl Piece<'_> {
    pub(crate) fn len(&self) -> usize {
        self.header.len() + self.body.len()
    }

    fn vectors(&self) -> [libc::iovec; 2] {
        [self.header, self.body].map(|part| libc::iovec {
            // The kernel only reads what it sends.
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        })
    }
}

/// Whether datagrams go to the kernel one by one or as one piece that it cuts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segmenting {
    /// All but the last have this size; the kernel cuts (`UDP_SEGMENT`).
    Equal(u16),
    /// Each is handed over by itself, in one call (sendmmsg).
    Apart,
}

/// Sends one datagram without waiting.
pub(crate) fn send_one(socket: BorrowedFd<'_>, to: &SockAddr, piece: Piece<'_>) -> io::Result<()> {
    let mut vectors = piece.vectors();
    let message = message_header(to, &mut vectors);
    // SAFETY: the header points at `to` and `vectors`, which live through the call.
    let code = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, FLAGS) };
    if code < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Sends datagrams without waiting, as many as the kernel takes at once; returns how many that were.
pub(crate) fn send_datagrams(
    socket: BorrowedFd<'_>,
    to: &SockAddr,
    pieces: &[Piece<'_>],
    segmenting: Segmenting,
) -> io::Result<usize> {
    match segmenting {
        Segmenting::Equal(size) => send_segments(socket, to, pieces, size).map(|()| pieces.len()),
        Segmenting::Apart => send_apart(socket, to, pieces),
    }
}

const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

fn send_segments(
    socket: BorrowedFd<'_>,
    to: &SockAddr,
    pieces: &[Piece<'_>],
    size: u16,
) -> io::Result<()> {
    let mut vectors: Vec<libc::iovec> = pieces.iter().flat_map(Piece::vectors).collect();
    let mut message = message_header(to, &mut vectors);
    let mut control = [0_u64; 4];
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: only computes a length.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(socklen::<u16>()) } as usize;
    // SAFETY: `control` has room for one header and a u16, by its length.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    // SAFETY: there is room, so the header is not null, and it is aligned as `control` is.
    if let Some(header) = unsafe { header.as_mut() } {
        header.cmsg_level = libc::SOL_UDP;
        header.cmsg_type = libc::UDP_SEGMENT;
        // SAFETY: only computes a length.
        header.cmsg_len = unsafe { libc::CMSG_LEN(socklen::<u16>()) } as usize;
        // SAFETY: the header is one within `control`.
        let data = unsafe { libc::CMSG_DATA(header) };
        // SAFETY: the data has room for a u16.
        unsafe { ptr::write_unaligned(data.cast::<u16>(), size) };
    }
    // SAFETY: the header points at `to`, `vectors` and `control`, which live through the call.
    let code = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, FLAGS) };
    if code < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn send_apart(socket: BorrowedFd<'_>, to: &SockAddr, pieces: &[Piece<'_>]) -> io::Result<usize> {
    let mut vectors: Vec<[libc::iovec; 2]> = pieces.iter().map(Piece::vectors).collect();
    let mut headers: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .map(|vectors| libc::mmsghdr {
            msg_hdr: message_header(to, vectors),
            msg_len: 0,
        })
        .collect();
    let count = libc::c_uint::try_from(headers.len()).map_err(io::Error::other)?;
    // SAFETY: the headers point at `to` and `vectors`, which live through the call.
    let code = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, FLAGS) };
    check(code).map(|count| usize::try_from(count).unwrap_or(0))
}

fn message_header(to: &SockAddr, vectors: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: all zeros is a valid header: no name, no buffers, no control.
    let mut message = unsafe { std::mem::zeroed::<libc::msghdr>() };
    // The kernel only reads the address it sends to.
    message.msg_name = to.as_ptr().cast_mut().cast();
    message.msg_namelen = to.len();
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = vectors.len();
    message
}
