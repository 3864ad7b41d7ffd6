//! The IGVC robot drives its course in simulation, as its robot file has it: lanes between painted lines, barrels, free
//! space with waypoints, and a lane back.

use crate::ground::{Trial, said};
use bowline_msgs::{Contact, Path as Goals, PoseTransform};
use bowline_tests::peers::workspace;
use std::fs;

/// Everything that it touched or crossed, by name.
fn touched(trial: &Trial) -> Vec<String> {
    let contacts = trial.heard::<Contact>("truth.contact");
    assert!(!contacts.is_empty(), "the truth is told");
    let mut others: Vec<String> = contacts.into_iter().flat_map(|it| it.others).collect();
    others.sort();
    others.dedup();
    others
}

#[test]
fn the_igvc_robot_drives_its_course_and_touches_no_barrel_and_no_line() {
    for seed in [1, 2, 3] {
        let trial = Trial::new(&format!("igvc_course_{seed}"), "igvc.toml", &[]);
        trial.drive_with("85s", &[&format!("sim.seed={seed}")]);
        let left = trial.heard::<Goals>("goals").pop().expect("a mission");
        assert_eq!(left.waypoints, [], "seed {seed}: goals are left");
        assert_eq!(touched(&trial), [""; 0], "seed {seed}");
        let at_rest = trial.heard::<PoseTransform>("truth.pose").pop();
        let speed_mps = at_rest.expect("the truth").velocity_mps[0];
        assert!(speed_mps.abs() < 0.05, "seed {seed}: it stands at the end");
    }
}

#[test]
fn the_igvc_robot_that_begins_the_wrong_way_round_turns_in_its_lane() {
    let trial = Trial::new("igvc_turned", "igvc.toml", &[]);
    let world = fs::read_to_string(workspace().join("worlds/igvc.toml")).expect("a world file");
    let turned = world.replace("heading_deg = 0.0", "heading_deg = 180.0");
    assert_ne!(turned, world, "it begins in another direction");
    let path = trial.folder.join("turned.toml");
    fs::write(&path, turned).expect("a file");
    trial.drive_with("8s", &[&format!("sim.world={path:?}")]);
    let poses = trial.heard::<PoseTransform>("truth.pose");
    let looks_east: Vec<f64> = poses.iter().map(|pose| pose.matrix[0]).collect();
    let x_m: Vec<f64> = poses.iter().map(|pose| pose.matrix[3]).collect();
    assert!(looks_east.first().is_some_and(|it| *it < -0.99));
    assert!(looks_east.last().is_some_and(|it| *it > 0.9));
    let farthest_back_m = x_m.iter().copied().fold(0.0, f64::min);
    assert!(farthest_back_m > -0.6, "{farthest_back_m} m");
    assert!(x_m.last().is_some_and(|it| *it > 2.0), "along the lane");
    assert_eq!(touched(&trial), [""; 0]);
}

#[test]
fn what_the_igvc_robot_decided_in_simulation_it_decides_again_from_the_log_to_the_bit() {
    let trial = Trial::new("igvc_verify", "igvc.toml", &[]);
    trial.drive("15s");
    let verified = trial.run(&["--source", "log:drive.mcap", "--verify"]);
    assert!(verified.status.success(), "{}", said(&verified));
}
