//! How recording goes, in figures: every way to lose an event has one.

use bowline_bus::{NetworkCounts, QueueCounts};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Notices that are kept for later queries.
const MAX_NOTICES: usize = 1_000;

/// How recording goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// What is being written.
    pub file: PathBuf,
    /// How many files there were, this one included.
    pub n_files: u64,
    /// What it is doing.
    pub phase: Phase,
    /// Why nothing can be written, in words.
    pub alarm: Option<String>,
    /// Events that were recorded, and the bytes of their messages.
    pub n_recorded: u64,
    /// Bytes of their messages.
    pub n_recorded_bytes: u64,
    /// Bytes of all files, as far as the system has taken them.
    pub n_written_bytes: u64,
    /// Events that the selection left out.
    pub n_left_out: u64,
    /// Events that were kept for a while until they were too old, since nothing happened.
    pub n_expired: u64,
    /// Events that had to be let go of before they were too old, because they were too much to keep.
    pub n_over: u64,
    /// Events that are kept in case something happens.
    pub n_kept: u64,
    /// Bytes of them.
    pub kept_bytes: u64,
    /// Times that something happened.
    pub n_triggers: u64,
    /// Bookmarks that were set here.
    pub n_bookmarks: u64,
    /// Events that no log of this format can hold.
    pub n_unwritable: u64,
    /// Events that could not be written by the end.
    pub n_unwritten: u64,
    /// Times that the system refused to write.
    pub n_write_errors: u64,
    /// Times that the system could not have the file on the disk.
    pub n_sync_errors: u64,
    /// What waits to be recorded, and what had to be dropped because the disk was too slow or full.
    pub queue: QueueCounts,
    /// What the network lost.
    pub network: NetworkCounts,
    /// Room on the disk, in bytes.
    pub disk_left: Option<u64>,
}

/// What a recorder is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Everything that is selected is written.
    #[default]
    Recording,
    /// The last seconds are kept, until something happens.
    Armed,
    /// Nothing can be written. The newest data is kept.
    Refused,
    /// It is over.
    Ended,
}

impl Status {
    /// Events that reached this program and are in no file, though they should be.
    #[must_use]
    pub fn lost_here(&self) -> u64 {
        self.queue.dropped + self.n_over + self.n_unwritable + self.n_unwritten
    }

    /// Messages that are known not to have reached this program.
    #[must_use]
    pub fn lost_before(&self) -> u64 {
        self.network.lost + self.network.incomplete
    }

    /// Whether anything is lost, or may be.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        // The last messages that found a full buffer leave no gap.
        let unseen = self.network.kernel_drops;
        self.lost_here() + self.lost_before() + unseen + self.n_sync_errors > 0
    }
}

/// Something that the operator of the recorder should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Counts all notices, from 1.
    pub number: u64,
    /// Whether something is wrong.
    pub is_warning: bool,
    /// In words.
    pub text: String,
}

/// Where the recording thread writes how it goes, and others read it.
#[derive(Debug, Default)]
pub(super) struct Board(Mutex<BoardState>);

#[derive(Debug, Default)]
struct BoardState {
    status: Status,
    notices: VecDeque<Notice>,
    n_notices: u64,
}

impl Board {
    pub(super) fn show(&self, status: &Status) {
        self.lock().status.clone_from(status);
    }

    pub(super) fn status(&self) -> Status {
        self.lock().status.clone()
    }

    pub(super) fn tell(&self, text: String, is_warning: bool) {
        let mut state = self.lock();
        state.n_notices += 1;
        let number = state.n_notices;
        if state.notices.len() >= MAX_NOTICES {
            state.notices.pop_front();
        }
        state.notices.push_back(Notice {
            number,
            is_warning,
            text,
        });
    }

    pub(super) fn notices_since(&self, number: u64) -> Vec<Notice> {
        let state = self.lock();
        let new = state.notices.iter().filter(|notice| notice.number > number);
        new.cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
