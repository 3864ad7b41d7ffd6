//! What the arbiter promises, whatever the votes.

use crate::support::car;
use bowline_autonomy::Place;
use bowline_autonomy::vote::{
    Arbiter, ArbiterParameters, Ballot, Decision, Fault, Lead, Motion, Rules, Voter, decide,
};
use bowline_autonomy::{Fan, MAX_ARCS, Travel};
use bowline_component::Rig;
use bowline_msgs::{Arbitration, Arc, PoseTransform, Velocity, Vote};
use bowline_testing::random::cases;
use proptest::prelude::*;
use std::time::Duration;

const NOW: i64 = 1_000_000_000;

fn rules() -> Rules {
    Rules {
        fan: Fan::new(0.5, 20),
        max_speed_mps: 3.0,
        min_speed_mps: 0.05,
        brake_mps2: 1.5,
        reaction_s: 0.3,
        margin_m: 0.5,
        side_mps2: 2.0,
        max_turn_radps: 0.9,
        max_curvature_rate: 0.7,
        band: 0.1,
        fresh_s: 0.25,
        deadline_s: 0.4,
        max_moved_m: 2.0,
        max_turned_rad: 0.5,
    }
}

fn half_spacing() -> f64 {
    rules().fan.spacing_per_m() / 2.0
}

pub(crate) fn vote(voter: &str, arcs: &[(f32, bool, f32, f32)]) -> Vote {
    Vote {
        utime: NOW,
        voter: voter.to_owned(),
        arcs: arcs
            .iter()
            .map(|(curvature, veto, speed, vote)| Arc {
                veto: *veto,
                curvature_per_m: *curvature,
                max_speed_mps: *speed,
                vote: *vote,
                confidence: 1.0,
            })
            .collect(),
        free_m: vec![f32::INFINITY; arcs.len()],
        ..Vote::default()
    }
    .with_lengths()
}

/// Whole thousandths: proptest's own ranges of single precision fail now and then.
fn thousandths(range: std::ops::Range<i16>) -> impl Strategy<Value = f32> {
    range.prop_map(|it| f32::from(it) / 1e3)
}

/// Votes of any sort that make sense.
fn any_vote() -> impl Strategy<Value = Vote> {
    let arc = (
        thousandths(1..200),
        prop::bool::weighted(0.3),
        prop_oneof![Just(f32::INFINITY), thousandths(0..5_000)],
        thousandths(-1_000..1_001),
        thousandths(0..1_001),
        prop_oneof![Just(f32::INFINITY), thousandths(0..30_000)],
    );
    (prop::collection::vec(arc, 1..40), 0..390_000_i64).prop_map(|(arcs, age_us)| {
        let mut curvature_per_m = -0.6;
        let mut vote = Vote {
            utime: NOW - age_us,
            ..Vote::default()
        };
        for (step, veto, max_speed_mps, favour, confidence, free_m) in arcs {
            curvature_per_m += step;
            vote.arcs.push(Arc {
                veto,
                curvature_per_m,
                max_speed_mps,
                vote: favour,
                confidence,
            });
            vote.free_m.push(free_m);
        }
        vote.with_lengths()
    })
}

fn ballots(votes: &[Vote]) -> Vec<Ballot> {
    let ballots = votes
        .iter()
        .map(|vote| Ballot::new(vote, Travel::Forward, half_spacing()));
    ballots.collect::<Result<_, _>>().unwrap()
}

/// All lead, the first is required.
fn voters(ballots: &[Ballot]) -> Vec<Voter<'_>> {
    let voter = |(idx, ballot)| Voter {
        name: "scout",
        weight: 1.0,
        is_required: idx == 0,
        lead: Lead::Mission,
        ballot: Ok(ballot),
    };
    ballots.iter().enumerate().map(voter).collect()
}

fn decided(ballots: &[Ballot], motion: Motion) -> Decision {
    decide(&rules(), &voters(ballots), motion, NOW)
}

const AT_REST: Motion = Motion {
    curvature_per_m: 0.0,
    elapsed_s: 10.0,
};

