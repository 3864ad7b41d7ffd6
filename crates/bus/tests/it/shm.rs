//! Shared memory between real processes, also when they are killed.

use bowline_bus::{Bus, Event, Inbox, Queue, Sender};
use bowline_testing::patience::PATIENCE;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What a process that this test starts is to do.
const ROLE: &str = "BOWLINE_TEST_SHM_ROLE";

const URL: &str = "shm://crash";

fn next(inbox: &Inbox) -> Event {
    let received = inbox.recv_timeout(PATIENCE).expect("the transport works");
    received.expect("a message comes in time").1
}

/// Starts this program again, to run the test below in some role.
fn start(role: &str) -> Child {
    let program = std::env::current_exe().expect("a test knows its program");
    Command::new(program)
        .args(["--exact", "shm::a_process_in_a_role", "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::null())
        .spawn()
        .expect("a process")
}

fn kill(mut child: Child) {
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn killed_processes_harm_nobody_and_leave_nothing() {
    // Memory and files of its own, so that what is left can be told from what others use.
    let script = "mkdir -p /tmp/iceoryx2 \
        && mount -t tmpfs none /dev/shm && mount -t tmpfs none /tmp/iceoryx2 && exec \"$0\" \"$@\"";
    let program = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .arg(program)
        .args(["--exact", "shm::a_process_in_a_role", "--nocapture"])
        .env(ROLE, "scene")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:#?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("iceoryx"), "iceoryx2 is quiet: {said}");
}

/// Does nothing by itself: other tests start it.
#[test]
fn a_process_in_a_role() {
    let Some(role) = std::env::var_os(ROLE) else {
        return;
    };
    match role.to_str() {
        Some("scene") => scene(),
        Some("publisher") => publish_for_ever(),
        Some("subscriber") => echo_for_ever(),
        _ => panic!("no such role: {role:?}"),
    }
}

/// Until it is killed; the bound is for when that fails.
fn publish_for_ever() {
    let bus = Bus::open(URL).unwrap();
    for number in 0..10_000_000_u64 {
        let payload = vec![number as u8; 10_000];
        bus.publish_bytes("numbers", &payload).unwrap();
    }
}

fn echo_for_ever() {
    let bus = Bus::open(URL).unwrap();
    let inbox = bus.events("ping").unwrap();
    let mut held = Vec::new();
    while let Ok(Some((_, event))) = inbox.recv_timeout(PATIENCE) {
        bus.publish_shared("pong", &event.payload).unwrap();
        // Dies with some of them in its hands.
        held.push(event);
        held.truncate(10);
    }
}

fn scene() {
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
            // It may not listen yet.
            let heard = (0..3_000).find_map(|_| {
                bus.publish_bytes("ping", &payload).unwrap();
                pongs.recv_timeout(Duration::from_millis(10)).unwrap()
            });
            assert_eq!(heard.expect("it answers").1.payload.len(), 100_000);
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

fn pair(name: &str) -> (Bus, Inbox) {
    let url = format!("shm://{name}-{}", std::process::id());
    let bus = Bus::open(&url).unwrap();
    let inbox = bus.events("X").unwrap();
    (bus, inbox)
}

#[test]
fn readers_that_hold_many_messages_hold_nobody_up() {
    let (bus, inbox) = pair("hold");
    let mut held = Vec::new();
    for number in 0..300_u32 {
        let payload = vec![number as u8; 20_000];
        bus.publish_bytes("X", &payload).unwrap();
        held.push(next(&inbox));
    }
    for (number, event) in held.iter().enumerate() {
        assert!(event.payload.iter().all(|byte| *byte == number as u8));
    }
    assert_eq!(bus.counts().lost(), 0);
}

#[test]
fn what_a_slow_receiver_loses_is_counted_and_the_newest_kept() {
    let name = format!("shm://slow-{}?slots=8", std::process::id());
    let (publisher, bus) = (Bus::open(&name).unwrap(), Bus::open(&name).unwrap());
    let inbox = bus.events("X").unwrap();
    // Nobody reads meanwhile, but a thread of the bus may move some.
    for number in 0..100_000_u32 {
        publisher.publish_bytes("X", &number.to_be_bytes()).unwrap();
    }
    let mut received = Vec::new();
    while received.last() != Some(&99_999) {
        let event = next(&inbox);
        received.push(u32::from_be_bytes(event.payload[..].try_into().unwrap()));
    }
    assert!(received.is_sorted());
    let n_before = u64::from(received[0]);
    let lost = bus.counts().lost();
    assert_eq!(lost + received.len() as u64 + n_before, 100_000);
    let [sender] = &bus.senders()[..] else {
        panic!("one sender: {:?}", bus.senders());
    };
    assert_eq!(
        (sender.lost, sender.received),
        (lost, received.len() as u64)
    );
}
