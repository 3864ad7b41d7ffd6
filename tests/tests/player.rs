//! `bowline log play` beside the reference: its programs receive what we play, and we receive what its player plays; a program
//! in Python drives ours over the bus, and people do at a terminal.

use bowline_bus::{Bus, Event, Inbox, Queue};
use bowline_testing::patience::{PATIENCE, wait_until};
use bowline_tests::built::own_program;
use bowline_tests::netns::Namespace;
use bowline_tests::peers::{Peers, run, workspace};
use bowline_tests::process::Process;
use bowline_tests::terminal::Terminal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";

/// Channel and payload of each event.
type Seen = Vec<(String, Vec<u8>)>;

/// Writes a log with the reference's own library: name, number of events, microseconds between them.
const WRITE: &str = "
import lcm, sys
log = lcm.EventLog(sys.argv[1], 'w', overwrite=True)
for number in range(int(sys.argv[2])):
    payload = bytes([number % 256]) * (number * number % 2000)
    log.write_event(1700000000000000 + number * int(sys.argv[3]), 'theirs.%d' % (number % 7), payload)
log.close()
";

/// Prints what it receives, channel and payload in hex, up to so many events.
const HEAR: &str = "
import lcm, sys
bus = lcm.LCM(sys.argv[1])
left = int(sys.argv[2])
def heard(channel, data):
    global left
    left -= 1
    print(channel, data.hex(), flush=True)
subscription = bus.subscribe('theirs.*', heard)
subscription.set_queue_capacity(0)
print('ready', flush=True)
while left:
    bus.handle()
";

/// Drives a player by requests: one a line, as arguments of the type.
const DRIVE: &str = "
import lcm, sys
sys.path.insert(0, sys.argv[2])
from bowline.player_request_t import player_request_t
from bowline.player_status_t import player_status_t
bus = lcm.LCM(sys.argv[1])
last = None
def heard(channel, data):
    global last
    last = player_status_t.decode(data)
bus.subscribe('bowline.player.status', heard)
print('ready', flush=True)
for line in sys.stdin:
    action, value, text, expected = line.rstrip('\\n').split('\\t')
    request = player_request_t()
    request.action = getattr(player_request_t, action)
    request.value = float(value)
    request.text = text
    bus.publish('bowline.player.request', request.encode())
    while True:
        if bus.handle_timeout(30000) == 0:
            print('nothing was heard', flush=True)
            break
        s = last
        if s is not None and eval(expected):
            print(s.player, s.state, s.n_published, s.log_utime, s.rate, flush=True)
            break
";

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last run's folder can go");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn python() -> PathBuf {
    Peers::find().python()
}

fn their_program(name: &str) -> PathBuf {
    python().with_file_name(name)
}

fn bowline() -> PathBuf {
    // `cargo test --workspace` builds it; for this crate alone: cargo build -p bowline.
    own_program("bowline")
}

fn write_log(path: &Path, n_events: usize, us: usize) {
    run(Command::new(python())
        .args(["-c", WRITE])
        .arg(path)
        .args([n_events.to_string(), us.to_string()]));
}

fn content(path: &Path) -> Seen {
    let bus = Bus::open(&format!("file://{}?speed=0", path.display())).expect("the log opens");
    let inbox = bus.events(".*").expect("a log can be subscribed to");
    let event = |event: Event| (event.channel.as_str().to_owned(), event.payload.to_vec());
    std::iter::from_fn(|| inbox.recv().ok())
        .map(|(_, received)| event(received))
        .collect()
}

fn parse(lines: impl IntoIterator<Item = String>) -> Seen {
    let event = |line: String| {
        let (channel, hex) = line.split_once(' ').expect("a channel and a payload");
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        let payload = (0..hex.len()).step_by(2).map(byte).collect();
        (channel.to_owned(), payload)
    };
    lines.into_iter().map(event).collect()
}

fn play(namespace: &Namespace, arguments: &[&str], log: &Path) -> Output {
    let mut command = namespace.command(bowline());
    command.args(["log", "play"]).args(arguments).arg(log);
    command.output().expect("bowline runs")
}

