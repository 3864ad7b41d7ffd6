//! Programs that declare themselves deterministic, as components: in lockstep, live, verified, and when they misbehave.

use crate::parts::{Heard, KINDS, engine, ms, scan};
use crate::robots::loader;
use crate::supervise_fixture::PROCESS;
use crate::verify::{check, record};
use bowline_bus::Channel;
use bowline_component::Parcel;
use bowline_component::Time;
use bowline_component::engine::{Arrival, Engine, EngineError};
use bowline_component::trace::{Lives, STEPS_CHANNEL};
use bowline_host::robot::{self, Component, Loader, Program, Robot, Source};
use bowline_host::supervise::Heartbeat;
use bowline_host::verify::{Problem, Recorded};
use bowline_host::{Lockstep, Logged, Scope, Silence};
use bowline_log::{Writer, WriterOptions};
use bowline_msgs::Velocity;
use bowline_wire::Message as _;
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const START: Time = Time::from_utime(1_000_000_000_000_000);

/// A program that behaves as `mode` says, and a component of a kind that reads what it writes.
fn robot(mode: &str, more: &str) -> Robot {
    let text = format!(
        r#"
        [robot]
        name = "test"
        external = {{ "laser.scan" = "bowline.laser_t" }}
        [component.helper]
        command = [{PROCESS:?}, "step", {mode:?}]
        reads = {{ "laser.scan" = "bowline.laser_t" }}
        writes = {{ "helper.speed" = "bowline.velocity_t", "helper.wake" = "bowline.velocity_t" }}
        deterministic = true
        {more}
        [component.reckoner]
        kind = "reckoner"
        channels = {{ speed = "helper.speed" }}
        "#
    );
    let kinds = Loader {
        kinds: KINDS,
        ..loader()
    };
    let loaded = robot::parse(&text, Path::new("robot.toml"), &kinds);
    loaded.unwrap_or_else(|error| panic!("{error}")).robot
}

fn made(robot: &Robot) -> Engine {
    engine(robot.make(Source::Live).unwrap())
}

/// The scan of that number, a hundred of them a second.
fn arrival(number: i64) -> Arrival {
    Arrival {
        received: START + ms(10) * u32::try_from(number).unwrap(),
        channel: Channel::from("laser.scan"),
        parcel: Parcel::new(scan(number)).unwrap(),
    }
}

/// Half a second of scans.
struct Scans(i64);

impl bowline_host::Source for Scans {
    fn next(&mut self) -> Result<Option<Arrival>, bowline_log::ReadError> {
        self.0 += 1;
        Ok((self.0 <= 50).then(|| arrival(self.0)))
    }
}

/// What the robot does with half a second of scans, and what happens without them after that, in a log with traces.
fn lockstep(mode: &str, folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let writer = Writer::create(&path, WriterOptions::default()).unwrap();
    let mut sink = Logged::new(writer, Scope::Everything);
    let engine = made(&robot(mode, "")).with_trace();
    let mut lockstep = Lockstep::start(engine, Scans(0), START, &mut sink).unwrap();
    lockstep.run_until(START + ms(700), &mut sink).unwrap();
    let lives = Lives::new("test".to_owned(), START);
    let now = lockstep.now();
    for taken in lockstep.engine_mut().take_traces() {
        let steps = lives.message(now, &taken).encode().unwrap();
        sink.write(now, STEPS_CHANNEL, &steps);
    }
    sink.finish().unwrap();
    path
}

fn remake(
    mode: &str,
    name: &str,
) -> Option<Result<bowline_component::engine::Instance, robot::MakeComponentError>> {
    let robot = robot(mode, "");
    robot
        .component(name, Source::Live)
        .and_then(Component::make)
}

#[test]
fn program_in_lockstep_gives_the_same_bytes_and_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let first = lockstep("same", folder.path(), "first.lcmlog");
    let second = lockstep("same", folder.path(), "second.lcmlog");
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());

    let verification = check(&first, &mut |name| remake("same", name));
    for name in ["helper", "reckoner"] {
        let findings = &verification.components[name];
        assert!(findings.problems.is_empty(), "{name}: {findings:?}");
        assert_eq!((findings.lives, findings.skipped), (1, 0), "{name}");
        assert!(findings.messages >= 50, "{name}: {findings:?}");
    }
}

