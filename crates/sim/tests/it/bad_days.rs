//! What moves by itself, and what breaks by itself.

use crate::support::{EPOCH, cart, drive, message, modelled, raptor, readings, repository, wait};
use bowline_msgs::{PoseTransform, Range3d};
use bowline_sim::{
    Body, Catalog, Event, Fault, FaultKind, Moves, Path, PathEnd, PlannedFault, SimParameters,
    Simulation, Solid, World,
};
use std::path::PathBuf;
use std::time::Duration;

/// A wall that comes nearer.
fn approaching(speed_mps: f64) -> World {
    let mut wall = Body::new(
        "wall",
        Solid::Box {
            half_m: [0.5, 5.0, 2.0],
        },
    )
    .at([30.0, 0.0, 2.0]);
    wall.moves = Moves::Along(Path {
        points_m: vec![[30.0, 0.0, 2.0], [0.0, 0.0, 2.0]],
        speed_mps,
        end: PathEnd::Stop,
        delay_s: 0.0,
    });
    World::flat().with(wall)
}

#[test]
fn what_moves_is_seen_where_it_is_at_the_moment_of_a_scan_between_two_steps() {
    let laser = r#"<laser name="L" frame="Ahead" rate_hz="37.6" beams="3" fov_deg="2" range_min_m="0.1" range_max_m="40"/>"#;
    let mut simulation = SimParameters::default().simulation(approaching(4.0), cart(laser));
    // Until the springs are at rest.
    wait(&mut simulation, 2.0);
    let events = wait(&mut simulation, 3.0);
    let scans = readings(&simulation, &events, "Cart.L");
    assert!(scans.len() > 100);
    let places: Vec<f64> = scans
        .iter()
        .map(|reading| {
            let scan: &Range3d = message(reading);
            let elapsed_us = i32::try_from(scan.utime - EPOCH.utime()).expect("seconds");
            f64::from(scan.points[1][3]) + 4.0 * f64::from(elapsed_us) / 1e6
        })
        .collect();
    let (least, most) = (
        places.iter().copied().fold(f64::INFINITY, f64::min),
        places.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    // A step is 2 cm of its way.
    assert!(most - least < 1e-3, "from {least} to {most}");
}

const AT: Duration = Duration::from_millis(1_500);

fn planned(kind: FaultKind, port: Option<&str>) -> PlannedFault {
    PlannedFault {
        at: AT,
        kind,
        port: port.map(str::to_owned),
        lasts: Some(Duration::from_secs(1)),
    }
}

#[test]
fn a_world_breaks_what_a_service_would_break_and_again_after_a_reset() {
    let kinds = [
        (FaultKind::Dead, Some("LeftLaser.Scanner")),
        (FaultKind::Stuck, None),
        (FaultKind::Noisy(9.0), Some("RightLaser.Scanner")),
        (FaultKind::Weak(0.3), None),
        (FaultKind::Cut, None),
        (FaultKind::Jump(2.0), Some("INS.Pose")),
        (FaultKind::Turn(0.5), Some("INS.Pose")),
    ];
    let go_on = |simulation: &mut Simulation| drive(simulation, 2.0, (0.1, 2.0));
    for (kind, port) in kinds {
        let mut ordered = raptor(World::flat());
        let mut events = drive(&mut ordered, 1.5, (0.1, 2.0));
        let until = AT + Duration::from_secs(1);
        ordered.break_down(Fault {
            kind,
            port: port.map(str::to_owned),
            until_ns: u64::try_from(until.as_nanos()).ok(),
        });
        events.extend(go_on(&mut ordered));

        let mut world = World::flat();
        world.faults = vec![planned(kind, port)];
        let mut by_itself = raptor(world);
        for _ in 0..2 {
            let mut found = drive(&mut by_itself, 1.4, (0.1, 2.0));
            assert_eq!(by_itself.faults().count(), 0, "not yet");
            found.extend(drive(&mut by_itself, 0.1, (0.1, 2.0)));
            found.extend(go_on(&mut by_itself));
            assert!(found == events, "{kind:?}");
            assert_eq!(by_itself.faults().count(), 0, "no more");
            by_itself.reset(None);
        }
    }
}

#[test]
fn a_navigation_sensor_that_is_turned_looks_elsewhere_than_the_truth() {
    let mut world = World::flat();
    world.faults = vec![planned(FaultKind::Turn(0.5), Some("INS.Pose"))];
    let mut simulation = raptor(world);
    let heading = |matrix: &[f64; 16]| matrix[4].atan2(matrix[0]);
    let look = |simulation: &mut Simulation| {
        let events = wait(simulation, 1.0);
        let truth = events.iter().rev().find_map(|event| match event {
            Event::Truth(pose) => Some(heading(&pose.matrix)),
            Event::Measured { .. } | Event::Contact(_) | Event::Sea(_) => None,
        });
        let said = readings(simulation, &events, "INS.Pose");
        let pose: &PoseTransform = message(said.last().expect("it publishes poses"));
        heading(&pose.matrix) - truth.expect("the truth is published")
    };
    assert!(look(&mut simulation).abs() < 0.02, "before");
    assert!((look(&mut simulation) - 0.5).abs() < 0.02, "then");
    assert!(look(&mut simulation).abs() < 0.02, "afterwards");
}

#[test]
fn a_world_cannot_break_what_the_vehicle_does_not_have() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no_such_port.toml");
    let text = "[world]\nname = \"w\"\n[[fault]]\nat = \"1s\"\nkind = \"dead\"\nport = \"Laser\"\n";
    std::fs::write(&path, text).expect("a file");
    let parameters = SimParameters {
        world: path,
        vehicle: modelled(repository().join("models/raptor_ugv/raptor_ugv.xml")),
        ..SimParameters::default()
    };
    let error = parameters
        .load(&Catalog::default())
        .expect_err("there is none")
        .to_string();
    let expected = "a fault of the world \"w\": expected one of ";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains(" LeftLaser.Scanner, "), "{error}");
    assert!(error.ends_with("found \"Laser\""), "{error}");
}
