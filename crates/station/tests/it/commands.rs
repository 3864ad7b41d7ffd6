//! What people may ask vehicles for, and what is written down of it.

use crate::browser::{
    Page, audits_until, log_in, open_station, show_gate, station_with_people, stop, take, thrust,
};
use bowline_bus::Queue;
use bowline_component::service::Failure;
use bowline_host::service;
use bowline_log::Reader;
use bowline_msgs::{Audit, SimControl, SimState};
use bowline_station::{Options, Station};
use bowline_testing::patience::PATIENCE;
use bowline_wire::Message as _;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn operators_command_reaches_the_bus_unchanged_and_the_audit() {
    let (bus, station) = station_with_people();
    let heard = bus.events("operator.*").unwrap();
    let audits = bus.events("station.audit").unwrap();
    let mut page = Page::open_as(station.address(), &log_in(station.address(), "anna"));
    assert_eq!(page.hello["station"], "bridge/anna");
    assert_eq!(
        (&page.hello["role"], &page.hello["rank"]),
        (&json!("operator"), &json!(1))
    );
    show_gate(&bus, &mut page);
    let commands = [
        ("operator.lease", take("bridge/anna", 1)),
        ("operator.direct", thrust("bridge/anna")),
        ("operator.stop", stop("bridge/anna")),
    ];
    for (channel, message) in &commands {
        page.publish(channel, message);
        let (_, event) = heard
            .recv_timeout(PATIENCE)
            .unwrap()
            .expect("it was let through");
        assert_eq!(
            (event.channel.as_str(), &event.payload[..]),
            (*channel, &message[..])
        );
    }
    let audits = audits_until(&audits, |it| it.subject == "operator.stop");
    let actions: Vec<_> = audits.iter().map(|it| (&*it.action, it.is_done)).collect();
    let published = ("publish", true);
    assert_eq!(
        actions,
        [
            ("login", true),
            ("join", true),
            published,
            published,
            published
        ]
    );
    let last = audits.last().unwrap();
    assert_eq!(
        (&*last.user, &*last.role, &*last.station),
        ("anna", "operator", "bridge/anna")
    );
    assert_eq!(last.message, commands[2].1);
}

#[test]
fn a_viewer_can_stop_and_nothing_else() {
    let (bus, station) = station_with_people();
    let heard = bus.events("operator.*").unwrap();
    let audits = bus.events("station.audit").unwrap();
    let mut page = Page::open_as(station.address(), &log_in(station.address(), "bob"));
    show_gate(&bus, &mut page);
    page.publish("operator.direct", &thrust("bridge/bob"));
    page.publish("operator.lease", &take("bridge/bob", 0));
    page.publish("operator.stop", &stop("bridge/bob"));
    let (_, event) = heard.recv_timeout(PATIENCE).unwrap().expect("a stop");
    assert_eq!(event.channel.as_str(), "operator.stop");
    let audits = audits_until(&audits, |it| it.subject == "operator.stop");
    let refused: Vec<_> = audits.iter().filter(|it| !it.is_done).collect();
    assert_eq!(refused.len(), 2);
    assert_eq!(
        refused[0].detail,
        "a viewer may stop a vehicle, and nothing else"
    );
    let service = json!({ "what": "service", "name": "sim.control", "type": "bowline.sim_control_t", "request": { "action": 1 } });
    let reply = page.request(1, service);
    assert_eq!(
        reply,
        json!({ "ok": false, "error": "a viewer may not call services" })
    );
}

#[test]
fn command_in_anothers_name_is_refused() {
    let (bus, station) = station_with_people();
    let heard = bus.events("operator.*").unwrap();
    let mut page = Page::open_as(station.address(), &log_in(station.address(), "anna"));
    show_gate(&bus, &mut page);
    for (channel, message) in [
        ("operator.stop", stop("bridge/eve")),
        ("operator.direct", thrust("bridge")),
        ("operator.lease", take("bridge/anna", 2)),
        ("thrust.command", thrust("bridge/anna")),
        ("gate.state", thrust("bridge/anna")),
    ] {
        page.publish(channel, &message);
    }
    page.wait_for_count("commands refused", 5);
    page.publish("operator.stop", &stop("bridge/anna"));
    let (_, event) = heard.recv_timeout(PATIENCE).unwrap().expect("her own stop");
    assert_eq!(&event.payload[..], stop("bridge/anna"));
}

#[test]
fn page_that_repeats_forbidden_frames_is_disconnected() {
    let (_bus, station) = open_station();
    let mut page = Page::open(station.address());
    for _ in 0..200 {
        page.publish("thrust.command", &thrust("bridge"));
    }
    let (code, why) = page.wait_for_close();
    assert_eq!(code, 1008);
    assert!(why.contains("expected a channel of an operator"), "{why}");
}