fn any_motion() -> impl Strategy<Value = Motion> {
    (-0.5..0.5_f64, 0.0..0.3_f64).prop_map(|(curvature_per_m, elapsed_s)| Motion {
        curvature_per_m,
        elapsed_s,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_000)))]

    #[test]
    fn a_veto_wins_with_half_a_spacing_around_it(
        votes in prop::collection::vec(any_vote(), 1..6), motion in any_motion(),
    ) {
        let Some(chosen) = decided(&ballots(&votes), motion).chosen else {
            return Ok(());
        };
        for vetoed in votes.iter().flat_map(|vote| &vote.arcs).filter(|arc| arc.veto) {
            let away = (chosen.curvature_per_m - f64::from(vetoed.curvature_per_m)).abs();
            prop_assert!(away > half_spacing(), "{chosen:?} beside {vetoed:?}");
        }
    }

    #[test]
    fn the_speed_is_what_each_voter_allows_and_stops_in_time(
        votes in prop::collection::vec(any_vote(), 1..6), motion in any_motion(),
    ) {
        let ballots = ballots(&votes);
        let Some(chosen) = decided(&ballots, motion).chosen else {
            return Ok(());
        };
        let rules = rules();
        for ballot in &ballots {
            let opinion = ballot.at(chosen.curvature_per_m);
            prop_assert!(chosen.speed_mps <= opinion.max_speed_mps);
            let stop_m = chosen.speed_mps * rules.reaction_s
                + chosen.speed_mps * chosen.speed_mps / (2.0 * rules.brake_mps2);
            prop_assert!(stop_m <= (opinion.free_m - rules.margin_m).max(0.0) + 1e-9);
        }
        prop_assert!(chosen.speed_mps <= rules.max_speed_mps);
        prop_assert!(chosen.speed_mps * chosen.speed_mps * chosen.curvature_per_m.abs() <= rules.side_mps2 + 1e-9);
        prop_assert!(chosen.speed_mps * chosen.curvature_per_m.abs() <= rules.max_turn_radps + 1e-9);
    }

    #[test]
    fn one_more_voter_never_makes_the_same_arc_faster(
        votes in prop::collection::vec(any_vote(), 1..6), more in any_vote(), motion in any_motion(),
    ) {
        let fewer = ballots(&votes);
        let more = ballots(&[votes, vec![more]].concat());
        let (Some(before), Some(after)) = (decided(&fewer, motion).chosen, decided(&more, motion).chosen) else {
            return Ok(());
        };
        if before.curvature_per_m.to_bits() == after.curvature_per_m.to_bits() {
            prop_assert!(after.speed_mps <= before.speed_mps);
        }
    }

    #[test]
    fn arcs_that_a_required_voter_has_not_judged_are_not_driven(
        votes in prop::collection::vec(any_vote(), 1..6), motion in any_motion(),
    ) {
        let Some(chosen) = decided(&ballots(&votes), motion).chosen else {
            return Ok(());
        };
        let judged = &votes[0].arcs;
        let ends = [&judged[0], &judged[judged.len() - 1]].map(|arc| f64::from(arc.curvature_per_m));
        prop_assert!((ends[0]..=ends[1]).contains(&chosen.curvature_per_m), "{chosen:?} {ends:?}");
    }

    #[test]
    fn curvature_changes_smoothly_unless_a_veto_is_in_the_way(
        votes in prop::collection::vec(any_vote(), 1..6), motion in any_motion(),
    ) {
        let ballots = ballots(&votes);
        let Some(chosen) = decided(&ballots, motion).chosen else {
            return Ok(());
        };
        let step = chosen.curvature_per_m - motion.curvature_per_m;
        let most = rules().max_curvature_rate * motion.elapsed_s;
        if step.abs() > most + 1e-9 {
            let smooth = motion.curvature_per_m + most * step.signum();
            let is_bad = ballots.iter().enumerate().any(|(idx, ballot)| {
                let opinion = ballot.at(smooth);
                let is_unjudged = idx == 0 && !opinion.is_judged;
                let too_slow = rules().speed_to_stop_within(opinion.free_m).min(opinion.max_speed_mps) < 0.05;
                opinion.is_vetoed || is_unjudged || too_slow
            });
            prop_assert!(is_bad, "{chosen:?} from {motion:?}");
        }
    }

    #[test]
    fn any_bytes_of_a_vote_are_a_ballot_or_a_fault(
        numbers in prop::collection::vec((any::<f32>(), any::<f32>(), any::<f32>(), any::<f32>(), any::<f32>()), 0..9),
    ) {
        let mut vote = Vote { utime: NOW, ..Vote::default() };
        for (curvature_per_m, max_speed_mps, favour, confidence, free_m) in numbers {
            vote.arcs.push(Arc { veto: false, curvature_per_m, max_speed_mps, vote: favour, confidence });
            vote.free_m.push(free_m);
        }
        if let Ok(ballot) = Ballot::new(&vote, Travel::Forward, half_spacing()) {
            let decision = decided(&[ballot], AT_REST);
            prop_assert!(decision.totals.iter().all(|total| total.is_finite()));
            prop_assert!(decision.chosen.is_none_or(|it| it.curvature_per_m.is_finite() && it.speed_mps.is_finite()));
        }
    }
}

