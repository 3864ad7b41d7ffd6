//! Those who mean no good: each is refused with the right code, and the station goes on.

use crate::browser::{Page, connect, get, open_station, options, send_raw};
use bowline_bus::Bus;
use bowline_msgs::Beat;
use bowline_station::{Options, Station};
use serde_json::json;
use std::io::Read as _;
use std::net::TcpStream;

#[test]
fn pages_of_others_and_forged_hosts_are_refused() {
    let (_bus, station) = open_station();
    let address = station.address();
    let own = format!("http://{address}");
    let local = format!("http://localhost:{}", address.port());
    for origin in [
        "http://evil.example",
        "https://evil.example",
        "null",
        "http://127.0.0.1",
        &format!("https://{address}"),
        &format!("http://{address}.evil.example"),
        &local,
    ] {
        assert_eq!(
            connect(address, &[("origin", origin)]).err(),
            Some(403),
            "{origin}"
        );
    }
    assert_eq!(
        connect(address, &[]).err(),
        Some(403),
        "a browser sends its Origin"
    );
    assert!(connect(address, &[("origin", &own)]).is_ok());
    for host in [
        "evil.example",
        "127.0.0.1",
        "localhost",
        "",
        "127.0.0.1:1",
        "evil.example:80",
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = send_raw(address, request.as_bytes()).unwrap();
        assert!(
            [400, 403].contains(&answer.status),
            "{host}: {}",
            answer.status
        );
    }
    let two = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(send_raw(address, two.as_bytes()).unwrap().status, 403);
    let none = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert_eq!(send_raw(address, none).unwrap().status, 403);
}

/// Ways to write "one folder up", and where an attacker would like to go.
fn climbs() -> Vec<String> {
    let ups = [
        "..",
        "%2e%2e",
        "..%2f",
        "%2e%2e%2f",
        "..%5c",
        "..\\",
        "%252e%252e",
        "..%c0%af",
        "..%00",
        "....//",
        ".%2e",
        "%2e.",
        "..;",
        "..%u2215",
        "%c0%ae%c0%ae",
        "..%25%32%66",
    ];
    let goals = [
        "etc/passwd",
        "etc/shadow",
        "proc/self/environ",
        "Cargo.toml",
        "src/lib.rs",
        "index.html%00.js",
        "assets/../../../etc/passwd",
        "root/.ssh/id_rsa",
    ];
    let mut climbs = Vec::new();
    for up in ups {
        for goal in goals {
            climbs.push(format!("/{up}/{up}/{up}/{goal}"));
            climbs.push(format!("/assets/{up}/{goal}"));
            climbs.push(format!("/charts/{up}/{goal}"));
            climbs.push(format!("/panels/{up}/{goal}"));
        }
    }
    climbs
        .extend(["//etc/passwd", "/assets//etc/passwd", "/charts//etc/passwd"].map(str::to_owned));
    climbs
}

#[test]
fn no_path_leads_out_of_the_page_or_of_the_folder_of_panels() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tide.js"), "export default {};").unwrap();
    let bus = Bus::open("memq://").unwrap();
    let options = Options {
        panels: Some(folder.path().to_owned()),
        ..options(&bus)
    };
    let station = Station::start(options).unwrap();
    let climbs = climbs();
    assert!(climbs.len() >= 200);
    for path in climbs {
        let answer = get(station.address(), &path, "");
        assert!(
            [400, 404].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
    }
}

#[test]
fn malformed_and_oversized_frames_end_the_connection_with_the_right_code() {
    let (_bus, station) = open_station();
    let sized = |kind: u8, len: usize| {
        let mut frame = vec![kind];
        frame.resize(len, b' ');
        frame
    };
    for (frame, code) in [
        (vec![], 1002),
        (vec![0x99], 1002),
        (vec![0x11], 1002),
        (b"\x11not json".to_vec(), 1002),
        (
            b"\x11{\"patterns\":[{\"pattern\":\"(\",\"max_hz\":1}]}".to_vec(),
            1002,
        ),
        (
            b"\x11{\"patterns\":[{\"pattern\":\".*\",\"max_hz\":-1}]}".to_vec(),
            1002,
        ),
        (b"\x12\xffabc".to_vec(), 1002),
        (b"\x13\x00".to_vec(), 1002),
        (vec![0x17, 0], 1002),
        (sized(0x12, (64 << 10) + 1), 1009),
        (sized(0x11, 100 << 10), 1009),
        (sized(0x11, 1 << 20), 1009),
    ] {
        let mut page = Page::open(station.address());
        let what = frame.iter().take(8).copied().collect::<Vec<_>>();
        page.send(frame);
        assert_eq!(page.wait_for_close().0, code, "{what:?}");
    }
    let mut page = Page::open(station.address());
    page.send_text("hello");
    assert_eq!(page.wait_for_close().0, 1002);
}

