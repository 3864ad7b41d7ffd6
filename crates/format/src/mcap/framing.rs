//! Where records of MCAP begin and end, and how long they may be: what a decoder asks before it looks into one.

use super::OP_CHECKSUMS;
use super::record::{self, HEAD_LEN, OP_CHUNK, OP_FOOTER};
use super::window::{Needed, Window};
use crate::bytes::In;
use crate::format::MCAP_MAGIC;

/// No record that we look into is longer: the largest message of LCM's, in a chunk of its own.
pub(super) const MAX_RECORD: u64 = (2 << 30) + (64 << 20);
/// Other records that are longer are skipped unseen.
pub(super) const MAX_HELD: u64 = 64 << 20;
/// No directory is longer: some millions of chunks.
const MAX_SUMMARY: u64 = 1 << 30;
/// How far behind a damaged chunk its checksums are looked for: there are indexes of its messages between.
const MAX_AHEAD: u64 = 64 << 20;
/// What has to be seen of a record to find it plausible.
pub(super) const FRONT: u64 = 64;
const FOOTER_LEN: u64 = HEAD_LEN as u64 + 20 + 8;
/// Before a message's data: opcode, length, and its own header.
pub(super) const MESSAGE_FRONT: usize = HEAD_LEN + 22;

/// MCAP's own, and those that it leaves to others.
pub(super) fn is_opcode(op: u8) -> bool {
    (1..=0x0F).contains(&op) || op >= 0x80
}

/// MCAP's own, and ours.
pub(super) fn is_known(op: u8) -> bool {
    op < 0x80 || op == OP_CHECKSUMS
}

/// Whether the record at `place` makes sense, and something that makes sense follows it.
pub(super) fn fits(op: u8, body: &[u8], place: u64, window: Window<'_>) -> Result<bool, Needed> {
    if op < 0x80 && !record::is_plausible(op, body.len() as u64, body) {
        return Ok(false);
    }
    if op == OP_FOOTER {
        return Ok(true);
    }
    let end = place + (HEAD_LEN + body.len()) as u64;
    let front = window.ahead(place, end, FRONT)?;
    Ok(is_record_at(end, front, window.size))
}

/// Whether what begins at `place` can be a record, or the end of the file.
pub(super) fn is_record_at(place: u64, front: &[u8], size: u64) -> bool {
    let Some((op, len)) = record::head(front) else {
        return true;
    };
    let body = front.get(HEAD_LEN..).unwrap_or_default();
    let is_room = len <= size.saturating_sub(place + HEAD_LEN as u64);
    is_room && (op >= 0x80 || record::is_plausible(op, len, body))
}

/// Our record of checksums of the chunk at `place` that ends at `after`, if it is there.
pub(super) fn checksums_behind<'w>(
    place: u64,
    after: u64,
    window: Window<'w>,
) -> Result<Option<&'w [u8]>, Needed> {
    let mut at = after;
    while at - after < MAX_AHEAD {
        let head = window.ahead(place, at, HEAD_LEN as u64)?;
        let Some((op, len)) = record::head(head) else {
            break;
        };
        at += HEAD_LEN as u64;
        if len > MAX_AHEAD.min(window.size - at) || op == OP_CHUNK {
            break;
        }
        let body = window.ahead(place, at, len)?;
        if op == OP_CHECKSUMS {
            return Ok(Some(body));
        }
        at += len;
    }
    Ok(None)
}

/// Where the summary begins and ends, if it is what was written.
pub(super) fn footer(window: Window<'_>) -> Result<Option<(u64, u64)>, Needed> {
    let Some(at) = window.size.checked_sub(FOOTER_LEN) else {
        return Ok(None);
    };
    let mut input = In(window.get(at, FOOTER_LEN)?);
    let is_footer = input.u8() == Some(OP_FOOTER) && input.u64() == Some(20);
    let start = input.u64().unwrap_or(0);
    let _offsets = input.u64();
    let said = input.u32().unwrap_or(0);
    if !is_footer || input.0 != MCAP_MAGIC {
        return Ok(None);
    }
    if start == 0 {
        return Ok(Some((at, at)));
    }
    if start > at || at - start > MAX_SUMMARY {
        return Ok(None);
    }
    // Everything from the summary to the footer's own checksum.
    let end = window.get(start, window.size - start)?;
    let n_summed = usize::try_from(at - start).unwrap_or(usize::MAX) + HEAD_LEN + 16;
    let is_sound = said == 0 || end.get(..n_summed).map(crc32fast::hash) == Some(said);
    Ok(is_sound.then_some((start, at)))
}
