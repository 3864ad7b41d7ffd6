//! `bowline man`, as packagers call it.

use super::{bowline_in, scratch, stderr};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn man_writes_the_page_of_each_verb_into_a_folder_that_it_makes() {
    let folder = scratch("man");
    let output = bowline_in(&folder, &["man", "share/man1"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = |name: &str| fs::read_to_string(folder.join("share/man1").join(name)).unwrap();
    let page = read("bowline-log-record.1");
    assert!(page.contains("BOWLINE-LOG-RECORD"), "{page}");
    assert!(page.contains(env!("CARGO_PKG_VERSION")), "{page}");
    assert!(read("bowline.1").contains("bowline\\-log(1)"));
    assert!(!folder.join("share/man1/bowline-component.1").exists());
}

#[test]
fn man_names_the_folder_that_it_cannot_make() {
    let folder = scratch("man refused");
    fs::write(folder.join("file"), "").unwrap();
    let output = bowline_in(&folder, &["man", "file/pages"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("cannot make the folder file/pages"),
        "{}",
        stderr(&output)
    );
}

/// `docs/reference` is committed, so that the documentation can be read without a build.
#[test]
fn man_markdown_equals_the_committed_reference() {
    let folder = scratch("man reference");
    let output = bowline_in(&folder, &["man", "--markdown", "made"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let list = |folder: &Path| -> BTreeMap<String, String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let text = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        };
        entries.map(text).collect()
    };
    let made = list(&folder.join("made"));
    assert!(made["log.md"].contains("## bowline log record"));
    assert!(made["index.md"].contains("[`bowline run`](run.md)"));
    let committed = list(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference"));
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    let how = "make gen writes docs/reference anew";
    assert_eq!(names(&made), names(&committed), "{how}");
    for (name, page) in &made {
        assert_eq!(page, &committed[name], "{name}: {how}");
    }
}
