//! Models from files: our Body and Assembly files, URDF, SDF. The root element decides which it is.

mod assembly;
mod body;
mod pose;
pub(crate) mod sdf;
mod urdf;

use crate::assembly::Assembly;
use crate::mistake::{Fault, Mistake, Mistakes, Place};
use crate::xml::{self, Element, MAX_FILE_BYTES};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All files of a model together may have so many bytes.
const MAX_TOTAL_BYTES: usize = 64 << 20;

pub use body::BODY_ELEMENTS;
pub use sdf::world::{SdfCollision, SdfLink, SdfModel, SdfShape, SdfWorld, load_sdf_world};

/// Where files come from.
pub trait Files {
    /// All of a file's bytes.
    ///
    /// # Errors
    ///
    /// The error of the system.
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>>;
}

/// Files on disk, as far as a model's may be long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        use std::io::Read as _;
        let file = std::fs::File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Files in memory, by their paths.
impl Files for BTreeMap<PathBuf, Vec<u8>> {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.get(path).cloned();
        found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our Assembly file, with the Body files that it uses.
    Assembly,
    /// The robot description of ROS.
    Urdf,
    /// The simulator's description.
    Sdf,
}

/// A model as it was read. [`Model::new`](crate::Model::new) checks the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// What the file was.
    pub format: Format,
    /// The assembly in the file.
    pub assembly: Assembly,
    /// What has no place in a model and was left out.
    pub notes: Vec<Mistake>,
}

/// Reads an Assembly file with its bodies, a URDF or an SDF file.
///
/// # Errors
///
/// All mistakes in the file, each with its place.
pub fn load(path: &Path, files: &mut dyn Files) -> Result<Loaded, Mistakes> {
    let mut mistakes = Mistakes::new();
    let loaded = Reading::new(files).load(path, &mut mistakes);
    match loaded {
        Some(loaded) => mistakes.or(loaded),
        None => Err(mistakes),
    }
}

/// What a file is, by its root element; none if it is no model at all.
#[must_use]
pub fn format_of(bytes: &[u8]) -> Option<Format> {
    let mut mistakes = Mistakes::new();
    let file = Arc::from("");
    let text = xml::text(&file, bytes, &mut mistakes)?;
    let page = xml::parse(&file, text, &mut mistakes)?;
    match page.root().name() {
        "assembly" => Some(Format::Assembly),
        "robot" => Some(Format::Urdf),
        "sdf" => Some(Format::Sdf),
        _ => None,
    }
}

/// What all files of a model have in common while they are read.
pub(crate) struct Reading<'f> {
    files: &'f mut dyn Files,
    n_bytes: usize,
    pub(crate) notes: Mistakes,
}

impl<'f> Reading<'f> {
    fn new(files: &'f mut dyn Files) -> Self {
        Self {
            files,
            n_bytes: 0,
            notes: Mistakes::new(),
        }
    }

    fn load(&mut self, path: &Path, mistakes: &mut Mistakes) -> Option<Loaded> {
        let file: Arc<str> = path.display().to_string().into();
        let bytes = self.bytes(path, &Place::whole(&file), mistakes)?;
        let text = xml::text(&file, &bytes, mistakes)?;
        let page = xml::parse(&file, text, mistakes)?;
        let root = page.root();
        let (format, assembly) = match root.name() {
            "assembly" if root.is_plain() => {
                (Format::Assembly, assembly::read(root, path, self, mistakes))
            }
            "robot" => (Format::Urdf, urdf::read(root, self, mistakes)),
            "sdf" => (Format::Sdf, sdf::read(root, self, mistakes)),
            "body" if root.is_plain() => {
                let fault = Fault::Unsupported {
                    expected: "an <assembly> that uses bodies".to_owned(),
                    found: "a <body> alone".to_owned(),
                };
                mistakes.push(root.place(), fault);
                return None;
            }
            _ => {
                root.refuse(&["assembly", "robot", "sdf"], mistakes);
                return None;
            }
        };
        Some(Loaded {
            format,
            assembly: assembly?,
            notes: self.notes.take(),
        })
    }

    /// Notes that a sensor is of a kind that models do not have.
    pub(crate) fn leave_out_sensor(&mut self, element: Element<'_>) {
        let name = element.attribute("name").unwrap_or("");
        let left_out = format!(
            "what the sensor {name:?} measures is left out: it is of a kind that models do not have"
        );
        self.notes.push(element.place(), Fault::LeftOut(left_out));
    }

    /// A file's bytes, or a complaint at the place that asks for it.
    pub(crate) fn bytes(
        &mut self,
        path: &Path,
        asked: &Place,
        mistakes: &mut Mistakes,
    ) -> Option<Vec<u8>> {
        let bytes = match self.files.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let fault = Fault::Unreadable {
                    path: path.display().to_string(),
                    why: error.to_string(),
                };
                mistakes.push(asked.clone(), fault);
                return None;
            }
        };
        self.n_bytes += bytes.len();
        if self.n_bytes > MAX_TOTAL_BYTES {
            let fault = Fault::TooMany {
                what: "bytes in all files of a model",
                limit: MAX_TOTAL_BYTES,
            };
            mistakes.push(asked.clone(), fault);
            return None;
        }
        Some(bytes)
    }
}
