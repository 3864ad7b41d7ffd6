//! Multicast sockets with the batch calls of Linux.
#![expect(unsafe_code, reason = "the batch calls have no safe wrapper in std")]
#![expect(
    clippy::cast_possible_truncation,
    reason = "sizes of C structures in the types of C's arguments"
)]

use bowline_measure::Handler;
use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::time::Duration;

/// Of a datagram, and of what `UDP_SEGMENT` takes at once.
const MAX_BYTES: usize = 65_507;
const MAX_SEGMENTS: usize = 128;

/// Datagrams a call of `recvmmsg` may bring.
const N_SLOTS: usize = 32;
const RECEIVE_BUFFER_BYTES: libc::c_int = 64 << 20;
/// Room for one `UDP_GRO` message, aligned as control messages must be.
const N_CONTROL_WORDS: usize = 4;

pub(crate) fn max_segments(size: usize) -> usize {
    (MAX_BYTES / size.max(1)).clamp(1, MAX_SEGMENTS)
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Batch {
    Single,
    Coalesced,
}

pub(crate) struct Socket(UdpSocket);

impl Socket {
    pub(crate) fn connect(to: SocketAddrV4) -> Result<Self> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.set_multicast_ttl_v4(0)?;
        socket.connect(to)?;
        Ok(Self(socket))
    }

    pub(crate) fn join(group: SocketAddrV4, is_coalescing: bool) -> Result<Self> {
        // SAFETY: no memory of ours is involved.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and has no other owner.
        let socket = Self(unsafe { UdpSocket::from_raw_fd(fd) });
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        socket
            .set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
            .or_else(|_| socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES))?;
        if is_coalescing {
            socket.set(libc::SOL_UDP, libc::UDP_GRO, 1)?;
        }
        // SAFETY: all zeroes is a valid address.
        let mut address: libc::sockaddr_in = unsafe { zeroed() };
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = group.port().to_be();
        address.sin_addr.s_addr = u32::from(*group.ip()).to_be();
        // SAFETY: `address` is a sockaddr_in and its size is given.
        let result = unsafe {
            libc::bind(
                fd,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_in>() as u32,
            )
        };
        check(result as isize)?;
        socket
            .0
            .join_multicast_v4(group.ip(), &std::net::Ipv4Addr::UNSPECIFIED)?;
        Ok(socket)
    }

    fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> Result<()> {
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the option is a C int.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                name,
                (&raw const value).cast(),
                size,
            )
        };
        check(result as isize).map(drop)
    }

    pub(crate) fn send(&self, message: &[u8]) -> Result<()> {
        self.0.send(message).map(drop)
    }

    /// One call for many equal datagrams.
    pub(crate) fn send_segments(&self, bytes: &[u8], size: usize) -> Result<()> {
        let mut control = [0_u64; N_CONTROL_WORDS];
        let mut part = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let mut header = header(&mut part, &mut control);
        // SAFETY: no memory is touched.
        header.msg_controllen = unsafe { libc::CMSG_SPACE(2) } as usize;
        // SAFETY: the header has room for one control message.
        let cmsg = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
        // SAFETY: it points into `control`, which is aligned and large enough.
        let segment = unsafe { &mut *cmsg };
        segment.cmsg_level = libc::SOL_UDP;
        segment.cmsg_type = libc::UDP_SEGMENT;
        // SAFETY: no memory is touched.
        segment.cmsg_len = unsafe { libc::CMSG_LEN(2) } as usize;
        // SAFETY: the data follow the header inside `control`.
        let data = unsafe { libc::CMSG_DATA(cmsg) };
        let size = u16::try_from(size).map_err(|e| Error::new(ErrorKind::InvalidInput, e))?;
        // SAFETY: two bytes, for which there is room.
        unsafe { data.cast::<u16>().write_unaligned(size) };
        // SAFETY: everything that the header points to is alive.
        let result = unsafe { libc::sendmsg(self.0.as_raw_fd(), &raw const header, 0) };
        check(result).map(drop)
    }

    /// Waits for datagrams and hands over all that are there.
    pub(crate) fn receive(
        &self,
        datagrams: &mut Datagrams,
        timeout: Duration,
        handler: &mut Handler,
    ) -> Result<()> {
        datagrams.reset();
        let first = datagrams.headers.as_mut_ptr();
        let n_slots = datagrams.headers.len() as u32;
        let fd = self.0.as_raw_fd();
        // SAFETY: the headers point to live buffers, each with the length given.
        let mut n =
            unsafe { libc::recvmmsg(fd, first, n_slots, libc::MSG_DONTWAIT, std::ptr::null_mut()) };
        if n < 0 && Error::last_os_error().kind() == ErrorKind::WouldBlock {
            if !self.wait(timeout)? {
                return Ok(());
            }
            // SAFETY: as above.
            n = unsafe {
                libc::recvmmsg(fd, first, n_slots, libc::MSG_DONTWAIT, std::ptr::null_mut())
            };
        }
        let n = check(n as isize)?;
        datagrams.hand_over(n, handler);
        Ok(())
    }

    fn wait(&self, timeout: Duration) -> Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let ms = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one pollfd.
        let result = unsafe { libc::poll(&raw mut poll, 1, ms) };
        Ok(check(result as isize)? > 0)
    }
}

