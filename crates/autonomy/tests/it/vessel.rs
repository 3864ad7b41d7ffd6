//! The controller of a vessel on the bench: what it wishes for, and when for nothing.

use crate::support::modelled;
use bowline_autonomy::control::{VesselController, VesselControllerParameters};
use bowline_component::{Build as _, Health, Ports, Rig};
use bowline_geometry::Transform;
use bowline_msgs::{Guidance, PoseTransform, Thrust};
use bowline_testing::random::cases;
use proptest::prelude::*;
use std::time::Duration;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/upsv/upsv.xml");
const TICK: Duration = Duration::from_millis(100);

/// How a vessel is and moves.
#[derive(Clone, Copy, Debug)]
struct Afloat {
    x_m: f64,
    y_m: f64,
    heading_rad: f64,
    /// Over ground, ahead and to the left of the bow.
    velocity_mps: [f64; 2],
    rate_radps: f64,
}

const STILL: Afloat = Afloat {
    x_m: 0.0,
    y_m: 0.0,
    heading_rad: 0.0,
    velocity_mps: [0.0; 2],
    rate_radps: 0.0,
};

fn pose(utime: i64, it: Afloat) -> PoseTransform {
    let map_from_vessel =
        Transform::from_xyz_rpy([it.x_m, it.y_m, 0.0], [0.0, 0.0, it.heading_rad]);
    let [ahead_mps, left_mps] = it.velocity_mps;
    PoseTransform {
        utime,
        frame: "Vessel:Vehicle".to_owned(),
        reference: "map".to_owned(),
        matrix: std::array::from_fn(|at| map_from_vessel.matrix()[at / 4][at % 4]),
        velocity_mps: [ahead_mps, left_mps, 0.0],
        rate_radps: [0.0, 0.0, it.rate_radps],
        ..PoseTransform::default()
    }
}

fn heading(heading_rad: f64, speed_mps: f64) -> Guidance {
    Guidance {
        kind: Guidance::HEADING,
        heading_rad,
        speed_mps,
        ..Guidance::default()
    }
}

fn leg(from_m: [f64; 2], to_m: [f64; 2], speed_mps: f64) -> Guidance {
    Guidance {
        kind: Guidance::LEG,
        speed_mps,
        from_m,
        to_m,
        ..Guidance::default()
    }
}

fn station(to_m: [f64; 2]) -> Guidance {
    Guidance {
        kind: Guidance::STATION,
        to_m,
        ..Guidance::default()
    }
}

struct Bench {
    rig: Rig,
    wishes: Vec<Thrust>,
}

impl Bench {
    fn new() -> Self {
        let parameters = VesselControllerParameters {
            vehicle: modelled(MODEL),
            ..VesselControllerParameters::default()
        };
        Self {
            rig: Rig::new::<VesselController>(parameters),
            wishes: Vec::new(),
        }
    }

    /// A tick with this pose and this guidance; what was wished for: port and starboard.
    fn tick(&mut self, afloat: Afloat, guidance: &Guidance) -> [f64; 2] {
        let utime = self.rig.now().utime();
        self.rig.send("pose", pose(utime, afloat));
        self.rig.send("guidance", guidance.clone());
        self.pass()
    }

    /// A tick without any word.
    fn pass(&mut self) -> [f64; 2] {
        self.rig.advance(TICK);
        self.wishes.extend(self.rig.take::<Thrust>("wish"));
        let last = self.wishes.last().expect("it always publishes something");
        [last.port_ratio, last.starboard_ratio]
    }

    /// So many ticks in a row that are all alike, with thrusters that give what is asked for.
    fn keep(&mut self, n: usize, afloat: Afloat, guidance: &Guidance) -> [f64; 2] {
        (0..n)
            .map(|_| self.tick(afloat, guidance))
            .last()
            .expect("one or more")
    }
}

/// The first wish on a bench of its own.
fn first(afloat: Afloat, guidance: &Guidance) -> [f64; 2] {
    Bench::new().tick(afloat, guidance)
}

