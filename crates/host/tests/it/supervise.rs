//! What a supervisor does about real processes.

use crate::supervise_fixture::{Deadline, Supervision, is_of_silence, marked, plan, process, send};
use crate::supervise_plans::{idle, script};
use bowline_bus::Bus;
use bowline_component::ALARM_CHANNEL;
use bowline_host::presence::PRESENCE_CHANNEL;
use bowline_host::supervise::{
    Heartbeat, Plan, ProcessSpec, Publication, Ready, Restart, SafeState,
};
use bowline_msgs::{
    Alarm, Order, Presence, PresenceComponent, PresencePort, Supervised, Supervisor,
};
use bowline_testing::patience::PATIENCE;
use rustix::process::Signal;
use std::fs;
use std::time::Duration;

#[test]
fn killed_process_is_restarted_and_its_end_is_reported() {
    let supervision = Supervision::start(plan(vec![idle("a"), idle("b")]));
    let status = supervision.wait_for("both to run", |status| {
        ["a", "b"].map(|name| process(status, name).state) == [Supervised::RUNNING; 2]
    });
    let [before, other] = ["a", "b"].map(|name| process(&status, name).pid);
    send(before, Signal::KILL);
    let after = supervision.wait_for_process("a", "restarted", |it| {
        it.state == Supervised::RUNNING && it.pid != before
    });
    assert_eq!(
        (after.n_restarts, after.last_exit.as_str()),
        (1, "killed by SIGKILL")
    );
    assert_eq!(
        supervision.wait_until_running("b").pid,
        other,
        "others are not affected"
    );
    supervision.stop();
}

#[test]
fn a_process_that_goes_silent_is_killed_and_restarted() {
    let mut spec = idle("a");
    spec.heartbeat = Heartbeat::Traffic {
        channel: "alive".to_owned(),
        within: Duration::from_millis(300),
    };
    spec.ready = Ready::FirstHeartbeat;
    spec.ready_within = PATIENCE;
    let supervision = Supervision::start(plan(vec![spec]));
    supervision.wait_for_process("a", "starting", |it| {
        it.state == Supervised::STARTING && it.pid != 0
    });
    supervision.bus.publish_bytes("alive", b"yes").unwrap();
    let before = supervision.wait_until_running("a").pid;
    // And never again.
    let after =
        supervision.wait_for_process("a", "started anew", |it| it.pid != 0 && it.pid != before);
    let last_exit = &after.last_exit;
    assert!(is_of_silence(last_exit, "0.3"), "{last_exit}");
    supervision.stop();
}

#[test]
fn programs_are_published_while_they_run() {
    let camera = PresenceComponent {
        name: "camera".to_owned(),
        kind: "sleep 1000".to_owned(),
        ports: vec![PresencePort {
            name: "camera.image".to_owned(),
            direction: PresencePort::WRITES,
            channel: "camera.image".to_owned(),
            ..PresencePort::default()
        }],
        ..PresenceComponent::default()
    };
    let camera = camera.with_lengths();
    let spec = ProcessSpec {
        described: vec![camera.clone()],
        ..idle("camera")
    };
    let bus = Bus::open("memq://").unwrap();
    let presences = bus.subscribe::<Presence>(PRESENCE_CHANNEL).unwrap();
    let supervision = Supervision::start_on(plan(vec![spec]), bus);
    let wait_for = |is_there: bool| {
        let deadline = Deadline::new();
        loop {
            let presence = presences.recv_timeout(deadline.left("presence")).unwrap();
            if presence.is_some_and(|it| it.components.contains(&camera) == is_there) {
                return;
            }
        }
    };
    wait_for(true);
    supervision.order(Order::STOP, "camera").unwrap();
    wait_for(false);
    supervision.stop();
}

