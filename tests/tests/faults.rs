//! What the Raptor does where the way ends, where others move, and when a part of it fails: it stops or goes round, and
//! never touches anything. All of it judged by the simulator's truth, in simulated time, so that it is always the same.

use crate::robots::{Place, Running};
use bowline_msgs::{Arbitration, Contact, Path as Goals, PoseTransform, Velocity};
use bowline_tests::drive::Drive;
use bowline_tests::peers::{bowline, workspace};
use bowline_tests::process::Process;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::process::Command;

/// How soon it must begin to brake, seconds.
const REACTION_S: f64 = 0.5;
/// How hard the simulated drive brakes, metres a second squared.
const BRAKE_MPS2: f64 = 3.0;
/// Springs, and truth that is published 50 times a second.
const TOLERANCE_S: f64 = 0.1;
/// How far from its figure in docs/ground.md a stop may be, seconds: the figures are rounded, and truth is published 50
/// times a second. What differs by more changes the document, too.
const FIGURE_MARGIN_S: f64 = 0.05;
/// Slower than this it stands, metres a second.
const STANDS_MPS: f64 = 0.05;

/// What came of a drive. Seconds are since it began.
struct Trip {
    truth: Vec<(f64, PoseTransform)>,
    commands: Vec<(f64, Velocity)>,
    reasons: Vec<(f64, Arbitration)>,
    contact: Contact,
    goals: Goals,
}

/// How a vehicle came to a stop.
#[derive(Debug)]
struct Stop {
    /// The fastest that it went after something failed, metres a second.
    speed_mps: f64,
    /// From then on until it stood, seconds.
    stood_after_s: f64,
    /// Why, in the arbiter's words.
    why: String,
}

impl Trip {
    fn new(robot: &str, duration: &str, args: &[&str]) -> Self {
        let usual = ["--source", "sim", "--for", duration];
        let drive = Drive::new(robot, &[&usual, args].concat());
        let reasons: Vec<Arbitration> = drive.heard("arbiter");
        // It decides as soon as it starts.
        let start = reasons.first().expect("a decision").utime;
        let elapsed_s = |utime: i64| {
            let elapsed_us = i32::try_from(utime - start).expect("minutes");
            f64::from(elapsed_us) / 1e6
        };
        let truth = drive.heard::<PoseTransform>("truth.pose").into_iter();
        let commands = drive.heard::<Velocity>("command").into_iter();
        let reasons = reasons.into_iter();
        Self {
            truth: truth.map(|it| (elapsed_s(it.utime), it)).collect(),
            commands: commands.map(|it| (elapsed_s(it.utime), it)).collect(),
            reasons: reasons.map(|it| (elapsed_s(it.utime), it)).collect(),
            contact: drive.last("truth.contact"),
            goals: drive.last("goals"),
        }
    }

    fn touched_nothing(&self) {
        assert_eq!(self.contact.n_begun, 0, "it touched {:?}", self.contact);
    }

    fn reached_its_goals(&self) {
        assert_eq!(self.goals.waypoints, [], "goals are left");
        let (_, last) = self.truth.last().expect("the truth");
        assert!(speed(last) < STANDS_MPS, "it stands at the end");
    }

    /// How it stopped after something failed that lasts for so long.
    fn stop(&self, failed_s: f64, lasts_s: f64) -> Stop {
        let meanwhile = failed_s..failed_s + lasts_s - 0.05;
        let truth = self.truth.iter();
        let truth: Vec<_> = truth.filter(|(at_s, _)| meanwhile.contains(at_s)).collect();
        let moving = truth
            .iter()
            .rposition(|(_, pose)| speed(pose) >= STANDS_MPS);
        let stood = truth.get(moving.map_or(0, |last| last + 1));
        let (stood_s, _) = stood.expect("it stands in the end");
        let fastest = truth.iter().map(|(_, pose)| speed(pose));
        let mut after = self.reasons.iter().filter(|(at_s, _)| *at_s > failed_s);
        let why = after.find(|(_, it)| it.stopped);
        Stop {
            speed_mps: fastest.fold(0.0, f64::max),
            stood_after_s: stood_s - failed_s,
            why: why.map_or_else(String::new, |(_, it)| it.reason.clone()),
        }
    }
}

