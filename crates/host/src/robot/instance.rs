//! Components that can run, from what a robot file declares.

use super::files;
use super::{Command, Component, Deterministic, Program, Robot, Source};
use crate::program::SteppedProgram;
use bowline_component::MakeError;
use bowline_component::engine::{FileHashes, Instance};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

impl Component {
    /// Makes the component, unless it is a program that runs by itself. The files that its parameters or arguments name,
    /// and those that these name, become part of its trace by their hashes.
    ///
    /// # Errors
    /// When a file cannot be read, or the component refuses.
    pub fn make(&self) -> Option<Result<Instance, MakeComponentError>> {
        let (kind, settings) = match &self.program {
            Program::Kind { kind, settings, .. } => (kind, settings),
            Program::Command(command) => {
                let how = command.deterministic.as_ref()?;
                return Some(self.make_program(command, how));
            }
        };
        let settings: Vec<_> = settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let files = match self.hashes(kind.files(&settings)) {
            Ok(files) => files,
            Err(error) => return Some(Err(error)),
        };
        let made = Instance::with_files(kind, &self.name, &settings, self.channels(), &files);
        Some(made.map_err(|source| MakeComponentError::Refused {
            component: self.name.clone(),
            source,
        }))
    }

    /// A program as a component; its process is started with its first step.
    fn make_program(
        &self,
        command: &Command,
        how: &Deterministic,
    ) -> Result<Instance, MakeComponentError> {
        let mut settings = "program\n".to_owned();
        for (at, argument) in command.command.iter().enumerate() {
            // A program without a / is the one on the PATH.
            let is_path = at > 0 || argument.contains('/');
            let words = match is_path {
                true => self.argument(command, argument)?,
                false => argument.clone(),
            };
            settings += &format!("argument {words}\n");
        }
        for (name, value) in &command.env {
            settings += &format!("{name} in the environment = {value}\n");
        }
        let directions = [("reads", &how.reads), ("writes", &how.writes)];
        for (direction, channels) in directions {
            for (channel, _) in channels {
                settings += &format!("{direction} {channel}\n");
            }
        }
        Ok(Instance {
            name: self.name.clone(),
            kind: self.what(),
            built: SteppedProgram::build(command, how),
            channels: self.channels(),
            settings,
        })
    }

    /// An argument in words. One that names a file is known by what is in it, wherever it is.
    fn argument(&self, command: &Command, argument: &str) -> Result<String, MakeComponentError> {
        let path = command.folder.join(argument);
        if !path.is_file() {
            return Ok(argument.to_owned());
        }
        let hashes = self.hashes(vec![path.display().to_string()])?;
        let files: Vec<String> = hashes
            .into_values()
            .flatten()
            .map(|file| format!("{} ({:016x})", file.name, file.hash))
            .collect();
        Ok(files.join(", "))
    }

    /// What its ports are connected to.
    fn channels(&self) -> BTreeMap<String, String> {
        let ports = self.ports.iter();
        ports
            .filter_map(|port| Some((port.name.clone(), port.channel.clone()?)))
            .collect()
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
    /// A file that a parameter or an argument names cannot be read.
    #[error("{component}: cannot read {path:?}, which it is made from")]
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
