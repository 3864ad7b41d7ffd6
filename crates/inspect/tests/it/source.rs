//! A bus or a log with its types, from publishers of every kind.

use bowline_bus::{Bus, SCHEMA_CHANNEL, SCHEMA_REQUEST_CHANNEL};
use bowline_format::{LogEvent, Writer, WriterOptions};
use bowline_inspect::{Describing, Next, Source, SourceOptions};
use bowline_msgs::{Schema, SchemaRequest};
use bowline_testing::patience::PATIENCE;
use bowline_wire::schema::{
    Docs, Member, Primitive, Struct, Type, TypeDef, TypeId, TypeKind, TypeSet,
};
use bowline_wire::{Fingerprint, Message as _, Value};
use std::time::Duration;

fn options(patterns: &[&str]) -> SourceOptions {
    SourceOptions {
        patterns: patterns.iter().map(ToString::to_string).collect(),
        ..SourceOptions::default()
    }
}

/// A type that this program has never seen: one number of a name.
fn one_number(field: &str) -> TypeSet {
    let member = Member {
        name: field.to_owned(),
        doc: String::new(),
        ty: Type::Primitive(Primitive::Int32),
        dims: Vec::new(),
    };
    let def = TypeDef {
        package: "far".to_owned(),
        name: "away_t".to_owned(),
        doc: String::new(),
        kind: TypeKind::Struct(Struct {
            members: vec![member],
            constants: Vec::new(),
        }),
    };
    TypeSet::new(vec![def]).unwrap()
}

const ID: TypeId = TypeId(0);

fn print_of(types: &TypeSet) -> Fingerprint {
    types.fingerprint(ID).unwrap()
}

fn message(types: &TypeSet, number: i32) -> Vec<u8> {
    let value = Value::Struct(Box::new([Value::Int32(number)]));
    types.encode(ID, &value).unwrap()
}

/// The description of an honest publisher.
fn description(types: &TypeSet) -> Schema {
    Schema {
        version: Schema::VERSION,
        fingerprint: print_of(types).0.cast_signed(),
        name: "far.away_t".to_owned(),
        host: "boat".to_owned(),
        process: "pilot".to_owned(),
        pid: 7,
        channels: vec!["far".to_owned()],
        bytes: types.to_bytes(Docs::Keep),
        ..Schema::default()
    }
    .with_lengths()
}

/// A source of a bus, and that bus. Its publishers describe by hand.
fn open(patterns: &[&str]) -> (Bus, Source) {
    let bus = Bus::open("memq://?announce=off").unwrap();
    let source = Source::of_bus(&bus, options(patterns)).unwrap();
    (bus, source)
}

/// All that is there.
fn drain(source: &mut Source) -> Vec<String> {
    let mut events = Vec::new();
    let mut n_before = None;
    while n_before != Some(events.len()) {
        n_before = Some(events.len());
        source.poll(Duration::ZERO, 100, &mut events).unwrap();
    }
    events.iter().map(|it| it.channel.to_string()).collect()
}

/// What is known of a message after all that is there was taken in.
fn shown(source: &mut Source, payload: &[u8]) -> Option<String> {
    drain(source);
    let decoded = source.catalog().decode(payload)?.unwrap();
    Some(decoded.types.to_json(decoded.id, &decoded.value))
}

#[test]
fn a_type_that_is_described_on_the_bus_is_known_before_its_first_message_is_handed_on() {
    let bus = Bus::open("memq://").unwrap();
    let mut source = Source::of_bus(&bus, options(&["far"])).unwrap();
    let types = one_number("x");
    bus.describe("far", &types, ID);
    let payload = message(&types, 5);
    bus.publish_bytes("far", &payload).unwrap();
    let Next::Event(event) = source.next(PATIENCE).unwrap() else {
        panic!("expected an event")
    };
    // The description itself was not asked for.
    assert_eq!(event.channel.as_str(), "far");
    let decoded = source.catalog().decode(&event.payload).unwrap().unwrap();
    assert_eq!(decoded.name(), "far.away_t");
    assert_eq!(source.description_counts().in_use, 1);
    let publisher = source.publishers().iter().next().unwrap();
    assert_eq!(publisher.pid.cast_unsigned(), std::process::id());
    assert!(publisher.channels["far"].contains("far.away_t"));
}