fn speed(pose: &PoseTransform) -> f64 {
    let [x, y, _] = pose.velocity_mps;
    x.hypot(y)
}

impl Stop {
    /// It begins to brake in time, brakes as hard as it can, and stands when docs/ground.md has it.
    fn was_in_time(&self, what: &str, documented_s: f64) {
        let Self {
            speed_mps,
            stood_after_s,
            why,
        } = self;
        println!("{what}: {speed_mps:.2} m/s, stood after {stood_after_s:.2} s: {why}");
        assert!(
            *speed_mps > 0.5,
            "{what}: it drove when that happened: {self:?}"
        );
        let most_s = REACTION_S + speed_mps / BRAKE_MPS2 + TOLERANCE_S;
        assert!(
            *stood_after_s <= most_s,
            "{what}: {self:?}, expected at most {most_s:.2} s"
        );
        assert!(
            (stood_after_s - documented_s).abs() <= FIGURE_MARGIN_S,
            "{what}: {self:?}, documented {documented_s} s"
        );
    }
}

#[test]
fn it_gets_out_of_a_dead_end_and_to_its_goal() {
    for seed in [1, 2] {
        let seed = format!("sim.seed={seed}");
        let trip = Trip::new("raptor_dead_end.toml", "80s", &["--set", &seed]);
        trip.touched_nothing();
        trip.reached_its_goals();
        let deep = trip.truth.iter().map(|(_, pose)| {
            let [x, y] = [pose.matrix[3], pose.matrix[7]];
            if y.abs() < 9.0 && x < 33.0 { x } else { 0.0 }
        });
        let deep = deep.fold(0.0, f64::max);
        assert!(deep > 20.0, "{seed}: it went to {deep} m between the walls");
    }
}

#[test]
fn vehicle_in_an_alley_without_room_stands_with_a_reason() {
    let trip = Trip::new("raptor_alley.toml", "30s", &[]);
    trip.touched_nothing();
    assert_eq!(trip.goals.waypoints.len(), 1, "there is no way to it");
    let (_, last) = trip.truth.last().expect("the truth");
    assert!(
        last.matrix[3] > 15.0 && speed(last) < STANDS_MPS,
        "{last:?}"
    );
    let (_, why) = trip.reasons.last().expect("a reason");
    assert_eq!(why.reason, "stopped by follow: there is no way to the goal");
}

#[test]
fn it_lets_others_pass_goes_round_them_and_on_to_its_goal() {
    for seed in [1, 2, 3] {
        let seed = format!("sim.seed={seed}");
        let trip = Trip::new("raptor_crossing.toml", "45s", &["--set", &seed]);
        trip.touched_nothing();
        trip.reached_its_goals();
    }
}

#[test]
fn it_stops_in_time_for_all_that_fails_and_goes_on_when_that_is_mended() {
    let trip = Trip::new("raptor_faults.toml", "130s", &[]);
    // When, and for how long, as worlds/faults.toml has it; a jump is over when the pose has settled. After how long it
    // stands, as docs/ground.md has it.
    let faults = [
        (13.0, 3.0, 0.90, "left laser dead", "without hazard"),
        (19.0, 3.0, 0.90, "right laser dead", "without hazard"),
        (25.0, 3.0, 0.96, "both lasers dead", "without hazard"),
        (31.0, 3.0, 0.90, "INS dead", "without hazard"),
        (
            50.0,
            2.0,
            0.70,
            "INS jumps by 2 m",
            "the pose jumped by 2.0 m",
        ),
        (70.0, 3.0, 1.10, "network cut", "without hazard"),
        (84.0, 2.0, 0.70, "INS turns by 30 degrees", "and 30 degrees"),
    ];
    for (at_s, lasts_s, stands_s, what, why) in faults {
        let stop = trip.stop(at_s, lasts_s);
        stop.was_in_time(what, stands_s);
        assert!(stop.why.contains(why), "{what}: {stop:?}");
    }
    trip.touched_nothing();
    trip.reached_its_goals();
}

