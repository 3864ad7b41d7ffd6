//! An index, made event by event.

use super::{
    BLOCK_BYTES, BLOCK_EVENTS, Block, END_MAGIC, KIND_BLOCK, KIND_TAIL, MAGIC, Mark, Milestone,
    STRIDE, Tail, write_frame,
};
use crate::bytes::Out;
use crate::damage::Damages;
use crate::event::LogEvent;
use crate::schemas::Schemas;
use crate::summary::Summary;

/// Whether a log's index has blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogShape {
    /// Events end to end, which need checksums.
    Events,
    /// Chunks, which have them.
    Chunks,
}

/// Makes the bytes of an index. They are to be taken out and written from time to time.
#[derive(Debug)]
pub(crate) struct Builder {
    shape: LogShape,
    block: Block,
    block_len: u64,
    tail: Tail,
    latest_utime: i64,
    /// The same without the block that is not written yet.
    latest_of_ended: i64,
    n_blocks: u64,
    out: Vec<u8>,
    /// Where in the index `out` begins.
    out_at: u64,
}

impl Builder {
    pub(crate) fn new(shape: LogShape) -> Self {
        Self {
            shape,
            block: Block::default(),
            block_len: 0,
            tail: Tail::default(),
            latest_utime: i64::MIN,
            latest_of_ended: i64::MIN,
            n_blocks: 0,
            out: MAGIC.to_vec(),
            out_at: 0,
        }
    }

    /// Takes the next event in: the bytes of its record, and where they are.
    pub(crate) fn add(&mut self, event: &LogEvent<'_>, offset: u64, record: &[&[u8]]) {
        self.tail.summary.add(event);
        if self.shape == LogShape::Chunks {
            return;
        }
        let len: usize = record.iter().map(|part| part.len()).sum();
        let n_before = i64::try_from(self.block.events.len()).unwrap_or(i64::MAX);
        let follows = self.block.offset + self.block_len == offset
            && self.block.first_number.wrapping_add(n_before) == event.number;
        let is_full = self.block.events.len() >= BLOCK_EVENTS
            || self.block_len + len as u64 > BLOCK_BYTES && !self.block.events.is_empty();
        if is_full || !follows {
            self.end_block();
        }
        if self.block.events.is_empty() {
            self.block.offset = offset;
            self.block.first_number = event.number;
        }
        let mut crc = crc32fast::Hasher::new();
        for part in record {
            crc.update(part);
        }
        self.block.events.push(Mark {
            len: u32::try_from(len).unwrap_or(u32::MAX),
            crc: crc.finalize(),
        });
        self.block_len += len as u64;
        self.latest_utime = self.latest_utime.max(event.utime);
        self.block.latest_utime = self.latest_utime;
    }

    /// Types that the log describes elsewhere than in its events.
    pub(crate) fn add_schemas(&mut self, schemas: &Schemas) {
        self.tail.summary.schemas.merge(schemas);
    }

    /// What is wrong with the log.
    pub(crate) fn set_damages(&mut self, damages: Damages) {
        self.tail.damages = damages;
    }

    pub(crate) fn summary(&self) -> &Summary {
        &self.tail.summary
    }

    /// What is ready to be written.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.out_at += self.out.len() as u64;
        std::mem::take(&mut self.out)
    }

    /// How much is ready to be written.
    pub(crate) fn n_ready(&self) -> usize {
        self.out.len()
    }

    /// The last bytes, for a log of that size.
    pub(crate) fn finish(mut self, log_size: u64) -> (Vec<u8>, Tail) {
        self.end_block();
        let place = self.out_at + self.out.len() as u64;
        self.tail.log_size = log_size;
        let mut body = Out::default();
        self.tail.write(&mut body);
        write_frame(KIND_TAIL, &body.0, &mut self.out);
        self.out.extend_from_slice(&place.to_le_bytes());
        self.out.extend_from_slice(&END_MAGIC);
        (self.out, self.tail)
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.block_len = 0;
        if block.events.is_empty() {
            return;
        }
        if self.n_blocks.is_multiple_of(STRIDE) {
            self.tail.stride.push(Milestone {
                place: self.out_at + self.out.len() as u64,
                offset: block.offset,
                latest_before: self.latest_of_ended,
            });
        }
        self.n_blocks += 1;
        self.latest_of_ended = block.latest_utime;
        let mut body = Out::default();
        block.write(&mut body);
        write_frame(KIND_BLOCK, &body.0, &mut self.out);
    }
}