#[test]
fn invented_vehicles_are_stopped_in_bounds_and_those_that_are_there_always() {
    let (bus, station) = open_station();
    let heard = bus.inbox();
    let queue = Queue::default().with_capacity(10_000);
    heard.subscribe(".*operator.stop", queue).unwrap();
    let mut page = Page::open(station.address());
    for n in 0..20 {
        page.publish(&format!("ghost{n}/operator.stop"), &stop("bridge"));
    }
    page.publish("truth/operator.stop", &stop("bridge"));
    page.wait_for_count("commands refused", 13);
    show_gate(&bus, &mut page);
    page.publish("operator.stop", &stop("bridge"));
    let mut n_ghosts = 0;
    loop {
        let (_, event) = heard.recv_timeout(PATIENCE).unwrap().expect("a stop");
        if event.channel.as_str() == "operator.stop" {
            break;
        }
        n_ghosts += 1;
    }
    assert_eq!(n_ghosts, 8);
    assert_eq!(Page::open(station.address()).hello["source"], "live");
}

#[test]
fn no_page_calls_a_service_that_is_not_for_pages() {
    let (bus, station) = station_with_people();
    let audits = bus.events("station.audit").unwrap();
    let calls = bus.events(r"bowline\.call\..*").unwrap();
    let mut page = Page::open_as(station.address(), &log_in(station.address(), "eve"));
    for name in [
        "supervisor.heron.box.order",
        "gate.parameters",
        "a.b.sim.fault",
    ] {
        let service = json!({ "what": "service", "name": name, "type": "bowline.sim_control_t", "request": { "action": 1 } });
        let error = format!("a page may not call the service {name:?}");
        assert_eq!(
            page.request(1, service),
            json!({ "ok": false, "error": error })
        );
    }
    page.wait_for_count("requests refused", 3);
    let audits = audits_until(&audits, |it| it.subject == "a.b.sim.fault");
    let refused = audits
        .iter()
        .filter(|it| it.action == "service" && !it.is_done);
    assert_eq!(refused.count(), 3);
    // The first call on the bus is the one that is allowed.
    let allowed = json!({ "what": "service", "name": "sim.control", "type": "bowline.sim_control_t", "request": { "action": 1, "n_steps": 0, "seed": -1 } });
    page.ask(2, &allowed);
    let (_, call) = calls.recv_timeout(PATIENCE).unwrap().expect("a call");
    assert_eq!(call.channel.as_str(), "bowline.call.sim.control");
}

#[test]
fn a_service_is_written_down_when_it_is_asked_and_when_it_answers() {
    let (bus, station) = station_with_people();
    let audits = bus.events("station.audit").unwrap();
    let mut page = Page::open_as(station.address(), &log_in(station.address(), "anna"));
    let service = json!({ "what": "service", "name": "sim.control", "type": "bowline.sim_control_t", "request": { "action": 1, "n_steps": 0, "seed": -1 } });
    let is_over = AtomicBool::new(false);
    let [done, refused] = std::thread::scope(|scope| {
        // It takes the first request, and refuses the second.
        let mut n_asked = 0;
        let answer = move |_: SimControl| {
            n_asked += 1;
            match n_asked {
                1 => Ok(SimState::default()),
                _ => Err(Failure::new(1, "it stands still already")),
            }
        };
        let (bus, is_over) = (&bus, &is_over);
        let serve = move || service::serve(bus, "sim.control", is_over, answer);
        let serving = std::thread::Builder::new().name("service".to_owned());
        let serving = serving.spawn_scoped(scope, serve).unwrap();
        let replies = [1, 2].map(|id| page.request(id, service.clone()));
        is_over.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
        replies
    });
    assert_eq!(done["ok"], true, "{done}");
    assert_eq!(refused["ok"], false, "{refused}");
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("it stands still already"), "{why}");
    let audits = audits_until(&audits, |it| it.action == "answer" && !it.is_done);
    let [.., asked, answered, asked_again, answered_again] = &audits[..] else {
        panic!("{audits:?}");
    };
    for asked in [asked, asked_again] {
        assert_eq!((&*asked.action, asked.is_done), ("service", true));
        assert_eq!(asked.subject, "sim.control");
    }
    assert_eq!(
        (&*answered.action, &*answered.subject, answered.is_done),
        ("answer", "sim.control", true)
    );
    assert_eq!(answered_again.subject, "sim.control");
    assert!(
        answered_again.detail.contains("it stands still already"),
        "{}",
        answered_again.detail
    );
}

#[test]
fn what_people_did_is_a_log_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.mcap");
    let bus = bowline_bus::Bus::open("memq://").unwrap();
    let options = Options {
        audit: Some(path.clone()),
        ..crate::browser::options(&bus)
    };
    let station = Station::start(options).unwrap();
    let mut page = Page::open(station.address());
    let acknowledge = json!({ "what": "acknowledge", "alarm": "gps", "since_utime": "5" });
    assert_eq!(page.request(3, acknowledge), json!({ "ok": true }));
    page.wait_for_count("audited", 2);
    drop(page);
    drop(station);
    let mut log = Reader::open(&path).unwrap();
    let mut actions = Vec::new();
    while let Some(event) = log.next_event().unwrap() {
        if event.channel == "station.audit" {
            let audit = Audit::decode(event.payload).unwrap();
            actions.push((audit.action, audit.subject));
        }
    }
    let actions: Vec<_> = actions.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(
        actions,
        [("join", ""), ("acknowledge", "gps"), ("leave", "")]
    );
}
