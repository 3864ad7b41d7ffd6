//! `bowline operate` and `bowline halt` as people use them: a robot with a gate and a thrust driver runs beside, live.
#![expect(
    clippy::float_cmp,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on panics, and its numbers are exact"
)]

use crate::{bowline_in, scratch, stderr, stdout, write};
use bowline_bus::{Bus, Hub, Queue, Subscription};
use bowline_msgs::{Gate, Thrust};
use bowline_testing::patience::PATIENCE;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Output, Stdio};

/// More than are received of anything before a test has failed.
const MOST: usize = 1_000;

/// A program that runs beside the test, ended with the value.
struct Running {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Running {
    fn start(folder: &PathBuf, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(args)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        Self { child, errors }
    }

    /// The line with this text.
    fn wait_for(&mut self, words: &str) -> String {
        let mut heard = String::new();
        loop {
            let mut line = String::new();
            let n_bytes = self.errors.read_line(&mut line).unwrap();
            heard.push_str(&line);
            assert!(
                n_bytes > 0,
                "it ended before it printed {words:?}, with {heard:?}"
            );
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Ctrl-C.
    fn interrupt(mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status();
        assert!(status.unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless it is the robot or the test failed.
        let id = self.child.id().to_string();
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            drop(Command::new("kill").args(["-TERM", &id]).status());
        }
        drop(self.child.wait());
    }
}

/// A gate and a thrust driver.
struct Robot {
    folder: PathBuf,
    url: String,
    states: Subscription<Gate>,
    thrusts: Subscription<Thrust>,
    _running: Running,
    _hub: Hub,
}

impl Robot {
    fn start(name: &str) -> Self {
        Self::with(name, "", "")
    }

    /// With more parameters of its gate, and more components, as a robot file has them.
    fn with(name: &str, parameters: &str, more: &str) -> Self {
        let folder = scratch(&format!("operate-{name}"));
        let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
        let url = hub.url().to_string();
        let text = format!(
            "[robot]\nname = \"{name}{}\"\nbus = \"{url}\"\n\
             [component.gate]\nkind = \"gate\"\nprocess = \"vessel\"\n\
             parameters = {{ name = \"vessel\", ranks = [\"bridge=2\"]{parameters} }}\n\
             [component.thrust_driver]\nkind = \"thrust_driver\"\nprocess = \"vessel\"\n{more}",
            std::process::id()
        );
        write(&folder, "robot.toml", &text);
        let bus = Bus::open(&url).unwrap();
        let states = bus.subscribe::<Gate>("gate.state").unwrap();
        let thrusts = bus
            .subscribe_queued::<Thrust>("thrust", Queue::default())
            .unwrap();
        let running = Running::start(&folder, &["run", "robot.toml"]);
        let robot = Self {
            folder,
            url,
            states,
            thrusts,
            _running: running,
            _hub: hub,
        };
        robot.wait("it is there", |_| true);
        robot
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Gate) -> bool) {
        for _ in 0..MOST {
            let state = self.states.recv_timeout(PATIENCE).unwrap();
            let state = state.unwrap_or_else(|| panic!("the gate is silent: {what}"));
            if is_so(&state) {
                return;
            }
        }
        panic!("it never came to be: {what}");
    }

    /// Waits until the thrusters do this.
    fn wait_for_thrust(&self, is_so: impl Fn([f64; 2]) -> bool) {
        for _ in 0..MOST {
            let thrust = self.thrusts.recv_timeout(PATIENCE).unwrap();
            let thrust = thrust.expect("the driver publishes what it does");
            if is_so([thrust.port_ratio, thrust.starboard_ratio]) {
                return;
            }
        }
        panic!("the thrusters never did that");
    }

    fn args<'a>(&'a self, station: &'a str, args: &[&'a str]) -> Vec<&'a str> {
        [args, &["-l", &self.url, "--station", station]].concat()
    }

    fn say(&self, station: &str, args: &[&str]) -> Output {
        bowline_in(&self.folder, &self.args(station, args), b"")
    }

    /// Sends it, and the gate takes it.
    fn do_so(&self, station: &str, args: &[&str]) -> String {
        let output = self.say(station, args);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {errors}");
        stdout(&output)
    }

    /// Sends it, and is refused with these words.
    fn is_refused(&self, station: &str, args: &[&str], words: &str) {
        let output = self.say(station, args);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(errors.contains(words), "{args:?}: {errors}");
    }

    fn begin(&self, station: &str, args: &[&str]) -> Running {
        Running::start(&self.folder, &self.args(station, args))
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.do_so("watch", &["operate", "status", "--json"])).unwrap()
    }
}

