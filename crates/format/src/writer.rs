//! Writes a log of either format.

use crate::event::{LogEvent, Provenance};
use crate::format::{Format, MCAP_MAGIC};
use crate::index::{Builder, LogShape, index_path};
use crate::lcm::LcmEncoder;
#[cfg(feature = "mcap")]
use crate::mcap::McapEncoder;
use crate::output::Output;
use crate::scanner::number_after_last;
use crate::schemas::{BOOKMARK_CHANNEL, SCHEMA_CHANNEL, Schemas};
use crate::summary::Summary;
use bowline_wire::eventlog::WriteRecordError;
use bowline_wire::messages::{Bookmark, Schema};
use bowline_wire::{EncodeError, Fingerprint, Message as _};
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many types are remembered as described.
const MAX_DESCRIBED: usize = 65_536;

/// Writes a log.
///
/// Events collect in memory until [`flush`](Self::flush) hands them to the system, which is when other programs see
/// them and they survive the end of this one; they survive a loss of power after [`sync`](Self::sync). When the system
/// refuses, nothing is lost: what it did not take goes first the next time. So the caller decides how much may
/// collect, by [`n_pending`](Self::n_pending).
///
/// Types that `schemas` knows are described in the log before their first message.
#[derive(Debug)]
pub struct Writer {
    encoder: Box<dyn Encoder>,
    output: Output,
    sidecar: Sidecar,
    schemas: Schemas,
    described: HashSet<Fingerprint>,
    next_number: i64,
    /// Where events end that the system has not taken, each with the number of the next. MCAP's chunks end together.
    ends: VecDeque<(u64, i64)>,
    /// Of the events, how many the system has taken.
    n_taken: i64,
}

/// A format that is written.
pub(crate) trait Encoder: fmt::Debug + Send {
    fn format(&self) -> Format;

    /// What its index consists of.
    fn shape(&self) -> LogShape;

    /// How long events may well collect before they are flushed.
    fn patience(&self) -> Duration;

    /// Adds an event.
    fn put(
        &mut self,
        event: &LogEvent<'_>,
        provenance: Option<&Provenance<'_>>,
        schemas: &Schemas,
        output: &mut Output,
        sidecar: &mut Sidecar,
    ) -> Result<(), WriteError>;

    /// Bytes of events that are in no chunk yet.
    fn n_collected(&self) -> usize {
        0
    }

    /// Ends the chunk, if events are in it.
    fn end_chunk(&mut self, _out: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    /// Writes the directory. Nothing can be added afterwards.
    fn finish(&mut self, _out: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    /// What has room for attachments and metadata.
    #[cfg(feature = "mcap")]
    fn as_mcap(&mut self) -> Option<&mut McapEncoder> {
        None
    }
}

/// The index beside the log, as long as it can be written.
#[derive(Debug)]
pub(crate) struct Sidecar {
    builder: Option<Builder>,
    output: Option<Output>,
    path: PathBuf,
    /// Why there is none, if one was wanted.
    refusal: Option<io::Error>,
}

/// How a log is written.
#[derive(Clone, Debug, Default)]
pub struct WriterOptions {
    /// The format of the log. `None`: by its name.
    pub format: Option<Format>,
    /// How MCAP is written.
    pub mcap: McapOptions,
    /// Types to describe in the log.
    pub schemas: Schemas,
    /// Leaves the index to the first reader that needs it.
    pub without_index: bool,
}

/// How chunks are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4: quick.
    Lz4,
    /// Zstandard: small.
    #[default]
    Zstd,
}

/// How MCAP is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McapOptions {
    /// How chunks are compressed.
    pub compression: Compression,
    /// Bytes of events that end a chunk.
    pub chunk_bytes: usize,
    /// Notes that it was an LCM log before, so that it can be the same again.
    pub is_from_lcm: bool,
    /// What MCAP calls a profile, such as `ros2`: rules of other writers that a copy of theirs keeps to. We have none.
    pub profile: String,
}

impl Default for McapOptions {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            chunk_bytes: 1 << 20,
            is_from_lcm: false,
            profile: String::new(),
        }
    }
}

