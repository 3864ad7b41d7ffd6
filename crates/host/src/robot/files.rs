//! What is in the files that parameters name, as hashes: of the files themselves, and of those that they name.
//!
//! An assembly names bodies, a world names meshes. Which words of a file are names is known to the reader of its format; here
//! a name is what stands in quotes, has an extension, and is the path of a file, relative to the one that has it.

use bowline_component::engine::FileHash;
use bowline_component::trace;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{self, Path, PathBuf};
use std::{fs, io};

/// A folder of types or worlds has fewer files; a parameter that names `/` is a mistake.
const MAX_FILES: usize = 10_000;
/// Names are looked for in files up to this size; a model or a world is smaller.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// The hash of a file and of those that it names, directly or through others; or the hash of all files below a folder, by
/// their names and contents.
pub(super) fn hashes(path: &Path) -> io::Result<Vec<FileHash>> {
    let name = name_of(Path::new(path.file_name().unwrap_or_default()));
    if path.is_dir() {
        let hash = hash_of_folder(path)?;
        return Ok(vec![FileHash { name, hash }]);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let bytes = fs::read(path)?;
    let hash = trace::hash(&bytes);
    let mut seen = BTreeSet::from([fs::canonicalize(path)?]);
    let mut named = BTreeMap::new();
    let mut unread = names_in(&bytes, folder, Path::new(""));
    while let Some(relative) = unread.pop() {
        let path = folder.join(&relative);
        if !seen.insert(fs::canonicalize(&path)?) {
            continue;
        }
        if seen.len() > MAX_FILES {
            return Err(too_many());
        }
        let bytes = fs::read(&path)?;
        let beside = relative.parent().unwrap_or(Path::new(""));
        unread.extend(names_in(&bytes, folder, beside));
        named.insert(name_of(&relative), trace::hash(&bytes));
    }
    let named = named
        .into_iter()
        .map(|(name, hash)| FileHash { name, hash });
    Ok(std::iter::once(FileHash { name, hash })
        .chain(named)
        .collect())
}

/// The files that a file in `folder/beside` names, by their paths from the folder.
fn names_in(bytes: &[u8], folder: &Path, beside: &Path) -> Vec<PathBuf> {
    if bytes.len() > MAX_TEXT_BYTES {
        return Vec::new();
    }
    // Whatever else is not text is in no quotes.
    let Ok(text) = str::from_utf8(bytes) else {
        return Vec::new();
    };
    let words: BTreeSet<&str> = text.split(['"', '\'', '\n']).collect();
    let paths = words.into_iter().filter_map(|word| {
        let extension = Path::new(word).extension()?.to_str()?;
        // The digits after a point are no extension.
        let is_name = extension.starts_with(|c: char| c.is_ascii_alphabetic());
        (is_name && Path::new(word).is_relative()).then(|| beside.join(word))
    });
    paths.filter(|path| folder.join(path).is_file()).collect()
}

/// A path as the trace has it on every system.
fn name_of(path: &Path) -> String {
    path.to_string_lossy().replace(path::MAIN_SEPARATOR, "/")
}

fn hash_of_folder(path: &Path) -> io::Result<u64> {
    let mut all = Vec::new();
    for file in files_below(path)? {
        let name = name_of(file.strip_prefix(path).unwrap_or(&file));
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
                return Err(too_many());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn too_many() -> io::Error {
    io::Error::other(format!(
        "expected at most {MAX_FILES} files of it, found more"
    ))
}
