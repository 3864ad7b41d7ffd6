//! `bowline station` and `bowline demo` as programs: they print the address of the page, serve it, and end on ^C.

use crate::hub::Running;
use crate::{bowline_in, scratch, stderr, stdout, write};
use bowline_bus::Bus;
use bowline_msgs::Gate;
use bowline_testing::patience::PATIENCE;
use bowline_wire::Message as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

/// A program that serves a page, ended with the value.
pub(crate) struct Serving {
    child: Child,
    output: BufReader<ChildStdout>,
    scheme: String,
    address: String,
}

impl Serving {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary is built");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let url = loop {
            let mut line = String::new();
            let n_read = output.read_line(&mut line).expect("it prints something");
            assert!(n_read > 0, "it ended before it printed where the page is");
            if let Some(url) = line.trim_end().strip_prefix("station: ") {
                break url.trim_end_matches('/').to_owned();
            }
        };
        let (scheme, address) = url.split_once("://").expect("a URL");
        Self {
            child,
            output,
            scheme: scheme.to_owned(),
            address: address.to_owned(),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a duration");
        stream
    }

    fn get(&self, path: &str) -> String {
        assert_eq!(self.scheme, "http");
        self.get_over(self.connect(), path).expect("it answers")
    }

    /// Asks over a connection.
    fn get_over(&self, mut stream: impl Read + Write, path: &str) -> io::Result<String> {
        let address = &self.address;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Asks as a browser does that trusts these certificates and no others.
    fn get_with_tls(&self, trusted_pem: &str, path: &str) -> io::Result<String> {
        let mut roots = rustls::RootCertStore::empty();
        let trusted = CertificateDer::from_pem_slice(trusted_pem.as_bytes()).expect("PEM");
        roots.add(trusted).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("it has versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
        let client = rustls::ClientConnection::new(Arc::new(config), name);
        let client = client.expect("a configuration that is whole");
        self.get_over(rustls::StreamOwned::new(client, self.connect()), path)
    }

    /// Presses ^C. Returns its last output, and its exit code.
    pub(crate) fn interrupt(mut self) -> (String, Option<i32>) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status();
        assert!(status.expect("kill is there").success());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("it ends");
        let code = self.child.wait().expect("it can be waited for").code();
        (rest, code)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn the_demo_serves_its_page_ends_cleanly_and_leaves_a_log_that_can_be_shown_again() {
    let folder = scratch("station-demo");
    let demo = Serving::start(&folder, &["demo", "--no-open"]);
    assert!(demo.get("/").starts_with("HTTP/1.1 200"));
    assert!(
        demo.get("/charts/harbour.geojson")
            .contains("FeatureCollection")
    );
    assert!(
        demo.get("/charts/harbour-truth.geojson")
            .contains("is_truth")
    );
    let (said, code) = demo.interrupt();
    assert_eq!(code, Some(0));
    assert!(
        said.contains("bowline station --log harbour-demo/harbour.mcap"),
        "{said}"
    );
    let replay = Serving::start(&folder, &["station", "--log", "harbour-demo/harbour.mcap"]);
    assert!(replay.get("/").starts_with("HTTP/1.1 200"));
    assert_eq!(replay.interrupt().1, Some(0));
    assert!(folder.join("station-audit.mcap.00").exists());
}

#[test]
fn station_creates_what_it_needs_and_errors_have_the_fix() {
    let folder = scratch("station-needs");
    let made = bowline_in(&folder, &["station", "password"], b"open sesame\n");
    let hash = stdout(&made);
    assert!(hash.starts_with("$argon2id$"), "{hash}");
    let short = bowline_in(&folder, &["station", "password"], b"sesame\n");
    assert_eq!(short.status.code(), Some(2));
    let long = "x".repeat(1_025);
    let long = bowline_in(&folder, &["station", "password"], long.as_bytes());
    assert_eq!(long.status.code(), Some(2), "no user could log in with it");
    let made = bowline_in(&folder, &["station", "certificate", "bridge.local"], b"");
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    assert!(folder.join("station.pem").exists() && folder.join("station.key").exists());
    let again = bowline_in(&folder, &["station", "certificate", "bridge.local"], b"");
    assert_eq!(again.status.code(), Some(1), "a key is not written over");
    let named = [
        "station",
        "certificate",
        "bridge.local",
        "-o",
        "bridge.local",
    ];
    write(&folder, "bridge.local.key", "somebody's");
    let refused = bowline_in(&folder, &named, b"");
    assert_eq!(refused.status.code(), Some(1), "a key is not written over");
    assert!(
        !folder.join("bridge.local.pem").exists(),
        "half of it is none"
    );
    fs::remove_file(folder.join("bridge.local.key")).expect("it is there");
    assert_eq!(bowline_in(&folder, &named, b"").status.code(), Some(0));
    assert!(folder.join("bridge.local.pem").exists() && folder.join("bridge.local.key").exists());
    write(&folder, "bad.geojson", "{}");
    write(&folder, "same.geojson", "{\"type\": \"FeatureCollection\"}");
    write(
        &folder,
        "people.toml",
        "[user.anna]\nrole = \"king\"\npassword = \"x\"\n",
    );
    for (more, expected) in [
        (
            &["--listen", "0.0.0.0:0"][..],
            "Give --users, --tls-cert and --tls-key",
        ),
        (
            &["--chart", "bad.geojson"],
            "an object of type FeatureCollection; `bowline sim chart` writes one",
        ),
        (
            &["--chart", "same.geojson", "--chart", "same.geojson"],
            "two that are called \"same.geojson\"",
        ),
        (&["--chart", "none.geojson"], "cannot read none.geojson"),
        (&["--users", "people.toml"], "unknown variant `king`"),
        (
            &["--name", "a name that is much too long for a gate"],
            "expected a name of 1 to 31 bytes",
        ),
        (&["--log", "none.mcap"], "none.mcap"),
    ] {
        let args = [&["station", "-l", "memq://"][..], more].concat();
        let args = if more[0] == "--log" {
            [&["station"][..], more].concat()
        } else {
            args
        };
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

/// People who may log in, and certificates with their keys: `NAME.pem` and `NAME.key` for each name.
fn make_people_and_certificates(folder: &Path, names: &[&str]) {
    let hash = stdout(&bowline_in(
        folder,
        &["station", "password"],
        b"open sesame\n",
    ));
    let people = format!(
        "[user.anna]\nrole = \"operator\"\npassword = '{}'\n",
        hash.trim()
    );
    write(folder, "people.toml", &people);
    for name in names {
        let args = ["station", "certificate", "127.0.0.1", "-o", name];
        let made = bowline_in(folder, &args, b"");
        assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    }
}

#[test]
fn station_with_tls_serves_its_page_to_a_client_that_trusts_its_certificate_and_to_no_other() {
    let folder = scratch("station-tls");
    make_people_and_certificates(&folder, &["bridge", "other"]);
    let args = [
        &["station", "-l", "memq://", "--users", "people.toml"][..],
        &["--tls-cert", "bridge.pem", "--tls-key", "bridge.key"],
    ];
    let station = Serving::start(&folder, &args.concat());
    assert_eq!(station.scheme, "https");
    let pem = |name: &str| fs::read_to_string(folder.join(name)).expect("it was made");
    let page = station.get_with_tls(&pem("bridge.pem"), "/");
    let page = page.expect("it is trusted");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("<html"), "{page}");
    let who = station.get_with_tls(&pem("bridge.pem"), "/whoami");
    let who = who.expect("it is trusted");
    assert!(who.starts_with("HTTP/1.1 401"), "{who}");
    let refused = station.get_with_tls(&pem("other.pem"), "/").unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("invalid peer certificate"), "{refused}");
    // Without TLS nothing is served, not even a refusal that could be taken for the page.
    let plain = station.get_over(station.connect(), "/");
    assert!(plain.is_err() || !plain.unwrap_or_default().contains("HTTP/1.1"));
    assert_eq!(station.interrupt().1, Some(0));
}

#[test]
fn station_names_the_tls_file_that_it_cannot_use_and_does_not_start() {
    let folder = scratch("station-tls-files");
    make_people_and_certificates(&folder, &["bridge", "other"]);
    write(&folder, "text", "not a certificate\n");
    let broken = "-----BEGIN CERTIFICATE-----\n!?\n-----END CERTIFICATE-----\n";
    write(&folder, "broken.pem", broken);
    fs::create_dir(folder.join("folder")).expect("a scratch folder can be made");
    // What is reported of a file, or of the two together.
    let both = "cannot use the certificate {cert} with the key {key}";
    #[rustfmt::skip]
    let cases = [
        ("none.pem",   "bridge.key", "cannot read none.pem", "No such file"),
        ("bridge.pem", "none.key",   "cannot read none.key", "No such file"),
        ("folder",     "bridge.key", "cannot read folder",   "Is a directory"),
        ("bridge.pem", "folder",     "cannot read folder",   "Is a directory"),
        ("text",       "bridge.key", both, "expected certificates as PEM, found none"),
        ("broken.pem", "bridge.key", both, "expected certificates as PEM: "),
        ("bridge.pem", "text",       both, "expected a private key as PEM: "),
        ("bridge.pem", "bridge.pem", both, "expected a private key as PEM: "),
        ("bridge.pem", "other.key",  both, "certificate and key: "),
    ];
    for (cert, key, what, why) in cases {
        let args = [
            &["station", "-l", "memq://", "--listen", "127.0.0.1:0"][..],
            &[
                "--users",
                "people.toml",
                "--tls-cert",
                cert,
                "--tls-key",
                key,
            ],
        ];
        let output = bowline_in(&folder, &args.concat(), b"");
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{cert} {key}: {errors}");
        assert_eq!(stdout(&output), "", "it never started");
        let what = what.replace("{cert}", cert).replace("{key}", key);
        for expected in [&*what, why] {
            assert!(errors.contains(expected), "{cert} {key}: {errors}");
        }
    }
    for more in [
        &["--tls-cert", "bridge.pem", "--tls-key", "bridge.key"][..],
        &["--users", "people.toml", "--tls-cert", "bridge.pem"],
        &["--users", "people.toml", "--tls-key", "bridge.key"],
    ] {
        let output = bowline_in(
            &folder,
            &[&["station", "-l", "memq://"][..], more].concat(),
            b"",
        );
        assert_eq!(output.status.code(), Some(2), "{more:?} is not all of it");
    }
}

/// What a process has in memory, in KiB.
fn resident_kib(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let size = line.and_then(|it| it.trim().split(' ').next()?.parse().ok());
    size.expect("it has a size")
}

#[test]
fn a_crowd_at_the_door_keeps_no_gate_and_takes_little_memory() {
    let folder = scratch("station-crowd");
    let mut hub = Running::start(&["tcpq://127.0.0.1:0"]);
    let line = hub.line();
    let url = line.strip_prefix("hub at ").expect("it prints where it is");
    let gates = Bus::open(url)
        .expect("the hub is there")
        .events("gate.state");
    let gates = gates.expect("there is room");
    let demo = Serving::start(&folder, &["demo", "--no-open", "--url", url]);
    let next = || {
        let event = gates.recv_timeout(PATIENCE).expect("the hub is there");
        let (_, event) = event.expect("the vehicle's gate goes on");
        Gate::decode(&event.payload).expect("a gate")
    };
    // Its script has ended: what changes from now on has another cause.
    let is_under_way = |gate: &Gate| gate.state == Gate::AUTONOMOUS && gate.holder.is_empty();
    let mut gates = std::iter::repeat_with(next).take(2_000);
    assert!(gates.any(|gate| is_under_way(&gate)), "it sets off");
    let before = resident_kib(demo.child.id());
    let crowd: Vec<TcpStream> = (0..1_000)
        .map(|n| {
            let mut stream = TcpStream::connect(&demo.address).expect("it listens");
            // Some report something that is no end of anything.
            let word = [&b"GET / HTTP/1.1\r\nX: "[..], b"", &[0x16, 3, 1]][n % 3];
            drop(stream.write_all(word));
            stream
        })
        .collect();
    for gate in gates.take(20) {
        assert!(is_under_way(&gate), "{gate:?}");
    }
    let grown = resident_kib(demo.child.id()).saturating_sub(before);
    assert!(grown < 64 << 10, "{grown} KiB");
    drop(crowd);
    assert_eq!(demo.interrupt().1, Some(0));
}
