//! Which files a recorder writes: their names, and what happens to those that are there.

use bowline_format::{Format, McapOptions, Reader, Schemas, WriteError, Writer, WriterOptions};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Numbers of files that are tried before it is given up.
const MAX_NUMBER: u32 = 1_000_000;

/// Where a recorder writes.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// The file, or what the names of several begin with.
    pub path: PathBuf,
    /// The format. `None`: by its name.
    pub format: Option<Format>,
    /// How MCAP is written.
    pub mcap: McapOptions,
    /// What the files are called.
    pub numbering: Numbering,
    /// What happens to a file of that name.
    pub existing: Existing,
    /// A new file begins when one has so many bytes.
    pub split_bytes: Option<u64>,
    /// A new file begins when events are so much later than the first of one.
    pub split_after: Option<Duration>,
}

impl FileOptions {
    /// One file, which must not be there.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            format: None,
            mcap: McapOptions::default(),
            numbering: Numbering::None,
            existing: Existing::Refuse,
            split_bytes: None,
            split_after: None,
        }
    }
}

/// What files are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// As they are; one more has a number behind it.
    None,
    /// `FILE.00`, `FILE.01` and so on: the first that is not there.
    Increment,
    /// Always `FILE.0`; what was there becomes `FILE.1` and so on, of which so many are kept.
    Rotate {
        /// How many files there are at most.
        n_files: u32,
    },
}

/// What happens to a file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is recorded.
    Refuse,
    /// It is replaced.
    Replace,
    /// It goes on.
    Append,
}

/// Opens one file after the other.
#[derive(Debug)]
pub(super) struct Files {
    options: FileOptions,
    n_opened: u64,
}

impl Files {
    pub(super) fn new(options: FileOptions) -> Self {
        Self {
            options,
            n_opened: 0,
        }
    }

    pub(super) fn n_opened(&self) -> u64 {
        self.n_opened
    }

    pub(super) fn options(&self) -> &FileOptions {
        &self.options
    }

    /// Opens the next file. Those before it must be finished: they may be renamed.
    pub(super) fn open(&mut self, schemas: &Schemas) -> Result<Writer, OpenFileError> {
        let format = self.options.format;
        let format = format.unwrap_or_else(|| Format::of_name(&self.options.path));
        let options = WriterOptions {
            format: Some(format),
            mcap: self.options.mcap.clone(),
            schemas: schemas.clone(),
            without_index: false,
        };
        self.make_folder()?;
        let writer = match self.options.numbering {
            Numbering::None if self.n_opened == 0 => self.open_only(options),
            // The last file was moved away, so a new one is to take its place.
            Numbering::None if !self.options.path.exists() => {
                create_new(&self.options.path, options)
            }
            Numbering::None | Numbering::Increment => self.open_first_free(&options),
            Numbering::Rotate { n_files } => {
                self.rotate(n_files)?;
                create_new(&self.numbered(0, 1), options)
            }
        }?;
        self.n_opened += 1;
        Ok(writer)
    }

    fn make_folder(&self) -> Result<(), OpenFileError> {
        let Some(folder) = self.options.path.parent() else {
            return Ok(());
        };
        fs::create_dir_all(folder).map_err(|source| OpenFileError::Folder {
            path: folder.to_owned(),
            source,
        })
    }

    fn open_only(&self, options: WriterOptions) -> Result<Writer, OpenFileError> {
        let path = &self.options.path;
        match self.options.existing {
            Existing::Refuse => create_new(path, options),
            Existing::Replace => Ok(Writer::create(path, options)?),
            Existing::Append => Ok(Writer::append(path, options)?),
        }
    }

    fn open_first_free(&self, options: &WriterOptions) -> Result<Writer, OpenFileError> {
        for path in increments(&self.options.path) {
            match Writer::create_new(&path, options.clone()) {
                Err(error) if error.kind() == Some(io::ErrorKind::AlreadyExists) => {}
                opened => return Ok(opened?),
            }
        }
        Err(OpenFileError::NoNumber {
            path: self.options.path.clone(),
        })
    }

    fn numbered(&self, number: u32, n_digits: usize) -> PathBuf {
        numbered(&self.options.path, number, n_digits)
    }

    /// Makes room for `FILE.0`, from the last that is kept down to it.
    fn rotate(&self, n_files: u32) -> Result<(), OpenFileError> {
        // Only as far as there are files: a million may be asked for, and are never there.
        let n_there = (0..n_files).take_while(|number| self.numbered(*number, 1).exists());
        let n_there = u32::try_from(n_there.count()).unwrap_or(n_files);
        for number in (0..n_there).rev() {
            let from = self.numbered(number, 1);
            if number + 1 >= n_files {
                remove(&from)?;
            } else {
                rename(&from, &self.numbered(number + 1, 1))?;
            }
        }
        Ok(())
    }
}

/// The names that [`Numbering::Increment`] gives the files of a path, in their order. The first that is not there is
/// what is recorded to next.
pub fn increments(path: &Path) -> impl Iterator<Item = PathBuf> {
    (0..MAX_NUMBER).map(move |number| numbered(path, number, 2))
}

fn numbered(path: &Path, number: u32, n_digits: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number:0n_digits$}"));
    name.into()
}

fn create_new(path: &Path, options: WriterOptions) -> Result<Writer, OpenFileError> {
    Writer::create_new(path, options).map_err(|error| {
        if error.kind() == Some(io::ErrorKind::AlreadyExists) {
            OpenFileError::Exists {
                path: path.to_owned(),
            }
        } else {
            error.into()
        }
    })
}

/// Moves a log, and its index with it.
fn rename(from: &Path, to: &Path) -> Result<(), OpenFileError> {
    let refused = |source| OpenFileError::Move {
        path: from.to_owned(),
        source,
    };
    let (index_from, index_to) = (Reader::index_path(from), Reader::index_path(to));
    // An index of what is there now would be taken for the index of what comes.
    allow_missing(fs::remove_file(&index_to)).map_err(refused)?;
    fs::rename(from, to).map_err(refused)?;
    allow_missing(fs::rename(index_from, index_to)).map_err(refused)
}

fn remove(path: &Path) -> Result<(), OpenFileError> {
    let refused = |source| OpenFileError::Move {
        path: path.to_owned(),
        source,
    };
    allow_missing(fs::remove_file(Reader::index_path(path))).map_err(refused)?;
    fs::remove_file(path).map_err(refused)
}

fn allow_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The folder that a file is in.
pub(super) fn folder_of(path: &Path) -> OsString {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.map_or_else(|| OsString::from("."), OsString::from)
}

/// Why no file can be recorded into.
#[derive(Debug, thiserror::Error)]
pub enum OpenFileError {
    /// It is there.
    #[error("{path:?} is there already: choose another name, or --increment, --append or --force")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Its folder cannot be made.
    #[error("cannot make the folder {path:?}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An older file cannot be moved out of the way.
    #[error("cannot move {path:?} out of the way: {source}")]
    Move {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// All numbers are taken.
    #[error("expected a free name {path:?}.NN, found all numbers taken")]
    NoNumber {
        /// What names begin with.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
