//! The operating system. Only this file and those below it may use `unsafe`.
//!
//! In: sockets and byte slices. Out: what the kernel returned, as plain values. No policy: nothing here decides.
#![expect(
    unsafe_code,
    reason = "batched datagrams, control messages and event descriptors have no safe spelling in std"
)]

mod diag;
mod epoll;
#[cfg(feature = "shm")]
mod loan;
mod mmsg;
mod netlink;
mod stream;

pub(crate) use diag::{ReceiverRoom, SocketDiag};
pub(crate) use epoll::Epoll;
#[cfg(feature = "shm")]
pub(crate) use loan::{descriptor, fill};
pub(crate) use mmsg::{Batch, Datagrams, Patience, Piece, Segmenting, send_datagrams, send_one};
pub(crate) use netlink::{LinkNews, LinkWatch};
pub(crate) use stream::{read_stream, write_stream};

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::time::Duration;

/// Sets a socket option that is a number.
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: i32,
) -> io::Result<()> {
    let size = socklen::<libc::c_int>();
    // SAFETY: the pointer and the size describe `value`, which lives through the call.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size,
        )
    };
    check(code).map(drop)
}

/// Reads a socket option that is a number.
pub(crate) fn option(socket: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<i32> {
    let mut value: libc::c_int = 0;
    let mut size = socklen::<libc::c_int>();
    // SAFETY: the pointers describe `value` and `size`, which live through the call.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast(),
            &raw mut size,
        )
    };
    check(code).map(|_| value)
}

/// A socket's receive buffer, in the kernel's accounting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SocketMemory {
    pub(crate) used: u32,
    pub(crate) limit: u32,
    /// Datagrams dropped so far, modulo 2^32: no room, or a filter. It is the count that `SO_RXQ_OVFL` attaches to
    /// datagrams, asked for only on request.
    pub(crate) drops: u32,
}

/// How full a socket is, and what it dropped.
pub(crate) fn socket_memory(socket: BorrowedFd<'_>) -> io::Result<SocketMemory> {
    let mut words = [0_u32; 16];
    let mut size = socklen::<[u32; 16]>();
    // SAFETY: the pointers describe `words` and `size`, which live through the call.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            words.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    check(code)?;
    let [used, limit, _, _, _, _, _, _, drops, ..] = words;
    Ok(SocketMemory { used, limit, drops })
}

/// One instruction of a socket filter, in the kernel's classic machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) code: u32,
    pub(crate) jump_true: u8,
    pub(crate) jump_false: u8,
    pub(crate) operand: u32,
}

/// Has the kernel run `program` on each datagram before it is queued.
pub(crate) fn attach_filter(socket: BorrowedFd<'_>, program: &[Instruction]) -> io::Result<()> {
    let mut code: Vec<libc::sock_filter> = program
        .iter()
        .map(|instruction| libc::sock_filter {
            code: u16::try_from(instruction.code).unwrap_or(u16::MAX),
            jt: instruction.jump_true,
            jf: instruction.jump_false,
            k: instruction.operand,
        })
        .collect();
    let program = libc::sock_fprog {
        len: u16::try_from(code.len()).map_err(io::Error::other)?,
        filter: code.as_mut_ptr(),
    };
    let size = socklen::<libc::sock_fprog>();
    // SAFETY: `program` points at `code`, and both live through the call; the kernel copies them.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size,
        )
    };
    check(code).map(drop)
}

/// Lets all datagrams pass again.
pub(crate) fn detach_filter(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0)
}

/// Waits until one of the descriptors can be read, or for `timeout`. Returns which; none when the time is over or a
/// signal came after which calls go on. Another signal is an error.
pub(crate) fn poll<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut entries = descriptors.map(|descriptor| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    poll_entries(&mut entries, timeout).or_else(unless_calls_go_on)?;
    Ok(entries.map(|entry| entry.revents != 0))
}

