//! `bowline spy` at a terminal, with traffic of the reference's own programs and of ours.

use bowline_log::{LogEvent, Writer, WriterOptions};
use bowline_tests::bus_peers::{Pace, Sending, implementation};
use bowline_tests::peers::{Peers, bowline, run, workspace};
use bowline_tests::process::Process;
use bowline_tests::terminal::Terminal;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";

/// Publishes its arguments, channel and payload in hex, over and over.
const PUBLISH: &str = "
import lcm, sys, time
bus = lcm.LCM(sys.argv[1])
messages = [line.split() for line in iter(sys.stdin.readline, '\\n')]
print('ready', flush=True)
while True:
    for channel, payload in messages:
        bus.publish(channel, bytes.fromhex(payload))
    time.sleep(0.02)
";

/// A message that the reference has encoded: its type and its bytes in hex.
struct Golden {
    ty: String,
    hex: String,
}

fn golden() -> Vec<Golden> {
    let path = workspace().join("tests/golden/messages.toml");
    let text = fs::read_to_string(path).expect("the golden messages are there");
    let table: toml::Table = text.parse().expect("TOML");
    let messages = table["message"].as_array().expect("messages");
    let text = |message: &toml::Value, key: &str| message[key].as_str().unwrap_or("").to_owned();
    messages
        .iter()
        .map(|message| Golden {
            ty: text(message, "type"),
            hex: text(message, "bytes"),
        })
        .collect()
}

impl Golden {
    fn bytes(&self) -> Vec<u8> {
        let digits = self.hex.as_bytes().chunks(2);
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).expect("ASCII");
            u8::from_str_radix(pair, 16).expect("hexadecimal")
        };
        digits.map(byte).collect()
    }
}

fn hex_of(ty: &str, number: usize) -> String {
    let messages = golden();
    let mut found = messages.iter().filter(|message| message.ty == ty);
    found.nth(number).expect("such a message").hex.clone()
}

/// Starts a program of the reference's Python that publishes these over and over.
fn publish(terminal: &Terminal, messages: &[(&str, String)]) -> Process {
    let peers = Peers::find();
    let mut command = terminal.namespace().command(peers.python());
    let mut publisher = Process::start("publisher", command.args(["-c", PUBLISH, URL]));
    for (channel, hex) in messages {
        publisher.tell(format!("{channel} {hex}"));
    }
    publisher.tell("");
    assert_eq!(publisher.line(), "ready");
    publisher
}

/// An empty folder: there is nothing to find there.
fn empty_folder(name: &str) -> PathBuf {
    let folder = workspace().join("target/tmp").join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("the target folder can be written");
    // Nothing of the project is looked for above it.
    fs::create_dir(folder.join(".git")).expect("the target folder can be written");
    folder
}

fn spy(terminal: &Terminal, folder: &std::path::Path, arguments: &str) {
    let program = bowline();
    let (folder, program) = (folder.display(), program.display());
    terminal.kind(&format!(
        "cd {folder}; clear; {program} spy '{URL}' {arguments}; echo code $?"
    ));
}

/// The screen with all numbers that differ from time to time as `#`: from the second column of figures on.
fn without_figures(screen: &str) -> String {
    let mut text = String::new();
    for line in screen.lines() {
        let mut words = Vec::new();
        for word in line.split_whitespace() {
            let is_figure = word.starts_with(|letter: char| letter.is_ascii_digit());
            words.push(if is_figure { "#" } else { word });
        }
        text += &words.join(" ");
        text.push('\n');
    }
    text
}

