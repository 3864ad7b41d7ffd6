//! A log, of which a window is in memory: the one place where logs are read from disks.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// How much is read at once, at least, where more than what was asked for may be read.
pub(crate) const CHUNK: usize = 64 << 10;

/// Something that has the bytes of a log.
pub trait ReadAt {
    /// How many bytes to ask for at least. Above 0 a reader is ahead of what it has given out.
    const READ_AHEAD: usize;

    /// Adds up to `n_bytes` from `offset` on to `bytes`, and returns how many; 0 only at the end. A reader that goes on
    /// where it was asks for what follows, so that a pipe can be read.
    ///
    /// # Errors
    /// When it cannot be read, or has no places.
    fn read_at(&mut self, offset: u64, n_bytes: usize, bytes: &mut Vec<u8>) -> io::Result<usize>;

    /// How large it is now, in bytes.
    ///
    /// # Errors
    /// When the system does not report it.
    fn size(&self) -> io::Result<u64>;
}

impl<S: ReadAt> ReadAt for &mut S {
    const READ_AHEAD: usize = S::READ_AHEAD;

    fn read_at(&mut self, offset: u64, n_bytes: usize, bytes: &mut Vec<u8>) -> io::Result<usize> {
        (**self).read_at(offset, n_bytes, bytes)
    }

    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }
}

/// A log in a file.
#[derive(Debug)]
pub struct LogFile {
    file: File,
    /// Where the file's own position is.
    position: u64,
}

impl ReadAt for LogFile {
    const READ_AHEAD: usize = CHUNK;

    fn read_at(&mut self, offset: u64, n_bytes: usize, bytes: &mut Vec<u8>) -> io::Result<usize> {
        if self.position != offset {
            self.position = self.file.seek(SeekFrom::Start(offset))?;
        }
        let n_read = (&self.file).take(n_bytes as u64).read_to_end(bytes)?;
        self.position += n_read as u64;
        Ok(n_read)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

/// A log that is read.
#[derive(Debug)]
pub(crate) struct Input<S = LogFile> {
    source: S,
    /// Bytes of the log from `at` on.
    bytes: Vec<u8>,
    at: u64,
}

impl Input {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self::over(LogFile { file, position: 0 }))
    }
}

impl<S: ReadAt> Input<S> {
    pub(crate) fn over(source: S) -> Self {
        Self {
            source,
            bytes: Vec::new(),
            at: 0,
        }
    }

    /// How large the log is now.
    pub(crate) fn size(&self) -> io::Result<u64> {
        self.source.size()
    }

    /// What is in memory, and where it begins in the file.
    pub(crate) fn window(&self) -> (u64, &[u8]) {
        (self.at, &self.bytes)
    }

    /// What is in memory from `offset` on.
    pub(crate) fn from(&self, offset: u64) -> &[u8] {
        let at = offset.checked_sub(self.at);
        let at = at.and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.bytes.get(at..)).unwrap_or_default()
    }

    /// Reads until `n_bytes` from `offset` on are in memory, and forgets what is before them; `false` when the log
    /// ends earlier.
    pub(crate) fn fill(&mut self, offset: u64, n_bytes: usize) -> io::Result<bool> {
        self.fill_by(offset, n_bytes, S::READ_AHEAD)
    }

    /// The same, by at least `step` bytes at once.
    pub(crate) fn fill_by(&mut self, offset: u64, n_bytes: usize, step: usize) -> io::Result<bool> {
        match offset.checked_sub(self.at).map(usize::try_from) {
            Some(Ok(n_done)) if n_done <= self.bytes.len() => {
                self.bytes.drain(..n_done);
            }
            Some(_) | None => {
                self.bytes.clear();
            }
        }
        self.at = offset;
        // One event of unusual size is not paid for by all the others.
        if self.bytes.len().max(n_bytes) < CHUNK && self.bytes.capacity() > 64 * CHUNK {
            self.bytes.shrink_to(CHUNK);
        }
        while self.bytes.len() < n_bytes {
            // Piece by piece: a length that is wrong claims no more memory than the file has bytes.
            let n_wanted = (n_bytes - self.bytes.len()).max(step).min(64 * CHUNK);
            let from = self.at + self.bytes.len() as u64;
            if self.source.read_at(from, n_wanted, &mut self.bytes)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