impl Writer {
    /// Starts a log; one of that name is replaced.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let output = Output::create(path);
        Self::start(path, output, options)
    }

    /// Starts a log, where no file may be yet.
    ///
    /// # Errors
    /// When the file cannot be made, such as because it is there.
    pub fn create_new(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let output = Output::create_new(path);
        Self::start(path, output, options)
    }

    fn start(
        path: &Path,
        output: io::Result<Output>,
        options: WriterOptions,
    ) -> Result<Self, WriteError> {
        let refused = |source| WriteError::system(path, "start", source);
        let format = options.format.unwrap_or_else(|| Format::of_name(path));
        let output = output.map_err(refused)?;
        let encoder: Box<dyn Encoder> = match format {
            Format::Lcm => Box::new(LcmEncoder),
            #[cfg(feature = "mcap")]
            Format::Mcap => Box::new(McapEncoder::new(&options.mcap).map_err(refused)?),
            #[cfg(not(feature = "mcap"))]
            Format::Mcap => return Err(refused(Format::not_built())),
        };
        let sidecar = if options.without_index {
            Sidecar::none(path)
        } else {
            Sidecar::create(path, encoder.shape())
        };
        Ok(Self {
            encoder,
            output,
            sidecar,
            schemas: options.schemas,
            described: HashSet::new(),
            next_number: 0,
            ends: VecDeque::new(),
            n_taken: 0,
        })
    }

    /// Goes on with an LCM log and its numbers, or starts one. Its index is made anew when it is needed.
    ///
    /// # Errors
    /// When the file cannot be opened, or is not of that format: MCAP ends with a directory and cannot go on.
    pub fn append(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let format = options.format.unwrap_or_else(|| Format::of_name(path));
        if format == Format::Mcap || is_mcap(path) {
            return Err(WriteError::AppendMcap {
                path: path.to_owned(),
            });
        }
        let refused = |source| WriteError::system(path, "go on with", source);
        let output = Output::append(path).map_err(refused)?;
        let (next_number, _) = number_after_last(path).map_err(|error| refused(error.into()))?;
        let sidecar = Sidecar::none(path);
        sidecar.remove();
        Ok(Self {
            encoder: Box::new(LcmEncoder),
            output,
            sidecar,
            schemas: options.schemas,
            described: HashSet::new(),
            next_number,
            ends: VecDeque::new(),
            n_taken: next_number,
        })
    }

    /// What is written.
    #[must_use]
    pub fn format(&self) -> Format {
        self.encoder.format()
    }

    /// Where it is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.output.path()
    }

    /// More types to describe.
    pub fn add_schemas(&mut self, schemas: &Schemas) {
        self.schemas.merge(schemas);
    }

    /// Takes over what an event describes, without adding it.
    pub fn learn(&mut self, event: &LogEvent<'_>) {
        if event.channel == SCHEMA_CHANNEL
            && let Ok(schema) = Schema::decode(event.payload)
        {
            drop(self.schemas.add_bytes(&schema.bytes));
        }
    }

    /// Adds an event; its number is the writer's to choose, and is returned.
    ///
    /// # Errors
    /// When no reader could read it. Nothing is added then.
    pub fn write(&mut self, event: LogEvent<'_>) -> Result<i64, WriteError> {
        self.write_copy(event, None)
    }

    /// Adds an event of another log, and what MCAP has of it as far as there is room for that here.
    ///
    /// # Errors
    /// When no reader could read it. Nothing is added then.
    pub fn write_copy(
        &mut self,
        event: LogEvent<'_>,
        provenance: Option<&Provenance<'_>>,
    ) -> Result<i64, WriteError> {
        let is_foreign = provenance.is_some_and(|it| it.foreign.is_some());
        if let Some(fingerprint) = event.fingerprint()
            && !is_foreign
            && !self.described.contains(&fingerprint)
        {
            self.describe(fingerprint, &event)?;
        }
        self.put(event, provenance)
    }

    #[cfg(feature = "mcap")]
    pub(crate) fn encoder_and_output(&mut self) -> (&mut dyn Encoder, &mut Output) {
        (self.encoder.as_mut(), &mut self.output)
    }

    /// Adds a bookmark.
    ///
    /// # Errors
    /// When its text has no encoding.
    pub fn bookmark(&mut self, utime: i64, text: &str) -> Result<(), WriteError> {
        let bookmark = Bookmark {
            utime,
            text: text.to_owned(),
        };
        let payload = bookmark.encode()?;
        let event = LogEvent {
            number: 0,
            utime,
            nanos: 0,
            channel: BOOKMARK_CHANNEL,
            payload: &payload,
        };
        self.write(event).map(drop)
    }

    fn describe(
        &mut self,
        fingerprint: Fingerprint,
        event: &LogEvent<'_>,
    ) -> Result<(), WriteError> {
        // A log that records the descriptions that are on the bus has them already.
        if event.channel == SCHEMA_CHANNEL
            && let Ok(schema) = Schema::decode(event.payload)
        {
            let described = u64::from_be_bytes(schema.fingerprint.to_be_bytes());
            self.remember(Fingerprint(described));
            drop(self.schemas.add_bytes(&schema.bytes));
            return Ok(());
        }
        self.remember(fingerprint);
        let Some(schema) = self.schemas.description(fingerprint) else {
            return Ok(());
        };
        // MCAP has a place of its own for it.
        if self.format() == Format::Mcap {
            return Ok(());
        }
        let payload = schema.encode()?;
        let description = LogEvent {
            channel: SCHEMA_CHANNEL,
            payload: &payload,
            ..*event
        };
        self.put(description, None).map(drop)
    }

    fn remember(&mut self, fingerprint: Fingerprint) {
        if self.described.len() < MAX_DESCRIBED {
            self.described.insert(fingerprint);
        }
    }

    fn put(
        &mut self,
        event: LogEvent<'_>,
        provenance: Option<&Provenance<'_>>,
    ) -> Result<i64, WriteError> {
        let number = self.next_number;
        let event = LogEvent { number, ..event };
        let (output, sidecar) = (&mut self.output, &mut self.sidecar);
        self.encoder
            .put(&event, provenance, &self.schemas, output, sidecar)?;
        self.next_number += 1;
        self.note_end();
        Ok(number)
    }

    /// Remembers where the last event ends.
    fn note_end(&mut self) {
        let is_collected = self.encoder.n_collected() > 0;
        let last = self.ends.back().map_or(self.n_taken, |(_, number)| *number);
        if !is_collected && last < self.next_number {
            self.ends
                .push_back((self.output.position(), self.next_number));
        }
    }

    /// How many events, of those added, the system has taken: the others are lost if nothing more is flushed.
    #[must_use]
    pub fn n_taken(&self) -> i64 {
        let written = self.output.written();
        let taken = self.ends.partition_point(|(end, _)| *end <= written);
        let last = taken.checked_sub(1).and_then(|at| self.ends.get(at));
        last.map_or(self.n_taken, |(_, number)| *number)
    }

    /// Bytes that the system has not taken yet.
    #[must_use]
    pub fn n_pending(&self) -> usize {
        self.output.n_pending() + self.encoder.n_collected()
    }

    /// How long the file will be with what the system has not taken yet; with MCAP, without what is still to be
    /// compressed.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.output.position()
    }

    /// How long the file is.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.output.written()
    }

    /// How many events were added, those of an earlier writer included.
    #[must_use]
    pub fn next_number(&self) -> i64 {
        self.next_number
    }

    /// How long events may well collect before they are flushed: a call into the system for each costs more than the
    /// event, and small chunks of MCAP compress badly.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.encoder.patience()
    }

    /// Why there will be no index beside the log, once. A reader that needs one makes it.
    pub fn take_index_refusal(&mut self) -> Option<io::Error> {
        self.sidecar.refusal.take()
    }

    /// What was written so far, unless the index was left out.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        self.sidecar.builder.as_ref().map(Builder::summary)
    }

    /// Hands everything to the system. With MCAP, that ends a chunk.
    ///
    /// # Errors
    /// When the system refuses, such as for want of space. Call again to go on.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let ended = self.encoder.end_chunk(self.output.pending());
        ended.map_err(WriteError::writing(self.output.path()))?;
        self.note_end();
        let flushed = self.output.flush();
        flushed.map_err(WriteError::writing(self.output.path()))?;
        self.ends.clear();
        self.n_taken = self.next_number;
        self.sidecar.flush();
        Ok(())
    }

    /// The file that is being written, for a thread of its own to have on the disk what the system has taken.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn try_clone_file(&self) -> Result<File, WriteError> {
        let cloned = self.output.try_clone_file();
        cloned.map_err(|source| WriteError::system(self.output.path(), "share", source))
    }

    /// Has everything on the disk before it returns.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        let synced = self.output.sync();
        synced.map_err(WriteError::writing(self.output.path()))
    }

    /// Ends the log: everything is on the disk, and the index beside it.
    ///
    /// # Errors
    /// When the system refuses. Call again to go on.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        let ended = self.encoder.finish(self.output.pending());
        ended.map_err(|source| WriteError::system(self.output.path(), "end", source))?;
        self.sync()?;
        self.sidecar.finish(self.output.written());
        Ok(())
    }
}