#[test]
fn publishers_are_queried_at_the_start() {
    let bus = Bus::open("memq://").unwrap();
    let types = one_number("x");
    bus.describe("far", &types, ID);
    let payload = message(&types, 5);
    bus.publish_bytes("far", &payload).unwrap();
    let described = bus.counts().announced;
    let mut source = Source::of_bus(&bus, options(&["far"])).unwrap();
    bus.publish_bytes("far", &payload).unwrap();
    assert_eq!(bus.counts().announced, described + 1);
    assert_eq!(shown(&mut source, &payload).as_deref(), Some(r#"{"x":5}"#));
}

#[test]
fn who_only_listens_does_not_ask_and_who_does_not_care_learns_nothing() {
    for (describing, is_known) in [(Describing::Listen, true), (Describing::Ignore, false)] {
        let bus = Bus::open("memq://?announce=off").unwrap();
        let requests = bus.events(SCHEMA_REQUEST_CHANNEL).unwrap();
        let options = SourceOptions {
            describing,
            ..options(&["far"])
        };
        let mut source = Source::of_bus(&bus, options).unwrap();
        let types = one_number("x");
        bus.publish(SCHEMA_CHANNEL, &description(&types)).unwrap();
        let payload = message(&types, 5);
        bus.publish_bytes("far", &payload).unwrap();
        assert_eq!(shown(&mut source, &payload).is_some(), is_known);
        assert!(requests.try_recv().unwrap().is_none());
    }
}

#[test]
fn descriptions_and_messages_may_come_in_any_order() {
    for is_described_first in [true, false] {
        let (bus, mut source) = open(&["far"]);
        let types = one_number("x");
        let payload = message(&types, 5);
        if !is_described_first {
            bus.publish_bytes("far", &payload).unwrap();
        }
        bus.publish(SCHEMA_CHANNEL, &description(&types)).unwrap();
        if is_described_first {
            bus.publish_bytes("far", &payload).unwrap();
        }
        assert_eq!(shown(&mut source, &payload).as_deref(), Some(r#"{"x":5}"#));
    }
}

#[test]
fn false_description_is_refused_counted_and_blocks_no_other() {
    let (bus, mut source) = open(&["far"]);
    let types = one_number("x");
    let payload = message(&types, 5);
    let honest = description(&types);
    let of_another = description(&one_number("y")).bytes;
    let lies = [
        Schema {
            bytes: of_another,
            ..honest.clone()
        },
        Schema {
            bytes: b"rubbish".to_vec(),
            ..honest.clone()
        },
        Schema {
            version: Schema::VERSION + 1,
            ..honest.clone()
        },
        Schema {
            bytes: vec![0; 1 << 20],
            ..honest.clone()
        },
    ];
    bus.publish_bytes("far", &payload).unwrap();
    for lie in lies {
        bus.publish(SCHEMA_CHANNEL, &lie.with_lengths()).unwrap();
    }
    bus.publish_bytes(SCHEMA_CHANNEL, b"no message").unwrap();
    assert_eq!(shown(&mut source, &payload), None);
    let counts = source.description_counts();
    let refused = (
        counts.lying,
        counts.malformed,
        counts.other_version,
        counts.too_long,
    );
    assert_eq!(refused, (1, 2, 1, 1));
    assert_eq!((counts.refused(), counts.heard, counts.in_use), (5, 5, 0));

    bus.publish(SCHEMA_CHANNEL, &honest).unwrap();
    assert_eq!(shown(&mut source, &payload).as_deref(), Some(r#"{"x":5}"#));
}

#[test]
fn a_lie_that_came_first_is_found_out_when_it_is_needed() {
    let (bus, mut source) = open(&["far"]);
    let types = one_number("x");
    let payload = message(&types, 5);
    let lie = Schema {
        bytes: description(&one_number("y")).bytes,
        ..description(&types)
    };
    bus.publish(SCHEMA_CHANNEL, &lie.with_lengths()).unwrap();
    assert_eq!(shown(&mut source, &payload), None);
    assert_eq!(source.description_counts().aside, 1);
    bus.publish_bytes("far", &payload).unwrap();
    assert_eq!(shown(&mut source, &payload), None);
    assert_eq!(source.description_counts().lying, 1);
    bus.publish(SCHEMA_CHANNEL, &description(&types)).unwrap();
    assert_eq!(shown(&mut source, &payload).as_deref(), Some(r#"{"x":5}"#));
}

#[test]
fn a_flood_of_descriptions_does_not_keep_out_those_of_messages_that_come() {
    let (bus, mut source) = open(&["far"]);
    let types = one_number("x");
    let payload = message(&types, 5);
    bus.publish_bytes("far", &payload).unwrap();
    for i in 0..10_000 {
        let flood = description(&one_number(&format!("f{i}")));
        bus.publish(SCHEMA_CHANNEL, &flood).unwrap();
        if i % 1_000 == 0 {
            drain(&mut source);
        }
    }
    drain(&mut source);
    let counts = source.description_counts();
    assert_eq!(counts.in_use, 0);
    assert_eq!(counts.aside + counts.dropped, 10_000);
    assert!(counts.aside <= 4_096, "{counts:?}");
    bus.publish(SCHEMA_CHANNEL, &description(&types)).unwrap();
    assert_eq!(shown(&mut source, &payload).as_deref(), Some(r#"{"x":5}"#));
}

#[test]
fn a_flood_of_types_with_messages_makes_room_where_few_messages_come() {
    let (bus, mut source) = open(&["far.*"]);
    let types = one_number("x");
    let payload = message(&types, 5);
    bus.publish(SCHEMA_CHANNEL, &description(&types)).unwrap();
    for i in 0..6_000 {
        bus.publish_bytes("far", &payload).unwrap();
        let other = one_number(&format!("f{i}"));
        bus.publish(SCHEMA_CHANNEL, &description(&other)).unwrap();
        bus.publish_bytes("far.other", &message(&other, 1)).unwrap();
        if i % 100 == 0 {
            drain(&mut source);
        }
    }
    assert_eq!(shown(&mut source, &payload).as_deref(), Some(r#"{"x":5}"#));
    let counts = source.description_counts();
    assert!(counts.in_use <= 4_096 && counts.dropped > 0, "{counts:?}");
}

#[test]
fn events_are_handed_on_once_whatever_patterns_want_them_and_requests_by_their_name_only() {
    for (patterns, expected) in [
        (&["pose", "p.*"][..], &["pose"][..]),
        (&[], &["pose", SCHEMA_CHANNEL]),
        (&[SCHEMA_REQUEST_CHANNEL], &[SCHEMA_REQUEST_CHANNEL; 2]),
        (&["bowline.*"], &[SCHEMA_CHANNEL]),
    ] {
        let (bus, mut source) = open(patterns);
        bus.publish_bytes("pose", b"x").unwrap();
        bus.publish(SCHEMA_CHANNEL, &description(&one_number("x")))
            .unwrap();
        bus.publish(SCHEMA_REQUEST_CHANNEL, &SchemaRequest::default())
            .unwrap();
        assert_eq!(drain(&mut source), expected, "{patterns:?}");
    }
}

#[test]
fn a_path_is_a_log_with_its_own_times_and_types() {
    let folder = tempfile::tempdir().unwrap();
    let types = one_number("x");
    let payload = message(&types, 5);
    let description = description(&types).encode().unwrap();
    for name in ["day.lcmlog", "day.mcap"] {
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
        for (utime, channel, payload) in [
            (1_000, SCHEMA_CHANNEL, &description),
            (2_000, "other", &payload),
            (3_000, "far", &payload),
        ] {
            let event = LogEvent {
                number: 0,
                utime,
                nanos: 0,
                channel,
                payload,
            };
            writer.write(event).unwrap();
        }
        writer.finish().unwrap();
        let mut source = Source::open(path.to_str().unwrap(), options(&["far"])).unwrap();
        let Next::Event(event) = source.next(PATIENCE).unwrap() else {
            panic!("expected an event of {name}")
        };
        assert_eq!(event.channel.as_str(), "far");
        assert_eq!(event.arrival.utime(), 3_000);
        assert_eq!(
            source
                .catalog()
                .decode(&event.payload)
                .unwrap()
                .unwrap()
                .name(),
            "far.away_t"
        );
        assert!(matches!(source.next(PATIENCE).unwrap(), Next::End));
        assert!(source.bus().is_none() && source.log().is_some());
        assert!(source.name().ends_with(name));
    }
}

#[test]
fn failed_open_reports_the_reason() {
    let bad_pattern = Source::open("memq://", options(&["("])).unwrap_err();
    assert!(bad_pattern.to_string().contains('('), "{bad_pattern}");
    assert!(Source::open("/missing.log", options(&[])).is_err());
    assert!(Source::open("nonsense://", options(&[])).is_err());
}

#[test]
fn programs_that_announce_are_known_by_name_and_those_that_fell_silent_make_room() {
    let (bus, mut source) = open(&["far"]);
    let announce = |pid: i32| {
        let schema = Schema {
            pid,
            ..description(&one_number("x"))
        };
        bus.publish(SCHEMA_CHANNEL, &schema).unwrap();
    };
    announce(7);
    drain(&mut source);
    let publisher = source.publishers().iter().next().unwrap().clone();
    assert_eq!((publisher.process.as_str(), publisher.pid), ("pilot", 7));
    let sender = *publisher.senders.first().unwrap();
    assert_eq!(source.publishers().of_sender(sender), Some(&publisher));
    for pid in 8..3_000 {
        announce(pid);
        if pid % 1_000 == 0 {
            drain(&mut source);
        }
    }
    drain(&mut source);
    let publishers = source.publishers();
    assert!(publishers.iter().count() <= 1_024);
    assert!(publishers.n_dropped() > 0);
    // Several programs behind one sender cannot be distinguished by it.
    assert_eq!(publishers.of_sender(sender), None);
}
