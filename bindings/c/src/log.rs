//! Event logs: the next record of a stream, and the record of a time.
//!
//! In: a stream that the program may have moved since the last call, so nothing is remembered here, which the bus's own
//! reader does. Out: records, and the stream right behind them. Damage is skipped, and its size reported.

use bowline_wire::eventlog::{MAX_PAYLOAD_LEN, Record, Step, parse};
use std::io;

/// What a log is read from.
pub(crate) trait Stream {
    /// Adds up to `n` bytes to `buffer`; fewer only at the end.
    fn read_more(&mut self, buffer: &mut Vec<u8>, n: usize) -> io::Result<()>;

    /// Where it stands.
    fn position(&mut self) -> io::Result<u64>;

    /// Where it ends. Where it stands is lost.
    fn end(&mut self) -> io::Result<u64>;

    fn go_to(&mut self, position: u64) -> io::Result<()>;
}

/// A record that was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found<T> {
    /// What was made of it.
    pub(crate) made: T,
    /// Bytes before it that are no record.
    pub(crate) skipped: usize,
    /// Its own bytes.
    len: usize,
}

/// What there is of a log from some place on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    Found(Found<T>),
    /// No more records.
    End {
        /// Bytes that are none: the log was cut off or damaged there.
        skipped: usize,
    },
}

/// Where damage is searched for the next record, that many bytes are read at once.
const SEARCH_STEP: usize = 1 << 16;

/// The next record, out of which `make` makes what is kept. The stream is behind it then.
///
/// # Errors
/// When the stream cannot be read or moved.
pub(crate) fn next<T>(
    stream: &mut impl Stream,
    make: impl FnOnce(&Record<'_>) -> T,
) -> io::Result<Next<T>> {
    let start = stream.position()?;
    let (mut buffer, mut at_end, mut skipped) = (Vec::new(), false, 0);
    loop {
        match parse(&buffer, at_end, MAX_PAYLOAD_LEN) {
            Step::Record(record) => {
                let len = record.encoded_len();
                let made = make(&record);
                if len < buffer.len() {
                    stream.go_to(start + (skipped + len) as u64)?;
                }
                return Ok(Next::Found(Found { made, skipped, len }));
            }
            Step::NeedMore { n_bytes } => {
                let n_missing = n_bytes - buffer.len();
                let step = if skipped > 0 { SEARCH_STEP } else { 0 };
                stream.read_more(&mut buffer, n_missing.max(step))?;
                at_end = buffer.len() < n_bytes;
            }
            Step::Damaged { skipped: n_bytes } => {
                skipped += n_bytes;
                buffer.drain(..n_bytes);
            }
            Step::End { trailing } => {
                return Ok(Next::End {
                    skipped: skipped + trailing,
                });
            }
        }
    }
}

/// Below this distance in bytes, records are looked at one by one.
const NEAR: u64 = 1 << 16;

/// Puts the stream before the first record of `utime` or later, as far as times in the log rise; behind the last
/// record if there is none.
///
/// # Errors
/// When the stream cannot be read or moved.
pub(crate) fn go_to_time(stream: &mut impl Stream, utime: i64) -> io::Result<()> {
    let (mut low, mut high) = (0, stream.end()?);
    while high > low + NEAR {
        let middle = low + (high - low) / 2;
        stream.go_to(middle)?;
        match next(stream, |record| record.utime)? {
            Next::Found(found) if found.made < utime => low = stream.position()?,
            Next::Found(_) | Next::End { .. } => high = middle,
        }
    }
    stream.go_to(low)?;
    loop {
        match next(stream, |record| record.utime)? {
            Next::Found(found) if found.made < utime => {}
            Next::Found(found) => {
                let behind = stream.position()?;
                return stream.go_to(behind - found.len as u64);
            }
            Next::End { .. } => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
