//! LCM's event logs as files, record by record.
//!
//! In: a path, or anything that has a log's bytes. Out: records one by one, in memory for one of them, and the places that are damaged. What is in the
//! bytes, and what counts as damage, is decided by [`bowline_wire::eventlog`]. For programs that need the places of
//! events, in bytes, as LCM's own interface has them; others use [`Reader`](crate::Reader).

use crate::damage::{Damage, DamageKind, Damages};
use crate::input::{CHUNK, Input};
pub use crate::input::{LogFile, ReadAt};
use crate::reader::ReadError;
use bowline_wire::eventlog::{self, HEADER_LEN, MAX_PAYLOAD_LEN, Record, Step};
use std::path::{Path, PathBuf};

/// Where bisection leaves the rest to reading.
const CLOSE_ENOUGH: u64 = 256 << 10;

/// How much of a log's end is read to find its last number. Shorter logs are read whole.
const TAIL: u64 = 64 << 20;

/// A record where it is in its log.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// Where it begins, in bytes from the beginning of the log.
    pub offset: u64,
    /// The contents of the record.
    pub record: Record<'a>,
    /// All of its bytes.
    pub bytes: &'a [u8],
}

/// Reads the records of a log from some place on. Damage is skipped and counted.
///
/// At the end it may be asked again, in case the log has grown.
#[derive(Debug)]
pub struct Scanner<S = LogFile> {
    path: PathBuf,
    input: Input<S>,
    /// Where reading goes on.
    place: u64,
    /// Whether a record is expected here. After a seek to anywhere, what comes before the next one is no damage.
    is_aligned: bool,
    damaged_bytes: u64,
    damages: Damages,
    /// The damage that reading has not passed yet.
    open: Option<Damage>,
}

/// A record that is in memory, where reading goes on.
#[derive(Clone, Copy, Debug)]
struct Found {
    number: i64,
    utime: i64,
    channel_len: usize,
    payload_len: usize,
}

impl Scanner {
    /// Opens a log at its beginning.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let input = Input::open(path).map_err(ReadError::of(path))?;
        Ok(Self::new(path, input, 0))
    }
}

impl<S: ReadAt> Scanner<S> {
    /// Reads a log that is open already, from `place` on, where a record is expected.
    #[must_use]
    pub fn over(source: S, place: u64) -> Self {
        Self::new(Path::new(""), Input::over(source), place)
    }

    fn new(path: &Path, input: Input<S>, place: u64) -> Self {
        Self {
            path: path.to_owned(),
            input,
            place,
            is_aligned: true,
            damaged_bytes: 0,
            damages: Damages::default(),
            open: None,
        }
    }

