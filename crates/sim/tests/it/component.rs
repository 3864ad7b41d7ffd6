//! The component: traffic on its ports, and services.

use crate::support::{modelled, repository};
use bowline_component::service::Failure;
use bowline_component::{Health, Rig};
use bowline_msgs::{
    Contact, PoseTransform, Range3d, SimControl, SimFault, SimPlace, SimState, Velocity,
};
use bowline_sim::{Catalog, Sim, SimParameters};
use std::time::Duration;

fn rig() -> Rig {
    Rig::new::<Sim>(SimParameters {
        world: repository().join("worlds/blocks.toml"),
        vehicle: modelled(repository().join("models/raptor_ugv/raptor_ugv.xml")),
        ..SimParameters::default()
    })
}

fn ask<Q: bowline_wire::Message>(
    rig: &mut Rig,
    service: &str,
    request: &Q,
) -> Result<SimState, Failure> {
    rig.call(service, request);
    let mut answers = rig.answers::<SimState>(service);
    assert_eq!(answers.len(), 1, "one answer");
    answers.remove(0)
}

fn drive(rig: &mut Rig, seconds: u64) {
    for _ in 0..10 * seconds {
        let utime = rig.now().utime();
        rig.send(
            "command",
            Velocity {
                utime,
                steering_rad: 0.0,
                speed_mps: 2.0,
            },
        );
        rig.advance(Duration::from_millis(100));
    }
}

fn position(rig: &mut Rig) -> [f64; 2] {
    let truth = rig.take::<PoseTransform>("truth.pose");
    let last = truth.last().expect("the truth is published");
    [last.matrix[3], last.matrix[7]]
}

#[test]
fn a_simulated_vehicle_has_the_traffic_of_a_real_one() {
    let mut rig = rig();
    drive(&mut rig, 2);
    let left = rig.take::<Range3d>("LeftLaser.Scanner");
    assert_eq!(left.len(), 75, "37.6 times a second");
    assert_eq!(left[0].frame, "LeftLaser:ScanCenter");
    assert!(left.is_sorted_by(|a, b| a.utime < b.utime));
    assert!(left.iter().all(|scan| scan.utime <= rig.now().utime()));
    assert_eq!(rig.take::<PoseTransform>("INS.Pose").len(), 100);
    assert!(position(&mut rig)[0] > 2.0, "it drives");
    let contacts = rig.take::<Contact>("truth.contact");
    assert!(!contacts.is_empty(), "the truth is published");
    assert!(contacts.iter().all(|contact| contact.n_contacts == 0));
    assert_eq!(rig.health(), &Health::Good);
}

#[test]
fn a_simulation_pauses_steps_goes_on_and_begins_again() {
    let mut rig = rig();
    drive(&mut rig, 1);
    let control = |action, n_steps, seed| SimControl {
        action,
        n_steps,
        seed,
    };
    let state = ask(&mut rig, "control", &control(SimControl::PAUSE, 0, 0)).expect("it pauses");
    assert!(state.paused && state.n_steps == 200);
    assert_eq!(state.bodies.len(), 18);
    rig.advance(Duration::from_secs(5));
    let state = ask(&mut rig, "control", &control(SimControl::STATE, 0, 0)).expect("it answers");
    assert_eq!(state.n_steps, 200, "it stood still");

    rig.call("control", &control(SimControl::STEP, 10, 0));
    assert!(
        rig.answers::<SimState>("control").is_empty(),
        "steps take their time"
    );
    rig.advance(Duration::from_millis(100));
    let answers = rig.answers::<SimState>("control");
    assert_eq!(answers.len(), 1);
    let state = answers[0].as_ref().expect("they were taken");
    assert!(state.paused && state.n_steps == 210);

    let state = ask(&mut rig, "control", &control(SimControl::RESUME, 0, 0)).expect("it goes on");
    assert!(!state.paused);
    rig.take::<Range3d>("RightLaser.Scanner");
    rig.advance(Duration::from_secs(1));
    assert!(rig.take::<Range3d>("RightLaser.Scanner").len() >= 37);

    let state =
        ask(&mut rig, "control", &control(SimControl::RESET, 0, 9)).expect("it begins again");
    assert_eq!((state.n_steps, state.seed), (0, 9));
    rig.advance(Duration::from_millis(100));
    let [x, y] = position(&mut rig);
    assert!(x.hypot(y) < 0.01, "it is back at its beginning");
}

#[test]
fn things_are_put_moved_and_taken_away() {
    let mut rig = rig();
    let teleport = SimPlace {
        action: SimPlace::TELEPORT,
        xyz_m: [5.0, -20.0, 0.0],
        rpy_rad: [0.0, 0.0, 1.0],
        ..SimPlace::default()
    };
    ask(&mut rig, "place", &teleport).expect("it is put there");
    rig.advance(Duration::from_millis(200));
    let [x, y] = position(&mut rig);
    assert!((x - 5.0).abs() < 0.01 && (y + 20.0).abs() < 0.01, "{x} {y}");

    let spawn = SimPlace {
        action: SimPlace::SPAWN,
        name: "box".to_owned(),
        xyz_m: [10.0, -20.0, 0.5],
        shape: SimPlace::BOX,
        size_m: [1.0, 1.0, 1.0],
        ..SimPlace::default()
    };
    let state = ask(&mut rig, "place", &spawn).expect("it is new");
    assert_eq!(state.bodies.len(), 19);
    let twice = ask(&mut rig, "place", &spawn).expect_err("it is there");
    assert!(twice.text.contains("a new name"), "{twice}");
    let remove = SimPlace {
        action: SimPlace::REMOVE,
        name: "box".to_owned(),
        ..SimPlace::default()
    };
    assert_eq!(
        ask(&mut rig, "place", &remove)
            .expect("it is there")
            .bodies
            .len(),
        18
    );
    let gone = ask(&mut rig, "place", &remove).expect_err("it is gone");
    assert!(gone.text.contains("\"box\"") && gone.code == 2, "{gone}");
}

