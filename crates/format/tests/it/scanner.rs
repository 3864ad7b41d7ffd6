//! LCM's logs by the places of their records: what is written is read, whatever happened to it in between.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a test's numbers are small"
)]

use bowline_format::scanner::Scanner;
use bowline_format::{Format, LogEvent, OwnedEvent, WriteError, Writer, WriterOptions};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// LCM's format whatever the name is, and no index: scanners know none.
fn options() -> WriterOptions {
    WriterOptions {
        format: Some(Format::Lcm),
        without_index: true,
        ..WriterOptions::default()
    }
}

fn create(path: impl AsRef<Path>) -> Writer {
    Writer::create(path, options()).unwrap()
}

fn put(writer: &mut Writer, utime: i64, channel: &str, payload: &[u8]) -> Result<i64, WriteError> {
    writer.write(LogEvent {
        number: 0,
        utime,
        nanos: 0,
        channel,
        payload,
    })
}

/// The next record, to keep.
fn next(scanner: &mut Scanner) -> Option<OwnedEvent> {
    let placed = scanner.next_record().unwrap()?;
    Some(LogEvent::from(placed.record).to_owned())
}

fn write(path: &Path, utimes: &[i64]) {
    let mut writer = create(path);
    for (number, utime) in utimes.iter().enumerate() {
        let written = put(&mut writer, *utime, "C", &payload(number)).unwrap();
        assert_eq!(written, number as i64);
    }
    writer.flush().unwrap();
    assert_eq!(writer.position(), std::fs::metadata(path).unwrap().len());
}

/// Mostly small, some larger than what is read at once.
fn payload(number: usize) -> Vec<u8> {
    let size = if number % 97 == 5 {
        200_000
    } else {
        number % 300
    };
    vec![number as u8; size]
}

fn all(scanner: &mut Scanner) -> Vec<OwnedEvent> {
    std::iter::from_fn(|| next(scanner)).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let utimes: Vec<i64> = (0..1_000).map(|n| n * 1_000).collect();
    write(&path, &utimes);
    let mut scanner = Scanner::open(&path).unwrap();
    let events = all(&mut scanner);
    assert_eq!(events.len(), 1_000);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(
            (event.number, event.utime),
            (number as i64, utimes[number]),
            "event {number}"
        );
        assert_eq!(event.channel, "C");
        assert!(event.payload == payload(number), "event {number}");
    }
    assert_eq!(scanner.damaged_bytes(), 0);
    assert_eq!(scanner.position(), scanner.size().unwrap());
    scanner.seek(0);
    assert_eq!(next(&mut scanner).unwrap().number, 0);
}

#[test]
fn seeking_finds_the_first_event_at_or_after_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    // Equal times, gaps, and more than bisection leaves to reading.
    let utimes: Vec<i64> = (0..3_000).map(|n| n / 3 * 50).collect();
    write(&path, &utimes);
    let mut scanner = Scanner::open(&path).unwrap();
    for target in (-100..50_200).step_by(37).chain([i64::MIN, i64::MAX]) {
        scanner.seek_to(target).unwrap();
        let expected = utimes.iter().position(|utime| *utime >= target);
        let found = next(&mut scanner);
        assert_eq!(
            found.map(|event| event.number),
            expected.map(|at| at as i64),
            "target {target}"
        );
    }
    assert_eq!(scanner.damaged_bytes(), 0, "seeking is not damage");
}

#[test]
fn seeking_where_times_go_back_still_finds_an_event_at_or_after_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut utimes: Vec<i64> = (0..2_000).map(|n| (n * 7_919) % 10_007).collect();
    utimes[0] = 0;
    utimes[1_234] = 99_999;
    write(&path, &utimes);
    let mut scanner = Scanner::open(&path).unwrap();
    for target in [1, 500, 5_000, 10_000, 50_000, 99_999] {
        scanner.seek_to(target).unwrap();
        let found = next(&mut scanner).expect("there is one");
        assert!(found.utime >= target, "target {target}, found {found:?}");
    }
    scanner.seek_to(100_000).unwrap();
    assert!(next(&mut scanner).is_none());
}

