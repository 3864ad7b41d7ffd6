//! `bowline list` beside publishers, good and bad.

use crate::{bowline_in, scratch, stderr, stdout};
use bowline_testing::network::Namespace;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";

/// A publisher that prints `ready` and goes on until dropped.
struct Publisher(Child);

impl Publisher {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("a publisher starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("it prints something");
        assert_eq!(line, "ready\n");
        Self(child)
    }

    /// Our own bus, on the channel `bench.data`.
    fn ours(namespace: &Namespace) -> Self {
        let mut command = namespace.command(env!("CARGO_BIN_EXE_bowline"));
        command.args(["bench-worker", "bowline", "pub", URL]);
        command.args(["--rate", "200", "--seconds", "60"]);
        Self::start(&mut command)
    }

    /// Skips every second number, sends every message twice, and rubbish between them.
    fn bad(namespace: &Namespace) -> Self {
        let script = "\
import socket, struct, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
print('ready', flush=True)
for n in range(0, 12000, 2):
    for datagram in [b'LC02' + struct.pack('>I', n) + b'bad\\x1b[31m\\0' + b'12345'] * 2 + [b'rubbish']:
        s.sendto(datagram, ('239.255.76.67', 7667))
    time.sleep(0.005)
";
        Self::start(namespace.command("python3").args(["-c", script]))
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        let _ended = (self.0.kill(), self.0.wait());
    }
}

fn list(namespace: &Namespace, arguments: &[&str]) -> Output {
    let mut command = namespace.command(env!("CARGO_BIN_EXE_bowline"));
    command.arg("list").args(arguments);
    command.output().expect("nsenter is there")
}

#[test]
fn channels_are_listed_with_their_traffic() {
    let namespace = Namespace::new();
    let _publisher = Publisher::ours(&namespace);
    let output = list(&namespace, &["--for", "1s", "--json", URL]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let channel = &report["channels"][0];
    assert_eq!(channel["channel"], "bench.data");
    assert_eq!(channel["last_size"], 800);
    let messages = channel["messages"].as_u64().expect("a count");
    assert!(messages > 0);
    assert_eq!(channel["bytes"], 800 * messages);
    assert_eq!(
        channel["bytes_per_s"].as_u64().map(|rate| rate > 0),
        Some(true)
    );
    assert_eq!(channel["senders"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["senders"][0]["sender"], channel["senders"][0]);
    assert_eq!(report["subscriptions"][0]["pattern"], ".*");
    for count in [
        "lost",
        "incomplete",
        "queue_drops",
        "malformed",
        "duplicates",
        "late",
    ] {
        assert_eq!(report["counts"][count], 0, "{count}");
    }
    assert!(report["counts"]["receive_buffer"].as_u64() > Some(0));
}

#[test]
fn whatever_was_lost_is_shown() {
    let namespace = Namespace::new();
    let _publisher = Publisher::bad(&namespace);
    let output = list(&namespace, &["--for", "1s", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    for count in ["lost", "malformed", "duplicates"] {
        assert!(
            report["counts"][count].as_u64() > Some(0),
            "{count} in {report:#}"
        );
    }
    assert!(
        report["senders"][0]["lost"].as_u64() > Some(0),
        "{report:#}"
    );
}

#[test]
fn a_table_for_people_is_harmless_and_complete() {
    let namespace = Namespace::new();
    let _publisher = Publisher::bad(&namespace);
    let text = stdout(&list(&namespace, &["--for", "500ms", "-v"]));
    assert!(
        text.contains("bad?[31m") && !text.contains('\x1b'),
        "{text}"
    );
    for word in [
        "channel",
        "rate",
        "bandwidth",
        "last size",
        "sender",
        "lost",
        "incomplete",
        "kernel drops",
        "queue drops",
        "malformed",
        "duplicates",
        "late",
        "filtered",
        "receive buffer",
    ] {
        assert!(text.contains(word), "no {word} in {text}");
    }
}

#[test]
fn zero_counters_are_left_out_and_a_line_reports_no_loss() {
    let namespace = Namespace::new();
    let _publisher = Publisher::ours(&namespace);
    let text = stdout(&list(&namespace, &["--for", "500ms"]));
    assert!(text.contains("\nnothing was lost\n"), "{text}");
    for name in ["queue drops", "reconnects", "conflicts"] {
        assert!(!text.contains(name), "{name} in {text}");
    }
}

#[test]
fn silence_is_exit_code_1_and_a_hint() {
    let namespace = Namespace::new();
    let output = list(&namespace, &["--for", "10ms", URL]);
    assert_eq!(output.status.code(), Some(1));
    // One word for a shell.
    let hint = format!("`bowline doctor '{URL}'` checks");
    assert!(stderr(&output).contains(&hint), "{}", stderr(&output));
}

#[test]
fn unreachable_bus_is_reported() {
    let folder = scratch("list-alone");
    let output = bowline_in(&folder, &["list", "--for", "10ms", "memq://"], b"");
    assert_eq!(output.status.code(), Some(1));
    let hint = "memq stays within one process, so no other program can be seen there";
    assert!(stderr(&output).contains(hint), "{}", stderr(&output));
}

#[test]
fn a_hub_that_is_not_there_is_trouble_and_not_silence() {
    let namespace = Namespace::new();
    let hub = "tcpq://127.0.0.1:7700";
    let output = list(&namespace, &["--for", "10ms", hub]);
    assert_eq!(output.status.code(), Some(1));
    for text in [stdout(&output), stderr(&output)] {
        assert!(text.contains("no hub listens there"), "{text}");
        assert!(!text.contains("nothing was lost"), "{text}");
    }
    let output = list(&namespace, &["--for", "10ms", "--json", hub]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    assert!(report["trouble"].is_string(), "{report:#}");
}

#[test]
fn error_has_each_cause_once() {
    let namespace = Namespace::bare();
    let output = list(&namespace, &["--for", "10ms", URL]);
    let text = stderr(&output);
    assert_eq!(text.matches("os error").count(), 1, "{text}");
}