#[test]
fn it_stops_in_time_when_a_component_is_killed() {
    for (component, stands_s) in [
        ("arbiter", 1.10),
        ("terrain_map", 0.70),
        ("hazard", 0.70),
        ("voters", 0.70),
    ] {
        let kill = format!("{component}@14s");
        let trip = Trip::new("raptor.toml", "17s", &["--kill", &kill]);
        let stop = trip.stop(14.0, 3.0);
        stop.was_in_time(&format!("{component} killed"), stands_s);
        trip.touched_nothing();
        let is_commanded = trip.commands.iter().any(|(at_s, _)| *at_s >= 14.0);
        assert_eq!(
            is_commanded,
            component != "arbiter",
            "the dead send nothing"
        );
    }
}

#[test]
fn killing_an_unknown_component_is_an_error() {
    let mut command = Command::new(bowline());
    let robot = workspace().join("robots/raptor.toml");
    command.arg("run").arg(robot);
    command.args(["--source", "sim", "--lockstep", "--kill", "arbitr@14s"]);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("found \"arbitr\"") && said.contains(" arbiter,"),
        "{said}"
    );
}

/// The pid beside a name, wherever that is.
fn find(status: &Value, name: &str) -> Option<i64> {
    match status {
        Value::Object(entries) if entries.get("name").is_some_and(|it| it == name) => {
            entries.get("pid").and_then(Value::as_i64)
        }
        Value::Object(entries) => entries.values().find_map(|it| find(it, name)),
        Value::Array(items) => items.iter().find_map(|it| find(it, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Follows the truth until that is so many times in a row. Only guards against a hang: a real minute has 3000 of them, and on
/// a busy machine votes come late, for which it rightly stands.
fn until(truth: &Process, n: usize, is_so: impl Fn(f64) -> bool) {
    let mut n_so = 0;
    for _ in 0..30_000 {
        let line = truth.line();
        let event: Value = serde_json::from_str(&line).expect("JSON");
        let speed_mps = event["message"]["velocity_mps"][0].as_f64();
        n_so = if is_so(speed_mps.expect("a speed")) {
            n_so + 1
        } else {
            0
        };
        if n_so == n {
            break;
        }
    }
    assert_eq!(n_so, n, "it did not come to that");
}

#[test]
fn a_vehicle_whose_arbiter_process_is_killed_stands() {
    let place = Place::new("faults_live");
    // It is not started again, so that the others are seen to manage without it.
    let changes = "[component.arbiter]\nrestart = \"never\"\n";
    let like = workspace().join("robots/raptor.toml");
    let robot = format!("[robot]\nname = \"faults_live\"\nlike = {like:?}\n{changes}");
    place.write("robot.toml", &robot);
    let truth = Process::start(
        "truth",
        &mut place.command(&["echo", "truth.pose", "--json"]),
    );
    let robot = Running::start_with(&place, &["robot.toml", "--source", "sim"]);
    until(&truth, 10, |speed_mps| speed_mps > 0.5);
    let status: Value = serde_json::from_str(&place.says(&["ps", "--json"])).expect("JSON");
    let arbiter = find(&status, "arbiter").unwrap_or_else(|| panic!("{status}"));
    let arbiter = Pid::from_raw(i32::try_from(arbiter).expect("a pid"));
    kill(arbiter, Signal::SIGKILL).expect("it runs");
    until(&truth, 100, |speed_mps| speed_mps.abs() < STANDS_MPS);
    robot.end();
}
