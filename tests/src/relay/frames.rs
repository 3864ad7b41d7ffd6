//! Frames and what they carry: which are LCM's, and which belong together.
//!
//! ```text
//! Ethernet  12 type (0x0800: IPv4)
//! IPv4      14 version, words of header | 16 length | 18 id | 20 flags, offset/8 | 23 protocol (17: UDP) | 26 source | 30 destination
//! UDP       source port | destination port | length | checksum | LCM's datagram
//! ```

use crate::lcm_datagram::Id;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

const ETHERNET: usize = 14;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;
/// Datagrams that may be incomplete at once. More would mean that frames are lost on the way here.
const MAX_INCOMPLETE: usize = 64;

/// A datagram of LCM, and the frames that it came in.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Who sent it.
    pub source: SocketAddrV4,
    /// Which it is.
    pub id: Id,
    /// In the order in which they came.
    pub frames: Vec<Vec<u8>>,
}

/// What to do about a frame.
#[derive(Debug)]
pub enum Taken {
    /// It is none of ours, or the rest of something that was none.
    Other(Vec<u8>),
    /// It is part of a datagram that is not complete.
    Part,
    /// It completes a datagram.
    Whole(Datagram),
}

/// Puts frames together to datagrams, for one way.
#[derive(Debug, Default)]
pub struct Assembler {
    incomplete: BTreeMap<(Ipv4Addr, Ipv4Addr, u16), Datagram>,
}

impl Assembler {
    /// Takes the next frame.
    pub fn take(&mut self, frame: Vec<u8>) -> Taken {
        let Some(packet) = Packet::read(&frame) else {
            return Taken::Other(frame);
        };
        let key = (packet.source, packet.destination, packet.id);
        let (is_first, is_last) = (packet.offset == 0, !packet.has_more);
        let datagram = if is_first {
            let Some((port, id)) = packet.lcm() else {
                return Taken::Other(frame);
            };
            Datagram {
                source: SocketAddrV4::new(packet.source, port),
                id,
                frames: Vec::new(),
            }
        } else {
            // A host sends the frames of a datagram in their order, so the first one was here, or is none of ours.
            match self.incomplete.remove(&key) {
                Some(datagram) => datagram,
                None => return Taken::Other(frame),
            }
        };
        self.add(key, datagram, frame, is_last)
    }

    fn add(
        &mut self,
        key: (Ipv4Addr, Ipv4Addr, u16),
        mut datagram: Datagram,
        frame: Vec<u8>,
        is_last: bool,
    ) -> Taken {
        datagram.frames.push(frame);
        if is_last {
            return Taken::Whole(datagram);
        }
        self.incomplete.insert(key, datagram);
        assert!(
            self.incomplete.len() <= MAX_INCOMPLETE,
            "expected the frames of a datagram one after another, found {MAX_INCOMPLETE} incomplete: the relay is too slow"
        );
        Taken::Part
    }
}

/// An IPv4 packet with UDP, or a part of one.
struct Packet<'p> {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    id: u16,
    /// In units of 8 bytes.
    offset: u16,
    has_more: bool,
    body: &'p [u8],
}

impl<'p> Packet<'p> {
    fn read(frame: &'p [u8]) -> Option<Self> {
        let is_ipv4 = frame.get(12..ETHERNET)? == [8, 0];
        let header = frame.get(ETHERNET..)?;
        let number = |at: usize| Some(u16::from_be_bytes(*header.get(at..)?.first_chunk()?));
        let address = |at: usize| Some(Ipv4Addr::from(*header.get(at..)?.first_chunk::<4>()?));
        let is_udp = *header.get(9)? == 17;
        let header_size = usize::from(header.first()? & 0xf) * 4;
        let flags = number(6)?;
        (is_ipv4 && is_udp).then_some(Self {
            source: address(12)?,
            destination: address(16)?,
            id: number(4)?,
            offset: flags & OFFSET,
            has_more: flags & MORE_FRAGMENTS != 0,
            body: header.get(header_size..)?,
        })
    }

    /// The source port and which datagram it is. Only the first part knows.
    fn lcm(&self) -> Option<(u16, Id)> {
        let port = u16::from_be_bytes(*self.body.first_chunk()?);
        Some((port, Id::of(self.body.get(8..)?)?))
    }
}
