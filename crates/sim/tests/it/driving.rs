//! Vehicles go where they are commanded to go, and nowhere else.

use crate::support::{STEP_S, command, drive, jackal, raptor, wait};
use bowline_geometry::Transform;
use bowline_sim::{Body, Event, Fault, FaultKind, Line, Moves, Path, PathEnd, Solid, World};

#[test]
fn a_vehicle_at_rest_stays_at_rest() {
    for mut simulation in [raptor(World::flat()), jackal(World::flat())] {
        let before = simulation.pose();
        wait(&mut simulation, 5.0);
        let moved = before.inverse_mul(&simulation.pose());
        assert!(moved.distance_m() < 1e-6, "{} m", moved.distance_m());
        assert!(moved.angle_rad() < 1e-6);
    }
}

#[test]
fn a_steered_vehicle_follows_the_arc_of_its_wheels() {
    for (steering, speed) in [
        (0.0_f64, 2.0),
        (0.2, 1.5),
        (-0.35, 1.0),
        (0.5, 2.0),
        (0.8, 0.8),
        (0.3, -0.8),
    ] {
        let mut simulation = raptor(World::flat());
        drive(&mut simulation, 4.0, (steering, speed));
        let curvature = steering.tan() / 1.96;
        let [v, w] = simulation.speed();
        assert!(
            (v - speed).abs() < 0.02 * speed.abs(),
            "{steering}: {v} m/s for {speed}"
        );
        let found = w / v;
        assert!(
            (found - curvature).abs() < 0.02 * curvature.abs() + 1e-6,
            "{steering}: {found} for {curvature}"
        );
    }
}

#[test]
fn a_circle_closes_where_it_should() {
    let mut simulation = raptor(World::flat());
    let steering = 0.4_f64;
    drive(&mut simulation, 3.0, (steering, 1.0));
    let start = simulation.pose();
    let radius = 1.96 / steering.tan();
    // Half a circle later it is as far away as the circle is wide.
    let half = std::f64::consts::PI * radius;
    drive(&mut simulation, half, (steering, 1.0));
    let across = start.inverse_mul(&simulation.pose()).distance_m();
    assert!(
        (across - 2.0 * radius).abs() < 0.02 * 2.0 * radius,
        "{across} m for {} m",
        2.0 * radius
    );
}

#[test]
fn skid_steered_vehicle_turns_as_commanded_and_on_the_spot() {
    let wheelbase = 0.262;
    for (speed, turn) in [(1.0, 0.5_f64), (0.5, -1.0), (0.01, 1.5), (0.01, -0.8)] {
        let mut simulation = jackal(World::flat());
        let steering = (turn * wheelbase / speed).atan();
        drive(&mut simulation, 4.0, (steering, speed));
        let start = simulation.pose();
        drive(&mut simulation, 1.0, (steering, speed));
        let turned = start.inverse_mul(&simulation.pose()).rpy()[2];
        assert!(
            (turned - turn).abs() < 0.05 * turn.abs(),
            "{turned} rad in a second for {turn}"
        );
        let [v, _] = simulation.speed();
        assert!(
            (v - speed).abs() < 0.05 * speed + 0.02,
            "{v} m/s for {speed}"
        );
    }
}

