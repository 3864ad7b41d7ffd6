//! Supervisors that die, come back, and meet others of their name.

use crate::supervise_fixture::{
    Deadline, PROCESS, Supervision, beating, is_of_silence, kill_marked, marked, order, plan,
    process, send, wait_for, wait_for_lines,
};
use crate::supervise_plans::{HOST, idle};
use bowline_bus::{Bus, Hub, Subscription};
use bowline_component::ALARM_CHANNEL;
use bowline_host::clock::Epoch;
use bowline_host::supervise::{
    self, Care, OUTPUT_CHANNEL, Options, Plan, ProcessSpec, SUPERVISOR_CHANNEL, SuperviseError,
};
use bowline_msgs::{Alarm, Order, Output, Supervised, Supervisor};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use tempfile::TempDir;

#[test]
fn a_process_that_hangs_is_killed_and_restarted() {
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let mut plan = plan(Vec::new());
    plan.processes = vec![ProcessSpec {
        components: vec!["lidar".to_owned()],
        ..beating("sensors", "lidar", &hub.url(), &plan.robot)
    }];
    let supervision = Supervision::start_on(plan, Bus::open(&hub.url()).unwrap());
    let running = supervision.wait_until_running("sensors");
    assert_eq!(running.health, "lidar degraded: dusty");
    send(running.pid, Signal::STOP);
    let restarted = supervision.wait_for_process("sensors", "restarted", |it| {
        it.state == Supervised::RUNNING && it.pid != running.pid
    });
    let last_exit = &restarted.last_exit;
    assert!(is_of_silence(last_exit, "0.65"), "{last_exit}");
    supervision.stop();
}

/// Where supervisors come and go.
struct Place {
    hub: Hub,
    robot: String,
    folder: TempDir,
    statuses: Subscription<Supervisor>,
    outputs: Subscription<Output>,
}

/// A supervisor in a process of its own. It ends when its input does.
struct Process(Child);

impl Place {
    fn new() -> Self {
        let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
        let bus = Bus::open(&hub.url()).unwrap();
        Self {
            robot: plan(Vec::new()).robot,
            folder: tempfile::tempdir().unwrap(),
            statuses: bus.subscribe(SUPERVISOR_CHANNEL).unwrap(),
            outputs: bus.subscribe(OUTPUT_CHANNEL).unwrap(),
            hub,
        }
    }

    fn start(&self, which: &str) -> Process {
        let mut command = Command::new(PROCESS);
        command
            .args(["supervise", &self.hub.url()])
            .arg(self.folder.path())
            .args([&self.robot, which])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Process(command.spawn().unwrap())
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(&Supervisor) -> bool) -> Supervisor {
        wait_for(&self.statuses, &self.robot, what, is_so)
    }

    /// Waits until all run, as the supervisor of that process reports.
    fn wait_until_running(&self, by: &Process) -> Supervisor {
        let pid = i32::try_from(by.0.id()).unwrap();
        self.wait_for("all to run", |status| {
            status.pid == pid
                && !status.processes.is_empty()
                && status
                    .processes
                    .iter()
                    .all(|it| it.state == Supervised::RUNNING)
        })
    }
}

impl Process {
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn stop(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        kill_marked(&self.robot);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Unless it was waited for already.
        let _is_gone = self.0.kill();
        let _is_reaped = self.0.wait();
    }
}

#[test]
fn a_supervisor_that_comes_back_finds_its_processes_and_no_line_is_lost() {
    let place = Place::new();
    let first = place.start("counting");
    let pid = process(&place.wait_until_running(&first), "counter").pid;
    let numbers = |until: usize| {
        let mut numbers = BTreeSet::new();
        let deadline = Deadline::new();
        while !numbers.contains(&until) {
            let output = place.outputs.recv_timeout(deadline.left("lines")).unwrap();
            let lines = output.into_iter().flat_map(|it| it.message.lines);
            numbers
                .extend(lines.filter_map(|line| line.strip_prefix("line ")?.parse::<usize>().ok()));
        }
        numbers
    };
    let mut seen = numbers(20);
    first.kill();
    assert!(
        marked(&place.robot).contains(&pid),
        "it goes on without a supervisor"
    );

    let second = place.start("counting");
    let status = place.wait_until_running(&second);
    let adopted = process(&status, "counter");
    assert_eq!(
        (adopted.pid, adopted.is_adopted, adopted.n_restarts),
        (pid, true, 0)
    );
    let last = *seen.last().unwrap();
    // More than are printed while no supervisor is there.
    seen.extend(numbers(last + 60));
    let expected: BTreeSet<usize> = (0..=last + 60).collect();
    assert_eq!(
        expected.difference(&seen).collect::<Vec<_>>(),
        [&0_usize; 0],
        "lines were lost"
    );

    send(pid, Signal::KILL);
    let restarted = place.wait_for("a new run", |status| {
        let counter = process(status, "counter");
        counter.state == Supervised::RUNNING && counter.pid != pid
    });
    let restarted = process(&restarted, "counter");
    assert_eq!(restarted.last_exit, "ended, exit code unknown (adopted)");
    assert!(!restarted.is_adopted);
    second.stop();
    assert_eq!(marked(&place.robot), [0_i32; 0]);
}