fn check(result: isize) -> Result<usize> {
    match usize::try_from(result) {
        Ok(n) => Ok(n),
        Err(_) => Err(Error::last_os_error()),
    }
}

fn header(part: &mut libc::iovec, control: &mut [u64]) -> libc::msghdr {
    // SAFETY: all zeroes is a valid header.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(control);
    header
}

/// Where received datagrams go: a slot each.
pub(crate) struct Datagrams {
    buffers: Vec<Vec<u8>>,
    controls: Vec<[u64; N_CONTROL_WORDS]>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Datagrams {
    pub(crate) fn new(batch: Batch) -> Self {
        let n = if batch == Batch::Coalesced {
            8
        } else {
            N_SLOTS
        };
        let mut this = Self {
            buffers: vec![vec![0; 1 << 16]; n],
            controls: vec![[0; N_CONTROL_WORDS]; n],
            parts: Vec::with_capacity(n),
            headers: Vec::with_capacity(n),
        };
        for buffer in &mut this.buffers {
            this.parts.push(libc::iovec {
                iov_base: buffer.as_mut_ptr().cast(),
                iov_len: buffer.len(),
            });
        }
        for (part, control) in this.parts.iter_mut().zip(&mut this.controls) {
            this.headers.push(libc::mmsghdr {
                msg_hdr: header(part, control),
                msg_len: 0,
            });
        }
        this
    }

    fn reset(&mut self) {
        for header in &mut self.headers {
            header.msg_hdr.msg_controllen = size_of::<[u64; N_CONTROL_WORDS]>();
        }
    }

    fn hand_over(&self, n: usize, handler: &mut Handler) {
        for (header, buffer) in self.headers.iter().zip(&self.buffers).take(n) {
            let bytes = buffer.get(..header.msg_len as usize).unwrap_or(buffer);
            let size = segment_size(&header.msg_hdr).unwrap_or(bytes.len());
            bytes.chunks(size.max(1)).for_each(&mut *handler);
        }
    }
}

/// The size of each datagram in a coalesced one.
fn segment_size(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: the kernel has filled the header in.
    let cmsg = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: null, or a control message in the buffer.
    let control = unsafe { cmsg.as_ref() }?;
    if (control.cmsg_level, control.cmsg_type) != (libc::SOL_UDP, libc::UDP_GRO) {
        return None;
    }
    // SAFETY: the data follow the header.
    let data = unsafe { libc::CMSG_DATA(cmsg) };
    // SAFETY: a UDP_GRO message is one int.
    let size = unsafe { data.cast::<libc::c_int>().read_unaligned() };
    usize::try_from(size).ok()
}
