//! The one-shot inspectors beside programs of LCM and of ours, in networks of their own.

use crate::golden;
use bowline_tests::netns::Namespace;
use bowline_tests::peers::{Peers, bowline, run};
use bowline_tests::process::Process;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";

/// An empty folder, so that no types are found there.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last run's folder can go");
    }
    fs::create_dir_all(&folder).expect("a folder");
    // Types of this repository are not those of a project in a folder of its own.
    fs::create_dir(folder.join(".git")).expect("a folder");
    folder
}

fn golden_types() -> String {
    let types = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    types.display().to_string()
}

fn inside(namespace: &Namespace, folder: &Path, args: &[&str]) -> Command {
    let mut command = namespace.command(bowline());
    command.args(args).args(["-l", URL]).current_dir(folder);
    command
}

fn output(namespace: &Namespace, folder: &Path, args: &[&str]) -> Output {
    let output = inside(namespace, folder, args).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {output:?}");
    output
}

fn json_lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = |line: &str| serde_json::from_str(line).expect("each line is JSON");
    text.lines().map(line).collect()
}

/// A Python program that ends with its standard input, and prints `ready` when it has begun.
fn python(namespace: &Namespace, program: &str, args: &[&str]) -> Process {
    let frame = "\
import sys, threading, os
def leave():
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=leave, daemon=True).start()
";
    let program = format!("{frame}{program}");
    let mut command = namespace.command(Peers::find().python());
    Process::start_ready("python", command.args(["-c", &program]).args(args))
}

/// Publishes what it is given in hex, each on a channel of its own, again and again.
const PUBLISH: &str = "\
import lcm, time
bus = lcm.LCM(sys.argv[1])
messages = [bytes.fromhex(text) for text in sys.argv[2:]]
print('ready', flush=True)
while True:
    for n, message in enumerate(messages):
        bus.publish('golden.%d' % n, message)
        time.sleep(0.001)
";

#[test]
fn golden_messages_of_a_python_program_are_shown_as_they_were_recorded() {
    let namespace = Namespace::new();
    let folder = folder("inspect-golden");
    let recorded = golden::golden();
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let messages: Vec<String> = recorded.iter().map(|it| hex(&it.bytes)).collect();
    let mut args = vec![URL];
    args.extend(messages.iter().map(String::as_str));
    let publisher = python(&namespace, PUBLISH, &args);
    let n = (4 * recorded.len()).to_string();
    let types = golden_types();
    let echo = ["echo", "golden.*", "--json", "-n", &n, "--types", &types];
    let shown = json_lines(&output(&namespace, &folder, &echo));
    let by_channel: BTreeMap<&str, &Value> = shown
        .iter()
        .map(|line| (line["channel"].as_str().expect("a name"), line))
        .collect();
    for (n, golden) in recorded.iter().enumerate() {
        let line = by_channel[format!("golden.{n}").as_str()];
        let expected: Value = serde_json::from_str(&golden.json).expect("JSON");
        assert_eq!(line["message"], expected, "{}", golden.name);
    }
    // For people: no message is left out, and nothing in it is for a terminal.
    let echo = ["echo", "golden.*", "-n", &n, "--types", &types];
    let text = output(&namespace, &folder, &echo);
    let text = String::from_utf8(text.stdout).expect("text");
    assert!(
        text.chars()
            .all(|letter| letter == '\n' || !letter.is_control())
    );
    for words in ["NaN", "-Infinity", "déjà 漢 🚢"] {
        assert!(text.contains(words), "no {words} in {text}");
    }

    // A program of plain LCM on this machine has a name, too.
    let who = ["who", "--json", "--for", "3s", "--types", &types];
    let found = json_lines(&output(&namespace, &folder, &who));
    let row = found
        .iter()
        .find(|row| row["pid"] == publisher.id())
        .unwrap_or_else(|| panic!("no process {} in {found:?}", publisher.id()));
    assert!(
        row["process"]
            .as_str()
            .is_some_and(|it| it.starts_with("python")),
        "{row}"
    );
    assert_eq!(row["announced"], false);
    assert_eq!(
        row["channels"].as_array().map(Vec::len),
        Some(recorded.len())
    );

    let rate = ["rate", "golden.0", "--json", "-n", "20"];
    let line = json_lines(&output(&namespace, &folder, &rate)).remove(0);
    assert!(line["rate_hz"].as_f64() > Some(0.0), "{line}");
}

