//! The limits that docs/station.md promises, each reached through the door that pages use: what is within the limit is
//! done, what is beyond it is refused with the documented reason, and other pages notice nothing of it.
//!
//! Rates are counted by the station's own clock, from the times in what it publishes: a machine that is busy makes a
//! count larger and the time longer, and nothing here depends on how long anything takes.

use crate::browser::{
    Page, Sent, audits_until, connect_with, open_station, show_gate, stop, thrust,
};
use bowline_bus::{Bus, Inbox, Queue};
use bowline_msgs::{Audit, Beat, Thrust};
use bowline_testing::patience::PATIENCE;
use bowline_wire::Message as _;
use serde_json::json;
use std::cell::Cell;
use std::io::Read as _;
use std::net::TcpStream;

const SECOND: i64 = 1_000_000;

/// At most so many go through in a time by a budget: what may come at once, and what is added meanwhile.
#[expect(clippy::cast_precision_loss, reason = "microseconds of a test are few")]
fn most(at_once: u32, per_second: u32, elapsed_us: i64) -> f64 {
    let elapsed_s = elapsed_us as f64 / SECOND as f64;
    f64::from(at_once) + f64::from(per_second) * elapsed_s
}

/// The station's clock, as it reports it to a page.
fn utime(page: &mut Page) -> i64 {
    page.wait(|sent| match sent {
        Sent::Status(status) => status["utime"].as_i64(),
        _ => None,
    })
}

/// The audits of all that people did on a bus, with room for many.
fn audits(bus: &Bus) -> Inbox {
    let inbox = bus.inbox();
    let queue = Queue::default().with_capacity(10_000);
    inbox.subscribe("station.audit", queue).unwrap();
    inbox
}

/// What was written down, until so many are of an action.
fn audits_until_count(inbox: &Inbox, action: &str, count: usize) -> Vec<Audit> {
    let n_left = Cell::new(count);
    audits_until(inbox, |it| {
        n_left.set(n_left.get() - usize::from(it.action == action));
        n_left.get() == 0
    })
}

#[test]
fn frames_beyond_400_a_second_and_800_at_once_end_the_page_that_sends_them() {
    let (bus, station) = open_station();
    let audits = audits(&bus);
    let mut other = Page::open(station.address());
    let mut page = Page::open(station.address());
    let began = page.hello["utime"].as_i64().unwrap();
    // A request that is refused before anything is done for it, and counted: one for each frame that was taken.
    let refused =
        json!({ "what": "transform", "frame": "a", "reference": "b", "vehicle": "no prefix" });
    // Faster than is allowed, and not faster than the station takes them.
    for id in 0..40 * 300 {
        page.ask(id, &refused);
        if id % 300 == 0 {
            utime(&mut other);
        }
        if station.n_pages() == 1 {
            break;
        }
    }
    assert_eq!(page.wait_for_close(), (1008, "too many frames".to_owned()));
    let audits = audits_until(&audits, |it| it.action == "leave");
    let left = audits.last().unwrap();
    assert_eq!(left.detail, "too many frames");
    let n_taken = other.wait(|sent| match sent {
        Sent::Status(status) if status["utime"].as_i64() > Some(left.utime) => {
            status["counts"]["requests refused"].as_u64()
        }
        _ => None,
    });
    assert!(n_taken >= 800, "{n_taken}");
    let most = most(800, 400, left.utime - began);
    assert!((n_taken as f64) <= most, "{n_taken} of at most {most}");
    // What was allowed still works, for the page beside it and for the next.
    let mut next = Page::open(station.address());
    for page in [&mut other, &mut next] {
        page.send(vec![0x17, 0, 0, 0, 7]);
        page.wait(|sent| (*sent == Sent::Pong(7)).then_some(()));
    }
}

#[test]
fn requests_beyond_20_a_second_and_40_at_once_are_refused_until_time_has_passed() {
    let (bus, station) = open_station();
    let audits = audits(&bus);
    let mut page = Page::open(station.address());
    let acknowledge = json!({ "what": "acknowledge", "alarm": "gps", "since_utime": "5" });
    let mut n_done = 0;
    let refused = loop {
        let reply = page.request(n_done, acknowledge.clone());
        if reply["ok"] != true {
            break reply;
        }
        n_done += 1;
        assert!(n_done < 1_000, "nothing holds it back");
    };
    let too_many = json!({ "ok": false, "error": "too many requests in a second" });
    assert_eq!(refused, too_many);
    assert!(n_done >= 40, "{n_done}");
    let first = audits_until(&audits, |it| it.action == "acknowledge");
    let began = first.last().unwrap().utime;
    let more = audits_until(&audits, |it| it.action == "request");
    let refused = more.last().unwrap();
    assert_eq!(
        (&*refused.detail, refused.is_done),
        ("too many requests in a second", false)
    );
    let is_done = |it: &&Audit| it.action == "acknowledge";
    let n_audited = 1 + more.iter().filter(is_done).count();
    assert_eq!(n_audited, n_done as usize, "each is written down");
    // With each twentieth of a second one more is allowed; statuses come every fifth.
    let n_before = n_done;
    for id in 0..60 {
        if id % 10 == 0 {
            utime(&mut page);
        }
        let reply = page.request(2_000 + id, acknowledge.clone());
        n_done += u32::from(reply == json!({ "ok": true }));
    }
    assert!(n_done > n_before, "time has passed");
    let most = most(40, 20, utime(&mut page) - began);
    assert!(f64::from(n_done) <= most, "{n_done} of at most {most}");
}

