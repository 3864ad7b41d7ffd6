//! A person's votes among those of others: what the arbiter makes of them, and how they come about.

use crate::arbiter::{pose_at, vote};
use crate::support::car;
use bowline_autonomy::vote::{Arbiter, ArbiterParameters};
use bowline_component::{Build as _, Ports, Rig};
use bowline_msgs::{Arbitration, Velocity, Vote};
use std::time::Duration;

/// An arbiter with a person among its leaders.
fn steered() -> Rig {
    Rig::new::<Arbiter>(ArbiterParameters {
        vehicle: car(),
        voters: ["hazard", "teleop", "waypoint"].map(String::from).into(),
        leaders: ["teleop", "waypoint"].map(String::from).into(),
        person: "teleop".into(),
        ..ArbiterParameters::default()
    })
}

/// A person's vote for driving straight on at this speed, with arcs beyond 0.25/m vetoed.
fn of_person(rig: &Rig, speed_mps: f32) -> Vote {
    let arcs = [-0.5, -0.25, 0.0, 0.25, 0.5].map(|curvature_per_m: f32| {
        let away = curvature_per_m.abs();
        (curvature_per_m, away > 0.25, speed_mps.abs(), 0.9 - away)
    });
    one_way(rig, vote("teleop", &arcs), speed_mps < 0.0)
}

fn one_way(rig: &Rig, vote: Vote, is_backward: bool) -> Vote {
    let vote = Vote {
        utime: rig.now().utime(),
        ..vote
    };
    if !is_backward {
        return vote;
    }
    Vote {
        backward: vote.arcs,
        backward_free_m: vote.free_m,
        arcs: Vec::new(),
        free_m: Vec::new(),
        ..vote
    }
    .with_lengths()
}

/// Hazard's vote, with these curvatures vetoed for either way.
fn of_hazard(rig: &Rig, ahead: &[f32], behind: Option<&[f32]>) -> Vote {
    let arcs = |vetoed: &[f32]| {
        let arc = |it: i8| {
            let curvature_per_m = f32::from(it) / 20.0;
            let is_vetoed = vetoed.iter().any(|it| (it - curvature_per_m).abs() < 1e-3);
            (curvature_per_m, is_vetoed, f32::INFINITY, 0.0)
        };
        (-10..=10).map(arc).collect::<Vec<_>>()
    };
    let forward = one_way(rig, vote("hazard", &arcs(ahead)), false);
    let Some(behind) = behind else {
        return forward;
    };
    let backward = one_way(rig, vote("hazard", &arcs(behind)), true);
    Vote {
        backward: backward.backward,
        backward_free_m: backward.backward_free_m,
        reason: "a wall".into(),
        ..forward
    }
    .with_lengths()
}

const ALL: [f32; 21] = [
    -0.5, -0.45, -0.4, -0.35, -0.3, -0.25, -0.2, -0.15, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2,
    0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
];

/// What the arbiter commands, and why, after these votes, given for a second.
fn steer(rig: &mut Rig, votes: impl Fn(&Rig) -> Vec<Vote>) -> (Velocity, Arbitration) {
    for _ in 0..10 {
        rig.send("pose", pose_at(rig));
        for vote in votes(rig) {
            let voter = vote.voter.clone();
            rig.send(&voter, vote);
        }
        rig.advance(Duration::from_millis(100));
    }
    let command = rig.take::<Velocity>("command").pop().unwrap();
    (command, rig.take::<Arbitration>("why").pop().unwrap())
}

fn arrived(rig: &Rig) -> Vote {
    let mut vote = one_way(
        rig,
        vote("waypoint", &ALL.map(|it| (it, false, 0.0, 0.0))),
        false,
    );
    vote.reason = "all goals are reached".into();
    vote
}

#[test]
fn person_beside_a_leader_without_goals_drives_at_the_speed_asked_for() {
    let mut rig = steered();
    let (command, why) = steer(&mut rig, |rig| {
        vec![
            of_hazard(rig, &[], None),
            of_person(rig, 1.25),
            arrived(rig),
        ]
    });
    assert_eq!(format!("{:.2}", command.speed_mps), "1.25");
    assert_eq!(why.faults, ["", "", "overruled by teleop"]);
    // Without the person's votes the other leader counts again.
    let (command, why) = steer(&mut rig, |rig| {
        vec![of_hazard(rig, &[], None), arrived(rig)]
    });
    assert_eq!(format!("{:.2}", command.speed_mps), "0.00");
    assert_eq!(why.reason, "stopped by waypoint: all goals are reached");
}

