//! The last seconds are kept in memory, and written when something happens.

use super::{contents, live, record};
use bowline_log::record::{Condition, Status, TriggerOptions};
use bowline_log::{BOOKMARK_CHANNEL, IndexUse, OwnedEvent, SCHEMA_CHANNEL, Schemas};
use bowline_msgs::{Bookmark, GpsRmc, Waypoint};
use bowline_testing::patience::wait_until;
use bowline_wire::Message as _;
use bowline_wire::schema::TypeSet;
use std::path::Path;
use std::time::Duration;

/// One event a second, of which number `i` has a speed of `i` knots.
fn fixes(n_events: i64) -> Vec<OwnedEvent> {
    let fix = |i: i64| {
        let message = GpsRmc {
            utime: i,
            #[expect(clippy::cast_precision_loss, reason = "they are few")]
            sog: i as f64,
            ..GpsRmc::default()
        };
        OwnedEvent {
            number: i,
            utime: 1_700_000_000_000_000 + i * 1_000_000,
            nanos: 0,
            channel: "vehicle.gps".to_owned(),
            payload: message.encode().unwrap(),
        }
    };
    (0..n_events).map(fix).collect()
}

fn schemas() -> Schemas {
    let mut schemas = Schemas::default();
    schemas.add(&TypeSet::from_bytes(bowline_msgs::SCHEMA).unwrap());
    schemas
}

fn trigger(before_s: u64, after_s: Option<u64>, conditions: &[&str]) -> TriggerOptions {
    let parse = |text: &&str| text.parse::<Condition>().unwrap();
    TriggerOptions {
        before: Duration::from_secs(before_s),
        after: after_s.map(Duration::from_secs),
        conditions: conditions.iter().map(parse).collect(),
        ..TriggerOptions::default()
    }
}

fn played(folder: &Path, n_events: i64, options: TriggerOptions) -> (Status, Vec<String>) {
    record(folder, &fixes(n_events), |recorder| {
        recorder.schemas = schemas();
        recorder.trigger = Some(options);
    })
}

/// The numbers of the fixes in a log.
fn numbers(path: &Path) -> Vec<i64> {
    let mut found = contents(path);
    found.retain(|(channel, _)| channel == "vehicle.gps");
    let number = |(_, payload): &(String, Vec<u8>)| GpsRmc::decode(payload).unwrap().utime;
    found.iter().map(number).collect()
}

#[test]
fn what_was_before_is_recorded_when_a_condition_holds_and_what_comes_after() {
    #[rustfmt::skip]
    let cases: &[(&str, Option<u64>, Vec<i64>)] = &[
        ("vehicle.gps.sog == 20",           Some(2), (15..=22).collect()),
        ("vehicle.gps.sog >= 20.0",         None,    (15..30).collect()),
        ("vehicle.gps.sog > 27",            Some(1), (23..30).collect()),
        ("vehicle.gps.utime<3",             Some(1), (0..=3).collect()),
        ("vehicle.gps.sog != 7 ",           None,    (0..30).collect()),
        ("vehicle.gps.sog < -0.5",          None,    vec![]),
        ("vehicle.gps",                     None,    (0..30).collect()),
        ("vehicle\\.g.*",                   None,    (0..30).collect()),
        ("sonar.depth",                     None,    vec![]),
    ];
    for (condition, after_s, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (status, notices) = played(folder.path(), 30, trigger(5, *after_s, &[condition]));
        let found = numbers(&folder.path().join("out"));
        assert_eq!(found, *expected, "{condition}: {notices:?}");
        assert!(!status.is_lossy());
        assert_eq!(status.n_recorded + status.n_expired, 30, "{condition}");
        assert_eq!(status.n_triggers, u64::from(!expected.is_empty()));
    }
}

