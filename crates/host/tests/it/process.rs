//! Processes that the tests start: a supervisor, a keeper of output, a process with a component, and a program that takes
//! steps.
//!
//! A program of its own, so that no helper is counted as a test. The first argument is what to be.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a process of a test that cannot go on panics"
)]

#[path = "supervise_plans.rs"]
mod plans;
#[path = "steps.rs"]
mod steps;

use bowline_bus::Bus;
use bowline_host::presence::{HEARTBEAT_CHANNEL, HEARTBEAT_PERIOD};
use bowline_host::supervise::{self, Care, Options, Plan, ProcessSpec, Restart, SafeState, Start};
use bowline_msgs::{Heartbeat, HeartbeatComponent};
use plans::{HOST, idle, script};
use std::os::fd::AsFd as _;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [program, "supervise", url, folder, robot, which] => {
            supervise(program, url, folder, robot, which);
        }
        [_, "keep", folder, name, pid] => {
            supervise::keep(Path::new(folder), name, pid.parse().unwrap());
        }
        [_, "beat", url, robot, component] => beat(url, robot, component),
        [_, "step", mode] => steps::take(mode),
        _ => panic!("expected supervise, keep, beat or step with arguments, found {arguments:?}"),
    }
}

/// Supervises until its input ends.
fn supervise(program: &str, url: &str, folder: &str, robot: &str, which: &str) {
    let plan = Plan {
        robot: robot.to_owned(),
        host: HOST.to_owned(),
        processes: processes(which),
        safe_state: safe_state(which),
        ..Plan::default()
    };
    let stdin = std::io::stdin();
    let options = Options {
        folder: Some(folder.into()),
        until: stdin.as_fd(),
        care: Care::Everything,
        keeper: [program, "keep"].map(str::to_owned).into(),
        tell: &mut |_| {},
    };
    supervise::run(&plan, &Bus::open(url).unwrap(), options).unwrap();
}

/// The plans that a supervisor in a process of its own can have.
fn processes(which: &str) -> Vec<ProcessSpec> {
    let counting = script(
        "counter",
        "i=0; while :; do echo line $i; i=$((i + 1)); sleep 0.02; done",
    );
    match which {
        "counting" => vec![counting],
        "first" => vec![idle("same"), idle("other"), idle("superfluous")],
        "second" => vec![idle("same"), ProcessSpec::new("other", ["sleep", "2000"])],
        "orphans" => vec![script(
            "parent",
            "for i in $(seq 40); do (sleep 0.01 &); done; sleep 0.2; echo done; exec sleep 1000",
        )],
        "flooding" => vec![script(
            "flood",
            "line=$(head -c 1000000 /dev/zero | tr '\\0' x); while :; do echo $line; sleep 0.01; done",
        )],
        "failing" => vec![
            ProcessSpec {
                restart: Restart::Never,
                ..script("lidar", "exit 3")
            },
            idle("motor"),
            ProcessSpec {
                start: Start::OnOrder,
                ..idle("brake")
            },
            idle("radio"),
        ],
        _ => panic!("no such plan: {which}"),
    }
}

/// What they do when something is given up.
fn safe_state(which: &str) -> SafeState {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    match which {
        "failing" => SafeState {
            stop: names(&["motor"]),
            start: names(&["brake"]),
            publish: Vec::new(),
        },
        _ => SafeState::default(),
    }
}

/// Sends heartbeats of a component until it is killed, or the hub is gone. A component called `busy` stops to send them
/// after some, and computes for ever instead.
fn beat(url: &str, robot: &str, component: &str) {
    let bus = Bus::open(url).unwrap();
    let nothing = bus.events("nothing").unwrap();
    let heartbeat = Heartbeat {
        robot: robot.to_owned(),
        pid: i32::try_from(std::process::id()).unwrap(),
        components: vec![HeartbeatComponent {
            name: component.to_owned(),
            health: HeartbeatComponent::DEGRADED,
            text: "dusty".to_owned(),
            ..HeartbeatComponent::default()
        }],
        ..Heartbeat::default()
    };
    let heartbeat = heartbeat.with_lengths();
    let mut n_sent = 0;
    while bus.publish(HEARTBEAT_CHANNEL, &heartbeat).is_ok() {
        nothing.recv_timeout(HEARTBEAT_PERIOD).unwrap();
        n_sent += 1;
        if component == "busy" && n_sent > 5 {
            loop {
                std::hint::spin_loop();
            }
        }
    }
}
