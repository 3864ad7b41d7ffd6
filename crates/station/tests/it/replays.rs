//! A log in the same displays.

use crate::browser::{Page, Sent, audits_until, log_in, options, people, stop};
use bowline_bus::Bus;
use bowline_log::record::{FileOptions, Recorder, RecorderOptions};
use bowline_log::{LogEvent, Reader, Schemas, Writer, WriterOptions};
use bowline_msgs::{Alarm, Alarms, Audit, Beat, ListedAlarm, Thrust};
use bowline_station::{Access, Options, Origin, Station};
use bowline_wire::Message as _;
use serde_json::{Value, json};
use std::path::Path;

const FIRST: i64 = 1_000_000_000_000;
const SECOND: i64 = 1_000_000;

/// A list with one alarm, and who has acknowledged it.
fn list_of_alarms(utime: i64, by: &str) -> Alarms {
    let alarm = Alarm {
        utime,
        since_utime: FIRST,
        source: "gps".to_owned(),
        id: "silent".to_owned(),
        severity: Alarm::WARNING,
        state: Alarm::RAISED,
        ..Alarm::default()
    };
    let listed = ListedAlarm {
        alarm,
        is_refreshed: true,
        acknowledged_by: by.to_owned(),
        ..ListedAlarm::default()
    };
    Alarms {
        utime,
        alarms: vec![listed],
        ..Alarms::default()
    }
    .with_lengths()
}

/// A minute: thrust ten times a second, one beat and an alarm at the very beginning, acknowledged after 20 s.
fn write_log(path: &Path) {
    let mut writer = Writer::create(path, WriterOptions::default()).unwrap();
    writer.add_schemas(&Schemas::generated(bowline_msgs::SCHEMA));
    let mut write = |utime, channel, payload: &[u8]| {
        let event = LogEvent {
            number: 0,
            utime,
            nanos: 0,
            channel,
            payload,
        };
        writer.write(event).unwrap();
    };
    write(FIRST, "beat", &Beat::default().encode().unwrap());
    for n in 0..600 {
        let utime = FIRST + n * SECOND / 10;
        let by = match n {
            0 => Some(""),
            200 => Some("bridge/anna"),
            _ => None,
        };
        if let Some(by) = by {
            let list = list_of_alarms(utime, by).encode().unwrap();
            write(utime, "alarms.list", &list);
        }
        let thrust = Thrust {
            utime,
            ..Thrust::default()
        };
        write(utime, "thrust", &thrust.encode().unwrap());
    }
    writer.bookmark(FIRST + 30 * SECOND, "half time").unwrap();
    writer.finish().unwrap();
}

fn replay(folder: &Path) -> (Station, Page) {
    let path = folder.join("day.mcap");
    write_log(&path);
    let bus = Bus::open("memq://").unwrap();
    let reader = Reader::open(&path).unwrap();
    let options = Options {
        origin: Origin::Log(Box::new(reader)),
        ..options(&bus)
    };
    let station = Station::start(options).unwrap();
    let mut page = Page::open(station.address());
    page.subscribe(json!([{ "pattern": ".*", "max_hz": 0, "past": 1000 }]));
    (station, page)
}

fn player(page: &mut Page, action: &str, value: Value) -> Value {
    page.request(
        1,
        json!({ "what": "player", "action": action, "value": value }),
    )
}

/// Asks, and does not wait for the reply.
fn ask(page: &mut Page, action: &str, value: Value) {
    page.ask(
        2,
        &json!({ "what": "player", "action": action, "value": value }),
    );
}

fn wait_for_player(page: &mut Page, is_it: impl Fn(&Value) -> bool) -> Value {
    page.wait(|sent| match sent {
        Sent::Status(status) if is_it(&status["player"]) => Some(status.clone()),
        _ => None,
    })
}

#[test]
fn replay_is_marked_and_has_the_clock_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (_station, mut page) = replay(folder.path());
    assert_eq!(page.hello["source"], "replay");
    player(&mut page, "pause", Value::Null);
    let status = wait_for_player(&mut page, |player| player["state"] == "paused");
    assert_eq!(status["rate"], 0.0);
    let player = &status["player"];
    assert_eq!(player["log"], "day.mcap");
    assert_eq!(player["first_utime"], FIRST);
    assert_eq!(player["last_utime"], FIRST + 599 * SECOND / 10);
    assert_eq!(player["bookmarks"][0]["text"], "half time");
    let utime = status["utime"].as_i64().unwrap();
    assert!((FIRST..FIRST + 60 * SECOND).contains(&utime));
}

#[test]
fn wherever_it_goes_pages_know_what_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let (_station, mut page) = replay(folder.path());
    player(&mut page, "pause", Value::Null);
    wait_for_player(&mut page, |player| player["state"] == "paused");
    for to_s in [40, 10] {
        let utime = FIRST + to_s * SECOND;
        // The reset may come before the reply.
        ask(&mut page, "seek_to", json!(utime));
        let reset = page.wait(|sent| match sent {
            Sent::Reset(reset) => Some(reset.clone()),
            _ => None,
        });
        assert_eq!(reset["utime"], utime);
        let mut n_thrust = 0;
        let mut has_beat = false;
        let last = page.wait(|sent| match sent {
            Sent::Message {
                channel, utime: at, ..
            } if channel == "thrust" => {
                assert!(*at < utime);
                n_thrust += 1;
                (*at == utime - SECOND / 10).then_some(*at)
            }
            Sent::Message { channel, .. } if channel == "beat" => {
                has_beat = true;
                None
            }
            _ => None,
        });
        assert_eq!(last, utime - SECOND / 10);
        assert_eq!(n_thrust, 10 * to_s, "all of the past that was asked for");
        assert!(has_beat, "however long ago it was");
    }
}

