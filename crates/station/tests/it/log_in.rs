//! Who may use a station.

use crate::browser::{
    Page, connect, get, log_in, open_station, options, people, post, station_with_people,
};
use bowline_bus::Bus;
use bowline_station::{Access, Options, StartError, Station, self_signed};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn without_a_log_in_nothing_is_seen_and_with_it_everybody_is_who_they_are() {
    let (_bus, station) = station_with_people();
    let address = station.address();
    let origin = format!("http://{address}");
    assert_eq!(
        get(address, "/", "").status,
        200,
        "the page itself is no secret"
    );
    assert_eq!(get(address, "/whoami", "").status, 401);
    assert_eq!(get(address, "/charts/x", "").status, 401);
    assert_eq!(connect(address, &[("origin", &origin)]).err(), Some(401));
    let cookie = log_in(address, "eve");
    let who = get(address, "/whoami", &format!("Cookie: {cookie}\r\n"));
    assert_eq!((who.status, &who.body[..]), (200, &b"eve\n"[..]));
    let page = Page::open_as(address, &cookie);
    assert_eq!(page.hello["role"], "supervisor");
}

#[test]
fn a_cookie_is_for_this_station_and_no_script() {
    let (_bus, station) = station_with_people();
    let body = json!({ "user": "bob", "password": "bobbob" }).to_string();
    let answer = post(station.address(), "/login", "", &body);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
}

#[test]
fn wrong_passwords_are_refused_and_guessing_is_slowed_down() {
    let (_bus, station) = station_with_people();
    let statuses: Vec<u16> = (0..8)
        .map(|n| {
            let body = json!({ "user": "anna", "password": format!("guess {n}") }).to_string();
            post(station.address(), "/login", "", &body).status
        })
        .collect();
    assert_eq!(statuses[..5], [401; 5]);
    assert_eq!(statuses[5..], [429; 3]);
    for body in ["", "{}", "[1]", "{\"user\": 3}"] {
        let (_bus, station) = station_with_people();
        assert_eq!(
            post(station.address(), "/login", "", body).status,
            400,
            "{body}"
        );
        let long = "x".repeat(5_000);
        assert_eq!(post(station.address(), "/login", "", &long).status, 413);
    }
}

#[test]
fn stolen_expired_and_ended_tokens_are_refused() {
    let (_bus, station) = station_with_people();
    let address = station.address();
    let origin = format!("http://{address}");
    let cookie = log_in(address, "anna");
    let open = |cookie: &str| connect(address, &[("origin", &origin), ("cookie", cookie)]).err();
    assert_eq!(open("bowline_session=guess"), Some(401));
    assert_eq!(open("bowline_session="), Some(401));
    assert_eq!(open(&format!("other={}", &cookie[16..])), Some(401));
    assert_eq!(open(&cookie), None);
    let query = format!("/whoami?{cookie}");
    assert_eq!(
        get(address, &query, "").status,
        401,
        "no token is taken from a URL"
    );
    let mut page = Page::open_as(address, &cookie);
    post(address, "/logout", &format!("Cookie: {cookie}\r\n"), "");
    assert_eq!(open(&cookie), Some(401));
    assert_eq!(
        page.wait_for_close(),
        (1008, "the log-in is over".to_owned())
    );
}

#[test]
fn a_log_in_ends_by_itself() {
    let bus = Bus::open("memq://").unwrap();
    let options = Options {
        session: Duration::ZERO,
        access: Access::LogIn {
            people: people(),
            certificate: None,
        },
        ..options(&bus)
    };
    let station = Station::start(options).unwrap();
    let cookie = log_in(station.address(), "anna");
    let who = get(
        station.address(),
        "/whoami",
        &format!("Cookie: {cookie}\r\n"),
    );
    assert_eq!(who.status, 401);
}

#[test]
fn a_station_that_others_reach_has_log_in_and_tls_or_does_not_start() {
    let bus = Bus::open("memq://").unwrap();
    let everywhere = ([0, 0, 0, 0], 0).into();
    for access in [
        Access::Open,
        Access::LogIn {
            people: people(),
            certificate: None,
        },
    ] {
        let options = Options {
            listen: everywhere,
            access,
            ..options(&bus)
        };
        let refused = Station::start(options).err();
        assert!(
            matches!(refused, Some(StartError::Exposed(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn with_tls_a_browser_sees_the_certificate_and_the_cookie_is_for_tls_only() {
    let bus = Bus::open("memq://").unwrap();
    let certificate = self_signed(&["bridge.test".to_owned()]).unwrap();
    let options = Options {
        access: Access::LogIn {
            people: people(),
            certificate: Some(certificate.clone()),
        },
        hosts: vec!["bridge.test".to_owned()],
        ..options(&bus)
    };
    let station = Station::start(options).unwrap();
    assert!(station.url().starts_with("https://"));
    let mut roots = rustls::RootCertStore::empty();
    let own = CertificateDer::from_pem_slice(certificate.chain_pem.as_bytes()).unwrap();
    roots.add(own).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("bridge.test").unwrap();
    let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(station.address()).unwrap();
    let mut stream = rustls::StreamOwned::new(client, stream);
    let body = json!({ "user": "bob", "password": "bobbob" }).to_string();
    let request = format!(
        "POST /login HTTP/1.1\r\nHost: bridge.test\r\nOrigin: https://bridge.test\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    drop(stream.read_to_string(&mut answer));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("; Secure"), "{answer}");
}

#[test]
fn where_nobody_has_to_log_in_there_is_nothing_to_log_in_to() {
    let (_bus, station) = open_station();
    let body = json!({ "user": "anna", "password": "annaanna" }).to_string();
    assert_eq!(post(station.address(), "/login", "", &body).status, 404);
    assert_eq!(get(station.address(), "/whoami", "").status, 200);
}
