//! What a page is served and sent.

use crate::browser::{Page, Sent, get, open_station, options};
use bowline_bus::Bus;
use bowline_msgs::{Beat, Thrust};
use bowline_station::{Chart, Options, StartError, Station};
use bowline_wire::Message as _;
use serde_json::json;

#[test]
fn the_page_and_its_parts_are_served_with_a_strict_policy() {
    let (_bus, station) = open_station();
    let page = get(station.address(), "/", "");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    let html = String::from_utf8(page.body).unwrap();
    let script = html
        .split("src=\"./")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let script = get(
        station.address(),
        &format!("/{script}"),
        "Accept-Encoding: gzip, br\r\n",
    );
    assert_eq!(script.status, 200);
    assert_eq!(script.header("content-encoding"), Some("gzip"));
    assert!(
        script
            .header("cache-control")
            .unwrap()
            .contains("immutable")
    );
    assert_eq!(get(station.address(), "/nothing", "").status, 404);
}

#[test]
fn charts_are_served_and_named_in_the_greeting() {
    let bus = Bus::open("memq://").unwrap();
    let chart = Chart {
        name: "harbour.geojson".to_owned(),
        geojson: "{\"type\":\"FeatureCollection\"}".into(),
    };
    let options = Options {
        charts: vec![chart],
        ..options(&bus)
    };
    let station = Station::start(options).unwrap();
    let page = Page::open(station.address());
    assert_eq!(page.hello["charts"], json!(["charts/harbour.geojson"]));
    let chart = get(station.address(), "/charts/harbour.geojson", "");
    assert_eq!(
        (chart.status, &chart.body[..]),
        (200, &b"{\"type\":\"FeatureCollection\"}"[..])
    );
    assert_eq!(get(station.address(), "/charts/other", "").status, 404);
}

#[test]
fn custom_panels_are_served_from_their_folder_and_named_in_the_greeting() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tide.js"), "export default {};").unwrap();
    std::fs::write(folder.path().join("_shared.js"), "").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "").unwrap();
    let bus = Bus::open("memq://").unwrap();
    let with_panels = |panels| Options {
        panels,
        ..options(&bus)
    };
    let station = Station::start(with_panels(Some(folder.path().to_owned()))).unwrap();
    let page = Page::open(station.address());
    assert_eq!(page.hello["panels"], json!(["panels/tide.js"]));
    let tide = get(station.address(), "/panels/tide.js", "");
    assert_eq!(
        (tide.status, &tide.body[..]),
        (200, &b"export default {};"[..])
    );
    for (name, value) in [
        ("content-type", "text/javascript; charset=utf-8"),
        ("cache-control", "no-cache"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(tide.header(name), Some(value));
    }
    assert_eq!(get(station.address(), "/panels/_shared.js", "").status, 200);
    for path in [
        "/panels",
        "/panels/",
        "/panels/notes.txt",
        "/panels/tide.js/",
        "/panels/..%2ftide.js",
        "/panels/%2e%2e/tide.js",
    ] {
        assert_eq!(get(station.address(), path, "").status, 404, "{path}");
    }
    let none = Station::start(with_panels(None)).unwrap();
    assert_eq!(get(none.address(), "/panels/tide.js", "").status, 404);
    let missing = folder.path().join("nothing");
    assert!(matches!(
        Station::start(with_panels(Some(missing))),
        Err(StartError::Panels(_))
    ));
}

#[test]
fn charts_are_sent_in_few_bytes_to_those_who_can_read_that() {
    let bus = Bus::open("memq://").unwrap();
    let text = format!(
        "{{\"type\":\"FeatureCollection\",\"x\":[{}0]}}",
        "1,".repeat(10_000)
    );
    let chart = Chart {
        name: "harbour.geojson".to_owned(),
        geojson: text.clone().into(),
    };
    let with = |charts| Options {
        charts,
        ..options(&bus)
    };
    let station = Station::start(with(vec![chart.clone()])).unwrap();
    let ask = |more| get(station.address(), "/charts/harbour.geojson", more);
    assert_eq!(ask("").body, text.as_bytes());
    let zipped = ask("Accept-Encoding: gzip\r\n");
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert!(zipped.body.len() < text.len() / 10);
    let error = Station::start(with(vec![chart.clone(), chart])).unwrap_err();
    assert!(error.to_string().contains("two that are called"), "{error}");
}

