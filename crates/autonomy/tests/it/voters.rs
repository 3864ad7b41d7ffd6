//! What voters think of arcs.

use crate::support::car;
use bowline_autonomy::vote::{
    Avoidance, Footing, Ground, Hazard, HazardParameters, Outline, Sweeper, Teleop,
    TeleopParameters, Waypoint, WaypointParameters,
};
use bowline_autonomy::{Mission, MissionParameters, Place, Travel};
use bowline_component::{Health, Rig, Vehicle};
use bowline_msgs::{Map, Path, PoseTransform, Task, Velocity, Vote, Waypoint as Goal};
use bowline_testing::random::cases;
use proptest::prelude::*;
use std::time::Duration;

const CELL_M: f64 = 0.25;
const N_CELLS: u16 = 160;

/// A map of 40 by 40 m around the origin on which everything can be driven on but what is blocked or unknown.
fn map(utime: i64, footing: impl Fn([f64; 2]) -> f32) -> Map {
    let half_m = CELL_M * f64::from(N_CELLS) / 2.0;
    let middle = |nth: u16| (f64::from(nth) + 0.5) * CELL_M - half_m;
    let row = |y: u16| {
        (0..N_CELLS)
            .map(|x| footing([middle(x), middle(y)]))
            .collect()
    };
    Map {
        utime,
        reference: "map".to_owned(),
        origin_m: [-half_m; 2],
        cell_m: CELL_M,
        names: vec!["traversability".to_owned()],
        units: vec![String::new()],
        cells: vec![(0..N_CELLS).map(row).collect()],
        ..Map::default()
    }
    .with_lengths()
}

/// A block of 2 m, its middle at a point.
fn block_at(x: f64, y: f64) -> impl Fn([f64; 2]) -> f32 {
    move |[at_x, at_y]| {
        if (at_x - x).abs() <= 1.0 && (at_y - y).abs() <= 1.0 {
            0.0
        } else {
            1.0
        }
    }
}

fn pose(utime: i64, at: Place, speed_mps: f64) -> PoseTransform {
    let (sin, cos) = at.heading_rad.sin_cos();
    PoseTransform {
        utime,
        matrix: [
            cos, -sin, 0.0, at.x_m, sin, cos, 0.0, at.y_m, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ],
        velocity_mps: [speed_mps, 0.0, 0.0],
        ..PoseTransform::default()
    }
}

fn judged(rig: &mut Rig, footing: impl Fn([f64; 2]) -> f32, speed_mps: f64) -> Vote {
    let utime = rig.now().utime();
    rig.send("pose", pose(utime, Place::default(), speed_mps));
    rig.send("ground", map(utime, footing));
    rig.take::<Vote>("vote").pop().unwrap()
}

fn hazard(footing: impl Fn([f64; 2]) -> f32, speed_mps: f64) -> Vote {
    judged(
        &mut Rig::new::<Hazard>(HazardParameters {
            vehicle: car(),
            ..HazardParameters::default()
        }),
        footing,
        speed_mps,
    )
}

/// Arc and free length of the nearest curvature.
fn arc(vote: &Vote, curvature: f32) -> (bool, f32, f32) {
    let away = |idx: &usize| (vote.arcs[*idx].curvature_per_m - curvature).abs();
    let nearest = (0..vote.arcs.len())
        .min_by(|a, b| away(a).total_cmp(&away(b)))
        .unwrap();
    let arc = &vote.arcs[nearest];
    (arc.veto, arc.max_speed_mps, vote.free_m[nearest])
}

#[test]
fn hazard_vetoes_what_it_could_not_stop_before_and_measures_the_rest() {
    let near = hazard(block_at(5.0, -1.0), 0.0);
    let (veto, _, free_m) = arc(&near, 0.0);
    // The block begins at 4 m; the vehicle's front is at 2.55 m, with 0.3 m around it.
    assert!(veto && (free_m - 1.15).abs() < 0.3, "{free_m}");
    let (veto, _, free_m) = arc(&near, 0.5);
    assert!(!veto && free_m > 3.0, "{free_m}");
    assert_eq!(near.reason, "blocked after 1.1 m ahead");

    let (slow, _, _) = arc(&hazard(block_at(9.0, 0.0), 0.5), 0.0);
    let (fast, _, free_m) = arc(&hazard(block_at(9.0, 0.0), 4.0), 0.0);
    assert!(!slow && fast && (free_m - 5.15).abs() < 0.3, "{free_m}");
}

