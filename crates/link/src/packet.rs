//! What goes over a path: packets, each a header and frames.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   'B' (0x42)  |    version    |          generation           |
//! +---------------+---------------+-------------------------------+
//! |                     life of the sender                        |
//! +---------------------------------------------------------------+
//! |            sequence: packets on this path so far              |
//! +---------------------------------------------------------------+
//! |      when it was sent by the sender's clock,                  |
//! |                   microseconds since the epoch                |
//! +---------------------------------------------------------------+
//! |  frames, one after the other, to the end of the packet        |
//! +---------------------------------------------------------------+
//! |  seal: CRC-32 of all before it, on carriers without integrity |
//! +---------------------------------------------------------------+
//! ```
//!
//! The seal is there where a flipped bit would go unnoticed: the sums of UDP and TCP have 16 bits, and miss bits that
//! cancel each other. A number that was forged so would be believed, and hold up its stream for as long as it takes to
//! count there. QUIC has its own proof of every packet, and no seal. A seal keeps out accidents, not people: who means
//! harm writes a right one.
//!
//! All numbers are big-endian. A decoder is a function of bytes: no bytes make it panic or allocate.
//! A receiver that does not understand a frame does not understand what follows it, so the rest of the packet is dropped.

/// The largest packet that a path is asked to carry, bytes: what QUIC promises to get through everywhere.
pub const MAX_PACKET: usize = 1_200;
/// Before the first frame, bytes.
pub const HEADER_LEN: usize = 20;
/// After the last frame, on carriers without integrity, bytes.
pub const SEAL_LEN: usize = 4;
/// Of a whole message's frame, before its payload, bytes.
pub const DATA_LEN: usize = 20;
/// Of a fragment's frame, before its payload, bytes.
pub const FRAGMENT_LEN: usize = 24;
/// Of a report, bytes.
pub const REPORT_LEN: usize = 38;
/// Of an acknowledgement, bytes.
pub const ACK_LEN: usize = 13;
/// Large messages are cut between blocks of so many bytes, so that parts may be of any size as capacity comes and goes.
pub const BLOCK_LEN: usize = 64;
/// More cannot be counted in blocks, bytes.
pub const MAX_MESSAGE: usize = BLOCK_LEN * 65_535;
/// Of a probe, bytes.
pub const PROBE_LEN: usize = 1;

const MAGIC: u8 = b'B';
const VERSION: u8 = 1;
const PROBE: u8 = 1;
const REPORT: u8 = 2;
const DATA: u8 = 3;
const ACK: u8 = 4;

/// What every packet begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Grows with every stall that the sender went through.
    pub generation: u16,
    /// A number that the sender drew when it began; another after a restart.
    pub life: u32,
    /// Counts the sender's packets on this path.
    pub sequence: u32,
    /// When it was sent by the sender's clock, microseconds since the epoch.
    pub sent_utime: i64,
}

/// A part of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'p> {
    /// Asks for a report at once.
    ///
    /// ```text
    /// +---------------+
    /// |       1       |
    /// +---------------+
    /// ```
    Probe,
    /// What has arrived on this path so far.
    Report(Report),
    /// A message, or a part of one.
    Data(Data<'p>),
    /// A part of a reliable message has arrived.
    Ack(Ack),
}

