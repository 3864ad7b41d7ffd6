//! Reads a log of either format.

use crate::damage::Damages;
use crate::event::LogEvent;
use crate::format::Format;
use crate::index::{Builder, IndexFile, LogShape, index_path};
use crate::lcm::LcmReader;
use crate::mcap::{Extras, McapOptions, McapReader, Provenance};
use crate::schemas::Schemas;
use crate::summary::Summary;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Reads a log from the beginning, or from any time on.
///
/// Damage is skipped and kept account of. Memory is bounded by the largest event or chunk, not by the log.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    source: Source,
    summary: Option<Box<Summary>>,
    /// Damage that was there when the index was made.
    known_damages: Option<Damages>,
    is_index_new: bool,
}

#[derive(Debug)]
enum Source {
    Lcm(Box<LcmReader>),
    Mcap(Box<McapReader>),
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

impl Reader {
    /// Opens a log, and its index if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::open_with(path, IndexUse::default(), &mut |_, _| {})
    }

    /// Opens a log; says what to do about its index. `progress` is told how many bytes of how many are indexed.
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
        opened.map_err(|source| ReadError {
            path: path.to_owned(),
            source,
        })
    }

    fn try_open(
        path: &Path,
        use_index: IndexUse,
        progress: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Self> {
        let mut front = Vec::new();
        File::open(path)?.take(8).read_to_end(&mut front)?;
        let source = match Format::of_bytes(&front) {
            Format::Lcm => Source::Lcm(Box::new(LcmReader::open(path)?)),
            Format::Mcap => Source::Mcap(Box::new(McapReader::open(path)?)),
        };
        let mut reader = Self {
            path: path.to_owned(),
            source,
            summary: None,
            known_damages: None,
            is_index_new: false,
        };
        if use_index == IndexUse::Ignore {
            return Ok(reader);
        }
        let there = IndexFile::open(&index_path(path)).ok().flatten();
        let there = there.and_then(|mut index| reader.believes(&mut index).then_some(index));
        let index = match there {
            // One of a log that has grown since is good for reading, but does not say what is in all of it.
            Some(index)
                if use_index == IndexUse::Make && index.tail().log_size < reader.size()? =>
            {
                reader.make_index(progress)?
            }
            None if use_index == IndexUse::Make => reader.make_index(progress)?,
            there => there,
        };
        if let Some(index) = index {
            reader.use_index(index)?;
        }
        if use_index == IndexUse::Make && reader.summary.is_none() {
            // A log that was cut off: what is left is counted, and its index is kept, which knows what is gone.
            reader.summary = Some(Box::new(reader.count()?));
        }
        Ok(reader)
    }

    fn count(&mut self) -> io::Result<Summary> {
        let mut summary = Summary::default();
        loop {
            let event = match &mut self.source {
                Source::Lcm(reader) => reader.next_event()?,
                Source::Mcap(reader) => reader.next_event()?,
            };
            let Some(event) = event else {
                break;
            };
            summary.add(&event);
        }
        match &mut self.source {
            Source::Lcm(reader) => reader.rewind()?,
            Source::Mcap(reader) => {
                summary.schemas.merge(reader.schemas());
                reader.rewind()?;
            }
        }
        Ok(summary)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }

    /// Whether an index is of this log, as it is or as it was before it grew or was damaged.
    fn believes(&self, index: &mut IndexFile) -> bool {
        let Ok(size) = self.size() else {
            return false;
        };
        let known = index.tail().log_size;
        match &self.source {
            // Events have checksums in the index: one that is of another log matches none of them.
            Source::Lcm(_) => size == known || LcmReader::resembles(&self.path, index),
            Source::Mcap(_) => size == known,
        }
    }

    fn use_index(&mut self, index: IndexFile) -> io::Result<()> {
        let size = self.size()?;
        if index.tail().log_size == size {
            self.summary = Some(Box::new(index.tail().summary.clone()));
            self.known_damages = Some(index.tail().damages.clone());
        }
        match &mut self.source {
            Source::Lcm(reader) => reader.use_index(index),
            Source::Mcap(_) => Ok(()),
        }
    }

    /// Makes the index, beside the log if that can be written to, otherwise in a file that nobody sees.
    fn make_index(&mut self, progress: &mut dyn FnMut(u64, u64)) -> io::Result<Option<IndexFile>> {
        self.is_index_new = true;
        let own = index_path(&self.path);
        let mut partial = own.clone().into_os_string();
        partial.push(format!(".{}", std::process::id()));
        let partial = PathBuf::from(partial);
        let made = File::create_new(&partial).map(|file| (file, Some(partial)));
        let (file, partial) = match made {
            Ok(made) => made,
            Err(_read_only) => (tempfile::tempfile()?, None),
        };
        let written = self.write_index(&file, progress);
        if let Some(partial) = partial {
            let kept = written.and_then(|()| fs::rename(&partial, own));
            if let Err(error) = kept {
                drop(fs::remove_file(partial));
                return Err(error);
            }
        } else {
            written?;
        }
        // A handle that can be read.
        IndexFile::read(file)
    }

    fn write_index(&self, mut file: &File, progress: &mut dyn FnMut(u64, u64)) -> io::Result<()> {
        let size = self.size()?;
        match &self.source {
            Source::Lcm(_) => LcmReader::build_index(&self.path, |bytes, reached| {
                progress(reached, size);
                file.write_all(&bytes)
            }),
            Source::Mcap(_) => {
                let mut reader = McapReader::open(&self.path)?;
                let mut builder = Builder::new(LogShape::Chunks);
                let mut reached = 0;
                while let Some(event) = reader.next_event()? {
                    builder.add(&event, 0, &[]);
                    if reader.position() - reached > 16 << 20 {
                        reached = reader.position();
                        progress(reached, size);
                    }
                }
                builder.add_schemas(reader.schemas());
                builder.set_damages(reader.damages().clone());
                file.write_all(&builder.finish(size).0)
            }
        }
    }

    /// Which kind of file it is.
    #[must_use]
    pub fn format(&self) -> Format {
        match self.source {
            Source::Lcm(_) => Format::Lcm,
            Source::Mcap(_) => Format::Mcap,
        }
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
        let path = &self.path;
        let next = match &mut self.source {
            Source::Lcm(reader) => reader.next_event(),
            Source::Mcap(reader) => reader.next_event(),
        };
        next.map_err(|source| ReadError {
            path: path.clone(),
            source,
        })
    }

    /// The next event with what MCAP says about it and an LCM log does not.
    pub(crate) fn next_with_provenance(
        &mut self,
    ) -> Result<Option<(LogEvent<'_>, Option<Provenance<'_>>)>, ReadError> {
        let path = &self.path;
        let next = match &mut self.source {
            Source::Lcm(reader) => reader
                .next_event()
                .map(|next| next.map(|event| (event, None))),
            Source::Mcap(reader) => reader
                .next_with_provenance()
                .map(|next| next.map(|(event, provenance)| (event, Some(provenance)))),
        };
        next.map_err(|source| ReadError {
            path: path.clone(),
            source,
        })
    }

    /// Where attachments and metadata are, which MCAP has. Reads all of it if nothing says so.
    pub(crate) fn extras(&self) -> Result<Extras, ReadError> {
        let Source::Mcap(reader) = &self.source else {
            return Ok(Extras::default());
        };
        if let Some(extras) = reader.extras() {
            return Ok(extras.clone());
        }
        let read_all = || {
            let mut reader = McapReader::open(&self.path)?;
            while reader.next_event()?.is_some() {}
            Ok(reader.extras().cloned().unwrap_or_default())
        };
        read_all().map_err(|source| self.failed(source))
    }

    /// Goes to the first event, in the order of the log, that is not before `utime`, or to the end if there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn seek_to(&mut self, utime: i64) -> Result<(), ReadError> {
        let is_damaged = self
            .known_damages
            .as_ref()
            .is_some_and(|known| !known.is_empty());
        let sought = match &mut self.source {
            Source::Lcm(reader) => reader.seek_to(utime),
            Source::Mcap(reader) => reader.seek_to(utime, is_damaged),
        };
        sought.map_err(|source| self.failed(source))
    }

    /// Goes back to the beginning, and forgets about damage.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn rewind(&mut self) -> Result<(), ReadError> {
        let rewound = match &mut self.source {
            Source::Lcm(reader) => reader.rewind(),
            Source::Mcap(reader) => reader.rewind(),
        };
        rewound.map_err(|source| self.failed(source))
    }

    /// What is in the log, if an index says so.
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

    /// Whether the index was made just now.
    #[must_use]
    pub fn is_index_new(&self) -> bool {
        self.is_index_new
    }

    /// The types that the log describes: all of them with an index, otherwise those that were met so far.
    #[must_use]
    pub fn schemas(&self) -> Schemas {
        let mut schemas = Schemas::default();
        if let Some(summary) = &self.summary {
            schemas.merge(&summary.schemas);
        }
        if let Source::Mcap(reader) = &self.source {
            schemas.merge(reader.schemas());
        }
        schemas
    }

    /// How many descriptions of types there are in [`schemas`](Self::schemas), which takes a while to put together.
    #[must_use]
    pub fn n_schemas(&self) -> usize {
        let known = self.summary.as_ref();
        let known = known.map_or(0, |summary| summary.schemas.sets().len());
        match &self.source {
            Source::Lcm(_) => known,
            Source::Mcap(reader) => known + reader.schemas().sets().len(),
        }
    }

    /// How many descriptions of types it has, as far as it was read, that are not ours: an LCM log has no room for them.
    #[must_use]
    pub fn n_foreign_schemas(&self) -> usize {
        match &self.source {
            Source::Lcm(_) => 0,
            Source::Mcap(reader) => reader.n_foreign(),
        }
    }

    /// How a copy of this log is written as MCAP, so that it says the same about itself. It is at its beginning
    /// afterwards.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn mcap_options(&mut self) -> Result<McapOptions, ReadError> {
        self.next_event()?;
        let options = McapOptions {
            is_from_lcm: self.is_from_lcm(),
            profile: match &self.source {
                Source::Lcm(_) => String::new(),
                Source::Mcap(reader) => reader.profile().to_owned(),
            },
            ..McapOptions::default()
        };
        self.rewind()?;
        Ok(options)
    }

    /// Whether it was an LCM log once, as far as is known when its first event was read.
    #[must_use]
    pub fn is_from_lcm(&self) -> bool {
        match &self.source {
            Source::Lcm(_) => true,
            Source::Mcap(reader) => reader.is_from_lcm(),
        }
    }

    /// Whether there are checksums to tell an event that is intact from one that is not.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        match &self.source {
            Source::Lcm(reader) => reader.has_index(),
            Source::Mcap(_) => true,
        }
    }

    /// Hands out what can be read of damaged chunks of MCAP, although nothing vouches for it.
    pub fn accept_unverified(&mut self) {
        if let Source::Mcap(reader) = &mut self.source {
            reader.accept_unverified();
        }
    }

    /// The damage that was met so far, and, with an index, that was there when it was made.
    pub fn damages(&mut self) -> &Damages {
        match &mut self.source {
            Source::Lcm(reader) => reader.damages(),
            Source::Mcap(reader) => reader.damages(),
        }
    }

    /// How far it is, and how far there is to go, in bytes.
    ///
    /// # Errors
    /// When the system does not say how large the file is.
    pub fn progress(&self) -> Result<(u64, u64), ReadError> {
        let size = match &self.source {
            Source::Lcm(reader) => reader.size(),
            Source::Mcap(reader) => Ok(reader.size()),
        };
        let size = size.map_err(|source| self.failed(source))?;
        let position = match &self.source {
            Source::Lcm(reader) => reader.position(),
            Source::Mcap(reader) => reader.position(),
        };
        Ok((position.min(size), size))
    }

    pub(crate) fn failed(&self, source: io::Error) -> ReadError {
        ReadError {
            path: self.path.clone(),
            source,
        }
    }
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the log {path:?}: {source}")]
pub struct ReadError {
    path: PathBuf,
    source: io::Error,
}
