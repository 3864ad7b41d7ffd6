//! LCM's event logs: with an index, checked event by event; without, believed as far as they make sense.

use crate::damage::{Damage, DamageKind, Damages};
use crate::event::{LogEvent, Provenance};
use crate::format::Format;
use crate::index::{Block, Builder, IndexFile, LogShape, Mark, Tail};
use crate::output::Output;
use crate::reader::{ReadError, Source};
use crate::scanner::Scanner;
use crate::schemas::Schemas;
use crate::writer::{Encoder, Sidecar, WriteError};
use bowline_wire::eventlog;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reads an LCM log.
#[derive(Debug)]
pub(crate) struct LcmFile {
    path: PathBuf,
    scanner: Scanner,
    /// For reading by the index.
    file: File,
    index: Option<IndexFile>,
    /// While events are read by the index; afterwards they are scanned for.
    walk: Option<Walk>,
}

/// A block of the log, read and being handed out.
#[derive(Debug, Default)]
struct Walk {
    block: Block,
    bytes: Vec<u8>,
    next: usize,
    at: usize,
}

impl LcmFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            scanner: Scanner::open(path).map_err(ReadError::into_source)?,
            file: File::open(path)?,
            index: None,
            walk: None,
        })
    }

    /// Where in the bytes of the walk the next intact event is. `None` when the walk has to go on or is over.
    fn next_in_walk(&mut self) -> io::Result<Option<(usize, usize)>> {
        let Some(walk) = &mut self.walk else {
            return Ok(None);
        };
        while let Some(mark) = walk.block.events.get(walk.next).copied() {
            let (start, end) = (walk.at, walk.at + len_of(mark));
            let Some(bytes) = walk.bytes.get(start..end) else {
                return self.end_early().map(|()| None);
            };
            let number = walk.number();
            walk.next += 1;
            walk.at = end;
            if crc32fast::hash(bytes) == mark.crc && record_of(bytes).is_some() {
                return Ok(Some((start, end)));
            }
            self.scanner.damages().add(Damage {
                offset: walk.block.offset + start as u64,
                len: u64::from(mark.len),
                kind: DamageKind::Changed { number },
            });
        }
        self.next_block().map(|()| None)
    }

    /// Reads the next block that the index knows; after the last one, scans on.
    fn next_block(&mut self) -> io::Result<()> {
        let next = self.index.as_mut().map(IndexFile::next_block);
        match next.unwrap_or(Ok(None)) {
            Ok(Some(block)) => {
                let walk = self.walk.get_or_insert_default();
                walk.next = 0;
                walk.at = 0;
                walk.bytes.clear();
                self.file.seek(SeekFrom::Start(block.offset))?;
                (&self.file)
                    .take(block.len())
                    .read_to_end(&mut walk.bytes)?;
                walk.block = block;
            }
            Ok(None) => {
                let known = self.index.as_ref().map_or(0, |index| index.tail().log_size);
                self.walk = None;
                self.scanner.seek(known);
            }
            Err(_damaged) => {
                let reached = self.position();
                self.give_index_up();
                self.scanner.seek(reached);
            }
        }
        Ok(())
    }

    /// The file ends before what the index knows does.
    fn end_early(&mut self) -> io::Result<()> {
        let Some(walk) = self.walk.take() else {
            return Ok(());
        };
        let mut n_events = (walk.block.events.len() - walk.next) as u64;
        while let Some(Ok(Some(block))) = self.index.as_mut().map(IndexFile::next_block) {
            n_events += block.events.len() as u64;
        }
        let offset = walk.block.offset + walk.at as u64;
        let known = self.index.as_ref().map_or(0, |index| index.tail().log_size);
        self.scanner.damages().add(Damage {
            offset,
            len: known.saturating_sub(offset),
            kind: DamageKind::Missing { n_events },
        });
        let end = self.size()?;
        self.scanner.seek(end);
        Ok(())
    }

    /// An index that turns out to be damaged is worth nothing; the log is.
    fn give_index_up(&mut self) {
        self.index = None;
        self.walk = None;
        self.scanner.damages().add(Damage {
            offset: 0,
            len: 0,
            kind: DamageKind::Directory,
        });
    }
}

impl Source for LcmFile {
    fn format(&self) -> Format {
        Format::Lcm
    }