#[test]
fn more_than_8_requests_under_way_are_refused_and_those_under_way_are_answered() {
    let (bus, station) = open_station();
    let audits = audits(&bus);
    let mut page = Page::open(station.address());
    // No component serves it: each is under way until the station gives it up.
    let service = json!({ "what": "service", "name": "sim.control", "type": "bowline.sim_control_t", "request": { "action": 1, "n_steps": 0, "seed": -1 } });
    for id in 0..9 {
        page.ask(id, &service);
    }
    let mut replies = Vec::new();
    while replies.len() < 9 {
        replies.push(page.wait(|sent| match sent {
            Sent::Reply(id, reply) => Some((*id, reply["error"].as_str().unwrap().to_owned())),
            _ => None,
        }));
    }
    let (id, error) = &replies[0];
    assert_eq!((*id, &**error), (8, "too many requests are under way"));
    for (id, error) in &replies[1..] {
        let is_given_up = error.contains("the call of sim.control failed");
        assert!(is_given_up, "{id}: {error}");
    }
    let audits = audits_until_count(&audits, "answer", 8);
    let answers = audits.iter().filter(|it| it.action == "answer");
    for answer in answers {
        assert_eq!((&*answer.subject, answer.is_done), ("sim.control", false));
        assert!(!answer.detail.is_empty());
    }
    assert_eq!(audits.iter().filter(|it| it.action == "service").count(), 8);
}

#[test]
fn stops_beyond_20_a_second_on_a_channel_are_counted_and_other_channels_are_stopped_at_once() {
    const N_SENT: usize = 700;
    let (bus, station) = open_station();
    let inbox = bus.inbox();
    let queue = Queue::default().with_capacity(10_000);
    inbox.subscribe(".*operator.*", queue).unwrap();
    let audits = audits(&bus);
    let mut page = Page::open(station.address());
    show_gate(&bus, &mut page);
    for _ in 0..N_SENT {
        page.publish("operator.stop", &stop("bridge"));
    }
    page.publish("heron/operator.stop", &stop("bridge"));
    let mut n_through = 0;
    loop {
        let (_, event) = inbox.recv_timeout(PATIENCE).unwrap().expect("a stop");
        if event.channel.as_str() == "heron/operator.stop" {
            break;
        }
        n_through += 1;
    }
    let audits = audits_until(&audits, |it| it.subject == "heron/operator.stop");
    let stops: Vec<&Audit> = audits
        .iter()
        .filter(|it| it.subject == "operator.stop")
        .collect();
    assert_eq!(stops.len(), n_through, "each is written down");
    assert!(n_through >= 20, "{n_through}");
    let most = most(20, 20, audits.last().unwrap().utime - stops[0].utime);
    assert!((n_through as f64) <= most, "{n_through} of at most {most}");
    let n_held = page.wait_for_count("stops repeated too often", 1);
    assert_eq!(n_through + usize::try_from(n_held).unwrap(), N_SENT);
    // The page is still there, and its next stop goes through when a twentieth of a second has passed.
    utime(&mut page);
    utime(&mut page);
    page.publish("operator.stop", &stop("bridge"));
    let (_, event) = inbox.recv_timeout(PATIENCE).unwrap().expect("a stop");
    assert_eq!(event.channel.as_str(), "operator.stop");
}

#[test]
fn commands_beyond_100_a_second_are_refused_and_a_stop_is_never_held_back() {
    let (bus, station) = open_station();
    let inbox = bus.inbox();
    let queue = Queue::default().with_capacity(10_000);
    inbox.subscribe("operator.*", queue).unwrap();
    let audits = audits(&bus);
    let mut page = Page::open(station.address());
    show_gate(&bus, &mut page);
    for _ in 0..140 {
        page.publish("operator.direct", &thrust("bridge"));
    }
    page.publish("operator.stop", &stop("bridge"));
    let mut n_commands = 0;
    loop {
        let (_, event) = inbox.recv_timeout(PATIENCE).unwrap().expect("a stop");
        if event.channel.as_str() == "operator.stop" {
            break;
        }
        n_commands += 1;
    }
    let audits = audits_until(&audits, |it| it.subject == "operator.stop");
    let thrusts = || audits.iter().filter(|it| it.subject == "operator.direct");
    let done: Vec<&Audit> = thrusts().filter(|it| it.is_done).collect();
    assert_eq!(done.len(), n_commands, "each is written down");
    assert!(n_commands >= 100, "{n_commands}");
    let most = most(100, 100, audits.last().unwrap().utime - done[0].utime);
    assert!(
        (n_commands as f64) <= most,
        "{n_commands} of at most {most}"
    );
    let refused: Vec<&Audit> = thrusts().filter(|it| !it.is_done).collect();
    assert_eq!(refused.len(), 140 - n_commands);
    for it in refused {
        assert_eq!(it.detail, "more than 100 messages a second");
    }
}

