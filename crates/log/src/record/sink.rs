//! Where recorded events go: one file after the other, written in batches, on the disk by the clock.

use super::clock;
use super::files::{Files, OpenFileError, folder_of};
use super::syncer::Syncer;
use super::{RecorderOptions, StartRecorderError};
use bowline_bus::Event;
use bowline_format::{LogEvent, Schemas, WriteError, Writer};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So much is handed to the system at once: little enough to stay in the processor's cache until then.
const BATCH_BYTES: usize = 256 << 10;

/// Between two looks at how much room there is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Files, one after the other.
#[derive(Debug)]
pub(super) struct Sink {
    files: Files,
    writer: Writer,
    /// The same file, for the thread that has it on the disk.
    file: Arc<File>,
    syncer: Syncer,
    room: Room,
    /// When the first event came that the system has not taken.
    pending_since: Option<Instant>,
    /// Since when there is something that is not on the disk.
    dirty_since: Option<Instant>,
    flush_interval: Duration,
    first_utime: Option<i64>,
    /// The file is to end, or has, and the next is not open.
    is_splitting: bool,
    /// Of the files before this one.
    past_written: u64,
    index_refusal: Option<String>,
    pub(super) n_recorded: u64,
    pub(super) n_recorded_bytes: u64,
}

/// Why nothing can be written now.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Open(#[from] OpenFileError),
    #[error(
        "{left} bytes are left on the disk, less than the {quota} that are to be left to others"
    )]
    Quota { left: u64, quota: u64 },
}