#[test]
fn person_with_something_in_the_way_is_stopped_and_not_steered_around_it() {
    let ahead = &ALL[2..19];
    let (command, why) = steer(&mut steered(), |rig| {
        vec![of_hazard(rig, ahead, Some(&[])), of_person(rig, 1.0)]
    });
    assert_eq!(format!("{:.2}", command.speed_mps), "0.00");
    assert_eq!(
        why.reason,
        "stopped: what the person asks for is vetoed by hazard: a wall"
    );
    let straight = why.curvatures_per_m.iter().position(|it| it.abs() < 1e-6);
    assert_eq!(why.vetoed_by[straight.unwrap()], "hazard");
}

#[test]
fn person_who_turns_the_wheel_passes_the_arcs_between_smoothly() {
    let mut rig = steered();
    let hard_right = |rig: &Rig| {
        let arcs = [
            (-0.5, false, 1.0, 0.9),
            (-0.4, false, 1.0, 0.5),
            (0.5, true, 1.0, 0.0),
        ];
        one_way(rig, vote("teleop", &arcs), false)
    };
    steer(&mut rig, |rig| {
        vec![of_hazard(rig, &[], None), of_person(rig, 1.0)]
    });
    rig.send("pose", pose_at(&rig));
    rig.send("hazard", of_hazard(&rig, &[], None));
    rig.send("teleop", hard_right(&rig));
    rig.advance(Duration::from_millis(100));
    let command = rig.take::<Velocity>("command").pop().unwrap();
    // 0.7/m a second, for a tenth of a second, and a wheelbase of 1.96 m.
    assert!(
        command.speed_mps > 0.9 && (-0.21..-0.05).contains(&command.steering_rad),
        "{command:?}"
    );
}

#[test]
fn person_drives_backward_while_hazard_has_judged_that_and_no_veto_stands_behind() {
    let mut rig = steered();
    let (command, _) = steer(&mut rig, |rig| {
        vec![
            of_hazard(rig, &ALL, Some(&[])),
            of_person(rig, -0.5),
            arrived(rig),
        ]
    });
    assert_eq!(format!("{:.2}", command.speed_mps), "-0.50");
    let (command, why) = steer(&mut rig, |rig| {
        vec![of_hazard(rig, &[], Some(&ALL)), of_person(rig, -0.5)]
    });
    assert_eq!(format!("{:.2}", command.speed_mps.abs()), "0.00");
    assert!(
        why.reason.ends_with("vetoed by hazard: a wall"),
        "{}",
        why.reason
    );
    let (command, why) = steer(&mut rig, |rig| {
        vec![of_hazard(rig, &[], None), of_person(rig, -0.5)]
    });
    assert_eq!(format!("{:.2}", command.speed_mps.abs()), "0.00");
    assert_eq!(
        why.reason,
        "stopped without hazard: it has not judged driving backward"
    );
}

#[test]
fn leader_that_is_no_person_never_drives_backward() {
    let (command, why) = steer(
        &mut Rig::new::<Arbiter>(ArbiterParameters {
            vehicle: car(),
            ..ArbiterParameters::default()
        }),
        |rig| {
            let back = vote("waypoint", &[(0.0, false, 1.0, 0.9)]);
            vec![of_hazard(rig, &[], Some(&[])), one_way(rig, back, true)]
        },
    );
    assert_eq!(format!("{:.2}", command.speed_mps), "0.00");
    assert_eq!(why.faults[1], "it has not judged driving forward");
}

#[test]
fn person_that_is_no_leader_or_is_required_is_refused() {
    let with = |leaders: &[&str], required: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let parameters = ArbiterParameters {
            vehicle: car(),
            voters: owned(&["hazard", "teleop"]),
            leaders: owned(leaders),
            required: owned(required),
            person: "teleop".into(),
            ..ArbiterParameters::default()
        };
        let made = Arbiter::build(parameters, &mut Ports::default());
        made.map(drop).unwrap_err().to_string()
    };
    assert_eq!(
        with(&["hazard"], &[]),
        "person is \"teleop\", who is not among leaders"
    );
    assert_eq!(
        with(&["teleop"], &["teleop"]),
        "required has \"teleop\": without a person the vehicle never moves"
    );
}
