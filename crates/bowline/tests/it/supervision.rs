//! `bowline ps`, `start`, `stop`, `restart` and `logs`, with supervisors of two hosts at a hub.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on panics"
)]

use crate::{bowline_in, scratch, stderr, stdout, write};
use bowline_bus::{Bus, Hub, Subscription};
use bowline_host::supervise::{
    self, Care, Options, Plan, ProcessSpec, SUPERVISOR_CHANNEL, SafeState,
};
use bowline_msgs::{Supervised, Supervisor};
use bowline_testing::patience::PATIENCE;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

/// Supervisors of a robot, ended with the value.
struct Robot {
    hub: Hub,
    name: String,
    statuses: Subscription<Supervisor>,
    end: UnixStream,
    supervisors: Vec<JoinHandle<()>>,
}

impl Robot {
    fn start(name: &str, hosts: &[(&str, Vec<ProcessSpec>)]) -> Self {
        let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
        let name = format!("{name}{}", std::process::id());
        let (end, until) = UnixStream::pair().unwrap();
        let bus = Bus::open(&hub.url()).unwrap();
        let statuses = bus.subscribe::<Supervisor>(SUPERVISOR_CHANNEL).unwrap();
        let mut supervisors = Vec::new();
        for (host, processes) in hosts {
            let plan = Plan {
                robot: name.clone(),
                host: (*host).to_owned(),
                processes: processes.clone(),
                safe_state: SafeState::default(),
                ..Plan::default()
            };
            let (url, until) = (hub.url(), until.try_clone().unwrap());
            let folder = scratch(&format!("supervision-{name}-{host}"));
            let supervisor = thread::Builder::new().spawn(move || {
                let options = Options {
                    folder: Some(folder),
                    until: until.as_fd(),
                    care: Care::Own,
                    keeper: Vec::new(),
                    tell: &mut |_| {},
                };
                supervise::run(&plan, &Bus::open(&url).unwrap(), options).unwrap();
            });
            supervisors.push(supervisor.unwrap());
        }
        // All of them at once: each waits for a while whether others have its name.
        let mut starting: BTreeSet<&str> = hosts.iter().map(|(host, _)| *host).collect();
        while !starting.is_empty() {
            let status = statuses.recv_timeout(PATIENCE).unwrap().expect("it runs");
            let is_up = |it: &Supervised| it.state == Supervised::RUNNING && it.n_lines > 0;
            if !status.processes.is_empty() && status.processes.iter().all(is_up) {
                starting.remove(status.host.as_str());
            }
        }
        Self {
            hub,
            name,
            statuses,
            end,
            supervisors,
        }
    }

    /// Waits until the processes of a host are in these states. Their numbers.
    fn wait_for(&self, host: &str, states: &[i8]) -> Vec<i32> {
        loop {
            let status = self.statuses.recv_timeout(PATIENCE).unwrap();
            let status = status.unwrap_or_else(|| panic!("{host} never was in {states:?}"));
            let found = status.processes.iter().map(|it| it.state);
            if status.host == host && found.eq(states.iter().copied()) {
                return status.processes.iter().map(|it| it.pid).collect();
            }
        }
    }

    fn bowline(&self, args: &[&str]) -> Output {
        let mut args = args.to_vec();
        let url = self.hub.url();
        args.extend(["-l", &url]);
        bowline_in(
            &scratch(&format!("supervision-{}-cli", self.name)),
            &args,
            b"",
        )
    }

    /// The same, about the supervisor of one host: it is known by its name, and waited for only until it is found.
    fn bowline_of(&self, host: &str, args: &[&str]) -> Output {
        let args = [
            args,
            // Longer than any test may take: one that waits until then fails.
            &["--robot", &self.name, "--host", host, "--for", "1h"],
        ]
        .concat();
        self.bowline(&args)
    }
}

impl Drop for Robot {
    fn drop(&mut self) {
        drop(self.end.write_all(b"x"));
        for supervisor in self.supervisors.drain(..) {
            drop(supervisor.join());
        }
    }
}

fn chatty(name: &str, group: &str) -> ProcessSpec {
    let text = format!("echo {name} says hello; exec sleep 1000");
    ProcessSpec {
        group: group.to_owned(),
        ..ProcessSpec::new(name, ["sh", "-c", &text])
    }
}