#[test]
fn reference_programs_receive_what_we_play() {
    let namespace = Namespace::new();
    let folder = folder("player-ours");
    let log = folder.join("log");
    write_log(&log, 400, 2_000);
    let expected = content(&log);
    // The command lines of lcm-logplayer, and a rate that no receiver can mistake for a burst.
    for arguments in [
        &["--speed=4", "--lcm-url", URL][..],
        &["-s", "4", "-l", URL, "-e", "theirs.*"],
        &[
            "-s4",
            "--regexp=theirs\\.[0-9]",
            "--lcm-url=udpm://239.255.76.67:7667?ttl=0",
        ],
    ] {
        let mut hearing = namespace.command(python());
        hearing.args(["-c", HEAR, URL, "400"]);
        let hearing = Process::start_ready("listener", &mut hearing);
        let output = play(&namespace, arguments, &log);
        assert!(output.status.success(), "{output:?}");
        let heard: Seen = parse((0..400).map(|_| hearing.line()));
        assert!(heard == expected, "{arguments:?}");
    }
}

#[test]
fn lcm_logger_records_what_we_play_and_it_is_the_same_log() {
    let namespace = Namespace::new();
    let folder = folder("player-logger");
    let (log, copy) = (folder.join("log"), folder.join("copy"));
    // Slow enough for its queue of 30 messages on a busy host.
    write_log(&log, 200, 10_000);
    let expected = content(&log);
    let mut logger = namespace.command(their_program("lcm-logger"));
    logger.args(["-c", "theirs.*", "--flush-interval", "1", "-l", URL]);
    let logger = Process::start("lcm-logger", logger.arg(&copy));
    // It does not report when it is ready, and writes what it has when more comes. So one event, again and again.
    let nudge_until = |is_done: &dyn Fn(&Seen) -> bool| {
        wait_until("events that lcm-logger records", || {
            let is_done = is_done(&content_if_there(&copy));
            if !is_done {
                play(&namespace, &["-q", "--end", "0", "-l", URL], &log);
            }
            is_done
        });
    };
    nudge_until(&|found| !found.is_empty());
    let output = play(&namespace, &["-l", URL], &log);
    assert!(output.status.success(), "{output:?}");
    nudge_until(&|found| found.contains(&expected[199]));
    drop(logger);
    let found = content(&copy);
    assert!(found.windows(200).any(|part| part == expected));
}

fn content_if_there(path: &Path) -> Seen {
    if path.exists() {
        content(path)
    } else {
        Seen::new()
    }
}

#[test]
fn we_receive_what_lcm_logplayer_plays_of_our_log() {
    let folder = folder("player-theirs");
    let (theirs, ours) = (folder.join("theirs"), folder.join("ours"));
    write_log(&theirs, 400, 2_000);
    let expected = content(&theirs);
    // Ours is what our player writes into a log: a log is a bus too.
    let url = format!("file://{}?mode=w", ours.display());
    run(Command::new(bowline())
        .args(["log", "play", "-s", "0", "-l", &url])
        .arg(&theirs));
    assert!(
        content(&ours) == expected,
        "a log is copied as it is, without our metadata"
    );
    let namespace = Namespace::new();
    let heard = std::thread::scope(|scope| {
        let hear = scope.spawn(|| {
            namespace.enter();
            let bus = Bus::open(URL).expect("a bus");
            let inbox = bus.inbox();
            let queue = Queue::keep_oldest(10_000);
            inbox.subscribe("theirs.*", queue).expect("to subscribe");
            run(namespace
                .command(their_program("lcm-logplayer"))
                .args(["--speed", "4", "-l", URL])
                .arg(&ours)
                .current_dir(workspace()));
            receive(&inbox, expected.len())
        });
        hear.join().expect("it receives")
    });
    assert!(heard == expected, "{} received", heard.len());
}

fn receive(inbox: &Inbox, n_events: usize) -> Seen {
    let next = || inbox.recv_timeout(PATIENCE).expect("to receive");
    let event = |event: Event| (event.channel.as_str().to_owned(), event.payload.to_vec());
    (0..n_events)
        .map_while(|_| next().map(|(_, received)| event(received)))
        .collect()
}