/// What has arrived so far, and when: round trip, clocks, capacity and loss are worked out from it.
///
/// ```text
/// +---------------+---------------+
/// |       2       |0 0 0 0 0 0 0 K|  K: the reporting end knows the other's clock, and takes data
/// +---------------+---------------+-------------------------------+
/// |       instance of the sender of the newest packet             |
/// +---------------------------------------------------------------+
/// |        when that was sent, by its sender's clock,             |
/// |                   microseconds since the epoch                |
/// +---------------------------------------------------------------+
/// |        how long ago it arrived, microseconds                  |
/// +---------------------------------------------------------------+
/// |        its sequence: the highest so far                       |
/// +---------------------------------------------------------------+
/// |        packets that arrived, ever                             |
/// +---------------------------------------------------------------+
/// |        bytes that arrived, ever; wraps                        |
/// +---------------------------------------------------------------+
/// |        shortest transit since the last report:                |
/// |          arrived less sent, by two clocks, microseconds       |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether the one who reports knows the other's clock, and takes data.
    pub is_acquainted: bool,
    /// The instance of the sender of the newest packet.
    pub echo_life: u32,
    /// When that was sent, by its sender's clock.
    pub echo_utime: i64,
    /// How long ago it arrived, microseconds.
    pub hold_us: u32,
    /// The highest sequence that arrived.
    pub highest: u32,
    /// Packets that arrived, ever; wraps.
    pub n_packets: u32,
    /// Bytes that arrived, ever, with what the carrier adds; wraps.
    pub n_bytes: u32,
    /// The shortest transit since the last report, by two clocks, microseconds.
    pub transit_us: i64,
}

/// A message, or a part of one.
///
/// ```text
/// +---------------+---------------+
/// |       3       |0 0 0 0 F U K K|  K: newest 0, fifo 1, reliable 2; U: urgent; F: a fragment
/// +---------------+---------------+-------------------------------+
/// |        stream: hash of the name that it is carried under      |
/// +---------------------------------------------------------------+
/// |        message: counts the stream's                           |
/// +---------------------------------------------------------------+
/// |        age when it was sent, microseconds                     |
/// +---------------------------------------------------------------+
/// |        life that was left when it was sent, microseconds      |
/// +-------------------------------+-------------------------------+
/// |   first block (if F)          |   number of blocks (if F)     |
/// +-------------------------------+-------------------------------+
/// |      length                   |   payload ...                 |
/// +-------------------------------+-------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'p> {
    /// How the stream keeps its messages: 0 newest, 1 fifo, 2 reliable.
    pub keep: u8,
    /// Whether it has a deadline.
    pub is_urgent: bool,
    /// The stream, by the hash of the name that it is carried under.
    pub stream: u32,
    /// Which message of the stream.
    pub message: u32,
    /// How old it was when it was sent, microseconds.
    pub age_us: u32,
    /// How long it was still good when it was sent, microseconds.
    pub left_us: u32,
    /// Where a part begins, in blocks of [`BLOCK_LEN`] bytes. A whole message is block 0 of 1, whatever its length.
    pub first_block: u16,
    /// How many blocks the message has.
    pub n_blocks: u16,
    /// The bytes.
    pub payload: &'p [u8],
}

/// A part of a reliable message has arrived, or is not wanted: either way it need not come again.
///
/// ```text
/// +---------------+
/// |       4       |
/// +---------------+-----------------------------------------------+
/// |        stream                                                 |
/// +---------------------------------------------------------------+
/// |        message                                                |
/// +-------------------------------+-------------------------------+
/// |        first block            |   number of blocks            |
/// +-------------------------------+-------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The stream.
    pub stream: u32,
    /// Which of its messages.
    pub message: u32,
    /// Where the part begins, in blocks.
    pub first_block: u16,
    /// How many blocks it has.
    pub n_blocks: u16,
}

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodePacketError {
    /// It ends too early.
    #[error("expected {expected} more bytes, found {found}")]
    Short {
        /// Bytes that should be there.
        expected: usize,
        /// Bytes that are.
        found: usize,
    },
    /// It is of another protocol.
    #[error("expected a packet of a link, version 1, found the bytes {0:02x} {1:02x}")]
    Alien(u8, u8),
    /// Something on the way has changed it.
    #[error("expected the checksum {expected:08x}, found {found:08x}")]
    Seal {
        /// Of the bytes that came.
        expected: u32,
        /// What came with them.
        found: u32,
    },
    /// A frame of no known kind.
    #[error("expected a frame of kind 1 to 4, found {0}")]
    Kind(u8),
    /// A part that begins after the end.
    #[error("expected a block of as many as there are, found number {0} of {1}")]
    Part(u16, u16),
}

