//! Channels and their traffic, the last events, and guesses.

use bowline_bus::{Arrival, Bytes, Channel, Event, Sender};
use bowline_format::{Catalog, Schemas};
use bowline_inspect::{History, Watch, guess, hex_lines};
use bowline_msgs::Pose;
use bowline_wire::Message as _;

const START_NS: i64 = 1_763_269_856_000_000_000;

fn event(channel: &str, at_ns: i64, payload: &[u8]) -> Event {
    Event {
        channel: Channel::from(channel),
        payload: Bytes::copy_from_slice(payload),
        arrival: Arrival {
            received_ns: START_NS + at_ns,
            sender: Sender::Process,
            sequence: None,
        },
    }
}

fn catalog() -> Catalog {
    Catalog::new(Schemas::default(), bowline_msgs::SCHEMA)
}

#[test]
fn every_message_is_counted_and_undecodable_ones_are_reported() {
    let catalog = catalog();
    let pose = Pose::default().encode().unwrap();
    let mut watch = Watch::default();
    for i in 0..100 {
        watch.take(&event("pose", i * 10_000_000, &pose), &catalog);
        watch.take(&event("broken", i * 10_000_000, &pose[..20]), &catalog);
        watch.take(
            &event("unknown", i * 10_000_000, b"12345678 and more"),
            &catalog,
        );
        watch.take(&event("short", i * 10_000_000, b"1234"), &catalog);
    }
    assert_eq!(watch.len(), 4);
    let counts = |channel: &str| {
        let traffic = watch.get(channel).unwrap();
        (traffic.messages, traffic.unknown, traffic.broken)
    };
    assert_eq!(counts("pose"), (100, 0, 0));
    assert_eq!(counts("broken"), (100, 0, 100));
    assert_eq!(counts("unknown"), (100, 100, 0));
    assert_eq!(counts("short"), (100, 100, 0));
    let traffic = watch.get("pose").unwrap();
    assert_eq!(traffic.types(), [Pose::FINGERPRINT]);
    assert_eq!(traffic.bytes, 100 * pose.len() as u64);
    assert!(!traffic.is_sampled());
    let rate_hz = traffic.rate_hz(START_NS + 1_000_000_000);
    assert!((90.0..110.0).contains(&rate_hz), "{rate_hz}");
}

#[test]
fn flood_is_sampled_and_marked() {
    let catalog = catalog();
    let pose = Pose::default().encode().unwrap();
    let mut watch = Watch::default();
    for i in 0..50_000 {
        watch.take(&event("pose", i * 20_000, &pose), &catalog);
    }
    let traffic = watch.get("pose").unwrap();
    assert_eq!(traffic.messages, 50_000);
    assert!(traffic.is_sampled());
    assert!((1_000..5_000).contains(&traffic.checked), "{traffic:?}");
}

#[test]
fn channels_beyond_the_limit_cost_no_memory() {
    let catalog = catalog();
    let mut watch = Watch::default();
    for i in 0..70_000 {
        watch.take(&event(&format!("channel.{i}"), i, b"x"), &catalog);
    }
    assert_eq!(watch.len(), 65_536);
    assert_eq!(watch.unlisted(), 70_000 - 65_536);
}

#[test]
fn several_types_and_senders_of_a_channel_are_all_known() {
    let catalog = catalog();
    let mut watch = Watch::default();
    for i in 0..40_u8 {
        let mut event = event("mixed", i.into(), &[i % 3; 16]);
        event.arrival.sender = Sender::Memory((i % 20).into());
        watch.take(&event, &catalog);
    }
    let traffic = watch.get("mixed").unwrap();
    assert_eq!(traffic.types().len(), 3);
    let (senders, has_more) = traffic.senders();
    assert_eq!((senders.len(), has_more), (16, true));
    assert_eq!(traffic.sender(), Some(Sender::Memory(19)));
}

#[test]
fn history_forgets_the_oldest_and_keeps_its_numbers() {
    let mut history = History::new(10_000);
    for i in 0..100 {
        let channel = if i % 2 == 0 { "even" } else { "odd" };
        history.push(event(channel, i, &[0; 840]));
    }
    assert_eq!(history.numbers(), 90..100);
    assert_eq!(history.n_forgotten(), 90);
    assert!(history.get(89).is_none());
    let (number, _) = history.last("even").unwrap();
    assert_eq!(number, 98);
    let number_of = |found: Option<(u64, &Event)>| found.map(|(number, _)| number);
    assert_eq!(number_of(history.before("even", 98)), Some(96));
    assert_eq!(number_of(history.after("even", 96)), Some(98));
    assert_eq!(number_of(history.after("even", 98)), None);
    assert_eq!(number_of(history.before("even", 90)), None);
    assert_eq!(history.oldest_ns(), Some(START_NS + 90));
    assert_eq!(history.between(START_NS + 95, START_NS + 97).count(), 3);
}

#[test]
fn guesses_are_right_about_what_is_common() {
    let catalog = catalog();
    let mut pose = Pose::default().encode().unwrap();
    pose[3] ^= 1;
    let cases: [(&[u8], &str); 9] = [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n....", "PNG"),
        (b"{\"a\": 1}", "JSON"),
        (b"$GPRMC,1,2,3*00\r\n", "NMEA"),
        ("schön\0".as_bytes(), "text"),
        (&[0; 40], "40 zeros"),
        (b"\x01\x02\x03", "too few"),
        (&pose, "would fit bowline.pose_t"),
        (b"\x81\x92\x03\x04\x05\x06\x07\x08\xff", "unknown type"),
    ];
    for (payload, expected) in cases {
        let found = guess(payload, &catalog);
        assert!(found.contains(expected), "{payload:?}: {found}");
    }
}

#[test]
fn bytes_are_shown_sixteen_a_line() {
    let payload: Vec<u8> = (0x3a..0x5c).collect();
    assert_eq!(
        hex_lines(&payload, 0..9),
        [
            "000000  3a 3b 3c 3d 3e 3f 40 41  42 43 44 45 46 47 48 49  :;<=>?@ABCDEFGHI",
            "000010  4a 4b 4c 4d 4e 4f 50 51  52 53 54 55 56 57 58 59  JKLMNOPQRSTUVWXY",
            "000020  5a 5b                                             Z[",
        ]
    );
    assert_eq!(hex_lines(&payload, 1..2).len(), 1);
}
