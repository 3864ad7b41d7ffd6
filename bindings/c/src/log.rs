//! Event logs: the next record of a stream, and the record of a time.
//!
//! In: a stream that the program may have moved since the last call, so nothing is remembered here. Out: records, and the
//! stream right behind them. What is a record, and what is damage, is decided by [`Scanner`].

use bowline_format::scanner::{ReadAt, Scanner};
use bowline_wire::eventlog::Record;
use std::io;

/// What a log is read from.
pub(crate) trait Stream: ReadAt {
    /// Where it stands.
    fn position(&self) -> io::Result<u64>;

    fn go_to(&mut self, position: u64) -> io::Result<()>;
}

/// What was read of a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Next<T> {
    /// What was made of the next record; `None` at the end.
    pub(crate) made: Option<T>,
    /// Bytes before it that are no record: the log was damaged or cut off there.
    pub(crate) skipped: u64,
}

/// The next record, out of which `make` makes what is kept. The stream is behind it then.
///
/// # Errors
/// When the stream cannot be read or moved.
pub(crate) fn next<T>(
    stream: &mut impl Stream,
    make: impl FnOnce(&Record<'_>) -> T,
) -> io::Result<Next<T>> {
    let start = stream.position()?;
    let mut scanner = Scanner::over(&mut *stream, start);
    let placed = scanner.next_record();
    let placed = placed.map_err(bowline_format::ReadError::into_source)?;
    let made = placed.map(|placed| make(&placed.record));
    let (behind, skipped) = (scanner.position(), scanner.damaged_bytes());
    stream.go_to(behind)?;
    Ok(Next { made, skipped })
}

/// Puts the stream before the first record of `utime` or later; at the end if there is none.
///
/// # Errors
/// When the stream cannot be read or moved.
pub(crate) fn go_to_time(stream: &mut impl Stream, utime: i64) -> io::Result<()> {
    let mut scanner = Scanner::over(&mut *stream, 0);
    let sought = scanner.seek_to(utime);
    sought.map_err(bowline_format::ReadError::into_source)?;
    let found = scanner.position();
    stream.go_to(found)
}

#[cfg(test)]
mod tests;