/// Ends a packet for a carrier without integrity.
pub fn seal(packet: &mut Vec<u8>) {
    let sum = crc32fast::hash(packet);
    packet.extend_from_slice(&sum.to_be_bytes());
}

/// What was sealed.
///
/// # Errors
/// When there is no seal, or the bytes are not those that were sealed.
pub fn unseal(packet: &[u8]) -> Result<&[u8], DecodePacketError> {
    let Some((sealed, seal)) = packet.split_last_chunk::<SEAL_LEN>() else {
        return Err(DecodePacketError::Short {
            expected: SEAL_LEN,
            found: packet.len(),
        });
    };
    let (expected, found) = (crc32fast::hash(sealed), u32::from_be_bytes(*seal));
    match expected == found {
        true => Ok(sealed),
        false => Err(DecodePacketError::Seal { expected, found }),
    }
}

/// Takes a packet apart: its header, and its frames one by one.
///
/// # Errors
/// When the header is none of ours.
pub fn decode(packet: &[u8]) -> Result<(Header, Frames<'_>), DecodePacketError> {
    let mut rest = Rest(packet);
    let [magic, version] = rest.take::<2>()?;
    if (magic, version) != (MAGIC, VERSION) {
        return Err(DecodePacketError::Alien(magic, version));
    }
    let header = Header {
        generation: u16::from_be_bytes(rest.take()?),
        life: u32::from_be_bytes(rest.take()?),
        sequence: u32::from_be_bytes(rest.take()?),
        sent_utime: i64::from_be_bytes(rest.take()?),
    };
    Ok((header, Frames { rest }))
}

/// The frames of a packet. After an error nothing follows.
#[derive(Clone, Debug)]
pub struct Frames<'p> {
    rest: Rest<'p>,
}

impl<'p> Iterator for Frames<'p> {
    type Item = Result<Frame<'p>, DecodePacketError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.0.is_empty() {
            return None;
        }
        let frame = self.rest.frame();
        if frame.is_err() {
            self.rest = Rest(&[]);
        }
        Some(frame)
    }
}

#[derive(Clone, Debug)]
struct Rest<'p>(&'p [u8]);

impl<'p> Rest<'p> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodePacketError> {
        let short = DecodePacketError::Short {
            expected: N,
            found: self.0.len(),
        };
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(short)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn bytes(&mut self, n: usize) -> Result<&'p [u8], DecodePacketError> {
        let short = DecodePacketError::Short {
            expected: n,
            found: self.0.len(),
        };
        let (taken, rest) = self.0.split_at_checked(n).ok_or(short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn frame(&mut self) -> Result<Frame<'p>, DecodePacketError> {
        let [kind] = self.take()?;
        Ok(match kind {
            PROBE => Frame::Probe,
            REPORT => Frame::Report(self.report()?),
            DATA => Frame::Data(self.data()?),
            ACK => Frame::Ack(Ack {
                stream: u32::from_be_bytes(self.take()?),
                message: u32::from_be_bytes(self.take()?),
                first_block: u16::from_be_bytes(self.take()?),
                n_blocks: u16::from_be_bytes(self.take()?),
            }),
            kind => return Err(DecodePacketError::Kind(kind)),
        })
    }

    fn report(&mut self) -> Result<Report, DecodePacketError> {
        let [flags] = self.take()?;
        Ok(Report {
            is_acquainted: flags & 1 != 0,
            echo_life: u32::from_be_bytes(self.take()?),
            echo_utime: i64::from_be_bytes(self.take()?),
            hold_us: u32::from_be_bytes(self.take()?),
            highest: u32::from_be_bytes(self.take()?),
            n_packets: u32::from_be_bytes(self.take()?),
            n_bytes: u32::from_be_bytes(self.take()?),
            transit_us: i64::from_be_bytes(self.take()?),
        })
    }

