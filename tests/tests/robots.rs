//! Robots as their users run them: files, processes, logs and the command line, in networks of their own.

use bowline_log::{LogEvent, Writer, WriterOptions};
use bowline_msgs::{Beat, Laser};
use bowline_testing::patience::PATIENCE;
use bowline_tests::netns::{Namespace, Port};
use bowline_tests::peers::{Peers, bowline};
use bowline_tests::process::Process;
use bowline_wire::Message as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";
const SCANS: i64 = 200;

/// A folder of its own in a network of its own.
pub(crate) struct Place {
    namespace: Namespace,
    folder: PathBuf,
}

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the last run's folder can go");
        }
        fs::create_dir_all(&folder).expect("a folder");
        Self {
            namespace: Namespace::new(),
            folder,
        }
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("a file");
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).expect("the file is there")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.namespace.command(bowline());
        // What supervisors leave for each other is the test's own, too.
        let runtime = self.folder.join("runtime");
        command
            .args(args)
            .current_dir(&self.folder)
            .env("XDG_RUNTIME_DIR", runtime);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it runs")
    }

    /// The same log without the traces of components.
    fn without_steps(&self, log: &str, bare: &str) {
        let others = "^(?!bowline\\.steps$)";
        self.says(&["log", "filter", log, bare, "-c", others]);
    }

    /// What a command prints that must succeed.
    pub(crate) fn says(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }
}

/// A robot that runs. It is asked to end, also by a test that fails: what a supervisor leaves behind when it is killed
/// goes on running.
pub(crate) struct Running(Option<Process>);

impl Running {
    fn start(place: &Place, file: &str) -> Self {
        Self::start_with(place, &[file])
    }

    pub(crate) fn start_with(place: &Place, args: &[&str]) -> Self {
        Self::of(&mut place.command(&[&["run"], args].concat()))
    }

    /// Starts a command that runs a robot.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self(Some(Process::start("robot", command)))
    }

    pub(crate) fn end(mut self) {
        let (status, lines) = self.ask().expect("it ends once");
        assert!(status.success(), "{status}: {lines:?}");
    }

    fn ask(&mut self) -> Option<(ExitStatus, Vec<String>)> {
        let process = self.0.take()?;
        let pid = Pid::from_raw(i32::try_from(process.id()).expect("a pid"));
        kill(pid, Signal::SIGINT).expect("its process is not waited for yet");
        Some(process.end())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some((status, lines)) = self.ask() {
            eprintln!("the robot ended with {status}: {lines:?}");
        }
    }
}

fn record_scans(path: &Path) {
    let mut log = Writer::create(path, WriterOptions::default()).expect("a log");
    for number in 0..SCANS {
        let utime = 1_700_000_000_000_000 + number * 5_000;
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let scan = Laser {
            utime,
            ranges: vec![number as f32; 16],
            ..Laser::default()
        };
        let payload = scan.with_lengths().encode().expect("a scan");
        let event = LogEvent {
            number: 0,
            utime,
            nanos: 0,
            channel: "laser.scan",
            payload: &payload,
        };
        log.write(event).expect("room on the disk");
    }
    log.finish().expect("a whole log");
}

/// A laser that is any program (our player), two components of ours, and a recorder.
fn chain(name: &str, process: &str) -> String {
    let program = bowline();
    let program = program.display();
    format!(
        r#"
[robot]
name = "{name}"
bus = "{URL}"

[record]
file = "{name}.mcap"

[component.laser]
command = ["{program}", "log", "play", "scans.lcmlog", "--quiet"]
writes = {{ "laser.scan" = "bowline.laser_t" }}
after = ["first", "second"]
restart = "never"

[component.first]
kind = "relay"
channels = {{ heard = "laser.scan" }}
{process}

[component.second]
kind = "relay"
channels = {{ heard = "first.said" }}
{process}

[log]
replaces = ["laser"]
"#
    )
}