impl Sidecar {
    /// Starts an index under another name, so that only a whole one has its own.
    fn create(log: &Path, shape: LogShape) -> Self {
        let sidecar = Self::none(log);
        sidecar.remove();
        let (output, refusal) = match Output::create(&sidecar.partial()) {
            Ok(output) => (Some(output), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            builder: output.is_some().then(|| Builder::new(shape)),
            output,
            refusal,
            ..sidecar
        }
    }

    fn none(log: &Path) -> Self {
        Self {
            builder: None,
            output: None,
            path: index_path(log),
            refusal: None,
        }
    }

    fn partial(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".part");
        name.into()
    }

    /// An index of the earlier contents does not cover the new ones.
    fn remove(&self) {
        for path in [&self.path, &self.partial()] {
            drop(fs::remove_file(path));
        }
    }

    pub(crate) fn add(&mut self, event: &LogEvent<'_>, offset: u64, record: &[&[u8]]) {
        if let Some(builder) = &mut self.builder {
            builder.add(event, offset, record);
        }
    }

    /// An index that cannot be written is left out: the log has everything.
    fn flush(&mut self) {
        let (Some(builder), Some(output)) = (&mut self.builder, &mut self.output) else {
            return;
        };
        output.pending().extend_from_slice(&builder.take());
        if let Err(error) = output.flush() {
            self.give_up(error);
        }
    }