    fn data(&mut self) -> Result<Data<'p>, DecodePacketError> {
        let [flags] = self.take()?;
        let stream = u32::from_be_bytes(self.take()?);
        let message = u32::from_be_bytes(self.take()?);
        let age_us = u32::from_be_bytes(self.take()?);
        let left_us = u32::from_be_bytes(self.take()?);
        let (first_block, n_blocks) = match flags & 8 != 0 {
            true => (
                u16::from_be_bytes(self.take()?),
                u16::from_be_bytes(self.take()?),
            ),
            false => (0, 1),
        };
        if first_block >= n_blocks {
            return Err(DecodePacketError::Part(first_block, n_blocks));
        }
        let length = u16::from_be_bytes(self.take()?);
        Ok(Data {
            keep: flags & 3,
            is_urgent: flags & 4 != 0,
            stream,
            message,
            age_us,
            left_us,
            first_block,
            n_blocks,
            payload: self.bytes(usize::from(length))?,
        })
    }
}

impl Header {
    /// Begins a packet with it.
    pub fn encode(&self, packet: &mut Vec<u8>) {
        packet.clear();
        packet.extend_from_slice(&[MAGIC, VERSION]);
        packet.extend_from_slice(&self.generation.to_be_bytes());
        packet.extend_from_slice(&self.life.to_be_bytes());
        packet.extend_from_slice(&self.sequence.to_be_bytes());
        packet.extend_from_slice(&self.sent_utime.to_be_bytes());
    }
}

impl Frame<'_> {
    /// Adds it to a packet.
    pub fn encode(&self, packet: &mut Vec<u8>) {
        match self {
            Self::Probe => packet.push(PROBE),
            Self::Report(report) => report.encode(packet),
            Self::Data(data) => data.encode(packet),
            Self::Ack(ack) => {
                packet.push(ACK);
                packet.extend_from_slice(&ack.stream.to_be_bytes());
                packet.extend_from_slice(&ack.message.to_be_bytes());
                packet.extend_from_slice(&ack.first_block.to_be_bytes());
                packet.extend_from_slice(&ack.n_blocks.to_be_bytes());
            }
        }
    }
}

impl Report {
    fn encode(&self, packet: &mut Vec<u8>) {
        packet.extend_from_slice(&[REPORT, u8::from(self.is_acquainted)]);
        packet.extend_from_slice(&self.echo_life.to_be_bytes());
        packet.extend_from_slice(&self.echo_utime.to_be_bytes());
        packet.extend_from_slice(&self.hold_us.to_be_bytes());
        packet.extend_from_slice(&self.highest.to_be_bytes());
        packet.extend_from_slice(&self.n_packets.to_be_bytes());
        packet.extend_from_slice(&self.n_bytes.to_be_bytes());
        packet.extend_from_slice(&self.transit_us.to_be_bytes());
    }
}

