//! Reads a log of either format.

use crate::copied::{CopiedExtras, CopyExtrasError};
use crate::damage::Damages;
use crate::event::{LogEvent, Provenance};
use crate::format::Format;
use crate::index::{self, IndexFile, Tail, index_path};
use crate::lcm::LcmFile;
#[cfg(feature = "mcap")]
use crate::mcap::McapFile;
use crate::schemas::Schemas;
use crate::summary::Summary;
use crate::writer::{McapOptions, Writer};
use bowline_wire::Fingerprint;
use bowline_wire::messages::Schema;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Reads a log from the beginning, or from any time on.
///
/// Damage is skipped and kept account of. Memory is bounded by the largest event or chunk, not by the log.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    source: Box<dyn Source>,
    summary: Option<Box<Summary>>,
    /// Damage that was there when the index was made.
    known_damages: Option<Damages>,
    index_state: IndexState,
}

/// A log of one format.
pub(crate) trait Source: fmt::Debug + Send {
    fn format(&self) -> Format;

    /// The next event; `None` at the end.
    fn next_event(&mut self) -> io::Result<Option<LogEvent<'_>>>;

    /// The next event with what the format has of it, and LCM's format does not.
    fn next_with_provenance(
        &mut self,
    ) -> io::Result<Option<(LogEvent<'_>, Option<Provenance<'_>>)>> {
        Ok(self.next_event()?.map(|event| (event, None)))
    }

    /// Goes back to the beginning, and forgets about damage.
    fn rewind(&mut self) -> io::Result<()>;

    /// Goes to the first event that is not before `utime`.
    fn seek_to(&mut self, utime: i64, is_damaged: bool) -> io::Result<()>;

    fn damages(&mut self) -> &Damages;

    /// How far it is, and how far there is to go, in bytes.
    fn position(&self) -> u64;
    fn size(&self) -> io::Result<u64>;

    /// Whether an index is of this log, which has another size by now.
    fn is_indexed_by(&mut self, index: &mut IndexFile) -> bool;

    /// Reads by an index from now on, from the beginning.
    fn use_index(&mut self, index: IndexFile) -> io::Result<()>;

    /// Reads all of the log, and hands out the bytes of an index as they come, with how far it is.
    fn build_index(&self, each: &mut dyn FnMut(&[u8], u64)) -> io::Result<Tail>;

    /// Whether there are checksums that distinguish an intact event from a damaged one.
    fn is_verified(&self) -> bool;

    /// The types that were described so far elsewhere than in events.
    fn schemas(&self) -> Option<&Schemas> {
        None
    }

    fn n_foreign_schemas(&self) -> usize {
        0
    }

    /// Whether it was an LCM log once, as far as is known when its first event was read.
    fn is_from_lcm(&self) -> bool {
        true
    }

    /// What MCAP calls a profile.
    fn profile(&self) -> &str {
        ""
    }

    /// Hands out what can be read of damaged places, although no checksum confirms it.
    fn accept_unverified(&mut self) {}

    /// Copies attachments and metadata.
    fn copy_extras(&self, _to: &mut Writer) -> Result<CopiedExtras, CopyExtrasError> {
        Ok(CopiedExtras::default())
    }
}

/// What is done about an index that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexUse {
    /// One that is there is used. One that is not is not made.
    #[default]
    IfThere,
    /// It is made where there is none, which reads the whole log once.
    Make,
    /// It is not looked at.
    Ignore,
}

/// Where the index of an opened log comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexState {
    /// There is none, or it was not looked for.
    #[default]
    Absent,
    /// It was beside the log.
    Found,
    /// It was made just now, and is beside the log.
    Made,
    /// It was made just now, and could not be kept beside the log.
    Unwritable,
}