#[test]
fn set_point_is_published_at_10_hz_with_the_time_of_its_decision() {
    let mut bench = Bench::new();
    for _ in 0..20 {
        bench.tick(STILL, &heading(0.0, 1.0));
    }
    assert_eq!(bench.wishes.len(), 20);
    let apart = bench
        .wishes
        .windows(2)
        .map(|two| two[1].utime - two[0].utime);
    assert!({ apart }.all(|it| it == 100_000));
    assert_eq!(*bench.rig.health(), Health::Good);
}

#[test]
fn without_valid_pose_or_guidance_there_is_no_thrust_and_health_has_the_reason() {
    let why = |bench: &Bench| {
        let health = bench.rig.health();
        if let Health::Degraded(why) = health {
            return why.clone();
        }
        format!("{health:?}")
    };
    for silent in ["pose", "guidance"] {
        let mut bench = Bench::new();
        assert_ne!(bench.tick(STILL, &heading(0.0, 1.0)), [0.0; 2]);
        for _ in 0..6 {
            let utime = bench.rig.now().utime();
            match silent {
                "pose" => bench.rig.send("guidance", heading(0.0, 1.0)),
                _ => bench.rig.send("pose", pose(utime, STILL)),
            }
            bench.pass();
        }
        let [port, starboard] = bench.pass();
        assert_eq!([port, starboard], [0.0; 2], "{silent}");
        let expected = match silent {
            "pose" => "no thrust: the pose of the vessel is unknown",
            _ => "no thrust: there is no guidance",
        };
        assert_eq!(why(&bench), expected);
        assert_ne!(
            bench.tick(STILL, &heading(0.0, 1.0)),
            [0.0; 2],
            "and goes on"
        );
    }
    let blind = Afloat {
        velocity_mps: [f64::NAN, 0.0],
        ..STILL
    };
    for (afloat, guidance) in [
        (blind, heading(0.0, 1.0)),
        (STILL, heading(f64::NAN, 1.0)),
        (STILL, leg([0.0, 0.0], [f64::INFINITY, 0.0], 1.0)),
    ] {
        let mut bench = Bench::new();
        assert_eq!(bench.tick(afloat, &guidance), [0.0; 2], "{guidance:?}");
        assert!(
            why(&bench).contains("numbers that are none"),
            "{}",
            why(&bench)
        );
    }
}

#[test]
fn rest_and_unknown_guidance_are_no_thrust() {
    let moving = Afloat {
        velocity_mps: [1.0, 0.2],
        rate_radps: 0.3,
        ..STILL
    };
    for kind in [Guidance::REST, 4, -1] {
        let guidance = Guidance {
            kind,
            ..heading(1.0, 1.0)
        };
        assert_eq!(first(moving, &guidance), [0.0; 2], "kind {kind}");
    }
}

#[test]
fn a_bow_that_is_off_is_turned_first_and_a_vessel_that_is_slow_is_pushed() {
    let [port, starboard] = first(STILL, &heading(0.0, 1.0));
    assert!(
        port > 0.1 && (port - starboard).abs() < 1e-9,
        "{port} {starboard}"
    );
    // To the left by the right thruster, and the other way round alike.
    let [port, starboard] = first(STILL, &heading(1.0, 1.0));
    assert!(starboard > port + 0.1, "{port} {starboard}");
    assert_eq!(first(STILL, &heading(-1.0, 1.0)), [starboard, port]);
    // Half a turn off, nothing goes ahead: both thrusters only turn it.
    let [port, starboard] = first(STILL, &heading(3.1, 2.0));
    assert!(port < 0.0 && starboard > 0.0, "{port} {starboard}");
    let fast = Afloat {
        velocity_mps: [2.5, 0.0],
        ..STILL
    };
    let [port, starboard] = first(fast, &heading(0.0, 0.5));
    assert!(
        port < 0.1 && starboard < 0.1,
        "{port} {starboard}: it is too fast"
    );
    // A vessel that turns too fast already is held back.
    let turning = Afloat {
        rate_radps: 1.0,
        ..STILL
    };
    let [port, starboard] = first(turning, &heading(0.2, 1.0));
    assert!(port > starboard, "{port} {starboard}");
}