#[test]
fn hazard_lets_a_vehicle_turn_where_it_has_room_for_a_quarter_of_a_turn() {
    let turning = HazardParameters {
        vehicle: Vehicle {
            front_m: Some(0.3),
            rear_m: Some(0.7),
            width_m: Some(0.8),
            max_curvature_per_m: Some(4.0),
            ..car()
        },
        margin_m: 0.1,
        ..HazardParameters::default()
    };
    // Its rear swings farther than its front: that meets the block, but only after a quarter of a turn.
    let vote = judged(
        &mut Rig::new::<Hazard>(turning.clone()),
        block_at(2.0, 0.0),
        0.0,
    );
    let (veto, _, free_m) = arc(&vote, 0.0);
    assert!(veto && free_m < 1.0, "no room ahead: {free_m}");
    for sharpest in [-4.0, 4.0] {
        let (veto, _, free_m) = arc(&vote, sharpest);
        assert!(!veto && (0.4..0.6).contains(&free_m), "{free_m}");
    }
    let near = judged(&mut Rig::new::<Hazard>(turning), block_at(1.8, 0.0), 0.0);
    assert!(arc(&near, 4.0).0, "its front meets the block at once");
}

#[test]
fn hazard_limits_speed_over_unobserved_ground() {
    let unseen = hazard(|_| f32::NAN, 0.0);
    let (veto, speed, free_m) = arc(&unseen, 0.0);
    assert!(!veto && free_m.is_infinite());
    assert!((speed - 0.8).abs() < 1e-6, "{speed}");
    let beyond = hazard(|[x, _]| if x < 8.0 { 1.0 } else { f32::NAN }, 0.0);
    let (_, speed, _) = arc(&beyond, 0.0);
    assert!(speed > 2.0 && speed < 4.0, "stops before 8 m: {speed}");
    let seen = hazard(|_| 1.0, 0.0);
    assert!(arc(&seen, 0.0).1.is_infinite());
}

#[test]
fn hazard_is_silent_rather_than_wrong() {
    let mut rig = Rig::new::<Hazard>(HazardParameters {
        vehicle: car(),
        ..HazardParameters::default()
    });
    let utime = rig.now().utime();
    rig.send("ground", map(utime, |_| 1.0));
    assert!(rig.take::<Vote>("vote").is_empty());
    assert_eq!(
        rig.health(),
        &Health::Degraded("it has no pose to judge from".into())
    );
    rig.send("pose", pose(utime, Place::default(), 0.0));
    rig.send(
        "ground",
        Map {
            names: vec!["height".into()],
            ..map(utime, |_| 1.0)
        },
    );
    assert!(rig.take::<Vote>("vote").is_empty());
    assert_eq!(
        rig.health(),
        &Health::Degraded("the map has no plane \"traversability\"".into())
    );
}

#[test]
fn a_vote_is_as_old_as_what_it_rests_on() {
    let mut rig = Rig::new::<Hazard>(HazardParameters {
        vehicle: car(),
        ..HazardParameters::default()
    });
    let utime = rig.now().utime();
    rig.send("pose", pose(utime, Place::default(), 0.0));
    rig.send("ground", map(utime - 70_000, |_| 1.0));
    assert_eq!(rig.take::<Vote>("vote")[0].utime, utime - 70_000);
}

#[test]
fn avoidance_likes_room_and_good_ground() {
    let mut rig = Rig::new::<Avoidance>(HazardParameters {
        vehicle: car(),
        ..HazardParameters::default()
    });
    let vote = judged(&mut rig, block_at(8.0, 1.5), 0.0);
    let of = |curvature: f32| {
        let away = |it: &&bowline_msgs::Arc| (it.curvature_per_m - curvature).abs();
        vote.arcs
            .iter()
            .min_by(|a, b| away(a).total_cmp(&away(b)))
            .unwrap()
            .vote
    };
    assert!(
        of(-0.25) > of(0.0) && of(0.0) < 0.5,
        "{} {}",
        of(-0.25),
        of(0.0)
    );
    assert!(vote.arcs.iter().all(|arc| !arc.veto), "it only prefers");
    let rough = judged(&mut rig, |_| 0.5, 0.0);
    assert!(rough.arcs.iter().all(|arc| (arc.vote - 0.5).abs() < 1e-6));
}