impl Sink {
    pub(super) fn open(options: &RecorderOptions) -> Result<Self, StartRecorderError> {
        let mut files = Files::new(options.files.clone());
        let writer = files.open(&options.schemas)?;
        let file = writer.try_clone_file().map_err(OpenFileError::from)?;
        let mut room = Room {
            quota: options.disk_quota,
            left: None,
            looked_at: clock::now(),
        };
        room.look(writer.path());
        Ok(Self {
            files,
            writer,
            file: Arc::new(file),
            syncer: Syncer::start().map_err(StartRecorderError::Thread)?,
            room,
            pending_since: None,
            dirty_since: None,
            flush_interval: options.flush_interval,
            first_utime: None,
            is_splitting: false,
            past_written: 0,
            index_refusal: None,
            n_recorded: 0,
            n_recorded_bytes: 0,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.writer.path()
    }

    pub(super) fn n_files(&self) -> u64 {
        self.files.n_opened()
    }

    pub(super) fn n_written_bytes(&self) -> u64 {
        self.past_written + self.writer.written()
    }

    pub(super) fn room_left(&self) -> Option<u64> {
        self.room.left
    }

    /// Whether the event belongs into another file than those before it.
    pub(super) fn must_split_for(&self, event: &Event) -> bool {
        let options = self.files.options();
        if self.is_splitting {
            return true;
        }
        let is_large = options
            .split_bytes
            .is_some_and(|bytes| self.writer.position() >= bytes.max(1));
        let is_late = || {
            let limit = i64::try_from(options.split_after?.as_micros()).unwrap_or(i64::MAX);
            let age = event.arrival.utime().saturating_sub(self.first_utime?);
            Some(age >= limit)
        };
        is_large || is_late().unwrap_or(false)
    }

    /// Takes an event. An error means that no log could.
    pub(super) fn write(&mut self, event: &Event) -> Result<(), WriteError> {
        let event = LogEvent::from(event);
        self.writer.write(event)?;
        self.first_utime.get_or_insert(event.utime);
        self.n_recorded += 1;
        self.n_recorded_bytes += event.payload.len() as u64;
        Ok(())
    }

    pub(super) fn bookmark(&mut self, utime: i64, text: &str) -> Result<(), WriteError> {
        self.writer.bookmark(utime, text)?;
        self.note_pending(clock::now());
        Ok(())
    }

    /// What is described in every file to come, and in this one.
    pub(super) fn add_schemas(&mut self, schemas: &Schemas) {
        self.writer.add_schemas(schemas);
    }

    /// Notes that something is pending as of now.
    pub(super) fn note_pending(&mut self, now: Instant) {
        if self.pending_since.is_none() && self.writer.n_pending() > 0 {
            self.pending_since = Some(now);
        }
    }

    pub(super) fn is_batch(&self) -> bool {
        self.writer.n_pending() >= BATCH_BYTES
    }

    /// When the next thing is to be done.
    pub(super) fn due(&self) -> Option<Instant> {
        let flush = self
            .pending_since
            .map(|since| since + self.writer.patience());
        let sync = self.dirty_since.map(|since| since + self.flush_interval);
        [flush, sync].into_iter().flatten().min()
    }

    /// Does what is due.
    pub(super) fn work(&mut self, now: Instant) -> Result<(), Refusal> {
        let patience = self.writer.patience();
        if self
            .pending_since
            .is_some_and(|since| now >= since + patience)
        {
            self.flush(now)?;
        }
        if self
            .dirty_since
            .is_some_and(|since| now >= since + self.flush_interval)
        {
            self.dirty_since = None;
            self.syncer.request(&self.file);
        }
        if now >= self.room.looked_at + LOOK_EVERY {
            self.look_at_room(now);
        }
        Ok(())
    }

    pub(super) fn look_at_room(&mut self, now: Instant) {
        self.room.looked_at = now;
        self.room.look(self.writer.path());
    }

    /// Hands everything to the system.
    pub(super) fn flush(&mut self, now: Instant) -> Result<(), Refusal> {
        self.room.check()?;
        self.writer.flush()?;
        self.pending_since = None;
        self.dirty_since.get_or_insert(now);
        Ok(())
    }

    /// Ends the file and opens the next. Call again to go on where the system refused.
    pub(super) fn split(&mut self, schemas: &Schemas) -> Result<(), Refusal> {
        self.is_splitting = true;
        self.room.check()?;
        self.writer.finish()?;
        self.note_index_refusal();
        let writer = self.files.open(schemas)?;
        self.file = Arc::new(writer.try_clone_file()?);
        self.past_written += self.writer.written();
        self.writer = writer;
        self.is_splitting = false;
        self.first_utime = None;
        self.pending_since = None;
        self.dirty_since = None;
        Ok(())
    }

    /// Goes on after a refusal.
    pub(super) fn go_on(&mut self, now: Instant, schemas: &Schemas) -> Result<(), Refusal> {
        self.look_at_room(now);
        if self.is_splitting {
            self.split(schemas)
        } else {
            self.flush(now)
        }
    }

    /// Ends the last file.
    pub(super) fn finish(&mut self) -> Result<(), Refusal> {
        self.room.check()?;
        self.writer.finish()?;
        self.note_index_refusal();
        Ok(())
    }

    fn note_index_refusal(&mut self) {
        if let Some(error) = self.writer.take_index_refusal() {
            let path = self.writer.path().display();
            self.index_refusal = Some(format!(
                "no index beside {path}, it is made when it is needed: {error}"
            ));
        }
    }

    /// Why a log has no index beside it, reported once.
    pub(super) fn take_index_refusal(&mut self) -> Option<String> {
        self.note_index_refusal();
        self.index_refusal.take()
    }

    /// Events that are in no file yet.
    pub(super) fn n_unwritten(&self) -> u64 {
        u64::try_from(self.writer.next_number() - self.writer.n_taken()).unwrap_or(0)
    }

    /// What kept the file from the disk since the last time, and how often ever.
    pub(super) fn take_sync_error(&self) -> (Option<std::io::Error>, u64) {
        self.syncer.take_error()
    }
}

/// Room on the disk.
#[derive(Debug)]
struct Room {
    quota: Option<u64>,
    left: Option<u64>,
    looked_at: Instant,
}

impl Room {
    fn look(&mut self, path: &Path) {
        let stat = rustix::fs::statvfs(folder_of(path)).ok();
        self.left = stat.map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    }

    fn check(&self) -> Result<(), Refusal> {
        match (self.left, self.quota) {
            (Some(left), Some(quota)) if left < quota => Err(Refusal::Quota { left, quota }),
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }
}
