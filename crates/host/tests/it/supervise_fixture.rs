//! A supervisor for a test: its plan, its thread or process, and its messages. Nothing that it starts outlives it.

use crate::supervise_plans::HOST;
use bowline_bus::{Bus, Subscription};
use bowline_component::Time;
use bowline_host::clock::Live;
use bowline_host::service::{self, ClientError};
use bowline_host::supervise::{
    self, Care, HEARTBEAT_LIMIT, Heartbeat, OUTPUT_CHANNEL, Options, Plan, ProcessSpec, Ready,
    SUPERVISOR_CHANNEL, SuperviseError,
};
use bowline_msgs::{Order, OrderReply, Output, OutputRequest, Supervised, Supervisor};
use bowline_testing::patience::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;

/// The program of `process.rs`.
pub(crate) const PROCESS: &str = env!("CARGO_BIN_EXE_bowline-host-test-process");

/// A moment until which something must have happened.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Live, Time);

impl Deadline {
    pub(crate) fn new() -> Self {
        let clock = Live::new();
        Self(clock, clock.now() + PATIENCE)
    }

    /// What is left; there is always some.
    pub(crate) fn left(self, waiting_for: &str) -> Duration {
        let left = self.0.until(self.1);
        assert!(!left.is_zero(), "still waiting for {waiting_for}");
        left
    }
}

/// A plan with a name that no other test has.
pub(crate) fn plan(processes: Vec<ProcessSpec>) -> Plan {
    static N_PLANS: AtomicU32 = AtomicU32::new(0);
    let number = N_PLANS.fetch_add(1, Ordering::Relaxed);
    Plan {
        robot: format!("t{}.{number}", std::process::id()),
        host: HOST.to_owned(),
        processes,
        ..Plan::default()
    }
}

/// A process with one component, which sends heartbeats on a bus.
pub(crate) fn beating(name: &str, component: &str, url: &str, robot: &str) -> ProcessSpec {
    ProcessSpec {
        heartbeat: Heartbeat::Presence {
            components: vec![component.to_owned()],
            within: HEARTBEAT_LIMIT,
        },
        ready: Ready::FirstHeartbeat,
        ready_within: PATIENCE,
        ..ProcessSpec::new(name, [PROCESS, "beat", url, robot, component])
    }
}

/// Whether a run ended because no heartbeat came for so many seconds; a busy machine may have extended that.
pub(crate) fn is_of_silence(last_exit: &str, limit_s: &str) -> bool {
    let text = format!("no heartbeat for {limit_s} s");
    let rest = last_exit.strip_prefix(&text);
    let rest = rest.and_then(|rest| rest.strip_suffix(", killed by SIGKILL"));
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(" and ") && rest.ends_with(" s of a busy machine")
    })
}

/// A supervisor in a thread of the test.
pub(crate) struct Supervision {
    pub(crate) bus: Bus,
    pub(crate) plan: Plan,
    statuses: Subscription<Supervisor>,
    outputs: Subscription<Output>,
    end: UnixStream,
    thread: Option<JoinHandle<Result<(), SuperviseError>>>,
    _folder: TempDir,
}

impl Supervision {
    pub(crate) fn start(plan: Plan) -> Self {
        Self::start_on(plan, Bus::open("memq://").unwrap())
    }

    pub(crate) fn start_on(plan: Plan, bus: Bus) -> Self {
        Self::launch(plan, tempfile::tempdir().unwrap(), bus)
    }

    pub(crate) fn start_in(plan: Plan, folder: TempDir) -> Self {
        Self::launch(plan, folder, Bus::open("memq://").unwrap())
    }

    fn launch(plan: Plan, folder: TempDir, bus: Bus) -> Self {
        let statuses = bus.subscribe(SUPERVISOR_CHANNEL).unwrap();
        let outputs = bus.subscribe(OUTPUT_CHANNEL).unwrap();
        let (end, until) = UnixStream::pair().unwrap();
        let thread = thread::Builder::new().name("supervisor".to_owned());
        let (path, own_bus, own_plan) = (folder.path().to_owned(), bus.clone(), plan.clone());
        let thread = thread.spawn(move || {
            let options = Options {
                folder: Some(path),
                until: until.as_fd(),
                care: Care::Own,
                keeper: Vec::new(),
                tell: &mut |_| {},
            };
            supervise::run(&own_plan, &own_bus, options)
        });
        Self {
            bus,
            plan,
            statuses,
            outputs,
            end,
            thread: Some(thread.unwrap()),
            _folder: folder,
        }
    }

