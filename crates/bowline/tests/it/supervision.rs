//! `bowline ps`, `start`, `stop`, `restart` and `logs`, with supervisors of two hosts at a hub.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use crate::{bowline_in, scratch, stderr, stdout};
use bowline_bus::{Bus, Hub};
use bowline_msgs::{Supervised, Supervisor};
use bowline_node::supervise::{
    self, Care, Options, Plan, ProcessSpec, SUPERVISOR_CHANNEL, SafeState,
};
use serde_json::Value;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::Output;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Supervisors of a robot, ended with the value.
struct Robot {
    hub: Hub,
    name: String,
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
            let is_running = |status: &Supervisor| {
                let is_up = |it: &Supervised| it.state == Supervised::RUNNING && it.n_lines > 0;
                status.host == *host
                    && !status.processes.is_empty()
                    && status.processes.iter().all(is_up)
            };
            while !is_running(&statuses.recv_timeout(PATIENCE).unwrap().expect("it runs")) {}
        }
        Self {
            hub,
            name,
            end,
            supervisors,
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
fn one_view_shows_all_hosts_and_orders_reach_the_right_one() {
    let deck = vec![chatty("lidar", "sensors"), chatty("map", "")];
    let mast = vec![chatty("radar", "sensors")];
    let robot = Robot::start("boat", &[("deck", deck), ("mast", mast)]);

    let shown = robot.bowline(&["ps"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let text = stdout(&shown);
    for expected in [
        "@deck: running",
        "@mast: running",
        "lidar",
        "radar",
        "restarts",
    ] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
    let json = stdout(&robot.bowline(&["ps", "--host", "mast", "--json"]));
    let status: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(status["processes"][0]["state"], "running");

    let stopped = robot.bowline(&["stop", "sensors", "--wait"]);
    assert_eq!(stopped.status.code(), Some(0), "{}", stderr(&stopped));
    let expected = format!(
        "stop lidar on {0}@deck\nstop radar on {0}@mast\n",
        robot.name
    );
    assert_eq!(stdout(&stopped), expected);
    let states = |host: &str| -> Vec<Value> {
        let json = stdout(&robot.bowline(&["ps", "--host", host, "--json"]));
        let status: Value = serde_json::from_str(json.trim()).unwrap();
        let processes = status["processes"].as_array().unwrap();
        processes.iter().map(|it| it["state"].clone()).collect()
    };
    assert_eq!(states("deck"), ["stopped", "running"]);
    assert_eq!(states("mast"), ["stopped"]);
    let started = robot.bowline(&["start", "all", "--robot", &robot.name, "--wait"]);
    assert_eq!(started.status.code(), Some(0), "{}", stderr(&started));
    let restarted = robot.bowline(&[
        "restart",
        "radar",
        "--robot",
        &robot.name,
        "--host",
        "mast",
        "-w",
    ]);
    assert_eq!(restarted.status.code(), Some(0), "{}", stderr(&restarted));
    assert_eq!(states("mast"), ["running"]);
}

#[test]
fn what_was_printed_is_shown_with_its_process() {
    let robot = Robot::start(
        "tug",
        &[("deck", vec![chatty("lidar", ""), chatty("map", "")])],
    );
    let all = robot.bowline(&["logs"]);
    assert_eq!(
        stdout(&all),
        "lidar | lidar says hello\nmap   | map says hello\n",
        "{}",
        stderr(&all)
    );
    assert_eq!(
        stdout(&robot.bowline(&["logs", "map", "-n", "5"])),
        "map says hello\n"
    );
    assert_eq!(stdout(&robot.bowline(&["logs", "map", "-n", "0"])), "");
}

#[test]
fn what_cannot_be_done_is_told_in_bounded_time() {
    let robot = Robot::start("skiff", &[("deck", vec![chatty("lidar", "")])]);
    #[rustfmt::skip]
    let cases = [
        (vec!["stop", "lidr"], "did you mean \"lidar\"?"),
        (vec!["stop", "all", "--robot", "nobody"], "no such supervisor was heard, only skiff"),
        (vec!["logs", "lidr"], "did you mean \"lidar\"?"),
        (vec!["ps", "--robot", "nobody"], "no such supervisor was heard"),
    ];
    for (args, expected) in cases {
        let output = robot.bowline(&args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            stderr(&output).contains(expected),
            "{args:?}: {}",
            stderr(&output)
        );
    }
    drop(robot);
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url();
    for verb in [&["ps"][..], &["stop", "all"], &["logs"]] {
        let args = [verb, &["-l", &url]].concat();
        let output = bowline_in(&scratch("supervision-nobody"), &args, b"");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            stderr(&output).contains("no supervisor was heard"),
            "{}",
            stderr(&output)
        );
    }
}