fn goals(points: &[[f32; 2]]) -> Path {
    let goal = |(nth, position): (usize, &[f32; 2])| Goal {
        id: format!("goal {nth}"),
        position: *position,
    };
    Path {
        waypoints: points.iter().enumerate().map(goal).collect(),
        ..Path::default()
    }
    .with_lengths()
}

fn best_curvature(vote: &Vote) -> f32 {
    let best = vote.arcs.iter().max_by(|a, b| a.vote.total_cmp(&b.vote));
    best.unwrap().curvature_per_m
}

#[test]
fn waypoint_steers_to_the_next_goal_and_stops_at_the_last() {
    let cases: [(&[[f32; 2]], f32, &str); 5] = [
        (&[[20.0, 0.0]], 0.0, "goal 0 is 20.0 m away"),
        (&[[4.0, 4.0], [9.0, 9.0]], 0.25, "goal 0 is 5.7 m away"),
        (&[[4.0, -4.0]], -0.25, "goal 0 is 5.7 m away"),
        (&[[-9.0, 1.0]], 0.5, "goal 0 is 9.1 m away"),
        (&[[-9.0, -1.0]], -0.5, "goal 0 is 9.1 m away"),
    ];
    for (points, curvature, reason) in cases {
        let mut rig = Rig::new::<Waypoint>(WaypointParameters {
            vehicle: car(),
            ..WaypointParameters::default()
        });
        rig.send("pose", pose(rig.now().utime(), Place::default(), 0.0));
        rig.send("goals", goals(points));
        rig.advance(Duration::from_millis(100));
        let vote = rig.take::<Vote>("vote").pop().unwrap();
        assert!(
            (best_curvature(&vote) - curvature).abs() < 0.02,
            "{points:?}"
        );
        assert_eq!(vote.reason, reason);
        let is_limited = vote.arcs[0].max_speed_mps.is_finite();
        assert_eq!(is_limited, points.len() == 1);
    }
    let mut rig = Rig::new::<Waypoint>(WaypointParameters {
        vehicle: car(),
        ..WaypointParameters::default()
    });
    rig.send("pose", pose(rig.now().utime(), Place::default(), 0.0));
    rig.send("goals", goals(&[]));
    rig.advance(Duration::from_millis(100));
    let vote = rig.take::<Vote>("vote").pop().unwrap();
    assert!(vote.arcs.iter().all(|arc| arc.max_speed_mps < 1e-9));
    assert_eq!(vote.reason, "all goals are reached");
}

#[test]
fn hazard_judges_driving_backward_while_the_vehicle_stands_or_goes_back() {
    let back = |footing: &dyn Fn([f64; 2]) -> f32, speed_mps| {
        let vote = hazard(footing, speed_mps);
        let straight = vote.backward.len() / 2;
        let arc = vote.backward.get(straight).map(|arc| arc.veto);
        (arc, vote.backward_free_m.get(straight).copied(), vote)
    };
    // The block ends at -3 m; the vehicle's rear is at -0.5 m, with 0.3 m around it.
    let behind = block_at(-4.0, 0.0);
    let (veto, free_m, vote) = back(&behind, 0.0);
    let free_m = free_m.unwrap();
    assert!(
        veto == Some(false) && (free_m - 2.2).abs() < 0.3,
        "{free_m}"
    );
    assert!(arc(&vote, 0.0).2.is_infinite(), "nothing is ahead");
    assert!(
        vote.reason
            .ends_with("; backward, blocked after 2.1 m behind"),
        "{}",
        vote.reason
    );
    let (veto, _, _) = back(&behind, -2.0);
    assert_eq!(veto, Some(true), "it could not stop before it");
    let (veto, _, _) = back(&block_at(-2.5, 0.0), 0.0);
    assert_eq!(veto, Some(true), "it is too near");
    let (veto, _, _) = back(&behind, 1.0);
    assert_eq!(veto, None, "it has to stop first");
}

fn steered() -> Rig {
    Rig::new::<Teleop>(TeleopParameters {
        vehicle: car(),
        ..TeleopParameters::default()
    })
}

