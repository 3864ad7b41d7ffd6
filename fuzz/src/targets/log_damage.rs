//! Of a log that was damaged, with its index beside it, nothing is read that was not written.

use bowline_log::{
    Compression, IndexUse, LogEvent, McapOptions, OwnedEvent, Reader, Writer, WriterOptions,
    recover,
};
use std::fs;
use std::path::Path;

const MAX_EDITS: usize = 4;

/// Up to as many bytes as the first one asks.
fn take<'b>(bytes: &mut &'b [u8], mask: u8) -> Option<&'b [u8]> {
    let (n, rest) = bytes.split_first()?;
    let (taken, rest) = rest.split_at_checked(usize::from(*n & mask))?;
    *bytes = rest;
    Some(taken)
}

fn read(path: &Path, index: IndexUse) -> Vec<OwnedEvent> {
    let mut log = Reader::open_with(path, index, &mut |_, _| {}).expect("memory can be read");
    let mut events = Vec::new();
    while let Some(event) = log.next_event().expect("memory can be read") {
        events.push(LogEvent::to_owned(event));
    }
    events
}

fn is_part_of(part: &[OwnedEvent], whole: &[OwnedEvent]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|event| rest.any(|other| other == event))
}

// A kind, a number of events, their payloads, then edits: two bytes of place, bytes to remove, bytes to insert.
pub(crate) fn run(bytes: &[u8]) {
    let mut rest = bytes;
    let Some(([kind, n_events], after)) = rest.split_first_chunk() else {
        return;
    };
    rest = after;
    let folder = crate::scratch::folder("log_damage");
    let (path, again) = (folder.join("log.mcap"), folder.join("again.mcap"));
    let compression =
        [Compression::None, Compression::Lz4, Compression::Zstd][usize::from(*kind % 3)];
    let format = if *kind >= 0x80 {
        bowline_log::Format::Lcm
    } else {
        bowline_log::Format::Mcap
    };
    let mcap = McapOptions {
        compression,
        ..McapOptions::default()
    };
    let options = WriterOptions {
        format: Some(format),
        mcap,
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(&path, options.clone()).expect("memory can be written");
    let mut written = Vec::new();
    for number in 0..i64::from(*n_events % 16) {
        let Some(payload) = take(&mut rest, 0x7F) else {
            break;
        };
        let channel = if number % 3 == 0 { "a" } else { "b" };
        let event = LogEvent {
            number,
            utime: number * 1_000,
            nanos: 0,
            channel,
            payload,
        };
        writer.write(event).expect("an event");
        written.push(event.to_owned());
        if payload.len() % 3 == 0 {
            writer.flush().expect("memory can be written");
        }
    }
    writer.finish().expect("memory can be written");
    assert_eq!(read(&path, IndexUse::IfThere), written);

    let mut log = fs::read(&path).expect("memory can be read");
    for _ in 0..MAX_EDITS {
        let Some(([high, low, n_removed], after)) = rest.split_first_chunk() else {
            break;
        };
        rest = after;
        let Some(inserted) = take(&mut rest, 0x1F) else {
            break;
        };
        let from = usize::from(u16::from_be_bytes([*high, *low])) % (log.len() + 1);
        let to = log.len().min(from + usize::from(*n_removed));
        log.splice(from..to, inserted.iter().copied());
    }
    fs::write(&path, log).expect("memory can be written");
    let found = read(&path, IndexUse::IfThere);
    // Without checksums, what is inserted into an LCM log may well be an event.
    let believes = format == bowline_log::Format::Lcm;
    assert!(
        believes || is_part_of(&found, &written),
        "{found:?} of {written:?}"
    );
    read(&path, IndexUse::Ignore);

    let mut log = Reader::open(&path).expect("memory can be read");
    let options = WriterOptions {
        format: Some(log.format()),
        ..options
    };
    let mut writer = Writer::create(&again, options).expect("memory can be written");
    recover(&mut log, &mut writer, &mut |_, _| {}).expect("memory can be written");
    let again = read(&again, IndexUse::Ignore);
    assert_eq!(again.len(), found.len());
}
