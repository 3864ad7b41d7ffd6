//! What can be saved where MCAP is damaged.

use super::record::{self, HEAD_LEN, Message, OP_CHANNEL, OP_MESSAGE, OP_SCHEMA};
use super::window::{Needed, Window};
use std::collections::HashMap;

/// What became of a damaged chunk.
pub(super) enum Saved {
    /// All of its events are what was written; the damage is around them.
    All,
    /// Some are.
    Some { n_saved: u64, n_lost: Option<u64> },
    /// Nothing is looked at: it expands to more than real chunks do, of which this is the limit.
    TooLarge { limit: u64 },
}

/// What is handed out of a damaged chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// What a checksum covers.
    Vouched,
    /// Without checksums, whatever reads as messages.
    Plausible,
}

/// Where the records of a chunk are in its body, for each compression.
const LAYOUTS: [(&str, usize); 3] = [("zstd", 44), ("lz4", 43), ("", 40)];

/// Puts the records of a damaged chunk that are surely what was written into `into`, or, on trust, those that may be.
///
/// Its header is not believed: each way of reading it is tried, and the checksums of its messages decide.
pub(super) fn chunk(
    body: &[u8],
    checksums: Option<&[u32]>,
    trust: Trust,
    into: &mut Vec<u8>,
) -> Saved {
    let mut best: (u64, Vec<u8>) = (0, Vec::new());
    for (compression, offset) in LAYOUTS {
        let data = body.get(offset..).unwrap_or_default();
        let limit = record::max_expanded(data.len());
        let mut bytes = Vec::new();
        // As far as it goes.
        drop(record::decompress(compression, data, limit + 1, &mut bytes));
        if bytes.len() as u64 > limit && !compression.is_empty() {
            into.clear();
            return Saved::TooLarge { limit };
        }
        if is_what_the_header_says(body, &bytes) {
            *into = bytes;
            return Saved::All;
        }
        let found = match (checksums, trust) {
            (Some(checksums), _) => vouched_for(&bytes, checksums),
            (None, Trust::Plausible) => readable(&bytes),
            (None, Trust::Vouched) => continue,
        };
        if found.0 > best.0 {
            best = found;
        }
    }
    let (n_saved, bytes) = best;
    *into = bytes;
    let n_written = checksums.map(|checksums| checksums.len() as u64);
    let n_lost = n_written.map(|n_written| n_written.saturating_sub(n_saved));
    if n_lost == Some(0) {
        Saved::All
    } else {
        Saved::Some { n_saved, n_lost }
    }
}

/// Whether the chunk's own checksum, which is at a fixed place, is that of the records.
fn is_what_the_header_says(body: &[u8], bytes: &[u8]) -> bool {
    let said = body.get(24..).and_then(|rest| rest.first_chunk::<4>());
    let said = said.map_or(0, |said| u32::from_le_bytes(*said));
    said != 0 && !bytes.is_empty() && crc32fast::hash(bytes) == said
}

/// How often each byte of a damaged chunk is looked at, at most.
const MAX_LOOKS: usize = 64;