impl Reader {
    /// Opens a log, and its index if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::open_with(path, IndexUse::default(), &mut |_, _| {})
    }

    /// Opens a log; returns what to do about its index. `progress` receives how many bytes of how many are indexed.
    ///
    /// An index that cannot be written, for want of room or of permission, keeps no log from being read: what it would
    /// contain about the log as a whole is in [`summary`](Self::summary) all the same.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open_with(
        path: impl AsRef<Path>,
        index: IndexUse,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let opened = Self::try_open(path, index, progress);
        opened.map_err(ReadError::of(path))
    }

    fn try_open(
        path: &Path,
        use_index: IndexUse,
        progress: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Self> {
        let mut reader = Self {
            path: path.to_owned(),
            source: open_source(path)?,
            summary: None,
            known_damages: None,
            index_state: IndexState::default(),
        };
        if use_index == IndexUse::Ignore {
            return Ok(reader);
        }
        let there = IndexFile::open(&index_path(path)).ok().flatten();
        let there = there.and_then(|mut index| reader.believes(&mut index).then_some(index));
        let is_made = use_index == IndexUse::Make;
        match there {
            // An index of a log that has grown since is good for reading, but does not cover all of it.
            Some(index) if is_made && index.tail().log_size < reader.size()? => {
                reader.make_index(progress)?;
            }
            Some(index) => {
                reader.index_state = IndexState::Found;
                reader.use_index(index)?;
            }
            None if is_made => reader.make_index(progress)?,
            None => {}
        }
        if is_made && reader.summary.is_none() {
            // A log that was cut off: what is left is counted, and its index is kept, which knows what is gone.
            reader.summary = Some(Box::new(reader.count()?));
        }
        Ok(reader)
    }

    fn count(&mut self) -> io::Result<Summary> {
        let mut summary = Summary::default();
        while let Some(event) = self.source.next_event()? {
            summary.add(&event);
        }
        if let Some(schemas) = self.source.schemas() {
            summary.schemas.merge(schemas);
        }
        self.source.rewind()?;
        Ok(summary)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }

    /// Whether an index is of this log, as it is or as it was before it grew or was damaged.
    fn believes(&mut self, index: &mut IndexFile) -> bool {
        let size = self.size();
        size.is_ok_and(|size| size == index.tail().log_size || self.source.is_indexed_by(index))
    }

    fn use_index(&mut self, index: IndexFile) -> io::Result<()> {
        if index.tail().log_size == self.size()? {
            self.know(index.tail());
        }
        self.source.use_index(index)
    }

    fn know(&mut self, tail: &Tail) {
        self.summary = Some(Box::new(tail.summary.clone()));
        self.known_damages = Some(tail.damages.clone());
    }

    /// Makes the index, and uses it if there was room for it anywhere.
    fn make_index(&mut self, progress: &mut dyn FnMut(u64, u64)) -> io::Result<()> {
        let size = self.size()?;
        let mut made = MadeIndex::start(&self.path);
        let tail = self.source.build_index(&mut |bytes, reached| {
            progress(reached, size);
            made.write(bytes);
        })?;
        let (index, state) = made.finish();
        self.index_state = state;
        match index {
            Some(index) => self.use_index(index),
            None => {
                self.know(&tail);
                Ok(())
            }
        }
    }

    /// Which kind of file it is.
    #[must_use]
    pub fn format(&self) -> Format {
        self.source.format()
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next event; `None` at the end. If the log grows, there may be more later.
    ///
    /// # Errors
    /// When the file cannot be read. Damage is no error: [`damages`](Self::damages) knows of it.
    pub fn next_event(&mut self) -> Result<Option<LogEvent<'_>>, ReadError> {
        let next = self.source.next_event();
        next.map_err(ReadError::of(&self.path))
    }

    /// The next event with what MCAP has of it and an LCM log does not, for a copy that keeps it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_with_provenance(
        &mut self,
    ) -> Result<Option<(LogEvent<'_>, Option<Provenance<'_>>)>, ReadError> {
        let next = self.source.next_with_provenance();
        next.map_err(ReadError::of(&self.path))
    }

    /// Copies attachments and metadata, which MCAP has, into another log, if that has room for them.
    ///
    /// # Errors
    /// When the one log cannot be read or the other not be written.
    pub fn copy_extras(&self, to: &mut Writer) -> Result<CopiedExtras, CopyExtrasError> {
        self.source.copy_extras(to)
    }

    /// Goes to the first event, in the order of the log, that is not before `utime`, or to the end if there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn seek_to(&mut self, utime: i64) -> Result<(), ReadError> {
        let known = self.known_damages.as_ref();
        let is_damaged = known.is_some_and(|known| !known.is_empty());
        let sought = self.source.seek_to(utime, is_damaged);
        sought.map_err(ReadError::of(&self.path))
    }

    /// Goes back to the beginning, and forgets about damage.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn rewind(&mut self) -> Result<(), ReadError> {
        self.source.rewind().map_err(ReadError::of(&self.path))
    }

    /// The contents of the log, if there is an index.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_deref()
    }

    /// The damage that an index knows of, without the log being read.
    #[must_use]
    pub fn known_damages(&self) -> Option<&Damages> {
        self.known_damages.as_ref()
    }

    /// Where the index of a log is, if it has one.
    #[must_use]
    pub fn index_path(log: &Path) -> PathBuf {
        index_path(log)
    }

    /// Where its index comes from.
    #[must_use]
    pub fn index_state(&self) -> IndexState {
        self.index_state
    }

    /// The types that the log describes: all of them with an index, otherwise those that were met so far.
    #[must_use]
    pub fn schemas(&self) -> Schemas {
        let mut schemas = Schemas::default();
        if let Some(summary) = &self.summary {
            schemas.merge(&summary.schemas);
        }
        if let Some(described) = self.source.schemas() {
            schemas.merge(described);
        }
        schemas
    }

    /// The description of the type whose messages begin so, as far as the log has described it elsewhere than in its
    /// events.
    #[must_use]
    pub fn description(&self, fingerprint: Fingerprint) -> Option<Schema> {
        let described = self.source.schemas();
        described.and_then(|schemas| schemas.description(fingerprint))
    }

    /// How many descriptions of types there are in [`schemas`](Self::schemas), which takes a while to put together.
    #[must_use]
    pub fn n_schemas(&self) -> usize {
        let known = self.summary.as_ref();
        let known = known.map_or(0, |summary| summary.schemas.sets().len());
        let described = self.source.schemas();
        known + described.map_or(0, |schemas| schemas.sets().len())
    }

    /// How many descriptions of types it has, as far as it was read, that are not ours: an LCM log has no room for them.
    #[must_use]
    pub fn n_foreign_schemas(&self) -> usize {
        self.source.n_foreign_schemas()
    }

    /// How a copy of this log is written as MCAP, so that it has the same header. The log is at its beginning
    /// afterwards.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn mcap_options(&mut self) -> Result<McapOptions, ReadError> {
        self.next_event()?;
        let options = McapOptions {
            is_from_lcm: self.is_from_lcm(),
            profile: self.source.profile().to_owned(),
            ..McapOptions::default()
        };
        self.rewind()?;
        Ok(options)
    }

    /// Whether it was an LCM log once, as far as is known when its first event was read.
    #[must_use]
    pub fn is_from_lcm(&self) -> bool {
        self.source.is_from_lcm()
    }

    /// Whether there are checksums that distinguish an intact event from a damaged one.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.source.is_verified()
    }

    /// Hands out what can be read of damaged chunks of MCAP, although no checksum confirms it.
    pub fn accept_unverified(&mut self) {
        self.source.accept_unverified();
    }

    /// The damage that was met so far, and, with an index, that was there when it was made.
    pub fn damages(&mut self) -> &Damages {
        self.source.damages()
    }

    /// How far it is, and how far there is to go, in bytes.
    ///
    /// # Errors
    /// When the system does not report the size of the file.
    pub fn progress(&self) -> Result<(u64, u64), ReadError> {
        let size = self.source.size().map_err(ReadError::of(&self.path))?;
        Ok((self.source.position().min(size), size))
    }
}