#[test]
fn the_best_arc_is_driven_and_a_confident_no_outweighs_weak_yeses() {
    let clear = vote(
        "a",
        &[
            (-0.5, false, 9.0, -0.5),
            (0.25, false, 9.0, 0.9),
            (0.5, false, 9.0, -0.5),
        ],
    );
    let chosen = decided(&ballots(&[clear]), AT_REST).chosen.unwrap();
    assert!((chosen.curvature_per_m - 0.25).abs() < 0.03, "{chosen:?}");

    let mut weak = vote("b", &[(-0.5, false, 9.0, 0.0), (0.5, false, 9.0, 0.8)]);
    weak.arcs.iter_mut().for_each(|arc| arc.confidence = 0.2);
    let no = vote("a", &[(-0.5, false, 9.0, 0.0), (0.5, false, 9.0, -0.9)]);
    let votes = [no, weak.clone(), weak.clone(), weak];
    let chosen = decided(&ballots(&votes), AT_REST).chosen.unwrap();
    assert!(chosen.curvature_per_m < -0.4, "{chosen:?}");
}

#[test]
fn without_a_drivable_arc_it_stops_with_a_reason() {
    let all_vetoed = vote(
        "a",
        &[
            (-0.5, true, 9.0, 1.0),
            (0.0, true, 9.0, 1.0),
            (0.5, true, 9.0, 1.0),
        ],
    );
    let mut arrived = vote("a", &[(-0.5, false, 0.0, 0.0), (0.5, false, 0.0, 0.0)]);
    arrived.reason = "all goals are reached".to_owned();
    for (vote, expected) in [
        (all_vetoed, "stopped: every arc is vetoed, by scout"),
        (arrived, "stopped by scout: all goals are reached"),
    ] {
        let decision = decided(&ballots(&[vote]), AT_REST);
        assert_eq!(
            (decision.chosen, decision.reason.as_str()),
            (None, expected)
        );
    }
}