#[test]
fn a_process_that_fails_again_and_again_is_given_up_with_an_alarm_and_the_safe_state() {
    let safe_state = SafeState {
        stop: vec!["motors".to_owned()],
        start: vec!["brake".to_owned()],
        publish: vec![Publication {
            channel: "vehicle.stop".to_owned(),
            bytes: b"stop".to_vec(),
            every: Duration::from_millis(20),
            utime_at: None,
        }],
    };
    let mut brake = idle("brake");
    brake.start = bowline_host::supervise::Start::OnOrder;
    let processes = vec![
        script("broken", "exit 3"),
        idle("motors"),
        idle("map"),
        brake,
    ];
    let supervision = Supervision::start(Plan {
        safe_state,
        ..plan(processes)
    });
    let alarms = supervision.bus.subscribe::<Alarm>(ALARM_CHANNEL).unwrap();
    let stops = supervision.bus.events("vehicle.stop").unwrap();
    let map = supervision.wait_until_running("map").pid;
    let status = supervision.wait_for("the safe state", |status| {
        status.state == Supervisor::SAFE
            && process(status, "motors").state == Supervised::STOPPED
            && process(status, "brake").state == Supervised::RUNNING
    });
    let broken = process(&status, "broken");
    assert_eq!((broken.state, broken.n_restarts), (Supervised::GIVEN_UP, 5));
    assert_eq!(
        status.alarm,
        "broken: restarted 5 times in 30 s; last: exit code 3"
    );
    assert_eq!(process(&status, "map").pid, map, "others are not affected");
    let alarm = alarms.recv_timeout(PATIENCE).unwrap().expect("an alarm");
    assert_eq!(
        (alarm.state, alarm.source.as_str()),
        (Alarm::RAISED, "broken")
    );
    for _ in 0..3 {
        let (_, stop) = stops
            .recv_timeout(PATIENCE)
            .unwrap()
            .expect("it is repeated");
        assert_eq!(&stop.payload[..], b"stop");
    }

    let refused = supervision
        .order(Order::START, "motors")
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("stays down in the safe state"),
        "{refused}"
    );
    supervision.order(Order::STOP, "broken").unwrap();
    supervision.wait_for("the end of the safe state", |status| {
        status.state == Supervisor::RUNNING && status.alarm.is_empty()
    });
    let deadline = Deadline::new();
    while alarms
        .recv_timeout(deadline.left("the end of the alarm"))
        .unwrap()
        .expect("it is reported")
        .state
        != Alarm::CLEARED
    {}
    supervision.order(Order::START, "motors").unwrap();
    supervision.wait_until_running("motors");
    supervision.stop();
}

#[test]
fn processes_start_when_those_they_need_are_ready_and_stop_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let path = record.display();
    let member = |name: &str, after: &[&str]| {
        let text = format!(
            "echo up {name} >> {path}; trap 'echo down {name} >> {path}; exit 0' TERM; while :; do sleep 0.01; done"
        );
        ProcessSpec {
            after: after.iter().map(ToString::to_string).collect(),
            ..script(name, &text)
        }
    };
    let once = ProcessSpec {
        restart: Restart::Never,
        ready: Ready::AtEnd,
        ..script("once", &format!("echo once >> {path}"))
    };
    let processes = vec![
        member("c", &["b"]),
        member("b", &["a"]),
        member("a", &["once"]),
        once,
    ];
    let supervision = Supervision::start(plan(processes));
    let deadline = Deadline::new();
    while !fs::read_to_string(&record)
        .unwrap_or_default()
        .contains("up c")
    {
        deadline.left("all of them");
        supervision.wait_for("anything", |_| true);
    }
    supervision.stop();
    let record = fs::read_to_string(&record).unwrap();
    let lines: Vec<&str> = record.lines().collect();
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("down"))
            .copied()
            .collect::<Vec<_>>(),
        ["down c", "down b", "down a"]
    );
    assert_eq!(lines.first(), Some(&"once"), "{record}");
}

#[test]
fn process_that_ignores_signals_is_killed_after_its_grace() {
    let mut deaf = script(
        "deaf",
        "trap '' TERM INT HUP; echo deaf; while :; do sleep 0.01; done",
    );
    deaf.grace = Duration::from_millis(200);
    let supervision = Supervision::start(plan(vec![deaf]));
    supervision.wait_for_lines("deaf", &["deaf"]);
    supervision.order(Order::STOP, "deaf").unwrap();
    let stopped =
        supervision.wait_for_process("deaf", "stopped", |it| it.state == Supervised::STOPPED);
    assert_eq!(
        stopped.last_exit,
        "did not stop within 0.2 s, killed by SIGKILL"
    );
    supervision.stop();
}

#[test]
fn stopped_process_gets_its_signal() {
    let supervision = Supervision::start(plan(vec![script(
        "a",
        "trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done",
    )]));
    supervision.wait_for_lines("a", &["up"]);
    send(supervision.wait_until_running("a").pid, Signal::STOP);
    supervision.order(Order::STOP, "a").unwrap();
    let stopped =
        supervision.wait_for_process("a", "stopped", |it| it.state == Supervised::STOPPED);
    assert_eq!(stopped.last_exit, "exit code 7");
    supervision.stop();
}

#[test]
fn what_a_process_leaves_behind_is_gone_before_the_next_run() {
    // A daemon as in the books: another session, another group, another parent.
    let text = "setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000 & echo $!; exit 1";
    let mut spec = script("a", text);
    spec.restart = Restart::Never;
    let supervision = Supervision::start(plan(vec![spec]));
    supervision.wait_for_process("a", "given up", |it| it.state == Supervised::GIVEN_UP);
    assert_eq!(marked(&supervision.plan.robot), [0_i32; 0]);
    supervision.stop();
}

