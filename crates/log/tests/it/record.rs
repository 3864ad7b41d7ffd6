//! A recorder records what it was asked to, and reports what it did not.

#[path = "record/files.rs"]
mod files;
#[path = "record/refusal.rs"]
mod refusal;
#[path = "record/selection.rs"]
mod selection;
#[path = "record/trigger.rs"]
mod trigger;

use crate::support::{events, read, write};
use bowline_bus::{Bus, Pattern};
use bowline_log::record::{FileOptions, Recorder, RecorderOptions, Status};
use bowline_log::{BOOKMARK_CHANNEL, IndexUse, OwnedEvent, WriterOptions};
use bowline_msgs::Bookmark;
use bowline_wire::Message as _;
use std::path::{Path, PathBuf};

/// Plays events to a recorder, at the times that they have, and waits until they are recorded.
pub(crate) fn record(
    folder: &Path,
    events: &[OwnedEvent],
    change: impl FnOnce(&mut RecorderOptions),
) -> (Status, Vec<String>) {
    let source = folder.join("source");
    write(&source, WriterOptions::default(), events, 100);
    let bus = Bus::open(&format!("file://{}?speed=0&time=log", source.display())).unwrap();
    let mut options = RecorderOptions::new(FileOptions::new(folder.join("out")));
    change(&mut options);
    let mut recorder = Recorder::start(&bus, options).unwrap();
    let status = recorder.wait();
    let notices = recorder.notices_since(0);
    let notices = notices.into_iter().map(|notice| notice.text).collect();
    (status, notices)
}

/// The channels and payloads of a log that has nothing wrong.
pub(crate) fn contents(path: &Path) -> Vec<(String, Vec<u8>)> {
    let (found, damages) = read(path, IndexUse::IfThere);
    assert_eq!(damages, [], "{path:?}");
    let content = |event: OwnedEvent| (event.channel, event.payload);
    found.into_iter().map(content).collect()
}

/// The same for events.
pub(crate) fn contents_of(events: &[OwnedEvent]) -> Vec<(String, Vec<u8>)> {
    let content = |event: &OwnedEvent| (event.channel.clone(), event.payload.clone());
    events.iter().map(content).collect()
}

/// What is in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("source"))
        .collect();
    names.sort();
    names
}

/// A bus within the test, and a recorder of it.
pub(crate) fn live(
    folder: &Path,
    change: impl FnOnce(&mut RecorderOptions),
) -> (Bus, Recorder, PathBuf) {
    let bus = Bus::open("memq://?announce=off").unwrap();
    let path = folder.join("live");
    let mut options = RecorderOptions::new(FileOptions::new(&path));
    change(&mut options);
    let recorder = Recorder::start(&bus, options).unwrap();
    (bus, recorder, path)
}

#[test]
fn everything_that_came_before_the_end_is_recorded_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.log", "a.mcap"] {
        let path = folder.path().join(name);
        let (bus, mut recorder, _) = live(folder.path(), |options| {
            options.files.path.clone_from(&path);
        });
        let published = events(5_000);
        for event in &published {
            bus.publish_bytes(&event.channel, &event.payload).unwrap();
        }
        let status = recorder.stop();
        assert_eq!(contents(&path), contents_of(&published), "{name}");
        assert_eq!(status.n_recorded, 5_000);
        assert_eq!(
            status.n_written_bytes,
            std::fs::metadata(&path).unwrap().len()
        );
        assert!(!status.is_lossy(), "{status:?}");
    }
}

#[test]
fn the_times_of_events_are_those_of_their_arrival() {
    let folder = tempfile::tempdir().unwrap();
    let played = events(50);
    record(folder.path(), &played, |_| {});
    let (found, _) = read(&folder.path().join("out"), IndexUse::IfThere);
    assert_eq!(found, played);
}

#[test]
fn channels_are_chosen_or_left_out() {
    #[rustfmt::skip]
    let cases = [
        ("vehicle.*",       false, &["vehicle.pose"][..]),
        ("vehicle",         false, &[]),
        ("X|sonar.depth",   false, &["sonar.depth", "X"]),
        ("vehicle.*|X",     true,  &["sonar.depth", "camera.image"]),
        (".*",              true,  &[]),
    ];
    let played = events(100);
    for (pattern, inverts_channels, channels) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (status, _) = record(folder.path(), &played, |options| {
            options.channels = Pattern::new(pattern).unwrap();
            options.inverts_channels = inverts_channels;
        });
        let mut expected = contents_of(&played);
        expected.retain(|(channel, _)| channels.contains(&channel.as_str()));
        assert_eq!(contents(&folder.path().join("out")), expected, "{pattern}");
        assert!(!status.is_lossy());
    }
}

#[test]
fn bookmarks_are_set_here_and_come_over_the_bus_whatever_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let (bus, mut recorder, path) = live(folder.path(), |options| {
        options.channels = Pattern::new("X").unwrap();
    });
    recorder.bookmark(17, "near the wreck");
    bus.publish_bytes("X", b"x").unwrap();
    bus.publish_bytes("Y", b"y").unwrap();
    let theirs = Bookmark {
        utime: 18,
        text: "theirs".to_owned(),
    };
    bus.publish(BOOKMARK_CHANNEL, &theirs).unwrap();
    let status = recorder.stop();
    assert_eq!(status.n_bookmarks, 1);
    let mut found = contents(&path);
    let ours = found
        .iter()
        .position(|(channel, payload)| {
            channel == BOOKMARK_CHANNEL && Bookmark::decode(payload).unwrap().utime == 17
        })
        .expect("ours is there");
    let (_, ours) = found.remove(ours);
    assert_eq!(Bookmark::decode(&ours).unwrap().text, "near the wreck");
    let expected = [
        ("X".to_owned(), b"x".to_vec()),
        (BOOKMARK_CHANNEL.to_owned(), theirs.encode().unwrap()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn ten_thousand_channels_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["many.log", "many.mcap"] {
        let path = folder.path().join(name);
        let (bus, mut recorder, _) = live(folder.path(), |options| {
            options.files.path.clone_from(&path);
        });
        for round in 0..3_u8 {
            for channel in 0..10_000 {
                bus.publish_bytes(&format!("many.{channel}"), &[round])
                    .unwrap();
            }
        }
        let status = recorder.stop();
        assert!(!status.is_lossy(), "{status:?}");
        let found = contents(&path);
        assert_eq!(found.len(), 30_000, "{name}");
        let in_order = found.iter().enumerate().all(|(i, (channel, payload))| {
            *channel == format!("many.{}", i % 10_000) && usize::from(payload[0]) == i / 10_000
        });
        assert!(in_order, "{name}");
    }
}