    fn next_event(&mut self) -> io::Result<Option<LogEvent<'_>>> {
        while self.walk.is_some() {
            if let Some((start, end)) = self.next_in_walk()? {
                let walk = self.walk.as_ref();
                let bytes = walk.and_then(|walk| walk.bytes.get(start..end));
                return Ok(bytes.and_then(record_of));
            }
        }
        let placed = self.scanner.next_record();
        let placed = placed.map_err(ReadError::into_source)?;
        Ok(placed.map(|placed| placed.record.into()))
    }

    fn rewind(&mut self) -> io::Result<()> {
        let mut damages = Damages::default();
        if let Some(index) = &mut self.index {
            index.rewind();
            self.walk = Some(Walk::default());
            damages = index.tail().damages.clone();
        }
        *self.scanner.damages() = damages;
        self.scanner.seek(0);
        Ok(())
    }

    fn seek_to(&mut self, utime: i64, _is_damaged: bool) -> io::Result<()> {
        match self.index.as_mut().map(|index| index.seek(utime)) {
            Some(Ok(())) => self.walk = Some(Walk::default()),
            Some(Err(_damaged)) => self.give_index_up(),
            None => {}
        }
        if self.walk.is_none() {
            let sought = self.scanner.seek_to(utime);
            return sought.map_err(ReadError::into_source);
        }
        loop {
            let before = self.position();
            let Some(event) = self.next_event()? else {
                return Ok(());
            };
            if event.utime < utime {
                continue;
            }
            match &mut self.walk {
                Some(walk) => walk.step_back(),
                None => self.scanner.seek(before),
            }
            return Ok(());
        }
    }

    fn damages(&mut self) -> &Damages {
        self.scanner.damages()
    }

    fn position(&self) -> u64 {
        match &self.walk {
            Some(walk) => walk.block.offset + walk.at as u64,
            None => self.scanner.position(),
        }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Whether any event of the first block that the index knows is in the log. Events have checksums there: an index
    /// of another log matches none of them.
    fn is_indexed_by(&mut self, index: &mut IndexFile) -> bool {
        let block = index.next_block().ok().flatten();
        index.rewind();
        let Some(block) = block else {
            return false;
        };
        let mut bytes = Vec::new();
        let sought = self.file.seek(SeekFrom::Start(block.offset));
        let read = sought.and_then(|_| (&self.file).take(block.len()).read_to_end(&mut bytes));
        let mut rest = bytes.as_slice();
        let mut is_known = |mark: &Mark| {
            let (event, after) = rest.split_at_checked(len_of(*mark))?;
            rest = after;
            Some(crc32fast::hash(event) == mark.crc)
        };
        let mut known = block.events.iter().map_while(&mut is_known).peekable();
        // Where not even the first event is left, there is nothing else that it could be of.
        read.is_ok() && (known.peek().is_none() || known.any(|is_same| is_same))
    }

    fn use_index(&mut self, index: IndexFile) -> io::Result<()> {
        self.index = Some(index);
        self.rewind()
    }

    fn build_index(&self, each: &mut dyn FnMut(&[u8], u64)) -> io::Result<Tail> {
        let mut scanner = Scanner::open(&self.path).map_err(ReadError::into_source)?;
        let mut builder = Builder::new(LogShape::Events);
        while let Some(placed) = scanner.next_record().map_err(ReadError::into_source)? {
            builder.add(&placed.record.into(), placed.offset, &[placed.bytes]);
            if builder.n_ready() > INDEX_PIECE {
                each(&builder.take(), placed.offset);
            }
        }
        let size = scanner.position();
        builder.set_damages(scanner.damages().clone());
        let (bytes, tail) = builder.finish(size);
        each(&bytes, size);
        Ok(tail)
    }

    fn is_verified(&self) -> bool {
        self.index.is_some()
    }
}

/// Writes an LCM log.
#[derive(Debug)]
pub(crate) struct LcmEncoder;

impl Encoder for LcmEncoder {
    fn format(&self) -> Format {
        Format::Lcm
    }

    fn shape(&self) -> LogShape {
        LogShape::Events
    }

    /// A call into the system for each event costs more than the event.
    fn patience(&self) -> Duration {
        Duration::from_millis(10)
    }

    fn put(
        &mut self,
        event: &LogEvent<'_>,
        _: Option<&Provenance<'_>>,
        _: &Schemas,
        output: &mut Output,
        sidecar: &mut Sidecar,
    ) -> Result<(), WriteError> {
        let LogEvent {
            number,
            utime,
            channel,
            payload,
            ..
        } = *event;
        let offset = output.position();
        let pending = output.pending();
        let start = pending.len();
        eventlog::write_header(number, utime, channel, payload.len(), pending)?;
        let header = pending.get(start..).unwrap_or_default();
        sidecar.add(event, offset, &[header, payload]);
        if payload.len() < LARGE {
            pending.extend_from_slice(payload);
        } else {
            output.write_through(payload);
        }
        Ok(())
    }
}

/// Messages that are so large go to the system without a copy.
const LARGE: usize = 64 << 10;

/// How much of an index is collected before it is written.
const INDEX_PIECE: usize = 256 << 10;

impl Walk {
    fn number(&self) -> i64 {
        let next = i64::try_from(self.next).unwrap_or(i64::MAX);
        self.block.first_number.wrapping_add(next)
    }

    /// Has the last event come again.
    fn step_back(&mut self) {
        if let Some(last) = self.next.checked_sub(1)
            && let Some(mark) = self.block.events.get(last)
        {
            self.next = last;
            self.at -= len_of(*mark);
        }
    }
}

fn len_of(mark: Mark) -> usize {
    usize::try_from(mark.len).unwrap_or(usize::MAX)
}

/// The event that these bytes are, all of them.
fn record_of(bytes: &[u8]) -> Option<LogEvent<'_>> {
    eventlog::whole(bytes).map(LogEvent::from)
}