#[test]
fn what_has_left_the_group_is_asked_to_stop_too_and_killed_if_it_does_not() {
    // One daemon that listens, and one that does not.
    let daemon = |name: &str, trap: &str| {
        format!("setsid sh -c 'trap \"{trap}\" TERM; echo {name}; while :; do sleep 0.01; done' & ")
    };
    let text = daemon("polite", "echo bye; exit") + &daemon("deaf", "") + "wait";
    let mut spec = script("a", &text);
    // Long enough to end in order on a machine that has other things to do.
    spec.grace = Duration::from_secs(3);
    let supervision = Supervision::start(plan(vec![spec]));
    supervision.wait_for_lines("a", &["polite", "deaf"]);
    supervision.order(Order::STOP, "a").unwrap();
    supervision.wait_for_lines("a", &["bye"]);
    supervision.wait_for_process("a", "stopped", |it| it.state == Supervised::STOPPED);
    assert_eq!(marked(&supervision.plan.robot), [0_i32; 0]);
    supervision.stop();
}

#[test]
fn cpu_and_memory_of_processes_are_reported() {
    let busy = script("busy", "while :; do :; done");
    let supervision = Supervision::start(plan(vec![busy, idle("idle")]));
    let status = supervision.wait_for("the busy one to be seen", |status| {
        process(status, "busy").cpu_ratio > 0.05
    });
    let idle = process(&status, "idle");
    assert!(idle.cpu_ratio < 0.05, "{idle:?}");
    for name in ["busy", "idle"] {
        let memory_bytes = process(&status, name).memory_bytes;
        assert!(memory_bytes > 100_000, "{name}: {memory_bytes}");
    }
    supervision.stop();
}

#[test]
fn no_zombie_of_a_run_is_left() {
    // Its children end, and their exit codes are not asked for.
    let text = "for i in 1 2 3 4 5; do (exec true) & done; exec sleep 1000";
    let supervision = Supervision::start(plan(vec![script("a", text)]));
    let pid = supervision.wait_until_running("a").pid;
    supervision.order(Order::STOP, "a").unwrap();
    supervision.wait_for_process("a", "stopped", |it| it.state == Supervised::STOPPED);
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    assert!(
        stat.is_err(),
        "the kernel still has a line for it: {stat:?}"
    );
    supervision.stop();
}

#[test]
fn a_fork_bomb_is_gone_to_the_last_process() {
    // Each starts two others, one of them in a session of its own: 63 of them, each with a sleep.
    let text = "if [ $1 -gt 0 ]; then sh -c \"$0\" \"$0\" $(($1 - 1)) & setsid sh -c \"$0\" \"$0\" $(($1 - 1)) & fi; \
                echo $1; sleep 1000";
    let mut bomb = ProcessSpec::new("bomb", ["sh", "-c", text, text, "5"]);
    bomb.grace = Duration::from_millis(500);
    let supervision = Supervision::start(plan(vec![bomb, idle("other")]));
    supervision.wait_for_lines("bomb", &["0"]);
    let deadline = Deadline::new();
    while marked(&supervision.plan.robot).len() < 100 {
        deadline.left("the bomb to go off");
    }
    let other = supervision.wait_until_running("other").pid;
    supervision.order(Order::STOP, "bomb").unwrap();
    supervision.wait_for_process("bomb", "stopped", |it| it.state == Supervised::STOPPED);
    assert_eq!(marked(&supervision.plan.robot), [other]);
    supervision.stop();
}

#[test]
fn flood_of_output_is_bounded_and_counted() {
    let quiet = script("quiet", "while :; do echo ping; sleep 0.05; done");
    let supervision = Supervision::start(plan(vec![script("flood", "exec yes flood"), quiet]));
    let flooding = supervision.wait_for_process("flood", "flooding", |it| {
        it.n_lines_dropped > 0 && it.n_bytes_skipped > 1 << 20
    });
    assert_eq!(flooding.state, Supervised::RUNNING);
    supervision.wait_for_lines("quiet", &["ping"]);
    let last = supervision.last_lines("flood", 10).unwrap();
    assert_eq!(last.lines, vec!["flood"; 10]);
    let pid = flooding.pid;
    let again = supervision.wait_until_running("flood");
    assert_eq!(
        (again.pid, again.n_restarts),
        (pid, 0),
        "a flooding process is not harmed"
    );
    supervision.stop();
}

#[test]
fn a_full_disk_stops_neither_the_supervisor_nor_what_processes_print() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(vec![script(
        "a",
        "i=0; while :; do echo line $i; i=$((i + 1)); sleep 0.01; done",
    )]);
    // Nothing can be written down from the first moment on: a folder is where the file would be.
    let path = folder
        .path()
        .join(format!("{}@{}.new", plan.robot, plan.host));
    fs::create_dir(path).unwrap();
    let supervision = Supervision::start_in(plan, folder);
    supervision.wait_for_lines("a", &["line 50"]);
    let before = supervision.wait_until_running("a").pid;
    send(before, Signal::KILL);
    supervision.wait_for_process("a", "restarted", |it| {
        it.state == Supervised::RUNNING && it.pid != before
    });
    supervision.stop();
}