#[test]
fn second_trigger_is_recorded_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let options = trigger(
        2,
        Some(1),
        &["vehicle.gps.sog == 10", "vehicle.gps.sog == 20"],
    );
    let (status, _) = played(folder.path(), 30, options);
    let path = folder.path().join("out");
    assert_eq!(numbers(&path), [8, 9, 10, 11, 18, 19, 20, 21]);
    assert_eq!(status.n_triggers, 2);
    let texts: Vec<String> = contents(&path)
        .iter()
        .filter(|(channel, _)| channel == BOOKMARK_CHANNEL)
        .map(|(_, payload)| Bookmark::decode(payload).unwrap().text)
        .collect();
    assert_eq!(
        texts,
        [
            "triggered: vehicle.gps.sog == 10",
            "triggered: vehicle.gps.sog == 20"
        ]
    );
}

#[test]
fn no_more_is_kept_than_asked_and_what_was_too_much_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let options = TriggerOptions {
        max_bytes: 1_000,
        ..trigger(60, None, &["vehicle.gps.sog == 29"])
    };
    let (status, _) = played(folder.path(), 30, options);
    assert_eq!(
        numbers(&folder.path().join("out")),
        [24, 25, 26, 27, 28, 29]
    );
    assert_eq!((status.n_recorded, status.n_over), (6, 24));
    assert!(status.is_lossy(), "it was asked for a minute");
}

#[test]
fn a_condition_that_makes_no_sense_is_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let (status, notices) = played(
        folder.path(),
        30,
        trigger(5, None, &["vehicle.gps.speed > 1"]),
    );
    assert_eq!(status.n_triggers, 0);
    let [notice] = &notices[..] else {
        panic!("{notices:?}");
    };
    assert!(
        notice.contains("speed") && notice.contains("sog"),
        "{notice}"
    );
}

#[test]
fn invalid_condition_reports_what_was_expected() {
    for (text, part) in [
        ("volts < 1", "CHANNEL.FIELD"),
        ("a.b <", "a number"),
        ("a.b < c", "a number"),
        ("a.b[ < 1", "]"),
        ("(", "regular expression"),
    ] {
        let error = text.parse::<Condition>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn types_come_over_the_bus_and_texts_compare() {
    let folder = tempfile::tempdir().unwrap();
    let (bus, mut recorder, path) = live(folder.path(), |options| {
        options.trigger = Some(trigger(60, None, &["nav.goal.id == \"dock\""]));
    });
    let goal = |id: &str| Waypoint {
        id: id.to_owned(),
        ..Waypoint::default()
    };
    bus.publish("nav.goal", &goal("dock")).unwrap();
    let description = schemas().description(Waypoint::FINGERPRINT).unwrap();
    bus.publish(SCHEMA_CHANNEL, &description).unwrap();
    bus.publish("nav.goal", &goal("buoy")).unwrap();
    bus.publish("nav.goal", &goal("dock")).unwrap();
    let status = recorder.stop();
    assert_eq!(status.n_triggers, 1);
    assert_eq!(status.n_recorded, 4, "the type was not known at first");
    let mut reader = crate::support::open(&path, IndexUse::Make);
    assert!(reader.schemas().find(Waypoint::FINGERPRINT).is_some());
    // And the bookmark, and a description before the first of its type.
    assert_eq!(crate::support::rest(&mut reader).len(), 6);
}

#[test]
fn a_key_triggers_too() {
    let folder = tempfile::tempdir().unwrap();
    let (bus, mut recorder, path) = live(folder.path(), |options| {
        options.trigger = Some(trigger(60, None, &[]));
    });
    bus.publish_bytes("X", b"before").unwrap();
    wait_until("an event that is kept", || recorder.status().n_kept > 0);
    recorder.trigger();
    wait_until("an event that is recorded", || {
        recorder.status().n_recorded > 0
    });
    bus.publish_bytes("X", b"after").unwrap();
    let status = recorder.stop();
    assert_eq!((status.n_triggers, status.n_recorded), (1, 2));
    let payloads: Vec<_> = contents(&path)
        .into_iter()
        .filter(|(channel, _)| channel == "X")
        .map(|(_, payload)| payload)
        .collect();
    assert_eq!(payloads, [&b"before"[..], b"after"]);
}
