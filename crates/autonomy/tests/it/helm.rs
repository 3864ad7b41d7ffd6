//! The helm on the bench: missions of every sort, by a vessel that goes straight to where it is sent.

use bowline_autonomy::Place;
use bowline_autonomy::helm::{
    Aim, Helm, HelmParameters, HelmSettings, Keeper, KnownTrack, LaneSettings, LanesError,
    MAX_TRACK, lanes,
};
use bowline_component::Rig;
use bowline_msgs::{Guidance, Helm as HelmState, Path, PoseTransform, Task};
use proptest::prelude::*;
use std::time::Duration;

fn settings() -> HelmSettings {
    HelmSettings {
        speed_mps: 1.0,
        max_speed_mps: 2.0,
        lane_spacing_m: 5.0,
        reach_m: 1.0,
        slow_mps2: 0.1,
        track_spacing_m: 2.0,
        shortcut_m: 3.0,
    }
}

fn task(id: i64, kind: i8, placing: i8, points_m: &[[f64; 2]]) -> Task {
    Task {
        id,
        name: format!("task {id}"),
        kind,
        placing,
        heading_rad: f64::NAN,
        speed_mps: f64::NAN,
        lane_spacing_m: f64::NAN,
        points_m: points_m.to_vec(),
        ..Task::default()
    }
    .with_lengths()
}

/// A vessel that is dragged to where its helm points.
struct Toy {
    keeper: Keeper,
    place: Place,
    went: Vec<[f64; 2]>,
    /// The ids of tasks, as they were begun.
    begun: Vec<i64>,
}

impl Toy {
    fn new() -> Self {
        Self {
            keeper: Keeper::new(settings()),
            place: Place::new(0.0, 0.0, 0.0),
            went: Vec::new(),
            begun: Vec::new(),
        }
    }

    fn give(&mut self, task: &Task) {
        self.keeper.take(task, Some(self.place)).unwrap();
    }

    /// A second at a time; what it was to do at the end.
    fn go(&mut self, n: usize) -> Aim {
        let mut aim = Aim::Rest;
        for _ in 0..n {
            aim = self.keeper.aim(self.place);
            self.went.push([self.place.x_m, self.place.y_m]);
            if let Some((id, ..)) = self.keeper.task()
                && self.begun.last() != Some(&id)
            {
                self.begun.push(id);
            }
            let to_m = match aim {
                Aim::Leg { to_m, .. } | Aim::Station { at_m: to_m } => to_m,
                Aim::Rest | Aim::Heading { .. } => continue,
            };
            let [dx, dy] = [to_m[0] - self.place.x_m, to_m[1] - self.place.y_m];
            let far_m = dx.hypot(dy);
            let step_m = far_m.min(1.0);
            let share = if far_m > 0.0 { step_m / far_m } else { 0.0 };
            self.place = Place::new(
                self.place.x_m + share * dx,
                self.place.y_m + share * dy,
                dy.atan2(dx),
            );
        }
        aim
    }

    fn was_at(&self, [x, y]: [f64; 2]) -> bool {
        self.went
            .iter()
            .any(|at| (at[0] - x).hypot(at[1] - y) <= 1.0)
    }
}

#[test]
fn a_route_is_visited_in_order_and_ends_with_staying() {
    let mut toy = Toy::new();
    toy.give(&task(
        1,
        Task::ROUTE,
        Task::REPLACE,
        &[[10.0, 0.0], [10.0, 10.0], [0.0, 10.0]],
    ));
    let aim = toy.go(60);
    assert_eq!(aim, Aim::Station { at_m: [0.0, 10.0] });
    for point in [[10.0, 0.0], [10.0, 10.0], [0.0, 10.0]] {
        assert!(toy.was_at(point), "{point:?}");
    }
    assert!(toy.keeper.is_done());
    assert_eq!(toy.keeper.legs(), (3, 3));
    assert_eq!(toy.keeper.left([0.0, 10.0]), (Vec::new(), 0.0));
}