/// The time that a process was handed down.
fn epoch(pid: i32) -> Epoch {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let mut entries = environment.split(|byte| *byte == 0);
    let name = format!("{}=", Epoch::VARIABLE);
    let value = entries.find_map(|entry| entry.strip_prefix(name.as_bytes()));
    let value = value.expect("it was handed one down");
    str::from_utf8(value).unwrap().parse().unwrap()
}

#[test]
fn all_processes_of_a_robot_have_one_time_whichever_supervisor_starts_them() {
    let place = Place::new();
    let first = place.start("first");
    let status = place.wait_until_running(&first);
    let pid = |status: &Supervisor, name: &str| process(status, name).pid;
    let handed_down = epoch(pid(&status, "same"));
    assert_eq!(epoch(pid(&status, "other")), handed_down);
    first.kill();

    let second = place.start("first");
    let before = place.wait_until_running(&second);
    send(pid(&before, "same"), Signal::KILL);
    let after = place.wait_for("a new run", |status| {
        let same = process(status, "same");
        same.state == Supervised::RUNNING && same.pid != pid(&before, "same")
    });
    assert_eq!(pid(&after, "other"), pid(&status, "other"), "it went on");
    assert_eq!(epoch(pid(&after, "same")), handed_down);
    second.stop();
}

#[test]
fn what_is_no_longer_as_the_plan_has_it_is_replaced() {
    let place = Place::new();
    let first = place.start("first");
    let before = place.wait_until_running(&first);
    first.kill();
    let second = place.start("second");
    let after = place.wait_until_running(&second);
    let pid = |status: &Supervisor, name: &str| process(status, name).pid;
    assert_eq!(pid(&after, "same"), pid(&before, "same"));
    assert_ne!(pid(&after, "other"), pid(&before, "other"));
    assert_eq!(after.processes.len(), 2);
    let left: BTreeSet<i32> = marked(&place.robot).into_iter().collect();
    assert_eq!(
        left,
        BTreeSet::from([pid(&after, "same"), pid(&after, "other")])
    );
    second.stop();
}

#[test]
fn without_a_word_from_the_supervisor_before_its_processes_are_replaced() {
    let place = Place::new();
    let first = place.start("second");
    let before = place.wait_until_running(&first);
    first.kill();
    let word = format!("{}@{HOST}.toml", place.robot);
    fs::remove_file(place.folder.path().join(word)).unwrap();
    let second = place.start("second");
    let after = place.wait_until_running(&second);
    assert_eq!((before.processes.len(), after.processes.len()), (2, 2));
    for (before, after) in before.processes.iter().zip(&after.processes) {
        assert_ne!(before.pid, after.pid);
    }
    assert_eq!(marked(&place.robot).len(), 2);
    second.stop();
}

#[test]
fn what_is_printed_while_no_supervisor_is_there_takes_bounded_memory_and_is_counted() {
    const MUCH: u64 = 100_000_000;
    let place = Place::new();
    let first = place.start("flooding");
    let pid = process(&place.wait_until_running(&first), "flood").pid;
    first.kill();
    let output = || fs::metadata(format!("/proc/{pid}/fd/1")).unwrap();
    let began = output().len();
    let deadline = Deadline::new();
    let mut most = 0;
    while output().len() < began + MUCH {
        deadline.left("much to be printed");
        most = most.max(output().blocks() * 512);
    }
    // Four megabytes, what is printed between two looks, and a machine that has other things to do.
    assert!(
        most < MUCH / 2,
        "{most} of {MUCH} bytes were in memory at once"
    );

    let second = place.start("flooding");
    let status = place.wait_until_running(&second);
    let flood = process(&status, "flood");
    assert_eq!((flood.pid, flood.is_adopted), (pid, true));
    assert!(
        flood.n_bytes_skipped > i64::try_from(MUCH / 2).unwrap(),
        "{} bytes were reported as skipped",
        flood.n_bytes_skipped
    );
    second.stop();
}

/// Waits until the supervisor of that process is in the safe state, with everything as that has it.
fn wait_until_safe(place: &Place, by: &Process) -> Supervisor {
    let pid = i32::try_from(by.0.id()).unwrap();
    place.wait_for("the safe state", |status| {
        let is = |name: &str, state| process(status, name).state == state;
        status.pid == pid
            && status.state == Supervisor::SAFE
            && is("lidar", Supervised::GIVEN_UP)
            && is("motor", Supervised::STOPPED)
            && is("brake", Supervised::RUNNING)
            && is("radio", Supervised::RUNNING)
    })
}

