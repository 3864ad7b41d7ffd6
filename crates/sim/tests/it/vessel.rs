//! How vessels move: against formulas, and against piers.

use crate::support::{EPOCH, STEP_S, repository, steps, vehicle};
use bowline_msgs::{PoseTransform, Thrust};
use bowline_sim::actuation::hull::Hull;
use bowline_sim::{
    Body, Event, Fault, FaultKind, Flow, Sea, SimParameters, Simulation, Solid, Spawn, Waves, World,
};
use std::f64::consts::FRAC_PI_2;

/// Open water without a bottom.
fn water(sea: Sea) -> World {
    World {
        sea: Some(sea),
        ..World::default()
    }
}

fn upsv(world: World) -> Simulation {
    SimParameters::default().simulation(world, vehicle("upsv/upsv.xml"))
}

/// Lets time pass with a thrust in every step.
fn push(simulation: &mut Simulation, seconds: f64, [port, starboard]: [f64; 2]) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..steps(seconds) {
        simulation.command(&Thrust {
            utime: (simulation.elapsed_ns() / 1_000).cast_signed(),
            port_ratio: port,
            starboard_ratio: starboard,
        });
        simulation.step(EPOCH, &mut events);
    }
    events
}

/// Lets time pass without commands.
fn drift(simulation: &mut Simulation, seconds: f64) -> Vec<Event> {
    push(simulation, seconds, [f64::NAN; 2])
}

fn truths(events: &[Event]) -> Vec<&PoseTransform> {
    let truths = events.iter().filter_map(|event| match event {
        Event::Truth(pose) => Some(pose),
        Event::Measured { .. } | Event::Contact(_) | Event::Sea(_) => None,
    });
    truths.collect()
}

fn hull(simulation: &Simulation) -> Hull {
    let hull = simulation.vehicle().gear();
    Hull::clone(hull.expect("a vessel has a hull"))
}

#[test]
fn at_full_thrust_the_speed_is_the_one_whose_drag_equals_it() {
    let mut simulation = upsv(water(Sea::default()));
    let hull = hull(&simulation);
    for (ratio, most_n) in [
        (1.0, hull.thrusters[0].ahead_n),
        (0.5, hull.thrusters[0].ahead_n),
        (-1.0, hull.thrusters[0].astern_n),
    ] {
        push(&mut simulation, 40.0, [ratio; 2]);
        // Drag is a u + b u |u|, of the water and of the air that it moves through.
        let (a, force) = (hull.linear_drag[0], 2.0 * most_n * f64::abs(ratio));
        let b = hull.quadratic_drag[0] + 0.5 * 1.225 * hull.windage_m2[0];
        let expected = f64::signum(ratio) * ((a * a + 4.0 * b * force).sqrt() - a) / (2.0 * b);
        let [speed, turn] = simulation.speed();
        assert!(
            (speed - expected).abs() < 0.01,
            "{ratio}: {speed} for {expected}"
        );
        assert!(turn.abs() < 1e-9, "{ratio}: it turns by {turn}");
    }
}

#[test]
fn on_the_spot_the_turn_is_the_one_whose_drag_equals_its_moment() {
    let mut simulation = upsv(water(Sea::default()));
    let hull = hull(&simulation);
    push(&mut simulation, 30.0, [-0.5, 0.5]);
    let [port, starboard] = &hull.thrusters;
    let moment = 0.5 * (starboard.ahead_n * -starboard.at_m[1] + port.astern_n * port.at_m[1]);
    let (a, b) = (hull.linear_drag[2], hull.quadratic_drag[2]);
    let expected = ((a * a + 4.0 * b * moment).sqrt() - a) / (2.0 * b);
    let [_, turn] = simulation.speed();
    assert!((turn - expected).abs() < 0.005, "{turn} for {expected}");
}

#[test]
fn more_thrust_to_starboard_turns_it_to_port() {
    let mut simulation = upsv(water(Sea::default()));
    push(&mut simulation, 5.0, [0.3, 0.6]);
    assert!(simulation.pose().rpy()[2] > 0.3);
    let mut simulation = upsv(water(Sea::default()));
    push(&mut simulation, 5.0, [0.6, 0.3]);
    assert!(simulation.pose().rpy()[2] < -0.3);
}

