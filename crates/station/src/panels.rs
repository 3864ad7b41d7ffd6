//! Custom panels: the files of one folder, as they are when they are asked for.
//!
//! Only regular files that lie in the folder itself and have a plain name and a known ending are served: no other folder, no
//! symbolic link, nothing too large. So that an author sees a change when the page is loaded again, nothing is kept.

use crate::assets;
use bytes::Bytes;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Modules that a page loads at most, in the order of their names.
const MAX_MODULES: usize = 16;
/// Names that are looked at in the folder: one with more is not for panels.
const MAX_NAMES: usize = 1_024;
/// The largest file.
pub(crate) const MAX_FILE: u64 = 2 << 20;
const MAX_NAME: usize = 64;
/// What a module may need beside itself.
const ENDINGS: [&str; 6] = [".js", ".css", ".json", ".svg", ".png", ".woff2"];

/// A folder that custom panels are served from.
#[derive(Clone, Debug)]
pub(crate) struct Panels(PathBuf);

/// A file of the folder.
#[derive(Debug)]
pub(crate) struct PanelFile {
    pub(crate) bytes: Bytes,
    pub(crate) content_type: &'static str,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadPanels {
    /// It is not there, or is no folder.
    #[error("expected a folder of panels at {path:?}")]
    NoFolder {
        /// Where.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Its names are no names of modules.
    #[error(
        "expected a module in {path:?}: a file whose name ends with .js, of at most {MAX_NAME} letters, digits, -, _ and ., \
         that does not begin with _ or ."
    )]
    NoModule {
        /// Where.
        path: PathBuf,
    },
    /// There are more than a page loads.
    #[error("expected at most {MAX_MODULES} modules in {path:?}, found {found}")]
    TooMany {
        /// Where.
        path: PathBuf,
        /// How many.
        found: usize,
    },
}

impl Panels {
    /// The folder at a path. Where that is a symbolic link, what it leads to now.
    pub(crate) fn open(path: &Path) -> Result<Self, BadPanels> {
        let no_folder = |source| BadPanels::NoFolder {
            path: path.to_owned(),
            source,
        };
        let folder = fs::canonicalize(path).map_err(no_folder)?;
        let panels = Self(folder);
        let found = panels.all_modules().map_err(no_folder)?.len();
        match found {
            0 => Err(BadPanels::NoModule {
                path: path.to_owned(),
            }),
            1..=MAX_MODULES => Ok(panels),
            _ => Err(BadPanels::TooMany {
                path: path.to_owned(),
                found,
            }),
        }
    }

    /// The modules that are there now, by name. Files that begin with `_` are for other modules to import.
    pub(crate) fn modules(&self) -> Vec<String> {
        let mut names = self.all_modules().unwrap_or_default();
        names.truncate(MAX_MODULES);
        names
    }

