//! What is written is read, in both formats.

use crate::support::{KINDS, events, open, options, read, rest, write};
use bowline_format::{
    Format, IndexUse, LogEvent, OwnedEvent, Reader, SCHEMA_CHANNEL, Schemas, WriteError, Writer,
    WriterOptions,
};
use bowline_msgs::{Path as PathMessage, Waypoint};
use bowline_wire::schema::TypeSet;
use bowline_wire::{Fingerprint, Message as _};

const INDEX_USES: [IndexUse; 3] = [IndexUse::IfThere, IndexUse::Make, IndexUse::Ignore];

#[test]
fn what_is_written_is_read_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for (n_events, flush_every) in [(0, 1), (1, 1), (100, 7), (5_000, 1_000)] {
        for (at, (extension, compression)) in KINDS.iter().enumerate() {
            let path = folder.path().join(format!("{at}-{n_events}.{extension}"));
            let written = events(n_events);
            write(&path, options(*compression), &written, flush_every);
            for index in INDEX_USES {
                let (found, damages) = read(&path, index);
                assert!(found == written, "{path:?} with {index:?}");
                assert_eq!(damages, [], "{path:?} with {index:?}");
                let reader = open(&path, index);
                assert_eq!(reader.format(), Format::of_name(&path));
                let summary = reader.summary();
                assert_eq!(summary.is_some(), index != IndexUse::Ignore, "{path:?}");
                assert_eq!(
                    summary.map_or(n_events as u64, |s| s.n_events),
                    n_events as u64
                );
            }
        }
    }
}

#[test]
fn index_made_later_is_equal() {
    let folder = tempfile::tempdir().unwrap();
    for (at, (extension, compression)) in KINDS.iter().enumerate() {
        let path = folder.path().join(format!("{at}.{extension}"));
        write(&path, options(*compression), &events(2_000), 100);
        let index = path.with_extension(format!("{extension}.index"));
        let summary = open(&path, IndexUse::IfThere).summary().cloned();
        let bytes = std::fs::read(&index).unwrap();
        std::fs::remove_file(&index).unwrap();
        assert!(open(&path, IndexUse::IfThere).summary().is_none());
        assert_eq!(open(&path, IndexUse::Make).summary().cloned(), summary);
        assert!(std::fs::read(&index).unwrap() == bytes, "{extension}");
        std::fs::write(&index, &bytes[..bytes.len() - 1]).unwrap();
        assert!(
            open(&path, IndexUse::IfThere).summary().is_none(),
            "it is cut off"
        );
        assert_eq!(open(&path, IndexUse::Make).summary().cloned(), summary);
    }
}

#[test]
fn seeking_finds_the_first_event_in_the_order_of_the_log_that_is_not_earlier() {
    let folder = tempfile::tempdir().unwrap();
    let mut written = events(3_000);
    // A clock that was set back, twice.
    for (i, event) in written.iter_mut().enumerate() {
        event.utime -=
            if i > 1_000 { 3_000_000 } else { 0 } + if i > 2_000 { 20_000_000 } else { 0 };
    }
    for (at, (extension, compression)) in KINDS.iter().enumerate() {
        let path = folder.path().join(format!("{at}.{extension}"));
        write(&path, options(*compression), &written, 50);
        for index in INDEX_USES {
            let mut reader = open(&path, index);
            let first = written[0].utime;
            for offset in [
                -1, 0, 1, 9_999_999, 10_000_000, 10_000_001, 14_000_000, 16_999_999, 17_000_000,
                90_000_000,
            ] {
                let utime = first + offset;
                let expected = written.iter().position(|event| event.utime >= utime);
                reader.seek_to(utime).unwrap();
                let found = reader.next_event().unwrap().map(|event| event.number);
                let expected = expected.map(|at| i64::try_from(at).unwrap());
                assert_eq!(found, expected, "{path:?} with {index:?} at {offset}");
            }
            reader.rewind().unwrap();
            assert_eq!(rest(&mut reader), written);
        }
    }
}

/// Logs that were found to be hard to read, each of them once.
const HARD_LOGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/log_files");

#[test]
fn seeking_in_a_damaged_log_meets_the_events_that_reading_it_meets() {
    let folder = tempfile::tempdir().unwrap();
    let (mut n_logs, mut n_events, mut n_damaged) = (0, 0, 0);
    for entry in std::fs::read_dir(HARD_LOGS).unwrap() {
        let hard = entry.unwrap().path();
        let path = folder.path().join(hard.file_name().unwrap());
        std::fs::copy(&hard, &path).unwrap();
        let mut reader = open(&path, IndexUse::Make);
        let met = rest(&mut reader);
        n_logs += 1;
        n_events += met.len();
        n_damaged += usize::from(!reader.damages().is_empty());
        for utime in met.iter().map(|event| event.utime) {
            reader.seek_to(utime).unwrap();
            let from = met.iter().position(|event| event.utime >= utime).unwrap();
            assert_eq!(rest(&mut reader), met[from..], "{hard:?} from {utime}");
        }
    }
    println!("{n_logs} logs, {n_damaged} of them damaged, {n_events} events");
    assert!(
        n_logs >= 7 && n_damaged >= 3 && n_events >= 10,
        "{n_logs} {n_damaged} {n_events}"
    );
}

