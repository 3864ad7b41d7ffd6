//! Word from the kernel that interfaces, addresses or routes changed.

use super::{check, socklen};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Readable when something about the network changed.
#[derive(Debug)]
pub(crate) struct LinkWatch {
    socket: OwnedFd,
}

impl LinkWatch {
    pub(crate) fn new() -> io::Result<Self> {
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        let socket = netlink_socket(libc::NETLINK_ROUTE, groups.unsigned_abs())?;
        Ok(Self { socket })
    }

    /// Whether there was word since the last time. What exactly changed is not of interest.
    pub(crate) fn take(&self) -> bool {
        let mut buffer = [0_u8; 8_192];
        let mut heard = false;
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
            // An overrun (ENOBUFS) is word too: more than could be told.
            if code < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::ENOBUFS) {
                return heard;
            }
            heard = true;
        }
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
    // SAFETY: the kernel just made it, and nobody else knows it.
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
