//! What the planner and its voter promise as components.

use crate::support::car;
use bowline_autonomy::Place;
use bowline_autonomy::plan::{Follow, FollowParameters, Planner, PlannerParameters};
use bowline_component::{Health, Rig};
use bowline_msgs::{Map, Path, Plan, PoseTransform, Vote, Waypoint};
use std::time::Duration;

const CELL_M: f64 = 0.25;
const N_CELLS: u16 = 160;

/// A map of 40 by 40 m around the origin on which everything can be driven on but where `is_blocked`.
fn map(utime: i64, is_blocked: impl Fn([f64; 2]) -> bool) -> Map {
    let half_m = CELL_M * f64::from(N_CELLS) / 2.0;
    let middle = |nth: u16| (f64::from(nth) + 0.5) * CELL_M - half_m;
    let row = |y: u16| {
        let cell = |x: u16| {
            if is_blocked([middle(x), middle(y)]) {
                0.0
            } else {
                1.0
            }
        };
        (0..N_CELLS).map(cell).collect()
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

fn pose(utime: i64, at: Place) -> PoseTransform {
    let (sin, cos) = at.heading_rad.sin_cos();
    PoseTransform {
        utime,
        matrix: [
            cos, -sin, 0.0, at.x_m, sin, cos, 0.0, at.y_m, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ],
        ..PoseTransform::default()
    }
}

fn goal(at: [f32; 2]) -> Path {
    Path {
        waypoints: vec![Waypoint {
            id: "goal".to_owned(),
            position: at,
        }],
        ..Path::default()
    }
    .with_lengths()
}

fn planner() -> Rig {
    Rig::new::<Planner>(PlannerParameters {
        vehicle: car(),
        ..PlannerParameters::default()
    })
}

/// Gives a planner its pose, its goal and what is blocked, and lets it plan.
fn plan(
    rig: &mut Rig,
    at: Place,
    to: [f32; 2],
    is_blocked: impl Fn([f64; 2]) -> bool,
) -> Vec<Plan> {
    let utime = rig.now().utime();
    rig.send("pose", pose(utime, at));
    rig.send("goals", goal(to));
    rig.send("ground", map(utime, is_blocked));
    rig.advance(Duration::from_millis(201));
    rig.take("plan")
}

const WEST: Place = Place::new(-12.0, 0.0, 0.0);

fn is_wall([x, y]: [f64; 2]) -> bool {
    (-1.0..1.0).contains(&x) && y.abs() < 6.0
}

#[test]
fn a_plan_leads_around_what_is_in_the_way() {
    let mut rig = planner();
    let plans = plan(&mut rig, WEST, [12.0, 0.0], is_wall);
    assert_eq!(plans.len(), 1);
    let plan = &plans[0];
    assert_eq!(plan.outcome, Plan::COMPLETE);
    assert!(plan.length_m > 25.0, "{plan:?}");
    let farthest = plan.states.iter().map(|[_, y, _]| y.abs());
    assert!(farthest.fold(0.0, f64::max) > 6.5, "{plan:?}");
    assert_eq!(rig.health(), &Health::Good);
}

#[test]
fn plan_that_still_holds_is_made_again_when_it_is_old_and_not_before() {
    let mut rig = planner();
    let replan = PlannerParameters::default().replan;
    // When plans were made, in the middle of a period of 201 ms each.
    let mut made = Vec::new();
    for _ in 0..25 {
        let n_plans = plan(&mut rig, WEST, [12.0, 0.0], is_wall).len();
        assert!(n_plans <= 1, "{n_plans} plans at once");
        if n_plans == 1 {
            made.push(rig.now());
        }
    }
    // Five seconds: at the first occasion after a second, so every fifth or sixth time.
    assert!((4..=5).contains(&made.len()), "{made:?}");
    for [one, next] in made.array_windows() {
        let apart = next.since(*one);
        let latest = replan + Duration::from_millis(2 * 201);
        assert!(apart >= replan && apart <= latest, "{apart:?}");
    }
}

#[test]
fn something_new_in_the_way_another_goal_or_another_place_makes_a_new_plan() {
    let nothing = |_: [f64; 2]| false;
    let mut rig = planner();
    assert_eq!(plan(&mut rig, WEST, [12.0, 0.0], nothing).len(), 1);
    let plans = plan(&mut rig, WEST, [12.0, 0.0], is_wall);
    assert_eq!(plans.len(), 1, "a wall");
    assert_eq!(plans[0].outcome, Plan::COMPLETE);
    assert!(plans[0].length_m > 25.0);

    let mut rig = planner();
    assert_eq!(plan(&mut rig, WEST, [12.0, 0.0], nothing).len(), 1);
    let plans = plan(&mut rig, WEST, [12.0, 5.0], nothing);
    assert_eq!(plans.len(), 1, "a goal");
    let [x, y, _] = *plans[0].states.last().expect("a plan has states");
    assert_eq!(plans[0].outcome, Plan::COMPLETE);
    assert!((x - 12.0).hypot(y - 5.0) < 2.0, "it leads to ({x}, {y})");

    let mut rig = planner();
    assert_eq!(plan(&mut rig, WEST, [12.0, 0.0], nothing).len(), 1);
    let beside = Place::new(-12.0, 4.0, 0.0);
    let plans = plan(&mut rig, beside, [12.0, 0.0], nothing);
    assert_eq!(plans.len(), 1, "a place");
    assert_eq!(plans[0].outcome, Plan::COMPLETE);
    assert_eq!(plans[0].states[0], [-12.0, 4.0, 0.0]);
}

#[test]
fn without_goals_the_plan_is_to_stay_and_published_once() {
    let nothing = |_: [f64; 2]| false;
    let mut rig = planner();
    assert_eq!(plan(&mut rig, WEST, [12.0, 0.0], nothing).len(), 1);
    let mut plans = Vec::new();
    for _ in 0..3 {
        let utime = rig.now().utime();
        rig.send("pose", pose(utime, WEST));
        rig.send("goals", Path::default());
        rig.send("ground", map(utime, nothing));
        rig.advance(Duration::from_millis(201));
        plans.extend(rig.take::<Plan>("plan"));
    }
    let [stay] = plans.as_slice() else {
        panic!("one plan, found {plans:?}");
    };
    assert_eq!((stay.outcome, stay.actions.len()), (Plan::COMPLETE, 0));
    assert_eq!(stay.states, [[WEST.x_m, WEST.y_m, 0.0]]);
    assert_eq!(rig.health(), &Health::Good);
}

#[test]
fn what_it_kept_in_mind_is_forgotten_when_the_pose_jumps() {
    let mut rig = Rig::new::<Planner>(PlannerParameters {
        vehicle: car(),
        unknown: "kept".to_owned(),
        ..PlannerParameters::default()
    });
    let look_away = |rig: &mut Rig, at: Place| {
        let utime = rig.now().utime();
        let mut map = map(utime, is_wall);
        for cell in map.cells.iter_mut().flatten().flatten() {
            *cell = f32::NAN;
        }
        rig.send("pose", pose(utime, at));
        rig.send("goals", goal([12.0, 0.0]));
        rig.send("ground", map);
        rig.advance(Duration::from_millis(201));
        rig.take::<Plan>("plan").pop().map(|plan| plan.length_m)
    };
    assert_eq!(plan(&mut rig, WEST, [12.0, 0.0], is_wall).len(), 1);
    let kept = (0..6).find_map(|_| look_away(&mut rig, WEST));
    assert!(kept.is_some_and(|length_m| length_m > 25.0), "{kept:?}");
    let elsewhere = Place::new(-12.0, -6.0, 0.0);
    let anew = look_away(&mut rig, elsewhere);
    assert!(anew.is_some_and(|length_m| length_m < 26.0), "{anew:?}");
}

#[test]
fn without_a_path_it_reports_so() {
    let is_ring = |[x, y]: [f64; 2]| {
        let away = (x - 12.0).hypot(y);
        (2.0..3.0).contains(&away)
    };
    let mut rig = planner();
    let plans = plan(&mut rig, WEST, [12.0, 0.0], is_ring);
    assert_eq!(
        (plans[0].outcome, plans[0].n_actions),
        (Plan::UNREACHABLE, 0)
    );
    assert!(matches!(rig.health(), Health::Degraded(why) if why.contains("no path")));

    let mut rig = planner();
    let plans = plan(&mut rig, WEST, [12.0, 0.0], |[x, y]| {
        x.hypot(y) > 11.0 && x < -10.0
    });
    assert_eq!(plans[0].outcome, Plan::BLOCKED);
}

#[test]
fn without_fresh_data_there_is_no_plan() {
    let mut rig = planner();
    assert_eq!(plan(&mut rig, WEST, [12.0, 0.0], is_wall).len(), 1);
    rig.advance(Duration::from_secs(3));
    rig.take::<Plan>("plan");
    assert!(matches!(rig.health(), Health::Degraded(_)));
    rig.advance(Duration::from_secs(3));
    assert!(rig.take::<Plan>("plan").is_empty());
}

#[test]
fn a_goal_at_the_other_end_of_the_world_is_planned_towards() {
    let mut rig = planner();
    let plans = plan(&mut rig, WEST, [9e6, 0.0], is_wall);
    assert_eq!(plans[0].outcome, Plan::COMPLETE);
    assert!(plans[0].length_m < 200.0);
}

#[test]
fn hostile_messages_are_survived() {
    let mut rig = planner();
    let now = rig.now().utime();
    rig.send("goals", goal([f32::NAN, f32::INFINITY]));
    rig.send("pose", pose(now, Place::new(f64::NAN, 0.0, 0.0)));
    rig.send("ground", map(now, is_wall));
    rig.advance(Duration::from_millis(400));
    rig.send("pose", pose(now, WEST));
    let broken = Map {
        cell_m: -1.0,
        ..map(now, is_wall)
    };
    rig.send("ground", broken);
    rig.advance(Duration::from_millis(400));
    assert!(rig.take::<Plan>("plan").is_empty());
    assert!(matches!(rig.health(), Health::Degraded(_)));
}

/// The arc that a vote likes best, and how fast it may be driven.
fn best(vote: &Vote) -> (f32, f32) {
    let best = vote
        .arcs
        .iter()
        .max_by(|one, two| one.vote.total_cmp(&two.vote))
        .unwrap();
    (best.curvature_per_m, best.max_speed_mps)
}

#[test]
fn the_voter_steers_along_the_plan_and_slows_down_at_its_end() {
    let mut planner = planner();
    let plans = plan(&mut planner, WEST, [12.0, 0.0], is_wall);
    let mut rig = Rig::new::<Follow>(FollowParameters {
        vehicle: car(),
        ..FollowParameters::default()
    });
    let mut votes = |at: Place| {
        let now = rig.now().utime();
        rig.send("plan", plans[0].clone());
        rig.send("pose", pose(now, at));
        rig.advance(Duration::from_millis(101));
        rig.take::<Vote>("vote")
    };
    // The plan goes around one end of the wall: the other side of where it looks is wrong.
    let side = plans[0].states.iter().map(|[_, y, _]| *y);
    let side = side
        .max_by(|one, two| one.abs().total_cmp(&two.abs()))
        .unwrap();
    let begin = votes(WEST);
    let (curvature, begin_mps) = best(&begin[0]);
    assert!(f64::from(curvature) * side >= 0.0, "{curvature} to {side}");
    let [x, y, heading] = *plans[0].states.last().unwrap();
    let end = votes(Place::new(x, y, heading));
    let (_, end_mps) = best(&end[0]);
    assert!(end_mps < begin_mps, "{end_mps} {begin_mps}");
    assert!(
        votes(Place::new(-12.0, 9.0, 0.0)).is_empty(),
        "far beside the plan"
    );
}

#[test]
fn the_voter_stops_without_a_way_and_is_silent_without_a_plan() {
    let mut rig = Rig::new::<Follow>(FollowParameters {
        vehicle: car(),
        ..FollowParameters::default()
    });
    let now = rig.now().utime();
    rig.send("pose", pose(now, WEST));
    rig.advance(Duration::from_millis(101));
    assert!(rig.take::<Vote>("vote").is_empty());
    assert!(matches!(rig.health(), Health::Degraded(_)));
    rig.send(
        "plan",
        Plan {
            outcome: Plan::UNREACHABLE,
            ..Plan::default()
        },
    );
    rig.advance(Duration::from_millis(100));
    let votes = rig.take::<Vote>("vote");
    assert!(!votes.is_empty());
    for vote in &votes {
        assert!(!vote.arcs.is_empty(), "{vote:?}");
        let stops = vote.arcs.iter().all(|arc| arc.max_speed_mps <= 0.0);
        assert!(stops, "{vote:?}");
    }
}