#[test]
fn a_program_in_python_drives_the_player_with_types_of_our_compiler() {
    let namespace = Namespace::new();
    let folder = folder("player-python");
    let log = folder.join("log");
    write_log(&log, 1_000, 10_000);
    run(Command::new(bowline())
        .args(["gen", "--python"])
        .arg(&folder)
        .arg(workspace().join("types")));
    run(Command::new(bowline()).args(["log", "index"]).arg(&log));
    let mut player = namespace.command(bowline());
    player.args([
        "log", "play", "--paused", "--stay", "--name", "ours", "-l", URL,
    ]);
    let player = Process::start("player", player.arg(&log));
    let mut driving = namespace.command(python());
    driving.args(["-c", DRIVE, URL]).arg(&folder);
    let mut driving = Process::start_ready("driver", &mut driving);
    #[rustfmt::skip]
    let cases = [
        ("PAUSE",   "0",  "",         "s.state == 2",                                    "ours 2 0 0 1.0"),
        ("STEP",    "0",  "",         "s.n_published == 1",                              "ours 2 1 1700000000000000 1.0"),
        ("STEP",    "0",  "theirs.6", "s.n_published == 7",                              "ours 2 7 1700000000060000 1.0"),
        ("SEEK_BY", "5",  "",         "s.log_utime == 1700000005060000",                 "ours 2 7 1700000005060000 1.0"),
        ("FASTER",  "0",  "",         "s.rate == 2.0",                                   "ours 2 7 1700000005060000 2.0"),
        ("DISABLE", "0",  "theirs.[1-6]", "True",                                        "ours 2 7 1700000005060000 2.0"),
        ("RATE",    "0",  "",         "s.rate == 0.0",                                   "ours 2 7 1700000005060000 0.0"),
        ("PLAY",    "0",  "",         "s.state == 3",                                    "ours 3 77 1700000009940000 0.0"),
        ("LOOP",    "1",  "",         "s.is_looping",                                    "ours 3 77 1700000009940000 0.0"),
    ];
    for (action, value, text, expected, status) in cases {
        driving.tell(format!("{action}\t{value}\t{text}\t{expected}"));
        assert_eq!(driving.line(), status, "{action} {value} {text}");
    }
    let mut control = namespace.command(bowline());
    let status = control.args(["log", "control", "-l", URL, "--json", "status"]);
    let status = status.output().expect("bowline runs");
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(status["state"], "ended");
    assert_eq!(status["published"], 77);
    run(namespace
        .command(bowline())
        .args(["log", "control", "-l", URL, "loop", "off"]));
    run(namespace
        .command(bowline())
        .args(["log", "control", "-l", URL, "quit"]));
    let (ended, _) = player.end();
    assert!(ended.success(), "{ended}");
}

#[test]
fn people_drive_the_player_at_a_terminal() {
    let folder = folder("player-terminal");
    let log = folder.join("log");
    write_log(&log, 7_000, 10_000);
    let terminal = Terminal::new("player");
    let command = format!(
        "{} log play -p -l '{URL}' {}",
        bowline().display(),
        log.display()
    );
    terminal.kind(&format!("clear; cd {}; {command}", folder.display()));
    let screen = terminal.wait_for(&["paused   x1       0:00:00.0 / 0:01:09.9", "theirs.6"]);
    let lines: Vec<&str> = screen.lines().collect();
    assert_eq!(lines.len(), 24, "{screen}");
    assert!(
        lines[2].starts_with("[>---") && lines[2].ends_with("]   0 %"),
        "{screen}"
    );
    assert_eq!(lines[6], ">[x]          0  theirs.0");
    assert!(lines[23].ends_with("? help  q quit"), "{screen}");
    assert!(lines.iter().all(|line| line.len() <= 80), "{screen}");

    terminal.keys(&["n"]);
    terminal.wait_for(&["1 events", ">[x]          1  theirs.0"]);
    terminal.keys(&["Down", "Down", "s"]);
    terminal.wait_for(&["3 events", ">[x]          1  theirs.2", "paused"]);
    terminal.keys(&["Enter"]);
    terminal.wait_for(&[">[ ]          1  theirs.2"]);
    terminal.keys(&["Right"]);
    terminal.wait_for(&["paused   x1       0:00:05.0"]);
    terminal.keys(&["+", "+"]);
    terminal.wait_for(&["paused   x4 "]);
    terminal.keys(&["["]);
    terminal.keys(&["End"]);
    terminal.wait_for(&["0:01:09.9 / 0:01:09.9", "] 100 %"]);
    terminal.keys(&["Home"]);
    terminal.wait_for(&["paused   x4       0:00:05.0", "]   7 %"]);
    terminal.keys(&["b"]);
    terminal.wait_for(&["no bookmark there"]);
    terminal.keys(&["?"]);
    terminal.wait_for(&["loop over the range, or not"]);
    terminal.resize(60, 12);
    // All of what was left of the larger screen is gone when the bar is as wide as the smaller one.
    let screen = terminal.wait_for(&["space pause", "-]   7 %\n"]);
    assert_eq!(screen.lines().count(), 12, "{screen}");
    assert!(screen.lines().all(|line| line.len() <= 60), "{screen}");
    terminal.resize(80, 24);
    terminal.keys(&["?"]);
    terminal.wait_for(&[">[ ]          1  theirs.2", "? help  q quit"]);
    terminal.keys(&["0", "Space"]);
    // Everything from 5.02 s on but a channel of seven, and the three before.
    let n_played = 3 + (502..7_000).filter(|number| number % 7 != 2).count();
    let screen = terminal.wait_for(&[&format!("played {n_played} events"), "ready>"]);
    assert!(
        !screen.contains("space pause"),
        "the screen is as it was:\n{screen}"
    );
}

