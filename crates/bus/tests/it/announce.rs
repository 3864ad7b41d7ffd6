//! The descriptions that publishers send of their types.

use bowline_bus::{Bus, Queue, SCHEMA_CHANNEL, SCHEMA_REQUEST_CHANNEL};
use bowline_msgs::{Path, Pose, Schema, SchemaRequest, Waypoint};
use bowline_testing::network;
use bowline_testing::patience::PATIENCE;
use bowline_wire::schema::TypeSet;
use bowline_wire::{Fingerprint, Message as _};

const UDPM: &str = "udpm://239.255.76.67:7667?ttl=0";

fn open(url: &str) -> Bus {
    Bus::open(url).unwrap()
}

/// The channels of the next `n` events, and the descriptions of types in them.
fn heard(inbox: &bowline_bus::Inbox, n: usize) -> (Vec<String>, Vec<Schema>) {
    let mut channels = Vec::new();
    let mut schemas = Vec::new();
    for _ in 0..n {
        let (_, event) = inbox
            .recv_timeout(PATIENCE)
            .unwrap()
            .expect("an event in time");
        if event.channel.as_str() == SCHEMA_CHANNEL {
            schemas.push(Schema::decode(&event.payload).unwrap());
        }
        channels.push(event.channel.to_string());
    }
    (channels, schemas)
}

#[test]
fn a_type_is_described_before_its_first_message_and_for_each_channel() {
    network::alone(|| {
        for url in [UDPM, "memq://", "mpudpm://239.255.76.67:7667?ttl=0"] {
            let (publisher, watcher) = match url {
                "memq://" => {
                    let bus = open(url);
                    (bus.clone(), bus)
                }
                _ => (open(url), open(url)),
            };
            let inbox = watcher.inbox();
            inbox.subscribe(".*", Queue::default()).unwrap();
            publisher.publish("path", &Path::default()).unwrap();
            publisher.publish("path", &Path::default()).unwrap();
            publisher.publish("other.path", &Path::default()).unwrap();
            let mut cork = publisher.cork();
            cork.publish("pose", &Pose::default()).unwrap();
            cork.flush().unwrap();
            let (channels, schemas) = heard(&inbox, 7);
            let expected = [
                SCHEMA_CHANNEL,
                "path",
                "path",
                SCHEMA_CHANNEL,
                "other.path",
                SCHEMA_CHANNEL,
                "pose",
            ];
            assert_eq!(channels, expected, "{url}");
            let [first, second, third] = &schemas[..] else {
                panic!("{schemas:?}")
            };
            assert_eq!(first.channels, ["path"]);
            assert_eq!(second.channels, ["path", "other.path"]);
            assert_eq!(third.name, "bowline.pose_t");
            assert_eq!(first.version, Schema::VERSION);
            assert_eq!(first.pid, i32::try_from(std::process::id()).unwrap());
            assert!(
                !first.process.is_empty() && !first.host.is_empty(),
                "{first:?}"
            );
            let types = TypeSet::from_bytes(&first.bytes).unwrap();
            let fingerprint = Fingerprint(first.fingerprint.cast_unsigned());
            assert_eq!(fingerprint, Path::FINGERPRINT);
            assert!(types.by_fingerprint(Path::FINGERPRINT).is_some());
            assert!(types.by_name("bowline.waypoint_t").is_some());
            assert_eq!(publisher.counts().announced, 3);
            assert_eq!(publisher.counts().published, 4);
        }
    });
}

#[test]
fn untyped_or_disabled_publisher_announces_nothing() {
    for (url, is_typed) in [("memq://", false), ("memq://?announce=off", true)] {
        let bus = open(url);
        let inbox = bus.inbox();
        inbox.subscribe(".*", Queue::default()).unwrap();
        if is_typed {
            bus.publish("path", &Path::default()).unwrap();
        } else {
            let payload = Path::default().encode().unwrap();
            bus.publish_bytes("path", &payload).unwrap();
        }
        assert_eq!(heard(&inbox, 1).0, ["path"]);
        assert_eq!(bus.counts().announced, 0);
    }
    assert!(Bus::open("memq://?announce=maybe").is_err());
}

#[test]
fn types_known_at_run_time_can_be_described_too() {
    let bus = open("memq://");
    let inbox = bus.inbox();
    inbox.subscribe(".*", Queue::default()).unwrap();
    let types = TypeSet::from_bytes(Waypoint::SCHEMA).unwrap();
    let id = types.by_name("bowline.waypoint_t").unwrap();
    let payload = Waypoint::default().encode().unwrap();
    for _ in 0..2 {
        bus.describe("waypoint", &types, id);
        bus.publish_bytes("waypoint", &payload).unwrap();
    }
    let (channels, schemas) = heard(&inbox, 3);
    assert_eq!(channels, [SCHEMA_CHANNEL, "waypoint", "waypoint"]);
    assert_eq!(schemas[0].name, "bowline.waypoint_t");
}

#[test]
fn a_bus_that_is_read_answers_requests_with_its_next_message() {
    network::alone(|| {
        let publisher = open(UDPM);
        let listening = publisher.inbox();
        listening.subscribe("other", Queue::default()).unwrap();
        for (channel, i) in [("a", 0), ("b", 1), ("c", 2)] {
            publisher
                .publish(
                    channel,
                    &Path {
                        timestamp: i,
                        ..Path::default()
                    },
                )
                .unwrap();
            publisher.publish(channel, &Pose::default()).unwrap();
        }
        let late = open(UDPM);
        let inbox = late.inbox();
        inbox.subscribe(SCHEMA_CHANNEL, Queue::default()).unwrap();
        late.publish(SCHEMA_REQUEST_CHANNEL, &SchemaRequest::default())
            .unwrap();
        late.publish("other", &Pose::default()).unwrap();
        // What comes after the request: a bus that has read this has read the request.
        listening
            .recv_timeout(PATIENCE)
            .unwrap()
            .expect("what was published");
        publisher.publish("a", &Path::default()).unwrap();
        // The watcher's own comes back too; requests need no description.
        let mut names: Vec<_> = heard(&inbox, 3)
            .1
            .into_iter()
            .map(|schema| schema.name)
            .collect();
        names.sort();
        let expected = ["path_t", "pose_t", "pose_t"];
        assert_eq!(names, expected.map(|name| format!("bowline.{name}")));
    });
}

#[test]
fn a_flood_of_requests_is_no_flood_of_answers() {
    let bus = open("memq://");
    let _listening = bus.events("other").unwrap();
    for _ in 0..1_000 {
        bus.publish(SCHEMA_REQUEST_CHANNEL, &SchemaRequest::default())
            .unwrap();
        bus.publish("a", &Path::default()).unwrap();
    }
    // Once at first, which answers the first request too, and then once a second.
    let announced = bus.counts().announced;
    assert!((1..200).contains(&announced), "{announced}");
}