#[test]
fn our_publishers_messages_are_decoded_without_files() {
    let namespace = Namespace::new();
    let folder = folder("inspect-bare");
    let recorded = golden::golden();
    let nested = recorded.iter().find(|it| it.name == "golden.nested_t");
    let nested = nested.expect("it is recorded");
    let types = golden_types();
    let publish = [
        "pub",
        "far",
        "nested_t",
        &nested.json,
        "--rate",
        "100",
        "--types",
        &types,
    ];
    let publisher = Process::start("pub", &mut inside(&namespace, &folder, &publish));
    let shown = json_lines(&output(
        &namespace,
        &folder,
        &["echo", "far", "--json", "-n", "3"],
    ));
    let expected: Value = serde_json::from_str(&nested.json).expect("JSON");
    assert_eq!(shown.len(), 3);
    for line in &shown {
        assert_eq!(line["type"], "golden.nested_t");
        assert_eq!(line["message"], expected);
    }

    // A program that does not know the type learns from the bus how to publish it.
    let example = output(
        &namespace,
        &folder,
        &["pub", "--example", "golden.nested_t"],
    );
    assert!(String::from_utf8_lossy(&example.stdout).contains("\"many\""));

    let found = json_lines(&output(&namespace, &folder, &["who", "--json"]));
    let row = found
        .iter()
        .find(|row| row["pid"] == publisher.id())
        .unwrap_or_else(|| panic!("no process {} in {found:?}", publisher.id()));
    assert_eq!(row["process"], "bowline");
    assert_eq!(row["announced"], true);
    let channels = row["channels"].as_array().expect("a list");
    let far = channels.iter().find(|channel| channel["channel"] == "far");
    assert_eq!(
        far.expect("it publishes there")["types"][0],
        "golden.nested_t"
    );
}

#[test]
fn what_is_published_is_decoded_by_python_with_code_of_lcm_gen() {
    const RECEIVE: &str = "\
import lcm
sys.path.insert(0, sys.argv[2])
from exlcm import example_t
def show(channel, data):
    m = example_t.decode(data)
    print(channel, m.timestamp, list(m.ranges), m.name, m.enabled, flush=True)
bus = lcm.LCM(sys.argv[1])
bus.subscribe('EXAMPLE', show)
print('ready', flush=True)
while True:
    bus.handle()
";
    let namespace = Namespace::new();
    let folder = folder("inspect-pub");
    let types = folder.join("types");
    fs::create_dir(&types).expect("a folder");
    let text = "package exlcm; struct example_t { int64_t timestamp; int32_t n; int16_t ranges[n]; string name; boolean enabled; }";
    fs::write(types.join("example_t.lcm"), text).expect("a file");
    let generated = folder.join("generated");
    run(Command::new(Peers::find().lcm_gen())
        .args(["-p", "--ppath"])
        .arg(&generated)
        .arg(types.join("example_t.lcm")));
    let generated = generated.display().to_string();
    let receiver = python(&namespace, RECEIVE, &[URL, &generated]);
    // Large enough for fragments: all of it has left when the program ends.
    let name = "x".repeat(200_000);
    let json =
        format!(r#"{{"timestamp": 5, "ranges": [1, -2, 3], "name": "{name}", "enabled": true}}"#);
    fs::write(folder.join("m.json"), json).expect("a file");
    output(
        &namespace,
        &folder,
        &["pub", "EXAMPLE", "example_t", "@m.json"],
    );
    assert_eq!(receiver.line(), format!("EXAMPLE 5 [1, -2, 3] {name} True"));
}