#[test]
fn page_gets_a_greeting_and_periodic_status() {
    let (_bus, station) = open_station();
    let mut page = Page::open(station.address());
    let hello = &page.hello;
    assert_eq!(hello["version"], 1);
    assert_eq!(
        (&hello["role"], &hello["station"]),
        (&json!("supervisor"), &json!("bridge"))
    );
    assert_eq!(hello["source"], "live");
    let mut utimes = Vec::new();
    while utimes.len() < 3 {
        utimes.push(page.wait(|sent| match sent {
            Sent::Status(status) => status["utime"].as_i64(),
            _ => None,
        }));
    }
    assert!(utimes.is_sorted_by(|a, b| a < b), "{utimes:?}");
    page.send(vec![0x17, 0, 0, 0, 9]);
    page.wait(|sent| (*sent == Sent::Pong(9)).then_some(()));
}

#[test]
fn truth_on_the_bus_marks_a_simulation() {
    let (bus, station) = open_station();
    let mut page = Page::open(station.address());
    page.subscribe(json!([{ "pattern": ".*", "max_hz": 0 }]));
    bus.publish("heron/truth.pose", &Beat::default()).unwrap();
    page.wait_for_message("heron/truth.pose");
    assert_eq!(Page::open(station.address()).hello["source"], "sim");
}

#[test]
fn messages_come_with_their_types_as_often_as_is_wanted() {
    let (bus, station) = open_station();
    let mut page = Page::open(station.address());
    page.subscribe(json!([{ "pattern": ".*", "type": "bowline.thrust_t", "max_hz": 0 }]));
    page.send(vec![0x17, 0, 0, 0, 1]);
    page.wait(|sent| (*sent == Sent::Pong(1)).then_some(()));
    bus.publish("beat", &Beat::default()).unwrap();
    bus.publish("thrust", &Thrust::default()).unwrap();
    // Its type has to become known first; then the last one comes by itself with the next.
    page.wait(|sent| (*sent == Sent::Schema(Thrust::FINGERPRINT.0)).then_some(()));
    let last = Thrust {
        utime: 7,
        ..Thrust::default()
    };
    bus.publish("thrust", &last).unwrap();
    let sent = page.wait(|sent| match sent {
        Sent::Message {
            channel, payload, ..
        } => Some((channel.clone(), payload.clone())),
        _ => None,
    });
    assert_eq!(sent, ("thrust".to_owned(), last.encode().unwrap()));
    page.subscribe(json!([{ "pattern": "beat", "max_hz": 1 }]));
    page.wait_for_message("beat");
}

#[test]
fn a_page_that_comes_late_knows_the_past_it_asks_for() {
    let (bus, station) = open_station();
    for utime in 0..50 {
        let thrust = Thrust {
            utime,
            ..Thrust::default()
        };
        bus.publish("thrust", &thrust).unwrap();
    }
    let mut page = Page::open(station.address());
    page.subscribe(json!([{ "pattern": "thrust", "max_hz": 0 }]));
    // Until the station has received all of them.
    while Thrust::decode(&page.wait_for_message("thrust").2)
        .unwrap()
        .utime
        < 49
    {}
    page.subscribe(json!([{ "pattern": "thrust", "max_hz": 10, "past": 1000 }]));
    for utime in 0..50 {
        let (_, n_skipped, payload) = page.wait_for_message("thrust");
        assert_eq!(Thrust::decode(&payload).unwrap().utime, utime);
        assert_eq!(n_skipped, 0);
    }
}

#[test]
fn ending_station_notifies_its_pages() {
    let (_bus, station) = open_station();
    let mut page = Page::open(station.address());
    std::thread::scope(|scope| {
        // It waits for pages that do not answer, and this one does.
        let ending = std::thread::Builder::new().name("end".to_owned());
        ending.spawn_scoped(scope, || drop(station)).unwrap();
        let closed = page.wait_for_close();
        drop(page);
        assert_eq!(closed, (1001, "the station ends".to_owned()));
    });
}
