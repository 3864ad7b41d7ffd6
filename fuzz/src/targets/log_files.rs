//! Any bytes are read to their end as a log of either format, with and without an index, and what is recovered from them
//! opens clean.

use bowline_log::{Format, IndexUse, LogEvent, OwnedEvent, Reader, Writer, WriterOptions, recover};
use bowline_wire::eventlog::SYNC;
use std::fs;
use std::path::Path;

fn read(mut log: Reader) -> (Vec<OwnedEvent>, bool) {
    let mut events = Vec::new();
    while let Some(event) = log.next_event().expect("memory can be read") {
        events.push(LogEvent::to_owned(event));
    }
    (events, log.damages().is_lossy())
}

fn open(path: &Path, index: IndexUse) -> Reader {
    Reader::open_with(path, index, &mut |_, _| {}).expect("memory can be read")
}

fn key(event: &OwnedEvent) -> (i64, u16, &str, &[u8]) {
    (event.utime, event.nanos, &event.channel, &event.payload)
}

pub(crate) fn run(bytes: &[u8]) {
    let folder = crate::scratch::folder("log_files");
    let (path, again) = (folder.join("log"), folder.join("again"));
    let _none = fs::remove_file(folder.join("log.index"));
    fs::write(&path, bytes).expect("memory can be written");

    let (plain, _) = read(open(&path, IndexUse::Ignore));
    let indexed = open(&path, IndexUse::Make);
    let summary = indexed.summary().expect("an index was made").clone();
    assert_eq!(summary.n_events, plain.len() as u64);
    assert_eq!(read(indexed).0, plain, "an index changes nothing");

    let mut log = open(&path, IndexUse::IfThere);
    if let Some(last) = plain.last() {
        log.seek_to(last.utime).expect("memory can be read");
        let found = log
            .next_event()
            .expect("memory can be read")
            .map(|event| event.utime);
        let expected = plain
            .iter()
            .find(|event| event.utime >= last.utime)
            .map(|event| event.utime);
        assert_eq!(found, expected);
        log.rewind().expect("memory can be read");
    }
    let options = WriterOptions {
        format: Some(log.format()),
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(&again, options).expect("memory can be written");
    let recovered = recover(&mut log, &mut writer, &mut |_, _| {}).expect("memory can be written");
    assert_eq!(
        recovered.copied.n_written + recovered.copied.n_refused,
        plain.len() as u64
    );
    // Without an index, events within messages of an LCM log may be taken for events of the log.
    let bytes = fs::read(&again).expect("memory can be read");
    let n_syncs = bytes
        .windows(SYNC.len())
        .filter(|bytes| *bytes == SYNC)
        .count();
    let is_plain = log.format() == Format::Mcap || n_syncs as u64 == recovered.copied.n_written;
    for index in [IndexUse::IfThere, IndexUse::Ignore] {
        if index == IndexUse::Ignore && !is_plain {
            continue;
        }
        let (found, is_lossy) = read(open(&again, index));
        assert!(!is_lossy, "what was recovered is intact");
        if recovered.copied.n_refused == 0 {
            assert!(
                found.iter().map(key).eq(plain.iter().map(key)),
                "and all of it"
            );
        }
    }
}
