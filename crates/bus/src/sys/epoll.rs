//! Waiting for many descriptors without naming them all each time.

use super::check;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// How many ready descriptors one call reports. The others are reported by the next.
const MAX_READY: usize = 1_024;

/// A set of descriptors; readable while one of them is. A descriptor that is closed leaves it by itself.
#[derive(Debug)]
pub(crate) struct Epoll {
    descriptor: OwnedFd,
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: takes no pointers.
        let descriptor = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the kernel just made it, and it has no other owner.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(Self { descriptor })
    }

    /// Adds a descriptor under a name of the caller's.
    pub(crate) fn add(&self, descriptor: BorrowedFd<'_>, name: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN.cast_unsigned(),
            u64: name,
        };
        // SAFETY: `event` lives through the call, and the kernel copies it.
        let code = unsafe {
            libc::epoll_ctl(
                self.descriptor.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                descriptor.as_raw_fd(),
                &raw mut event,
            )
        };
        check(code).map(drop)
    }

    /// The names of descriptors that can be read now.
    pub(crate) fn ready(&self) -> io::Result<Vec<u64>> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MAX_READY];
        let most = i32::try_from(events.len()).map_err(io::Error::other)?;
        // SAFETY: pointer and count describe `events`.
        let code =
            unsafe { libc::epoll_wait(self.descriptor.as_raw_fd(), events.as_mut_ptr(), most, 0) };
        let count = match check(code) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            other => usize::try_from(other?).unwrap_or(0),
        };
        Ok(events.iter().take(count).map(|event| event.u64).collect())
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