#[test]
fn program_takes_steps_at_messages_periods_and_moments_that_it_asks_for() {
    let mut heard = Heard::default();
    let engine = made(&robot("same", ""));
    let mut lockstep = Lockstep::start(engine, Silence, START, &mut heard).unwrap();
    lockstep.run_until(START + ms(100), &mut heard).unwrap();
    let ours = heard
        .0
        .iter()
        .filter(|(_, channel, _)| channel == "helper.wake");
    let steps = ours.map(|(at, _, bytes)| {
        let after = Time::from_ns(*at).since(START).as_millis();
        let velocity = Velocity::decode(bytes).unwrap();
        assert_eq!(velocity.utime, Time::from_ns(*at).utime());
        // It publishes the reason for its step.
        (after, format!("{}", velocity.speed_mps))
    });
    let steps: Vec<(u128, String)> = steps.collect();
    let steps: Vec<(u128, &str)> = steps.iter().map(|(at, why)| (*at, why.as_str())).collect();
    // Every 25 ms, and 40 ms after it was last woken for that.
    let expected = [
        (0, "1"),
        (25, "3"),
        (40, "4"),
        (50, "3"),
        (75, "3"),
        (80, "4"),
        (100, "3"),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn program_that_is_not_deterministic_is_found_with_step_and_channel() {
    let folder = tempfile::tempdir().unwrap();
    let path = lockstep("random", folder.path(), "random.lcmlog");
    let verification = check(&path, &mut |name| remake("random", name));
    let helper = &verification.components["helper"];
    let [Problem::Differs(difference)] = &helper.problems[..] else {
        panic!("{helper:?}");
    };
    // The start is step 0 of the trace, and the fifth scan is the first that it spoils.
    let periods = 1;
    let wakes = 1;
    assert_eq!(difference.step, 5 + periods + wakes, "{difference:?}");
    assert_eq!(difference.channel, "helper.speed");
    assert!(
        matches!(difference.recorded, Some(Recorded::Message(_))),
        "{difference:?}"
    );
    // The other component is checked against its own inputs.
    assert!(verification.components["reckoner"].problems.is_empty());
}

#[test]
fn program_that_misbehaves_ends_with_its_cause() {
    let limit = "step_within = \"300ms\"";
    #[rustfmt::skip]
    let cases = [
        ("dies", "", "its program ended: exit code 3"),
        ("killed", "", "its program ended: killed by SIGKILL"),
        ("hangs", limit, "its program did not finish step 2 within 300ms (step_within)"),
        ("lies", "", "its program reports step 3 done: expected step 2"),
        ("elsewhere", "", "its program published on \"elsewhere\" in step 2, which is not among its writes"),
        ("fails", "", "its program failed in step 2: the battery is empty"),
        ("mute", limit, "its program was not ready within 3s: expected a message on \"bowline.step.ready\", found none"),
        ("newer", "", "its program speaks version 2 of the protocol: expected 1"),
        ("backwards", "", "its program wants a step every -1 ns: expected 0 or more"),
        ("early", "", "its program published on \"helper.speed\" before it was ready"),
        ("babbles", "", "what its program published on \"bowline.step.done\" cannot be read"),
    ];
    for (mode, more, expected) in cases {
        let mut heard = Heard::default();
        let mut engine = made(&robot(mode, more));
        let mut run = || {
            engine.start(START, &mut heard)?;
            (1..=3).try_for_each(|number| {
                let arrival = arrival(number);
                engine.deliver(arrival.received, &arrival, &mut heard)
            })
        };
        let error = run().unwrap_err();
        let EngineError::Aborted(aborted) = &error else {
            panic!("{mode}: {error}");
        };
        assert_eq!(aborted.component, "helper", "{mode}");
        assert!(aborted.cause.starts_with(expected), "{mode}: {error}");
        let text = error.to_string();
        assert!(text.starts_with("component \"helper\" ended at"), "{text}");
    }
}

#[test]
fn program_that_cannot_be_started_ends_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    fs::copy(PROCESS, &path).unwrap();
    let text = format!(
        "[robot]\nname = \"test\"\n[component.helper]\ncommand = [{path:?}]\ndeterministic = true\n"
    );
    let loaded = robot::parse(&text, Path::new("robot.toml"), &loader());
    let robot = loaded.unwrap_or_else(|error| panic!("{error}")).robot;
    let mut engine = made(&robot);
    // It was there when the robot file was checked.
    fs::remove_file(&path).unwrap();
    let error = engine.start(START, &mut ()).unwrap_err().to_string();
    assert!(error.contains("cannot be started: No such file"), "{error}");
}

#[test]
fn program_ends_with_its_component() {
    for (mode, more) in [
        ("shown", ""),
        // It does not end when it is asked to.
        ("stubborn", "stop = { signal = \"INT\", grace = \"100ms\" }"),
    ] {
        let mut heard = Heard::default();
        let mut engine = made(&robot(mode, more));
        engine.start(START, &mut heard).unwrap();
        // Its first message has its number for a steering angle.
        let velocity = Velocity::decode(&heard.0[0].2).unwrap();
        let number: i32 = format!("{}", velocity.steering_rad).parse().unwrap();
        let pid = Pid::from_raw(number).unwrap();
        test_kill_process(pid).unwrap();
        drop(engine);
        assert!(
            test_kill_process(pid).is_err(),
            "{mode}: {number} is still there"
        );
    }
}

#[test]
fn program_on_a_live_bus_is_traced_and_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let instances = robot("same", "").make(Source::Live).unwrap();
    let said = ["helper.speed", "reckoner.pose"];
    let path = record(folder.path(), "memq://program-live", instances, &said);
    let verification = check(&path, &mut |name| remake("same", name));
    for name in ["helper", "reckoner"] {
        let findings = &verification.components[name];
        assert!(findings.problems.is_empty(), "{name}: {findings:?}");
        assert!(findings.messages >= 12, "{name}: {findings:?}");
    }
}