#[test]
fn safe_state_holds_across_supervisors_until_its_cause_is_dealt_with() {
    let place = Place::new();
    let bus = Bus::open(&place.hub.url()).unwrap();
    let first = place.start("failing");
    let before = wait_until_safe(&place, &first);
    assert_eq!(
        before.alarm,
        "lidar: it failed, and is not to be restarted; last: exit code 3"
    );
    let alarms: Subscription<Alarm> = bus.subscribe(ALARM_CHANNEL).unwrap();
    let next_alarm = || {
        let deadline = Deadline::new();
        loop {
            let alarm = alarms.recv_timeout(deadline.left("an alarm")).unwrap();
            if let Some(alarm) = alarm.filter(|it| it.robot == place.robot) {
                return alarm.message;
            }
        }
    };
    let raised = next_alarm();
    first.kill();

    let second = place.start("failing");
    let after = wait_until_safe(&place, &second);
    assert_eq!(after.alarm, before.alarm);
    for name in ["brake", "radio"] {
        assert_eq!(process(&after, name).pid, process(&before, name).pid);
    }
    assert_eq!(next_alarm().since_utime, raised.since_utime);
    let refused = order(&bus, &place.robot, Order::START, "motor").unwrap_err();
    assert!(
        refused.to_string().contains("stays down in the safe state"),
        "{refused}"
    );
    second.kill();

    let third = place.start("failing");
    wait_until_safe(&place, &third);
    order(&bus, &place.robot, Order::STOP, "lidar").unwrap();
    let status = place.wait_for("the end of the safe state", |status| {
        status.state == Supervisor::RUNNING
    });
    assert_eq!(status.alarm, "");
    order(&bus, &place.robot, Order::START, "motor").unwrap();
    place.wait_for("the motor", |status| {
        process(status, "motor").state == Supervised::RUNNING
    });
    third.stop();
}

#[test]
fn orphans_become_children_of_the_supervisor_and_are_reaped() {
    let place = Place::new();
    let supervisor = place.start("orphans");
    wait_for_lines(&place.outputs, "parent", &["done"]);
    let own = supervisor.0.id().to_string();
    let deadline = Deadline::new();
    while zombies(&own) > 0 {
        deadline.left("zombies to be reaped");
        place.wait_for("anything", |_| true);
    }
    supervisor.stop();
}

/// Children of a process that have ended, and that it has not asked about.
fn zombies(parent: &str) -> usize {
    let folders = fs::read_dir("/proc").unwrap().flatten();
    let stats = folders.filter_map(|folder| fs::read_to_string(folder.path().join("stat")).ok());
    let is_zombie = |stat: &String| {
        let (_, fields) = stat.rsplit_once(") ").unwrap_or_default();
        let mut fields = fields.split(' ');
        (fields.next(), fields.next()) == (Some("Z"), Some(parent))
    };
    stats.filter(is_zombie).count()
}

/// Tries to supervise beside others, and returns why not.
fn refused(plan: &Plan, bus: &Bus, folder: &Path) -> SuperviseError {
    let (_end, until) = UnixStream::pair().unwrap();
    let options = Options {
        folder: Some(folder.to_owned()),
        until: until.as_fd(),
        care: Care::Own,
        keeper: Vec::new(),
        tell: &mut |_| {},
    };
    supervise::run(plan, bus, options).unwrap_err()
}

#[test]
fn second_supervisor_of_a_name_is_refused_with_the_first_ones_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let supervision = Supervision::start_in(plan(vec![idle("a")]), folder);
    supervision.wait_until_running("a");
    let who = format!("has a supervisor already: pid {}", std::process::id());
    let error = refused(&supervision.plan, &supervision.bus, &path);
    assert!(
        matches!(error, SuperviseError::Lock(_)) && error.to_string().contains(&who),
        "{error}"
    );
    // As from another machine: another folder, the same bus.
    let elsewhere = tempfile::tempdir().unwrap();
    let error = refused(&supervision.plan, &supervision.bus, elsewhere.path());
    assert!(
        matches!(error, SuperviseError::Taken { .. }) && error.to_string().contains(&who),
        "{error}"
    );
    assert_eq!(supervision.wait_until_running("a").n_restarts, 0);
    supervision.stop();
}

#[test]
fn of_several_that_come_at_once_exactly_one_stays() {
    let bus = Bus::open("memq://").unwrap();
    let plan = plan(vec![idle("a")]);
    let (end, until) = UnixStream::pair().unwrap();
    let supervisors: Vec<_> = (0..4)
        .map(|_| {
            let (bus, plan, until) = (bus.clone(), plan.clone(), until.try_clone().unwrap());
            let supervisor = thread::Builder::new().spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let options = Options {
                    folder: Some(folder.path().to_owned()),
                    until: until.as_fd(),
                    care: Care::Own,
                    keeper: Vec::new(),
                    tell: &mut |_| {},
                };
                supervise::run(&plan, &bus, options)
            });
            supervisor.unwrap()
        })
        .collect();
    let deadline = Deadline::new();
    while supervisors.iter().filter(|it| it.is_finished()).count() < 3 {
        deadline.left("three to give in");
    }
    drop(end);
    let results: Vec<_> = supervisors
        .into_iter()
        .map(|it| it.join().unwrap())
        .collect();
    assert_eq!(
        results.iter().filter(|result| result.is_ok()).count(),
        1,
        "{results:?}"
    );
    assert_eq!(marked(&plan.robot), [0_i32; 0]);
}
