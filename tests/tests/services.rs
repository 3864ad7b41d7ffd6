//! Services between programs: over a bad network, across the deaths of a server, and from the command line.

use bowline_tests::built::own_program;
use bowline_tests::bus_peers::{URL, URL_ACROSS_LINKS};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::bowline;
use bowline_tests::process::Process;
use bowline_tests::relay::decide::Faults;
use bowline_tests::relay::network::BadNetwork;
use bowline_tests::report::{Job, at_once};
use bowline_tests::sweep;
use std::process::Output;

const SERVICE: &str = "harbour.find";
/// Only guards against a hang.
const TIMEOUT_MS: &str = "30000";
/// What is waited for to no avail; long enough for a server on a busy machine to acknowledge the call.
const SOON_MS: &str = "3000";

fn server(place: &Namespace, url: &str) -> Process {
    let mut command = place.command(own_program("service"));
    Process::start_ready("server", command.args(["serve", url, SERVICE]))
}

fn caller(place: &Namespace, url: &str, count: u32, timeout_ms: &str) -> Process {
    let mut command = place.command(own_program("service"));
    command.args(["call", url, SERVICE, &count.to_string(), timeout_ms]);
    Process::start_ready("caller", &mut command)
}

/// Every call has its reply and is executed once, whatever the network does to calls and answers.
fn check_bad_network(seed: u64, faults: &str) {
    let n_calls = sweep::pick("calls over a bad network", 12, 40);
    let faults = Faults::from_text(faults).expect("written below");
    let network = BadNetwork::new(seed, faults, faults);
    let server = server(&network.there, URL_ACROSS_LINKS);
    let caller = caller(&network.here, URL_ACROSS_LINKS, n_calls, TIMEOUT_MS);
    for number in 0..n_calls {
        assert_eq!(caller.line(), format!("call-{number} reply"), "seed {seed}");
    }
    assert_eq!(caller.finish(), [""; 0]);
    let (_hosts, _record) = network.end();
    let executed = server.finish();
    let expected: Vec<String> = (0..n_calls)
        .map(|number| format!("executed call-{number}"))
        .collect();
    assert_eq!(executed, expected, "seed {seed}");
}

#[test]
fn calls_are_executed_once_and_answered_over_a_bad_network() {
    let cases = [
        (1, "lost=200"),
        (2, "duplicated=300,reordered=300"),
        (3, "lost=200,duplicated=200,reordered=200,jitter_us=20000"),
        (4, "lost=400,delay_us=5000"),
    ];
    let jobs = cases
        .map(|(seed, faults)| -> Job<'_> { Box::new(move || check_bad_network(seed, faults)) });
    at_once(jobs.into());
}

#[test]
fn a_caller_learns_that_its_server_died_in_the_middle_and_the_next_life_serves_on() {
    let place = Namespace::new();
    let first = server(&place, URL);
    let mut caller = caller(&place, URL, 0, TIMEOUT_MS);
    caller.tell("hold");
    assert_eq!(first.line(), "executed hold");
    // It is killed, not asked.
    drop(first);
    let second = server(&place, URL);
    let line = caller.line();
    assert!(line.contains("the server restarted"), "{line}");
    caller.tell("again");
    assert_eq!(caller.line(), "again reply");
    assert_eq!(caller.finish(), [""; 0]);
    assert_eq!(second.finish(), ["executed again"]);
}

#[test]
fn a_call_waits_for_a_server_that_is_about_to_start_and_for_one_that_takes_its_time() {
    let place = Namespace::new();
    let mut caller = caller(&place, URL, 0, TIMEOUT_MS);
    caller.tell("early");
    let mut server = server(&place, URL);
    assert_eq!(caller.line(), "early reply");
    assert_eq!(server.line(), "executed early");
    caller.tell("hold");
    assert_eq!(server.line(), "executed hold");
    server.tell("go on");
    assert_eq!(caller.line(), "hold reply");
    caller.tell("fail");
    assert_eq!(
        caller.line(),
        "fail the service replied: no such place (code 7)"
    );
    assert_eq!(caller.finish(), [""; 0]);
    assert_eq!(server.finish(), ["executed fail"]);
}

#[test]
fn unanswered_call_is_an_error_in_time_and_the_server_is_notified() {
    let place = Namespace::new();
    let server = server(&place, URL);
    let mut caller = caller(&place, URL, 0, SOON_MS);
    caller.tell("never");
    let line = caller.line();
    assert_eq!(
        line,
        "never harbour accepted the call, but did not answer it in time"
    );
    assert_eq!(server.line(), "executed never");
    assert_eq!(server.line(), "dropped");
    assert_eq!(server.finish(), [""; 0]);
    caller.tell("alone");
    let line = caller.line();
    assert!(line.starts_with("alone no answer"), "{line}");
    assert_eq!(caller.finish(), [""; 0]);
}

fn run(place: &Namespace, words: &[&str]) -> (i32, String, String) {
    let mut command = place.command(bowline());
    let output = command.arg("service").args(words).output();
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("bowline starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

#[test]
fn the_command_line_lists_services_and_calls_them() {
    let place = Namespace::new();
    let server = server(&place, URL);
    let (code, stdout, _) = run(&place, &["list"]);
    assert_eq!(code, 0, "{stdout}");
    let row = stdout.lines().nth(1).expect("one service");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[..3], [SERVICE, "harbour", "boat"], "{row}");
    let types = ["bowline.waypoint_t", "bowline.waypoint_t", "good"];
    assert_eq!(words[5..], types, "{row}");

    let fields = ["id=dock", "position[1]=-3.5", "--json"];
    let (code, stdout, stderr) = run(&place, &[&["call", SERVICE][..], &fields].concat());
    assert_eq!(code, 0, "{stderr}");
    let reply: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let expected = serde_json::json!({"id": "dock", "position": [0.0, -3.5]});
    assert_eq!(reply["reply"], expected, "{stdout}");
    assert_eq!(reply["server"], "harbour");

    let json = r#"{"id": "pier", "position": [1, 2]}"#;
    let (code, stdout, _) = run(&place, &["call", SERVICE, json]);
    assert_eq!((code, stdout.contains("pier")), (0, true), "{stdout}");
    assert_eq!(server.finish().len(), 2);
}

#[test]
fn command_line_reports_the_failure_and_ends() {
    let place = Namespace::new();
    let _server = server(&place, URL);
    let cases: [(&[&str], i32, &str); 7] = [
        (&["call", SERVICE, "id=fail"], 1, "no such place (code 7)"),
        (
            &["call", SERVICE, "id=never", "--timeout", "3s"],
            1,
            "harbour accepted the call, but did not answer it in time",
        ),
        (
            &["call", "model.transform"],
            1,
            "no process serves model.transform; these services are there: harbour.find",
        ),
        (&["call", "Model"], 2, "lower case letters"),
        (&["call", SERVICE, "name=dock"], 2, "there are id, position"),
        (
            &["call", SERVICE, "{}"],
            2,
            "an example of what is expected",
        ),
        (&["call", SERVICE, "position=7"], 2, "expected an array"),
    ];
    for (words, expected, text) in cases {
        let (code, _, stderr) = run(&place, words);
        assert_eq!(code, expected, "{words:?}: {stderr}");
        assert!(stderr.contains(text), "{words:?}: {stderr}");
    }
    let (code, stdout, _) = run(&place, &["call", SERVICE, "id=fail", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((code, &told["error"]["code"]), (1, &serde_json::json!(7)));
}
