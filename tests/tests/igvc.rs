//! The IGVC robot drives its course in simulation, as its robot file has it: lanes between painted lines, barrels, free
//! space with waypoints, and a lane back.

use bowline_msgs::{Contact, Path as Goals, PoseTransform};
use bowline_tests::drive::Drive;
use bowline_tests::peers::workspace;
use std::fs;

/// Everything that it touched or crossed, by name.
fn touched(drive: &Drive) -> Vec<String> {
    let contacts: Vec<Contact> = drive.heard("truth.contact");
    assert!(!contacts.is_empty(), "the truth is published");
    let mut others: Vec<String> = contacts.into_iter().flat_map(|it| it.others).collect();
    others.sort();
    others.dedup();
    others
}

#[test]
fn the_igvc_robot_drives_its_course_and_touches_no_barrel_and_no_line() {
    for seed in [1, 2, 3] {
        let seeded = format!("sim.seed={seed}");
        // It arrives after 75 to 76 s.
        let args = ["--source", "sim", "--for", "81s", "--set", &seeded];
        let drive = Drive::new("igvc.toml", &args);
        let left: Goals = drive.last("goals");
        assert_eq!(left.waypoints, [], "seed {seed}: goals are left");
        assert_eq!(touched(&drive), [""; 0], "seed {seed}");
        let at_rest: PoseTransform = drive.last("truth.pose");
        let speed_mps = at_rest.velocity_mps[0].abs();
        assert!(speed_mps < 0.05, "seed {seed}: {speed_mps} m/s at the end");
    }
}

#[test]
fn the_igvc_robot_that_begins_the_wrong_way_round_turns_in_its_lane() {
    let folder = tempfile::tempdir().expect("a folder");
    let like = workspace().join("worlds/igvc.toml");
    let turned = format!(
        "[world]\nname = \"turned\"\nlike = {like:?}\n[spawn]\nat_m = [0.0, 0.0]\nheading_deg = 180.0\n"
    );
    let path = folder.path().join("turned.toml");
    fs::write(&path, turned).expect("a file");
    let world = format!("sim.world={path:?}");
    let args = ["--source", "sim", "--for", "8s", "--set", &world];
    let drive = Drive::new("igvc.toml", &args);
    let poses: Vec<PoseTransform> = drive.heard("truth.pose");
    let looks_east: Vec<f64> = poses.iter().map(|pose| pose.matrix[0]).collect();
    let x_m: Vec<f64> = poses.iter().map(|pose| pose.matrix[3]).collect();
    assert!(looks_east.first().is_some_and(|it| *it < -0.99));
    assert!(looks_east.last().is_some_and(|it| *it > 0.9));
    let farthest_back_m = x_m.iter().copied().fold(0.0, f64::min);
    assert!(farthest_back_m > -0.6, "{farthest_back_m} m");
    assert!(x_m.last().is_some_and(|it| *it > 2.0), "along the lane");
    assert_eq!(touched(&drive), [""; 0]);
}

#[test]
fn what_the_igvc_robot_decided_in_simulation_it_decides_again_from_the_log_to_the_bit() {
    let drive = Drive::new("igvc.toml", &["--source", "sim", "--for", "15s"]);
    drive.verify().expect("the same decisions");
}