#[test]
fn settings_of_a_program_name_its_arguments_files_and_channels() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("helper.py");
    let text = r#"
        [robot]
        name = "test"
        [component.helper]
        command = ["sh", "helper.py", "--fast"]
        env = { MODE = "slow" }
        writes = { "helper.speed" = "bowline.velocity_t" }
        deterministic = true
    "#;
    let settings = || {
        let path = folder.path().join("robot.toml");
        let loaded = robot::parse(text, &path, &loader());
        let robot = loaded.unwrap_or_else(|error| panic!("{error}")).robot;
        robot.make(Source::Live).unwrap().remove(0).settings
    };
    fs::write(&script, "one").unwrap();
    let before = settings();
    let lines: Vec<&str> = before.lines().collect();
    let [program, shell, file, flag, env, writes] = lines[..] else {
        panic!("{before}");
    };
    assert_eq!((program, shell), ("program", "argument sh"));
    assert!(file.starts_with("argument helper.py ("), "{file}");
    assert_eq!(flag, "argument --fast");
    assert_eq!(env, "MODE in the environment = slow");
    assert_eq!(writes, "writes helper.speed");
    fs::write(&script, "two").unwrap();
    assert_ne!(settings(), before);
}

#[test]
fn ports_of_a_program_have_the_types_of_its_robot_file() {
    let engine = made(&robot("same", ""));
    let spoken: Vec<(String, &str)> = engine
        .spoken()
        .map(|(channel, ty)| (channel.to_string(), ty.name))
        .collect();
    let expected = ("helper.speed".to_owned(), "bowline.velocity_t");
    assert!(spoken.contains(&expected), "{spoken:?}");
    let described = engine
        .spoken()
        .find(|(channel, _)| channel.as_str() == "helper.speed");
    let (_, described) = described.unwrap();
    assert_eq!(described.fingerprint, Velocity::FINGERPRINT);
    assert!(!described.schema.is_empty());
}

#[test]
fn plan_of_a_program_that_takes_steps_is_a_host_with_time_for_a_step() {
    let robot = robot("same", "step_within = \"2s\"");
    let programs = robot::Programs {
        host: &|process| vec!["bowline".to_owned(), process.name.to_owned()],
        record: &|_| Vec::new(),
    };
    let plan = robot.plan(Source::Live, "here", &programs);
    let spec = plan
        .processes
        .iter()
        .find(|spec| spec.name == "helper")
        .unwrap();
    assert_eq!(spec.argv, ["bowline", "helper"]);
    let Heartbeat::Presence { components, within } = &spec.heartbeat else {
        panic!("{:?}", spec.heartbeat);
    };
    assert_eq!(components, &["helper"]);
    assert!(*within > Duration::from_secs(2), "{within:?}");
    assert!(spec.ready_within > Duration::from_secs(20));
    // Its host describes it.
    assert!(spec.described.is_empty());
    let helper = robot.component("helper", Source::Live).unwrap();
    assert!(matches!(helper.program, Program::Command(_)));
    assert!(helper.takes_steps());
}
