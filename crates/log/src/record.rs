//! Records a bus.
//!
//! ```text
//!  network ─▶ Inbox: queue, newest kept, every drop counted ─▶ selection ─▶ trigger ─▶ Writer ─▶ system ─▶ disk
//!                 (a thread of the bus reads on while the disk stalls)     (kept)             (sync thread)
//! ```
//!
//! One thread (`engine.rs`) takes events out of an inbox and writes them. What reached this program is either in the
//! file within a moment, or in a counter of [`Status`]. When the system refuses to write, the events stay where they are:
//! the queue keeps the newest, and goes on where it was when there is room again.
//!
//! Deliberately absent: terminals, signals and names made of dates, which are the caller's.

mod clock;
mod condition;
mod engine;
mod files;
mod gate;
mod sink;
mod status;
mod streams;
mod syncer;
mod trigger;

pub use bowline_format::RECORDER_CHANNEL;
pub use condition::{Condition, ParseConditionError};
pub use files::{Existing, FileOptions, Numbering, OpenFileError, increments};
pub use status::{Notice, Phase, Status};
pub use streams::{Mistake, Rate, ReadStreamsError, Streams};
pub use trigger::TriggerOptions;

use bowline_bus::{Bus, Pattern, SubscribeError, wall_ns};
use bowline_format::Schemas;
use engine::{Command, Engine};
use status::Board;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Commands that may wait: more than a person can type.
const MAX_COMMANDS: usize = 1_000;

/// What to record, and where.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// Which channels.
    pub channels: Pattern,
    /// Whether it is all channels but those.
    pub inverts_channels: bool,
    /// Which of them, and how often.
    pub streams: Streams,
    /// Where to.
    pub files: FileOptions,
    /// How much may wait in memory while nothing can be written, in bytes. The oldest makes room.
    pub max_unwritten_bytes: usize,
    /// How often files are had on the disk.
    pub flush_interval: Duration,
    /// Room on the disk that is left to others, in bytes.
    pub disk_quota: Option<u64>,
    /// How often it publishes its status on [`RECORDER_CHANNEL`], also without a problem, from the moment it receives everything.
    pub status_every: Option<Duration>,
    /// Records only around what happens.
    pub trigger: Option<TriggerOptions>,
    /// Types to describe in the log, and to decode for conditions. What is published on
    /// [`SCHEMA_CHANNEL`](crate::SCHEMA_CHANNEL) comes on top.
    pub schemas: Schemas,
}

impl RecorderOptions {
    /// Everything, into a file that must not be there.
    ///
    /// # Panics
    /// Never: the pattern is fine.
    #[must_use]
    pub fn new(files: FileOptions) -> Self {
        Self {
            channels: Pattern::new(".*").expect("this matches everything"),
            inverts_channels: false,
            streams: Streams::default(),
            files,
            max_unwritten_bytes: 100 << 20,
            flush_interval: Duration::from_millis(100),
            disk_quota: None,
            status_every: None,
            trigger: None,
            schemas: Schemas::default(),
        }
    }
}

/// Records a bus, on a thread of its own. Dropped, it ends as by [`stop`](Self::stop).
#[derive(Debug)]
pub struct Recorder {
    commands: SyncSender<Command>,
    board: Arc<Board>,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Opens the file, subscribes, and records from then on.
    ///
    /// # Errors
    /// When the file cannot be written, or nothing can be received.
    pub fn start(bus: &Bus, options: RecorderOptions) -> Result<Self, StartRecorderError> {
        let (commands, orders) = sync_channel(MAX_COMMANDS);
        let board = Arc::<Board>::default();
        let engine = Engine::new(bus, options, orders, Arc::clone(&board))?;
        let thread = std::thread::Builder::new()
            .name("bowline-record".to_owned())
            .spawn(move || engine.run())
            .map_err(StartRecorderError::Thread)?;
        Ok(Self {
            commands,
            board,
            thread: Some(thread),
        })
    }

    /// How it goes, as of a moment ago.
    #[must_use]
    pub fn status(&self) -> Status {
        self.board.status()
    }

    /// What the operator of the recorder should know, since the notice of that number.
    #[must_use]
    pub fn notices_since(&self, number: u64) -> Vec<Notice> {
        self.board.notices_since(number)
    }

    /// Whether nothing more is recorded: it was stopped, or the bus ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Goes on in a new file.
    pub fn split(&self) {
        self.order(Command::Split);
    }

    /// Writes what was kept, and records, as if a condition held.
    pub fn trigger(&self) {
        self.order(Command::Trigger);
    }

    /// Puts a bookmark into the log, for that moment, in microseconds since the epoch.
    pub fn bookmark(&self, utime: i64, text: impl Into<String>) {
        self.order(Command::Bookmark(utime, text.into()));
    }

    /// Records until the bus ends, which a log does, and returns the final status.
    pub fn wait(&mut self) -> Status {
        self.join();
        self.board.status()
    }

    /// Records what came until now, ends the log, and returns the final status. Everything else that is known afterwards is in
    /// [`status`](Self::status) and [`notices_since`](Self::notices_since).
    pub fn stop(&mut self) -> Status {
        if self.thread.is_some() {
            self.end();
        }
        self.board.status()
    }

    /// A command to a thread that has ended has no effect.
    fn order(&self, command: Command) {
        drop(self.commands.send(command));
    }

    fn end(&mut self) {
        self.order(Command::Stop { at_ns: wall_ns() });
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            let text = "the recording thread panicked: what it held is lost";
            self.board.tell(text.to_owned(), true);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Why nothing is recorded.
#[derive(Debug, thiserror::Error)]
pub enum StartRecorderError {
    /// No file.
    #[error(transparent)]
    File(#[from] OpenFileError),
    /// Nothing can be received.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// No thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
