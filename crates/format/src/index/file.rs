//! An index as a file.

use super::{
    Block, END_MAGIC, FRAME_LEN, KIND_BLOCK, KIND_TAIL, MAGIC, TRAILER_LEN, Tail, read_frame_head,
};
use crate::bytes::In;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Where the index of a log is.
pub(crate) fn index_path(log: &Path) -> PathBuf {
    let mut name = OsString::from(log);
    name.push(".index");
    name.into()
}

/// An index that is whole.
#[derive(Debug)]
pub(crate) struct IndexFile {
    file: BufReader<File>,
    tail: Tail,
    /// Where the next frame is, and where the last is.
    place: u64,
    tail_place: u64,
}

impl IndexFile {
    /// Opens an index; `None` if it is not one, not whole, or not what was written.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        Self::read(File::open(path)?)
    }

    pub(crate) fn read(mut file: File) -> io::Result<Option<Self>> {
        let size = file.metadata()?.len();
        let mut magic = [0; MAGIC.len()];
        let trailer_at = size.checked_sub(TRAILER_LEN as u64);
        let Some(trailer_at) = trailer_at.filter(|at| *at >= magic.len() as u64) else {
            return Ok(None);
        };
        file.rewind()?;
        file.read_exact(&mut magic)?;
        file.seek(SeekFrom::Start(trailer_at))?;
        let mut trailer = [0; TRAILER_LEN];
        file.read_exact(&mut trailer)?;
        let mut input = In(&trailer);
        let tail_place = input.u64().unwrap_or(0);
        let is_whole = magic == MAGIC && input.0 == END_MAGIC && tail_place < trailer_at;
        if !is_whole {
            return Ok(None);
        }
        let mut index = Self {
            file: BufReader::new(file),
            tail: Tail::default(),
            place: tail_place,
            tail_place,
        };
        let Some(body) = index.frame(KIND_TAIL, trailer_at)? else {
            return Ok(None);
        };
        let Some(tail) = Tail::read(&body) else {
            return Ok(None);
        };
        index.tail = tail;
        index.rewind();
        Ok(Some(index))
    }

    pub(crate) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Back to the first block.
    pub(crate) fn rewind(&mut self) {
        self.place = MAGIC.len() as u64;
    }

    /// The next block; `None` after the last.
    pub(crate) fn next_block(&mut self) -> io::Result<Option<Block>> {
        if self.place >= self.tail_place {
            return Ok(None);
        }
        let body = self.frame(KIND_BLOCK, self.tail_place)?;
        let block = body.as_deref().and_then(Block::read);
        block
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the log's index is damaged"))
    }

    /// Goes to the block with the first event that is not before `utime`.
    pub(crate) fn seek(&mut self, utime: i64) -> io::Result<()> {
        let after = self
            .tail
            .stride
            .partition_point(|milestone| milestone.latest_before < utime);
        let milestone = after.checked_sub(1).and_then(|at| self.tail.stride.get(at));
        self.place = milestone.map_or(MAGIC.len() as u64, |milestone| milestone.place);
        loop {
            let place = self.place;
            match self.next_block()? {
                Some(block) if block.latest_utime < utime => {}
                Some(_) | None => {
                    self.place = place;
                    return Ok(());
                }
            }
        }
    }

    /// The body of the frame that is next, which must end before `end`.
    fn frame(&mut self, expected: u8, end: u64) -> io::Result<Option<Vec<u8>>> {
        let position = self.file.stream_position()?;
        // Not by seeking where nothing is to be sought: that throws the buffer away.
        if let Ok(distance) = i64::try_from(i128::from(self.place) - i128::from(position)) {
            self.file.seek_relative(distance)?;
        }
        let mut head = [0; FRAME_LEN];
        if self.place + FRAME_LEN as u64 > end {
            return Ok(None);
        }
        self.file.read_exact(&mut head)?;
        let Some((kind, len, crc)) = read_frame_head(head) else {
            return Ok(None);
        };
        let next = self.place + (FRAME_LEN + len) as u64;
        if kind != expected || next > end {
            return Ok(None);
        }
        let mut body = vec![0; len];
        self.file.read_exact(&mut body)?;
        self.place = next;
        Ok((crc32fast::hash(&body) == crc).then_some(body))
    }
}