#[test]
fn appending_to_mcap_is_refused_and_leaves_it_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.mcap", "mcap-by-another-name.log"] {
        let path = folder.path().join(name);
        let made = folder.path().join("made.mcap");
        write(&made, WriterOptions::default(), &events(10), 1);
        std::fs::rename(&made, &path).unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = Writer::append(&path, WriterOptions::default()).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, WriteError::AppendMcap { .. }),
            "{name}: {text}"
        );
        assert!(text.contains(name), "{text}");
        assert!(std::fs::read(&path).unwrap() == before, "{name}");
    }
}

#[test]
fn a_log_that_grows_is_read_on_and_its_index_stays_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grows.log");
    let written = events(2_000);
    write(&path, WriterOptions::default(), &written[..1_000], 1);
    let index = std::fs::read(folder.path().join("grows.log.index")).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    assert_eq!(rest(&mut reader), written[..1_000]);
    let mut writer = Writer::append(&path, WriterOptions::default()).unwrap();
    for event in &written[1_000..] {
        writer.write(event.as_event()).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(rest(&mut reader), written[1_000..]);
    std::fs::write(folder.path().join("grows.log.index"), index).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    assert_eq!(rest(&mut reader), written);
    assert!(reader.damages().is_empty());
    reader.seek_to(written[1_500].utime).unwrap();
    assert_eq!(rest(&mut reader), written[1_500..]);
    assert!(reader.summary().is_none(), "it is of less than is there");
    let summary = open(&path, IndexUse::Make).summary().cloned();
    assert_eq!(summary.map(|summary| summary.n_events), Some(2_000));
}

#[test]
fn the_index_of_another_log_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    let other = folder.path().join("b.log");
    let written = events(500);
    write(&path, WriterOptions::default(), &written, 1);
    write(
        &other,
        WriterOptions::default(),
        &events(3_000)[1_000..]
            .iter()
            .enumerate()
            .map(|(i, event)| OwnedEvent {
                number: i64::try_from(i).unwrap(),
                ..event.clone()
            })
            .collect::<Vec<_>>(),
        1,
    );
    std::fs::copy(
        folder.path().join("b.log.index"),
        folder.path().join("a.log.index"),
    )
    .unwrap();
    for index in INDEX_USES {
        assert_eq!(read(&path, index), (written.clone(), vec![]), "{index:?}");
    }
}

#[test]
fn mcap_keeps_nanoseconds_and_refuses_times_before_1970() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap");
    let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
    let event = LogEvent {
        number: 0,
        utime: 5,
        nanos: 999,
        channel: "A",
        payload: b"x",
    };
    writer.write(event).unwrap();
    let error = writer.write(LogEvent { utime: -1, ..event }).unwrap_err();
    assert!(
        error.to_string().contains("from 1970 to 2554, found -1 us"),
        "{error}"
    );
    writer.finish().unwrap();
    assert_eq!(read(&path, IndexUse::IfThere).0, [event.to_owned()]);
}

#[test]
fn a_log_carries_the_types_of_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let mut schemas = Schemas::default();
    schemas.add(&TypeSet::from_bytes(bowline_msgs::SCHEMA).unwrap());
    let path_message = PathMessage {
        waypoints: vec![Waypoint {
            id: "dock".to_owned(),
            position: [1.0, 2.0],
        }],
        ..PathMessage::default()
    };
    let payload = path_message.with_lengths().encode().unwrap();
    for name in ["a.log", "a.mcap"] {
        let path = folder.path().join(name);
        let options = WriterOptions {
            schemas: schemas.clone(),
            ..WriterOptions::default()
        };
        let mut writer = Writer::create(&path, options).unwrap();
        let event = LogEvent {
            number: 0,
            utime: 1,
            nanos: 0,
            channel: "vehicle.path",
            payload: &payload,
        };
        for _ in 0..3 {
            writer.write(event).unwrap();
        }
        writer.bookmark(2, "here").unwrap();
        writer.finish().unwrap();
        for index in INDEX_USES {
            let mut reader = open(&path, index);
            let found = rest(&mut reader);
            let n_paths = found
                .iter()
                .filter(|event| event.channel == "vehicle.path")
                .count();
            assert_eq!(n_paths, 3, "{name} with {index:?}");
            let n_schemas = found
                .iter()
                .filter(|event| event.channel == SCHEMA_CHANNEL)
                .count();
            assert_eq!(
                n_schemas,
                if name == "a.log" { 2 } else { 0 },
                "{name}: each once"
            );
            let known = reader.schemas();
            if index == IndexUse::Ignore && name == "a.log" {
                continue;
            }
            let fingerprint: Fingerprint = PathMessage::FINGERPRINT;
            assert_eq!(
                known.name(fingerprint).as_deref(),
                Some("bowline.path_t"),
                "{name}"
            );
            let (set, id) = known.find(fingerprint).unwrap();
            let value = set.decode_as(id, &payload).unwrap();
            assert!(set.to_json(id, &value).contains("dock"), "{name}");
        }
        let bookmarks = open(&path, IndexUse::IfThere)
            .summary()
            .unwrap()
            .bookmarks
            .clone();
        assert_eq!(bookmarks.len(), 1);
        assert_eq!(
            (bookmarks[0].utime, bookmarks[0].text.as_str()),
            (2, "here")
        );
    }
}