#[test]
fn ps_shows_all_hosts_or_the_one_that_is_named() {
    let deck = vec![chatty("lidar", "sensors"), chatty("map", "")];
    let mast = vec![chatty("radar", "sensors")];
    let robot = Robot::start("barge", &[("deck", deck), ("mast", mast)]);
    // It listens for a little longer than a supervisor takes to report; on a busy machine one may be late.
    let is_whole = |shown: &Output| stdout(shown).matches(": running, pid ").count() == 2;
    let shown = (0..60).map(|_| robot.bowline(&["ps"])).find(is_whole);
    let shown = shown.expect("both supervisors are shown");
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let text = stdout(&shown);
    for expected in [
        "@deck: running",
        "@mast: running",
        "lidar",
        "map",
        "radar",
        "restarts",
    ] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
    let shown = robot.bowline_of("mast", &["ps", "--json"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let status: Value = serde_json::from_str(stdout(&shown).trim()).unwrap();
    assert_eq!(status["host"], "mast");
    let processes = status["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 1);
    let [radar] = robot.wait_for("mast", &[Supervised::RUNNING])[..] else {
        panic!("one process");
    };
    assert_eq!(
        (
            &processes[0]["name"],
            &processes[0]["state"],
            &processes[0]["pid"]
        ),
        (&"radar".into(), &"running".into(), &radar.into())
    );
}

#[test]
fn orders_reach_the_processes_that_they_name_and_no_others() {
    const UP: i8 = Supervised::RUNNING;
    const DOWN: i8 = Supervised::STOPPED;
    let deck = vec![chatty("lidar", "sensors"), chatty("map", "")];
    let mast = vec![chatty("radar", "sensors"), chatty("light", "")];
    let robot = Robot::start("boat", &[("deck", deck), ("mast", mast)]);
    let expected = format!(
        "stop lidar on {0}@deck\nstop radar on {0}@mast\n",
        robot.name
    );
    // Which hosts have some of a group is not known before all have reported; on a busy machine one may be late.
    let stop = |_| robot.bowline(&["stop", "sensors", "--wait"]);
    let stopped = (0..60).map(stop).find(|it| stdout(it) == expected);
    let stopped = stopped.expect("it reaches both hosts");
    assert_eq!(stopped.status.code(), Some(0), "{}", stderr(&stopped));
    for host in ["deck", "mast"] {
        robot.wait_for(host, &[DOWN, UP]);
        let started = robot.bowline_of(host, &["start", "all", "--wait"]);
        assert_eq!(started.status.code(), Some(0), "{}", stderr(&started));
        robot.wait_for(host, &[UP, UP]);
    }

    let before = robot.wait_for("mast", &[UP, UP]);
    let restarted = robot.bowline_of("mast", &["restart", "radar", "-w"]);
    assert_eq!(restarted.status.code(), Some(0), "{}", stderr(&restarted));
    let expected = format!("restart radar on {}@mast\n", robot.name);
    assert_eq!(stdout(&restarted), expected);
    // It was waited for: the process before is gone, and another runs.
    assert!(!is_alive(before[0]) && is_alive(before[1]));
    let after = loop {
        let after = robot.wait_for("mast", &[UP, UP]);
        if after != before {
            break after;
        }
    };
    assert!(
        after[0] != before[0] && is_alive(after[0]),
        "{before:?} {after:?}"
    );
    assert_eq!(after[1], before[1], "others are not affected");
}

fn is_alive(pid: i32) -> bool {
    pid > 0 && Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn what_was_printed_is_shown_with_its_process() {
    let robot = Robot::start(
        "tug",
        &[("deck", vec![chatty("lidar", ""), chatty("map", "")])],
    );
    let all = robot.bowline_of("deck", &["logs"]);
    assert_eq!(
        stdout(&all),
        "lidar | lidar says hello\nmap   | map says hello\n",
        "{}",
        stderr(&all)
    );
    assert_eq!(
        stdout(&robot.bowline_of("deck", &["logs", "map", "-n", "5"])),
        "map says hello\n"
    );
    let none = robot.bowline_of("deck", &["logs", "map", "-n", "0"]);
    assert_eq!((stdout(&none).as_str(), none.status.code()), ("", Some(0)));
}

/// `bowline logs -f`, with the lines that it prints; ended with the value.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(robot: &Robot, host: &str, args: &[&str]) -> Self {
        let url = robot.hub.url();
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(["logs", "-f", "--robot", &robot.name, "--host", host])
            .args(["--for", "100s", "-l", &url])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let (line, lines) = sync_channel(1000);
        let reader = thread::Builder::new().spawn(move || {
            for text in printed.lines() {
                line.send(text.unwrap()).unwrap();
            }
        });
        reader.unwrap();
        Self { child, lines }
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line comes")
    }

    /// Ends it as ^C does.
    fn interrupt(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &pid]).status();
        assert!(status.unwrap().success());
        // Its output ends with it, so that this does not wait for ever.
        let left = self.lines.recv_timeout(PATIENCE);
        assert!(left.is_err(), "nothing else was printed: {left:?}");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _is_gone = (self.child.kill(), self.child.wait());
    }
}

