//! What all drivers promise as components.

use crate::support::modelled;
use bowline_autonomy::Place;
use bowline_autonomy::plan::{PilotDriver, PilotParameters, WindowDriver, WindowParameters};
use bowline_component::{Health, Rig, Vehicle};
use bowline_msgs::{Path, PoseTransform, Range3d, Velocity, Waypoint};
use std::time::Duration;

/// Each driver, by its name.
fn drivers() -> [(&'static str, Rig); 2] {
    let vehicle = Vehicle {
        front_m: Some(0.254),
        rear_m: Some(0.254),
        width_m: Some(0.43),
        wheelbase_m: Some(0.262),
        max_turn_radps: Some(2.0),
        brake_mps2: Some(2.0),
        reaction_s: Some(0.15),
        ..modelled(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../models/jackal/jackal.xml"
        ))
    };
    let pilot = PilotParameters {
        vehicle: vehicle.clone(),
        ..PilotParameters::default()
    };
    let window = WindowParameters {
        vehicle,
        ..WindowParameters::default()
    };
    [
        ("pilot", Rig::new::<PilotDriver>(pilot)),
        ("dynamic_window", Rig::new::<WindowDriver>(window)),
    ]
}

fn pose(utime: i64, at: Place) -> PoseTransform {
    let (sin, cos) = at.heading_rad.sin_cos();
    PoseTransform {
        utime,
        frame: "Jackal:Vehicle".to_owned(),
        matrix: [
            cos, -sin, 0.0, at.x_m, sin, cos, 0.0, at.y_m, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ],
        ..PoseTransform::default()
    }
}

/// A laser at the vehicle's own middle, half as high as a knee, that meets these points.
fn scan(utime: i64, points: &[[f32; 2]]) -> Range3d {
    Range3d {
        utime,
        frame: "Jackal:Vehicle".to_owned(),
        points: points
            .iter()
            .map(|[x, y]| [*x, *y, 0.3, x.hypot(*y)])
            .collect(),
        ..Range3d::default()
    }
    .with_lengths()
}

fn goals(at: &[[f32; 2]]) -> Path {
    let waypoints = at.iter().map(|position| Waypoint {
        id: "goal".to_owned(),
        position: *position,
    });
    Path {
        waypoints: waypoints.collect(),
        ..Path::default()
    }
    .with_lengths()
}

/// Half a wall in front of the vehicle, 0.3 m from its bumper.
fn wall() -> Vec<[f32; 2]> {
    (-40..=40_i16)
        .map(|nth| [0.55, f32::from(nth) * 0.05])
        .collect()
}

/// A tenth of a second, with all inputs but those left out; its last command.
fn drive(rig: &mut Rig, points: &[[f32; 2]], to: &[[f32; 2]], left_out: &str) -> Velocity {
    for _ in 0..10 {
        let utime = rig.now().utime();
        if left_out != "pose" {
            rig.send("pose", pose(utime, Place::default()));
        }
        if left_out != "laser" {
            rig.send("laser", scan(utime, points));
        }
        if left_out != "goals" {
            rig.send("goals", goals(to));
        }
        rig.advance(Duration::from_millis(10));
    }
    rig.take("command").pop().expect("it commands at each tick")
}

/// What a driver commands after a second before these points, from standing. The vehicle has the speed that was commanded
/// last, and stays where it is, as on rollers.
fn after_a_second(rig: &mut Rig, points: &[[f32; 2]]) -> Velocity {
    let mut command = Velocity::default();
    for _ in 0..100 {
        let utime = rig.now().utime();
        let rolling = PoseTransform {
            velocity_mps: [command.speed_mps, 0.0, 0.0],
            ..pose(utime, Place::default())
        };
        rig.send("pose", rolling);
        rig.send("laser", scan(utime, points));
        rig.send("goals", goals(&[[5.0, 0.0]]));
        rig.advance(Duration::from_millis(10));
        command = rig.take("command").pop().unwrap_or(command);
    }
    command
}

/// With nothing in the way a driver goes at least this fast after a second, metres a second.
const FREE_MPS: f64 = 1.0;
/// Before a wall 0.3 m ahead it goes at most this fast, forwards or back: it turns away.
const WALLED_MPS: f64 = 0.1;

#[test]
fn driver_with_a_free_path_goes_fast_and_straight_and_before_a_wall_does_not_go_on() {
    for ((name, mut free), (_, mut walled)) in drivers().into_iter().zip(drivers()) {
        let command = after_a_second(&mut free, &[]);
        println!("{name}, free: {command:?}");
        assert!(command.speed_mps > FREE_MPS, "{name}: {command:?}");
        assert!(command.steering_rad.abs() < 0.1, "{name}: {command:?}");
        assert_eq!(*free.health(), Health::Good, "{name}");
        let command = after_a_second(&mut walled, &wall());
        println!("{name}, before a wall: {command:?}");
        assert!(command.speed_mps.abs() < WALLED_MPS, "{name}: {command:?}");
    }
}

#[test]
fn driver_stands_with_a_reason_while_an_input_is_missing() {
    for left_out in ["pose", "laser", "goals"] {
        for (name, mut rig) in drivers() {
            let command = drive(&mut rig, &[], &[[5.0, 0.0]], left_out);
            assert_eq!(command.speed_mps, 0.0, "{name} without {left_out}");
            let is_degraded = matches!(rig.health(), Health::Degraded(_));
            assert!(is_degraded, "{name} without {left_out}: {:?}", rig.health());
        }
    }
}

#[test]
fn a_driver_that_goes_stops_when_its_laser_or_its_pose_falls_silent() {
    for left_out in ["pose", "laser"] {
        for (name, mut rig) in drivers() {
            assert!(drive(&mut rig, &[], &[[5.0, 0.0]], "").speed_mps > 0.0);
            for _ in 0..3 {
                drive(&mut rig, &[], &[[5.0, 0.0]], left_out);
            }
            let command = drive(&mut rig, &[], &[[5.0, 0.0]], left_out);
            assert_eq!(command.speed_mps, 0.0, "{name} without {left_out}");
        }
    }
}

#[test]
fn a_driver_stands_when_all_goals_are_reached_and_that_is_well() {
    for (name, mut rig) in drivers() {
        drive(&mut rig, &[], &[[5.0, 0.0]], "");
        let command = drive(&mut rig, &[], &[], "");
        assert_eq!(command.speed_mps, 0.0, "{name}");
        assert_eq!(*rig.health(), Health::Good, "{name}");
    }
}

#[test]
fn the_pilot_turns_on_the_spot_to_a_goal_behind_it() {
    let [(_, mut rig), _] = drivers();
    let command = drive(&mut rig, &[], &[[-5.0, 0.5]], "");
    assert!(command.speed_mps.abs() < 0.05, "{command:?}");
    assert!(command.steering_rad.abs() > 1.3, "{command:?}");
}
