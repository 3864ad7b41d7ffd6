//! The IGVC robot drives its course in simulation, as its robot file has it: lanes between painted lines, barrels, free
//! space with waypoints, and a lane back.

use crate::ground::{Trial, said};
use bowline_msgs::{Contact, Path as Goals, PoseTransform};

/// The robot with another seed.
fn trial(name: &str, seed: u32) -> Trial {
    let world = "igvc.toml\", drive";
    let seeded = format!("igvc.toml\", seed = {seed}, drive");
    Trial::new(name, "igvc.toml", &[(world, &seeded)])
}

#[test]
fn the_igvc_robot_drives_its_course_and_touches_no_barrel_and_no_line() {
    for seed in [1, 2, 3] {
        let trial = trial(&format!("igvc_course_{seed}"), seed);
        trial.drive("120s");
        let left = trial.heard::<Goals>("goals").pop().expect("a mission");
        assert_eq!(left.waypoints, [], "seed {seed}: goals are left");
        let contacts = trial.heard::<Contact>("truth.contact");
        let mut touched: Vec<&String> = contacts.iter().flat_map(|it| &it.others).collect();
        touched.sort();
        touched.dedup();
        let n_begun = contacts.last().map(|contact| contact.n_begun);
        assert_eq!(n_begun, Some(0), "seed {seed}: it touched {touched:?}");
        let at_rest = trial
            .heard::<PoseTransform>("truth.pose")
            .pop()
            .expect("the truth");
        assert!(
            at_rest.velocity_mps[0].abs() < 0.05,
            "seed {seed}: it stands at the end"
        );
    }
}

#[test]
fn what_the_igvc_robot_decided_in_simulation_it_decides_again_from_the_log_to_the_bit() {
    let trial = trial("igvc_verify", 4);
    trial.drive("15s");
    let verified = trial.run(&["--source", "log:drive.mcap", "--verify"]);
    assert!(verified.status.success(), "{}", said(&verified));
}
