//! Listens to a group and prints which datagrams came: what was on the wire, without any LCM library.
//!
//! One line for each datagram: `SOURCE ID SIZE DIGEST`, where the id is that of [`crate::lcm_datagram::Id`], or `-`.

use crate::content::digest;
use crate::lcm_datagram::Id;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrIn, sockopt};
use std::io::{self, Read as _, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _};

/// What a tap received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Heard {
    /// Who sent it.
    pub source: SocketAddr,
    /// What it is, if it is LCM's.
    pub id: Option<Id>,
    /// Its bytes.
    pub size: usize,
    /// The digest of its bytes.
    pub digest: u32,
}

impl Heard {
    fn to_line(&self) -> String {
        let id = self.id.map_or_else(|| "-".to_string(), Id::to_text);
        format!("{} {id} {} {:08x}", self.source, self.size, self.digest)
    }

    /// Reads a line of a tap. Panics when it is none.
    #[must_use]
    pub fn from_line(line: &str) -> Self {
        let read = || {
            let mut words = line.split(' ');
            Some(Self {
                source: words.next()?.parse().ok()?,
                id: Id::from_text(words.next()?),
                size: words.next()?.parse().ok()?,
                digest: u32::from_str_radix(words.next()?, 16).ok()?,
            })
        };
        read().unwrap_or_else(|| panic!("expected a line of a tap, found {line:?}"))
    }
}

/// Listens until stdin is closed, and then takes what is still in the socket: what was sent before is reported.
///
/// # Errors
///
/// When the group cannot be joined, or the system fails.
pub fn listen(group: SocketAddrV4, mut out: impl Write) -> io::Result<()> {
    let socket = join(group)?;
    writeln!(out, "ready")?;
    out.flush()?;
    let stdin = io::stdin();
    let mut is_open = true;
    while is_open {
        let mut fds = [
            PollFd::new(socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
        ];
        poll(&mut fds, PollTimeout::NONE)?;
        let is_told = fds[1].any().unwrap_or(false);
        if is_told {
            is_open = stdin.lock().read(&mut [0; 64])? > 0;
        }
        tell_all(&socket, &mut out)?;
    }
    Ok(())
}

fn tell_all(socket: &UdpSocket, out: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (size, source) = match socket.recv_from(&mut buffer) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        };
        let datagram = &buffer[..size];
        let heard = Heard {
            source,
            id: Id::of(datagram),
            size,
            digest: digest(datagram),
        };
        writeln!(out, "{}", heard.to_line())?;
    }
    out.flush()
}

/// A socket on the group, beside all others there, with as much room as the system gives.
fn join(group: SocketAddrV4) -> io::Result<UdpSocket> {
    let fd = socket::socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )?;
    socket::setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    make_room(&fd)?;
    socket::bind(fd.as_raw_fd(), &SockaddrIn::from(group))?;
    let socket = UdpSocket::from(fd);
    socket.join_multicast_v4(group.ip(), &Ipv4Addr::UNSPECIFIED)?;
    Ok(socket)
}

/// Gives a socket a receive buffer beyond the system's bound where we may, and up to it where not.
pub(crate) fn make_room(fd: &impl std::os::fd::AsFd) -> io::Result<()> {
    const N_BYTES: usize = 64 << 20;
    if socket::setsockopt(fd, sockopt::RcvBufForce, &N_BYTES).is_err() {
        socket::setsockopt(fd, sockopt::RcvBuf, &N_BYTES)?;
    }
    Ok(())
}
