//! Folders for targets that read and write files.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;

thread_local! {
    static ROOT: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
}

/// The folder of a target on this thread, in memory where the system has such a file system. Files of earlier runs stay
/// in it; it is removed with the thread.
pub(crate) fn folder(target: &str) -> PathBuf {
    let make = || {
        tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .expect("temporary folders can be made")
    };
    let folder = ROOT.with(|root| root.get_or_init(make).path().join(target));
    fs::create_dir_all(&folder).expect("temporary folders can be made");
    folder
}