#[test]
fn plain_lcm_is_seen_at_80_by_24_and_larger() {
    let terminal = Terminal::new("spy");
    let pose = hex_of("bowline.pose_t", 0);
    let scalars = hex_of("golden.scalars_t", 1);
    let messages = [
        ("vehicle.pose", pose),
        ("scalars", scalars),
        ("plain", "68656c6c6f2c20776f726c64".to_owned()),
        ("broken", hex_of("bowline.pose_t", 0)[..40].to_owned()),
    ];
    let publisher = publish(&terminal, &messages);
    let folder = empty_folder("spy-plain");
    let types = workspace().join("tests/golden");
    spy(&terminal, &folder, &format!("--types {}", types.display()));
    let screen = terminal.wait_for(&["broken", "plain", "scalars", "vehicle.pose"]);
    assert!(
        screen.lines().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    terminal.wait_until("figures", |screen| {
        let expected = "\
udpm://239.255.76.67:7667?ttl=0 # Hz #
# channels network lost # own drops #
channel▲ type count Hz jitter B/s lost bad age
broken pose_t # # # # # # #
plain text? hello # # # # # # #
scalars scalars_t # # # # # # #
vehicle.pose pose_t # # # # # # #
";
        let found = without_figures(screen);
        let found: Vec<&str> = found.lines().collect();
        let expected: Vec<&str> = expected.lines().collect();
        similar(found.get(..7).unwrap_or_default(), &expected)
    });

    // A click marks the third channel, another one opens it.
    for _ in 0..2 {
        terminal.tmux(&["send-keys", "-l", "\x1b[<0;3;6M\x1b[<0;3;6m"]);
    }
    terminal.wait_for(&["scalars  golden.scalars_t"]);
    terminal.keys(&["BSpace", "Home"]);

    // A broken one is shown as bytes, with what is wrong.
    terminal.keys(&["Enter"]);
    terminal.wait_for(&["cannot be decoded", "000000  "]);
    terminal.keys(&["BSpace", "Down", "Enter"]);
    terminal.wait_for(&["looks like text", "68 65 6c 6c 6f 2c 20 77", "hello, world"]);
    terminal.keys(&["BSpace", "Down", "Enter"]);
    terminal.wait_for(&[
        "i64",
        "9223372036854775807",
        "-0",
        "\"déjà 漢 🚢\"",
        "boolean",
    ]);
    terminal.keys(&["BSpace", "Down", "Enter"]);
    terminal.wait_for(&["vehicle.pose  bowline.pose_t", "▸ state"]);
    terminal.tmux(&["set-option", "-s", "set-clipboard", "on"]);
    terminal.keys(&["y"]);
    terminal.wait_for(&["copied as JSON"]);
    let copied: serde_json::Value =
        serde_json::from_str(&terminal.tmux(&["show-buffer"])).expect("JSON");
    assert_eq!(copied["message"]["utime"], 7, "{copied}");
    // The array opens, an element is plotted; the curve is there, and goes.
    terminal.keys(&["Down", "Enter", "Down", "Enter"]);
    terminal.wait_for(&["▾ state", "●", "[9]"]);
    terminal.keys(&["Space"]);
    terminal.wait_for(&["FROZEN"]);
    terminal.keys(&[","]);
    terminal.wait_for(&["FROZEN"]);
    look_in_other_sizes_and_quit(&terminal);
    drop(publisher);
}

/// From the frozen message on.
fn look_in_other_sizes_and_quit(terminal: &Terminal) {
    terminal.resize(140, 40);
    // What only the larger one has room for: a key that comes with a change of size may wait for the next key.
    terminal.wait_for(&["double", "[11]"]);
    terminal.keys(&["c", "BSpace"]);
    terminal.wait_for(&["sender", "jitter"]);
    terminal.resize(60, 12);
    let screen = terminal.wait_until("a small screen", |screen| {
        screen.contains("vehicle.po…") && !screen.contains("sender")
    });
    assert!(
        screen.lines().all(|line| line.chars().count() <= 60),
        "{screen}"
    );
    terminal.keys(&["/"]);
    terminal.keys(&["p", "o", "s", "e", "_", "t", "Enter"]);
    terminal.wait_for(&["2 of 4 channels"]);
    terminal.keys(&["?"]);
    terminal.wait_for(&["a stretch begins, ends here"]);
    terminal.resize(80, 24);
    terminal.keys(&["q", "q"]);
    let screen = terminal.wait_for(&["code 0"]);
    assert!(
        !screen.contains("network lost"),
        "the screen is as it was:\n{screen}"
    );
}

/// Whether lines are alike where names were cut.
fn similar(found: &[&str], expected: &[&str]) -> bool {
    let same_word = |(found, expected): (&str, &str)| {
        let cut = found.trim_end_matches('…');
        found == expected || (found.ends_with('…') && expected.starts_with(cut))
    };
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            let found: Vec<&str> = found.split(' ').collect();
            let expected: Vec<&str> = expected.split(' ').collect();
            found.len() == expected.len() && found.into_iter().zip(expected).all(same_word)
        })
}