#[test]
fn a_vessel_beside_its_leg_is_steered_to_it_from_either_side() {
    let east = leg([0.0, 0.0], [100.0, 0.0], 1.2);
    let at = |y_m| Afloat {
        x_m: 20.0,
        y_m,
        velocity_mps: [1.2, 0.0],
        ..STILL
    };
    let [port, starboard] = first(at(0.0), &east);
    assert!((port - starboard).abs() < 1e-9, "on the leg, straight on");
    let [left_port, left_starboard] = first(at(3.0), &east);
    assert!(
        left_port > left_starboard + 0.05,
        "to the left of it: to the right"
    );
    assert_eq!(first(at(-3.0), &east), [left_starboard, left_port]);
}

#[test]
fn what_sets_a_vessel_off_is_learned_and_held_against_after_a_turn_too() {
    // Over ground it goes east at 1.2 m/s and north at 0.4: its bow points east, so the water moves north.
    let set = Afloat {
        x_m: 20.0,
        velocity_mps: [1.2, 0.4],
        ..STILL
    };
    let mut bench = Bench::new();
    let east = leg([0.0, 0.0], [1_000.0, 0.0], 1.2);
    let [port, starboard] = bench.tick(set, &east);
    let before = port - starboard;
    let [port, starboard] = bench.keep(300, set, &east);
    assert!(
        port - starboard > before + 0.1,
        "the bow goes to the right, into the set: {port} {starboard}"
    );
    // On the way back the same water comes from the other side.
    let back = Afloat {
        heading_rad: std::f64::consts::PI,
        velocity_mps: [1.2, -0.4],
        ..set
    };
    let west = leg([1_000.0, 0.0], [0.0, 0.0], 1.2);
    let [port, starboard] = bench.tick(back, &west);
    assert!(starboard > port + 0.1, "at once: {port} {starboard}");
}

#[test]
fn a_station_is_left_alone_while_it_is_near_and_gone_back_to_when_it_is_not() {
    let near = Afloat { x_m: 0.3, ..STILL };
    assert_eq!(first(near, &station([0.0, 0.0])), [0.0; 2]);
    let [port, starboard] = first(STILL, &station([10.0, 0.0]));
    assert!(
        port > 0.05 && (port - starboard).abs() < 1e-9,
        "{port} {starboard}"
    );
    let [port, starboard] = first(STILL, &station([0.0, 10.0]));
    assert!(starboard > port, "to the left: {port} {starboard}");
}

#[test]
fn a_model_that_is_none_of_a_vessel_with_two_thrusters_is_refused_in_words() {
    let raptor = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/raptor_ugv/raptor_ugv.xml"
    );
    for (model, expected) in [
        ("", "[vehicle] has no model"),
        (raptor, "the model has no hull"),
    ] {
        let parameters = VesselControllerParameters {
            vehicle: modelled(model),
            ..VesselControllerParameters::default()
        };
        let refused = VesselController::build(parameters, &mut Ports::default()).map(drop);
        let why = refused.expect_err("it is no vessel").to_string();
        assert!(why.contains(expected), "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]
    /// In every state and with every set-point, thrusters are asked for what they can give.
    #[test]
    fn a_wish_is_within_what_thrusters_can(
        steps in prop::collection::vec(
            (0_i8..4, -200.0_f64..200.0, -200.0_f64..200.0, -7.0_f64..7.0, (-5.0_f64..5.0, -5.0_f64..5.0), -3.0_f64..3.0),
            1..20,
        ),
    ) {
        let mut bench = Bench::new();
        for (kind, x_m, y_m, heading_rad, (ahead_mps, left_mps), rate_radps) in steps {
            let afloat = Afloat { x_m, y_m, heading_rad, velocity_mps: [ahead_mps, left_mps], rate_radps };
            let guidance = Guidance { kind, ..leg([0.0, 0.0], [50.0, 20.0], 1.5) };
            let wish = bench.tick(afloat, &guidance);
            prop_assert!(wish.iter().all(|it| (-1.0..=1.0).contains(it)), "{wish:?}");
        }
    }
}