#[test]
fn replayed_list_of_alarms_is_that_of_the_moment_with_the_name_of_who_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let (_station, mut page) = replay(folder.path());
    player(&mut page, "pause", Value::Null);
    wait_for_player(&mut page, |player| player["state"] == "paused");
    for (to_s, by) in [(40, "bridge/anna"), (10, "")] {
        let moment = FIRST + to_s * SECOND;
        ask(&mut page, "seek_to", json!(moment));
        page.wait(|sent| matches!(sent, Sent::Reset(_)).then_some(()));
        let listed = page.wait(|sent| match sent {
            Sent::Message {
                channel,
                utime,
                payload,
                ..
            } if channel == "alarms.list" => {
                assert!(*utime < moment);
                let mut list = Alarms::decode(payload).unwrap();
                let listed = list.alarms.remove(0);
                (listed.acknowledged_by == by).then_some(listed)
            }
            _ => None,
        });
        assert_eq!((&*listed.alarm.source, listed.is_refreshed), ("gps", true));
    }
}

#[test]
fn it_steps_and_goes_to_bookmarks_and_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let (_station, mut page) = replay(folder.path());
    player(&mut page, "pause", Value::Null);
    let reply = player(&mut page, "bookmark", json!("half time"));
    assert_eq!(reply, json!({ "ok": true }));
    let half = FIRST + 30 * SECOND;
    wait_for_player(&mut page, |player| player["utime"] == half);
    // The message may come before the reply.
    ask(&mut page, "step", Value::Null);
    let stepped = page.wait(|sent| match sent {
        Sent::Message { utime, .. } if *utime >= half => Some(*utime),
        _ => None,
    });
    assert_eq!(stepped, half);
    player(&mut page, "rate", json!(1000));
    player(&mut page, "play", Value::Null);
    wait_for_player(&mut page, |player| player["state"] == "ended");
    // The reset may come before the reply.
    ask(&mut page, "play", Value::Null);
    page.wait(|sent| matches!(sent, Sent::Reset(_)).then_some(()));
    let refused = player(&mut page, "fly", Value::Null);
    assert_eq!(refused["ok"], false);
    let refused = player(&mut page, "bookmark", json!("lunch"));
    assert_eq!(refused["error"], "the log has no bookmark \"lunch\"");
}

#[test]
fn replay_accepts_no_commands() {
    let folder = tempfile::tempdir().unwrap();
    let (_station, mut page) = replay(folder.path());
    page.publish("operator.stop", &stop("bridge"));
    page.wait_for_count("commands refused", 1);
    let service = json!({ "what": "service", "name": "sim.control", "type": "bowline.sim_control_t", "request": {} });
    let reply = page.request(5, service);
    assert_eq!(reply["error"], "this is a replay: no service answers");
}

#[test]
fn where_people_log_in_a_viewer_watches_and_an_operator_plays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("day.mcap");
    write_log(&path);
    let bus = Bus::open("memq://").unwrap();
    let options = Options {
        origin: Origin::Log(Box::new(Reader::open(&path).unwrap())),
        access: Access::LogIn {
            people: people(),
            certificate: None,
        },
        ..options(&bus)
    };
    let station = Station::start(options).unwrap();
    let open = |user| Page::open_as(station.address(), &log_in(station.address(), user));
    let refused = player(&mut open("bob"), "pause", Value::Null);
    assert_eq!(refused["error"], "a viewer may not command the player");
    let done = player(&mut open("anna"), "pause", Value::Null);
    assert_eq!(done, json!({ "ok": true }));
}

#[test]
fn what_people_did_is_recorded_beside_the_vehicle_and_shown_in_a_replay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mission.mcap");
    let bus = Bus::open("memq://").unwrap();
    let recorded = RecorderOptions::new(FileOptions::new(&path));
    let mut recorder = Recorder::start(&bus, recorded).unwrap();
    let audits = bus.events("station.audit").unwrap();
    let station = Station::start(options(&bus)).unwrap();
    let mut page = Page::open(station.address());
    let acknowledge = json!({ "what": "acknowledge", "alarm": "gps", "since_utime": "5" });
    assert_eq!(page.request(3, acknowledge), json!({ "ok": true }));
    let done = audits_until(&audits, |it| it.action == "acknowledge");
    assert_eq!(done.first().unwrap().action, "join");
    recorder.stop();
    drop(page);
    drop(station);
    let reader = Reader::open(&path).unwrap();
    let replayed = Options {
        origin: Origin::Log(Box::new(reader)),
        ..options(&bus)
    };
    let station = Station::start(replayed).unwrap();
    let mut page = Page::open(station.address());
    // As the page asks for it.
    let row = json!({ "pattern": ".*", "type": "bowline.audit_t", "max_hz": 0, "past": 50 });
    page.subscribe(json!([row]));
    let shown = page.wait(|sent| match sent {
        Sent::Message {
            channel, payload, ..
        } if channel == "station.audit" => {
            let audit = Audit::decode(payload).unwrap();
            (audit.action == "acknowledge").then_some(audit)
        }
        _ => None,
    });
    assert_eq!((&*shown.subject, &*shown.station), ("gps", "bridge"));
}
