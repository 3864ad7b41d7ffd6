//! What a process prints, in a file in memory.
//!
//! Both of its outputs append to one file that is no disk's and no pipe's: printing never waits, and never fails,
//! with or without a reader. The supervisor reads behind, and punches holes behind itself, so that the file takes
//! as much memory as was not read yet. Its descriptor is the process's own, so the file outlives the supervisor: the next
//! one finds it in `/proc`, begins where the holes end, and goes on.
//!
//! No event reports that there is something to read, so the supervisor looks now and then. Whatever is printed between two
//! looks takes memory. While no supervisor is there, the [keeper](super::keeper) looks.

use rustix::fs::{
    FallocateFlags, MemfdFlags, Mode, OFlags, SeekFrom, fallocate, fcntl_getfl, fcntl_setfl, fstat,
    memfd_create, open, readlink, seek,
};
use rustix::io::{Errno, pread};
use rustix::param::page_size;
use rustix::process::Pid;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

/// What the file is called where the kernel shows it.
const NAME: &str = "bowline-output";
/// How much may be unread before the rest is skipped.
const MAX_BEHIND: u64 = 4 << 20;
/// How much is read of one that is too far behind.
const TAIL: u64 = 64 << 10;

/// What a process prints.
#[derive(Debug)]
pub(crate) struct Capture {
    file: OwnedFd,
    /// Up to where it was read.
    offset: u64,
    /// Up to where it was given back.
    freed: u64,
    pub(crate) n_skipped: u64,
}

impl Capture {
    /// A file for a process that is about to start.
    pub(crate) fn new() -> io::Result<Self> {
        let file = memfd_create(NAME, MemfdFlags::CLOEXEC)?;
        // Both outputs share what this sets, so that neither overwrites the other.
        fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::APPEND)?;
        Ok(Self::at(file, 0))
    }

    /// The file of a process that runs already, from where the one who read it before had got.
    pub(crate) fn reopen(pid: Pid) -> io::Result<Self> {
        let path = |output: u8| format!("/proc/{}/fd/{output}", pid.as_raw_nonzero());
        let is_ours = |path: &String| {
            let target = readlink(path.as_str(), Vec::new());
            target.is_ok_and(|it| it.to_string_lossy().contains(NAME))
        };
        // Some redirect one of them.
        let path = [path(1), path(2)].into_iter().find(is_ours);
        let path = path.ok_or(Errno::NOENT)?;
        let file = open(path.as_str(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let offset = first_data(&file)?;
        Ok(Self::at(file, offset))
    }

    fn at(file: OwnedFd, offset: u64) -> Self {
        Self {
            file,
            offset,
            freed: offset,
            n_skipped: 0,
        }
    }

    /// An output of a process that is about to start.
    pub(crate) fn writer(&self) -> io::Result<Stdio> {
        self.file.try_clone().map(Stdio::from)
    }

    /// Reads what was printed since, some of it at a time.
    pub(crate) fn read<'b>(&mut self, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let size = u64::try_from(fstat(&self.file)?.st_size).unwrap_or(0);
        if size < self.offset {
            // The file was emptied, as by `> /dev/stderr`.
            self.offset = 0;
            self.freed = 0;
        }
        if size - self.offset > MAX_BEHIND {
            self.n_skipped += size - TAIL - self.offset;
            self.offset = size - TAIL;
        }
        let n_read = pread(&self.file, &mut *buffer, self.offset)?;
        self.offset += u64::try_from(n_read).unwrap_or(0);
        Ok(buffer.get(..n_read).unwrap_or_default())
    }

    /// Gives back all but the last of what is unread, if that is much. How much that was, bytes.
    pub(crate) fn trim(&mut self) -> u64 {
        let Ok(status) = fstat(&self.file) else {
            return 0;
        };
        let size = u64::try_from(status.st_size).unwrap_or(0);
        if size.saturating_sub(self.offset) <= MAX_BEHIND {
            return 0;
        }
        let before = self.offset;
        self.offset = size - TAIL;
        self.free(0);
        self.offset - before
    }

    /// Gives back what was read, but for the last `n_kept` bytes: the line that is not complete.
    pub(crate) fn free(&mut self, n_kept: usize) {
        let until = self
            .offset
            .saturating_sub(u64::try_from(n_kept).unwrap_or(0));
        if until <= self.freed {
            return;
        }
        // Only whole pages are given back, so the page that the last hole ended in is part of this one.
        let page = u64::try_from(page_size()).unwrap_or(1);
        let from = self.freed - self.freed % page;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, flags, from, until - from).is_ok() {
            self.freed = until;
        }
    }
}