/// The session that a program which takes control reports.
fn session(line: &str) -> String {
    let number = line.split("session ").nth(1).unwrap();
    number.split(';').next().unwrap().to_owned()
}

#[test]
fn a_person_clears_the_stop_gives_a_task_and_leaves_it_to_the_vehicle() {
    let robot = Robot::start("task");
    assert_eq!(robot.status()["state"], "stopped", "as it always begins");
    robot.is_refused("bridge", &["operate", "goto", "40", "25"], "stopped: ");

    robot.do_so("bridge", &["operate", "clear"]);
    assert_eq!(robot.status()["state"], "idle");
    robot.do_so(
        "bridge",
        &["operate", "goto", "40", "-25.5", "speed=1.5", "name=buoy"],
    );
    let status = robot.status();
    assert_eq!(status["state"], "autonomous");
    assert_eq!(status["in_control"], "autonomy: buoy");
    assert_eq!(status["level"], 2);
    assert_eq!(status["holder"], "", "the lease was given up, not lost");

    let survey = [
        "operate", "survey", "0", "0", "60", "-5", "60", "40", "-3", "40", "lanes=8",
    ];
    for (args, state, level) in [
        (&["operate", "hold"][..], "idle", 5),
        (&["operate", "resume"], "autonomous", 2),
        (&survey, "autonomous", 4),
        // What is inserted leaves it autonomous.
        (&["operate", "insert", "40", "25"], "autonomous", 4),
        // On the way back it follows a route, and what is left of the survey waits.
        (&["operate", "return"], "autonomous", 3),
        (&["operate", "resume"], "autonomous", 4),
    ] {
        robot.do_so("quay", args);
        let status = robot.status();
        assert_eq!(
            (&status["state"], &status["level"]),
            (&state.into(), &level.into()),
            "{args:?}: {status}"
        );
    }
}

#[test]
fn halt_from_another_shell_stops_and_clearing_moves_nothing() {
    let robot = Robot::start("halt");
    robot.do_so("bridge", &["operate", "clear"]);
    let mut steering = robot.begin("bridge", &["operate", "thrust", "0.3", "-0.2"]);
    robot.wait_for_thrust(|thrust| thrust == [0.3, -0.2]);
    let shown = robot.do_so("watch", &["operate"]);
    for expected in ["operated", "station bridge, level 0: direct", "if lost"] {
        assert!(shown.contains(expected), "{expected} is missing:\n{shown}");
    }

    let said = robot.do_so("quay", &["halt", "a", "swimmer"]);
    assert!(said.contains("stopped"), "{said}");
    robot.wait_for_thrust(|thrust| thrust == [0.0; 2]);
    steering.wait_for("direct control has ended: the vehicle was stopped by quay: a swimmer");
    assert_eq!(steering.child.wait().unwrap().code(), Some(1));
    let status = robot.status();
    assert_eq!(status["stopped_by"], "quay");
    assert_eq!(status["stop_reason"], "a swimmer");
    robot.is_refused("bridge", &["operate", "resume"], "a swimmer");

    robot.do_so("bridge", &["operate", "clear"]);
    robot.wait("it is cleared", |gate| gate.state == Gate::IDLE);
    // Two seconds of the driver's output, and more.
    for _ in 0..40 {
        let thrust = robot.thrusts.recv_timeout(PATIENCE).unwrap().unwrap();
        assert_eq!((thrust.port_ratio, thrust.starboard_ratio), (0.0, 0.0));
    }
    assert_eq!(robot.status()["state"], "idle");
}