/// Takes a little of what comes, past all that a WebSocket is.
fn take_a_little(stream: &mut TcpStream) -> usize {
    let mut bytes = [0; 4_096];
    stream.read(&mut bytes).unwrap()
}

#[test]
fn a_page_that_takes_nothing_for_ten_seconds_is_sent_away_and_one_that_takes_little_is_not() {
    let (bus, station) = open_station();
    let audits = audits(&bus);
    let everything = json!([{ "pattern": "flood.*", "max_hz": 0 }]);
    let mut still = Page::open(station.address());
    still.subscribe(everything.clone());
    // What is little for a system that keeps much is not seen by the other side.
    let (mut slow, _) = connect_with(station.address(), 8 << 10);
    slow.subscribe(everything);
    // A silent connection is not waited for any longer either.
    let mut silent = TcpStream::connect(station.address()).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut quick = Page::open(station.address());
    quick.subscribe(json!([{ "pattern": "beat", "max_hz": 0 }]));
    let began = utime(&mut quick);
    let mut payload = Thrust::default().encode().unwrap();
    payload.resize(50_000, 0);
    // More than all buffers on the way hold.
    for n in 0..400 {
        bus.publish_bytes(&format!("flood{}", n % 4), &payload)
            .unwrap();
        if n % 50 == 0 {
            bus.publish("beat", &Beat::default()).unwrap();
            quick.wait_for_message("beat");
        }
    }
    let mut audits = std::iter::from_fn(|| {
        // Five times a second, as long as the station is there.
        utime(&mut quick);
        assert!(take_a_little(slow.stream()) > 0, "it is still served");
        bus.publish_bytes("flood", &payload).unwrap();
        Some(audits.try_recv().unwrap())
    })
    .take(5 * 60)
    .flatten()
    .map(|(_, event)| Audit::decode(&event.payload).unwrap());
    let left = audits.find(|it| it.action == "leave").expect("it left");
    drop(audits);
    assert_eq!(left.detail, "the page does not read");
    assert!(
        left.utime - began >= 10 * SECOND,
        "after {} us",
        left.utime - began
    );
    assert!(take_a_little(slow.stream()) > 0, "who takes little is not");
    assert_eq!(station.n_pages(), 2, "the quick one and the slow one");
    let mut answer = Vec::new();
    silent
        .read_to_end(&mut answer)
        .expect("it is closed within the patience");
}

#[test]
fn the_system_keeps_16_kib_so_that_what_waits_is_replaced_by_what_is_newer() {
    const N_MESSAGES: i64 = 2_000;
    const SIZE: usize = 4_096;
    let (bus, station) = open_station();
    // A page whose own system keeps little too: what is under way is as good as received.
    let (mut page, received_max) = connect_with(station.address(), 8 << 10);
    page.subscribe(json!([{ "pattern": "flood", "max_hz": 1000 }]));
    let mut quick = Page::open(station.address());
    quick.subscribe(json!([{ "pattern": "beat", "max_hz": 0 }]));
    for utime in 0..N_MESSAGES {
        let thrust = Thrust {
            utime,
            ..Thrust::default()
        };
        let mut payload = thrust.encode().unwrap();
        payload.resize(SIZE, 0);
        bus.publish_bytes("flood", &payload).unwrap();
        // No faster than the station takes them, and slower than a thousand a second at times.
        if utime % 20 == 0 {
            bus.publish("beat", &Beat::default()).unwrap();
            quick.wait_for_message("beat");
        }
    }
    quick.wait_for_count("messages received", N_MESSAGES.unsigned_abs());
    let mut n_older = 0;
    let n_skipped = loop {
        let (_, n_skipped, payload) = page.wait_for_message("flood");
        let utime = i64::from_be_bytes(payload[8..16].try_into().unwrap());
        if utime == N_MESSAGES - 1 {
            break n_skipped;
        }
        n_older += 1;
    };
    // What is received and not read, what is kept, and what is written at a time and waits to be written next.
    let older_max = received_max + (16 << 10) + 2 * ((16 << 10) + SIZE);
    assert!(
        n_older * SIZE <= older_max,
        "{n_older} messages of {SIZE} bytes were received before the newest, of {older_max} bytes at most"
    );
    assert!(n_skipped > 1_000, "{n_skipped} were replaced");
}
