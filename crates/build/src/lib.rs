//! Compiles .lcm files from a build script.
//!
//! In `Cargo.toml`, `bowline-build` is a build dependency and `bowline-wire` a dependency, or `bowline`, for which
//! [`generate_on`] is there. In `build.rs`:
//!
//! ```no_run
//! fn main() -> Result<(), bowline_build::GenerateError> {
//!     bowline_build::generate("types/")
//! }
//! ```
//!
//! and in the crate, a module per package:
//!
//! ```ignore
//! mod msgs {
//!     include!(concat!(env!("OUT_DIR"), "/types.rs"));
//! }
//! ```
//!
//! The build script runs again when a file in the folder changes, appears or goes.

#![forbid(unsafe_code)]

use bowline_lang::emit::{EmitError, RUST_WIRE, rust_modules};
use bowline_lang::{Rules, Source, compile};
use std::fmt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Compiles the .lcm files in and below a folder to `types.rs` in cargo's `OUT_DIR`.
///
/// # Errors
/// When a file cannot be read, does not compile, or the result cannot be written.
pub fn generate(folder: impl AsRef<Path>) -> Result<(), GenerateError> {
    generate_on(folder, RUST_WIRE)
}

/// The same for a crate that reaches `bowline-wire` under another path, such as `bowline::wire` where `bowline` is the only
/// dependency.
///
/// # Errors
/// As [`generate`].
pub fn generate_on(folder: impl AsRef<Path>, wire: &str) -> Result<(), GenerateError> {
    let folder = folder.as_ref();
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = env::var_os("OUT_DIR").ok_or(GenerateError::NotABuildScript)?;
    let code = compile_folder(folder, wire)?;
    let path = PathBuf::from(out).join("types.rs");
    if fs::read(&path).is_ok_and(|old| old == code.as_bytes()) {
        return Ok(());
    }
    fs::write(&path, code).map_err(|source| GenerateError::Io { path, source })
}

/// The Rust code for the .lcm files in and below a folder, with `wire` as the path of `bowline-wire`.
///
/// # Errors
/// When a file cannot be read or does not compile.
fn compile_folder(folder: &Path, wire: &str) -> Result<String, GenerateError> {
    let mut sources = Vec::new();
    read_folder(folder, &mut sources)?;
    if sources.is_empty() {
        return Err(GenerateError::NoFiles {
            folder: folder.to_path_buf(),
        });
    }
    let compiled = compile(&sources, &Rules::default());
    if !compiled.is_ok() {
        let report = compiled
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.render(&sources))
            .collect();
        return Err(GenerateError::Diagnostics { report });
    }
    rust_modules(&compiled.types, wire).map_err(GenerateError::Emit)
}

fn read_folder(folder: &Path, sources: &mut Vec<Source>) -> Result<(), GenerateError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| GenerateError::Io { path, source }
    };
    let entries = fs::read_dir(folder).map_err(failed(folder))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed(folder))?;
    paths.sort();
    for path in paths {
        // A link to a folder may lead in circles.
        if path.is_dir() && !path.is_symlink() {
            read_folder(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "lcm") && path.is_file() {
            let bytes = fs::read(&path).map_err(failed(&path))?;
            sources.push(Source::from_bytes(path.display().to_string(), &bytes));
        }
    }
    Ok(())
}

/// Types that were not generated. A build script that returns it shows it whole, diagnostics included.
pub enum GenerateError {
    /// `OUT_DIR` is not set.
    NotABuildScript,
    /// The folder has no .lcm files.
    NoFiles {
        /// The folder.
        folder: PathBuf,
    },
    /// The files do not compile.
    Diagnostics {
        /// The diagnostics with their source lines.
        report: String,
    },
    /// A type that is only named.
    Emit(EmitError),
    /// A file or folder could not be read or written.
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABuildScript => {
                f.write_str("expected OUT_DIR from cargo, found none: call this from build.rs")
            }
            Self::NoFiles { folder } => {
                write!(f, "expected .lcm files in {}, found none", folder.display())
            }
            Self::Diagnostics { report } => write!(f, "the types do not compile\n\n{report}"),
            Self::Emit(error) => error.fmt(f),
            Self::Io { path, source } => write!(f, "cannot access {}: {source}", path.display()),
        }
    }
}

/// `main` prints what it returns with `Debug`, so that is for people too.
impl fmt::Debug for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for GenerateError {}