#[test]
fn control_goes_to_another_station_only_by_consent_or_rank() {
    let robot = Robot::start("lease");
    let mut bridge = robot.begin("quay", &["operate", "take"]);
    let number = session(&bridge.wait_for("in control as session"));
    assert_eq!(robot.status()["holder"], "quay");
    assert_eq!(robot.status()["session"], number.as_str());
    let answer = |word: &str| {
        robot.do_so("quay", &["operate", word, "--session", &number]);
    };

    let mut boat = robot.begin("boat", &["operate", "take"]);
    bridge.wait_for("boat asks for control");
    assert_eq!(robot.status()["asking"], "boat");
    answer("deny");
    boat.wait_for("denied: ");
    assert_eq!(boat.child.wait().unwrap().code(), Some(1));
    robot.is_refused("boat", &["operate", "release"], "--session");
    robot.is_refused("boat", &["operate", "preempt", "--rank", "9"], "rank: ");

    let mut boat = robot.begin("boat", &["operate", "take"]);
    bridge.wait_for("boat asks for control");
    answer("consent");
    boat.wait_for("in control as session");
    bridge.wait_for("control has gone");
    assert_eq!(robot.status()["holder"], "boat");

    // By rank, which the robot file gives to the bridge alone; the vehicle is stopped first.
    let mut bridge = robot.begin("bridge", &["operate", "preempt", "--rank", "2"]);
    let number = session(&bridge.wait_for("in control as session"));
    boat.wait_for("control has gone");
    let status = robot.status();
    assert_eq!(
        (&status["holder"], &status["rank"]),
        (&"bridge".into(), &2.into())
    );
    assert_eq!(status["is_stopped"], true);
    robot.do_so("bridge", &["operate", "release", "--session", &number]);
    assert_eq!(robot.status()["holder"], "");
}

#[test]
fn ctrl_c_gives_up_control_and_thrust() {
    let robot = Robot::start("interrupt");
    robot.do_so("bridge", &["operate", "clear"]);
    for (args, level) in [
        (["operate", "thrust", "0.3", "0.3"], Gate::DIRECT),
        (["operate", "heading", "45", "1.5"], Gate::SETPOINT),
    ] {
        let person = robot.begin("bridge", &args);
        robot.wait("a person has control", |gate| {
            gate.state == Gate::OPERATED && gate.level == level && gate.holder == "bridge"
        });
        assert_eq!(person.interrupt().code(), Some(0), "{args:?}");
        let status = robot.status();
        assert_eq!(status["state"], "idle", "{args:?}: {status}");
        assert_eq!(status["holder"], "", "{args:?}: {status}");
        robot.wait_for_thrust(|thrust| thrust == [0.0; 2]);
    }
}

