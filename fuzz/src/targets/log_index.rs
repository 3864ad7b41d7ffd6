//! Any bytes beside a log are survived as its index, and an edited index is believed only as far as its checksums go.

use bowline_format::{IndexUse, LogEvent, Reader, Writer, WriterOptions, is_index};
use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;

struct Place {
    folder: PathBuf,
    index: Vec<u8>,
}

thread_local! {
    static PLACE: OnceCell<Place> = const { OnceCell::new() };
}

const N_EVENTS: i64 = 40;

/// A log that stays the same, and its own index.
fn make() -> Place {
    let folder = crate::scratch::folder("log_index");
    let mut writer = Writer::create(folder.join("log"), WriterOptions::default()).expect("a log");
    for number in 0..N_EVENTS {
        let payload = vec![7; usize::try_from(number).unwrap_or(0)];
        let event = LogEvent {
            number,
            utime: number,
            nanos: 0,
            channel: "a",
            payload: &payload,
        };
        writer.write(event).expect("an event");
    }
    writer.finish().expect("a log");
    let index = fs::read(folder.join("log.index")).expect("an index");
    assert!(is_index(&index));
    Place { folder, index }
}

fn count(place: &Place, index: &[u8]) -> (i64, bool) {
    let path = place.folder.join("log");
    fs::write(place.folder.join("log.index"), index).expect("memory can be written");
    let mut log =
        Reader::open_with(&path, IndexUse::IfThere, &mut |_, _| {}).expect("memory can be read");
    let mut n_events = 0;
    while log.next_event().expect("memory can be read").is_some() {
        n_events += 1;
    }
    (n_events, log.damages().is_lossy())
}

pub(crate) fn run(bytes: &[u8]) {
    PLACE.with(|place| {
        let place = place.get_or_init(make);
        // Only that it ends: any bytes may look like an index.
        let _is_one = is_index(bytes);
        count(place, bytes);
        // Two bytes of place and one to change there.
        let mut edited = place.index.clone();
        for edit in bytes.chunks_exact(3).take(8) {
            let at = usize::from(u16::from_be_bytes([edit[0], edit[1]])) % edited.len();
            edited[at] ^= edit[2];
        }
        let (n_events, is_lossy) = count(place, &edited);
        assert_eq!(
            (n_events, is_lossy),
            (N_EVENTS, false),
            "a damaged index costs nothing"
        );
    });
}