    /// Waits until a status is as it should be.
    pub(crate) fn wait_for(&self, what: &str, is_so: impl Fn(&Supervisor) -> bool) -> Supervisor {
        wait_for(&self.statuses, &self.plan.robot, what, is_so)
    }

    /// Waits until a process is as it should be.
    pub(crate) fn wait_for_process(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&Supervised) -> bool,
    ) -> Supervised {
        let status = self.wait_for(&format!("{name} to be {what}"), |status| {
            is_so(process(status, name))
        });
        process(&status, name).clone()
    }

    pub(crate) fn wait_until_running(&self, name: &str) -> Supervised {
        self.wait_for_process(name, "running", |it| it.state == Supervised::RUNNING)
    }

    /// Waits for all of some lines of a process.
    pub(crate) fn wait_for_lines(&self, name: &str, lines: &[&str]) {
        wait_for_lines(&self.outputs, name, lines);
    }

    pub(crate) fn order(&self, action: i8, target: &str) -> Result<Vec<String>, ClientError> {
        order(&self.bus, &self.plan.robot, action, target)
    }

    pub(crate) fn last_lines(&self, process: &str, n_lines: i32) -> Result<Output, ClientError> {
        let name = supervise::service_name(&self.plan.robot, HOST, supervise::OUTPUT);
        let request = OutputRequest {
            process: process.to_owned(),
            n_lines,
        };
        service::call(&self.bus, &name, &request, PATIENCE)
    }

    /// Has everything stopped, and waits for it.
    pub(crate) fn stop(mut self) {
        self.ask_for_end();
        let thread = self.thread.take().unwrap();
        thread.join().unwrap().expect("nothing went wrong");
        assert_eq!(marked(&self.plan.robot), [0_i32; 0], "something is left");
    }

    fn ask_for_end(&mut self) {
        // It may have ended by itself.
        drop(self.end.write_all(b"x"));
    }
}

impl Drop for Supervision {
    fn drop(&mut self) {
        self.ask_for_end();
        if thread::panicking() {
            kill_marked(&self.plan.robot);
        }
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

pub(crate) fn wait_for(
    statuses: &Subscription<Supervisor>,
    robot: &str,
    what: &str,
    is_so: impl Fn(&Supervisor) -> bool,
) -> Supervisor {
    let deadline = Deadline::new();
    let mut last = None;
    loop {
        let waiting = format!("{what}; last: {last:#?}");
        let status = statuses.recv_timeout(deadline.left(&waiting)).unwrap();
        let Some(status) =
            status.filter(|it| it.robot == robot && it.state != Supervisor::CLAIMING)
        else {
            continue;
        };
        let status = status.message;
        if is_so(&status) {
            return status;
        }
        last = Some(status);
    }
}

/// Waits for all of some lines of a process, which may come together or apart.
pub(crate) fn wait_for_lines(outputs: &Subscription<Output>, name: &str, lines: &[&str]) {
    let deadline = Deadline::new();
    let mut left = lines.to_vec();
    while !left.is_empty() {
        let waiting = format!("{left:?} of {name}");
        let output = outputs.recv_timeout(deadline.left(&waiting)).unwrap();
        if let Some(output) = output.filter(|it| it.process == name) {
            left.retain(|line| !output.lines.iter().any(|it| it == line));
        }
    }
}

pub(crate) fn order(
    bus: &Bus,
    robot: &str,
    action: i8,
    target: &str,
) -> Result<Vec<String>, ClientError> {
    let name = supervise::service_name(robot, HOST, supervise::ORDER);
    let order = Order {
        action,
        target: target.to_owned(),
    };
    let reply: OrderReply = service::call(bus, &name, &order, PATIENCE)?;
    Ok(reply.processes)
}

/// How a process is, by a status.
pub(crate) fn process<'a>(status: &'a Supervisor, name: &str) -> &'a Supervised {
    let mut processes = status.processes.iter();
    processes
        .find(|it| it.name == name)
        .expect("it is in the plan")
}

/// Sends a signal to a process of a test.
pub(crate) fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Processes that carry the mark of a robot's supervisor, and live.
pub(crate) fn marked(robot: &str) -> Vec<i32> {
    let folders = fs::read_dir("/proc").unwrap();
    let pids = folders.filter_map(|folder| folder.ok()?.file_name().to_str()?.parse().ok());
    let mark = format!("BOWLINE_RUN={robot}@");
    let is_marked = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(mark.as_bytes()))
    };
    pids.filter(is_marked).collect()
}

/// Kills what a test may have left.
pub(crate) fn kill_marked(robot: &str) {
    for _ in 0..100 {
        let left = marked(robot);
        if left.is_empty() {
            return;
        }
        for pid in left {
            // It may have ended meanwhile.
            let _is_gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}
