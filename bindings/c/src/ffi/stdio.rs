//! A `FILE *`, which the program may use beside us.

use crate::log::Stream;
use bowline_format::scanner::ReadAt;
use libc::FILE;
use std::ffi::CStr;
use std::io;

/// A stream of C's. The caller that made it from a pointer keeps the pointer valid.
pub(super) struct Stdio(*mut FILE);

/// No more is set aside for bytes that a log only claims to have.
const MAX_READ: usize = 1 << 20;

impl Stdio {
    pub(super) fn open(path: &CStr, mode: &CStr) -> io::Result<*mut FILE> {
        // SAFETY: both are strings.
        let file = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
        if file.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(file)
    }

    /// # Safety
    /// The pointer must be of an open `FILE`, and stay so as long as this lives.
    pub(super) unsafe fn new(file: *mut FILE) -> Self {
        Self(file)
    }

    pub(super) fn close(self) -> io::Result<()> {
        // SAFETY: it is open, by the promise of `new`, and not used again.
        check(unsafe { libc::fclose(self.0) })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: it is open, by the promise of `new`; pointer and length describe `bytes`.
        let n_written = unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), self.0) };
        if n_written == bytes.len() {
            return Ok(());
        }
        Err(io::Error::last_os_error())
    }

    fn seek(&self, offset: i64, whence: libc::c_int) -> io::Result<()> {
        // SAFETY: it is open, by the promise of `new`.
        check(unsafe { libc::fseeko(self.0, offset, whence) })
    }
}

impl ReadAt for Stdio {
    // The program may read on by itself, right behind what it was given.
    const READ_AHEAD: usize = 0;

    fn read_at(&mut self, offset: u64, n_bytes: usize, bytes: &mut Vec<u8>) -> io::Result<usize> {
        self.go_to(offset)?;
        let (old_len, n_asked) = (bytes.len(), n_bytes.min(MAX_READ));
        bytes.resize(old_len + n_asked, 0);
        let room = bytes.get_mut(old_len..).unwrap_or_default();
        // SAFETY: it is open, by the promise of `new`; pointer and length describe `room`.
        let n_read = unsafe { libc::fread(room.as_mut_ptr().cast(), 1, room.len(), self.0) };
        bytes.truncate(old_len + n_read);
        // SAFETY: it is open, by the promise of `new`.
        if n_read < n_asked && unsafe { libc::ferror(self.0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(n_read)
    }

    fn size(&self) -> io::Result<u64> {
        self.seek(0, libc::SEEK_END)?;
        self.position()
    }
}

impl Stream for Stdio {
    fn position(&self) -> io::Result<u64> {
        // SAFETY: it is open, by the promise of `new`.
        let position = unsafe { libc::ftello(self.0) };
        u64::try_from(position).map_err(|_negative| io::Error::last_os_error())
    }

    fn go_to(&mut self, position: u64) -> io::Result<()> {
        // Seeking where it stands would forget that the end was reached, which programs may ask for.
        if self.position()? == position {
            return Ok(());
        }
        let offset = i64::try_from(position).map_err(io::Error::other)?;
        self.seek(offset, libc::SEEK_SET)
    }
}

fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
