//! Any bytes are read to their end as a log; and of a log that was damaged, every undamaged record is found.

use bowline_wire::eventlog::{HEADER_LEN, MAX_CHANNEL_LEN, SYNC, Step, parse, write_header};

const LIMIT: usize = 1 << 12;
const MAX_EDITS: usize = 4;

/// A byte of the damaged log and where it was before, if it was.
type Traced = (u8, Option<usize>);

/// Records that were found: where, and how long.
fn read(log: &[u8], chunk: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut at, mut held) = (0, chunk.min(log.len()));
    loop {
        match parse(&log[at..held], held == log.len(), LIMIT) {
            Step::Record(record) => {
                found.push((at, record.encoded_len()));
                at += record.encoded_len();
            }
            Step::NeedMore { n_bytes } => {
                assert!(n_bytes > held - at);
                assert!(n_bytes <= 2 * (HEADER_LEN + MAX_CHANNEL_LEN + LIMIT) + 12);
                held = log.len().min((at + n_bytes).max(held + chunk));
            }
            Step::Damaged { skipped } => {
                assert!(skipped > 0);
                at += skipped;
            }
            Step::End { trailing } => {
                assert_eq!(at + trailing, log.len());
                return found;
            }
        }
    }
}

/// Up to as many bytes as the first one asks.
fn take<'b>(bytes: &mut &'b [u8], mask: u8) -> Option<&'b [u8]> {
    let (n, rest) = bytes.split_first()?;
    let (taken, rest) = rest.split_at_checked(usize::from(*n & mask))?;
    *bytes = rest;
    Some(taken)
}

fn is_untouched(traced: &[Traced]) -> bool {
    let origin = traced.first().and_then(|(_, at)| *at);
    origin.is_some_and(|origin| {
        traced
            .iter()
            .zip(origin..)
            .all(|((_, at), expected)| *at == Some(expected))
    })
}

pub(crate) fn run(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(read(bytes, 1), whole, "the pieces do not matter");

    // A number of records, their payloads, then edits: two bytes of place, bytes to remove, bytes to insert.
    let mut rest = bytes;
    let Some((n_records, after)) = rest.split_first() else {
        return;
    };
    rest = after;
    let mut log = Vec::new();
    let mut starts = Vec::new();
    for number in 0..i64::from(*n_records % 16) {
        let Some(payload) = take(&mut rest, 0xFF) else {
            break;
        };
        // Payloads with sync words are the business of the module's own tests.
        let payload: Vec<u8> = payload
            .iter()
            .map(|byte| if *byte == SYNC[0] { 0 } else { *byte })
            .collect();
        starts.push(log.len());
        write_header(number, 0, "a", payload.len(), &mut log)
            .expect("a record that can be written");
        log.extend_from_slice(&payload);
    }
    starts.push(log.len());
    let mut traced: Vec<Traced> = log
        .iter()
        .enumerate()
        .map(|(at, byte)| (*byte, Some(at)))
        .collect();
    for _ in 0..MAX_EDITS {
        let Some(([high, low, n_removed], after)) = rest.split_first_chunk() else {
            break;
        };
        rest = after;
        let Some(inserted) = take(&mut rest, 0x1F) else {
            break;
        };
        let from = usize::from(u16::from_be_bytes([*high, *low])) % (traced.len() + 1);
        let to = traced.len().min(from + usize::from(*n_removed));
        traced.splice(from..to, inserted.iter().map(|byte| (*byte, None)));
    }

    let log: Vec<u8> = traced.iter().map(|(byte, _)| *byte).collect();
    let found = read(&log, log.len().max(1));
    assert_eq!(read(&log, 7), found, "the pieces do not matter");
    for ends in starts.windows(2) {
        let length = ends[1] - ends[0];
        let Some(at) = traced
            .iter()
            .position(|(_, origin)| *origin == Some(ends[0]))
        else {
            continue;
        };
        if !traced.get(at..at + length).is_some_and(is_untouched) || found.contains(&(at, length)) {
            continue;
        }
        // Only a record whose sync word or number is damage too may hide others.
        let hides = |(other, n): &(usize, usize)| {
            *other < at && at < other + n && !is_untouched(&traced[*other..other + 12])
        };
        assert!(
            found.iter().any(hides),
            "the record at {at} is lost: {found:?}"
        );
    }
}
