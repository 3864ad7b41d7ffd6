//! The work: two packet sockets, a clock, and the record.

use super::decide::Decider;
use super::frames::{Assembler, Datagram, Taken};
use super::queue::Queue;
use super::{Entry, Event, Way};
use crate::tap::make_room;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    self, AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrLike as _,
};
use std::io::{self, Read as _, Write};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// Frames that are taken before what is due is looked at.
const MAX_FRAMES_AT_ONCE: usize = 64;
/// More than the largest frame.
const MAX_FRAME_BYTES: usize = 1 << 17;

/// Carries frames between two devices until stdin is closed, prints `ready` and then a line for each [`Entry`], and last
/// `done`. What waits when it ends is passed on first: nothing is lost that was not decided to be.
///
/// # Errors
///
/// When a device is not there, the rights are missing, or the system fails.
pub fn run(devices: [&str; 2], decider: Decider, out: impl Write) -> io::Result<()> {
    let mut relay = Relay {
        sockets: [open(devices[0])?, open(devices[1])?],
        assemblers: Default::default(),
        decider,
        queue: Queue::default(),
        out,
        buffer: vec![0; MAX_FRAME_BYTES],
    };
    writeln!(relay.out, "ready")?;
    relay.out.flush()?;
    while relay.wait()? {
        relay.take(Way::There)?;
        relay.take(Way::Back)?;
        relay.pass_on()?;
        relay.out.flush()?;
    }
    relay.end()
}

struct Relay<W> {
    sockets: [OwnedFd; 2],
    assemblers: [Assembler; 2],
    decider: Decider,
    queue: Queue,
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> Relay<W> {
    /// Waits until there is something to do. False once stdin is closed.
    fn wait(&self) -> io::Result<bool> {
        let stdin = io::stdin();
        let [one, other] = &self.sockets;
        let mut fds = [one.as_fd(), other.as_fd(), stdin.as_fd()]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let timeout = match self.queue.next_due() {
            None => PollTimeout::NONE,
            // Rounded up, lest it wakes too early over and over.
            Some(due) => (due.saturating_duration_since(now()) + Duration::from_micros(999))
                .try_into()
                .unwrap_or(PollTimeout::MAX),
        };
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_told = fds[2].any().unwrap_or(false);
        Ok(!is_told || stdin.lock().read(&mut [0; 64])? > 0)
    }

    fn take(&mut self, way: Way) -> io::Result<bool> {
        for _ in 0..MAX_FRAMES_AT_ONCE {
            let fd = self.sockets[from(way)].as_raw_fd();
            let size = match socket::recv(fd, &mut self.buffer, MsgFlags::empty()) {
                Ok(size) => size,
                // A device that goes down reports it once; what it had is gone, as on a real network.
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            let frame = self.buffer[..size].to_vec();
            match self.assemblers[from(way)].take(frame) {
                Taken::Other(frame) => self.put(way, &frame)?,
                Taken::Part => {}
                Taken::Whole(datagram) => self.decide(way, datagram)?,
            }
        }
        Ok(true)
    }

    fn decide(&mut self, way: Way, datagram: Datagram) -> io::Result<()> {
        let fate = self.decider.decide(way, datagram.source, datagram.id);
        self.record(way, &datagram, Event::Came(fate))?;
        self.queue.push(now(), way, datagram, fate);
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        while let Some((way, datagram)) = self.queue.pop(now()) {
            self.pass(way, &datagram)?;
        }
        Ok(())
    }

    fn pass(&mut self, way: Way, datagram: &Datagram) -> io::Result<()> {
        for frame in &datagram.frames {
            self.put(way, frame)?;
        }
        self.record(way, datagram, Event::Passed)
    }

    fn put(&self, way: Way, frame: &[u8]) -> io::Result<()> {
        let socket = &self.sockets[1 - from(way)];
        loop {
            match socket::send(socket.as_raw_fd(), frame, MsgFlags::empty()) {
                Ok(_) | Err(Errno::ENETDOWN) => return Ok(()),
                Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => {
                    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
                    poll(&mut fds, PollTimeout::from(1_u8))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn record(&mut self, way: Way, datagram: &Datagram, event: Event) -> io::Result<()> {
        let (source, id) = (datagram.source, datagram.id);
        let entry = Entry {
            way,
            source,
            id,
            event,
        };
        writeln!(self.out, "{entry}")
    }

    /// Takes and passes on what is still there.
    fn end(mut self) -> io::Result<()> {
        while self.take(Way::There)? | self.take(Way::Back)? {}
        let rest: Vec<_> = self.queue.drain(now()).collect();
        for (way, datagram) in rest {
            self.pass(way, &datagram)?;
        }
        writeln!(self.out, "done")?;
        self.out.flush()
    }
}

/// The socket, and assembler, of the device that datagrams come from.
fn from(way: Way) -> usize {
    match way {
        Way::There => 0,
        Way::Back => 1,
    }
}

/// All frames of a device, those for others too.
fn open(device: &str) -> io::Result<OwnedFd> {
    let fd = socket::socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        SockProtocol::EthAll,
    )?;
    make_room(&fd)?;
    socket::bind(fd.as_raw_fd(), &address(device)?)?;
    Ok(fd)
}

/// The system lists devices with addresses of just the kind that a packet socket is bound to.
fn address(device: &str) -> io::Result<LinkAddr> {
    let found = nix::ifaddrs::getifaddrs()?
        .filter(|found| found.interface_name == device)
        .filter_map(|found| found.address)
        .find(|address| address.family() == Some(AddressFamily::Packet));
    let link = found.and_then(|address| address.as_link_addr().copied());
    link.ok_or_else(|| io::Error::other(format!("expected a device {device}, found none")))
}

#[expect(clippy::disallowed_methods, reason = "delays are of the real time")]
fn now() -> Instant {
    Instant::now()
}