#[test]
fn what_is_inserted_comes_first_and_the_rest_of_a_lane_is_followed_afterwards() {
    let area = [[0.0, 0.0], [40.0, 0.0], [40.0, 10.0], [0.0, 10.0]];
    let mut toy = Toy::new();
    toy.give(&task(1, Task::SURVEY, Task::REPLACE, &area));
    toy.go(20);
    let left_at = [toy.place.x_m, toy.place.y_m];
    assert!(
        left_at[0] > 10.0 && left_at[0] < 30.0,
        "on the first lane: {left_at:?}"
    );
    toy.give(&task(2, Task::ROUTE, Task::NEXT, &[[20.0, 30.0]]));
    toy.give(&task(
        3,
        Task::SURVEY,
        Task::APPEND,
        &[[0.0, 20.0], [10.0, 20.0], [10.0, 24.0], [0.0, 24.0]],
    ));
    let names: Vec<&str> = toy.keeper.names().collect();
    assert_eq!(names, ["task 2", "task 1", "task 3"]);
    toy.go(200);
    assert!(toy.was_at([20.0, 30.0]), "the point that was inserted");
    assert_eq!(toy.begun, [1, 2, 1, 3]);
    // Every metre of every lane was passed, also where the first one was left.
    for y in [2.5, 7.5] {
        for x in 0..=40 {
            assert!(toy.was_at([f64::from(x), y]), "{x} {y}");
        }
    }
    assert!(toy.keeper.is_done());
}

#[test]
fn hold_station_and_setpoint_pause_the_mission_until_it_is_resumed() {
    let mut toy = Toy::new();
    toy.give(&task(1, Task::ROUTE, Task::REPLACE, &[[50.0, 0.0]]));
    toy.go(10);
    let setpoint = Task {
        heading_rad: 1.0,
        ..task(2, Task::SETPOINT, Task::NEXT, &[])
    };
    toy.give(&setpoint);
    assert_eq!(
        toy.go(3),
        Aim::Heading {
            heading_rad: 1.0,
            speed_mps: 1.0
        }
    );
    toy.give(&task(3, Task::HOLD, Task::NEXT, &[]));
    assert_eq!(toy.go(3), Aim::Rest);
    toy.give(&task(4, Task::STATION, Task::NEXT, &[]));
    let at_m = [toy.place.x_m, toy.place.y_m];
    assert_eq!(toy.go(3), Aim::Station { at_m });
    assert!(toy.keeper.is_paused());
    assert_eq!(toy.keeper.names().count(), 2, "only the last pause counts");
    toy.give(&task(5, Task::RESUME, Task::NEXT, &[]));
    assert!(!toy.keeper.is_paused());
    toy.go(60);
    assert!(toy.was_at([50.0, 0.0]) && toy.keeper.is_done());
    let why = toy
        .keeper
        .take(&task(6, Task::RESUME, Task::NEXT, &[]), Some(toy.place));
    assert_eq!(
        why.unwrap_err(),
        "there is nothing that waits to be resumed"
    );
}

#[test]
fn the_way_back_is_the_way_it_came_without_its_loops() {
    let mut toy = Toy::new();
    // Around a corner, with a loop on the way.
    let way = [
        [30.0, 0.0],
        [30.0, 10.0],
        [40.0, 10.0],
        [40.0, 0.0],
        [30.0, 0.0],
        [30.0, -30.0],
    ];
    toy.give(&task(1, Task::ROUTE, Task::REPLACE, &way));
    toy.go(200);
    assert!(toy.keeper.is_done());
    toy.went.clear();
    toy.give(&task(2, Task::RETURN, Task::REPLACE, &[]));
    toy.go(100);
    assert!(toy.keeper.is_done() && toy.was_at([0.0, 0.0]));
    assert!(toy.was_at([30.0, 0.0]), "around the corner and not across");
    assert!(!toy.was_at([40.0, 10.0]), "not around the loop again");
    for [x, y] in &toy.went {
        let off_m = if *x > 28.0 { (x - 30.0).abs() } else { y.abs() };
        assert!(off_m < 3.5, "{x} {y} is where it has not been");
    }
}

#[test]
fn who_came_back_stays_there_and_the_mission_waits_to_be_resumed() {
    let mut toy = Toy::new();
    toy.give(&task(
        1,
        Task::ROUTE,
        Task::REPLACE,
        &[[30.0, 0.0], [30.0, 30.0]],
    ));
    toy.go(20);
    toy.give(&task(2, Task::RETURN, Task::NEXT, &[]));
    toy.go(5);
    assert!(toy.keeper.is_paused());
    let text = toy.keeper.text();
    assert!(text.starts_with("task 2: on a leg"), "{text}");
    assert!(text.ends_with("the mission waits to be resumed"), "{text}");
    let aim = toy.go(200);
    assert!(
        matches!(aim, Aim::Station { at_m: [x, y] } if x.hypot(y) < 1.5),
        "{aim:?}"
    );
    assert!(
        !toy.was_at([30.0, 10.0]),
        "it does not set out again by itself"
    );
    assert!(toy.keeper.is_paused() && !toy.keeper.is_done());
    assert!(toy.keeper.text().starts_with("is back where it came from"));
    toy.give(&task(3, Task::RESUME, Task::REPLACE, &[]));
    toy.go(100);
    assert!(toy.keeper.is_done() && toy.was_at([30.0, 30.0]));
}