#[test]
fn two_hundred_processes_come_and_go() {
    let processes = (0..200).map(|n| ProcessSpec {
        group: if n % 2 == 0 { "even" } else { "odd" }.to_owned(),
        ..idle(&format!("p{n}"))
    });
    let supervision = Supervision::start(plan(processes.collect()));
    let count = |status: &Supervisor, state| {
        status
            .processes
            .iter()
            .filter(|it| it.state == state)
            .count()
    };
    supervision.wait_for("all to run", |status| {
        count(status, Supervised::RUNNING) == 200
    });
    assert_eq!(supervision.order(Order::STOP, "odd").unwrap().len(), 100);
    supervision.wait_for("half of them", |status| {
        count(status, Supervised::STOPPED) == 100 && count(status, Supervised::RUNNING) == 100
    });
    assert_eq!(marked(&supervision.plan.robot).len(), 100);
    supervision.stop();
}

#[test]
fn two_hundred_that_hang_at_once_are_killed_and_restarted() {
    let processes = (0..200).map(|n| ProcessSpec {
        heartbeat: Heartbeat::Traffic {
            channel: "alive".to_owned(),
            within: Duration::from_secs(2),
        },
        ready: Ready::FirstHeartbeat,
        ready_within: PATIENCE,
        ..idle(&format!("p{n}"))
    });
    let supervision = Supervision::start(plan(processes.collect()));
    let all = |status: &Supervisor, is_so: fn(&Supervised) -> bool| {
        status.processes.len() == 200 && status.processes.iter().all(is_so)
    };
    supervision.wait_for("all to start", |status| {
        all(status, |it| it.state == Supervised::STARTING && it.pid != 0)
    });
    supervision.bus.publish_bytes("alive", b"yes").unwrap();
    // And never again. If each looked around for itself, the first would have to be killed again before the last was.
    let status = supervision.wait_for("all to be started anew", |status| {
        all(status, |it| it.n_restarts == 1 && it.pid != 0)
    });
    for process in &status.processes {
        let last_exit = &process.last_exit;
        assert!(is_of_silence(last_exit, "2"), "{last_exit}");
    }
    supervision.stop();
}

#[test]
fn commands_reach_processes_groups_and_components_and_wrong_names_are_reported() {
    let mut a = idle("a");
    a.components = vec!["lidar".to_owned()];
    a.group = "sensors".to_owned();
    let supervision = Supervision::start(plan(vec![a, idle("b")]));
    let before = supervision.wait_until_running("a").pid;
    assert_eq!(supervision.order(Order::RESTART, "lidar").unwrap(), ["a"]);
    supervision.wait_for_process("a", "another", |it| {
        it.state == Supervised::RUNNING && it.pid != before
    });
    assert_eq!(supervision.order(Order::STOP, "sensors").unwrap(), ["a"]);
    supervision.wait_for_process("a", "stopped", |it| it.state == Supervised::STOPPED);
    assert_eq!(supervision.order(Order::START, "all").unwrap(), ["a", "b"]);
    supervision.wait_until_running("a");
    let refused = supervision
        .order(Order::STOP, "sensor")
        .unwrap_err()
        .to_string();
    assert!(refused.contains("did you mean \"sensors\"?"), "{refused}");
    let refused = supervision.last_lines("c", 1).unwrap_err().to_string();
    assert!(
        refused.contains("there is no process or component \"c\""),
        "{refused}"
    );
    supervision.stop();
}

#[test]
fn a_program_that_is_not_there_is_given_up_with_the_reason() {
    let mut spec = ProcessSpec::new("a", ["/nowhere/program"]);
    spec.restart = Restart::Never;
    let supervision = Supervision::start(plan(vec![spec]));
    let status = supervision.wait_for("the reason", |status| !status.alarm.is_empty());
    assert!(
        status.alarm.contains("cannot run \"/nowhere/program\""),
        "{}",
        status.alarm
    );
    supervision.stop();
}

#[test]
fn environment_folder_and_limits_are_the_plans() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = script(
        "a",
        "echo $COLOUR in $(pwd); sleep 0.1; ulimit -n; exec sleep 1000",
    );
    spec.env = vec![("COLOUR".to_owned(), "green".to_owned())];
    spec.cwd = Some(folder.path().to_owned());
    spec.limits.open_files = Some(77);
    let supervision = Supervision::start(plan(vec![spec]));
    let expected = format!(
        "green in {}",
        folder.path().canonicalize().unwrap().display()
    );
    supervision.wait_for_lines("a", &[&expected, "77"]);
    supervision.stop();
}
