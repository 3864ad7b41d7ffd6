//! What people may ask vehicles for, and what is written down of it.

use crate::browser::{
    PATIENCE, Page, audits_until, log_in, open_station, show_gate, station_with_people, stop, take,
    thrust,
};
use bowline_bus::Queue;
use bowline_log::Reader;
use bowline_msgs::Audit;
use bowline_station::{Options, Station};
use bowline_wire::Message as _;
use serde_json::json;

#[test]
fn what_an_operator_says_reaches_the_bus_byte_for_byte_and_the_audit() {
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
        ("operator.thrust", thrust("bridge/anna")),
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
    page.publish("operator.thrust", &thrust("bridge/bob"));
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
fn nobody_speaks_for_somebody_else() {
    let (bus, station) = station_with_people();
    let heard = bus.events("operator.*").unwrap();
    let mut page = Page::open_as(station.address(), &log_in(station.address(), "anna"));
    show_gate(&bus, &mut page);
    for (channel, message) in [
        ("operator.stop", stop("bridge/eve")),
        ("operator.thrust", thrust("bridge")),
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
fn whoever_goes_on_with_what_is_not_allowed_is_sent_away() {
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
fn commands_are_limited_and_a_stop_is_never_held_back() {
    let (bus, station) = open_station();
    let queue = Queue::default().with_capacity(10_000);
    let heard = bus.inbox();
    heard.subscribe("operator.*", queue).unwrap();
    let mut page = Page::open(station.address());
    show_gate(&bus, &mut page);
    for _ in 0..140 {
        page.publish("operator.thrust", &thrust("bridge"));
    }
    page.publish("operator.stop", &stop("bridge"));
    let mut n_commands = 0;
    loop {
        let (_, event) = heard.recv_timeout(PATIENCE).unwrap().expect("a stop");
        if event.channel.as_str() == "operator.stop" {
            break;
        }
        n_commands += 1;
    }
    assert!((100..140).contains(&n_commands), "{n_commands}");
}

#[test]
fn a_stop_said_without_end_is_heard_at_once_and_then_in_bounds() {
    const N_SAID: usize = 700;
    let (bus, station) = open_station();
    let heard = bus.inbox();
    let queue = Queue::default().with_capacity(10_000);
    heard.subscribe(".*operator.*", queue).unwrap();
    let mut page = Page::open(station.address());
    show_gate(&bus, &mut page);
    for _ in 0..N_SAID {
        page.publish("operator.stop", &stop("bridge"));
    }
    page.publish("heron/operator.stop", &stop("bridge"));
    let mut n_heard = 0;
    loop {
        let (_, event) = heard.recv_timeout(PATIENCE).unwrap().expect("a stop");
        if event.channel.as_str() == "heron/operator.stop" {
            break;
        }
        n_heard += 1;
    }
    assert!((1..N_SAID).contains(&n_heard), "{n_heard}");
    let n_held = page.wait_for_count("stops said again too often", 1);
    assert_eq!(n_heard + usize::try_from(n_held).unwrap(), N_SAID);
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
    let calls = bus.events("call.*|.*order.*|.*parameters.*").unwrap();
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
    assert!(calls.try_recv().unwrap().is_none(), "nobody was called");
}

#[test]
fn a_service_is_written_down_when_it_is_asked_and_when_it_answers() {
    let (bus, station) = station_with_people();
    let audits = bus.events("station.audit").unwrap();
    let mut page = Page::open_as(station.address(), &log_in(station.address(), "anna"));
    let service = json!({ "what": "service", "name": "sim.control", "type": "bowline.sim_control_t", "request": { "action": 1, "n_steps": 0, "seed": -1 } });
    assert_eq!(page.request(1, service)["ok"], false, "nobody is there");
    let audits = audits_until(&audits, |it| it.action == "answer");
    let [.., asked, answered] = &audits[..] else {
        panic!("{audits:?}");
    };
    assert_eq!((&*asked.action, asked.is_done), ("service", true));
    assert_eq!(
        (&*answered.subject, answered.is_done),
        ("sim.control", false)
    );
    assert!(!answered.detail.is_empty());
}

#[test]
fn too_many_requests_are_put_off_and_counted() {
    let (_bus, station) = open_station();
    let mut page = Page::open(station.address());
    for id in 0..200_u32 {
        let mut frame = vec![0x13];
        frame.extend(id.to_be_bytes());
        frame.extend(b"{\"what\":\"acknowledge\",\"alarm\":\"gps\",\"since_utime\":\"5\"}");
        page.send(frame);
    }
    page.wait_for_count("requests refused", 1);
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
