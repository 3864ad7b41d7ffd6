//! Plain UDP: a packet is a datagram. The listening end sends to the last sender, once no other has sent for a while.

use super::{Carrier, Happened, MAX_READ, Meet, Opening, SEND_BUFFER, Sent, Watch};
use crate::packet::{self, MAX_PACKET};
use crate::path::Carriage;
use bowline_component::Time;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::time::Duration;

/// After so long without a word of the peer, another address may be it.
const SILENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Udp {
    socket: UdpSocket,
    address: SocketAddr,
    peer: Option<SocketAddr>,
    heard_at: Time,
    is_up: bool,
}

impl Udp {
    pub(super) fn open(opening: &Opening) -> io::Result<Self> {
        let (bind, peer) = match opening.meet {
            Meet::Listen(address) => (address, None),
            Meet::Connect(address) => (any_of(address), Some(address)),
        };
        let socket = bound(bind)?;
        let address = peer.map_or_else(|| socket.local_addr(), Ok)?;
        Ok(Self {
            socket,
            address,
            peer,
            heard_at: Time::ZERO,
            is_up: false,
        })
    }

    fn come_up(&mut self, happened: &mut Vec<Happened>) {
        if !self.is_up && self.peer.is_some() {
            self.is_up = true;
            happened.push(Happened::Up(Carriage::default()));
        }
    }

    /// Whether a datagram is the peer's, as far as that can be known without keys.
    fn is_from_peer(&mut self, from: SocketAddr, datagram: &[u8], now: Time) -> bool {
        let is_whole = packet::unseal(datagram).and_then(packet::decode).is_ok();
        if !is_whole && self.peer != Some(from) {
            return false;
        }
        if self.peer != Some(from) && now.since(self.heard_at) > SILENCE {
            self.peer = Some(from);
        }
        let is_peer = self.peer == Some(from);
        if is_peer {
            self.heard_at = now;
        }
        is_peer
    }
}

/// Any port, on the same kind of network as an address.
pub(super) fn any_of(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
    }
}

/// A socket that does not wait, with a short queue.
pub(super) fn bound(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    socket2::SockRef::from(&socket).set_send_buffer_size(SEND_BUFFER)?;
    Ok(socket)
}

impl Carrier for Udp {
    fn watched(&self) -> Option<Watch<'_>> {
        Some(Watch {
            fd: self.socket.as_fd(),
            is_for_room: false,
        })
    }

    fn wakes_at(&mut self) -> Option<Time> {
        (!self.is_up && self.peer.is_some()).then_some(Time::ZERO)
    }

    fn work(&mut self, now: Time, happened: &mut Vec<Happened>) {
        self.come_up(happened);
        let mut buffer = [0; MAX_PACKET + 1];
        for _ in 0..MAX_READ {
            match self.socket.recv_from(&mut buffer) {
                Ok((n, from)) => {
                    let datagram = buffer.get(..n).unwrap_or_default();
                    if self.is_from_peer(from, datagram, now) {
                        self.come_up(happened);
                        happened.push(Happened::Received(datagram.to_vec()));
                    } else {
                        happened.push(Happened::Refused);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A peer that is not there yet: the network reports it, and that is all.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => {
                    happened.push(Happened::Problem(error.to_string()));
                    return;
                }
            }
        }
    }

    fn send(&mut self, packet: &[u8], _: Time) -> Sent {
        let Some(peer) = self.peer else {
            return Sent::Taken;
        };
        match self.socket.send_to(packet, peer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Sent::Full,
            // No route, no peer: lost, as on any network. The path will be seen to be dead.
            Ok(_) | Err(_) => Sent::Taken,
        }
    }

    fn address(&self) -> SocketAddr {
        self.address
    }
}