#[test]
fn a_marked_stretch_becomes_a_log_that_describes_itself() {
    let terminal = Terminal::new("stretch");
    let messages = [("vehicle.pose", hex_of("bowline.pose_t", 0))];
    let publisher = publish(&terminal, &messages);
    let folder = empty_folder("spy-stretch");
    spy(&terminal, &folder, "");
    terminal.wait_for(&["vehicle.pose"]);
    terminal.keys(&["["]);
    terminal.wait_for(&["a stretch begins here"]);
    terminal.keys(&["Enter"]);
    terminal.wait_for(&["▸ state"]);
    terminal.keys(&["]"]);
    terminal.wait_for(&["write to: stretch.lcmlog"]);
    terminal.keys(&["Enter"]);
    let screen = terminal.wait_for(&["wrote ", " events to stretch.lcmlog"]);
    terminal.keys(&["q"]);
    terminal.wait_for(&["code 0"]);
    let mut log = bowline_log::Reader::open(folder.join("stretch.lcmlog")).expect("a log");
    let mut n_poses = 0;
    while let Some(event) = log.next_event().expect("it is sound") {
        n_poses += usize::from(event.channel == "vehicle.pose");
    }
    assert!(n_poses > 0, "{screen}");
    assert!(log.schemas().iter().count() > 0);
    drop(publisher);

    // And the spy shows that log.
    let program = bowline();
    terminal.kind(&format!(
        "clear; {} spy stretch.lcmlog; echo code $?",
        program.display()
    ));
    terminal.wait_for(&["stretch.lcmlog", "vehicle.pose", "at the end"]);
    terminal.keys(&["{"]);
    terminal.wait_for(&["vehicle.pose"]);
    terminal.keys(&["C-c"]);
    terminal.wait_for(&["code 0"]);
}