/// Both arrive at the player at once on a busy machine; each must have its effect without another key.
#[test]
fn player_takes_key_that_is_pressed_while_window_is_resized() {
    let folder = folder("player-resized");
    let log = folder.join("log");
    write_log(&log, 10, 10_000);
    let terminal = Terminal::new("resized");
    let command = format!(
        "{} log play -p -l '{URL}' {}",
        bowline().display(),
        log.display()
    );
    terminal.kind(&format!("clear; {command}"));
    terminal.wait_for(&["paused   x1", "theirs.0"]);
    for width in [60, 80].repeat(10) {
        terminal.resize(width, 24);
        terminal.keys(&["?"]);
        terminal.wait_for(&["loop over the range, or not"]);
        terminal.keys(&["?"]);
        terminal.wait_for(&["theirs.0"]);
    }
}

#[test]
fn a_terminal_is_as_it_was_after_signals() {
    let folder = folder("player-signals");
    let log = folder.join("log");
    write_log(&log, 100, 10_000);
    let terminal = Terminal::new("signals");
    let pid = folder.join("pid");
    for signal in ["TERM", "INT", "HUP"] {
        let player = format!(
            "{} log play -p -l \"{URL}\" {}",
            bowline().display(),
            log.display()
        );
        let script = format!("echo $$ > {}; exec {player}", pid.display());
        terminal.kind(&format!(
            "clear; sh -c '{script}'; echo code $?; stty -a | grep -o ' icanon'"
        ));
        terminal.wait_for(&["paused   x1"]);
        let id = fs::read_to_string(&pid).expect("the shell wrote it");
        run(Command::new("kill").args([&format!("-{signal}"), id.trim()]));
        let screen = terminal.wait_for(&["played 0 events", "code 0", " icanon\n"]);
        assert!(!screen.contains("space pause"), "{signal}:\n{screen}");
    }
}

#[test]
fn a_player_ends_with_its_terminal() {
    let folder = folder("player-hang-up");
    let log = folder.join("log");
    write_log(&log, 100, 10_000);
    let terminal = Terminal::new("hang-up");
    let pid = folder.join("pid");
    let player = format!(
        "{} log play -p -l memq:// {}",
        bowline().display(),
        log.display()
    );
    let script = format!("echo $$ > {}; exec {player}", pid.display());
    // In a session of its own, which is not notified of the terminal's end.
    terminal.kind(&format!("clear; setsid --wait sh -c '{script}'"));
    terminal.wait_for(&["paused   x1"]);
    let id = fs::read_to_string(&pid).expect("the shell wrote it");
    let process = Path::new("/proc").join(id.trim());
    drop(terminal);
    wait_until("the end of the player", || !process.join("exe").exists());
}