/// What to wait for at a descriptor, and what there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// [`poll`] for as many descriptors as there are, in either direction. A descriptor in trouble is ready for all that
/// was asked, so that its user sees the trouble.
pub(crate) fn poll_many(
    descriptors: &[(BorrowedFd<'_>, Readiness)],
    timeout: Option<Duration>,
) -> io::Result<Vec<Readiness>> {
    let entry = |(descriptor, wanted): &(BorrowedFd<'_>, Readiness)| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: if wanted.read { libc::POLLIN } else { 0 }
            | if wanted.write { libc::POLLOUT } else { 0 },
        revents: 0,
    };
    let mut entries: Vec<_> = descriptors.iter().map(entry).collect();
    poll_entries(&mut entries, timeout).or_else(unless_calls_go_on)?;
    let ready = |entry: &libc::pollfd| Readiness {
        read: entry.revents & !libc::POLLOUT != 0,
        write: entry.revents & !libc::POLLIN != 0,
    };
    Ok(entries.iter().map(ready).collect())
}

/// Waits until a descriptor can be written, or for `timeout`; returns whether it can.
pub(crate) fn poll_write(descriptor: BorrowedFd<'_>, timeout: Duration) -> io::Result<bool> {
    let mut entries = [libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    }];
    let outcome = poll_entries(&mut entries, Some(timeout));
    // What is being sent is sent to its end.
    outcome.or_else(unless_interrupted)?;
    Ok(entries.iter().any(|entry| entry.revents != 0))
}

fn poll_entries(entries: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    });
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    let count = libc::nfds_t::try_from(entries.len()).map_err(io::Error::other)?;
    // SAFETY: pointer and count describe `entries`; the timeout, if there is one, lives through the call.
    let code = unsafe { libc::ppoll(entries.as_mut_ptr(), count, timeout, std::ptr::null()) };
    check(code).map(drop)
}

fn unless_interrupted(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::Interrupted {
        return Ok(());
    }
    Err(error)
}

/// A signal interrupts some waiting calls, `poll` among them, however its handler was installed, although most programs
/// ask for calls to go on. The system does not report which signal it was, so those decide that could have been it.
fn unless_calls_go_on(error: io::Error) -> io::Result<()> {
    let is_interrupted = error.kind() == io::ErrorKind::Interrupted;
    if is_interrupted && (1..=libc::SIGRTMAX()).any(ends_calls) {
        return Err(error);
    }
    unless_interrupted(error)
}

/// Whether the handler of a signal was installed so that waiting calls end.
fn ends_calls(signal: libc::c_int) -> bool {
    // These come from the program's own instructions, never while it waits.
    let is_fault = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL].contains(&signal);
    // SAFETY: all zeros is a valid `sigaction`: the default action, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks only, and `action` is a place for the answer.
    let code = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    let is_caught = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
    !is_fault && code == 0 && is_caught && action.sa_flags & libc::SA_RESTART == 0
}

/// A flag that threads can wait for together with sockets: readable while it is up.
#[derive(Debug)]
pub(crate) struct Flag {
    descriptor: OwnedFd,
}

impl Flag {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: takes no pointers.
        let code = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        let descriptor = check(code)?;
        // SAFETY: the kernel just made it, and it has no other owner.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(Self { descriptor })
    }

    pub(crate) fn raise(&self) {
        let one: u64 = 1;
        // SAFETY: pointer and size describe `one`. A full counter is a raised flag: nothing to check.
        unsafe {
            libc::write(
                self.descriptor.as_raw_fd(),
                (&raw const one).cast(),
                size_of::<u64>(),
            )
        };
    }

    /// Waits until it is up, or for `timeout`.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> io::Result<()> {
        poll([self.as_fd()], timeout).map(drop)
    }

    pub(crate) fn lower(&self) {
        let mut count: u64 = 0;
        // SAFETY: pointer and size describe `count`. An empty counter is a lowered flag: nothing to check.
        unsafe {
            libc::read(
                self.descriptor.as_raw_fd(),
                (&raw mut count).cast(),
                size_of::<u64>(),
            )
        };
    }
}

impl AsFd for Flag {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Sends multicast through the interface of this number.
pub(crate) fn send_through_index(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let request = libc::ip_mreqn {
        imr_multiaddr: libc::in_addr { s_addr: 0 },
        imr_address: libc::in_addr { s_addr: 0 },
        imr_ifindex: i32::try_from(index).map_err(io::Error::other)?,
    };
    let size = socklen::<libc::ip_mreqn>();
    // SAFETY: the pointer and the size describe `request`, which lives through the call.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_MULTICAST_IF,
            (&raw const request).cast(),
            size,
        )
    };
    check(code).map(drop)
}

/// The number of an interface.
pub(crate) fn interface_index(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name).map_err(io::Error::other)?;
    // SAFETY: `name` is terminated and lives through the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

fn check(code: i32) -> io::Result<i32> {
    if code < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(code)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "sizes of the kernel's own structs"
)]
const fn socklen<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}
