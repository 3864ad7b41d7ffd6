//! Components that can run, from what a robot file declares.

use super::{Component, Program, Robot, Source};
use bowline_component::engine::{FileHashes, Instance};
use bowline_component::{MakeError, trace};
use std::io;
use std::path::{Path, PathBuf};
use std::{fs, path};

/// A folder of types or worlds has fewer files; a parameter that names `/` is a mistake.
const MAX_FILES: usize = 10_000;

impl Component {
    /// Makes the component, unless it is a program of its own. The files that its parameters name become part of its
    /// trace by their hashes.
    ///
    /// # Errors
    /// When a file cannot be read, or the component refuses.
    pub fn make(&self) -> Option<Result<Instance, MakeComponentError>> {
        let Program::Kind { kind, settings, .. } = &self.program else {
            return None;
        };
        let settings: Vec<_> = settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let files = match self.hashes(kind.files(&settings)) {
            Ok(files) => files,
            Err(error) => return Some(Err(error)),
        };
        let channels = self.ports.iter().filter_map(|port| {
            let channel = port.channel.clone()?;
            Some((port.name.clone(), channel))
        });
        let made = Instance::with_files(kind, &self.name, &settings, channels.collect(), &files);
        Some(made.map_err(|source| MakeComponentError::Refused {
            component: self.name.clone(),
            source,
        }))
    }

    fn hashes(&self, paths: Vec<String>) -> Result<FileHashes, MakeComponentError> {
        let hashes = paths.into_iter().map(|path| {
            let hash = hash(Path::new(&path)).map_err(|source| MakeComponentError::File {
                component: self.name.clone(),
                path: PathBuf::from(&path),
                source,
            })?;
            Ok((path, hash))
        });
        hashes.collect()
    }
}

/// Why a component of a robot file was not made.
#[derive(Debug, thiserror::Error)]
pub enum MakeComponentError {
    /// A file that a parameter names cannot be read.
    #[error("{component}: cannot read {path:?}, which a parameter names")]
    File {
        /// Its name in the robot file.
        component: String,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A setting is wrong, or the component refuses. The file was checked before, so something changed since.
    #[error("{component}: {source}")]
    Refused {
        /// Its name in the robot file.
        component: String,
        /// Why.
        source: MakeError,
    },
}

impl Robot {
    /// Makes all components that are ours, in the order of the file.
    ///
    /// # Errors
    /// When one cannot be made.
    pub fn make(&self, source: Source) -> Result<Vec<Instance>, MakeComponentError> {
        self.components(source)
            .filter_map(Component::make)
            .collect()
    }
}

/// The hash of a file, or of all files below a folder by their names and contents.
fn hash(path: &Path) -> io::Result<u64> {
    if !path.is_dir() {
        return Ok(trace::hash(&fs::read(path)?));
    }
    let mut all = Vec::new();
    for file in files_below(path)? {
        let name = file.strip_prefix(path).unwrap_or(&file);
        let name = name.to_string_lossy().replace(path::MAIN_SEPARATOR, "/");
        all.extend_from_slice(name.as_bytes());
        all.push(0);
        all.extend_from_slice(&trace::hash(&fs::read(&file)?).to_le_bytes());
    }
    Ok(trace::hash(&all))
}

/// All files below a folder, sorted by path. Links to folders are not followed, so there is no way round.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                files.push(path);
            }
            if files.len() + folders.len() > MAX_FILES {
                return Err(io::Error::other(format!(
                    "expected at most {MAX_FILES} files below it, found more"
                )));
            }
        }
    }
    files.sort();
    Ok(files)
}