#[test]
fn who_is_held_on_the_way_back_goes_on_back_and_who_is_on_it_goes_on_with_the_mission() {
    for (is_held, ends_at) in [(true, [0.0, 0.0]), (false, [30.0, 30.0])] {
        let mut toy = Toy::new();
        toy.give(&task(
            1,
            Task::ROUTE,
            Task::REPLACE,
            &[[30.0, 0.0], [30.0, 30.0]],
        ));
        toy.go(25);
        toy.give(&task(2, Task::RETURN, Task::NEXT, &[]));
        toy.go(10);
        if is_held {
            toy.give(&task(3, Task::HOLD, Task::NEXT, &[]));
            assert_eq!(toy.go(10), Aim::Rest);
        }
        toy.went.clear();
        toy.give(&task(4, Task::RESUME, Task::REPLACE, &[]));
        toy.go(100);
        assert!(toy.was_at(ends_at), "held: {is_held}");
        assert!(is_held || !toy.was_at([0.0, 0.0]));
        assert_eq!(toy.keeper.is_paused(), is_held);
    }
}

#[test]
fn a_known_track_is_bounded_and_still_leads_back() {
    let mut track = KnownTrack::new(1.0, 2.0);
    for nth in 0..20_000 {
        let angle = f64::from(nth) * 0.003;
        let radius = 10.0 + f64::from(nth) * 0.05;
        track.visit([radius * angle.cos(), radius * angle.sin()]);
    }
    let back = track.back();
    assert!(back.len() <= MAX_TRACK, "{}", back.len());
    assert_eq!(back.last(), Some(&[10.0, 0.0]));
}

#[test]
fn tasks_that_make_no_sense_are_refused_in_words_and_change_nothing() {
    let bad_speed = Task {
        speed_mps: 3.0,
        ..task(9, Task::ROUTE, Task::REPLACE, &[[1.0, 1.0]])
    };
    let bad_heading = task(9, Task::SETPOINT, Task::REPLACE, &[]);
    let too_fine = Task {
        lane_spacing_m: 0.001,
        ..task(
            9,
            Task::SURVEY,
            Task::REPLACE,
            &[[0.0, 0.0], [90.0, 0.0], [0.0, 90.0]],
        )
    };
    let cases = [
        (
            task(9, Task::ROUTE, Task::REPLACE, &[]),
            "at least one point",
        ),
        (
            task(9, Task::ROUTE, Task::REPLACE, &[[f64::NAN, 0.0]]),
            "within 100 km",
        ),
        (
            task(9, Task::STATION, Task::REPLACE, &[[0.0; 2]; 2]),
            "one point to stay at, found 2",
        ),
        (
            task(9, Task::SURVEY, Task::REPLACE, &[[0.0; 2]; 2]),
            "at least 3 corners, found 2",
        ),
        (
            task(
                9,
                Task::SURVEY,
                Task::REPLACE,
                &[[0.0, 0.0], [5.0, 5.0], [9.0, 9.0]],
            ),
            "found 0.00 m^2",
        ),
        (too_fine, "at most 2000 lanes"),
        (
            task(9, 12, Task::REPLACE, &[]),
            "kind of task from 0 to 6, found 12",
        ),
        (task(9, Task::HOLD, 7, &[]), "placing from 0 to 2, found 7"),
        (
            task(9, Task::ROUTE, Task::REPLACE, &vec![[0.0; 2]; 1_001]),
            "at most 1000 points",
        ),
        (bad_speed, "speed from 0 to 2 m/s, found 3"),
        (bad_heading, "expected a heading, found NaN"),
    ];
    let mut toy = Toy::new();
    toy.give(&task(1, Task::ROUTE, Task::REPLACE, &[[50.0, 0.0]]));
    for (task, why) in cases {
        let refused = toy.keeper.take(&task, Some(toy.place)).unwrap_err();
        assert!(refused.contains(why), "{refused}");
        assert_eq!(toy.keeper.task().unwrap().0, 1, "{refused}");
    }
    for id in 2..65 {
        toy.give(&task(id, Task::ROUTE, Task::APPEND, &[[1.0, 1.0]]));
    }
    let one_more = task(99, Task::ROUTE, Task::NEXT, &[[1.0, 1.0]]);
    let refused = toy.keeper.take(&one_more, Some(toy.place)).unwrap_err();
    assert!(refused.contains("at most 64 tasks"), "{refused}");
}