/// The teleop's last vote after a person's set-points for so long, ten times a second.
fn teleop(rig: &mut Rig, tenths: u32, (steering_rad, speed_mps): (f64, f64)) -> Option<Vote> {
    for _ in 0..tenths {
        let utime = rig.now().utime();
        rig.send("pose", pose(utime, Place::default(), 0.0));
        rig.send(
            "direct",
            Velocity {
                utime,
                steering_rad,
                speed_mps,
            },
        );
        rig.advance(Duration::from_millis(100));
    }
    rig.take::<Vote>("vote").pop()
}

#[test]
fn teleop_votes_for_what_a_person_asks_for_and_falls_silent_with_them() {
    let mut rig = steered();
    let vote = teleop(&mut rig, 1, (0.25, 1.2)).unwrap();
    assert!(
        (best_curvature(&vote) - 0.13).abs() < 0.02,
        "{}",
        best_curvature(&vote)
    );
    assert!(
        vote.arcs
            .iter()
            .all(|arc| (arc.max_speed_mps - 1.2).abs() < 1e-6)
    );
    assert_eq!(vote.backward, [], "it drives forward");
    for _ in 0..6 {
        rig.send("pose", pose(rig.now().utime(), Place::default(), 0.0));
        rig.advance(Duration::from_millis(100));
    }
    assert_eq!(
        rig.take::<Vote>("vote").len(),
        3,
        "until the set-point is 0.4 s old"
    );
}

#[test]
fn teleop_vetoes_arcs_far_from_what_a_person_asks_for() {
    let mut rig = steered();
    let vote = teleop(&mut rig, 1, (0.0, 1.0)).unwrap();
    // A fifth of the sharpest turn of 0.5/m.
    for arc in &vote.arcs {
        assert_eq!(arc.veto, arc.curvature_per_m.abs() > 0.101, "{arc:?}");
    }
}

#[test]
fn teleop_votes_on_driving_backward_for_a_negative_speed() {
    let mut rig = steered();
    let vote = teleop(&mut rig, 1, (0.25, -0.5)).unwrap();
    assert_eq!(vote.arcs, [], "it does not drive forward");
    let best = vote
        .backward
        .iter()
        .max_by(|a, b| a.vote.total_cmp(&b.vote));
    let best = best.unwrap();
    assert!((best.curvature_per_m - 0.13).abs() < 0.02, "{best:?}");
    assert!((best.max_speed_mps - 0.5).abs() < 1e-6, "{best:?}");
}

#[test]
fn teleop_abstains_from_what_is_no_motion() {
    for wrong in [
        (f64::NAN, 1.0),
        (0.0, f64::NAN),
        (0.0, f64::INFINITY),
        (0.0, -2e3),
    ] {
        let mut rig = steered();
        assert_eq!(teleop(&mut rig, 1, wrong), None, "{wrong:?}");
        let expected = "what the person asks for is no motion of a vehicle";
        assert_eq!(rig.health(), &Health::Degraded(expected.into()));
    }
}

#[test]
fn a_mission_crosses_off_goals_in_order_and_can_be_replaced() {
    let parameters = MissionParameters {
        goals_m: vec![5.0, 0.0, 10.0, 0.0],
        ..Default::default()
    };
    let mut rig = Rig::new::<Mission>(parameters);
    let left = |rig: &mut Rig, x_m: f64| {
        rig.send(
            "pose",
            pose(rig.now().utime(), Place::new(x_m, 0.0, 0.0), 0.0),
        );
        rig.advance(Duration::from_millis(200));
        let left = rig.take::<Path>("goals").pop().unwrap();
        left.waypoints
            .into_iter()
            .map(|goal| goal.id)
            .collect::<Vec<_>>()
    };
    // The second goal is not visited before the first.
    assert_eq!(left(&mut rig, 10.0), ["goal 1", "goal 2"]);
    assert_eq!(left(&mut rig, 4.0), ["goal 2"]);
    assert_eq!(left(&mut rig, 9.0), [""; 0]);
    rig.send("mission", goals(&[[1.0, 1.0]]));
    assert_eq!(left(&mut rig, 9.0), ["goal 0"]);
    rig.send("mission", goals(&[[f32::NAN, 1.0]]));
    assert_eq!(left(&mut rig, 9.0), ["goal 0"]);
    let expected = "a mission was refused: where \"goal 0\" is is not a number";
    assert_eq!(rig.health(), &Health::Degraded(expected.into()));
}

