//! A file, of which a window is in memory: the one place where logs are read from disks.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// How much is read at once, at least.
const CHUNK: usize = 64 << 10;

/// A log that is read.
#[derive(Debug)]
pub(crate) struct Input {
    file: File,
    /// Bytes of the file from `at` on; the file's own position is behind them.
    bytes: Vec<u8>,
    at: u64,
}

impl Input {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            bytes: Vec::new(),
            at: 0,
        })
    }

    /// How large the file is now.
    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
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

    /// Reads until `n_bytes` from `offset` on are in memory, and forgets what is before them; `false` when the file
    /// ends earlier.
    pub(crate) fn fill(&mut self, offset: u64, n_bytes: usize) -> io::Result<bool> {
        match offset.checked_sub(self.at).map(usize::try_from) {
            Some(Ok(n_done)) if n_done <= self.bytes.len() => {
                self.bytes.drain(..n_done);
            }
            Some(_) | None => {
                self.bytes.clear();
                self.file.seek(SeekFrom::Start(offset))?;
            }
        }
        self.at = offset;
        // One event of unusual size is not paid for by all the others.
        if self.bytes.len().max(n_bytes) < CHUNK && self.bytes.capacity() > 64 * CHUNK {
            self.bytes.shrink_to(CHUNK);
        }
        while self.bytes.len() < n_bytes {
            // Piece by piece: a length that is wrong claims no more memory than the file has bytes.
            let n_wanted = (n_bytes - self.bytes.len()).clamp(CHUNK, 64 * CHUNK) as u64;
            let read = (&self.file).take(n_wanted).read_to_end(&mut self.bytes)?;
            if read == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