#[test]
fn without_thrust_it_ends_up_moving_with_the_water() {
    let current = Flow {
        speed_mps: 0.5,
        towards_rad: 2.0,
        ..Flow::default()
    };
    let mut simulation = upsv(water(Sea {
        current,
        ..Sea::default()
    }));
    let events = drift(&mut simulation, 60.0);
    let truth = *truths(&events).last().expect("the truth is published");
    let heading = simulation.pose().rpy()[2];
    let [ahead, left, _] = truth.velocity_mps;
    let east = ahead * heading.cos() - left * heading.sin();
    let north = ahead * heading.sin() + left * heading.cos();
    let (sin, cos) = 2.0_f64.sin_cos();
    assert!((east - 0.5 * cos).abs() < 0.005, "east {east}");
    assert!((north - 0.5 * sin).abs() < 0.005, "north {north}");
}

#[test]
fn through_still_and_moving_water_it_moves_alike() {
    let run = |speed_mps: f64| {
        let current = Flow {
            speed_mps,
            towards_rad: FRAC_PI_2,
            ..Flow::default()
        };
        // The air moves along: it would push as well.
        let sea = Sea {
            current,
            wind: current,
            ..Sea::default()
        };
        let mut simulation = upsv(water(sea));
        // Until it has the water's own speed.
        drift(&mut simulation, 100.0);
        let [x0, y0, _] = simulation.pose().xyz();
        push(&mut simulation, 20.0, [0.4, 0.7]);
        let [x, y, _] = simulation.pose().xyz();
        [x - x0, y - y0 - speed_mps * 20.0]
    };
    let [still, moving] = [run(0.0), run(0.5)];
    for axis in [0, 1] {
        assert!(
            (still[axis] - moving[axis]).abs() < 0.02,
            "{still:?}, {moving:?}"
        );
    }
}

#[test]
fn thrust_ends_without_commands() {
    let mut simulation = upsv(water(Sea::default()));
    push(&mut simulation, 10.0, [1.0; 2]);
    assert!(!simulation.is_silent());
    let [before, _] = simulation.speed();
    drift(&mut simulation, 0.4);
    assert!(!simulation.is_silent(), "half a second is not over");
    drift(&mut simulation, 0.2);
    assert!(simulation.is_silent());
    drift(&mut simulation, 10.0);
    let [after, _] = simulation.speed();
    assert!(after < 0.2 * before, "{before} m/s, then {after} m/s");
}

#[test]
fn a_thruster_reaches_two_thirds_after_its_lag() {
    let mut simulation = upsv(water(Sea::default()));
    let lag_s = hull(&simulation).thrusters[0].lag_s;
    let speeds: Vec<f64> = (0..2)
        .map(|_| {
            push(&mut simulation, lag_s, [1.0; 2]);
            simulation.speed()[0]
        })
        .collect();
    // Nearly without drag, at this speed: F/m (t - lag (1 - exp(-t/lag))); 0.368 lag after the lag, 1.135 lag after twice that.
    let ratio = speeds[1] / speeds[0];
    assert!((ratio - 1.135 / 0.368).abs() < 0.25, "{speeds:?}");
    assert!(STEP_S < lag_s);
}

#[test]
fn wind_pushes_it_downwind_and_to_its_side() {
    let wind = Flow {
        speed_mps: 8.0,
        towards_rad: FRAC_PI_2,
        ..Flow::default()
    };
    let mut simulation = upsv(water(Sea {
        wind,
        ..Sea::default()
    }));
    let hull = hull(&simulation);
    let events = drift(&mut simulation, 60.0);
    let sway = truths(&events)
        .last()
        .expect("the truth is published")
        .velocity_mps[1];
    // The wind's push equals the water's drag.
    let push_n = 0.5 * 1.225 * hull.windage_m2[1] * (8.0 - sway) * (8.0 - sway);
    let drag_n = hull.linear_drag[1] * sway + hull.quadratic_drag[1] * sway * sway;
    assert!(
        (push_n - drag_n).abs() < 0.05 * push_n,
        "{push_n} N and {drag_n} N at {sway} m/s"
    );
}