impl Data<'_> {
    fn encode(&self, packet: &mut Vec<u8>) {
        let is_part = self.n_blocks > 1;
        let flags = self.keep & 3 | u8::from(self.is_urgent) << 2 | u8::from(is_part) << 3;
        // What does not fit into a length cannot have come from a packet; no code makes such a frame.
        let length = self.payload.len().min(usize::from(u16::MAX));
        packet.extend_from_slice(&[DATA, flags]);
        packet.extend_from_slice(&self.stream.to_be_bytes());
        packet.extend_from_slice(&self.message.to_be_bytes());
        packet.extend_from_slice(&self.age_us.to_be_bytes());
        packet.extend_from_slice(&self.left_us.to_be_bytes());
        if is_part {
            packet.extend_from_slice(&self.first_block.to_be_bytes());
            packet.extend_from_slice(&self.n_blocks.to_be_bytes());
        }
        packet.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes());
        packet.extend_from_slice(self.payload.get(..length).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> (Header, Vec<Frame<'static>>) {
        let header = Header {
            generation: 7,
            life: 0xdead_beef,
            sequence: 41,
            sent_utime: -5,
        };
        let report = Report {
            is_acquainted: true,
            echo_life: 1,
            echo_utime: i64::MIN,
            hold_us: 2,
            highest: 3,
            n_packets: 4,
            n_bytes: 5,
            transit_us: i64::MAX,
        };
        let whole = Data {
            keep: 2,
            is_urgent: true,
            stream: 9,
            message: 10,
            age_us: 11,
            left_us: 12,
            first_block: 0,
            n_blocks: 1,
            payload: b"whole",
        };
        let part = Data {
            keep: 1,
            is_urgent: false,
            first_block: 3,
            n_blocks: 4,
            payload: b"",
            ..whole
        };
        let ack = Ack {
            stream: 1,
            message: 2,
            first_block: 3,
            n_blocks: 4,
        };
        let frames = vec![
            Frame::Report(report),
            Frame::Probe,
            Frame::Data(whole),
            Frame::Data(part),
            Frame::Ack(ack),
        ];
        (header, frames)
    }

    fn encoded() -> Vec<u8> {
        let (header, frames) = everything();
        let mut packet = Vec::new();
        header.encode(&mut packet);
        for frame in &frames {
            frame.encode(&mut packet);
        }
        packet
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let packet = encoded();
        let (header, frames) = decode(&packet).expect("it is a packet");
        let frames: Result<Vec<Frame<'_>>, _> = frames.collect();
        assert_eq!((header, frames.expect("all is understood")), everything());
    }

    #[test]
    fn lengths_equal_the_constants() {
        let (header, frames) = everything();
        let mut packet = Vec::new();
        header.encode(&mut packet);
        assert_eq!(packet.len(), HEADER_LEN);
        let lengths = frames.iter().map(|frame| {
            let before = packet.len();
            frame.encode(&mut packet);
            packet.len() - before
        });
        let lengths: Vec<usize> = lengths.collect();
        let whole = DATA_LEN + b"whole".len();
        assert_eq!(
            lengths,
            [REPORT_LEN, PROBE_LEN, whole, FRAGMENT_LEN, ACK_LEN]
        );
    }

    #[test]
    fn a_packet_that_is_cut_anywhere_gives_the_frames_before_the_cut_and_an_error_or_an_end() {
        let packet = encoded();
        let (_, all) = everything();
        for cut in 0..packet.len() {
            let Ok((_, frames)) = decode(&packet[..cut]) else {
                assert!(cut < HEADER_LEN);
                continue;
            };
            let good: Vec<Frame<'_>> = frames.clone().map_while(Result::ok).collect();
            assert_eq!(good, all[..good.len()]);
            assert!(frames.count() <= good.len() + 1, "nothing follows an error");
        }
    }

    #[test]
    fn a_sealed_packet_is_opened_again_and_no_bit_of_it_can_be_flipped() {
        let plain = encoded();
        let mut sealed = plain.clone();
        seal(&mut sealed);
        assert_eq!(sealed.len(), plain.len() + SEAL_LEN);
        assert_eq!(unseal(&sealed), Ok(plain.as_slice()));
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let opened = unseal(&changed);
            assert!(
                matches!(opened, Err(DecodePacketError::Seal { .. })),
                "{bit}"
            );
        }
        assert!(unseal(&sealed[..sealed.len() - 1]).is_err());
        assert!(matches!(
            unseal(&[0; 3]),
            Err(DecodePacketError::Short {
                expected: 4,
                found: 3
            })
        ));
    }

    #[test]
    fn a_part_beyond_the_last_is_refused() {
        let mut packet = encoded();
        let at = HEADER_LEN + REPORT_LEN + PROBE_LEN + DATA_LEN + b"whole".len() + 18;
        packet[at..at + 4].copy_from_slice(&[0, 4, 0, 4]);
        let (_, frames) = decode(&packet).expect("its header is good");
        assert_eq!(frames.last(), Some(Err(DecodePacketError::Part(4, 4))));
    }
}