fn open_source(path: &Path) -> io::Result<Box<dyn Source>> {
    let mut front = Vec::new();
    File::open(path)?.take(8).read_to_end(&mut front)?;
    if front == index::MAGIC {
        let what = "it is the index of a log, not a log; open the file that it stands beside";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    match Format::of_bytes(&front) {
        Format::Lcm => Ok(Box::new(LcmFile::open(path)?)),
        #[cfg(feature = "mcap")]
        Format::Mcap => Ok(Box::new(McapFile::open(path)?)),
        #[cfg(not(feature = "mcap"))]
        Format::Mcap => Err(Format::not_built()),
    }
}

/// An index that is being made: beside its log if that can be written to, otherwise in a file without a name. Where
/// neither has room, there is none, and the log is read without.
#[derive(Debug)]
struct MadeIndex {
    own: PathBuf,
    partial: Option<PathBuf>,
    file: Option<File>,
}

impl MadeIndex {
    fn start(log: &Path) -> Self {
        let own = index_path(log);
        let mut partial = own.clone().into_os_string();
        partial.push(format!(".{}", std::process::id()));
        let partial = PathBuf::from(partial);
        let beside = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&partial);
        match beside {
            Ok(file) => Self {
                own,
                partial: Some(partial),
                file: Some(file),
            },
            Err(_read_only) => Self {
                own,
                partial: None,
                file: tempfile::tempfile().ok(),
            },
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let written = self.file.as_mut().map(|file| file.write_all(bytes));
        if let Some(Err(_full)) = written {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.file = None;
        if let Some(partial) = self.partial.take() {
            drop(fs::remove_file(partial));
        }
    }

    fn finish(mut self) -> (Option<IndexFile>, IndexState) {
        let kept = self.partial.as_ref().map(|it| fs::rename(it, &self.own));
        if let Some(Err(_refused)) = &kept {
            self.give_up();
        }
        let state = match kept {
            Some(Ok(())) => IndexState::Made,
            Some(Err(_)) | None => IndexState::Unwritable,
        };
        let index = self.file.and_then(|file| IndexFile::read(file).ok());
        (index.flatten(), state)
    }
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the log {path:?}: {source}")]
pub struct ReadError {
    path: PathBuf,
    source: io::Error,
}

impl ReadError {
    /// For `map_err`.
    pub(crate) fn of(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }

    /// The error of the system itself.
    #[must_use]
    pub fn into_source(self) -> io::Error {
        self.source
    }

    /// The error of the system.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        Self::new(error.source.kind(), error)
    }
}
