//! Ground vehicles that drive themselves in simulation, as their robot files have it.

use crate::robots::{Place, Running};
use bowline_msgs::{Contact, Gate, MapError, Path as Goals, PoseTransform};
use bowline_tests::drive::Drive;
use bowline_tests::peers::workspace;
use bowline_tests::process::Process;
use serde_json::Value;

#[test]
fn the_raptor_finds_its_way_through_the_blocks_world_and_touches_nothing() {
    for seed in [1, 2, 3] {
        let seeded = format!("sim.seed={seed}");
        // It arrives after 66 to 70 s.
        let args = ["--source", "sim", "--for", "76s", "--set", &seeded];
        let drive = Drive::new("raptor.toml", &args);
        let left: Goals = drive.last("goals");
        assert_eq!(left.waypoints, [], "seed {seed}: goals are left");
        let contact: Contact = drive.last("truth.contact");
        let touched = &contact.others;
        assert_eq!(contact.n_begun, 0, "seed {seed}: it touched {touched:?}");
        let at_rest: PoseTransform = drive.last("truth.pose");
        let speed_mps = at_rest.velocity_mps[0].abs();
        assert!(speed_mps < 0.05, "seed {seed}: {speed_mps} m/s at the end");
    }
}

#[test]
fn behind_a_gate_a_ground_vehicle_drives_the_route_that_a_person_gives_it_and_touches_nothing() {
    for (robot, duration) in [
        // They arrive after 72 and 77 s.
        ("raptor_operated.toml", "78s"),
        ("igvc_operated.toml", "83s"),
    ] {
        let drive = Drive::new(robot, &["--source", "sim", "--for", duration]);
        let goals: Vec<Goals> = drive.heard("goals");
        assert!(
            goals.iter().any(|it| it.waypoints.len() > 2),
            "{robot}: it was given a route"
        );
        assert!(
            goals.last().is_some_and(|it| it.waypoints.is_empty()),
            "{robot}: goals are left"
        );
        let contact: Contact = drive.last("truth.contact");
        let touched = &contact.others;
        assert_eq!(contact.n_begun, 0, "{robot}: it touched {touched:?}");
        let gate: Gate = drive.last("gate.state");
        assert_eq!(gate.state, Gate::AUTONOMOUS, "{robot}: left to itself");
    }
}

/// Runs a robot after its script in `missions/`. Returns the drive, and how many goals were left, change by change.
fn follow_script(name: &str, duration: &str) -> (Drive, Vec<usize>) {
    let script = workspace().join(format!("missions/{name}.txt"));
    let script = format!("operator.script={}", script.display());
    let alone = "operator.steps=[]";
    let args = [
        "--source", "sim", "--for", duration, "--set", alone, "--set", &script,
    ];
    let drive = Drive::new(&format!("{name}_operated.toml"), &args);
    let contact: Contact = drive.last("truth.contact");
    let touched = &contact.others;
    assert_eq!(contact.n_begun, 0, "{name}: it touched {touched:?}");
    let gate: Gate = drive.last("gate.state");
    assert_eq!(gate.state, Gate::AUTONOMOUS, "{name}: left to itself");
    let goals: Vec<Goals> = drive.heard("goals");
    let mut left: Vec<usize> = goals.iter().map(|it| it.waypoints.len()).collect();
    left.dedup();
    (drive, left)
}

#[test]
fn mission_of_the_raptor_holds_resumes_and_is_extended_step_by_step() {
    let (drive, left) = follow_script("raptor", "35s");
    // None before the route and while it is held; then the first of three is reached.
    assert_eq!(left, [0, 2, 0, 2, 3, 2]);
    let poses: Vec<PoseTransform> = drive.heard("truth.pose");
    let speeds_mps: Vec<f64> = poses.iter().map(|it| it.velocity_mps[0].abs()).collect();
    let set_off = speeds_mps.iter().position(|it| *it > 1.0);
    let stood = speeds_mps.iter().rposition(|it| *it < 0.05);
    assert!(set_off < stood, "it stands while it is held");
    assert!(speeds_mps.last().is_some_and(|it| *it > 1.0), "it goes on");
}

