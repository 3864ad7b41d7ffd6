//! Plain TCP: packets one after the other, each after its length.
//!
//! ```text
//! +-------------------------------+-------------------------------+
//! |        length (16)            |   packet ...                  |
//! ```
//!
//! The kernel is asked to keep little that was not sent, and to report when there is room again.

use super::{Backoff, Carrier, Happened, MAX_READ, Meet, Opening, SEND_BUFFER, Sent, Watch};
use crate::packet::MAX_PACKET;
use crate::path::Carriage;
use bowline_component::Time;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

/// What may wait unsent in the kernel, bytes.
const UNSENT: u32 = 2_048;
/// IP, TCP with timestamps, Ethernet and the length, bytes.
const OVERHEAD: usize = 68;
/// A connection that sent nothing for so long makes way for another one.
const SILENCE: Duration = Duration::from_secs(2);
/// A connection that is not there after so long is tried anew.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Tcp {
    place: Place,
    address: SocketAddr,
    stream: Option<Stream>,
    backoff: Backoff,
}

#[derive(Debug)]
enum Place {
    Listening(TcpListener),
    Connecting,
}

#[derive(Debug)]
struct Stream {
    socket: TcpStream,
    /// Not known to be connected yet, since then.
    connecting_since: Option<Time>,
    heard_at: Time,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Tcp {
    pub(super) fn open(opening: &Opening) -> io::Result<Self> {
        let (place, address) = match opening.meet {
            Meet::Listen(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?;
                (Place::Listening(listener), address)
            }
            Meet::Connect(address) => (Place::Connecting, address),
        };
        Ok(Self {
            place,
            address,
            stream: None,
            backoff: Backoff::default(),
        })
    }

    fn meet(&mut self, now: Time, happened: &mut Vec<Happened>) {
        match &self.place {
            Place::Listening(listener) => {
                let is_free = self
                    .stream
                    .as_ref()
                    .is_none_or(|stream| now.since(stream.heard_at) > SILENCE);
                // Others are turned away: one end, one peer.
                let Ok((socket, _)) = listener.accept() else {
                    return;
                };
                if is_free && socket.set_nonblocking(true).is_ok() {
                    self.lose("another connection took its place", now, happened);
                    self.stream = Some(Stream::new(socket, None, now));
                    happened.push(Happened::Up(carriage()));
                }
            }
            Place::Connecting if self.stream.is_none() && self.backoff.is_due(now) => {
                match connect(self.address) {
                    Ok(socket) => self.stream = Some(Stream::new(socket, Some(now), now)),
                    Err(error) => {
                        self.backoff.failed(now);
                        happened.push(Happened::Problem(error.to_string()));
                    }
                }
            }
            Place::Connecting => {}
        }
    }

    fn lose(&mut self, why: &str, now: Time, happened: &mut Vec<Happened>) {
        if self.stream.take().is_some() {
            self.backoff.failed(now);
            happened.push(Happened::Down(why.to_owned()));
        }
    }
}

fn carriage() -> Carriage {
    Carriage {
        max_packet: MAX_PACKET,
        overhead: OVERHEAD,
        is_sealed: true,
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(nix::errno::Errno::EINPROGRESS as i32) => {
            Err(error)
        }
        Ok(()) | Err(_) => Ok(socket.into()),
    }
}

impl Stream {
    fn new(socket: TcpStream, connecting_since: Option<Time>, now: Time) -> Self {
        let reference = SockRef::from(&socket);
        // Without these it works as well, only later.
        let _unimportant = reference.set_tcp_nodelay(true);
        let _unimportant = reference.set_send_buffer_size(SEND_BUFFER);
        let _unimportant = reference.set_tcp_notsent_lowat(UNSENT);
        Self {
            socket,
            connecting_since,
            heard_at: now,
            input: Vec::new(),
            output: Vec::new(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.socket.write(&self.output) {
                Ok(n) => drop(self.output.drain(..n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the connection is there; why it will not be.
    fn finish_connecting(&mut self, now: Time) -> io::Result<bool> {
        let Some(since) = self.connecting_since else {
            return Ok(true);
        };
        if let Some(error) = self.socket.take_error()? {
            return Err(error);
        }
        match self.socket.peer_addr() {
            Ok(_) => self.connecting_since = None,
            Err(_) if now.since(since) > PATIENCE => return Err(ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
        Ok(self.connecting_since.is_none())
    }

    fn read(&mut self, now: Time, happened: &mut Vec<Happened>) -> io::Result<()> {
        let mut buffer = [0; 4_096];
        for _ in 0..MAX_READ {
            match self.socket.read(&mut buffer) {
                Ok(0) => return Err(io::Error::other("the other end closed the connection")),
                Ok(n) => {
                    self.heard_at = now;
                    self.input
                        .extend_from_slice(buffer.get(..n).unwrap_or_default());
                    self.take_packets(happened)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take_packets(&mut self, happened: &mut Vec<Happened>) -> io::Result<()> {
        while let Some((length, rest)) = self.input.split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length));
            if length > MAX_PACKET {
                let what =
                    format!("expected packets of at most {MAX_PACKET} bytes, found {length}");
                return Err(io::Error::other(what));
            }
            let Some(packet) = rest.get(..length) else {
                return Ok(());
            };
            happened.push(Happened::Received(packet.to_vec()));
            self.input.drain(..length + 2);
        }
        Ok(())
    }
}

impl Carrier for Tcp {
    fn watched(&self) -> Option<Watch<'_>> {
        let listener = match &self.place {
            Place::Listening(listener) => Some(listener.as_fd()),
            Place::Connecting => None,
        };
        match &self.stream {
            Some(stream) => Some(Watch {
                fd: stream.socket.as_fd(),
                is_for_room: !stream.output.is_empty() || stream.connecting_since.is_some(),
            }),
            None => listener.map(|fd| Watch {
                fd,
                is_for_room: false,
            }),
        }
    }

    fn wakes_at(&mut self) -> Option<Time> {
        match (&self.place, &self.stream) {
            (Place::Connecting, None) => Some(self.backoff.try_at.unwrap_or(Time::ZERO)),
            (Place::Connecting | Place::Listening(_), _) => None,
        }
    }

    fn work(&mut self, now: Time, happened: &mut Vec<Happened>) {
        self.meet(now, happened);
        let Some(stream) = &mut self.stream else {
            return;
        };
        let was_connecting = stream.connecting_since.is_some();
        let done = match stream.finish_connecting(now) {
            Ok(false) => return,
            Ok(true) => {
                if was_connecting {
                    self.backoff.succeeded();
                    happened.push(Happened::Up(carriage()));
                }
                stream.flush().and_then(|()| stream.read(now, happened))
            }
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            self.lose(&error.to_string(), now, happened);
        }
    }

    fn send(&mut self, packet: &[u8], _: Time) -> Sent {
        let Some(stream) = &mut self.stream else {
            return Sent::Taken;
        };
        if !stream.output.is_empty() {
            return Sent::Full;
        }
        let Ok(length) = u16::try_from(packet.len()) else {
            return Sent::Taken;
        };
        stream.output.extend_from_slice(&length.to_be_bytes());
        stream.output.extend_from_slice(packet);
        // What is wrong with the connection is seen when it is read.
        let _seen_later = stream.flush();
        Sent::Taken
    }

    fn address(&self) -> SocketAddr {
        self.address
    }
}
