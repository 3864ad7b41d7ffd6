//! A file that is written at its end, and goes on where it was when the system refuses for a while.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Bytes on their way into a file. What the system does not take stays here, and goes first next time.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
    /// Of `pending`, what the system has taken.
    n_taken: usize,
    written: u64,
}

impl Output {
    /// Starts a file; one of that name is replaced.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(path, File::create(path)?, 0))
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
        Ok(())
    }

    /// Has what is written on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