#[test]
fn a_script_is_followed_step_by_step() {
    let robot = Robot::start("script");
    let text =
        "# As a person would.\ntake\nclear\nroute 0,0 10,0 name=piers\nwait 100ms\nrelease\n";
    write(&robot.folder, "piers.txt", text);
    robot.do_so("bridge", &["operate", "script", "piers.txt"]);
    assert_eq!(robot.status()["in_control"], "autonomy: piers");
    write(&robot.folder, "bad.txt", "take\n\nfly high\n");
    let output = robot.say("bridge", &["operate", "script", "bad.txt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("bad.txt:3: "),
        "{}",
        stderr(&output)
    );
    // A vehicle may be driven by that verb, but this one is not: nothing of the script is done.
    write(&robot.folder, "other.txt", "clear\nstation\nfly 3\n");
    let expected = "expected \"thrust\", which this vehicle is driven by, found \"fly\"";
    robot.is_refused("bridge", &["operate", "script", "other.txt"], expected);
    assert_eq!(robot.status()["in_control"], "autonomy: piers");
}

#[test]
fn without_a_gate_no_success_is_reported() {
    let folder = scratch("operate-nobody");
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url().to_string();
    for args in [
        &["halt"][..],
        &["operate"],
        &["operate", "take"],
        &["operate", "goto", "1", "2"],
        &["operate", "release", "--session", "7"],
    ] {
        let timeout: &[&str] = &["-l", &url, "--timeout", "200ms"];
        let output = bowline_in(&folder, &[args, timeout].concat(), b"");
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(errors.contains("no gate was found"), "{args:?}: {errors}");
    }
}

#[test]
fn nonsense_is_reported_before_any_request() {
    let folder = scratch("operate-usage");
    for (args, expected) in [
        (&["goto", "here"][..], "here"),
        (&["thrust"], "what the vehicle is driven by"),
        (&["gotoo", "40", "25"], "did you mean \"goto\"?"),
        (&["thrust", "0.1", "0.1", "hold"], "a number for each axis"),
        (&["heading", "45"], "heading"),
        (&["survey", "0,0", "1,1"], "survey"),
        (&["script", "missing.txt"], "missing.txt"),
        (&["status", "--station", ""], "station"),
    ] {
        let output = bowline_in(&folder, &[&["operate"], args].concat(), b"");
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}

/// `operate status --follow` as a script reads it: one line of JSON for each change.
struct Following {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Following {
    fn start(robot: &Robot) -> Self {
        let args = ["operate", "status", "--follow", "--json"];
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(robot.args("watch", &args))
            .current_dir(&robot.folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        let n_bytes = self.lines.read_line(&mut line).unwrap();
        assert!(n_bytes > 0, "it ended");
        serde_json::from_str(&line).unwrap()
    }

    /// The lines up to the one in which the vehicle is in a state.
    fn until(&mut self, state: &str) -> Vec<Value> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.next());
            let last = lines.last().unwrap();
            if last["state"] == state {
                return lines;
            }
            assert!(lines.len() < MOST, "never {state}: {last}");
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn operate_status_follow_reports_every_change_once_and_ends_with_ctrl_c() {
    let robot = Robot::start("follow");
    let mut following = Following::start(&robot);
    assert_eq!(following.next()["state"], "stopped", "as it is at first");
    let mut lines = Vec::new();
    robot.do_so("bridge", &["operate", "clear"]);
    lines.extend(following.until("idle"));
    robot.do_so("bridge", &["operate", "goto", "40", "25", "name=buoy"]);
    lines.extend(following.until("autonomous"));
    assert_eq!(lines.last().unwrap()["in_control"], "autonomy: buoy");
    robot.do_so("quay", &["halt", "a", "swimmer"]);
    lines.extend(following.until("stopped"));
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["stopped_by"], &last["stop_reason"]),
        (&"quay".into(), &"a swimmer".into())
    );
    // The gate reports its state all the time; only what differs is printed, so no line is like the one before.
    let told = |it: &Value| {
        [
            "state",
            "level",
            "since_utime",
            "session",
            "epoch",
            "asking",
            "n_refused",
        ]
        .map(|key| it[key].clone())
    };
    assert!(told(last).iter().all(|it| !it.is_null()), "{last}");
    for pair in lines.windows(2) {
        assert_ne!(told(&pair[0]), told(&pair[1]), "{pair:?}");
    }
    let id = following.child.id().to_string();
    let status = Command::new("kill").args(["-INT", &id]).status();
    assert!(status.unwrap().success());
    let mut rest = String::new();
    following.lines.read_to_string(&mut rest).unwrap();
    assert_eq!(following.child.wait().unwrap().code(), Some(0));
}

#[test]
fn operate_commands_json_is_the_table_that_the_page_is_built_with() {
    let folder = scratch("operate-commands");
    let output = bowline_in(&folder, &["operate", "commands", "--json"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../station/web/src/session/commands.json"
    );
    let committed = std::fs::read_to_string(page).unwrap();
    assert!(
        stdout(&output) == committed,
        "{page} is not what the table has: `make gen`"
    );
    let table = bowline_in(&folder, &["operate", "commands"], b"");
    let table = stdout(&table);
    for expected in ["preempt", "operator.direct", "token, lease", "viewer"] {
        assert!(table.contains(expected), "{expected} is missing:\n{table}");
    }
}

#[test]
fn set_points_beyond_the_limits_of_the_gate_or_of_another_vehicle_are_refused_before_anything_moves()
 {
    let robot = Robot::with("limits", ", direct_limits = [0.5, 0.4]", "");
    robot.do_so("bridge", &["operate", "clear"]);
    for (args, expected) in [
        (
            ["operate", "thrust", "0.2", "-0.45"],
            "expected starboard_ratio from -0.4 to 0.4, found -0.45",
        ),
        (
            ["operate", "drive", "1", "0"],
            "expected \"thrust\", which this vehicle is driven by, found \"drive\"",
        ),
        (
            ["operate", "thrust", "2", "0"],
            "expected port_ratio from -0.5 to 0.5, found 2",
        ),
    ] {
        robot.is_refused("bridge", &args, expected);
        assert_eq!(robot.status()["state"], "idle");
        assert_eq!(robot.status()["holder"], "");
    }
    let status = robot.status();
    let rules = &status["rules"];
    assert_eq!(rules["actuation"], "thrust");
    assert_eq!(rules["axes"][1]["max"], 0.4);
    assert_eq!(rules["lease_us"], 1_000_000);
}

const ARM: &str = r#"
[component.arm_gate]
kind = "gate"
process = "arm"
parameters = { name = "arm" }

[component.arm_gate.channels]
direct = "arm.operator.direct"
tasks = "arm.operator.task"
stops = "arm.operator.stop"
leases = "arm.operator.lease"
wish = "arm.thrust.wish"
command = "arm.thrust.command"
state = "arm.gate.state"
rules = "arm.gate.rules"
token = "arm.gate.token"
refusal = "arm.gate.refusal"
task = "arm.gate.task"

[component.arm_driver]
kind = "thrust_driver"
process = "arm"
channels = { command = "arm.thrust.command", setpoint = "arm.thrust" }

[experiment.vessel]
components = ["gate", "thrust_driver"]

[experiment.arm]
components = ["arm_gate", "arm_driver"]
"#;

#[test]
fn two_experiments_of_a_robot_are_commanded_from_two_stations_each_under_a_lease_of_its_own() {
    // No one at the bridge answers: there is no operator.
    let robot = Robot::with("two", ", answer_within = \"500ms\"", ARM);
    let status = |prefix: &str| -> Value {
        let args = ["operate", "--prefix", prefix, "status", "--json"];
        serde_json::from_str(&robot.do_so("watch", &args)).unwrap()
    };
    let _bridge = robot.begin("bridge", &["operate", "take"]);
    let lab = robot.begin("lab", &["operate", "--prefix", "arm.", "take"]);
    let holders = |robot: &Value, arm: &Value| (robot["holder"].clone(), arm["holder"].clone());
    let found = holders(&status(""), &status("arm."));
    assert_eq!(found, ("bridge".into(), "lab".into()), "at the same time");
    assert_eq!(status("arm.")["name"], "arm");
    // The holder of one has no authority over the other, and stops concern one of them only.
    robot.is_refused("lab", &["operate", "goto", "1", "2"], "unanswered: ");
    assert_eq!(status("")["holder"], "bridge");
    drop(lab);
    robot.do_so("lab", &["operate", "--prefix", "arm.", "clear"]);
    assert_eq!(status("arm.")["state"], "idle");
    assert_eq!(status("")["state"], "stopped", "that was not cleared");
    robot.do_so(
        "lab",
        &[
            "operate",
            "--prefix",
            "arm.",
            "goto",
            "1",
            "2",
            "name=sample",
        ],
    );
    assert_eq!(status("arm.")["in_control"], "autonomy: sample");
    assert_eq!(status("")["holder"], "bridge");
    robot.do_so("anybody", &["halt", "--prefix", "arm.", "enough"]);
    assert_eq!(status("arm.")["state"], "stopped");
    robot.is_refused(
        "lab",
        &["operate", "--prefix", "leg.", "--timeout", "200ms", "clear"],
        "leg.gate.token",
    );
}