/// Where the holes end: they read as zeros, to the byte.
fn first_data(file: &OwnedFd) -> io::Result<u64> {
    let size = u64::try_from(fstat(file)?.st_size).unwrap_or(0);
    let mut offset = match seek(file, SeekFrom::Data(0)) {
        Ok(offset) => offset,
        // Nothing but holes.
        Err(Errno::NXIO) => return Ok(size),
        Err(error) => return Err(error.into()),
    };
    let mut buffer = vec![0; 64 << 10];
    // Holes are whole pages but for the last one, so this is short.
    loop {
        let n_read = pread(file, buffer.as_mut_slice(), offset)?;
        let read = buffer.get(..n_read).unwrap_or_default();
        if read.is_empty() {
            return Ok(offset);
        }
        let n_zeros = read.iter().take_while(|byte| **byte == 0).count();
        offset += u64::try_from(n_zeros).unwrap_or(0);
        if n_zeros < n_read {
            return Ok(offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write as _;

    fn read(capture: &mut Capture) -> String {
        let mut buffer = [0; 1 << 16];
        let read = capture.read(&mut buffer).unwrap();
        String::from_utf8(read.to_vec()).unwrap()
    }

    #[test]
    fn what_was_read_takes_no_memory_and_what_follows_is_found() {
        let mut capture = Capture::new().unwrap();
        let mut writer = File::from(capture.file.try_clone().unwrap());
        for n in 0..2_000 {
            writeln!(writer, "{n:059}").unwrap();
            while !read(&mut capture).is_empty() {}
            capture.free(0);
        }
        writer.write_all(b"half a line").unwrap();
        assert_eq!(read(&mut capture), "half a line");
        capture.free("half a line".len());
        let pages = fstat(&capture.file).unwrap().st_blocks / 8;
        assert!(pages <= 2, "{pages} pages are left");
        let offset = first_data(&capture.file).unwrap();
        assert_eq!(offset, 120_000, "the next supervisor begins with the line");
    }

    #[test]
    fn too_much_is_skipped_and_counted() {
        let mut capture = Capture::new().unwrap();
        let mut writer = File::from(capture.file.try_clone().unwrap());
        writer.write_all(&vec![b'x'; 5 << 20]).unwrap();
        let n_read = read(&mut capture).len() as u64;
        assert_eq!((n_read, capture.n_skipped), (TAIL, (5 << 20) - TAIL));
    }

    #[test]
    fn unread_output_takes_bounded_memory() {
        let mut capture = Capture::new().unwrap();
        let mut writer = File::from(capture.file.try_clone().unwrap());
        writer.write_all(&vec![b'x'; 3 << 20]).unwrap();
        assert_eq!(capture.trim(), 0, "it is not much yet");
        writer.write_all(&vec![b'x'; 3 << 20]).unwrap();
        assert_eq!(capture.trim(), (6 << 20) - TAIL);
        let n_bytes = fstat(&capture.file).unwrap().st_blocks * 512;
        assert!(n_bytes <= 128 << 10, "{n_bytes}");
        assert_eq!(first_data(&capture.file).unwrap(), (6 << 20) - TAIL);
    }

    #[test]
    fn a_file_that_was_emptied_is_read_from_its_beginning() {
        let mut capture = Capture::new().unwrap();
        let mut writer = File::from(capture.file.try_clone().unwrap());
        writer.write_all(b"before\n").unwrap();
        read(&mut capture);
        capture.free(0);
        writer.set_len(0).unwrap();
        writer.write_all(b"after\n").unwrap();
        assert_eq!(read(&mut capture), "after\n");
    }
}