#[test]
fn limits_hold_whatever_is_asked() {
    let mut simulation = raptor(World::flat());
    let mut fastest = 0.0_f64;
    let mut last = simulation.motion();
    for _ in 0..1_000 {
        command(&mut simulation, (9.0, 99.0));
        simulation.step(crate::support::EPOCH, &mut Vec::new());
        let now = simulation.motion();
        assert!(now.steering_rad.abs() <= 50.0_f64.to_radians() + 1e-9);
        assert!(
            (now.steering_rad - last.steering_rad).abs() <= 60.0_f64.to_radians() * STEP_S + 1e-9
        );
        assert!((now.speed_mps - last.speed_mps).abs() <= 1.5 * STEP_S + 1e-9);
        last = now;
        fastest = fastest.max(simulation.speed()[0]);
    }
    assert!(fastest < 3.1, "{fastest} m/s");
    for nonsense in [(f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        let mut simulation = raptor(World::flat());
        drive(&mut simulation, 1.0, nonsense);
        assert!(
            simulation.speed()[0].abs() < 1e-6,
            "what is no number is no command"
        );
    }
}

#[test]
fn without_commands_a_vehicle_stops_after_half_a_second_and_its_braking() {
    let mut simulation = raptor(World::flat());
    drive(&mut simulation, 4.0, (0.1, 2.0));
    wait(&mut simulation, 0.49);
    assert!(
        simulation.speed()[0] > 1.95,
        "a command holds for half a second"
    );
    // 2 m/s at 3 m/s2.
    wait(&mut simulation, 0.01 + 2.0 / 3.0 + 0.1);
    assert!(
        simulation.speed()[0].abs() < 0.02,
        "{} m/s",
        simulation.speed()[0]
    );
    let stood = simulation.pose();
    wait(&mut simulation, 2.0);
    assert!(stood.inverse_mul(&simulation.pose()).distance_m() < 0.01);
}

fn ramp(degrees: f64, friction: f64) -> World {
    let mut ramp = Body::new(
        "ramp",
        Solid::Box {
            half_m: [40.0, 40.0, 0.5],
        },
    );
    ramp = ramp.posed(Transform::from_xyz_rpy(
        [0.0; 3],
        [0.0, -degrees.to_radians(), 0.0],
    ));
    ramp.is_ground = true;
    ramp.friction = friction;
    World::default().with(ramp)
}

#[test]
fn a_vehicle_holds_on_a_slope_and_climbs_it() {
    let mut simulation = raptor(ramp(15.0, 0.9));
    wait(&mut simulation, 2.0);
    let before = simulation.pose();
    wait(&mut simulation, 10.0);
    let crept = before.inverse_mul(&simulation.pose()).distance_m();
    assert!(crept < 1e-4, "it crept {crept} m in 10 s");
    drive(&mut simulation, 4.0, (0.0, 1.5));
    assert!(
        (simulation.speed()[0] - 1.5).abs() < 0.05,
        "{} m/s uphill",
        simulation.speed()[0]
    );
    assert!(simulation.pose().xyz()[2] > before.xyz()[2] + 0.8);
}

#[test]
fn a_vehicle_slides_where_the_ground_does_not_hold() {
    let mut simulation = raptor(ramp(20.0, 0.1));
    let before = simulation.pose();
    wait(&mut simulation, 3.0);
    assert!(
        simulation.pose().xyz()[2] < before.xyz()[2] - 0.5,
        "it slides down"
    );
}

fn wall(x: f64) -> Body {
    Body::new(
        "wall",
        Solid::Box {
            half_m: [0.5, 5.0, 1.0],
        },
    )
    .at([x, 0.0, 1.0])
}

#[test]
fn vehicle_that_hits_a_wall_reports_contact_and_stops() {
    let mut simulation = raptor(World::flat().with(wall(8.0)));
    let events = drive(&mut simulation, 8.0, (0.0, 2.0));
    let front = simulation.pose().xyz()[0] + 2.61;
    assert!(front < 7.6, "its front is at {front} m, the wall at 7.5 m");
    assert!(simulation.n_contacts_begun() >= 1);
    let last = events.iter().rev().find_map(|event| match event {
        Event::Contact(contact) => Some(contact),
        Event::Measured { .. } | Event::Truth(_) | Event::Sea(_) => None,
    });
    let contact = last.expect("the truth is published");
    assert_eq!(
        (contact.bodies[0].as_str(), contact.others[0].as_str()),
        ("Bumper", "wall")
    );
    assert!(contact.since_utime[0] < contact.utime && contact.force_n[0] > 0.0);
}

#[test]
fn driving_on_the_ground_is_no_contact() {
    let mut simulation = raptor(World::flat());
    drive(&mut simulation, 10.0, (0.3, 2.0));
    assert_eq!(simulation.n_contacts_begun(), 0);
    assert_eq!(simulation.touches().count(), 0);
}

#[test]
fn vehicle_over_a_line_reports_it_and_continues() {
    let line = Line::new("stop_line", vec![[6.0, -5.0], [6.0, 5.0]]);
    let mut simulation = raptor(World::flat().with_line(line));
    drive(&mut simulation, 0.5, (0.0, 2.0));
    assert_eq!(simulation.touches().count(), 0, "not there yet");
    let events = drive(&mut simulation, 9.5, (0.0, 2.0));
    assert!(simulation.pose().xyz()[0] > 10.0, "nothing holds it");
    assert_eq!(simulation.touches().count(), 0, "it is over it");
    assert!(
        simulation.n_contacts_begun() >= 5,
        "its body and its wheels"
    );
    let contacts = events.iter().filter_map(|event| match event {
        Event::Contact(contact) => Some(contact),
        Event::Measured { .. } | Event::Truth(_) | Event::Sea(_) => None,
    });
    let mut crossing = contacts.filter(|contact| contact.n_contacts > 0).peekable();
    assert!(crossing.peek().is_some(), "the truth is published");
    for contact in crossing {
        assert!(!contact.others.is_empty() && !contact.force_n.is_empty());
        assert!(contact.others.iter().all(|other| other == "stop_line"));
        assert!(contact.force_n.iter().all(|force| *force == 0.0));
    }
}

#[test]
fn a_vehicle_beside_a_line_is_not_over_it_and_gaps_between_dashes_are_no_way_through() {
    // The Raptor is 1.15 m wide, and so is half of it to either side.
    let beside = |left_m: f64, dash_m: Option<[f64; 2]>| {
        let line = Line {
            dash_m,
            ..Line::new("edge", vec![[-5.0, left_m], [40.0, left_m]])
        };
        let mut simulation = raptor(World::flat().with_line(line));
        drive(&mut simulation, 4.0, (0.0, 2.0));
        simulation.n_contacts_begun()
    };
    assert_eq!(beside(0.8, None), 0);
    assert!(beside(0.5, None) > 0);
    assert!(beside(0.5, Some([0.05, 50.0])) > 0);
}

#[test]
fn what_goes_along_a_path_goes_as_fast_as_it_should_and_hits_what_is_in_its_way() {
    let mut walker = Body::new(
        "walker",
        Solid::Cylinder {
            radius_m: 0.3,
            half_m: 0.9,
        },
    )
    .at([1.0, 10.0, 0.9]);
    walker.moves = Moves::Along(Path {
        points_m: vec![[1.0, 10.0, 0.9], [1.0, -10.0, 0.9]],
        speed_mps: 2.0,
        end: PathEnd::Back,
        delay_s: 1.0,
    });
    let mut simulation = raptor(World::flat().with(walker));
    wait(&mut simulation, 2.0);
    let walker = simulation.bodies().find(|(body, _)| body.name == "walker");
    let at = walker.map(|(_, pose)| pose.xyz()).expect("it is there");
    assert!((at[1] - 8.0).abs() < 0.02, "{at:?}");
    wait(&mut simulation, 5.0);
    assert!(
        simulation.n_contacts_begun() >= 1,
        "it walks into a vehicle that stands in its way"
    );
}

#[test]
fn a_loose_box_is_pushed_away() {
    let mut crate_ = Body::new(
        "crate",
        Solid::Box {
            half_m: [0.5, 0.5, 0.6],
        },
    )
    .at([5.0, 0.0, 0.6]);
    crate_.moves = Moves::Freely { mass_kg: 20.0 };
    let mut simulation = raptor(World::flat().with(crate_));
    drive(&mut simulation, 5.0, (0.0, 1.5));
    let found = simulation.bodies().find(|(body, _)| body.name == "crate");
    let at = found.map(|(_, pose)| pose.xyz()).expect("it is there");
    assert!(at[0] > 6.0, "{at:?}");
    assert!(simulation.pose().xyz()[0] > 4.0, "the vehicle goes on");
}

#[test]
fn a_weak_drive_is_slow_and_a_cut_one_stops() {
    let mut simulation = raptor(World::flat());
    simulation.break_down(Fault {
        kind: FaultKind::Weak(0.25),
        port: None,
        until_ns: None,
    });
    drive(&mut simulation, 5.0, (0.0, 2.0));
    assert!(
        (simulation.speed()[0] - 0.75).abs() < 0.03,
        "a quarter of 3 m/s"
    );
    simulation.mend();
    drive(&mut simulation, 3.0, (0.0, 2.0));
    assert!((simulation.speed()[0] - 2.0).abs() < 0.05);
    simulation.break_down(Fault {
        kind: FaultKind::Cut,
        port: None,
        until_ns: None,
    });
    let events = drive(&mut simulation, 2.0, (0.0, 2.0));
    assert!(simulation.speed()[0].abs() < 0.02, "commands do not arrive");
    let measured = events
        .iter()
        .filter(|event| matches!(event, Event::Measured { .. }))
        .count();
    assert_eq!(measured, 0, "nothing is received of it, but the truth");
}
