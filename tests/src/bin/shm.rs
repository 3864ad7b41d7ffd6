//! A process that shares memory: `shm ROLE`, where a scene starts the others, and kills or stops them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a role that panics has failed, and with it the test that started it"
)]

use bowline_bus::{Bus, Event, Inbox, Queue, Sender};
use bowline_testing::patience::PATIENCE;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

const URL: &str = "shm://crash";
/// Publishers wait for receivers there.
const WAITING_URL: &str = "shm://stopped?slots=4&wait=50ms";
/// If a publisher waited for each of them, no test would wait for the publisher.
const N_WHILE_STOPPED: u32 = 20_000;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("killed") => kill_others(),
        Some("stopped") => stop_another(),
        Some("publisher") => publish_for_ever(),
        Some("subscriber") => echo_for_ever(URL),
        Some("waited-for") => echo_for_ever(WAITING_URL),
        role => panic!("expected a role, found {role:?}"),
    }
}

fn next(inbox: &Inbox) -> Event {
    let received = inbox.recv_timeout(PATIENCE).expect("the transport works");
    received.expect("a message comes in time").1
}

/// Starts this program again, in some role.
fn start(role: &str) -> Child {
    let program = std::env::current_exe().expect("a program knows where it is");
    let child = Command::new(program).arg(role).spawn();
    child.expect("a process")
}

fn kill(mut child: Child) {
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// Until it is killed; the bound is for when that fails.
fn publish_for_ever() {
    let bus = Bus::open(URL).unwrap();
    for number in 0..10_000_000_u64 {
        let payload = vec![number.to_le_bytes()[0]; 10_000];
        bus.publish_bytes("numbers", &payload).unwrap();
    }
}

fn echo_for_ever(url: &str) {
    let bus = Bus::open(url).unwrap();
    let inbox = bus.events("ping").unwrap();
    let mut held = Vec::new();
    while let Ok(Some((_, event))) = inbox.recv_timeout(PATIENCE) {
        bus.publish_shared("pong", &event.payload).unwrap();
        // Dies with some of them in its hands.
        held.push(event);
        held.truncate(10);
    }
}

/// Publishes until the other process answers, and reads what it answered.
fn await_echo(bus: &Bus, pongs: &Inbox, payload: &[u8]) -> Event {
    // It may not listen yet.
    let answer = (0..3_000).find_map(|_| {
        bus.publish_bytes("ping", payload).unwrap();
        pongs.recv_timeout(Duration::from_millis(10)).unwrap()
    });
    answer.expect("it answers").1
}

fn stop_another() {
    let bus = Bus::open(WAITING_URL).unwrap();
    let pongs = bus.events("pong").unwrap();
    let receiver = start("waited-for");
    await_echo(&bus, &pongs, &[0; 100]);
    // From now on the other process is the only receiver.
    drop(pongs);
    let stopped = Command::new("kill")
        .args(["-STOP", &receiver.id().to_string()])
        .status();
    assert!(stopped.expect("kill, of util-linux, is there").success());
    for _ in 0..N_WHILE_STOPPED {
        bus.publish_bytes("ping", &[1; 100]).unwrap();
    }
    kill(receiver);
}

fn kill_others() {
    {
        let bus = Bus::open(URL).unwrap();
        let inbox = bus.inbox();
        inbox.subscribe("numbers", Queue::keep_newest(8)).unwrap();
        let mut senders = BTreeSet::new();
        for _ in 0..3 {
            let publisher = start("publisher");
            let is_known = |sender: &Sender| senders.contains(sender);
            while is_known(&next(&inbox).arrival.sender) {}
            let newest = next(&inbox);
            assert_eq!(newest.payload.len(), 10_000);
            kill(publisher);
            while let Some((_, event)) = inbox.try_recv().unwrap() {
                senders.insert(event.arrival.sender);
            }
            senders.insert(newest.arrival.sender);
        }
        assert_eq!(senders.len(), 3);

        let pongs = bus.events("pong").unwrap();
        for _ in 0..3 {
            let subscriber = start("subscriber");
            let payload = vec![7; 100_000];
            assert_eq!(await_echo(&bus, &pongs, &payload).payload.len(), 100_000);
            kill(subscriber);
            for _ in 0..5_000 {
                bus.publish_bytes("ping", &payload).unwrap();
            }
            while pongs.try_recv().unwrap().is_some() {}
        }
    }
    drop(Bus::open(URL).unwrap());
    let left: Vec<String> = files(Path::new("/dev/shm"))
        .into_iter()
        .chain(files(Path::new("/tmp/iceoryx2")))
        // One of fixed size for the whole host, which iceoryx2 keeps.
        .filter(|path| !path.ends_with(".global_mgmt"))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path.display().to_string());
        }
    }
    files
}