    /// The next record, where it is read; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read. Damage is no error.
    pub fn next_record(&mut self) -> Result<Option<Placed<'_>>, ReadError> {
        let Some(found) = self.find()? else {
            return Ok(None);
        };
        let offset = self.place;
        self.pass(found);
        let bytes = self.input.from(offset);
        let bytes = bytes.get(..found.len()).unwrap_or_default();
        let body = bytes.get(HEADER_LEN..).unwrap_or_default();
        let (channel, payload) = body.split_at_checked(found.channel_len).unwrap_or_default();
        Ok(Some(Placed {
            offset,
            record: Record {
                number: found.number,
                utime: found.utime,
                channel: std::str::from_utf8(channel).unwrap_or_default(),
                payload,
            },
            bytes,
        }))
    }

    /// The damage that was met so far. A caller that knows of more may add it.
    pub(crate) fn damages(&mut self) -> &mut Damages {
        self.pass_damage();
        &mut self.damages
    }

    /// Goes to the first event at or after `utime`, or to the end if there is none.
    ///
    /// Bisects, which is right as long as times never go back. Where they are seen to, the log is read instead.
    ///
    /// # Errors
    /// When the file cannot be read or has no places, such as a pipe.
    pub fn seek_to(&mut self, utime: i64) -> Result<(), ReadError> {
        let damaged_bytes = self.damaged_bytes;
        let outcome = self.seek_first(utime);
        self.damaged_bytes = damaged_bytes;
        outcome
    }

    /// Goes to the first event that starts at or after `position`, in bytes.
    pub fn seek(&mut self, position: u64) {
        self.place = position;
        self.is_aligned = position == 0;
    }

    /// Where reading goes on, in bytes from the beginning.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.place
    }

    /// How large the file is now, in bytes.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn size(&self) -> Result<u64, ReadError> {
        self.input.size().map_err(ReadError::of(&self.path))
    }

    /// Bytes that were skipped because they are no record. Read twice, they count twice.
    #[must_use]
    pub fn damaged_bytes(&self) -> u64 {
        self.damaged_bytes
    }

    fn seek_first(&mut self, utime: i64) -> Result<(), ReadError> {
        self.seek(0);
        let Some(first) = self.find()? else {
            return Ok(());
        };
        if first.utime >= utime {
            return Ok(());
        }
        let near = self.bisect(utime, first)?;
        self.seek(near);
        if self.read_up_to(utime)? {
            return Ok(());
        }
        // Only a log whose times go back can have it earlier.
        self.seek(0);
        self.read_up_to(utime).map(drop)
    }

    /// Passes events before `utime`; whether there is one that is not.
    fn read_up_to(&mut self, utime: i64) -> Result<bool, ReadError> {
        while let Some(found) = self.find()? {
            if found.utime >= utime {
                return Ok(true);
            }
            self.pass(found);
        }
        Ok(false)
    }

    /// Where a record before `utime` starts, not far before the first that is not. `first` is the first of the log,
    /// and earlier than `utime`.
    fn bisect(&mut self, utime: i64, first: Found) -> Result<u64, ReadError> {
        let (mut low_at, mut low) = (self.position(), first);
        let (mut high_at, mut high) = (self.size()?, None::<Found>);
        while high_at.saturating_sub(low_at) > CLOSE_ENOUGH {
            let middle = low_at + (high_at - low_at) / 2;
            self.seek(middle);
            let probe = self.find()?;
            let probe_at = self.position();
            match probe.filter(|_| probe_at < high_at) {
                None => high_at = middle,
                // Times went back, or this is a log inside a payload.
                Some(probe) if !probe.is_between(low, high, probe_at - low_at) => break,
                Some(probe) if probe.utime < utime => (low_at, low) = (probe_at, probe),
                Some(probe) => (high_at, high) = (middle, Some(probe)),
            }
        }
        Ok(low_at)
    }

    /// Finds the next record, and stays in front of it.
    fn find(&mut self) -> Result<Option<Found>, ReadError> {
        let mut at_end = false;
        // Where damage is searched for the next record, much is read at once.
        let mut step = S::READ_AHEAD;
        loop {
            match eventlog::parse(self.input.from(self.place), at_end, MAX_PAYLOAD_LEN) {
                Step::Record(record) => {
                    let found = Found {
                        number: record.number,
                        utime: record.utime,
                        channel_len: record.channel.len(),
                        payload_len: record.payload.len(),
                    };
                    self.is_aligned = true;
                    self.pass_damage();
                    return Ok(Some(found));
                }
                Step::NeedMore { n_bytes } => {
                    let filled = self.input.fill_by(self.place, n_bytes, step);
                    at_end = !filled.map_err(ReadError::of(&self.path))?;
                }
                Step::Damaged { skipped } => {
                    step = CHUNK;
                    self.skip(skipped, DamageKind::NoEvent);
                }
                Step::End { trailing } => {
                    self.skip(trailing, DamageKind::CutOff);
                    return Ok(None);
                }
            }
        }
    }

    fn pass(&mut self, found: Found) {
        self.place += found.len() as u64;
    }

    fn skip(&mut self, n_bytes: usize, kind: DamageKind) {
        let (offset, len) = (self.place, n_bytes as u64);
        self.place += len;
        if len == 0 || !self.is_aligned {
            return;
        }
        self.damaged_bytes += len;
        if let Some(open) = &mut self.open
            && open.offset + open.len == offset
        {
            open.len += len;
            open.kind = kind;
        } else {
            self.pass_damage();
            self.open = Some(Damage { offset, len, kind });
        }
    }

    fn pass_damage(&mut self) {
        if let Some(damage) = self.open.take() {
            self.damages.add(damage);
        }
    }
}

impl Found {
    fn len(self) -> usize {
        HEADER_LEN + self.channel_len + self.payload_len
    }

    /// Whether times and numbers agree with a record `distance` bytes before it, and with one after it.
    fn is_between(&self, low: Self, high: Option<Self>, distance: u64) -> bool {
        let n_most = i64::try_from(distance / HEADER_LEN as u64).unwrap_or(i64::MAX);
        let is_after_low = low.utime <= self.utime
            && (1..=n_most).contains(&self.number.saturating_sub(low.number));
        let is_before_high =
            high.is_none_or(|high| self.utime <= high.utime && self.number <= high.number);
        is_after_low && is_before_high
    }
}

/// The number with which a log goes on, and how long it is: for those who append in their own way.
///
/// # Errors
/// When the log cannot be read.
pub fn number_after_last(path: &Path) -> Result<(i64, u64), ReadError> {
    let mut scanner = Scanner::open(path)?;
    let size = scanner.size()?;
    let mut tail = TAIL;
    loop {
        let from = size.saturating_sub(tail);
        scanner.seek(from);
        let mut last = None;
        let mut damaged_bytes = 0;
        while let Some(found) = scanner.find()? {
            scanner.pass(found);
            last = Some(found.number);
            damaged_bytes = scanner.damaged_bytes;
        }
        match last {
            // What was cut off at the end may have had the number after the last.
            Some(last) if scanner.damaged_bytes > damaged_bytes => return Ok((last + 2, size)),
            Some(last) => return Ok((last + 1, size)),
            None if from == 0 => return Ok((0, size)),
            None => tail *= 2,
        }
    }
}
