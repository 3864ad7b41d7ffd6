//! Logs and frames recorded from the reference: we read what it writes, and write the same.

use bowline_msgs::{ChannelPortMapUpdate, ChannelToPort};
use bowline_tests::peers::Peers;
use bowline_wire::eventlog::{self, Record};
use bowline_wire::tcpq::{self, Frame, Limits, Side};
use bowline_wire::{Fingerprint, Message as _, mpudpm};
use std::fs;
use std::path::Path;
use std::process::Command;

fn golden() -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/transports.toml");
    let text = fs::read_to_string(path).expect("golden transports are committed");
    text.parse().expect("golden transports are TOML")
}

fn rows<'t>(table: &'t toml::Table, key: &str) -> impl Iterator<Item = &'t toml::Value> {
    table[key].as_array().expect("a list").iter()
}

fn text<'t>(row: &'t toml::Value, key: &str) -> &'t str {
    row[key].as_str().expect("text")
}

fn unhex(value: &toml::Value) -> Vec<u8> {
    let digits = value.as_str().expect("text").as_bytes();
    let byte = |pair: &[u8]| {
        u8::from_str_radix(std::str::from_utf8(pair).expect("hex is ASCII"), 16).expect("hex")
    };
    digits.chunks_exact(2).map(byte).collect()
}

fn write_log(records: &[Record<'_>]) -> Vec<u8> {
    let mut log = Vec::new();
    for record in records {
        let n_payload = record.payload.len();
        eventlog::write_header(
            record.number,
            record.utime,
            record.channel,
            n_payload,
            &mut log,
        )
        .expect("a record that can be written");
        log.extend_from_slice(record.payload);
    }
    log
}

fn read_log(log: &[u8]) -> Vec<Record<'_>> {
    let mut rest = log;
    let mut records = Vec::new();
    while let eventlog::Step::Record(record) = eventlog::parse(rest, true, 1 << 20) {
        rest = &rest[record.encoded_len()..];
        records.push(record);
    }
    assert_eq!(
        eventlog::parse(rest, true, 1 << 20),
        eventlog::Step::End { trailing: 0 },
        "after {records:?}"
    );
    records
}

#[test]
fn a_log_of_the_reference_is_read_and_written_again_byte_for_byte() {
    let golden = golden();
    let log = unhex(&golden["log"]);
    let payloads: Vec<Vec<u8>> = rows(&golden, "event")
        .map(|row| unhex(&row["payload"]))
        .collect();
    let expected: Vec<Record<'_>> = (0..)
        .zip(rows(&golden, "event").zip(&payloads))
        .map(|(number, (row, payload))| Record {
            number,
            utime: row["utime"].as_integer().expect("a number"),
            channel: text(row, "channel"),
            payload,
        })
        .collect();
    assert_eq!(read_log(&log), expected);
    assert_eq!(write_log(&expected), log);
}

/// Copies a log, event by event, through the reference's library.
const COPY: &str = "
import lcm, sys
copy = lcm.EventLog(sys.argv[2], 'w', overwrite=True)
for event in lcm.EventLog(sys.argv[1]):
    copy.write_event(event.timestamp, event.channel, event.data)
copy.close()
";

#[test]
fn a_log_of_ours_passes_through_the_reference_unchanged() {
    let peers = Peers::find();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logs");
    fs::create_dir_all(&folder).unwrap();
    let longest = "c".repeat(eventlog::MAX_CHANNEL_LEN);
    let large = vec![0xED; 300_000];
    let record = |number, channel, payload| Record {
        number,
        utime: i64::MAX - number,
        channel,
        payload,
    };
    let log = write_log(&[
        record(0, "a", b"".as_slice()),
        record(1, &longest, &eventlog::SYNC),
        record(2, "d\u{e9}pth", &large),
        record(3, "z", b"end"),
    ]);
    fs::write(folder.join("ours"), &log).unwrap();
    let mut python = Command::new(peers.python());
    let status = python
        .args(["-c", COPY])
        .args([folder.join("ours"), folder.join("theirs")])
        .status();
    assert!(status.unwrap().success());
    let theirs = fs::read(folder.join("theirs")).unwrap();
    assert!(
        theirs == log,
        "the reference read {} of {} bytes",
        theirs.len(),
        log.len()
    );
}

