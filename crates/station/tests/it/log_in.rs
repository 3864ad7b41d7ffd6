//! Who may use a station.

use crate::browser::{
    Page, audits_until, connect, connect_from, get, log_in, open_station, options, people, post,
    send_over, send_raw, station_with_people,
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
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest as _};

#[test]
fn without_a_log_in_nothing_is_served_and_with_it_roles_apply() {
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
    assert_eq!(get(address, "/panels/x.js", "").status, 401);
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
    let own = format!("bowline_session_{}=", station.address().port());
    assert!(
        cookie.starts_with(&own),
        "browsers do not distinguish ports"
    );
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
        let long = "x".repeat(10_000);
        assert_eq!(post(station.address(), "/login", "", &long).status, 413);
    }
}

#[test]
fn guesses_without_end_are_few_lines_and_what_is_no_name_is_written_nowhere() {
    let (bus, station) = station_with_people();
    let address = station.address();
    let audits = bus.events("station.audit").unwrap();
    let attempt = |user: &str| {
        let body = json!({ "user": user, "password": "guess" }).to_string();
        post(address, "/login", "", &body).status
    };
    assert_eq!(attempt("my secret password"), 401);
    let mut statuses = Vec::new();
    while statuses.last() != Some(&429) {
        statuses.push(attempt("anna"));
        assert!(statuses.len() < 50, "nothing slows it down: {statuses:?}");
    }
    let n_more = statuses.len() - 1;
    assert!(n_more >= 4, "{statuses:?}");
    assert_eq!(statuses[..n_more], vec![401; n_more], "{statuses:?}");
    for _ in 0..50 {
        assert_eq!(attempt("anna"), 429);
    }
    drop(station);
    let audits = audits_until(&audits, |it| it.detail.contains("times since"));
    let is_wrong = |it: &&bowline_msgs::Audit| it.detail == "wrong name or password";
    let n_wrong = audits.iter().filter(is_wrong).count();
    assert_eq!(n_wrong, n_more + 1, "{audits:?}");
    assert_eq!(audits.len(), n_wrong + 2, "{audits:?}");
    assert_eq!((&*audits[0].user, &*audits[1].user), ("", "anna"));
    assert_eq!(
        audits.last().unwrap().detail,
        "too many attempts; 50 times since the last line"
    );
}

#[test]
fn who_logs_in_between_guesses_guesses_no_faster() {
    let (_bus, station) = station_with_people();
    let address = station.address();
    let guess = json!({ "user": "eve", "password": "guess" }).to_string();
    let own = json!({ "user": "bob", "password": "bobbob" }).to_string();
    let mut guesses = Vec::new();
    let mut logins = Vec::new();
    while guesses.last() != Some(&429) {
        guesses.push(post(address, "/login", "", &guess).status);
        logins.push(post(address, "/login", "", &own).status);
        assert!(guesses.len() < 50, "nothing slows it down: {guesses:?}");
    }
    let n_wrong = guesses.len() - 1;
    assert!(n_wrong >= 5, "{guesses:?}");
    assert_eq!(guesses[..n_wrong], vec![401; n_wrong], "{guesses:?}");
    // Those who know their password are let in between, as long as there is an attempt left.
    assert_eq!(logins[..4], [200; 4], "{logins:?}");
}

