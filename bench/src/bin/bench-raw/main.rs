//! The limits of the machine: bare multicast sockets, without any format.
//!
//! ADDRESS is GROUP:PORT. One `sendto` a message and `recvmmsg`; `--batch` sends with `UDP_SEGMENT` and receives with
//! `UDP_GRO`. Channels are ports above the one given.

mod socket;

use anyhow::{Context as _, Result};
use bowline_measure::{Endpoint, Handler, POLL, Publisher, Run, Settings, Subscriber, System};
use socket::{Batch, Datagrams, Socket};
use std::net::SocketAddrV4;

fn main() -> Result<()> {
    bowline_measure::main(&Raw)
}

struct Raw;

impl System for Raw {
    fn open(&self, settings: &Settings) -> Result<Box<dyn Endpoint>> {
        let group = settings.address.parse().context("expected GROUP:PORT")?;
        Ok(Box::new(Place {
            group,
            is_batched: settings.is_batched,
        }))
    }
}

struct Place {
    group: SocketAddrV4,
    is_batched: bool,
}

impl Place {
    fn address(&self, channel: &str) -> SocketAddrV4 {
        let offset: u16 = channel.bytes().map(u16::from).sum::<u16>() % 1000;
        SocketAddrV4::new(*self.group.ip(), self.group.port() + offset)
    }
}

impl Endpoint for Place {
    fn publisher(&self, channel: &str) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(Sender {
            socket: Socket::connect(self.address(channel))?,
            joined: Vec::new(),
        }))
    }

    fn subscriber(&self, channels: &[String]) -> Result<Box<dyn Subscriber>> {
        let [channel] = channels else {
            anyhow::bail!(
                "bare sockets listen to one channel each, not {}",
                channels.len()
            );
        };
        let socket = Socket::join(self.address(channel), self.is_batched)?;
        let datagrams = Datagrams::new(if self.is_batched {
            Batch::Coalesced
        } else {
            Batch::Single
        });
        Ok(Box::new(Receiver { socket, datagrams }))
    }
}

struct Sender {
    socket: Socket,
    joined: Vec<u8>,
}

impl Publisher for Sender {
    fn publish(&mut self, message: &[u8]) -> Result<()> {
        Ok(self.socket.send(message)?)
    }

    fn publish_many(&mut self, messages: &[Vec<u8>]) -> Result<()> {
        let Some(size) = messages.first().map(Vec::len) else {
            return Ok(());
        };
        for chunk in messages.chunks(socket::max_segments(size)) {
            self.joined.clear();
            chunk
                .iter()
                .for_each(|message| self.joined.extend_from_slice(message));
            self.socket.send_segments(&self.joined, size)?;
        }
        Ok(())
    }
}

struct Receiver {
    socket: Socket,
    datagrams: Datagrams,
}

impl Subscriber for Receiver {
    fn serve(&mut self, mut handler: Handler, run: &Run) -> Result<()> {
        while !run.is_over() {
            self.socket
                .receive(&mut self.datagrams, POLL, &mut handler)?;
        }
        Ok(())
    }
}