/// The frames of one side after its hello.
fn frames(said: &[u8], side: Side) -> Vec<Frame<'_>> {
    assert_eq!(side.read_hello(said), Ok(Some(tcpq::VERSION)));
    assert_eq!(said[..tcpq::HELLO_LEN], side.hello());
    let mut rest = &said[tcpq::HELLO_LEN..];
    let mut frames = Vec::new();
    while let Some((frame, consumed)) = tcpq::parse(rest, &Limits::default()).expect("frames") {
        frames.push(frame);
        rest = &rest[consumed..];
    }
    assert_eq!(rest, b"");
    frames
}

fn write(frames: &[Frame<'_>], side: Side) -> Vec<u8> {
    let mut said = side.hello().to_vec();
    for frame in frames {
        frame.write(&mut said).expect("a frame that can be written");
    }
    said
}

#[test]
fn frames_of_the_reference_are_read_and_written_again_byte_for_byte() {
    let golden = golden();
    let pattern = "PO.*";
    let pose = Frame::Publish {
        channel: "POSE",
        payload: &[1, 2, 3],
    };
    let empty = Frame::Publish {
        channel: "E",
        payload: b"",
    };
    let from_client = vec![
        Frame::Subscribe { pattern },
        empty,
        pose,
        Frame::Unsubscribe { pattern },
    ];
    for (key, side, expected) in [
        ("tcpq_client", Side::Client, from_client),
        ("tcpq_hub", Side::Server, vec![pose]),
    ] {
        let said = unhex(&golden[key]);
        assert_eq!(frames(&said, side), expected, "{key}");
        assert_eq!(write(&expected, side), said, "{key}");
    }
}

#[test]
fn channels_are_on_the_ports_where_the_reference_sends_them() {
    for row in rows(&golden(), "port") {
        let number = |key: &str| u16::try_from(row[key].as_integer().unwrap()).unwrap();
        let port = mpudpm::port_of(text(row, "channel"), 20_000, number("n_ports"));
        assert_eq!(port - 20_000, number("index"), "{}", text(row, "channel"));
    }
}

#[test]
fn patterns_are_regular_expressions_where_the_reference_takes_them_for_such() {
    for row in rows(&golden(), "pattern") {
        let expected = row["is_regex"].as_bool().unwrap();
        assert_eq!(
            mpudpm::is_regex(text(row, "pattern")),
            expected,
            "{}",
            text(row, "pattern")
        );
    }
}

#[test]
fn the_map_of_channels_is_the_reference_s() {
    assert_eq!(
        ChannelToPort::FINGERPRINT,
        Fingerprint(0x23bb_d3f4_8548_7226)
    );
    assert_eq!(
        ChannelPortMapUpdate::FINGERPRINT,
        Fingerprint(0xcba5_1af0_1aff_9e62)
    );
    let golden = golden();
    let update = ChannelPortMapUpdate {
        num_ports: mpudpm::DEFAULT_N_PORTS.cast_signed(),
        mapping: vec![ChannelToPort {
            channel: "POSE".into(),
            port: mpudpm::port_of("POSE", 22_000, mpudpm::DEFAULT_N_PORTS).cast_signed(),
        }],
        ..ChannelPortMapUpdate::default()
    };
    let message = update.with_lengths().encode().unwrap();
    assert_eq!(message, unhex(&golden["mpudpm_update"]));
    assert_eq!(mpudpm::MAP_REQUEST, unhex(&golden["mpudpm_request"]));
}