#[test]
fn waves_move_it_by_their_height_and_let_it_go_on_straight() {
    let waves = Waves {
        height_m: 0.4,
        period_s: 4.0,
        towards_rad: 0.3,
        spread_rad: 0.2,
    };
    let mut simulation = upsv(water(Sea {
        waves,
        ..Sea::default()
    }));
    let events = drift(&mut simulation, 600.0);
    let truths = truths(&events);
    let heaves: Vec<f64> = truths.iter().map(|pose| pose.matrix[11]).collect();
    let n = heaves.len() as f64;
    let mean = heaves.iter().sum::<f64>() / n;
    let sd = (heaves.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!(mean.abs() < 0.01, "mean {mean}");
    // The highest third is four deviations high, and a hull of 2 m evens out little of waves of 25 m.
    assert!((4.0 * sd - 0.4).abs() < 0.05, "{} m", 4.0 * sd);
    let steepest = truths
        .iter()
        .map(|pose| pose.matrix[8].abs())
        .fold(0.0, f64::max);
    assert!((0.02..0.3).contains(&steepest), "it pitches by {steepest}");
    // The published velocity is the velocity of the motion.
    for pair in truths.windows(2).take(5_000) {
        let [before, after] = pair else { continue };
        let rise = (after.matrix[11] - before.matrix[11]) / 0.02;
        let turn = |pose: &PoseTransform| {
            let v = pose.velocity_mps;
            pose.matrix[8] * v[0] + pose.matrix[9] * v[1] + pose.matrix[10] * v[2]
        };
        let told = (turn(before) + turn(after)) / 2.0;
        assert!(
            (rise - told).abs() < 0.02,
            "{rise} m/s, published {told} m/s"
        );
    }
}

#[test]
fn vessel_that_hits_a_pier_reports_contact_and_stops() {
    let wall = Solid::Box {
        half_m: [0.3, 20.0, 3.0],
    };
    let world = water(Sea::default()).with(Body::new("pier", wall).at([12.0, 0.0, 0.0]));
    let mut simulation = upsv(world);
    let events = push(&mut simulation, 20.0, [1.0; 2]);
    let [x, ..] = simulation.pose().xyz();
    assert!((10.5..10.8).contains(&x), "the bow is 1 m ahead: {x}");
    assert!(simulation.n_contacts_begun() > 0);
    assert!(simulation.touches().any(|(_, other)| other == "pier"));
    let contact = events.iter().find_map(|event| match event {
        Event::Contact(contact) if contact.n_contacts > 0 => Some(contact.clone()),
        Event::Contact(_) | Event::Measured { .. } | Event::Truth(_) | Event::Sea(_) => None,
    });
    let contact = contact.expect("it is reported");
    assert_eq!(
        (contact.bodies[0].as_str(), contact.others[0].as_str()),
        ("Vessel", "pier")
    );
    // Astern it gets away again.
    push(&mut simulation, 10.0, [-1.0; 2]);
    assert_eq!(simulation.touches().count(), 0);
}

#[test]
fn faults_hit_vessels_too() {
    let run = |kind: FaultKind, port: Option<&str>| {
        let mut simulation = upsv(water(Sea::default()));
        let fault = Fault {
            kind,
            port: port.map(ToOwned::to_owned),
            until_ns: None,
        };
        assert!(simulation.break_down(fault));
        push(&mut simulation, 20.0, [0.8; 2]);
        simulation.speed()[0]
    };
    let sound = run(FaultKind::Dead, Some("GPS.Fix"));
    assert!(sound > 2.0, "{sound}");
    let weak = run(FaultKind::Weak(0.3), None);
    assert!(weak < 0.6 * sound, "{weak} of {sound}");
    assert!(run(FaultKind::Cut, Some("thrust")).abs() < 1e-9);
    let vehicle = vehicle("upsv/upsv.xml");
    assert!(vehicle.check_breakable("thrust").is_ok());
    assert!(vehicle.check_breakable("command").is_err());
}

#[test]
fn the_harbour_holds_a_vessel_at_its_berth() {
    let path = repository().join("worlds/harbour.toml");
    let world = World::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = upsv(world);
    let [x, y, _] = simulation.pose().xyz();
    let events = push(&mut simulation, 1.0, [0.0; 2]);
    assert_eq!(
        simulation.n_contacts_begun(),
        0,
        "it touches nothing at its berth"
    );
    let [x1, y1, _] = simulation.pose().xyz();
    assert!((x1 - x).hypot(y1 - y) < 1.0);
    let sea = events.iter().find_map(|event| match event {
        Event::Sea(sea) => Some(sea.clone()),
        Event::Contact(_) | Event::Measured { .. } | Event::Truth(_) => None,
    });
    let sea = sea.expect("the sea state is published");
    assert!((3.0..15.0).contains(&sea.depth_m), "{}", sea.depth_m);
    assert!((sea.current_mps[0].hypot(sea.current_mps[1]) - 0.5).abs() < 0.2);
    simulation.teleport(&Spawn {
        xy_m: [100.0, 100.0],
        from_z_m: None,
        heading_rad: 1.0,
    });
    let [x, y, z] = simulation.pose().xyz();
    assert!(
        (x - 100.0).hypot(y - 100.0) < 1e-9 && z.abs() < 0.2,
        "it floats where it was put"
    );
}
