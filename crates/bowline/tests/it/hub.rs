//! `bowline hub` as a program: it prints where it is, relays, and ends when it is stopped.

use crate::{bowline_in, scratch, stderr};
use bowline_bus::Bus;
use bowline_testing::patience::PATIENCE;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, ExitStatus, Stdio};

/// A running hub, ended with the value.
pub(crate) struct Running {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .arg("hub")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary is built");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, output }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("it prints something");
        line.trim_end().to_owned()
    }

    /// Presses ^C, and returns the last line, what went to stderr, and how it ended.
    fn interrupt(mut self) -> (String, String, ExitStatus) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status();
        assert!(status.expect("kill is there").success());
        let (mut rest, mut errors) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).expect("it ends");
        let stderr = self.child.stderr.as_mut().expect("it is piped");
        stderr.read_to_string(&mut errors).expect("it ends");
        let last = rest.lines().last().unwrap_or_default().to_owned();
        (
            last,
            errors,
            self.child.wait().expect("it can be waited for"),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn hub_prints_its_url_relays_and_ends_when_interrupted() {
    let mut hub = Running::start(&["tcpq://127.0.0.1:0"]);
    let line = hub.line();
    let url = line.strip_prefix("hub at ").expect("it prints where it is");
    let bus = Bus::open(url).unwrap();
    let inbox = bus.events("X").unwrap();
    bus.publish_bytes("X", b"through the hub").unwrap();
    let event = inbox.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        &event.expect("it comes back").1.payload[..],
        b"through the hub"
    );
    let (last, errors, status) = hub.interrupt();
    assert!(status.success(), "{status}: {errors}");
    assert_eq!(last, "1 client, 1 message, 0 dropped");
    for expected in ["only programs on this host reach it", " joined\n"] {
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn scripts_get_lines_of_json() {
    let mut hub = Running::start(&["tcpq://127.0.0.1:0", "--json"]);
    let first: Value = serde_json::from_str(&hub.line()).unwrap();
    let url = first["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("tcpq://127.0.0.1:"), "{url}");
    let bus = Bus::open(&url).unwrap();
    bus.publish_bytes("X", b"12345").unwrap();
    let inbox = bus.events("X").unwrap();
    let (last, _, status) = hub.interrupt();
    assert!(status.success());
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(
        (&last["messages"], &last["bytes"]),
        (&1.into(), &5.into()),
        "{last}"
    );
    assert_eq!(last["clients"][0]["patterns"], 1, "{last}");
    drop(inbox);
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("tcpq://{}", taken.local_addr().unwrap());
    for (url, expected) in [
        (
            "udpm://239.255.76.67:7667",
            "expected tcpq://HOST:PORT, found \"udpm\"",
        ),
        (
            "tcpq://robot:hub",
            "expected HOST:PORT such as 127.0.0.1:7700",
        ),
        ("7700", "expected scheme://address"),
        (&taken, "`ss -tlnp` lists who does"),
    ] {
        let output = bowline_in(&scratch("hub"), &["hub", url], b"");
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains(expected),
            "{url}: {}",
            stderr(&output)
        );
    }
}
