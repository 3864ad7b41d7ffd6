//! Logs between us and the reference: its library and its player see what we wrote, and we play what they wrote.

use bowline_bus::{Bus, Event};
use bowline_tests::peers::{Peers, run, workspace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Seen = Vec<(String, Vec<u8>)>;

/// Prints each event of a log: channel and payload in hex.
const SHOW: &str = "
import lcm, sys
for event in lcm.EventLog(sys.argv[1]):
    print(event.channel, event.data.hex())
";

/// The same, played by the library as a bus.
const PLAY: &str = "
import lcm, sys
bus = lcm.LCM('file://' + sys.argv[1] + '?speed=0')
bus.subscribe('.*', lambda channel, data: print(channel, data.hex()))
try:
    while True:
        bus.handle()
except OSError:
    pass
";

/// Publishes a few events into a log, as a bus.
const PUBLISH: &str = "
import lcm, sys
bus = lcm.LCM('file://' + sys.argv[1] + '?mode=w')
for number in range(500):
    bus.publish('theirs.%d' % (number % 7), bytes([number % 256]) * (number * number % 5000))
bus.publish('large', bytes(300000))
";

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn python(program: &str, log: &Path) -> Seen {
    let output = Command::new(Peers::find().python())
        .args(["-c", program])
        .arg(log)
        .output()
        .expect("python runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let event = |line: &str| {
        let (channel, hex) = line.split_once(' ').expect("a channel and a payload");
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        (
            channel.to_owned(),
            (0..hex.len()).step_by(2).map(byte).collect(),
        )
    };
    text.lines().map(event).collect()
}

/// What our bus plays, to the end.
fn play(log: &Path) -> Seen {
    let bus = Bus::open(&format!("file://{}?speed=0", log.display())).expect("the log opens");
    let inbox = bus.events(".*").expect("a log can be subscribed to");
    let event = |event: Event| (event.channel.as_str().to_owned(), event.payload.to_vec());
    let seen = std::iter::from_fn(|| inbox.recv().ok()).map(|(_, received)| event(received));
    let seen = seen.collect();
    assert_eq!(bus.counts().network.malformed, 0);
    seen
}

#[test]
fn a_log_of_ours_is_seen_by_the_library_its_bus_and_its_player() {
    let folder = folder("logs-ours");
    let (ours, copy) = (folder.join("ours"), folder.join("copy"));
    let bus = Bus::open(&format!("file://{}?mode=w", ours.display())).unwrap();
    let mut expected = Seen::new();
    for number in 0..500_usize {
        let payload = vec![u8::try_from(number % 251).expect("below 256"); number * number % 5_000];
        let channel = format!("ours.{}", number % 5);
        bus.publish_bytes(&channel, &payload).unwrap();
        expected.push((channel, payload));
    }
    drop(bus);
    assert!(play(&ours) == expected);
    assert!(python(SHOW, &ours) == expected);
    // Without the last: the reference's bus reports the end together with the last event.
    let played = python(PLAY, &ours);
    assert!(expected.starts_with(&played), "{} played", played.len());
    assert!(
        played.len() + 1 >= expected.len(),
        "{} played",
        played.len()
    );
    let player = Peers::find().python().with_file_name("lcm-logplayer");
    let url = format!("file://{}?mode=w", copy.display());
    run(Command::new(player)
        .args(["--speed", "1000000", "--lcm-url", &url])
        .arg(&ours)
        .current_dir(workspace()));
    assert!(play(&copy) == expected);
}

#[test]
fn a_log_of_the_reference_plays_on_our_bus() {
    let theirs = folder("logs-theirs").join("theirs");
    python(PUBLISH, &theirs);
    let seen = play(&theirs);
    assert_eq!(seen.len(), 501);
    assert!(seen == python(SHOW, &theirs));
}
