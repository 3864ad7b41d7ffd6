//! The file beside a log that makes it quick to open and shows damage: `FILE.index`.
//!
//! ```text
//! "BOWLIDX1"
//! frames, each:  kind u8 · length u32 · CRC-32 of the body u32 · body
//!   kind 1, blocks of an LCM log, in its order:
//!     offset u64 · number of the first event i64 · latest time so far i64 · count u32 · count x (length u32, CRC-32 u32)
//!   kind 2, once, last:  log's size u64 · summary · damage and its totals · every 256th block: place in the index, offset, latest time
//! place of the last frame u64 · "BOWLEND1"                                        little-endian
//! ```
//!
//! LCM's logs have no checksums; the blocks here give each event one, so that a flipped bit anywhere is seen, is known
//! to be in this event and no other, and a damaged length cannot mislead a reader. Seeking bisects the latest times so far,
//! which never go back even where the events' times do. MCAP has chunks with checksums of its own, so its index has a
//! summary only.
//!
//! An index is written as its log is, and made from the log where there is none. The log is never changed.

mod builder;
mod file;

pub(crate) use builder::{Builder, LogShape};
pub(crate) use file::{IndexFile, index_path};

use crate::bytes::{In, Out};
use crate::damage::Damages;
use crate::summary::Summary;

pub(crate) const MAGIC: [u8; 8] = *b"BOWLIDX1";
const END_MAGIC: [u8; 8] = *b"BOWLEND1";
const TRAILER_LEN: usize = 16;
const FRAME_LEN: usize = 9;
const KIND_BLOCK: u8 = 1;
const KIND_TAIL: u8 = 2;

/// Events of a block end when they reach so many bytes, or so many.
const BLOCK_BYTES: u64 = 64 << 10;
const BLOCK_EVENTS: usize = 1_024;
/// Of so many blocks one is in the tail.
const STRIDE: u64 = 256;

/// A run of events end to end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) offset: u64,
    pub(crate) first_number: i64,
    /// Of all events up to the end of this block.
    pub(crate) latest_utime: i64,
    pub(crate) events: Vec<Mark>,
}

/// How long an event's record is, and what its bytes sum up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) len: u32,
    pub(crate) crc: u32,
}

/// The contents of the last frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tail {
    pub(crate) log_size: u64,
    pub(crate) summary: Summary,
    /// Damage that was there when the index was made.
    pub(crate) damages: Damages,
    pub(crate) stride: Vec<Milestone>,
}

/// Every so many blocks, where one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Milestone {
    /// In the index.
    pub(crate) place: u64,
    /// In the log.
    pub(crate) offset: u64,
    /// Of all events before this block.
    pub(crate) latest_before: i64,
}

impl Block {
    pub(crate) fn len(&self) -> u64 {
        self.events.iter().map(|mark| u64::from(mark.len)).sum()
    }

    fn write(&self, out: &mut Out) {
        out.u64(self.offset);
        out.i64(self.first_number);
        out.i64(self.latest_utime);
        out.u32(u32::try_from(self.events.len()).unwrap_or(u32::MAX));
        for mark in &self.events {
            out.u32(mark.len);
            out.u32(mark.crc);
        }
    }

    fn read(body: &[u8]) -> Option<Self> {
        let mut input = In(body);
        let mut block = Self {
            offset: input.u64()?,
            first_number: input.i64()?,
            latest_utime: input.i64()?,
            events: Vec::new(),
        };
        let n_events = usize::try_from(input.u32()?).ok()?;
        if input.0.len() != n_events.checked_mul(8)? {
            return None;
        }
        while !input.0.is_empty() {
            block.events.push(Mark {
                len: input.u32()?,
                crc: input.u32()?,
            });
        }
        Some(block)
    }
}

impl Tail {
    fn write(&self, out: &mut Out) {
        out.u64(self.log_size);
        self.summary.write(out);
        self.damages.write(out);
        out.len(self.stride.len());
        for milestone in &self.stride {
            out.u64(milestone.place);
            out.u64(milestone.offset);
            out.i64(milestone.latest_before);
        }
    }

    fn read(body: &[u8]) -> Option<Self> {
        let mut input = In(body);
        let mut tail = Self {
            log_size: input.u64()?,
            summary: Summary::read(&mut input)?,
            damages: Damages::read(&mut input)?,
            stride: Vec::new(),
        };
        for _ in 0..input.len()? {
            tail.stride.push(Milestone {
                place: input.u64()?,
                offset: input.u64()?,
                latest_before: input.i64()?,
            });
        }
        input.0.is_empty().then_some(tail)
    }
}

fn write_frame(kind: u8, body: &[u8], out: &mut Vec<u8>) {
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
    out.push(kind);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    out.extend_from_slice(body);
}

/// The fields at the beginning of a frame: kind, length and checksum of its body.
fn read_frame_head(head: [u8; FRAME_LEN]) -> Option<(u8, usize, u32)> {
    let mut input = In(&head);
    Some((
        input.u8()?,
        usize::try_from(input.u32()?).ok()?,
        input.u32()?,
    ))
}

/// Whether these bytes are a whole index. For checking that any bytes are survived.
#[must_use]
pub fn is_index(bytes: &[u8]) -> bool {
    parse(bytes).is_some()
}

fn parse(bytes: &[u8]) -> Option<(Vec<Block>, Tail)> {
    let mut rest = bytes.strip_prefix(&MAGIC)?;
    let mut blocks = Vec::new();
    loop {
        let (head, after) = rest.split_first_chunk::<FRAME_LEN>()?;
        let (kind, len, crc) = read_frame_head(*head)?;
        let (body, after) = after.split_at_checked(len)?;
        if crc32fast::hash(body) != crc {
            return None;
        }
        match kind {
            KIND_BLOCK => blocks.push(Block::read(body)?),
            KIND_TAIL => return Some((blocks, Tail::read(body)?)),
            _ => return None,
        }
        rest = after;
    }
}
