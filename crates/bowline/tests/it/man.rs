//! `bowline man`, as packagers call it.

use super::{bowline_in, scratch, stderr};
use std::fs;

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
