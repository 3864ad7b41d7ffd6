//! Logs to try things on.

use bowline_format::{
    Compression, Damage, IndexUse, LogEvent, McapOptions, OwnedEvent, Reader, Writer, WriterOptions,
};
use std::path::Path;

/// Events of several channels, sizes and times: none of them alike.
pub(crate) fn events(n_events: usize) -> Vec<OwnedEvent> {
    let channels = ["sonar.depth", "vehicle.pose", "X", "camera.image"];
    (0..n_events)
        .map(|i| {
            let size = [0, 8, 3, 40, 17, 100][i % 6];
            OwnedEvent {
                number: i64::try_from(i).unwrap(),
                utime: 1_700_000_000_000_000 + i64::try_from(i).unwrap() * 10_000,
                nanos: 0,
                channel: channels[i % channels.len()].to_owned(),
                payload: (0..size)
                    .map(|at| u8::try_from((i * 7 + at * 13) % 251).unwrap())
                    .collect(),
            }
        })
        .collect()
}

/// The kinds of files that there are.
pub(crate) const KINDS: [(&str, Compression); 4] = [
    ("log", Compression::None),
    ("mcap", Compression::None),
    ("mcap", Compression::Lz4),
    ("mcap", Compression::Zstd),
];

pub(crate) fn options(compression: Compression) -> WriterOptions {
    WriterOptions {
        mcap: McapOptions {
            compression,
            ..McapOptions::default()
        },
        ..WriterOptions::default()
    }
}

/// Writes a log, with a flush after every so many events.
pub(crate) fn write(
    path: &Path,
    options: WriterOptions,
    events: &[OwnedEvent],
    flush_every: usize,
) {
    let mut writer = Writer::create(path, options).unwrap();
    for (i, event) in events.iter().enumerate() {
        let number = writer.write(event.as_event()).unwrap();
        assert_eq!(number, event.number);
        if (i + 1) % flush_every == 0 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
}

pub(crate) fn open(path: &Path, index: IndexUse) -> Reader {
    Reader::open_with(path, index, &mut |_, _| {}).unwrap()
}

pub(crate) fn rest(reader: &mut Reader) -> Vec<OwnedEvent> {
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        events.push(LogEvent::to_owned(event));
    }
    events
}

/// All events, and what was found to be damaged.
pub(crate) fn read(path: &Path, index: IndexUse) -> (Vec<OwnedEvent>, Vec<Damage>) {
    let mut reader = open(path, index);
    let events = rest(&mut reader);
    let damages = reader.damages().listed().to_vec();
    (events, damages)
}