#[test]
fn a_mission_follows_what_a_gate_lets_through() {
    let parameters = MissionParameters {
        goals_m: vec![50.0, 0.0],
        ..Default::default()
    };
    let mut rig = Rig::new::<Mission>(parameters);
    let task = |kind, placing, name: &str, points_m: &[[f64; 2]]| {
        let task = Task {
            kind,
            placing,
            name: name.to_owned(),
            points_m: points_m.to_vec(),
            ..Task::default()
        };
        task.with_lengths()
    };
    let point = [[20.0, 0.0]];
    let two = [[30.0, 0.0], [40.0, 0.0]];
    let nothing: &[&str] = &[];
    for (task, expected) in [
        (
            task(Task::ROUTE, Task::REPLACE, "route", &two),
            &["route 1", "route 2"][..],
        ),
        (
            task(Task::ROUTE, Task::NEXT, "wreck", &point),
            &["wreck", "route 1", "route 2"],
        ),
        (task(Task::HOLD, Task::NEXT, "", &[]), nothing),
        (
            task(Task::RESUME, Task::NEXT, "", &[]),
            &["wreck", "route 1", "route 2"],
        ),
        (
            task(Task::ROUTE, Task::APPEND, "", &point),
            &["wreck", "route 1", "route 2", "goal"],
        ),
        (
            task(Task::SURVEY, Task::REPLACE, "no lanes", &two),
            &["wreck", "route 1", "route 2", "goal"],
        ),
        (task(Task::HOLD, Task::REPLACE, "", &[]), nothing),
        (task(Task::RESUME, Task::NEXT, "", &[]), nothing),
    ] {
        rig.send("task", task);
        let left = rig.take::<Path>("goals").pop().unwrap();
        let left: Vec<&str> = left.waypoints.iter().map(|goal| &*goal.id).collect();
        assert_eq!(left, expected);
    }
    // A task that a gate repeats because its acceptance was not received is the same task; one without an id is another.
    for (id, n_left) in [(5, 1), (5, 1), (6, 2), (0, 3), (0, 4)] {
        let again = Task {
            id,
            ..task(Task::ROUTE, Task::NEXT, "again", &point)
        };
        rig.send("task", again);
        let left = rig.take::<Path>("goals").pop();
        assert!(left.is_none_or(|it| it.waypoints.len() == n_left), "{id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn an_arc_that_is_free_touches_nothing_that_is_blocked(
        blocks in prop::collection::vec((-9.0..15.0_f64, -9.0..9.0_f64), 0..6),
        heading in -3.0..3.0_f64,
        curvature in -0.6..0.6_f64,
        travel in prop_oneof![Just(Travel::Forward), Just(Travel::Backward)],
    ) {
        let outline = Outline { front_m: 2.5, rear_m: 0.5, half_width_m: 0.75 };
        let footing = |at: [f64; 2]| {
            let is_blocked = blocks.iter().any(|(x, y)| block_at(*x, *y)(at) < 0.5);
            if is_blocked { 0.0 } else { 1.0_f32 }
        };
        let map = map(0, footing);
        let ground = Ground::new(&map).unwrap();
        // What is promised to be free is free for the vehicle itself: half a cell of margin covers what lies between points.
        let sweeper = Sweeper::new(outline.grown(CELL_M / 2.0), CELL_M, 10.0, 0.3);
        let start = Place::new(0.0, 0.0, heading);
        if sweeper.is_stuck(&ground, start) {
            return Ok(());
        }
        let swept = sweeper.sweep(&ground, start, (curvature, travel));
        let free_m = swept.free_m.min(10.0);
        for gone in 0..=200 {
            let at = start.along_arc(curvature, travel.sign() * free_m * f64::from(gone) / 200.0);
            for (along, across) in (0..=60).flat_map(|along| (0..=30).map(move |across| (along, across))) {
                let point = at.point([f64::from(along) * 0.05 - 0.5, f64::from(across) * 0.05 - 0.75]);
                prop_assert!(ground.at(point) != Footing::Known(0.0), "{point:?} after {free_m} m");
            }
        }
    }
}
