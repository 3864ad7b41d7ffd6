//! The Jackal in worlds of the BARN challenge that it has never seen, by laser alone, as its robot file has it.

use bowline_msgs::{Contact, Path as Goals, PoseTransform};
use bowline_tests::drive::Drive;
use bowline_tests::peers::workspace;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Evenly chosen among all.
const WORLDS: [&str; 15] = [
    "000", "022", "042", "064", "086", "106", "128", "148", "170", "192", "212", "234", "256",
    "276", "298",
];
const GOAL_M: [f64; 2] = [-2.25, 13.0];

fn drive(world: &str) {
    let file = workspace().join(format!("worlds/barn/world_{world}.json"));
    let preset = format!("sim.world={}", file.display());
    let drive = Drive::new(
        "jackal.toml",
        &["--source", "sim", "--for", "40s", "--set", &preset],
    );
    let contact: Contact = drive.last("truth.contact");
    assert_eq!(
        contact.n_begun, 0,
        "world {world}: it touched {:?}",
        contact.others
    );
    let left: Goals = drive.last("goals");
    assert_eq!(left.waypoints, [], "world {world}: it is not there");
    let truth: PoseTransform = drive.last("truth.pose");
    let away_m = (truth.matrix[3] - GOAL_M[0]).hypot(truth.matrix[7] - GOAL_M[1]);
    assert!(away_m < 1.0, "world {world}: the goal is {away_m} m away");
    assert!(
        truth.velocity_mps[0].abs() < 0.05,
        "world {world}: it stands at the end"
    );
}

#[test]
fn the_jackal_gets_through_worlds_that_it_has_never_seen_and_touches_nothing() {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(world) = WORLDS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    drive(world);
                }
            });
        }
    });
}