/// The messages that a checksum covers: how many, and their records. No checksum covers what describes them, which
/// is elsewhere too.
fn vouched_for(bytes: &[u8], checksums: &[u32]) -> (u64, Vec<u8>) {
    let mut left: HashMap<u32, u32> = HashMap::new();
    for checksum in checksums {
        *left.entry(*checksum).or_default() += 1;
    }
    let (mut n_saved, mut records) = (0, Vec::new());
    // What claims to be a message at every byte is not looked at for ever.
    let mut budget = bytes.len().saturating_mul(MAX_LOOKS);
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some((op, body, after)) = split_record(rest) else {
            // A damaged length: the next record that a checksum covers is further on.
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        let crc = (op == OP_MESSAGE && body.len() <= budget).then(|| {
            budget -= body.len();
            Message::read(body).map(|message| message.crc())
        });
        let count = crc.flatten().and_then(|crc| left.get_mut(&crc));
        let Some(count) = count.filter(|count| **count > 0) else {
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        *count -= 1;
        n_saved += 1;
        let n_bytes = rest.len() - after.len();
        records.extend_from_slice(rest.get(..n_bytes).unwrap_or_default());
        rest = after;
    }
    (n_saved, records)
}

/// The records up to the first that is none: how many messages, and all of them.
fn readable(bytes: &[u8]) -> (u64, Vec<u8>) {
    let (mut n_saved, mut rest) = (0, bytes);
    while let Some((op, body, after)) = split_record(rest) {
        let is_record = match op {
            OP_MESSAGE => Message::read(body).is_some(),
            OP_CHANNEL => record::Channel::read(body).is_some(),
            _ => true,
        };
        if !is_record {
            break;
        }
        n_saved += u64::from(op == OP_MESSAGE);
        rest = after;
    }
    let n_bytes = bytes.len() - rest.len();
    (n_saved, bytes.get(..n_bytes).unwrap_or_default().to_vec())
}

/// A record of the kinds that are in chunks, and what is behind it.
pub(super) fn split_record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (op, len) = record::head(bytes)?;
    let is_inside = matches!(op, OP_MESSAGE | OP_CHANNEL | OP_SCHEMA);
    let body = bytes.get(HEAD_LEN..)?;
    let (body, after) = body.split_at_checked(usize::try_from(len).ok()?)?;
    is_inside.then_some((op, body, after))
}

/// How much is looked at in one go.
const WINDOW: u64 = 1 << 20;
/// No damaged place is taken for a larger chunk: it is left behind piece by piece.
const MAX_BETWEEN: u64 = 256 << 20;
/// What has to be seen of a record to find it plausible, and the head of the next.
const FRONT: u64 = 64;

/// How far a damaged place was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress(u64);

/// Looks for the next record behind the one at `place` that is damaged: how far away it is. `None` if there is none.
/// Messages outside of chunks are too easily mistaken: `is_message` decides which of them count.
pub(super) fn distance_to_record(
    window: Window<'_>,
    place: u64,
    progress: &mut Progress,
    is_message: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<u64>, Needed> {
    let left = window.size.saturating_sub(place);
    loop {
        let at = progress.0.max(1);
        let wanted = (at + WINDOW).min(left);
        let bytes = window.get(place, wanted)?;
        let is_all = wanted == left;
        let end = wanted.saturating_sub(if is_all { 0 } else { FRONT });
        let mut places = at..end;
        let found = places
            .find(|at| usize::try_from(*at).is_ok_and(|at| is_record(bytes, at, left, is_message)));
        progress.0 = found.unwrap_or(end);
        match found {
            Some(at) => return Ok(Some(at)),
            None if is_all => return Ok(None),
            None if wanted > MAX_BETWEEN => return Ok(Some(end)),
            None => {}
        }
    }
}

/// Whether there is a record at `at` that something follows that could be one, if that can be seen.
fn is_record(bytes: &[u8], at: usize, left: u64, is_message: &dyn Fn(&[u8]) -> bool) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some((op, len)) = record::head(rest) else {
        return false;
    };
    let body = rest.get(HEAD_LEN..).unwrap_or_default();
    let Some(next) = (at + HEAD_LEN).checked_add(usize::try_from(len).unwrap_or(usize::MAX)) else {
        return false;
    };
    let is_telling = matches!(op, 0x02 | 0x06 | 0x07 | 0x08 | 0x0F | 0xC2)
        || op == OP_MESSAGE && is_message(body);
    if !is_telling || next as u64 > left || !record::is_plausible(op, len, body) {
        return false;
    }
    match bytes.get(next..).and_then(record::head) {
        Some((op, len)) => (1..=0x0F).contains(&op) && len <= left || op == 0xC2 || op == 0x89,
        None => true,
    }
}
