//! A supervisor on a machine that has four times as much to do as it can.

use crate::supervise_fixture::{Supervision, beating, is_of_silence, plan, process, send};
use bowline_bus::{Bus, Hub};
use bowline_host::supervise::Start;
use bowline_msgs::{Order, Supervised, Supervisor};
use rustix::process::Signal;
use std::process::{Child, Command, Stdio};

/// So many busy processes for each processor.
const LOAD: usize = 4;
/// Statuses come once a second and when something changes: so many are watched for a process that is killed.
const N_STATUSES: usize = 4;

/// Processes that compute, ended with the value; and by themselves if the test is killed.
struct Load(Vec<Child>);

impl Load {
    fn start() -> Self {
        let n_processors = std::thread::available_parallelism().unwrap().get();
        let start = |_| {
            Command::new("timeout")
                .args(["120", "sh", "-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        };
        Self((0..LOAD * n_processors).map(start).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // `timeout` passes SIGTERM on to what it started.
            let pid = i32::try_from(child.id()).unwrap();
            send(pid, Signal::TERM);
            child.wait().unwrap();
        }
    }
}

#[test]
fn robot_at_four_times_the_load_keeps_its_healthy_processes_and_finds_hung_ones() {
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let mut plan = plan(Vec::new());
    let names = ["lidar", "camera", "pilot", "slow", "busy"];
    let process_of = |name: &&str| beating(name, name, &hub.url(), &plan.robot);
    plan.processes = names.iter().map(process_of).collect();
    // It gets a few thousandths of a processor under this load; how late its heartbeats are is the scheduler's choice.
    plan.processes[3].limits.nice = Some(19);
    // It sends heartbeats at first, and then computes for ever.
    plan.processes[4].start = Start::OnOrder;
    let supervision = Supervision::start_on(plan, Bus::open(&hub.url()).unwrap());
    let before = supervision.wait_for("all but one to run", |status| {
        let n_running = status
            .processes
            .iter()
            .filter(|it| it.state == Supervised::RUNNING);
        n_running.count() == 4
    });
    let _load = Load::start();

    let check = |status: &Supervisor, names: &[&str]| {
        for name in names {
            let (was, is) = (process(&before, name), process(status, name));
            assert_eq!(is.pid, was.pid, "{name} was killed: {is:?}");
        }
    };
    for _ in 0..N_STATUSES {
        let status = supervision.wait_for("the next status", |_| true);
        check(&status, &names[..4]);
    }

    // One that does not run, and so does not wait for a processor.
    let lidar = process(&before, "lidar").pid;
    send(lidar, Signal::STOP);
    let after = supervision.wait_for_process("lidar", "restarted", |it| {
        it.state == Supervised::RUNNING && it.pid != lidar
    });
    assert!(is_of_silence(&after.last_exit, "0.65"), "{after:?}");
    // One that runs, and so waits for a processor most of the time.
    supervision.order(Order::START, "busy").unwrap();
    let after = supervision.wait_for_process("busy", "restarted", |it| it.n_restarts > 0);
    assert!(is_of_silence(&after.last_exit, "0.65"), "{after:?}");
    let status = supervision.wait_for("the next status", |_| true);
    check(&status, &names[1..4]);
    supervision.stop();
}
