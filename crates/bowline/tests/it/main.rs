//! The `bowline` command as people and scripts use it.

mod alarms;
mod app;
mod bench;
mod completions;
mod demo;
mod doctor;
mod echo;
mod extensions;
mod fins;
mod generate;
mod graph;
mod hosted;
mod hub;
mod list;
mod log_tools;
#[path = "../../../../examples/transport/src/mailbox.rs"]
mod mailbox;
mod man;
mod model;
mod operate;
mod run;
mod serial;
mod sim;
mod simulator;
mod station;
mod supervision;
#[path = "../../../sim/tests/it/torpedo.rs"]
mod torpedo;
mod types;

use bowline_testing::patience::PATIENCE;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;

/// The repository's own types.
fn types_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../types")
}

/// An empty folder that no other test uses.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last run's folder can go");
    }
    fs::create_dir_all(&folder).expect("a scratch folder can be made");
    folder
}

/// A file in a scratch folder.
fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("a scratch file can be written");
    path
}

/// Runs `bowline` in a folder, with something to read on standard input. It must end in time.
fn bowline_in(folder: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bowline starts");
    // A command that does not read closes its end; that is its right.
    let _closed = child.stdin.take().expect("it is piped").write_all(input);
    let pid = child.id().to_string();
    let (end, ended) = sync_channel(1);
    let waiting = thread::Builder::new().spawn(move || end.send(child.wait_with_output()));
    waiting.expect("a thread");
    let output = ended.recv_timeout(PATIENCE);
    if output.is_err() {
        // It was not waited for, so that the number is still its own.
        drop(Command::new("kill").args(["-KILL", &pid]).status());
    }
    assert!(output.is_ok(), "bowline {args:?} runs after {PATIENCE:?}");
    output.expect("it is in time").expect("bowline ends")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let folder = scratch("usage");
    write(&folder, "a.lcm", "struct a { int8_t x; }");
    for args in [
        &["nonsense"][..],
        &["gen", "a.lcm"],
        &["gen", "--rust", "out"],
        &["gen", "--rust", "out", "missing.lcm"],
        &["bench", "echo", "--url", "udpm://239.255.76.67:7667?ttl=1"],
        &["bench", "echo", "--rates", "0"],
        &["bench", "oneway", "--clients", "0"],
        &["bench", "oneway", "--liblcm", "missing"],
        &["list", "--for", "soon"],
        &["list", "--for", "0s"],
        &["log", "record", "--append", "--force", "x"],
        &["log", "record", "--split-mb=1", "x"],
        &["log", "record", "--select", "missing.toml", "x"],
        &["log", "record", "--disk-quota", "much", "x"],
        &["log", "record", "--trigger", "volts < 11", "x"],
        &["log", "record", "--channel", "(", "x"],
        &["types", "fingerprint"],
        &["types", "fingerprint", "missing.lcm"],
        &["types", "fingerprint", "/dev/zero"],
        &["types", "encode", "missing_t", "--types", "a.lcm"],
    ] {
        let output = bowline_in(&folder, args, b"");
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?}: {}",
            stderr(&output)
        );
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn every_verb_explains_itself_with_an_example() {
    let folder = scratch("help");
    for verb in [
        &["gen"][..],
        &["bench", "echo"],
        &["bench", "oneway"],
        &["completions"],
        &["doctor"],
        &["echo"],
        &["halt"],
        &["list"],
        &["man"],
        &["operate"],
        &["pub"],
        &["rate"],
        &["who"],
        &["log", "record"],
        &["types", "fingerprint"],
        &["types", "check"],
        &["types", "diff"],
        &["types", "encode"],
        &["types", "decode"],
    ] {
        let args: Vec<&str> = verb.iter().copied().chain(["--help"]).collect();
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(0));
        assert!(
            stdout(&output).contains("Example"),
            "{verb:?}: {}",
            stdout(&output)
        );
    }
}
