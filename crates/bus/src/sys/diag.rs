//! How full the receive buffers of this host's UDP sockets are.
//!
//! The kernel reports it to any process that asks (`sock_diag`, as `ss` does). A sender of large messages uses it to wait for room.

use super::netlink::netlink_socket;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// A question and answer line to the kernel.
#[derive(Debug)]
pub(crate) struct SocketDiag {
    socket: OwnedFd,
    buffer: Box<[u8]>,
}

/// One socket's receive buffer, in the kernel's accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiverRoom {
    /// Identifies the sockets of a host.
    pub(crate) inode: u32,
    /// What it is bound to.
    pub(crate) address: IpAddr,
    pub(crate) used: usize,
    pub(crate) limit: usize,
}

const BUFFER_SIZE: usize = 32_768;
const HEADER_SIZE: usize = 16;
/// `struct inet_diag_req_v2`.
const REQUEST_SIZE: usize = 56;
/// `struct inet_diag_msg`.
const ANSWER_SIZE: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NETLINK_SOCK_DIAG: i32 = 4;
const INET_DIAG_SKMEMINFO: u16 = 7;

impl SocketDiag {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            socket: netlink_socket(NETLINK_SOCK_DIAG, 0)?,
            buffer: vec![0; BUFFER_SIZE].into_boxed_slice(),
        })
    }

    /// The receive buffers of all UDP sockets of this network namespace that are bound to `port`.
    pub(crate) fn receivers(&mut self, is_ipv6: bool, port: u16) -> io::Result<Vec<ReceiverRoom>> {
        let request = request(is_ipv6, port);
        // SAFETY: pointer and size describe `request`.
        let code = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                request.as_ptr().cast(),
                request.len(),
                0,
            )
        };
        if code < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut found = Vec::new();
        loop {
            // SAFETY: pointer and size describe the buffer. The kernel answers at once or with an error.
            let code = unsafe {
                libc::recv(
                    self.socket.as_raw_fd(),
                    self.buffer.as_mut_ptr().cast(),
                    self.buffer.len(),
                    0,
                )
            };
            if code < 0 {
                return Err(io::Error::last_os_error());
            }
            let size = usize::try_from(code).unwrap_or(0);
            if parse_answers(
                self.buffer.get(..size).unwrap_or_default(),
                port,
                &mut found,
            )? {
                return Ok(found);
            }
        }
    }
}

#[expect(
    clippy::host_endian_bytes,
    reason = "netlink speaks the host's byte order"
)]
fn request(is_ipv6: bool, port: u16) -> [u8; HEADER_SIZE + REQUEST_SIZE] {
    let mut bytes = [0; HEADER_SIZE + REQUEST_SIZE];
    let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_DUMP).unwrap_or_default();
    let length = u32::try_from(bytes.len()).unwrap_or_default();
    let family = if is_ipv6 {
        libc::AF_INET6
    } else {
        libc::AF_INET
    };
    let mut put = |at: usize, value: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
        }
    };
    put(0, &length.to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &flags.to_ne_bytes());
    put(16, &[u8::try_from(family).unwrap_or_default()]);
    put(17, &[u8::try_from(libc::IPPROTO_UDP).unwrap_or_default()]);
    put(18, &[1 << (INET_DIAG_SKMEMINFO - 1)]);
    put(20, &u32::MAX.to_ne_bytes());
    put(24, &port.to_be_bytes());
    bytes
}

/// Reads netlink messages; returns whether the last one was among them.
#[expect(
    clippy::host_endian_bytes,
    reason = "netlink speaks the host's byte order"
)]
fn parse_answers(mut bytes: &[u8], port: u16, into: &mut Vec<ReceiverRoom>) -> io::Result<bool> {
    while let Some((header, _)) = bytes.split_first_chunk::<HEADER_SIZE>() {
        let [a, b, c, d, e, f, ..] = *header;
        let length = usize::try_from(u32::from_ne_bytes([a, b, c, d])).unwrap_or(0);
        match i32::from(u16::from_ne_bytes([e, f])) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => return Err(io::Error::from(io::ErrorKind::Unsupported)),
            _ => {}
        }
        let Some(body) = bytes.get(HEADER_SIZE..length) else {
            return Ok(true);
        };
        into.extend(parse_socket(body, port));
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

#[expect(
    clippy::host_endian_bytes,
    reason = "netlink speaks the host's byte order"
)]
fn parse_socket(body: &[u8], port: u16) -> Option<ReceiverRoom> {
    if body.get(4..6)? != port.to_be_bytes() {
        return None;
    }
    let mut attributes = body.get(ANSWER_SIZE..)?;
    while let Some(([a, b, c, d], _)) = attributes.split_first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([*a, *b]));
        let value = attributes.get(4..length)?;
        if u16::from_ne_bytes([*c, *d]) == INET_DIAG_SKMEMINFO {
            let word = |at: usize| -> Option<u32> {
                let bytes = value.get(at * 4..at * 4 + 4)?;
                Some(u32::from_ne_bytes(bytes.try_into().ok()?))
            };
            return Some(ReceiverRoom {
                inode: u32::from_ne_bytes(body.get(68..72)?.try_into().ok()?),
                address: address(body)?,
                used: usize::try_from(word(0)?).ok()?,
                limit: usize::try_from(word(1)?).ok()?,
            });
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn address(body: &[u8]) -> Option<IpAddr> {
    let family = i32::from(*body.first()?);
    if family == libc::AF_INET {
        let bytes: [u8; 4] = body.get(8..12)?.try_into().ok()?;
        return Some(IpAddr::from(bytes));
    }
    let bytes: [u8; 16] = body.get(8..24)?.try_into().ok()?;
    Some(IpAddr::from(bytes))
}
