//! Which files a recorder writes.

use super::{contents, contents_of, live, names, record};
use crate::support::{events, open, read};
use bowline_log::record::{
    Existing, FileOptions, Numbering, OpenFileError, Recorder, RecorderOptions, StartRecorderError,
};
use bowline_log::{Format, IndexUse, OwnedEvent};
use bowline_testing::patience::wait_until;
use std::fs;
use std::path::Path;
use std::time::Duration;

#[test]
fn a_file_that_is_there_stays_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live");
    fs::write(&path, "precious").unwrap();
    let bus = bowline_bus::Bus::open("memq://").unwrap();
    let error = Recorder::start(&bus, RecorderOptions::new(FileOptions::new(&path))).unwrap_err();
    assert!(matches!(
        error,
        StartRecorderError::File(OpenFileError::Exists { .. })
    ));
    assert!(error.to_string().contains("--force"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"precious");

    let (bus, mut recorder, _) = live(folder.path(), |options| {
        options.files.existing = Existing::Replace;
    });
    bus.publish_bytes("X", b"1").unwrap();
    recorder.stop();
    let (bus, mut recorder, _) = live(folder.path(), |options| {
        options.files.existing = Existing::Append;
    });
    bus.publish_bytes("X", b"2").unwrap();
    recorder.stop();
    let (found, _) = read(&path, IndexUse::Make);
    let numbered: Vec<_> = found
        .iter()
        .map(|event| (event.number, event.payload.as_slice()))
        .collect();
    assert_eq!(numbered, [(0, &b"1"[..]), (1, b"2")]);
}

#[test]
fn increment_takes_the_first_free_number_and_makes_folders() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a/b");
    for _ in 0..3 {
        let (bus, mut recorder, _) = live(&deep, |options| {
            options.files.numbering = Numbering::Increment;
        });
        bus.publish_bytes("X", b"1").unwrap();
        recorder.stop();
    }
    fs::remove_file(deep.join("live.01")).unwrap();
    let (_bus, mut recorder, _) = live(&deep, |options| {
        options.files.numbering = Numbering::Increment;
    });
    assert_eq!(recorder.stop().file, deep.join("live.01"));
    assert_eq!(contents(&deep.join("live.02")).len(), 1);
}

/// Events in the order of their files.
fn all(folder: &Path, names: &[&str]) -> Vec<(String, Vec<u8>)> {
    let each = names.iter().map(|name| contents(&folder.join(name)));
    each.flatten().collect()
}

#[test]
fn splitting_by_size_loses_nothing_and_rotation_keeps_the_newest() {
    let played = events(1_000);
    let one_size = 8_000;
    let folder = tempfile::tempdir().unwrap();
    let (status, notices) = record(folder.path(), &played, |options| {
        options.files.numbering = Numbering::Increment;
        options.files.split_bytes = Some(one_size);
    });
    let n_files = usize::try_from(status.n_files).unwrap();
    assert!(n_files > 5, "{status:?}");
    let files: Vec<String> = (0..n_files).map(|n| format!("out.{n:02}")).collect();
    let indices = files.iter().map(|name| format!("{name}.index"));
    let mut expected: Vec<String> = files.iter().cloned().chain(indices).collect();
    expected.sort();
    assert_eq!(names(folder.path()), expected);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    assert_eq!(all(folder.path(), &files), contents_of(&played));
    for name in &files[..n_files - 1] {
        let size = fs::metadata(folder.path().join(name)).unwrap().len();
        assert!((one_size..one_size + 200).contains(&size), "{name}: {size}");
    }
    assert_eq!(notices.len(), n_files - 1, "{notices:?}");

    let folder = tempfile::tempdir().unwrap();
    let rotated = record(folder.path(), &played, |options| {
        options.files.numbering = Numbering::Rotate { n_files: 3 };
        options.files.split_bytes = Some(one_size);
    });
    assert_eq!(rotated.0.n_files, status.n_files);
    assert_eq!(
        names(folder.path()),
        [
            "out.0",
            "out.0.index",
            "out.1",
            "out.1.index",
            "out.2",
            "out.2.index"
        ]
    );
    let kept = all(folder.path(), &["out.2", "out.1", "out.0"]);
    assert!(contents_of(&played).ends_with(&kept));
    for name in ["out.0", "out.1", "out.2"] {
        // An index that moved with another log would not be believed.
        assert!(
            open(&folder.path().join(name), IndexUse::IfThere)
                .summary()
                .is_some()
        );
    }
}

#[test]
fn splitting_by_time_puts_each_span_into_its_file() {
    // One event every 10 ms.
    let played = events(100);
    for name in ["out", "out.mcap"] {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), &played, |options| {
            options.files.path = folder.path().join(name);
            options.files.numbering = Numbering::Increment;
            options.files.split_after = Some(Duration::from_millis(250));
        });
        for (number, part) in played.chunks(25).enumerate() {
            let path = folder.path().join(format!("{name}.{number:02}"));
            assert_eq!(contents(&path), contents_of(part));
        }
    }
}

#[test]
fn a_split_by_hand_gives_the_next_file_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let (bus, mut recorder, path) = live(folder.path(), |_| {});
    bus.publish_bytes("X", b"1").unwrap();
    recorder.split();
    wait_until("a second file", || recorder.status().n_files >= 2);
    bus.publish_bytes("X", b"2").unwrap();
    let status = recorder.stop();
    assert_eq!(status.file, folder.path().join("live.00"));
    let found = [contents(&path), contents(&status.file)].concat();
    let payloads: Vec<_> = found.into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(payloads, [b"1", b"2"]);
}

#[test]
fn mcap_is_chosen_by_name_or_by_asking() {
    for (name, format, is_mcap) in [
        ("a", None, false),
        ("a.mcap", None, true),
        ("a", Some(Format::Mcap), true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let played: Vec<OwnedEvent> = events(10);
        record(folder.path(), &played, |options| {
            options.files.path = folder.path().join(name);
            options.files.format = format;
        });
        let reader = open(&folder.path().join(name), IndexUse::IfThere);
        assert_eq!(reader.format() == Format::Mcap, is_mcap, "{name}");
        assert_eq!(contents(&folder.path().join(name)), contents_of(&played));
    }
}
