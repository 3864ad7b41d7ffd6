//! The Jackal through a world of the BARN challenge's kind, as a user runs it: the binary, and the world that its robot file
//! names. `bench/src/barn` has sweeps through many worlds.

use bowline_msgs::{Contact, Path as Goals, PoseTransform};
use bowline_sim::Barn;
use bowline_tests::drive::Drive;

#[test]
fn jackal_as_its_robot_file_has_it_reaches_the_goal_and_stands() {
    let drive = Drive::new("jackal.toml", &["--source", "sim", "--for", "20s"]);
    let contact: Contact = drive.last("truth.contact");
    assert_eq!(contact.n_begun, 0, "it touched {:?}", contact.others);
    let left: Goals = drive.last("goals");
    assert_eq!(left.waypoints, [], "goals are left");
    let truth: PoseTransform = drive.last("truth.pose");
    let [x_m, y_m] = Barn::GOAL_M;
    let away_m = (truth.matrix[3] - x_m).hypot(truth.matrix[7] - y_m);
    assert!(away_m < 1.0, "the goal is {away_m} m away");
    let speed_mps = truth.velocity_mps[0].abs();
    assert!(speed_mps < 0.05, "{speed_mps} m/s at the end");
}