#[test]
fn what_makes_no_sense_is_named() {
    let good = vote("a", &[(-0.5, false, 1.0, 0.0), (0.5, false, 1.0, 0.0)]);
    let spoil = |how: &dyn Fn(&mut Vote)| {
        let mut vote = good.clone();
        how(&mut vote);
        Ballot::new(&vote, Travel::Forward, half_spacing())
            .unwrap_err()
            .to_string()
    };
    type Spoiler<'a> = &'a dyn Fn(&mut Vote);
    let cases: [(Spoiler<'_>, &str); 9] = [
        (
            &|vote| vote.position_m[0] = f64::NAN,
            "its place is not a number",
        ),
        (&|vote| vote.arcs.clear(), "it has no arcs, or too many"),
        (
            &|vote| vote.arcs = vec![Arc::default(); MAX_ARCS + 1],
            "it has no arcs, or too many",
        ),
        (
            &|vote| vote.free_m.truncate(1),
            "it has not one free length for each arc",
        ),
        (
            &|vote| vote.arcs[1].curvature_per_m = -0.5,
            "its curvatures do not grow",
        ),
        (
            &|vote| vote.arcs[0].curvature_per_m = f32::INFINITY,
            "a curvature is not a number",
        ),
        (
            &|vote| vote.arcs[0].max_speed_mps = f32::NAN,
            "a speed or a free length is negative or not a number",
        ),
        (
            &|vote| vote.arcs[0].vote = 1.5,
            "a vote is not from -1 to 1",
        ),
        (
            &|vote| vote.arcs[0].confidence = f32::NAN,
            "a confidence is not from 0 to 1",
        ),
    ];
    for (how, expected) in cases {
        assert_eq!(spoil(how), expected);
    }
}

#[test]
fn old_votes_votes_from_the_future_and_votes_for_elsewhere_do_not_count() {
    let ballot = ballots(&[vote("a", &[(0.0, false, 1.0, 0.0)])]).remove(0);
    let rules = rules();
    let here = Place::default();
    assert!(rules.admit(&ballot, NOW + 399_000, here).is_ok());
    let old = rules.admit(&ballot, NOW + 400_000, here).unwrap_err();
    assert_eq!(old, Fault::Old { age_s: 0.4 });
    let early = rules.admit(&ballot, NOW - 500_000, here).unwrap_err();
    assert_eq!(early.to_string(), "its vote is -0.50 s old");
    let moved = rules
        .admit(&ballot, NOW, Place::new(3.0, 0.0, 0.1))
        .unwrap_err();
    assert_eq!(
        moved.to_string(),
        "its vote is for a place 3.0 m and 6 degrees away"
    );
}

/// An arbiter in which hazard is required and waypoint leads.
fn rig() -> Rig {
    Rig::new::<Arbiter>(ArbiterParameters {
        vehicle: car(),
        ..ArbiterParameters::default()
    })
}

pub(crate) fn pose_at(rig: &Rig) -> PoseTransform {
    let mut matrix = [0.0; 16];
    for diagonal in [0, 5, 10, 15] {
        matrix[diagonal] = 1.0;
    }
    PoseTransform {
        utime: rig.now().utime(),
        matrix,
        ..PoseTransform::default()
    }
}

fn vote_of(rig: &Rig, voter: &str) -> Vote {
    Vote {
        utime: rig.now().utime(),
        ..vote(
            voter,
            &[
                (-0.5, false, 9.0, 0.5),
                (0.0, false, 9.0, 0.5),
                (0.5, false, 9.0, 0.2),
            ],
        )
    }
}

/// Votes of both for so long, ten times a second.
fn drive_for(rig: &mut Rig, tenths: u32, voters: &[&str]) {
    for _ in 0..tenths {
        rig.send("pose", pose_at(rig));
        for voter in voters {
            rig.send(voter, vote_of(rig, voter));
        }
        rig.advance(Duration::from_millis(100));
    }
}

fn last_speed(rig: &mut Rig) -> f64 {
    rig.take::<Velocity>("command").last().unwrap().speed_mps
}

#[test]
fn a_required_voter_that_falls_silent_stops_the_vehicle_within_its_deadline() {
    let mut rig = rig();
    drive_for(&mut rig, 10, &["hazard", "waypoint"]);
    assert!(last_speed(&mut rig) > 1.99);
    // The last vote of hazard is 100 ms old.
    drive_for(&mut rig, 2, &["waypoint"]);
    let slower = last_speed(&mut rig);
    assert!(slower > 0.0 && slower < 1.5, "{slower}");
    drive_for(&mut rig, 1, &["waypoint"]);
    rig.advance(Duration::from_millis(1));
    assert_eq!(format!("{}", last_speed(&mut rig)), "0");
    let why = rig.take::<Arbitration>("why").pop().unwrap();
    assert!(why.stopped);
    assert!(
        why.reason
            .starts_with("stopped without hazard: its vote is 0.4"),
        "{}",
        why.reason
    );
    assert_eq!(why.voters, ["hazard", "waypoint"]);
    assert!(
        why.faults[0].starts_with("its vote is 0.4") && why.faults[1].is_empty(),
        "{:?}",
        why.faults
    );
}

#[test]
fn without_leader_or_pose_it_stops_with_a_reason() {
    let mut silent = rig();
    silent.advance(Duration::from_secs(1));
    assert_eq!(format!("{}", last_speed(&mut silent)), "0");

    let mut unled = rig();
    drive_for(&mut unled, 3, &["hazard"]);
    assert_eq!(format!("{}", last_speed(&mut unled)), "0");
    let why = unled.take::<Arbitration>("why").pop().unwrap();
    assert_eq!(why.reason, "stopped: no voter has a direction");

    let mut lost = rig();
    lost.send("hazard", vote_of(&lost, "hazard"));
    lost.send("waypoint", vote_of(&lost, "waypoint"));
    assert_eq!(format!("{}", last_speed(&mut lost)), "0");
    let why = lost.take::<Arbitration>("why").pop().unwrap();
    assert_eq!(why.reason, "stopped: where the vehicle is is not known");
}

#[test]
fn after_a_jump_of_the_pose_the_vehicle_stands_still_for_a_while() {
    let mut rig = rig();
    drive_for(&mut rig, 5, &["hazard", "waypoint"]);
    assert!(last_speed(&mut rig) > 1.9);
    let mut jumped = pose_at(&rig);
    jumped.matrix[3] = 1.6;
    rig.send("pose", jumped);
    rig.advance(Duration::from_millis(50));
    assert_eq!(format!("{}", last_speed(&mut rig)), "0");
    let why = rig.take::<Arbitration>("why").pop().unwrap();
    assert_eq!(
        why.reason,
        "stopped: the pose jumped by 1.6 m and 0 degrees"
    );
    // It jumps back, which is a jump, too.
    drive_for(&mut rig, 19, &["hazard", "waypoint"]);
    assert_eq!(format!("{}", last_speed(&mut rig)), "0");
    drive_for(&mut rig, 2, &["hazard", "waypoint"]);
    assert!(last_speed(&mut rig) > 1.9);
}

#[test]
fn a_pose_that_suddenly_looks_elsewhere_has_jumped_too() {
    let mut rig = rig();
    drive_for(&mut rig, 5, &["hazard", "waypoint"]);
    assert!(last_speed(&mut rig) > 1.9);
    let mut turned = pose_at(&rig);
    let (sin, cos) = 30_f64.to_radians().sin_cos();
    [turned.matrix[0], turned.matrix[1]] = [cos, -sin];
    [turned.matrix[4], turned.matrix[5]] = [sin, cos];
    rig.send("pose", turned);
    rig.advance(Duration::from_millis(50));
    assert_eq!(format!("{}", last_speed(&mut rig)), "0");
    let why = rig.take::<Arbitration>("why").pop().unwrap();
    assert_eq!(
        why.reason,
        "stopped: the pose jumped by 0.0 m and 30 degrees"
    );
}

#[test]
fn the_order_in_which_votes_come_makes_no_difference() {
    let mut commands = [["hazard", "waypoint"], ["waypoint", "hazard"]].map(|order| {
        let mut rig = rig();
        drive_for(&mut rig, 5, &order);
        rig.advance(Duration::from_millis(1));
        let command = rig.take::<Velocity>("command").pop().unwrap();
        (command.steering_rad.to_bits(), command.speed_mps.to_bits())
    });
    commands.sort_unstable();
    assert_eq!(commands[0], commands[1]);
}

#[test]
fn a_vote_in_the_name_of_another_does_not_count() {
    let mut rig = rig();
    rig.send("pose", pose_at(&rig));
    rig.send("hazard", vote_of(&rig, "waypoint"));
    let why = rig.take::<Arbitration>("why").pop().unwrap();
    assert_eq!(
        why.faults,
        ["its vote names \"waypoint\"", "it has not voted"]
    );
}
