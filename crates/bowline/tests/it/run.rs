//! `bowline run`: what it reports before anything starts, and where it takes data from.

use crate::{bowline_in, scratch, stderr, stdout, write};
use std::fs;
use std::path::Path;
use std::process::Output;

const ROBOT: &str = r#"
[robot]
name = "patrol"

[record]
file = "logs/day.mcap"

[component.beat]
kind = "heartbeat"

[component.relay]
kind = "relay"
channels = { heard = "beat.beat", said = "beat.again" }

[sim]

[log]
replaces = ["beat"]
"#;

/// A robot with a log of two seconds.
fn record(folder: &Path, log: &str) {
    write(folder, "robot.toml", ROBOT);
    let args = [
        "run",
        "robot.toml",
        "--source",
        "sim",
        "--lockstep",
        "--for",
        "2s",
        "--record",
        log,
    ];
    let output = bowline_in(folder, &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn check_prints_the_recorded_file() {
    let folder = scratch("run-records-to");
    write(&folder, "robot.toml", ROBOT);
    let check = |expected: &str| {
        let output = bowline_in(&folder, &["run", "robot.toml", "--check"], b"");
        let text = stdout(&output);
        assert!(text.contains(expected), "expected {expected:?} in\n{text}");
    };
    check("records to logs/day.mcap.00: the first number that is free\n");
    fs::create_dir(folder.join("logs")).expect("a folder can be made");
    write(&folder, "logs/day.mcap.00", "");
    check("records to logs/day.mcap.01: the first number that is free\n");
}

#[test]
fn check_prints_what_happens_when_a_component_is_given_up() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = bowline_in(&root, &["run", "robots/example.toml", "--check"], b"");
    let text = stdout(&output);
    for expected in [
        "when it gives up, it stops pilot\n",
        "when it gives up, it starts siren\n",
        "when it gives up, it publishes bowline.velocity_t on vehicle.command\n",
    ] {
        assert!(text.contains(expected), "expected {expected:?} in\n{text}");
    }
}

/// Simulated seconds, and those of the clock, as the last line of a run in lockstep has them.
fn seconds(output: &Output) -> [f64; 2] {
    let text = stdout(output);
    let (simulated, rest) = text.split_once(" s in ").expect("the last line");
    let (took, _) = rest.split_once(" s ").expect("the last line");
    [simulated, took].map(|number| number.parse().expect("a number"))
}

#[test]
fn simulated_time_has_its_rate_and_the_bus_receives_all() {
    let folder = scratch("run-rate");
    write(&folder, "robot.toml", ROBOT);
    let run = |more: &[&str]| {
        let usual = ["run", "robot.toml", "--source", "sim", "--lockstep"];
        let output = bowline_in(&folder, &[&usual, more].concat(), b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        seconds(&output)
    };
    run(&["--for", "2s", "--record", "alone.lcmlog"]);
    let log = folder.join("bus.lcmlog");
    let url = format!("file://{}?mode=w&announce=off", log.display());
    // Faster than time and slower; never faster than requested.
    let [simulated, took] = run(&["--for", "2s", "--rate", "20", "-l", &url]);
    assert!(simulated > 1.9 && took >= simulated / 20.0, "{took} s");
    let [simulated, took] = run(&["--for", "100ms", "--rate", "0.5", "-l", "memq://"]);
    assert!(took >= simulated / 0.5, "{simulated} s in {took} s");
    let diff = ["log", "diff", "alone.lcmlog", "bus.lcmlog", "-c", "beat.*"];
    let output = bowline_in(&folder, &diff, b"");
    let same = stdout(&output);
    assert!(same.starts_with("the same: "), "{same}{}", stderr(&output));
    for wrong in ["0", "-1", "nan", "fast"] {
        let rate = format!("--rate={wrong}");
        let args = ["run", "robot.toml", "--source=sim", "--lockstep", &rate];
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        let told = stderr(&output);
        assert!(told.contains("expected a number above 0"), "{told}");
    }
}

#[test]
fn a_log_is_found_without_its_number_and_what_is_no_log_is_refused() {
    let folder = scratch("run-numbered-log");
    record(&folder, "one.mcap.00");
    record(&folder, "two.mcap.00");
    record(&folder, "two.mcap.01");
    write(&folder, "text.txt", "once upon a time there was no log\n");
    write(&folder, "empty.log", "");
    #[rustfmt::skip]
    let cases = [
        ("one.mcap.00", 0, ""),
        ("one.mcap", 0, "there is no one.mcap: reading one.mcap.00\n"),
        ("two.mcap", 2, "error: there is no log two.mcap: expected one of two.mcap.00 to two.mcap.01, as robots number what they record\n"),
        ("none.mcap", 2, "error: there is no log none.mcap\n"),
        ("text.txt", 2, "error: expected a log, found text.txt: nothing in it is an event\n"),
        ("empty.log", 2, "error: expected a log with events, found none in empty.log\n"),
    ];
    for (log, code, expected) in cases {
        let source = format!("log:{log}");
        for how in ["--lockstep", "--verify"] {
            let args = ["run", "robot.toml", "--source", &source, how];
            let output = bowline_in(&folder, &args, b"");
            assert_eq!(output.status.code(), Some(code), "{args:?}");
            assert_eq!(stderr(&output), expected, "{args:?}");
        }
    }
}

#[test]
fn a_program_that_is_not_there_is_pointed_out_and_not_started() {
    let folder = scratch("run-missing-program");
    let robot = "[robot]\nname = \"patrol\"\n[component.eye]\ncommand = [\"no-such-program\"]\n";
    write(&folder, "robot.toml", robot);
    let told =
        "the program \"no-such-program\" of component \"eye\" is not on the PATH of this machine";
    for (args, code, word) in [
        (vec!["run", "robot.toml", "--check"], 0, "warning"),
        (vec!["run", "robot.toml"], 1, "error"),
    ] {
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        let text = stderr(&output);
        assert!(text.starts_with(&format!("{word}: {told}\n")), "{text}");
    }
}

#[test]
fn joint_needs_a_number_in_the_models_field() {
    let folder = scratch("run-joint");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let model = root.join("models/raptor/raptor.xml");
    for (type_name, code, expected) in [
        ("bowline.pose_t", 1, "needs a number in field"),
        ("bowline.unheard_t", 1, "unknown message type"),
    ] {
        let robot = format!(
            "[robot]\nname = \"raptor\"\n\
             external = {{ \"pan.angle\" = {type_name:?}, \"steering.state\" = {type_name:?} }}\n\
             [vehicle]\nmodel = {model:?}\n\
             [component.model]\nkind = \"model\"\n"
        );
        write(&folder, "robot.toml", &robot);
        let output = bowline_in(&folder, &["run", "robot.toml", "--check"], b"");
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn experiments_are_published_in_lockstep_once_a_simulated_second() {
    let folder = scratch("run-experiments");
    let robot = format!(
        "{ROBOT}[experiment.beating]\nabout = \"Beats.\"\ncomponents = [\"beat\"]\n[experiment.hearing]\ncomponents = [\"relay\"]\n"
    );
    write(&folder, "robot.toml", &robot);
    let lockstep = ["run", "robot.toml", "--source", "sim", "--lockstep"];
    let args = [&lockstep[..], &["--for", "3500ms", "--record", "run.mcap"]].concat();
    let output = bowline_in(&folder, &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let cat = ["log", "cat", "run.mcap", "--channel", "bowline.experiment"];
    let output = bowline_in(&folder, &cat, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    let told: Vec<serde_json::Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .map(|mut event: serde_json::Value| event["message"].take())
        .collect();
    let names: Vec<&str> = told.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["beating", "hearing"].repeat(4));
    assert_eq!(
        (&told[0]["robot"], &told[0]["about"]),
        (&"patrol".into(), &"Beats.".into())
    );
    assert_eq!(told[0]["components"][0]["name"], "beat");
    let apart = told[2]["utime"].as_i64().zip(told[0]["utime"].as_i64());
    assert!(apart.is_some_and(|(later, first)| later - first >= 1_000_000));
    // And the log is none the worse for it.
    let args = ["run", "robot.toml", "--source", "log:run.mcap", "--verify"];
    let output = bowline_in(&folder, &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn explain_lists_every_kind_and_what_it_shows_of_one_can_be_pasted_and_checked() {
    let folder = scratch("run-explain");
    let all = bowline_in(&folder, &["run", "--explain"], b"");
    assert_eq!(all.status.code(), Some(0), "{}", stderr(&all));
    let listed = stdout(&all);
    let json = stdout(&bowline_in(&folder, &["run", "--explain", "--json"], b""));
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let kinds: Vec<&str> = json
        .as_array()
        .expect("a list")
        .iter()
        .map(|kind| kind["kind"].as_str().expect("a name"))
        .collect();
    assert!(
        kinds.contains(&"heartbeat") && kinds.contains(&"relay"),
        "{kinds:?}"
    );
    for kind in &kinds {
        let is_line = |line: &str| line.split_whitespace().next() == Some(kind);
        assert!(listed.lines().any(is_line), "{kind} is missing:\n{listed}");
    }

    let one = bowline_in(&folder, &["run", "--explain", "heartbeat"], b"");
    assert_eq!(one.status.code(), Some(0), "{}", stderr(&one));
    let text = stdout(&one);
    for part in [
        "\nParameters\n",
        "rate_hz",
        "\nPorts\n",
        "writes  beat",
        "bowline.beat_t",
    ] {
        assert!(text.contains(part), "expected {part:?} in\n{text}");
    }
    let (_, snippet) = text
        .split_once("\nIn a robot file\n")
        .expect("a part to paste");
    let robot = format!("[robot]\nname = \"pasted\"\n{snippet}");
    write(&folder, "robot.toml", &robot);
    let check = bowline_in(&folder, &["run", "robot.toml", "--check"], b"");
    assert_eq!(check.status.code(), Some(0), "{robot}\n{}", stderr(&check));
    assert!(
        stdout(&check).starts_with("pasted: 1 component"),
        "{}",
        stdout(&check)
    );
    // What is shown as a comment can be set, too.
    write(
        &folder,
        "robot.toml",
        &robot.replace("# heartbeat = ", "heartbeat = "),
    );
    let check = bowline_in(&folder, &["run", "robot.toml", "--check"], b"");
    assert_eq!(check.status.code(), Some(0), "{robot}\n{}", stderr(&check));

    let json = stdout(&bowline_in(
        &folder,
        &["run", "--explain", "relay", "--json"],
        b"",
    ));
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(
        (&json["kind"], &json["ports"][0]["name"]),
        (&"relay".into(), &"heard".into())
    );

    let wrong = bowline_in(&folder, &["run", "--explain", "zebra"], b"");
    assert_eq!(wrong.status.code(), Some(2));
    let report = stderr(&wrong);
    assert!(
        report.contains("unknown kind \"zebra\": expected one of ") && report.contains("relay"),
        "{report}"
    );
}

#[test]
fn check_shows_a_heartbeat_limit_that_is_not_the_default() {
    let folder = scratch("run-heartbeat");
    let robot = "[robot]\nname = \"patrol\"\nheartbeat = { within = \"2s\" }\n\
                 [component.a]\nkind = \"heartbeat\"\nheartbeat = { within = \"650ms\" }\n\
                 [component.b]\nkind = \"heartbeat\"\n";
    write(&folder, "robot.toml", robot);
    let text = stdout(&bowline_in(&folder, &["run", "robot.toml", "--check"], b""));
    assert!(
        text.contains("b counts as hung after 2s without a heartbeat\n"),
        "{text}"
    );
    assert!(!text.contains("a counts as hung"), "{text}");
    let json = stdout(&bowline_in(
        &folder,
        &["run", "robot.toml", "--check", "--json"],
        b"",
    ));
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let limits = [0, 1].map(|n| json["components"][n]["heartbeat_within_s"].as_f64());
    assert_eq!(limits, [Some(0.65), Some(2.0)]);
}