#[test]
fn faults_begin_and_end() {
    let mut rig = rig();
    let dead = SimFault {
        kind: SimFault::DEAD,
        port: "LeftLaser.Scanner".to_owned(),
        value: 0.0,
        duration_us: 500_000,
    };
    let state = ask(&mut rig, "fault", &dead).expect("it breaks");
    assert_eq!(state.faults, ["LeftLaser.Scanner is dead"]);
    rig.advance(Duration::from_secs(1));
    let n_heard = rig.take::<Range3d>("LeftLaser.Scanner").len();
    assert!(
        (17..=20).contains(&n_heard),
        "{n_heard}: dead for half of the time"
    );
    let clear = SimFault {
        kind: SimFault::CLEAR,
        ..SimFault::default()
    };
    assert!(
        ask(&mut rig, "fault", &clear)
            .expect("it is mended")
            .faults
            .is_empty()
    );
}

#[test]
fn nonsense_is_refused_with_what_was_expected() {
    let mut rig = rig();
    let control = |action, n_steps, seed| SimControl {
        action,
        n_steps,
        seed,
    };
    for (request, expected) in [
        (control(99, 0, 0), "expected an action"),
        (
            control(SimControl::STEP, 0, 0),
            "expected 1 to 1000000 steps",
        ),
        (
            control(SimControl::RESET, 0, -7),
            "expected a seed of 0 or more",
        ),
    ] {
        let failure = ask(&mut rig, "control", &request).expect_err(expected);
        assert!(failure.text.contains(expected), "{failure}");
    }
}

#[test]
fn places_that_are_none_are_refused() {
    let mut rig = rig();
    let spawn = SimPlace {
        action: SimPlace::SPAWN,
        name: "b".to_owned(),
        shape: SimPlace::BOX,
        size_m: [1.0; 3],
        ..SimPlace::default()
    };
    for (request, expected) in [
        (
            SimPlace {
                action: 0,
                ..spawn.clone()
            },
            "expected an action",
        ),
        (
            SimPlace {
                name: "a b".to_owned(),
                ..spawn.clone()
            },
            "expected a name",
        ),
        (
            SimPlace {
                size_m: [1.0, f64::NAN, 1.0],
                ..spawn.clone()
            },
            "expected sizes",
        ),
        (
            SimPlace {
                mass_kg: -1.0,
                ..spawn.clone()
            },
            "expected a mass",
        ),
        (
            SimPlace {
                shape: 9,
                ..spawn.clone()
            },
            "expected a shape",
        ),
        (
            SimPlace {
                xyz_m: [f64::INFINITY, 0.0, 0.0],
                ..spawn.clone()
            },
            "expected a place",
        ),
        (
            SimPlace {
                action: SimPlace::REMOVE,
                name: String::new(),
                ..spawn
            },
            "the robot stays",
        ),
    ] {
        let failure = ask(&mut rig, "place", &request).expect_err(expected);
        assert!(failure.text.contains(expected), "{failure}");
    }
}

#[test]
fn faults_that_are_none_are_refused() {
    let mut rig = rig();
    let fault = |kind, value| SimFault {
        kind,
        value,
        ..SimFault::default()
    };
    for (request, expected) in [
        (fault(42, 0.0), "expected a kind of fault"),
        (
            fault(SimFault::WEAK, 2.0),
            "expected a value of 0 to 1 for WEAK",
        ),
        (fault(SimFault::NOISY, f64::NAN), "expected a value of 0"),
        (
            SimFault {
                port: "Nobody".to_owned(),
                ..fault(SimFault::DEAD, 0.0)
            },
            "expected one of",
        ),
        (
            SimFault {
                duration_us: -1,
                ..fault(SimFault::DEAD, 0.0)
            },
            "expected a duration",
        ),
    ] {
        let failure = ask(&mut rig, "fault", &request).expect_err(expected);
        assert!(failure.text.contains(expected), "{failure}");
    }
}

#[test]
fn a_robot_without_wheels_or_frame_or_mass_is_refused_in_words() {
    let model = repository().join("models/raptor/raptor.xml");
    let parameters = SimParameters {
        vehicle: modelled(model),
        ..SimParameters::default()
    };
    let error = parameters
        .load(&Catalog::default())
        .expect_err("it has no frame Vehicle")
        .to_string();
    assert!(error.contains("\"Vehicle\""), "{error}");
    let error = SimParameters::default()
        .load(&Catalog::default())
        .expect_err("no model")
        .to_string();
    assert!(error.contains("[vehicle] has no model"), "{error}");
}