fn pose(utime: i64, x_m: f64, y_m: f64) -> PoseTransform {
    let mut pose = PoseTransform {
        utime,
        reference: "map".to_owned(),
        ..PoseTransform::default()
    };
    for at in [0, 5, 10, 15] {
        pose.matrix[at] = 1.0;
    }
    (pose.matrix[3], pose.matrix[7]) = (x_m, y_m);
    pose
}

#[test]
fn helm_without_a_pose_rests_with_a_reason() {
    let mut rig = Rig::new::<Helm>(HelmParameters::default());
    let send = |rig: &mut Rig, x: f64| {
        let utime = rig.now().utime();
        rig.send("pose", pose(utime, x, 0.0));
    };
    send(&mut rig, 0.0);
    rig.send(
        "task",
        task(7, Task::ROUTE, Task::REPLACE, &[[20.0, 0.0], [20.0, 20.0]]),
    );
    rig.advance(Duration::from_millis(100));
    let guidance: Guidance = rig.take("guidance").pop().unwrap();
    assert_eq!((guidance.kind, guidance.to_m), (Guidance::LEG, [20.0, 0.0]));
    let state: HelmState = rig.take("state").pop().unwrap();
    assert_eq!((state.task, state.n_legs, state.n_done), (7, 2, 0));
    assert_eq!((state.left_m, state.cross_track_m), (40.0, 0.0));
    let plan: Path = rig.take("plan").pop().unwrap();
    assert_eq!(plan.waypoints.len(), 2);
    rig.advance(Duration::from_millis(600));
    let guidance: Guidance = rig.take("guidance").pop().unwrap();
    assert_eq!(guidance.kind, Guidance::REST);
    let state: HelmState = rig.take("state").pop().unwrap();
    assert!(
        state.text.contains("the pose of the vessel is unknown"),
        "{}",
        state.text
    );
    send(&mut rig, 10.0);
    rig.send("task", task(8, Task::ROUTE, Task::NEXT, &[]));
    rig.advance(Duration::from_millis(100));
    let guidance: Guidance = rig.take("guidance").pop().unwrap();
    assert_eq!(
        guidance.kind,
        Guidance::LEG,
        "and goes on when there is one"
    );
    let state: HelmState = rig.take("state").pop().unwrap();
    assert!(
        state.refused.contains("at least one point"),
        "{}",
        state.refused
    );
}

#[test]
fn task_repeated_by_the_gate_is_taken_once() {
    let mut rig = Rig::new::<Helm>(HelmParameters::default());
    let utime = rig.now().utime();
    rig.send("pose", pose(utime, 0.0, 0.0));
    let tasks = |rig: &mut Rig| {
        rig.advance(Duration::from_millis(100));
        rig.take::<HelmState>("state").pop().unwrap().tasks
    };
    for (id, placing) in [
        (1, Task::REPLACE),
        (2, Task::NEXT),
        (2, Task::NEXT),
        (2, Task::NEXT),
    ] {
        rig.send("task", task(id, Task::ROUTE, placing, &[[20.0, 0.0]]));
    }
    assert_eq!(tasks(&mut rig), ["task 2", "task 1"]);
    // What has no number is another one each time, and what could not be taken may be taken later.
    rig.send("task", task(0, Task::ROUTE, Task::APPEND, &[[20.0, 0.0]]));
    rig.send("task", task(0, Task::ROUTE, Task::APPEND, &[[20.0, 0.0]]));
    rig.send("task", task(3, Task::ROUTE, Task::APPEND, &[]));
    rig.send("task", task(3, Task::ROUTE, Task::APPEND, &[[20.0, 0.0]]));
    let expected = ["task 2", "task 1", "task 0", "task 0", "task 3"];
    assert_eq!(tasks(&mut rig), expected);
}

/// How much of an area is within half a spacing of a lane.
fn covered(corners: &[[f64; 2]], spacing_m: f64, heading_rad: Option<f64>) -> f64 {
    let settings = LaneSettings {
        spacing_m,
        heading_rad,
        start_m: [0.0; 2],
    };
    let lanes = lanes(corners, &settings).unwrap();
    let (mut n_within, mut n_covered) = (0.0, 0.0);
    for nth in 0..6_400 {
        let at = [
            f64::from(nth % 80) * 0.75 - 5.0,
            f64::from(nth / 80) * 0.75 - 5.0,
        ];
        if !is_within(corners, at) {
            continue;
        }
        n_within += 1.0;
        let is_near = lanes.iter().any(|lane| {
            let [dx, dy] = [lane.to_m[0] - lane.from_m[0], lane.to_m[1] - lane.from_m[1]];
            let share = ((at[0] - lane.from_m[0]) * dx + (at[1] - lane.from_m[1]) * dy)
                / (dx * dx + dy * dy);
            let share = share.clamp(0.0, 1.0);
            let near = [lane.from_m[0] + share * dx, lane.from_m[1] + share * dy];
            (at[0] - near[0]).hypot(at[1] - near[1]) <= spacing_m / 2.0 + 1e-6
        });
        n_covered += f64::from(u8::from(is_near));
    }
    n_covered / n_within
}