#[test]
fn what_is_no_websocket_any_more_ends_with_the_right_code() {
    let (_bus, station) = open_station();
    let masked = |front: &[u8], n_bytes: usize| {
        let mut frame = front.to_vec();
        frame.extend([0; 4]);
        frame.resize(frame.len() + n_bytes, 0);
        frame
    };
    // A message that begins, and goes on without end.
    let mut endless = masked(&[0x02, 0xfe, 0x40, 0x00], 0x4000);
    for _ in 0..20 {
        endless.extend(masked(&[0x00, 0xfe, 0x40, 0x00], 0x4000));
    }
    let mut unmasked = vec![0x82, 5, 0x17, 0, 0, 0, 1];
    // What is behind it must not take back the word that closes.
    unmasked.resize(100_000, 0);
    for (what, bytes, code) in [
        ("not masked", unmasked, 1002),
        ("a reserved bit", masked(&[0xc2, 0x81], 1), 1002),
        ("a reserved kind", masked(&[0x83, 0x81], 1), 1002),
        ("nothing to continue", masked(&[0x80, 0x81], 1), 1002),
        (
            "a ping that is too long",
            masked(&[0x89, 0xfe, 0x01, 0x00], 256),
            1002,
        ),
        ("a ping in parts", masked(&[0x09, 0x81], 1), 1002),
        (
            "more than there can be",
            masked(&[0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0], 0),
            1009,
        ),
        ("no end", endless, 1009),
    ] {
        let mut page = Page::open(station.address());
        page.send_raw(&bytes);
        assert_eq!(page.wait_for_close().0, code, "{what}");
    }
}

#[test]
fn pings_without_end_are_a_flood_too() {
    let (_bus, station) = open_station();
    let mut page = Page::open(station.address());
    for _ in 0..5_000 {
        page.send_ping();
    }
    assert_eq!(page.wait_for_close().0, 1008);
}

#[test]
fn a_flood_of_frames_ends_the_connection() {
    let (_bus, station) = open_station();
    let mut page = Page::open(station.address());
    for n in 0..5_000_u32 {
        let mut ping = vec![0x17];
        ping.extend(n.to_be_bytes());
        page.send(ping);
    }
    assert_eq!(page.wait_for_close().0, 1008);
}

#[test]
fn a_thousand_connections_are_bounded_and_do_not_keep_those_who_are_in() {
    let (bus, station) = open_station();
    let address = station.address();
    let mut page = Page::open(address);
    page.subscribe(json!([{ "pattern": "beat", "max_hz": 0 }]));
    let mut idle: Vec<TcpStream> = (0..1_000)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    page.wait_for_count("connections turned away", 700);
    bus.publish("beat", &Beat::default()).unwrap();
    page.wait_for_message("beat");
    let mut last = idle.pop().unwrap();
    let mut answer = String::new();
    drop(last.read_to_string(&mut answer));
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer:?}");
    // The publisher of a message receives it as well.
    let hears = || get(address, "/", &format!("X: {}\r\n", "x".repeat(30_000))).status == 503;
    assert!(hears());
    drop(idle);
    drop(last);
    // There is room again as soon as the station has seen that they left.
    let comes_in = || {
        let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        send_raw(address, request.as_bytes()).is_some_and(|answer| answer.status == 200)
    };
    assert!((0..10_000).any(|_| comes_in()));
}

#[test]
fn page_beyond_the_limit_is_refused_with_the_reason() {
    let (_bus, station) = open_station();
    let origin = format!("http://{}", station.address());
    let open = || connect(station.address(), &[("origin", &origin)]);
    let pages: Vec<_> = (0..64).map(|_| open().unwrap()).collect();
    assert_eq!(open().err(), Some(503));
    drop(pages);
}

#[test]
fn garbage_in_place_of_http_does_no_harm() {
    let (_bus, station) = open_station();
    let long_head = format!(
        "GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n",
        station.address(),
        "x".repeat(100_000)
    );
    let long_path = format!(
        "GET /{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        "a".repeat(2_000),
        station.address()
    );
    let garbage: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        long_head.as_bytes(),
        long_path.as_bytes(),
    ];
    for (bytes, status) in garbage.into_iter().zip([400, 400, 400, 431, 414]) {
        let answer = send_raw(station.address(), bytes).expect("an answer");
        assert_eq!(answer.status, status, "{}", answer.head);
    }
    assert_eq!(get(station.address(), "/", "").status, 200);
}