#[test]
fn robot_outputs_are_equal_in_processes_one_process_lockstep_and_log() {
    let place = Place::new("robots-same");
    record_scans(&place.folder.join("scans.lcmlog"));
    for (name, process) in [("apart", ""), ("together", "process = \"both\"")] {
        let file = format!("{name}.toml");
        place.write(&file, &chain(name, process));
        let count = SCANS.to_string();
        let echo = ["echo", "second.said", "-n", &count, "--json", "-l", URL];
        let heard = Process::start("echo", &mut place.command(&echo));
        let robot = Running::start(&place, &file);
        for _ in 0..SCANS {
            heard
                .line_within(PATIENCE)
                .expect("every scan is passed on");
        }
        robot.end();
    }
    let source = "--source=log:scans.lcmlog";
    place.says(&[
        "run",
        "apart.toml",
        source,
        "--lockstep",
        "--record",
        "lockstep.mcap",
    ]);

    let same = |a: &str, b: &str| {
        let difference = place.says(&["log", "diff", a, b, "-c", "said$"]);
        assert_eq!(
            difference,
            format!("the same: {} messages on 2 channels\n", 2 * SCANS)
        );
    };
    same("apart.mcap.00", "lockstep.mcap");
    same("together.mcap.00", "lockstep.mcap");

    for name in ["apart", "together"] {
        let log = format!("--source=log:{name}.mcap.00");
        let verdict = place.says(&["run", &format!("{name}.toml"), &log, "--verify"]);
        for component in ["first", "second"] {
            let line = format!("{component}: the same: {SCANS} messages, ");
            assert!(verdict.contains(&line), "{verdict}");
        }
    }
    // A log of lockstep has the steps, too; without them the log's own order has to do.
    let verdict = place.says(&[
        "run",
        "apart.toml",
        "--source=log:lockstep.mcap",
        "--verify",
    ]);
    assert!(
        verdict.contains(&format!("second: the same: {SCANS} messages")),
        "{verdict}"
    );
    place.without_steps("lockstep.mcap", "bare.mcap");
    let verdict = place.says(&["run", "apart.toml", "--source=log:bare.mcap", "--verify"]);
    assert_eq!(
        verdict,
        format!("the same: {} messages on 2 channels\n", 2 * SCANS)
    );
}