fn is_within(corners: &[[f64; 2]], [x, y]: [f64; 2]) -> bool {
    let next = corners.iter().skip(1).chain(corners.first());
    let crossed = corners.iter().zip(next).filter(|([ax, ay], [bx, by])| {
        (*ay <= y) != (*by <= y) && x < ax + (bx - ax) * (y - ay) / (by - ay)
    });
    crossed.count() % 2 == 1
}

#[test]
fn lanes_cover_areas_with_bays_too_and_go_to_and_fro() {
    let square = vec![[0.0, 0.0], [40.0, 0.0], [40.0, 30.0], [0.0, 30.0]];
    let bay = vec![
        [0.0, 0.0],
        [40.0, 0.0],
        [40.0, 30.0],
        [25.0, 30.0],
        [25.0, 10.0],
        [15.0, 10.0],
        [15.0, 30.0],
        [0.0, 30.0],
    ];
    let star = vec![
        [20.0, 0.0],
        [26.0, 14.0],
        [40.0, 20.0],
        [26.0, 26.0],
        [20.0, 40.0],
        [14.0, 26.0],
        [0.0, 20.0],
        [14.0, 14.0],
    ];
    for corners in [&square, &bay, &star] {
        for heading_rad in [None, Some(0.0), Some(1.0), Some(-2.0)] {
            let share = covered(corners, 3.0, heading_rad);
            assert!(share > 0.9, "{share} of {corners:?} along {heading_rad:?}");
        }
    }
    let settings = LaneSettings {
        spacing_m: 6.0,
        heading_rad: None,
        start_m: [41.0, 29.0],
    };
    let found = lanes(&square, &settings).unwrap();
    let ends: Vec<[f64; 2]> = found
        .iter()
        .flat_map(|lane| [lane.from_m, lane.to_m])
        .collect();
    let round = |it: &[f64; 2]| it.map(|it| it.round());
    let expected = [
        [40.0, 27.0],
        [0.0, 27.0],
        [0.0, 21.0],
        [40.0, 21.0],
        [40.0, 15.0],
        [0.0, 15.0],
        [0.0, 9.0],
        [40.0, 9.0],
        [40.0, 3.0],
        [0.0, 3.0],
    ];
    assert_eq!(ends.iter().map(round).collect::<Vec<_>>(), expected);
}

/// Some that can be, and some that cannot.
fn any_points() -> impl Strategy<Value = Vec<[f64; 2]>> {
    let coordinate = || prop_oneof![any::<f64>(), -60.0..60.0_f64];
    prop::collection::vec([coordinate(), coordinate()], 0..6)
}

proptest! {
    #[test]
    fn whatever_the_corners_lanes_are_bounded_and_within_them(
        corners in prop::collection::vec([-50.0..50.0_f64, -50.0..50.0_f64], 0..12), spacing_m in 0.01..30.0_f64,
    ) {
        let settings = LaneSettings { spacing_m, heading_rad: None, start_m: [0.0; 2] };
        match lanes(&corners, &settings) {
            Ok(lanes) => {
                prop_assert!(!lanes.is_empty() && lanes.len() <= 2_000);
                let ends = lanes.iter().flat_map(|lane| lane.from_m.into_iter().chain(lane.to_m));
                prop_assert!(ends.into_iter().all(|it| it.abs() < 72.0));
            }
            Err(LanesError::Nowhere) => prop_assert!(false),
            Err(_) => {}
        }
    }

    #[test]
    fn helm_survives_any_task(
        tasks in prop::collection::vec((any::<i8>(), 0_i8..4, any_points(), any::<f64>()), 0..12),
    ) {
        let mut toy = Toy::new();
        for (kind, placing, points, number) in tasks {
            let task = Task {
                heading_rad: number,
                speed_mps: number,
                lane_spacing_m: number,
                ..task(1, kind.rem_euclid(8), placing, &points)
            };
            if let Err(why) = toy.keeper.take(&task, Some(toy.place)) {
                prop_assert!(!why.is_empty());
            }
            toy.go(5);
            let (_, left_m) = toy.keeper.left([0.0; 2]);
            prop_assert!(left_m >= 0.0);
        }
    }
}