    fn all_modules(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)?.take(MAX_NAMES) {
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            if name.ends_with(".js") && !name.starts_with('_') && self.find(&name).is_some() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The file of this name as it is now, if it may be served.
    pub(crate) fn read(&self, name: &str) -> Option<PanelFile> {
        let (path, expected) = self.find(name)?;
        let file = File::open(path).ok()?;
        let opened = file.metadata().ok()?;
        // What was checked is what was opened: no link was put there in between.
        if (opened.dev(), opened.ino()) != expected {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= MAX_FILE).then(|| PanelFile {
            bytes: bytes.into(),
            content_type: assets::content_type(name),
        })
    }

    /// Where a file is that may be served, and which one it is.
    fn find(&self, name: &str) -> Option<(PathBuf, (u64, u64))> {
        if !is_plain(name) {
            return None;
        }
        let path = self.0.join(name);
        let found = fs::symlink_metadata(&path).ok()?;
        let is_served = found.is_file() && found.len() <= MAX_FILE;
        is_served.then(|| (path, (found.dev(), found.ino())))
    }
}

/// Whether a name is one that leads nowhere else, and has an ending with a content type.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.len() <= MAX_NAME
        && name.bytes().all(is_letter)
        && !name.starts_with('.')
        && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    #[test]
    fn modules_are_listed_by_name_and_read_as_they_are_now() {
        let folder = folder(&[
            ("tide.js", b"1"),
            ("battery.js", b"2"),
            ("_shared.js", b"3"),
            ("style.css", b"4"),
            ("notes.txt", b"5"),
            (".hidden.js", b"6"),
        ]);
        let panels = Panels::open(folder.path()).unwrap();
        assert_eq!(panels.modules(), ["battery.js", "tide.js"]);
        let shared = panels.read("_shared.js").unwrap();
        assert_eq!(
            (&shared.bytes[..], shared.content_type),
            (&b"3"[..], "text/javascript; charset=utf-8")
        );
        assert!(panels.read("style.css").is_some());
        fs::write(folder.path().join("tide.js"), b"changed").unwrap();
        assert_eq!(&panels.read("tide.js").unwrap().bytes[..], b"changed");
        for name in ["notes.txt", ".hidden.js", "nothing.js", ""] {
            assert!(panels.read(name).is_none(), "{name}");
        }
    }

    #[test]
    fn nothing_outside_of_the_folder_is_served() {
        let outside = folder(&[("secret.js", b"secret")]);
        let folder = folder(&[("tide.js", b"1")]);
        let secret = outside.path().join("secret.js");
        symlink(&secret, folder.path().join("link.js")).unwrap();
        symlink(outside.path(), folder.path().join("linked.js")).unwrap();
        symlink("tide.js", folder.path().join("inner.js")).unwrap();
        fs::create_dir(folder.path().join("folder.js")).unwrap();
        fs::write(folder.path().join("folder.js/deep.js"), b"deep").unwrap();
        nix_fifo(&folder.path().join("pipe.js"));
        let panels = Panels::open(folder.path()).unwrap();
        assert_eq!(panels.modules(), ["tide.js"]);
        let name = outside.path().file_name().unwrap().to_str().unwrap();
        for path in [
            "link.js",
            "inner.js",
            "pipe.js",
            "folder.js",
            "folder.js/deep.js",
            "linked.js/secret.js",
            &format!("../{name}/secret.js"),
            secret.to_str().unwrap(),
            "./tide.js",
            "tide.js\0",
            "%2e%2e/secret.js",
        ] {
            assert!(panels.read(path).is_none(), "{path}");
        }
    }

    /// Reading from a pipe would never end.
    fn nix_fifo(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }

    #[test]
    fn what_is_too_large_or_too_many_is_refused() {
        let large = vec![b' '; usize::try_from(MAX_FILE).unwrap() + 1];
        let one = folder(&[("tide.js", b"1"), ("large.js", &large)]);
        let panels = Panels::open(one.path()).unwrap();
        assert_eq!(panels.modules(), ["tide.js"]);
        assert!(panels.read("large.js").is_none());
        let names: Vec<String> = (0..=MAX_MODULES)
            .map(|i| format!("panel-{i:02}.js"))
            .collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|it| (&**it, &b"1"[..])).collect();
        let many = folder(&files);
        assert!(matches!(
            Panels::open(many.path()),
            Err(BadPanels::TooMany { found: 17, .. })
        ));
    }

    #[test]
    fn a_folder_without_modules_is_refused() {
        let empty = folder(&[("style.css", b"1")]);
        assert!(matches!(
            Panels::open(empty.path()),
            Err(BadPanels::NoModule { .. })
        ));
        let missing = empty.path().join("nothing");
        assert!(matches!(
            Panels::open(&missing),
            Err(BadPanels::NoFolder { .. })
        ));
        let file = empty.path().join("style.css");
        assert!(matches!(
            Panels::open(&file),
            Err(BadPanels::NoFolder { .. })
        ));
    }
}