#[test]
fn logs_with_follow_prints_the_last_lines_and_then_each_line_as_it_comes() {
    let folder = scratch("supervision-follow");
    let file = write(&folder, "lines", "first\n");
    let lidar = format!("exec tail -n +1 -f {}", file.display());
    let lidar = ProcessSpec::new("lidar", ["sh", "-c", &lidar]);
    let noise = "while :; do echo noise; sleep 0.05; done";
    let noise = ProcessSpec::new("noise", ["sh", "-c", noise]);
    let robot = Robot::start("ketch", &[("deck", vec![lidar, noise])]);
    let one = Following::start(&robot, "deck", &["lidar"]);
    assert_eq!(one.next(), "first");
    let mut lines = OpenOptions::new().append(true).open(&file).unwrap();
    for text in ["second", "third"] {
        writeln!(lines, "{text}").unwrap();
        assert_eq!(one.next(), text, "and nothing of others");
    }

    // What was printed before is not asked for, and each line is named when there are several processes.
    let all = Following::start(&robot, "deck", &["-n", "0"]);
    assert_eq!(all.next(), "noise | noise");
    writeln!(lines, "fourth").unwrap();
    let mut seen = BTreeSet::new();
    while !seen.contains("lidar | fourth") {
        seen.insert(all.next());
    }
    let expected = ["lidar | fourth", "noise | noise"].map(str::to_owned);
    assert_eq!(seen, BTreeSet::from(expected));
    assert_eq!(one.next(), "fourth");
    assert_eq!(one.interrupt(), Some(0));
    drop(all);
    drop(fs::remove_file(file));
}

#[test]
fn what_cannot_be_done_is_reported_and_the_command_ends() {
    let robot = Robot::start("skiff", &[("deck", vec![chatty("lidar", "")])]);
    // A supervisor that is found by its name is not waited for any longer; one that is not there is.
    #[rustfmt::skip]
    let cases = [
        (robot.bowline_of("deck", &["stop", "lidr"]), "did you mean \"lidar\"?"),
        (robot.bowline_of("deck", &["logs", "lidr"]), "did you mean \"lidar\"?"),
        (robot.bowline(&["stop", "all", "--robot", "other", "--for", "2s"]), "no such supervisor was received, only skiff"),
        (robot.bowline(&["ps", "--host", "other", "--for", "2s"]), "no such supervisor was received"),
    ];
    for (output, expected) in cases {
        let report = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{report}");
        assert!(
            report.contains(expected),
            "expected {expected:?} in {report}"
        );
    }
    robot.wait_for("deck", &[Supervised::RUNNING]);
    drop(robot);
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url();
    for verb in [
        &["ps"][..],
        &["ps", "--for", "100ms"],
        &["stop", "all", "--for", "100ms"],
        &["logs", "--for", "100ms"],
    ] {
        let args = [verb, &["-l", &url]].concat();
        let output = bowline_in(&scratch("supervision-none"), &args, b"");
        let report = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {report}");
        assert!(
            report.contains("no supervisor was received"),
            "{args:?}: {report}"
        );
    }
}
