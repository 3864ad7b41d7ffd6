//! A file that is written at its end, and goes on where it was when the system refuses for a while.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Memory that is kept between flushes.
const MAX_KEPT: usize = 4 << 20;

/// Bytes on their way into a file. What the system does not take stays here, and goes first next time.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
    /// Of `pending`, what the system has taken.
    n_taken: usize,
    written: u64,
    /// The error with which the system refused outside of a flush; the next flush returns it.
    refusal: Option<io::Error>,
}

impl Output {
    /// Starts a file; one of that name is replaced.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(path, File::create(path)?, 0))
    }

    /// Starts a file that must not be there yet.
    pub(crate) fn create_new(path: &Path) -> io::Result<Self> {
        Ok(Self::new(path, File::create_new(path)?, 0))
    }

    /// Goes on with a file, or starts it.
    pub(crate) fn append(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let written = file.metadata()?.len();
        Ok(Self::new(path, file, written))
    }

    fn new(path: &Path, file: File, written: u64) -> Self {
        Self {
            path: path.to_owned(),
            file,
            pending: Vec::new(),
            n_taken: 0,
            written,
            refusal: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where bytes go that are to be written.
    pub(crate) fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// How many bytes are not written yet.
    pub(crate) fn n_pending(&self) -> usize {
        self.pending.len() - self.n_taken
    }

    /// How long the file will be with what is not written yet.
    pub(crate) fn position(&self) -> u64 {
        self.written + self.n_pending() as u64
    }

    /// How long the file is.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Writes what is pending. When the system refuses, what it took is not written again.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        while self.n_pending() > 0 {
            let rest = self.pending.get(self.n_taken..).unwrap_or_default();
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    self.n_taken += n;
                    self.written += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.pending.clear();
        self.n_taken = 0;
        // One huge event should not be paid for until the end.
        self.pending.shrink_to(MAX_KEPT);
        Ok(())
    }

    /// Writes what is pending and then these bytes, without a copy of them as far as the system takes them. What it
    /// does not take is pending, and the next flush returns the reason.
    pub(crate) fn write_through(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        let mut outcome = self.flush();
        while outcome.is_ok() && !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => outcome = Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    self.written += n as u64;
                    rest = rest.get(n..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => outcome = Err(error),
            }
        }
        self.pending.extend_from_slice(rest);
        self.refusal = outcome.err();
    }

    /// Has what is written on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// The file, for a thread that has what is written on the disk.
    pub(crate) fn try_clone_file(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}
