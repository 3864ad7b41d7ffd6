//! Components that can run, from what a robot file declares.

use super::files;
use super::{Component, Program, Robot, Source};
use bowline_component::MakeError;
use bowline_component::engine::{FileHashes, Instance};
use std::io;
use std::path::{Path, PathBuf};

impl Component {
    /// Makes the component, unless it is a program of its own. The files that its parameters name, and those that these
    /// name, become part of its trace by their hashes.
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
            let hashes =
                files::hashes(Path::new(&path)).map_err(|source| MakeComponentError::File {
                    component: self.name.clone(),
                    path: PathBuf::from(&path),
                    source,
                })?;
            Ok((path, hashes))
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