#[test]
fn what_bowline_publishes_and_plays_decodes_where_there_are_no_files() {
    let terminal = Terminal::new("no-files");
    let folder = empty_folder("spy-no-files");
    let types = workspace().join("tests/golden").display().to_string();
    // A log of a type that is built in nowhere, with its description inside.
    let node = golden()
        .into_iter()
        .find(|message| message.ty == "golden.node_t")
        .expect("such a message");
    let mut writer = Writer::create(folder.join("raw.log"), WriterOptions::default())
        .expect("the target folder can be written");
    let payload = node.bytes();
    for utime in (0..2_000_000).step_by(20_000) {
        let event = LogEvent {
            number: 0,
            utime: 1_700_000_000_000_000 + utime,
            nanos: 0,
            channel: "played.node",
            payload: &payload,
        };
        writer.write(event).expect("an event can be written");
    }
    writer.finish().expect("a log can be written");
    let mut convert = Command::new(bowline());
    convert.args(["log", "convert", "--types", &types, "raw.log", "node.mcap"]);
    run(convert.current_dir(&folder));
    let ours = |arguments: &[&str]| {
        let mut command = terminal.namespace().command(bowline());
        command.args(arguments).current_dir(&folder);
        Process::start("ours", &mut command)
    };
    let goal = r#"{"label": "goal", "children": [{"label": "leaf", "children": []}]}"#;
    let publisher = ours(&[
        "pub", "-l", URL, "--types", &types, "--rate", "20", "goal", "node_t", goal,
    ]);
    let player = ours(&["log", "play", "--loop", "-l", URL, "node.mcap"]);
    let from_c = Sending {
        channel: "from.c",
        n_channels: 1,
        seed: 1,
        count: 100_000,
        pace: Pace::PerSecond(50),
        sizes: &[40],
    };
    let from_c = implementation("C").send(&Peers::find(), terminal.namespace(), URL, &from_c);
    spy(&terminal, &folder, "");
    terminal.wait_for(&[
        "from.c",
        "goal               node_t",
        "played.node        node_t",
    ]);
    terminal.keys(&["/", "g", "o", "a", "l", "Enter", "Enter"]);
    terminal.wait_for(&["goal  golden.node_t", "label", "\"goal\"", "▸ children"]);
    terminal.keys(&["BSpace", "/"]);
    terminal.keys(&[
        "BSpace", "BSpace", "BSpace", "BSpace", "n", "o", "d", "e", "Enter",
    ]);
    terminal.wait_for(&["played.node        node_t"]);
    terminal.keys(&["q"]);
    terminal.wait_for(&["code 0"]);
    drop((publisher, player, from_c));
}

#[test]
fn hostile_names_and_floods_leave_it_usable() {
    let terminal = Terminal::new("hostile");
    let folder = empty_folder("spy-hostile");
    let peers = Peers::find();
    // Names of control characters, 10,000 channels, descriptions that lie and descriptions that are noise.
    let flood = "
import lcm, os, random, struct, sys, time
random.seed(7)
bus = lcm.LCM(sys.argv[1])
print('ready', flush=True)
for number in range(10**9):
    bus.publish('flood.%05d' % (number % 10000), random.randbytes(20))
    if number % 10 == 0:
        bus.publish('evil\\x1b[2J\\x07%d' % (number % 3), b'\\x1b[31mred')
        bus.publish('bowline.schema', random.randbytes(200))
        name = b'lie%d_t' % number
        body = struct.pack('>qbq', 0x31e342b7674b9226, 1, number) + struct.pack('>i', len(name) + 1) + name + b'\\0'
        bus.publish('bowline.schema', body)
    if number % 100 == 0:
        time.sleep(0.005)
";
    let mut command = terminal.namespace().command(peers.python());
    let flood = Process::start_ready("flood", command.args(["-c", flood, URL]));
    let publisher = publish(&terminal, &[("vehicle.pose", hex_of("bowline.pose_t", 0))]);
    let pid = folder.join("pid");
    let program = bowline();
    terminal.kind(&format!(
        "cd {}; clear; sh -c 'echo $$ > pid; exec {} spy \"{URL}\"'; echo code $?",
        folder.display(),
        program.display()
    ));
    terminal.wait_until("all channels", |screen| screen.contains("10005 channels"));
    terminal.keys(&["/", "p", "o", "s", "e", "Enter"]);
    terminal.wait_for(&["of 1000", "vehicle.pose"]);
    terminal.keys(&["Enter"]);
    terminal.wait_for(&["vehicle.pose  bowline.pose_t", "▸ state"]);
    let id = fs::read_to_string(pid).expect("the shell wrote it");
    let status = fs::read_to_string(format!("/proc/{}/status", id.trim())).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak_kib: u64 = peak
        .and_then(|text| text.trim().trim_end_matches(" kB").parse().ok())
        .expect("a number");
    assert!(peak_kib < 200 << 10, "{peak_kib} KiB");
    terminal.keys(&["BSpace", "q"]);
    terminal.wait_for(&["code 0"]);
    drop((publisher, flood));
}