#[test]
fn truncated_body_is_distinguished_from_an_oversized_one() {
    let (_bus, station) = station_with_people();
    let address = station.address();
    let request = format!(
        "POST /login HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nContent-Length: 100\r\n\r\n{{"
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let answer = send_over(stream, b"").expect("an answer");
    assert_eq!(
        (answer.status, &answer.body[..]),
        (400, &b"the request was cut off\n"[..])
    );
    let long = "x".repeat(10_000);
    assert_eq!(post(address, "/login", "", &long).status, 413);
}

#[test]
fn stolen_made_up_doubled_and_ended_tokens_are_refused_and_that_is_written_down() {
    let (bus, station) = station_with_people();
    let audits = bus.events("station.audit").unwrap();
    let address = station.address();
    let origin = format!("http://{address}");
    let cookie = log_in(address, "anna");
    let (name, token) = cookie.split_once('=').unwrap();
    let open = |cookie: &str| connect(address, &[("origin", &origin), ("cookie", cookie)]).err();
    assert_eq!(open(&format!("{name}=guess")), Some(401));
    assert_eq!(open(&format!("{name}=")), Some(401));
    assert_eq!(open(&format!("bowline_session={token}")), Some(401));
    assert_eq!(open(&format!("{cookie}; {name}=planted")), Some(401));
    assert_eq!(open(&cookie), None);
    let who = format!(
        "GET /whoami HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n"
    );
    assert_eq!(send_raw(address, who.as_bytes()).unwrap().status, 200);
    let thief = connect_from([127, 0, 0, 2], address);
    assert_eq!(send_over(thief, who.as_bytes()).unwrap().status, 401);
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
    let audits = audits_until(&audits, |it| it.detail == "the log-in is over");
    let of = |action: &'static str| audits.iter().filter(move |it| it.action == action);
    assert_eq!(
        of("logout").map(|it| &*it.user).collect::<Vec<_>>(),
        ["anna"]
    );
    let thieves: Vec<_> = of("refused")
        .filter(|it| it.address.starts_with("127.0.0.2:"))
        .collect();
    assert_eq!(thieves.len(), 1);
    assert_eq!(
        (&*thieves[0].subject, thieves[0].is_done),
        ("/whoami", false)
    );
    assert_eq!(of("refused").count(), 2, "one line for each host");
}

#[test]
fn a_page_is_closed_when_the_log_in_expires() {
    let bus = Bus::open("memq://").unwrap();
    // Where the machine is so busy that the log-in is over before the page is open, the next one lasts longer.
    let (station, cookie, mut page) = [1, 3, 10, 30]
        .into_iter()
        .find_map(|seconds| {
            let options = Options {
                session: Duration::from_secs(seconds),
                access: Access::LogIn {
                    people: people(),
                    certificate: None,
                },
                ..options(&bus)
            };
            let station = Station::start(options).unwrap();
            let cookie = log_in(station.address(), "anna");
            match Page::try_open_as(station.address(), &cookie) {
                Ok(page) => Some((station, cookie, page)),
                Err(status) => {
                    assert_eq!(status, 401);
                    None
                }
            }
        })
        .expect("a page that is open before the log-in is over");
    let address = station.address();
    assert_eq!(
        page.wait_for_close(),
        (1008, "the log-in is over".to_owned())
    );
    let who = get(address, "/whoami", &format!("Cookie: {cookie}\r\n"));
    assert_eq!(who.status, 401, "expired");
}

#[test]
fn one_host_cannot_take_all_connections() {
    let (_bus, station) = station_with_people();
    let address = station.address();
    let origin = format!("http://{address}");
    let open = |cookie: &str| connect(address, &[("origin", &origin), ("cookie", cookie)]);
    let (bob, eve) = (log_in(address, "bob"), log_in(address, "eve"));
    let pages: Vec<_> = (0..8).map(|_| open(&bob).unwrap()).collect();
    assert_eq!(open(&bob).err(), Some(503));
    let mut page = Page::open_as(address, &eve);
    page.wait_for_count("requests refused", 1);
    drop(pages);
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

type TlsStream = rustls::StreamOwned<rustls::ClientConnection, TcpStream>;

/// A station with a certificate for `bridge.test`, and a way to connect to it.
fn station_with_tls() -> (Bus, Station, impl Fn() -> TlsStream) {
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
    let mut roots = rustls::RootCertStore::empty();
    let own = CertificateDer::from_pem_slice(certificate.chain_pem.as_bytes()).unwrap();
    roots.add(own).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let address = station.address();
    let connect = move || {
        let name = ServerName::try_from("bridge.test").unwrap();
        let client = rustls::ClientConnection::new(Arc::clone(&config), name).unwrap();
        rustls::StreamOwned::new(client, TcpStream::connect(address).unwrap())
    };
    (bus, station, connect)
}

#[test]
fn with_tls_a_browser_sees_the_certificate_the_page_and_messages_and_the_cookie_is_for_tls_only() {
    let (_bus, station, connect) = station_with_tls();
    assert!(station.url().starts_with("https://"));
    let ask = |request: String| {
        let mut stream = connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    };
    let page = ask("GET / HTTP/1.1\r\nHost: bridge.test\r\nConnection: close\r\n\r\n".to_owned());
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<html"));
    let body = json!({ "user": "bob", "password": "bobbob" }).to_string();
    let answer = ask(format!(
        "POST /login HTTP/1.1\r\nHost: bridge.test\r\nOrigin: https://bridge.test\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    ));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("; Secure"), "{answer}");
    let cookie = answer.split("set-cookie: ").nth(1).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    assert!(cookie.starts_with("__Host-bowline_session_"), "{cookie}");
    let mut request = "wss://bridge.test/ws".into_client_request().unwrap();
    for (name, value) in [("origin", "https://bridge.test"), ("cookie", cookie)] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let (mut socket, _) = tungstenite::client(request, connect()).unwrap();
    let hello = socket.read().unwrap().into_data();
    assert_eq!(hello[0], 0x01);
    let hello: serde_json::Value = serde_json::from_slice(&hello[1..]).unwrap();
    assert_eq!(hello["user"], "bob");
}

#[test]
fn without_users_there_is_no_log_in_page() {
    let (_bus, station) = open_station();
    let body = json!({ "user": "anna", "password": "annaanna" }).to_string();
    assert_eq!(post(station.address(), "/login", "", &body).status, 404);
    assert_eq!(get(station.address(), "/whoami", "").status, 200);
}
