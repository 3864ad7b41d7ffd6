//! `bowline serial` as a program, over a real pseudo-terminal; and the scanner behind it, simulated and misbehaving.

use crate::{bowline_in, scratch, stderr, stdout};
use bowline_bus::{Bus, Hub, Queue, Subscription};
use bowline_msgs::{Device, Experiment, GpsFix, Serial, Thrust};
use bowline_testing::patience::PATIENCE;
use nix::fcntl::OFlag;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// How often something is sent again until its answer comes.
const MAX_SENDS: u32 = 2_400;

/// A running `bowline serial`, ended with the value.
struct Running {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Running {
    /// Until it reports that its line is open.
    fn start(url: &str, arguments: &[&str]) -> Self {
        let mut running = Self::begin(url, arguments);
        running.wait_for("open: ");
        running
    }

    fn begin(url: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .arg("serial")
            .args(["--url", url])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary is built");
        let errors = BufReader::new(child.stderr.take().expect("it is piped"));
        Self { child, errors }
    }

    /// Until it prints a line with these words, which is returned.
    fn wait_for(&mut self, words: &str) -> String {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            let n_bytes = self.errors.read_line(&mut line).expect("it is text");
            assert!(n_bytes > 0, "it ended before it printed {words:?}");
        }
        line
    }

