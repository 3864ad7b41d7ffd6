//! LCM's event logs as files: read, sought in, written and continued.
//!
//! In: a path. Out: events one by one, in memory for one record; or a file that LCM's own tools read. What is in the
//! bytes, and what counts as damage, is decided by [`bowline_wire::eventlog`]. Deliberately absent: clocks, threads
//! and rotation.
//!
//! ```
//! use bowline_bus::eventlog::{Reader, Writer};
//! # let folder = std::env::temp_dir().join(format!("bowline-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("depth.lcmlog");
//!
//! let mut writer = Writer::create(&path)?;
//! writer.write(1_000_000, "sonar.depth", b"2.5 m")?;
//! writer.write(2_000_000, "sonar.depth", b"2.6 m")?;
//! writer.sync()?;
//!
//! let mut reader = Reader::open(&path)?;
//! reader.seek_to(1_500_000)?;
//! let event = reader.next_event()?.expect("one event is later");
//! assert_eq!((event.number, &event.payload[..]), (1, &b"2.6 m"[..]));
//! assert!(reader.next_event()?.is_none());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bowline_wire::eventlog::{self, HEADER_LEN, MAX_PAYLOAD_LEN, Record, Step, WriteRecordError};
use bytes::Bytes;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// How much is read or written at once.
const CHUNK: usize = 64 << 10;

/// Where bisection leaves the rest to reading.
const CLOSE_ENOUGH: u64 = 256 << 10;

/// How much of a log's end is read to find its last number. Shorter logs are read whole.
const TAIL: u64 = 64 << 20;

/// One event of a log, to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEvent {
    /// The writer's count of its events.
    pub number: i64,
    /// When it was recorded, microseconds since the epoch.
    pub utime: i64,
    /// Where it was published.
    pub channel: String,
    /// The message.
    pub payload: Bytes,
}

/// A record where it is in its log.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// Where it begins, in bytes from the beginning of the log.
    pub offset: u64,
    /// What it says.
    pub record: Record<'a>,
    /// All of its bytes.
    pub bytes: &'a [u8],
}

/// Bytes of a log that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedPlace {
    /// Where they begin, in bytes from the beginning of the log.
    pub offset: u64,
    /// How many they are.
    pub len: u64,
    /// Whether the log ends with them.
    pub is_at_end: bool,
}

/// Reads a log from some place on. Damage is skipped and counted.
///
/// At the end it may be asked again, in case the log has grown.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: File,
    /// Bytes of the file from `buffer_at` on; those before `start` are done with.
    buffer: Vec<u8>,
    buffer_at: u64,
    start: usize,
    /// Whether a record is expected here. After a seek to anywhere, what comes before the next one is no damage.
    is_aligned: bool,
    damaged_bytes: u64,
    /// The first of them, until somebody asks.
    damaged_places: Vec<DamagedPlace>,
    max_payload_len: usize,
}

/// How many damaged places are remembered one by one.
const MAX_DAMAGED_PLACES: usize = 1_024;

/// A record in the buffer, at its `start`.
#[derive(Clone, Copy, Debug)]
struct Found {
    number: i64,
    utime: i64,
    channel_len: usize,
    payload_len: usize,
}

