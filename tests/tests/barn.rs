//! The Jackal in worlds of the BARN challenge that it has never seen, by laser alone, as its robot file has it.

use crate::ground::Trial;
use bowline_msgs::{Contact, Path as Goals, PoseTransform};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Evenly chosen among all.
const WORLDS: [&str; 15] = [
    "000", "022", "042", "064", "086", "106", "128", "148", "170", "192", "212", "234", "256",
    "276", "298",
];
const GOAL_M: [f64; 2] = [-2.25, 13.0];

fn drive(world: &str) {
    let file = format!("world_{world}.json");
    let trial = Trial::new(
        &format!("barn_{world}"),
        "jackal.toml",
        &[("world_148.json", &file)],
    );
    trial.drive("60s");
    let contacts = trial.heard::<Contact>("truth.contact");
    let contact = contacts.last().expect("the truth");
    assert_eq!(
        contact.n_begun, 0,
        "world {world}: it touched {:?}",
        contact.others
    );
    let left = trial.heard::<Goals>("goals").pop().expect("a mission");
    assert_eq!(left.waypoints, [], "world {world}: it is not there");
    let truth = trial.heard::<PoseTransform>("truth.pose");
    let PoseTransform {
        matrix,
        velocity_mps,
        ..
    } = truth.last().expect("the truth");
    let away_m = (matrix[3] - GOAL_M[0]).hypot(matrix[7] - GOAL_M[1]);
    assert!(away_m < 1.0, "world {world}: the goal is {away_m} m away");
    assert!(
        velocity_mps[0].abs() < 0.05,
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
