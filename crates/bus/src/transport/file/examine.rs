//! What `bowline doctor` looks at for a log: whether it can be read or written.

use crate::diagnosis::{self, Examination, Finding, Fix, quote};
use crate::schemes::Scheme;
use crate::url::Url;
use bowline_format::Format;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// What an event of a log begins with.
const SYNC: [u8; 4] = [0xed, 0xa1, 0xda, 0x01];

/// Examines a URL.
pub(super) fn examine(row: &'static Scheme, url: &Url) -> Examination {
    diagnosis::examine_as(row, url, || {
        format!("The log {}, mode {}.", url.address(), mode_of(url))
    })
}

/// Looks at the file, and reports whether it can be used as the URL asks.
pub(super) fn log(url: &Url) -> Vec<Finding> {
    if url.address().is_empty() {
        return Vec::new();
    }
    let (path, mode) = (url.address(), mode_of(url));
    vec![judge(path, mode, &look(Path::new(path), mode))]
}

fn mode_of(url: &Url) -> char {
    let mode = url.options().text("mode");
    mode.and_then(|mode| mode.chars().next()).unwrap_or('r')
}

/// What is at the path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Log {
    /// Its first bytes are those of a log.
    Readable,
    /// It begins otherwise.
    Strange,
    Empty,
    Writable,
    Failed(String),
    NoFolder(String),
}

fn look(path: &Path, mode: char) -> Log {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder
        && !folder.is_dir()
    {
        return Log::NoFolder(folder.display().to_string());
    }
    if mode != 'r' {
        return look_to_write(path, folder.unwrap_or(Path::new(".")));
    }
    let mut start = Vec::new();
    match File::open(path).and_then(|file| file.take(8).read_to_end(&mut start)) {
        Ok(0) => Log::Empty,
        Ok(_) if start.starts_with(&SYNC) || Format::of_bytes(&start) == Format::Mcap => {
            Log::Readable
        }
        Ok(_) => Log::Strange,
        Err(error) => Log::Failed(error.to_string()),
    }
}

/// Opened for appending a file is neither made nor changed; where it is not there, its folder decides.
fn look_to_write(path: &Path, folder: &Path) -> Log {
    match File::options().append(true).open(path) {
        Ok(_) => Log::Writable,
        Err(error) if error.kind() == io::ErrorKind::NotFound => match folder.metadata() {
            Ok(metadata) if !metadata.permissions().readonly() => Log::Writable,
            Ok(_) => Log::Failed(format!("{} is read-only", folder.display())),
            Err(error) => Log::Failed(error.to_string()),
        },
        Err(error) => Log::Failed(error.to_string()),
    }
}

fn judge(path: &str, mode: char, log: &Log) -> Finding {
    match log {
        Log::Readable => Finding::ok("The file can be read and begins as a log does."),
        Log::Writable => Finding::ok("The file can be written."),
        Log::Empty => Finding::warn(
            "The file is empty.",
            "A log that was never written to has nothing to play.",
        ),
        Log::Strange => Finding::bad(
            "The file begins neither as an LCM log does, with the bytes ed a1 da 01, nor as MCAP.",
            "A reader looks for the first event and may find none.",
        )
        .look(Fix::User(format!("file {}", quote(path)))),
        Log::Failed(reason) => Finding::bad(
            format!("The file cannot be opened in mode {mode}: {reason}."),
            "No program can use the log then.",
        )
        .look(Fix::User(format!("ls -l {}", quote(path)))),
        Log::NoFolder(folder) => Finding::bad(
            format!("The folder {folder} is not there."),
            "A log is written or read there.",
        )
        .user(format!("mkdir -p {}", quote(folder))),
    }
}
