//! Word from the kernel that interfaces, addresses or routes changed.

use super::{check, socklen};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Readable when something about the network changed.
#[derive(Debug)]
pub(crate) struct LinkWatch {
    socket: OwnedFd,
}

/// The news since the last call.
#[derive(Debug, Default)]
pub(crate) struct LinkNews {
    /// Whether there was any message. What exactly changed is not of interest, but for:
    pub(crate) has_changed: bool,
    /// The numbers of interfaces that are gone for good. Overruns may hide some.
    pub(crate) gone: Vec<u32>,
}

const HEADER_SIZE: usize = 16;
/// Where `struct ifinfomsg` has the number of its interface.
const INDEX_AT: usize = HEADER_SIZE + 4;

impl LinkWatch {
    pub(crate) fn new() -> io::Result<Self> {
        let groups = libc::RTMGRP_LINK
            | libc::RTMGRP_IPV4_IFADDR
            | libc::RTMGRP_IPV6_IFADDR
            | libc::RTMGRP_IPV4_ROUTE
            | libc::RTMGRP_IPV6_ROUTE;
        let socket = netlink_socket(libc::NETLINK_ROUTE, groups.unsigned_abs())?;
        Ok(Self { socket })
    }

    /// The news since the last call. Does not wait.
    pub(crate) fn take(&self) -> LinkNews {
        let mut buffer = [0_u8; 16_384];
        let mut news = LinkNews::default();
        loop {
            // SAFETY: pointer and size describe `buffer`.
            let code = unsafe {
                libc::recv(
                    self.socket.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    libc::MSG_DONTWAIT,
                )
            };
            let Ok(size) = usize::try_from(code) else {
                // An overrun is news too: more than fitted.
                if io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS) {
                    news.has_changed = true;
                    continue;
                }
                return news;
            };
            news.has_changed = true;
            find_gone(buffer.get(..size).unwrap_or_default(), &mut news.gone);
        }
    }
}

/// Finds the interfaces that are gone by the messages.
#[expect(
    clippy::host_endian_bytes,
    reason = "netlink speaks the host's byte order"
)]
fn find_gone(mut messages: &[u8], gone: &mut Vec<u32>) {
    while let Some((header, _)) = messages.split_first_chunk::<HEADER_SIZE>() {
        let [a, b, c, d, e, f, ..] = *header;
        let length = usize::try_from(u32::from_ne_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let index = messages.get(INDEX_AT..).and_then(<[u8]>::first_chunk);
        if u16::from_ne_bytes([e, f]) == libc::RTM_DELLINK
            && let Some(index) = index
        {
            gone.push(u32::from_ne_bytes(*index));
        }
        // A length below the header's would keep us here for ever.
        let step = length.max(HEADER_SIZE).next_multiple_of(4);
        messages = messages.get(step..).unwrap_or_default();
    }
}

impl AsFd for LinkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A socket to a part of the kernel, listening to `groups`.
pub(super) fn netlink_socket(protocol: i32, groups: u32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let descriptor = check(unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) })?;
    // SAFETY: the kernel just made it, and it has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: all zeros is a valid address: any port, no groups.
    let mut address = unsafe { std::mem::zeroed::<libc::sockaddr_nl>() };
    address.nl_family = u16::try_from(libc::AF_NETLINK).unwrap_or_default();
    address.nl_groups = groups;
    let size = socklen::<libc::sockaddr_nl>();
    // SAFETY: pointer and size describe `address`, which lives through the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) })?;
    Ok(socket)
}