    /// Asks it to end, and returns its summary.
    fn end(mut self) -> Value {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-TERM", &id]).status();
        assert!(status.expect("kill is there").success());
        let mut text = String::new();
        let output = self.child.stdout.as_mut().expect("it is piped");
        output.read_to_string(&mut text).expect("it ends");
        assert!(self.child.wait().expect("it ends").success());
        serde_json::from_str(&text).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn serial(bytes: &[u8]) -> Serial {
    let serial = Serial {
        utime: 1,
        bytes: bytes.to_vec(),
        ..Serial::default()
    };
    serial.with_lengths()
}

/// Waits until these bytes have come, in however many pieces, asking for them again and again: a program that opens a line
/// does not receive what was sent before.
fn hear(say: &dyn Fn(), heard: &Subscription<Serial>, expected: &[u8]) {
    let mut bytes = Vec::new();
    for _ in 0..MAX_SENDS {
        say();
        while let Some(piece) = heard
            .recv_timeout(PATIENCE / MAX_SENDS)
            .expect("the bus is there")
        {
            bytes.extend_from_slice(&piece.bytes);
            if bytes.windows(expected.len()).any(|part| part == expected) {
                return;
            }
        }
    }
    assert_eq!(bytes, expected, "it never came");
}

#[test]
fn bytes_go_both_ways_through_a_pseudo_terminal_and_a_line_that_was_cut_comes_back() {
    let link = scratch("serial-pty").join("tty").display().to_string();
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url().to_string();
    let bus = Bus::open(&url).unwrap();
    let to_device = bus
        .subscribe_queued::<Serial>("device.in", Queue::default())
        .unwrap();
    let to_driver = bus
        .subscribe_queued::<Serial>("driver.in", Queue::default())
        .unwrap();
    let pty_arguments = [
        "--pty",
        &link,
        "--from",
        "device.in",
        "--to",
        "device.out",
        "--json",
    ];
    let all_bytes: Vec<u8> = (0..=255).collect();
    let from_device = || bus.publish("device.out", &serial(&all_bytes)).unwrap();
    let from_driver = || bus.publish("driver.out", &serial(&all_bytes)).unwrap();

    // The driver's end waits for the device's.
    let line_arguments = [&link, "--from", "driver.in", "--to", "driver.out", "--json"];
    let mut line = Running::begin(&url, &line_arguments);
    line.wait_for("waiting for ");
    let tty = Running::start(&url, &pty_arguments);
    line.wait_for("open: ");
    hear(&from_driver, &to_device, &all_bytes);
    hear(&from_device, &to_driver, &all_bytes);

    // The cable is pulled, and put back.
    tty.end();
    line.wait_for("waiting for ");
    assert!(
        fs::symlink_metadata(&link).is_err(),
        "nothing is left behind"
    );
    let tty = Running::start(&url, &pty_arguments);
    line.wait_for("open: ");
    hear(&from_device, &to_driver, &all_bytes);
    hear(&from_driver, &to_device, &all_bytes);

    let told = line.end();
    assert_eq!(told["times_opened"], 2, "{told}");
    assert!(told["bytes_from_line"].as_u64() >= Some(512), "{told}");
    assert!(told["bytes_to_line"].as_u64() >= Some(512), "{told}");
    tty.end();
}

/// The newest word counts: a controller that was stuck must not carry out what came before.
#[test]
fn stopped_reader_gets_nothing_sent_meanwhile() {
    const N_DROPPED: u64 = 20;
    let link = scratch("serial-stuck").join("tty").display().to_string();
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url().to_string();
    let arguments = ["--pty", &link, "--to", "motor.line", "--json"];
    let mut tty = Running::start(&url, &arguments);
    let mut reader = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NOCTTY.bits())
        .open(&link)
        .unwrap();
    let is_over = AtomicBool::new(false);
    let n_dropped = thread::scope(|scope| {
        let speak = || {
            let bus = Bus::open(&url).unwrap();
            let idle = bus.subscribe::<Serial>("nobody.speaks.here").unwrap();
            for number in 1_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let text = format!("{number:08}\n");
                bus.publish("motor.line", &serial(text.as_bytes())).unwrap();
                // 200 of them a second.
                idle.recv_timeout(Duration::from_millis(5)).unwrap();
            }
        };
        let speaker = thread::Builder::new().name("speaker".to_owned());
        speaker.spawn_scoped(scope, speak).unwrap();
        // No program reads until enough was dropped: the oldest of all, one after the other.
        let n_dropped = loop {
            let line = tty.wait_for("dropped ");
            let words = line.split_whitespace();
            let n_dropped = words.filter_map(|word| word.parse::<u64>().ok()).next();
            match n_dropped {
                Some(n_dropped) if n_dropped >= N_DROPPED => break n_dropped,
                Some(_) | None => {}
            }
        };
        let mut heard = String::new();
        while heard.lines().count() < 10 {
            let mut bytes = [0; 512];
            let n_bytes = reader.read(&mut bytes).unwrap();
            heard += std::str::from_utf8(&bytes[..n_bytes]).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        let numbers = heard.lines().filter(|line| line.len() == 8);
        let numbers: Vec<u64> = numbers.map(|line| line.parse().unwrap()).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        let first = numbers.first().copied();
        assert!(
            first > Some(n_dropped),
            "{n_dropped} were dropped, and then it sent {numbers:?}"
        );
        n_dropped
    });
    let told = tty.end();
    assert!(
        told["messages_dropped"].as_u64() >= Some(n_dropped),
        "{told}"
    );
    assert!(
        told["bytes_dropped"].as_u64() >= Some(n_dropped * 9),
        "{told}"
    );
}

#[test]
fn invalid_line_is_reported() {
    let folder = scratch("serial-wrong");
    let plain = folder.join("plain");
    fs::write(&plain, "text").unwrap();
    let plain = plain.display().to_string();
    let cases: [(&[&str], &str); 4] = [
        (
            &["/dev/null", "--baud", "4801", "--from", "x"],
            "4800, 9600",
        ),
        (
            &["--pty", &plain, "--from", "x"],
            "expected a name that is free",
        ),
        (&["/dev/null"], "--from"),
        (&["/dev/null", "--from", "x", "--to", "x"], "talk to itself"),
    ];
    for (arguments, expected) in cases {
        let arguments: Vec<&str> = ["serial"].iter().chain(arguments).copied().collect();
        let output = bowline_in(&folder, &arguments, b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    // A file that is no line is waited for as one that is not there: it may be put right.
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url().to_string();
    let mut running = Running::begin(&url, &[&plain, "--from", "x", "--json"]);
    running.wait_for("it is no serial line");
    assert_eq!(running.end()["times_opened"], 0);
}

/// Messages of a channel of a log, as JSON.
fn messages(folder: &Path, log: &str, channel: &str) -> Vec<Value> {
    let output = bowline_in(folder, &["log", "cat", log, "--channel", channel], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = stdout(&output);
    let events = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("lines of JSON"));
    events.map(|mut event| event["message"].take()).collect()
}

/// What was measured in a scan: sectors with their ranges in millimetres.
fn sectors(scan: &Value) -> Vec<String> {
    let points = scan["points"].as_array().expect("it has points").iter();
    let measured = points.filter_map(|point| {
        let [x, y, range_m] = [0, 1, 3].map(|at| point[at].as_f64());
        let sector = (y?.atan2(x?).to_degrees() + 81.0) / 1.8;
        Some(format!("{sector:.0}: {:.0} mm", range_m? * 1_000.0))
    });
    measured.collect()
}

#[test]
fn a_scanner_that_misbehaves_gives_a_stream_in_which_nothing_is_false() {
    let folder = scratch("scanner-moody");
    let robot = root().join("robots/scanner.toml").display().to_string();
    let arguments = [
        "run",
        &robot,
        "--source",
        "sim",
        "--lockstep",
        "--for",
        "60s",
        "--record",
        "moody.mcap",
    ];
    let arguments = [&arguments[..], &["--set", "twin.mood=moody"]].concat();
    let output = bowline_in(&folder, &arguments, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let log = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let log = log.map(|name| name.to_string_lossy().into_owned());
    let log = { log }.find(|name| !name.ends_with(".index"));
    let log = log.expect("it was recorded");
    let truth = messages(&folder, &log, "sim.ranges");
    let scans = messages(&folder, &log, "scanner.ranges");
    assert!(
        scans.len() > 60,
        "{} scans in 60 s, half of them bad",
        scans.len()
    );
    let utime = |message: &Value| message["utime"].as_i64().expect("it has a time");
    for scan in &scans {
        // What was there to be seen when it was asked for, or a moment later when the question had arrived.
        let asked = utime(scan);
        let seen = truth
            .iter()
            .filter(|it| (asked - 250_000..=asked + 20_000).contains(&utime(it)));
        let found = sectors(scan);
        assert!(
            seen.clone().any(|it| sectors(it) == found),
            "a scan at {asked} out of sight"
        );
    }
    let device = messages(&folder, &log, "scanner.device")
        .pop()
        .expect("it is reported");
    assert!(device["n_restarts"].as_i64() > Some(0), "{device}");
}

/// A robot of `robots/` with a real line in it: a pseudo-terminal, and a process at either end.
struct Wired {
    folder: PathBuf,
    name: String,
    bus: Bus,
    hub: Hub,
}

impl Wired {
    /// The robot of a file, with the commands for the process at its end of the line, and the one at the twin's end.
    fn new(robot: &str, line: &str, tty: &str) -> Self {
        let folder = scratch(robot);
        let hub = Hub::open("tcpq://127.0.0.1:0").expect("loopback is there");
        let (link, bowline) = (folder.join("tty"), env!("CARGO_BIN_EXE_bowline"));
        let name = format!("{robot}{}", std::process::id());
        let args = |text: &str| {
            let quoted: Vec<String> = text.split(' ').map(|it| format!("{it:?}")).collect();
            quoted.join(", ")
        };
        let text = format!(
            r#"
            [robot]
            name = "{name}"
            like = "{}"
            bus = "{}"
            [component.line]
            command = ["{bowline}", "serial", "{link}", {}]
            [sim.component.tty]
            command = ["{bowline}", "serial", "--pty", "{link}", {}]
            "#,
            root().join(format!("robots/{robot}.toml")).display(),
            hub.url(),
            args(line),
            args(tty),
            link = link.display(),
        );
        fs::write(folder.join("robot.toml"), text).expect("a folder to write to");
        let bus = Bus::open(&hub.url().to_string()).expect("the hub is there");
        Self {
            folder,
            name,
            bus,
            hub,
        }
    }

    fn start(&self) -> Child {
        Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(["run", "robot.toml", "--source", "sim"])
            .current_dir(&self.folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary is built")
    }

    fn pull_the_cable(&self) {
        self.order("stop");
    }

    fn plug_it_in(&self) {
        self.order("start");
    }

    fn order(&self, verb: &str) {
        let url = self.hub.url().to_string();
        let args = [verb, "tty", "--robot", &self.name, "--url", &url];
        let output = bowline_in(&self.folder, &args, b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn scanner_on_a_real_line_is_received_again_after_the_cable_was_pulled() {
    let robot = Wired::new(
        "scanner_pty",
        "--baud 57600 --from scanner.answers --to scanner.questions",
        "--from twin.questions --to twin.answers",
    );
    let bus = &robot.bus;
    let devices = bus.subscribe::<Device>("scanner.device").unwrap();
    let experiments = bus.subscribe::<Experiment>("bowline.experiment").unwrap();
    let mut child = robot.start();
    let wait = |what: &str, is_so: &dyn Fn(&Device) -> bool| loop {
        let device = devices.recv_timeout(PATIENCE).expect("the bus is there");
        let device =
            device.unwrap_or_else(|| panic!("nothing was received of the scanner: {what}"));
        if is_so(&device) {
            return;
        }
    };
    wait("at first", &|device| device.n_good > 5);
    // A person who wants to watch finds out what there is.
    let experiment = experiments
        .recv_timeout(PATIENCE)
        .expect("the bus is there");
    let experiment = experiment.expect("it is published every second");
    assert_eq!(
        (&experiment.robot, &experiment.name),
        (&robot.name, &"looking".to_owned())
    );
    let ports = experiment.components.iter().flat_map(|it| &it.ports);
    let channels: Vec<(&str, &str)> = ports
        .map(|it| (it.channel.as_str(), it.type_name.as_str()))
        .collect();
    assert!(
        channels.contains(&("scanner.ranges", "bowline.range3d_t")),
        "{channels:?}"
    );
    robot.pull_the_cable();
    wait("without a cable", &|device| device.state == Device::SILENT);
    robot.plug_it_in();
    wait("with a cable again", &|device| {
        device.state == Device::WORKING
    });
    interrupt(&mut child);
}

/// A thrust driver and a motor controller with a real line between them.
#[test]
fn thrusters_over_a_real_line_give_what_is_commanded_and_stop_when_the_cable_is_pulled() {
    let robot = Wired::new(
        "thrusters_pty",
        "--baud 115200 --from thrusters.answers --to thrusters.line",
        "--from twin.line --to twin.answers",
    );
    let bus = &robot.bus;
    let gives = bus.subscribe::<Thrust>("motors.thrust").unwrap();
    let devices = bus.subscribe::<Device>("thrusters.device").unwrap();
    let mut child = robot.start();
    let mut utime = 0;
    // Commands go on while something is waited for, as a gate sends them.
    let mut command = || {
        utime += 1;
        let thrust = Thrust {
            utime,
            port_ratio: -0.25,
            starboard_ratio: 0.5,
        };
        bus.publish("thrust.command", &thrust).unwrap();
    };
    let mut wait = |what: &str, expected: (f64, f64)| {
        let found = (0..MAX_SENDS).any(|_| {
            command();
            let thrust = gives
                .recv_timeout(PATIENCE / MAX_SENDS)
                .expect("the bus is there");
            thrust.is_some_and(|it| (it.port_ratio, it.starboard_ratio) == expected)
        });
        assert!(found, "{what}: the motors never gave {expected:?}");
    };
    wait("at first", (-0.25, 0.5));
    // No stop is sent to the controller: it stops because commands stay away.
    robot.pull_the_cable();
    wait("without a cable", (0.0, 0.0));
    let silent = (0..60).any(|_| {
        let device = devices
            .recv_timeout(PATIENCE / 60)
            .expect("the bus is there");
        device.is_some_and(|it| it.state == Device::SILENT && it.n_timeouts > 0)
    });
    assert!(
        silent,
        "the driver never reported that the controller is silent"
    );
    robot.plug_it_in();
    wait("with a cable again", (-0.25, 0.5));
    interrupt(&mut child);
}

#[test]
fn fixes_go_over_a_real_line_as_sentences_and_come_out_as_they_went_in() {
    let robot = Wired::new(
        "gps_pty",
        "--baud 38400 --from gps.line",
        "--from twin.heard --to twin.line",
    );
    let bus = &robot.bus;
    let fixes = bus.subscribe::<GpsFix>("gps.fix").unwrap();
    let mut child = robot.start();
    let sent = GpsFix {
        utime: 1_700_000_000_000_000,
        lat_deg: 44.651_234_5,
        lon_deg: -63.571_234_5,
        alt_m: 12.5,
        horizontal_sd_m: 0.8,
        vertical_sd_m: 1.5,
        ..GpsFix::default()
    };
    // The first fixes may be from before the receiver's sentence about its own errors: they are recognised by their geometry.
    let heard = (0..i64::from(MAX_SENDS)).find_map(|nth| {
        // Each is another one: a receiver that repeats itself is not believed.
        let utime = sent.utime + nth * 200_000;
        let fix = GpsFix {
            utime,
            ..sent.clone()
        };
        bus.publish("receiver.fix", &fix).unwrap();
        let fix = fixes
            .recv_timeout(PATIENCE / MAX_SENDS)
            .expect("the bus is there");
        fix.filter(|it| (it.horizontal_sd_m - sent.horizontal_sd_m).abs() < 1e-3)
    });
    let heard = heard.expect("a fix comes through, with the errors that it went in with");
    assert_eq!(heard.frame, "GPS:Antenna");
    assert!((heard.lat_deg - sent.lat_deg).abs() < 1e-7, "{heard:?}");
    assert!((heard.lon_deg - sent.lon_deg).abs() < 1e-7, "{heard:?}");
    assert!((heard.alt_m - sent.alt_m).abs() < 1e-3, "{heard:?}");
    interrupt(&mut child);
}

/// Presses ^C, and waits for a good end.
fn interrupt(child: &mut Child) {
    let id = child.id().to_string();
    let status = Command::new("kill").args(["-INT", &id]).status();
    assert!(status.expect("kill is there").success());
    assert!(child.wait().expect("it ends").success());
}