impl Reader {
    /// Opens a log at its beginning.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenLogError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(OpenLogError::of(path, "read"))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            buffer: Vec::new(),
            buffer_at: 0,
            start: 0,
            is_aligned: true,
            damaged_bytes: 0,
            damaged_places: Vec::new(),
            max_payload_len: MAX_PAYLOAD_LEN,
        })
    }

    /// Takes longer payloads for damage, to bound the memory that a damaged length may claim.
    #[must_use]
    pub fn with_max_payload_len(mut self, max_payload_len: usize) -> Self {
        self.max_payload_len = max_payload_len;
        self
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read. Damage is no error.
    pub fn next_event(&mut self) -> Result<Option<LogEvent>, ReadLogError> {
        let Some(found) = self.find()? else {
            return Ok(None);
        };
        let body = self.unread().get(HEADER_LEN..).unwrap_or_default();
        let (channel, payload) = body.split_at_checked(found.channel_len).unwrap_or_default();
        let event = LogEvent {
            number: found.number,
            utime: found.utime,
            channel: String::from_utf8_lossy(channel).into_owned(),
            payload: Bytes::copy_from_slice(payload.get(..found.payload_len).unwrap_or_default()),
        };
        self.pass(found);
        Ok(Some(event))
    }

    /// The next record, where it is read; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read. Damage is no error.
    pub fn next_record(&mut self) -> Result<Option<Placed<'_>>, ReadLogError> {
        let Some(found) = self.find()? else {
            return Ok(None);
        };
        let offset = self.position();
        let start = self.start;
        self.pass(found);
        let bytes = self.buffer.get(start..self.start).unwrap_or_default();
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

    /// Damage that was found since this was last asked, one place after the other. When there is very much, the rest
    /// is only counted.
    pub fn take_damaged_places(&mut self) -> Vec<DamagedPlace> {
        std::mem::take(&mut self.damaged_places)
    }

    /// The events from here on.
    pub fn events(&mut self) -> impl Iterator<Item = Result<LogEvent, ReadLogError>> {
        std::iter::from_fn(|| self.next_event().transpose())
    }

    /// Goes to the first event at or after `utime`, or to the end if there is none.
    ///
    /// Bisects, which is right as long as times never go back. Where they are seen to, the log is read instead.
    ///
    /// # Errors
    /// When the file cannot be read or has no places, such as a pipe.
    pub fn seek_to(&mut self, utime: i64) -> Result<(), ReadLogError> {
        let damaged_bytes = self.damaged_bytes;
        let outcome = self.seek_first(utime);
        self.damaged_bytes = damaged_bytes;
        outcome
    }

    /// Goes to the first event that starts at or after `position`, in bytes.
    ///
    /// # Errors
    /// When the file has no places, such as a pipe.
    pub fn seek(&mut self, position: u64) -> Result<(), ReadLogError> {
        let sought = self.file.seek(SeekFrom::Start(position));
        sought.map_err(|source| self.failed(source))?;
        self.buffer.clear();
        self.buffer_at = position;
        self.start = 0;
        self.is_aligned = position == 0;
        Ok(())
    }

    /// Goes back to the beginning.
    ///
    /// # Errors
    /// When the file has no places, such as a pipe.
    pub fn rewind(&mut self) -> Result<(), ReadLogError> {
        self.seek(0)
    }

    /// Where reading goes on, in bytes from the beginning.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.buffer_at + self.start as u64
    }

    /// How large the file is now, in bytes.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn size(&self) -> Result<u64, ReadLogError> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|source| self.failed(source))?.len())
    }

    /// Bytes that were skipped because they are no record. Read twice, they count twice.
    #[must_use]
    pub fn damaged_bytes(&self) -> u64 {
        self.damaged_bytes
    }

    fn seek_first(&mut self, utime: i64) -> Result<(), ReadLogError> {
        self.rewind()?;
        let Some(first) = self.find()? else {
            return Ok(());
        };
        if first.utime >= utime {
            return Ok(());
        }
        let near = self.bisect(utime, first)?;
        self.seek(near)?;
        if self.read_up_to(utime)? {
            return Ok(());
        }
        // Only a log whose times go back can have it earlier.
        self.rewind()?;
        self.read_up_to(utime).map(drop)
    }

    /// Passes events before `utime`; whether there is one that is not.
    fn read_up_to(&mut self, utime: i64) -> Result<bool, ReadLogError> {
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
    fn bisect(&mut self, utime: i64, first: Found) -> Result<u64, ReadLogError> {
        let (mut low_at, mut low) = (self.position(), first);
        let (mut high_at, mut high) = (self.size()?, None::<Found>);
        while high_at.saturating_sub(low_at) > CLOSE_ENOUGH {
            let middle = low_at + (high_at - low_at) / 2;
            self.seek(middle)?;
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
    fn find(&mut self) -> Result<Option<Found>, ReadLogError> {
        let mut at_end = false;
        loop {
            let unread = self.buffer.get(self.start..).unwrap_or_default();
            match eventlog::parse(unread, at_end, self.max_payload_len) {
                Step::Record(record) => {
                    self.is_aligned = true;
                    return Ok(Some(Found {
                        number: record.number,
                        utime: record.utime,
                        channel_len: record.channel.len(),
                        payload_len: record.payload.len(),
                    }));
                }
                Step::NeedMore { n_bytes } => at_end = !self.fill(n_bytes)?,
                Step::Damaged { skipped } => self.skip(skipped, false),
                Step::End { trailing } => {
                    self.skip(trailing, true);
                    return Ok(None);
                }
            }
        }
    }

    fn pass(&mut self, found: Found) {
        self.start += HEADER_LEN + found.channel_len + found.payload_len;
    }

    fn skip(&mut self, n_bytes: usize, is_at_end: bool) {
        let offset = self.position();
        self.start += n_bytes;
        if n_bytes == 0 || !self.is_aligned {
            return;
        }
        let len = n_bytes as u64;
        self.damaged_bytes += len;
        if let Some(last) = self.damaged_places.last_mut()
            && last.offset + last.len == offset
        {
            last.len += len;
            last.is_at_end = is_at_end;
        } else if self.damaged_places.len() < MAX_DAMAGED_PLACES {
            self.damaged_places.push(DamagedPlace {
                offset,
                len,
                is_at_end,
            });
        }
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Reads on until `n_bytes` are unread; `false` when the file has no more.
    fn fill(&mut self, n_bytes: usize) -> Result<bool, ReadLogError> {
        self.buffer.drain(..self.start);
        self.buffer_at += self.start as u64;
        self.start = 0;
        // One record of unusual size is not paid for by all the others.
        if self.buffer.len().max(n_bytes) < CHUNK && self.buffer.capacity() > 16 * CHUNK {
            self.buffer.shrink_to(CHUNK);
        }
        while self.buffer.len() < n_bytes {
            // Piece by piece: a length that is a lie claims no more memory than the file has bytes.
            let n_wanted = (n_bytes - self.buffer.len()).clamp(CHUNK, 64 * CHUNK) as u64;
            let read = (&self.file).take(n_wanted).read_to_end(&mut self.buffer);
            if read.map_err(|source| self.failed(source))? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn failed(&self, source: io::Error) -> ReadLogError {
        ReadLogError {
            path: self.path.clone(),
            source,
        }
    }
}

impl Found {
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

/// Why a log cannot be read on.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the log {path:?}: {source}")]
pub struct ReadLogError {
    path: PathBuf,
    source: io::Error,
}

impl From<ReadLogError> for io::Error {
    fn from(error: ReadLogError) -> Self {
        Self::new(error.source.kind(), error)
    }
}

/// Writes a log. What is written is in memory until [`flush`](Self::flush), and sure to survive a crash of the
/// machine only after [`sync`](Self::sync). Dropping it flushes, but cannot say whether that worked.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    header: Vec<u8>,
    next_number: i64,
    /// How long the file is with what is still in memory.
    position: u64,
}

impl Writer {
    /// Starts a log; one of that name is replaced.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, OpenLogError> {
        let path = path.as_ref();
        let file = File::create(path).map_err(OpenLogError::of(path, "write"))?;
        Ok(Self::new(path, file, 0, 0))
    }

    /// Goes on with a log, and with its numbers; starts one if there is none.
    ///
    /// # Errors
    /// When the file cannot be opened, or not read to find the last number.
    pub fn append(path: impl AsRef<Path>) -> Result<Self, OpenLogError> {
        let path = path.as_ref();
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(OpenLogError::of(path, "append to"))?;
        let (number, size) = number_after_last(path)?;
        Ok(Self::new(path, file, number, size))
    }

    fn new(path: &Path, file: File, next_number: i64, position: u64) -> Self {
        Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(CHUNK, file),
            header: Vec::new(),
            next_number,
            position,
        }
    }

    /// Writes an event; says its number.
    ///
    /// # Errors
    /// When no reader could read the event, of which nothing is written then; or when the system refuses.
    pub fn write(
        &mut self,
        utime: i64,
        channel: &str,
        payload: &[u8],
    ) -> Result<i64, WriteLogError> {
        let number = self.next_number;
        self.header.clear();
        eventlog::write_header(number, utime, channel, payload.len(), &mut self.header)?;
        // Also if it fails half-way: a reader tells by the next number that this one was cut off.
        self.next_number += 1;
        let written = self.file.write_all(&self.header);
        let written = written.and_then(|()| self.file.write_all(payload));
        written.map_err(|source| self.failed(source))?;
        self.position += (self.header.len() + payload.len()) as u64;
        Ok(number)
    }

    /// Where the next event will start, in bytes from the beginning.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Hands everything to the system, where other programs can read it.
    ///
    /// # Errors
    /// When the system refuses, such as for want of space.
    pub fn flush(&mut self) -> Result<(), WriteLogError> {
        self.file.flush().map_err(|source| self.failed(source))
    }

    /// Has everything on the disk before it returns.
    ///
    /// # Errors
    /// When the system refuses, such as for want of space.
    pub fn sync(&mut self) -> Result<(), WriteLogError> {
        self.flush()?;
        let synced = self.file.get_ref().sync_data();
        synced.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> WriteLogError {
        WriteLogError::System {
            path: self.path.clone(),
            source,
        }
    }
}

/// The number with which a log goes on, and how long it is: for those who append in their own way.
///
/// # Errors
/// When the log cannot be read.
pub fn number_after_last(path: &Path) -> Result<(i64, u64), OpenLogError> {
    let unreadable = |error: ReadLogError| OpenLogError::of(path, "append to")(error.source);
    let mut reader = Reader::open(path)?;
    let size = reader.size().map_err(unreadable)?;
    let mut tail = TAIL;
    loop {
        let from = size.saturating_sub(tail);
        reader.seek(from).map_err(unreadable)?;
        let mut last = None;
        let mut damaged_bytes = 0;
        while let Some(found) = reader.find().map_err(unreadable)? {
            reader.pass(found);
            last = Some(found.number);
            damaged_bytes = reader.damaged_bytes;
        }
        match last {
            // What was cut off at the end may have had the number after the last.
            Some(last) if reader.damaged_bytes > damaged_bytes => return Ok((last + 2, size)),
            Some(last) => return Ok((last + 1, size)),
            None if from == 0 => return Ok((0, size)),
            None => tail *= 2,
        }
    }
}

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} the log {path:?}: {source}")]
pub struct OpenLogError {
    path: PathBuf,
    doing: &'static str,
    source: io::Error,
}

impl OpenLogError {
    fn of(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self {
            path,
            doing,
            source,
        }
    }

    /// What the system said.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

/// Why an event was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteLogError {
    /// No reader could read it.
    #[error(transparent)]
    Record(#[from] WriteRecordError),
    /// The system refused.
    #[error("cannot write the log {path:?}: {source}")]
    System {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
