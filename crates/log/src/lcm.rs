//! LCM's event logs: with an index, checked event by event; without, believed as far as they make sense.

use crate::damage::{Damage, DamageKind, Damages};
use crate::event::LogEvent;
use crate::index::{Block, Builder, IndexFile, LogShape, Mark};
use bowline_bus::eventlog::{DamagedPlace, Reader as Scanner};
use bowline_wire::eventlog;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Reads an LCM log.
#[derive(Debug)]
pub(crate) struct LcmReader {
    scanner: Scanner,
    /// For reading by the index.
    file: File,
    index: Option<IndexFile>,
    /// While events are read by the index; afterwards they are scanned for.
    walk: Option<Walk>,
    damages: Damages,
}

/// A block of the log, read and being handed out.
#[derive(Debug, Default)]
struct Walk {
    block: Block,
    bytes: Vec<u8>,
    next: usize,
    at: usize,
}

impl LcmReader {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            scanner: Scanner::open(path).map_err(io::Error::other)?,
            file: File::open(path)?,
            index: None,
            walk: None,
            damages: Damages::default(),
        })
    }

    /// Reads by an index from now on, from the beginning.
    pub(crate) fn use_index(&mut self, index: IndexFile) -> io::Result<()> {
        self.index = Some(index);
        self.rewind()
    }

    pub(crate) fn has_index(&self) -> bool {
        self.index.is_some()
    }

    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    pub(crate) fn position(&self) -> u64 {
        match &self.walk {
            Some(walk) => walk.block.offset + walk.at as u64,
            None => self.scanner.position(),
        }
    }

    pub(crate) fn damages(&mut self) -> &Damages {
        self.collect_damage();
        &self.damages
    }

    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        if let Some(index) = &mut self.index {
            index.rewind();
            self.walk = Some(Walk::default());
            self.damages = index.tail().damages.clone();
        } else {
            self.damages = Damages::default();
        }
        self.scanner.rewind()?;
        Ok(())
    }

    /// Goes to the first event that is not before `utime`.
    pub(crate) fn seek_to(&mut self, utime: i64) -> io::Result<()> {
        let Some(index) = &mut self.index else {
            return Ok(self.scanner.seek_to(utime)?);
        };
        if index.seek(utime).is_err() {
            self.give_index_up();
            return Ok(self.scanner.seek_to(utime)?);
        }
        self.walk = Some(Walk::default());
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
                None => self.scanner.seek(before)?,
            }
            return Ok(());
        }
    }

    pub(crate) fn next_event(&mut self) -> io::Result<Option<LogEvent<'_>>> {
        while self.walk.is_some() {
            if let Some((start, end)) = self.next_in_walk()? {
                let walk = self.walk.as_ref();
                let bytes = walk.and_then(|walk| walk.bytes.get(start..end));
                return Ok(bytes.and_then(record_of));
            }
        }
        self.collect_damage();
        let placed = self.scanner.next_record()?;
        Ok(placed.map(|placed| placed.record.into()))
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
            self.damages.add(Damage {
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
                self.scanner.seek(known)?;
            }
            Err(_damaged) => {
                let reached = self.position();
                self.give_index_up();
                self.scanner.seek(reached)?;
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
        self.damages.add(Damage {
            offset,
            len: known.saturating_sub(offset),
            kind: DamageKind::Missing { n_events },
        });
        let end = self.size()?;
        Ok(self.scanner.seek(end)?)
    }

    /// An index that turns out to be damaged is worth nothing; the log is.
    fn give_index_up(&mut self) {
        self.index = None;
        self.walk = None;
        self.damages.add(Damage {
            offset: 0,
            len: 0,
            kind: DamageKind::Directory,
        });
    }

    fn collect_damage(&mut self) {
        collect_damage(&mut self.scanner, &mut self.damages);
    }

    /// Whether any event of the first block that an index knows is in the log.
    pub(crate) fn resembles(path: &Path, index: &mut IndexFile) -> bool {
        let block = index.next_block().ok().flatten();
        index.rewind();
        let Some(block) = block else {
            return false;
        };
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(block.offset))?;
            file.take(block.len()).read_to_end(&mut bytes)
        });
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

    /// Makes an index by reading all of the log. `each` gets the bytes of the index, and how far it is.
    pub(crate) fn build_index(
        path: &Path,
        mut each: impl FnMut(Vec<u8>, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut scanner = Scanner::open(path).map_err(io::Error::other)?;
        let mut builder = Builder::new(LogShape::Events);
        let mut damages = Damages::default();
        loop {
            // What is damaged before an event that was read does not go on.
            collect_damage(&mut scanner, &mut damages);
            let Some(placed) = scanner.next_record()? else {
                break;
            };
            builder.add(&placed.record.into(), placed.offset, &[placed.bytes]);
            if builder.n_ready() > INDEX_PIECE {
                let reached = placed.offset;
                each(builder.take(), reached)?;
            }
        }
        let size = scanner.position();
        collect_damage(&mut scanner, &mut damages);
        builder.set_damages(damages);
        each(builder.finish(size).0, size)
    }
}

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

/// Takes over what a scanner met, which remembers only so much.
fn collect_damage(scanner: &mut Scanner, damages: &mut Damages) {
    for place in scanner.take_damaged_places() {
        damages.add(damage_of(place));
    }
}

fn damage_of(place: DamagedPlace) -> Damage {
    Damage {
        offset: place.offset,
        len: place.len,
        kind: if place.is_at_end {
            DamageKind::CutOff
        } else {
            DamageKind::NoEvent
        },
    }
}
