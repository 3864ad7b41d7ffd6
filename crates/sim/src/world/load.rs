//! World files: ours, Gazebo's and BARN's, by how they are named and begin.

use super::barn::{BadBarn, Barn};
use super::{World, gazebo, ours};
use bowline_component::document::Problem;
use bowline_geometry::{Disk, Files, Mistakes};
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no world.
#[derive(Debug, thiserror::Error)]
pub enum LoadWorldError {
    /// The system refused.
    #[error("expected a file that can be read at {path:?}, found: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not text.
    #[error("expected {path:?} to be text in UTF-8, found other bytes")]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// An unknown kind of file.
    #[error(
        "expected a world file: .toml (ours), .sdf or .world (Gazebo's) or .json (BARN's), found {path:?}"
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// A world of ours is wrong.
    #[error("{}", texts(.0))]
    Ours(Vec<Problem>),
    /// A world of Gazebo's is wrong.
    #[error(transparent)]
    Gazebo(#[from] Mistakes),
    /// A world of BARN's is wrong.
    #[error("{path:?}: {source}")]
    Barn {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: BadBarn,
    },
}

fn texts(problems: &[Problem]) -> String {
    // The caller labels it as an error.
    let texts = problems.iter().map(|it| it.unlabelled().to_string());
    texts.collect::<Vec<String>>().join("\n")
}

impl World {
    /// Reads a world file: ours, Gazebo's or BARN's.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn load(path: &Path) -> Result<Self, LoadWorldError> {
        Self::load_from(path, &mut Disk)
    }

    /// The same, and flat ground where no file is named.
    pub(crate) fn load_or_flat(path: &Path) -> Result<Self, LoadWorldError> {
        if path.as_os_str().is_empty() {
            return Ok(Self::flat());
        }
        Self::load(path)
    }

    /// Reads a world file from wherever files are.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn load_from(path: &Path, files: &mut dyn Files) -> Result<Self, LoadWorldError> {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or("");
        match extension {
            "sdf" | "world" => gazebo::load(path, files),
            "toml" => {
                let text = text(path, files)?;
                ours::parse(&text, path, files)
            }
            "json" => {
                let barn = Barn::parse(&text(path, files)?);
                let barn = barn.map_err(|source| LoadWorldError::Barn {
                    path: path.to_owned(),
                    source,
                })?;
                Ok(barn.world())
            }
            _ => Err(LoadWorldError::Format {
                path: path.to_owned(),
            }),
        }
    }
}

pub(super) fn text(path: &Path, files: &mut dyn Files) -> Result<String, LoadWorldError> {
    let path_of = || path.to_owned();
    let bytes = files.read(path).map_err(|source| LoadWorldError::Read {
        path: path_of(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|_error| LoadWorldError::NotText { path: path_of() })
}