#[test]
fn a_log_inside_a_payload_does_not_lead_seeking_astray() {
    let folder = tempfile::tempdir().unwrap();
    let (inner_path, path) = (folder.path().join("inner"), folder.path().join("log"));
    write(&inner_path, &(0..2_000).map(|n| n * 10).collect::<Vec<_>>());
    let inner = std::fs::read(&inner_path).unwrap();
    let mut writer = create(&path);
    for number in 0..20 {
        put(&mut writer, number * 1_000, "LOG", &inner).unwrap();
    }
    writer.flush().unwrap();
    let mut scanner = Scanner::open(&path).unwrap();
    for target in (0..19_000).step_by(333) {
        scanner.seek_to(target).unwrap();
        let found = next(&mut scanner).unwrap();
        assert_eq!(found.channel, "LOG", "target {target}");
        assert_eq!(found.number, (target + 999) / 1_000, "target {target}");
    }
}

#[test]
fn seeking_to_a_place_gives_the_next_event_that_starts_there_or_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    write(&path, &[1, 2, 3]);
    let mut scanner = Scanner::open(&path).unwrap();
    let mut starts = Vec::new();
    loop {
        let position = scanner.position();
        let Some(event) = next(&mut scanner) else {
            break;
        };
        starts.push((position, event.number));
    }
    for place in 0..=scanner.size().unwrap() {
        scanner.seek(place);
        let expected = starts.iter().find(|(start, _)| *start >= place);
        let found = next(&mut scanner).map(|event| event.number);
        assert_eq!(found, expected.map(|(_, number)| *number), "place {place}");
    }
    assert_eq!(scanner.damaged_bytes(), 0);
}

#[test]
fn damage_loses_what_it_touches_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    write(&path, &(0..100).collect::<Vec<_>>());
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() / 2;
    bytes.splice(at..at, *b"not a record");
    let torn = bytes.len() - 3;
    std::fs::write(&path, &bytes[..torn]).unwrap();
    let mut scanner = Scanner::open(&path).unwrap();
    let numbers: Vec<i64> = all(&mut scanner).iter().map(|event| event.number).collect();
    assert!(numbers.len() >= 98, "{numbers:?}");
    assert!(numbers.is_sorted());
    assert!(scanner.damaged_bytes() > 0);
}

#[test]
fn appending_goes_on_with_the_numbers_also_after_a_torn_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    for _ in 0..3 {
        let mut writer = Writer::append(&path, options()).unwrap();
        put(&mut writer, 1, "A", b"x").unwrap();
        put(&mut writer, 2, "A", b"y").unwrap();
        writer.sync().unwrap();
    }
    let numbers = |path| -> Vec<i64> {
        let mut scanner = Scanner::open(path).unwrap();
        all(&mut scanner).iter().map(|event| event.number).collect()
    };
    assert_eq!(numbers(&path), [0, 1, 2, 3, 4, 5]);

    let whole = std::fs::read(&path).unwrap();
    let mut torn = OpenOptions::new().append(true).open(&path).unwrap();
    torn.write_all(&whole[whole.len() - 30..whole.len() - 2])
        .unwrap();
    let mut writer = Writer::append(&path, options()).unwrap();
    let number = put(&mut writer, 3, "A", b"after the crash").unwrap();
    writer.flush().unwrap();
    assert_eq!(number, 7, "what was cut off had a number too");
    assert_eq!(numbers(&path), [0, 1, 2, 3, 4, 5, 7]);
}

#[test]
fn a_reader_at_the_end_sees_what_is_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut writer = create(&path);
    let mut scanner = Scanner::open(&path).unwrap();
    for number in 0..3 {
        assert!(next(&mut scanner).is_none());
        put(&mut writer, number, "A", b"x").unwrap();
        writer.flush().unwrap();
        assert_eq!(next(&mut scanner).unwrap().number, number);
    }
}

#[test]
fn failed_write_or_open_reports_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = create(folder.path().join("log"));
    assert!(put(&mut writer, 0, "", b"x").is_err());
    assert!(put(&mut writer, 0, "nul\0", b"x").is_err());
    assert_eq!(put(&mut writer, 0, "A", b"x").unwrap(), 0);
    let error = Scanner::open(folder.path().join("none"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot read the log"), "{error}");
    let mut full = create("/dev/full");
    put(&mut full, 0, "A", b"x").unwrap();
    let error = full.flush().unwrap_err().to_string();
    assert!(error.contains("cannot write the log"), "{error}");
}
