//! Beside lcm-logger: the same command lines, the same files, read by the same programs.

use super::{Folder, command, count, end, read, start};
use bowline_tests::bus_peers::{Pace, Sending, URL, implementation};
use bowline_tests::content::content;
use bowline_tests::netns::Namespace;
use bowline_tests::peers::{Peers, bowline, run};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Prints how many events a log has, and whether their numbers are in order.
const COUNT: &str = "
import lcm, sys
events = list(lcm.EventLog(sys.argv[1]))
print(len(events), [event.eventnum for event in events] == list(range(len(events))),
      len({event.channel for event in events}), sum(len(event.data) for event in events))
";

#[test]
fn what_liblcm_publishes_on_ten_thousand_channels_is_recorded_and_its_own_tools_read_it() {
    const N_MESSAGES: u64 = 20_000;
    let (place, folder, peers) = (Namespace::new(), Folder::new("interop"), Peers::find());
    let (log, mcap, copy) = (
        folder.file("a.log"),
        folder.file("a.mcap"),
        folder.file("copy.log"),
    );
    let recorders = [&log, &mcap].map(|path| start(command(&place, URL, path).arg("--json")));
    let sending = Sending {
        channel: "c",
        n_channels: 10_000,
        seed: 11,
        count: N_MESSAGES,
        pace: Pace::PerSecond(4_000),
        sizes: &[0, 8, 300, 5_000],
    };
    let sender = implementation("Python").send(&peers, &place, URL, &sending);
    drop(sender.finish());
    for recorder in recorders {
        let status = end(recorder);
        assert_eq!(count(&status, "recorded"), N_MESSAGES, "{status}");
        assert_eq!(status["is_lossy"], false, "{status}");
    }
    let (events, damages) = read(&log);
    assert_eq!(damages, []);
    for (index, event) in (0..).zip(&events) {
        assert_eq!(event.channel, sending.channel(index));
        assert!(event.payload == content(11, index, event.payload.len()));
    }
    let from_mcap = read(&mcap)
        .0
        .into_iter()
        .map(|event| (event.channel, event.payload));
    let from_log = events
        .iter()
        .map(|event| (event.channel.clone(), event.payload.clone()));
    assert!(from_mcap.eq(from_log), "both formats have the same");
    assert_eq!(python_count(&peers, &log), "20000 True 10000 26540000\n");
    run(Command::new(peers.lcm_program("lcm-logplayer"))
        .args(["--speed", "1000000", "--lcm-url"])
        .arg(format!("file://{}?mode=w", copy.display()))
        .arg(&log));
    let played = read(&copy).0;
    assert_eq!(played.len(), events.len());
}

fn python_count(peers: &Peers, log: &Path) -> String {
    let output = Command::new(peers.python())
        .args(["-c", COUNT])
        .arg(log)
        .output()
        .expect("python runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A command line that is given to both, and whether both accept it.
const LINES: &[(&str, bool)] = &[
    ("", true),
    ("-f", true),
    ("-i", true),
    ("x", true),
    ("-f x", true),
    ("--force x", true),
    ("-i x", true),
    ("-i -f x", true),
    ("--rotate=3 x", true),
    ("--rotate 2 --split-mb .5 x", true),
    ("--rotate=0 x", true),
    ("--rotate=3 -i x", false),
    ("--split-mb=1 x", false),
    ("--split-mb=1", true),
    ("--split-mb=0.5 -i x", true),
    ("-a x", true),
    ("--append x", true),
    ("-a -i x", true),
    ("-v -c foo x", true),
    ("--invert-channels --channel=foo.* x", true),
    ("--chan=foo x", true),
    ("-s x%Y%m%d", true),
    ("--strftime x%j", true),
    ("-q x", true),
    ("--quiet x", true),
    ("-fq x", true),
    ("-m 0.5 x", true),
    ("--max-unwritten-mb=5 x", true),
    ("--flush-interval=10 x", true),
    ("--disk-quota=1K x", true),
    ("--disk-quota=1KiB x", true),
    ("a/b/x", true),
    ("--nonsense x", false),
    ("x y", false),
];

/// A program that is running with a command line in a folder of its own.
fn launch(place: &Namespace, program: &[OsString], line: &str, folder: &Path) -> Child {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    let mut command = place.command("timeout");
    // Enough for a program to see what is wrong with its arguments.
    command.args(["-s", "INT", "4"]).args(program);
    command.args(["-l", URL]).args(line.split_whitespace());
    command.current_dir(folder);
    let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.expect("timeout, of coreutils, is there")
}

/// The logs in a folder.
fn logs(folder: &Path, below: &str, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be read") {
        let entry = entry.expect("a folder can be read");
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            logs(&entry.path(), &format!("{name}/"), names);
        } else if !name.contains(".index") {
            names.push(name);
        }
    }
    names.sort();
}

#[test]
fn command_lines_of_lcm_logger_do_the_same_here() {
    let (place, folder, peers) = (Namespace::new(), Folder::new("flags"), Peers::find());
    let theirs = vec![peers.lcm_program("lcm-logger").into_os_string()];
    let ours = vec![bowline().into_os_string(), "log".into(), "record".into()];
    let mut running = Vec::new();
    for (number, (line, _)) in LINES.iter().enumerate() {
        let folders = ["theirs", "ours"].map(|whose| folder.file(format!("{number}-{whose}")));
        let children = [(&theirs, &folders[0]), (&ours, &folders[1])]
            .map(|(program, folder)| launch(&place, program, line, folder));
        running.push((folders, children));
    }
    for ((line, is_accepted), (folders, children)) in LINES.iter().zip(running) {
        // The code of `timeout` for a program that was still running.
        let is_running = children.map(|mut child| {
            let status = child.wait().expect("a child can be waited for");
            status.code() == Some(124)
        });
        assert_eq!(is_running, [*is_accepted; 2], "{line:?}: theirs, ours");
        let [theirs, ours] = folders.map(|folder| {
            let mut names = Vec::new();
            logs(&folder, "", &mut names);
            names
        });
        assert_eq!(theirs, ours, "{line:?}");
    }
}
