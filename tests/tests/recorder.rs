//! The recorder as a program among others: killed, out of room, refused by the system, and beside LCM's.

#![expect(clippy::panic, reason = "a test that panics has failed")]

mod beside_lcm;
mod killed;
mod refused;

use bowline_log::{Damage, IndexUse, OwnedEvent, Reader};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::bowline;
use bowline_tests::process::Process;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty folder that no other test uses, in memory: what is tested is the recorder, not the disk.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new("/dev/shm").join(format!("bowline-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder in memory can be made");
        Self(path)
    }

    fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays is no reason to fail.
        let _stays = std::fs::remove_dir_all(&self.0);
    }
}

/// A command that records a bus into a file.
fn command(place: &Namespace, url: &str, file: &Path) -> Command {
    let mut command = place.command(bowline());
    command.args(["log", "record", "-l", url]).arg(file);
    command
}

/// Starts it, and waits until everything that comes is recorded.
fn start(command: &mut Command) -> Process {
    let process = Process::start("recorder", command);
    let line = process.line();
    let is_ready = line.starts_with("recording ") || line.contains("\"phase\":\"recording\"");
    assert!(is_ready, "{line}");
    process
}

fn signal(process: &Process, signal: Signal) {
    let id = i32::try_from(process.id()).expect("an id is a positive number");
    kill(Pid::from_raw(id), signal).expect("it is ours");
}

/// Ends a recorder that prints JSON, and returns its last lines.
fn end(process: Process) -> Value {
    signal(&process, Signal::SIGTERM);
    let (_, lines) = process.end();
    let last = lines.last().expect("a recorder has last words");
    serde_json::from_str(last).expect("it was asked for JSON")
}

fn count(status: &Value, name: &str) -> u64 {
    let of_lost = &status["lost"][name];
    let count = if of_lost.is_null() {
        &status[name]
    } else {
        of_lost
    };
    count
        .as_u64()
        .unwrap_or_else(|| panic!("expected {name} in {status}"))
}

/// All events of a log, and what is wrong with it.
fn read(path: &Path) -> (Vec<OwnedEvent>, Vec<Damage>) {
    let reader = Reader::open_with(path, IndexUse::Ignore, &mut |_, _| {});
    let mut reader = reader.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().expect("a file can be read") {
        events.push(event.to_owned());
    }
    (events, reader.damages().listed().to_vec())
}