    fn give_up(&mut self, error: io::Error) {
        self.refusal = Some(error);
        self.builder = None;
        self.output = None;
        self.remove();
    }

    fn finish(&mut self, log_size: u64) {
        let (Some(builder), Some(mut output)) = (self.builder.take(), self.output.take()) else {
            return;
        };
        output
            .pending()
            .extend_from_slice(&builder.finish(log_size).0);
        let ended = output.flush().and_then(|()| output.sync());
        let renamed = ended.and_then(|()| fs::rename(self.partial(), &self.path));
        if let Err(error) = renamed {
            self.give_up(error);
        }
    }
}

/// Whether a file begins like MCAP, whatever its name is. One that cannot be read is left to what opens it.
fn is_mcap(path: &Path) -> bool {
    let mut front = Vec::new();
    let n_bytes = MCAP_MAGIC.len() as u64;
    let read = File::open(path).and_then(|file| file.take(n_bytes).read_to_end(&mut front));
    read.is_ok() && Format::of_bytes(&front) == Format::Mcap
}

/// Why a log was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No reader could read the event.
    #[error(transparent)]
    Event(#[from] WriteRecordError),
    /// A message of our own has no encoding.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// MCAP ends with a directory.
    #[error(
        "cannot go on with {path:?}: MCAP files end with a directory; record to another file, or to an LCM log"
    )]
    AppendMcap {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {doing} the log {path:?}: {source}")]
    System {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl WriteError {
    fn system(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Self::System {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// For `map_err`.
    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::System {
            doing: "write",
            path,
            source,
        }
    }

    /// Whether the event is at fault, and not the file: it cannot be written, now or later.
    #[must_use]
    pub fn is_about_event(&self) -> bool {
        match self {
            Self::Event(_) | Self::Encode(_) => true,
            Self::System { source, .. } => source.kind() == io::ErrorKind::InvalidInput,
            Self::AppendMcap { .. } => false,
        }
    }

    /// The error of the system, if it was the system.
    #[must_use]
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::System { source, .. } => Some(source.kind()),
            Self::Event(_) | Self::Encode(_) | Self::AppendMcap { .. } => None,
        }
    }
}