#[test]
fn mission_of_the_igvc_robot_visits_an_inserted_goal_before_the_rest() {
    let (drive, left) = follow_script("igvc", "40s");
    assert_eq!(left, [0, 4, 5, 7, 6]);
    let goals: Vec<Goals> = drive.heard("goals");
    let first = goals.iter().find(|it| it.waypoints.len() == 5);
    let first = first.and_then(|it| it.waypoints.first());
    assert_eq!(first.map(|goal| goal.position), Some([22.0, 0.5]));
}

#[test]
fn what_the_raptor_decided_in_simulation_it_decides_again_from_the_log_to_the_bit() {
    let drive = Drive::new("raptor.toml", &["--source", "sim", "--for", "15s"]);
    drive.verify().expect("the same decisions");
}

/// As on the vehicle itself: a process for each, a bus between them, time that does not wait.
#[test]
fn what_the_raptor_decided_in_processes_on_a_bus_it_decides_again_from_the_log_to_the_bit() {
    let place = Place::new("ground_live");
    let like = workspace().join("robots/raptor.toml");
    let robot = format!(
        "[robot]\nname = \"ground_live\"\nlike = {like:?}\n[record]\nfile = \"drive.mcap\"\n"
    );
    place.write("robot.toml", &robot);
    let commands = &mut place.command(&["echo", "command", "--json"]);
    let commands = Process::start("commands", commands);
    let robot = Running::start_with(&place, &["robot.toml", "--source", "sim"]);
    let mut n_moving = 0;
    // At least ten times a second: ten real minutes, which only guard against a hang. On a busy machine votes come late, and
    // then it rightly stands.
    for _ in 0..6_000 {
        let event: Value = serde_json::from_str(&commands.line()).expect("JSON");
        let speed_mps = event["message"]["speed_mps"].as_f64().expect("a speed");
        n_moving += usize::from(speed_mps > 0.1);
        if n_moving == 50 {
            break;
        }
    }
    assert_eq!(n_moving, 50, "it sets off");
    robot.end();
    let verdict = place.says(&["run", "robot.toml", "--source=log:drive.mcap", "--verify"]);
    for component in ["terrain_map", "planner", "hazard", "arbiter", "sim"] {
        assert!(verdict.contains(component), "{component}: {verdict}");
    }
}

/// How good maps are that are made of a drive, all of them together: the root-mean-square error of heights, metres.
fn survey(drive: &Drive, weighting: &str) -> f64 {
    let source = drive.as_source();
    let weighting = format!("terrain_map.weighting={weighting}");
    let args = ["--source", &source, "--set", &weighting];
    let errors: Vec<MapError> = Drive::new("survey.toml", &args).heard("truth.map_error");
    let sum = |of: &dyn Fn(&MapError) -> f64| errors.iter().map(of).sum::<f64>();
    let n_compared = sum(&|error| f64::from(error.n_compared));
    assert!(n_compared > 100_000.0, "{n_compared} cells");
    (sum(&|error| f64::from(error.n_compared) * error.rms_m.powi(2)) / n_compared).sqrt()
}

/// DRDC's experiment with logged data (seed 004, 5.2.3): where the truth is known, weighing ranges by their variance can
/// be seen to be the better way.
#[test]
fn a_map_of_a_logged_drive_is_the_world_within_millimetres_and_weighing_by_variance_keeps_noise_out()
 {
    let drive = |noise: &str| {
        let noise_is = format!("sim.noise={noise}");
        let args = [
            "--source",
            "sim",
            "--for",
            "30s",
            "--set",
            "sim.exact=[\"INS.Pose\"]",
        ];
        let args = [&args[..], &["--set", &noise_is]].concat();
        Drive::new("raptor_stereo.toml", &args)
    };
    let (exact, noisy) = (drive("0"), drive("1"));
    let [exact, noisy] =
        [exact, noisy].map(|drive| ["variance", "mean"].map(|it| survey(&drive, it)));
    println!("root-mean-square error of heights, metres: weighed by variance, all alike");
    println!("  without noise {exact:.4?}\n  with noise    {noisy:.4?}");
    assert!(exact.iter().all(|rms_m| *rms_m < 0.003), "{exact:?}");
    let [weighed, alike] = noisy;
    assert!(weighed < 0.02, "{weighed}");
    assert!(
        weighed < 0.97 * alike,
        "{weighed} is not better than {alike}"
    );
}