#[test]
fn a_change_since_the_log_is_shown_with_both_values() {
    let place = Place::new("robots-change");
    record_scans(&place.folder.join("scans.lcmlog"));
    place.write("robot.toml", &chain("robot", ""));
    let source = "--source=log:scans.lcmlog";
    place.says(&[
        "run",
        "robot.toml",
        source,
        "--lockstep",
        "--record",
        "before.mcap",
    ]);
    let slower = chain("robot", "").replace(
        "channels = { heard = \"first.said\" }",
        "channels = { heard = \"first.said\" }\nparameters = { max_rate_hz = 100.0 }",
    );
    place.write("slower.toml", &slower);
    place.without_steps("before.mcap", "bare.mcap");
    let verify = |log: &str| {
        let source = format!("--source=log:{log}");
        let output = place.run(&["run", "slower.toml", &source, "--verify"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let said = verify("before.mcap");
    for words in [
        "first: the same",
        "second: NOT the same",
        "-max_rate_hz = 0.0",
        "in step 2,",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let said = verify("bare.mcap");
    assert!(said.starts_with("second.said: message 1 differs"), "{said}");
    assert!(said.contains("ranges[0]"), "{said}");
}

#[test]
fn parameters_services_and_processes_of_a_robot_are_seen_and_ordered_about_from_anywhere() {
    let place = Place::new("robots-orders");
    let python = Peers::find().python();
    // Any program: here one of plain LCM, in Python.
    let beat = Beat { utime: 1, count: 2 }.encode().expect("a beat");
    let beat: String = beat.iter().map(|byte| format!("{byte:02x}")).collect();
    let talker = format!(
        "import lcm, time\nbus = lcm.LCM()\nbeat = bytes.fromhex('{beat}')\nfor _ in range(100000):\n    \
         bus.publish('talker.said', beat)\n    time.sleep(0.05)\n"
    );
    place.write("talker.py", &talker);
    let robot = format!(
        r#"
[robot]
name = "robot"
bus = "{URL}"

[component.talker]
command = ["{}", "talker.py"]
writes = {{ "talker.said" = "bowline.beat_t" }}
heartbeat = {{ channel = "talker.said", within = "5s" }}

[component.relay]
kind = "relay"
channels = {{ heard = "talker.said" }}
after = ["talker"]
"#,
        python.display()
    );
    place.write("robot.toml", &robot);
    let running = Running::start_with(&place, &["robot.toml", "--host", "bench"]);
    let echo = ["echo", "relay.said", "-n", "1", "--json", "-l", URL];
    place.says(&echo);

    // A supervisor that is named is waited for only until it is found.
    let named = [
        "--robot", "robot", "--host", "bench", "--for", "60s", "-l", URL,
    ];
    let order = |args: &[&str]| place.says(&[args, &named].concat());
    let states = || -> [Value; 2] {
        let status: Value = serde_json::from_str(&order(&["ps", "--json"])).expect("JSON");
        let state = |name: &str| {
            let processes = status["processes"].as_array().expect("a list");
            let process = processes.iter().find(|it| it["name"] == name);
            process.expect("it is there")["state"].clone()
        };
        ["talker", "relay"].map(state)
    };
    assert_eq!(states(), ["running", "running"]);
    let parameters = place.says(&["parameters", "relay", "max_rate_hz=5", "-l", URL]);
    assert!(parameters.contains("5.0"), "{parameters}");
    let refused = place.run(&["parameters", "relay", "max_rate_hz=-5", "-l", URL]);
    assert_eq!(refused.status.code(), Some(1));
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(why.contains("must be 0.0 to 1000000.0, found -5"), "{why}");
    let services = place.says(&["service", "list", "-l", URL]);
    assert!(services.contains("relay.parameters"), "{services}");
    // Components answer who they are at once; on a busy machine one may be late.
    let graph = |_| place.run(&["graph", "--for", "1s", "-l", URL]);
    let is_whole = |graph: Output| {
        let text = String::from_utf8_lossy(&graph.stdout);
        graph.status.success() && text.contains("relay.said")
    };
    assert!((0..60).map(graph).any(is_whole));

    // Also a program that was not written for this ends when it is asked to.
    order(&["stop", "talker", "--wait"]);
    assert_eq!(states(), ["stopped", "running"]);
    let ended = order(&["ps", "--json"]);
    assert!(!ended.contains("SIGKILL"), "{ended}");
    order(&["start", "talker", "--wait"]);
    order(&["stop", "relay", "--wait"]);
    assert_eq!(states(), ["running", "stopped"]);
    order(&["start", "relay", "--wait"]);
    assert_eq!(states(), ["running", "running"]);
    place.says(&echo);
    running.end();
}

#[test]
fn the_model_server_follows_a_joint_of_the_users_own_type() {
    let place = Place::new("robots-model");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/raptor/raptor.xml");
    place.write(
        "pan_t.lcm",
        "package yard;\n// Where the pan unit points.\nstruct pan_t {\n    int64_t utime;     // when, microseconds since the epoch\n    double angle_rad;  // to the left, radians\n}\n",
    );
    place.write(
        "steering_t.lcm",
        "package yard;\n// Where the wheels point.\nstruct steering_t {\n    double left_rad;   // the left one, radians\n    double right_rad;  // the right one, radians\n}\n",
    );
    let robot = format!(
        r#"
[robot]
name = "robot"
bus = "{URL}"
types = ["pan_t.lcm", "steering_t.lcm"]
external = {{ "pan.angle" = "yard.pan_t", "steering.state" = "yard.steering_t" }}

[vehicle]
model = "{}"

[component.model]
kind = "model"
"#,
        models.display()
    );
    place.write("robot.toml", &robot);
    let running = Running::start(&place, "robot.toml");
    let ask = [
        "service",
        "call",
        "model.transform",
        "foi=Laser:BottomCenter",
        "reference=Raptor:FrontBumperTop",
        "--json",
        "--timeout",
        "30s",
        "-l",
        URL,
    ];
    let pointing = place.run(&ask);
    assert_eq!(
        pointing.status.code(),
        Some(1),
        "its direction was never published: {pointing:?}"
    );
    let why = String::from_utf8_lossy(&pointing.stderr);
    assert!(why.contains("Pan"), "{why}");
    for angle_rad in ["0.5", "-0.25"] {
        let message = format!("{{\"utime\": 0, \"angle_rad\": {angle_rad}}}");
        place.says(&[
            "pub",
            "pan.angle",
            "yard.pan_t",
            &message,
            "--types",
            "pan_t.lcm",
            "-l",
            URL,
        ]);
        let reply: Value = serde_json::from_str(&place.says(&ask)).expect("JSON");
        let yaw = reply["reply"]["rpy_rad"][2].as_f64().expect("a number");
        let expected: f64 = angle_rad.parse().expect("a number");
        assert!((yaw - expected).abs() < 1e-9, "{reply}");
    }
    let list = |service: &str, body: &str| {
        let body = format!("body={body}");
        let ask = ["service", "call", service, &body, "--json", "-l", URL];
        let reply: Value = serde_json::from_str(&place.says(&ask)).expect("JSON");
        reply["reply"]["names"].to_string()
    };
    let bodies = list("model.bodies", "");
    assert!(bodies.contains("\"PanHead\""), "{bodies}");
    assert_eq!(list("model.frames", "PanHead"), r#"["Shaft","Plate"]"#);
    let wrong = "body=PanHed";
    let refused = place.run(&["service", "call", "model.frames", wrong, "-l", URL]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("PanHead"), "{why}");
    running.end();
}

/// A robot of one program that does nothing.
fn idle(url: &str) -> String {
    format!(
        "[robot]\nname = \"idle\"\nbus = \"{url}\"\n[component.sleeper]\ncommand = [\"sleep\", \"1000\"]\n"
    )
}

/// Its only process, as `bowline ps` has it, once it is so.
fn sleeper(place: &Place, url: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let seen = (0..60).map(|_| {
        let output = place.run(&["ps", "--json", "-l", url]);
        let said = String::from_utf8_lossy(&output.stdout);
        let supervisor: Value = serde_json::from_str(&said).unwrap_or_default();
        supervisor["processes"][0].clone()
    });
    let as_wanted = seen.into_iter().find(is_so);
    as_wanted.expect("the process is as expected within a minute")
}

#[test]
fn on_a_full_disk_a_supervisor_starts_restarts_and_ends_as_ever() {
    // Its own folder is in 64 kB of memory, and there is no room left.
    const ON_A_FULL_DISK: &str = r#"
mount -t tmpfs -o size=64k,mode=700 tmpfs "$XDG_RUNTIME_DIR" || exit 3
head -c 70000 /dev/zero > "$XDG_RUNTIME_DIR/filler"
exec "$@"
"#;
    let place = Place::new("robots-full-disk");
    fs::create_dir_all(place.folder.join("runtime")).expect("a folder");
    place.write("robot.toml", &idle(URL));
    let mut command = place.namespace.command("unshare");
    command.args(["--mount", "sh", "-c", ON_A_FULL_DISK, "sh"]);
    command.arg(bowline()).args(["run", "robot.toml"]);
    command.current_dir(&place.folder);
    command.env("XDG_RUNTIME_DIR", place.folder.join("runtime"));
    let robot = Running(Some(Process::start("robot on a full disk", &mut command)));
    let running = sleeper(&place, URL, |it| it["state"] == "running");
    let pid = |process: &Value| {
        process["pid"]
            .as_i64()
            .and_then(|it| i32::try_from(it).ok())
    };
    let before = pid(&running).expect("it runs");
    kill(Pid::from_raw(before), Signal::SIGKILL).expect("it is ours");
    let restarted = sleeper(&place, URL, |it| {
        it["state"] == "running" && pid(it) != Some(before)
    });
    assert_eq!(restarted["last_exit"], "killed by SIGKILL");
    robot.end();
    let left = pid(&restarted).expect("it runs");
    assert!(
        kill(Pid::from_raw(left), None).is_err(),
        "something is left"
    );
}

#[test]
fn second_machine_of_a_name_is_refused_with_the_first_ones_place() {
    const FAR: &str = "udpm://239.255.76.67:7667?ttl=1";
    let [here, there] = [(); 2].map(|()| Namespace::without_multicast());
    let port = |namespace, address| Port {
        namespace,
        device: "net0",
        address: Some(address),
    };
    Namespace::link([port(&here, "10.7.0.1/24"), port(&there, "10.7.0.2/24")]);
    let machines = [("deck", here), ("mast", there)].map(|(name, namespace)| {
        let place = Place {
            namespace,
            ..Place::new(&format!("robots-machine-{name}"))
        };
        place.write("robot.toml", &idle(FAR));
        (name, place)
    });
    let run = |(name, place): &(&str, Place)| {
        // A machine has a name of its own, and a disk of its own.
        let named = format!("hostname {name} && exec \"$@\"");
        let mut command = place.namespace.command("unshare");
        command.args(["--uts", "sh", "-c", &named, "sh"]);
        command
            .arg(bowline())
            .args(["run", "robot.toml", "--host", "pilot"]);
        command.current_dir(&place.folder);
        command.env("XDG_RUNTIME_DIR", place.folder.join("runtime"));
        command
    };
    let [deck, mast] = &machines;
    let robot = Running(Some(Process::start("robot on deck", &mut run(deck))));
    let before = sleeper(&deck.1, FAR, |it| it["state"] == "running");
    let refused = run(mast).output().expect("it runs");
    let why = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(
        why.contains("idle@pilot has a supervisor already: pid "),
        "{why}"
    );
    assert!(why.contains(" on deck. Stop that one"), "{why}");
    // Seen from over there, the first goes on as if nothing had happened.
    let after = sleeper(&mast.1, FAR, |it| it["state"] == "running");
    assert_eq!(
        (&after["pid"], &after["restarts"]),
        (&before["pid"], &Value::from(0))
    );
    robot.end();
}
