//! Every sensor against what it must measure.

use crate::support::{cart, drive, message, readings, wait};
use bowline_msgs::{Bumper, GpsFix, Heading, Imu, PoseTransform, Range3d, Wheels};
use bowline_sim::{
    Barn, Body, Event, Fault, FaultKind, Line, SimParameters, Simulation, Solid, World,
};

fn simulation(world: World, sensors: &str) -> Simulation {
    SimParameters::default().simulation(world, cart(sensors))
}

fn wall_ahead() -> World {
    World::flat().with(
        Body::new(
            "wall",
            Solid::Box {
                half_m: [0.5, 50.0, 5.0],
            },
        )
        .at([10.5, 0.0, 5.0]),
    )
}

fn scans(simulation: &Simulation, events: &[Event], port: &str) -> Vec<Range3d> {
    let said = readings(simulation, events, port).into_iter();
    said.map(|reading| message::<Range3d>(reading).clone())
        .collect()
}

fn imus(simulation: &Simulation, events: &[Event]) -> Vec<Imu> {
    let said = readings(simulation, events, "Cart.I").into_iter();
    said.map(|reading| message::<Imu>(reading).clone())
        .collect()
}

const LASER: &str = r#"<laser name="L" frame="Up" rate_hz="37.6" beams="181" fov_deg="180" range_min_m="0.5" range_max_m="15"/>"#;

#[test]
fn a_laser_before_a_wall_measures_how_far_it_is() {
    let mut simulation = simulation(wall_ahead(), LASER);
    let events = wait(&mut simulation, 1.0);
    let scans = scans(&simulation, &events, "Cart.L");
    assert_eq!(scans.len(), 37, "37.6 times a second");
    for scan in &scans {
        assert_eq!((scan.points.len(), scan.frame.as_str()), (181, "Cart:Up"));
        for (nth, [x, y, z, range]) in scan.points.iter().enumerate() {
            let angle = (nth as f64 - 90.0).to_radians();
            let expected = 10.0 / angle.cos();
            if expected > 15.0 {
                assert!(range.is_infinite(), "beam {nth}: {range}");
                assert!((x.hypot(*y) - 1.0).abs() < 1e-5, "a direction has length 1");
                continue;
            }
            assert!(
                (f64::from(*range) - expected).abs() < 1e-4,
                "beam {nth}: {range} for {expected}"
            );
            assert!((x - 10.0).abs() < 1e-4 && z.abs() < 1e-4);
        }
    }
    let period = scans[1].utime - scans[0].utime;
    assert!((26_595..=26_596).contains(&period), "{period} us");
}

#[test]
fn a_laser_that_looks_down_sees_the_ground_where_it_is() {
    let sensor = r#"<laser name="L" frame="Tilted" rate_hz="10" beams="1" fov_deg="1" range_min_m="0.1" range_max_m="15"/>"#;
    let sensor = sensor.replace("beams=\"1\" fov_deg=\"1\"", "beams=\"3\" fov_deg=\"20\"");
    let mut simulation = simulation(World::flat(), &sensor);
    let events = wait(&mut simulation, 0.2);
    let scan = &scans(&simulation, &events, "Cart.L")[0];
    let middle = f64::from(scan.points[1][3]);
    assert!((middle - 2.0_f64.sqrt()).abs() < 1e-4, "{middle}");
}

#[test]
fn ranges_have_the_noise_of_their_table_and_come_in_steps() {
    let sensor = r#"<laser name="L" frame="Up" rate_hz="100" beams="3" fov_deg="2" range_min_m="0.5" range_max_m="15"
        range_errors="5 0.0 0.01, 15 0.1 0.05"/>"#;
    let mut noisy = simulation(wall_ahead(), sensor);
    let events = wait(&mut noisy, 30.0);
    let ranges: Vec<f64> = scans(&noisy, &events, "Cart.L")
        .iter()
        .map(|scan| scan.points[1][3].into())
        .collect();
    let n = ranges.len() as f64;
    let mean = ranges.iter().sum::<f64>() / n;
    let sd = (ranges.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / n).sqrt();
    // At 10 m, half way between the rows: 0.05 m too much, deviation 0.03 m.
    assert!((mean - 10.05).abs() < 0.003, "mean {mean}");
    assert!((sd - 0.03).abs() < 0.002, "deviation {sd}");

    let sensor = LASER.replace("range_max_m", "resolution_m=\"0.05\" range_max_m");
    let mut stepped = simulation(wall_ahead(), &sensor);
    let events = wait(&mut stepped, 0.2);
    for [_, _, _, range] in &scans(&stepped, &events, "Cart.L")[0].points {
        let steps = f64::from(*range) / 0.05;
        assert!(
            range.is_infinite() || (steps - steps.round()).abs() < 1e-3,
            "{range}"
        );
    }
}

#[test]
fn what_is_too_near_for_a_laser_is_left_out() {
    let world = World::flat().with(
        Body::new(
            "post",
            Solid::Cylinder {
                radius_m: 0.1,
                half_m: 2.0,
            },
        )
        .at([1.9, 0.0, 2.0]),
    );
    let sensor = LASER.replace("range_min_m=\"0.5\"", "range_min_m=\"3\"");
    let mut simulation = simulation(world, &sensor);
    let events = wait(&mut simulation, 0.1);
    let scan = &scans(&simulation, &events, "Cart.L")[0];
    let n_points = scan.points.len();
    assert!((90..181).contains(&n_points), "{n_points} points");
    assert!(scan.points.iter().all(|point| point[3] >= 3.0));
}

#[test]
fn a_depth_camera_sees_a_plane_as_a_plane() {
    let sensor = r#"<depth name="D" frame="Up" rate_hz="5" width_px="1280" height_px="720" fov_deg="90" near_m="0.3" far_m="20"/>"#;
    let mut simulation = simulation(wall_ahead(), sensor);
    let events = wait(&mut simulation, 0.25);
    let scan = &scans(&simulation, &events, "Cart.D")[0];
    assert_eq!(scan.points.len(), 1280 * 720, "a point for each pixel");
    for [x, _, z, range] in &scan.points {
        let is_wall = (x - 10.0).abs() < 1e-3;
        let is_ground = (z + 1.0).abs() < 1e-3;
        assert!(
            is_wall || is_ground || range.is_infinite(),
            "{x} {z} {range}"
        );
    }
}

#[test]
fn a_rotating_laser_sees_ground_and_walls_in_all_rows() {
    let sensor = r#"<laser name="L" frame="Up" rate_hz="10" beams="360" fov_deg="360" rows="16" fov_vertical_deg="30" range_min_m="0.5" range_max_m="60"/>"#;
    let mut simulation = simulation(wall_ahead(), sensor);
    let events = wait(&mut simulation, 0.15);
    let scan = &scans(&simulation, &events, "Cart.L")[0];
    assert_eq!(scan.points.len(), 16 * 360);
    let on_ground = scan
        .points
        .iter()
        .filter(|[_, _, z, range]| range.is_finite() && (z + 1.0).abs() < 1e-3)
        .count();
    let on_wall = scan
        .points
        .iter()
        .filter(|[x, ..]| (x - 10.0).abs() < 1e-3)
        .count();
    assert!(on_ground > 1_000 && on_wall > 500, "{on_ground} {on_wall}");
}

#[test]
fn an_imu_feels_gravity_at_rest_and_the_turn_in_a_circle() {
    let sensor = r#"<imu name="I" frame="Up" rate_hz="100" gyro_sd_radps="0" accel_sd_mps2="0"/>"#;
    let mut simulation = simulation(World::flat(), sensor);
    let events = wait(&mut simulation, 1.0);
    let rest = imus(&simulation, &events);
    assert_eq!(rest.len(), 100);
    let last = &rest[99];
    assert!((last.force_mps2[2] - 9.806_65).abs() < 1e-3, "{last:?}");
    assert!(last.rate_radps.iter().all(|it| it.abs() < 1e-6));

    let steering = 0.3_f64;
    drive(&mut simulation, 4.0, (steering, 2.0));
    let events = drive(&mut simulation, 2.0, (steering, 2.0));
    let turning = imus(&simulation, &events);
    let n = turning.len() as f64;
    let mean = |pick: fn(&Imu) -> f64| turning.iter().map(pick).sum::<f64>() / n;
    let rate = 2.0 * steering.tan() / 1.0;
    assert!((mean(|it| it.rate_radps[2]) - rate).abs() < 0.02 * rate);
    // v times w, to the middle of the circle, which is on the left.
    let inward = mean(|it| it.force_mps2[1]);
    assert!(
        (inward - 2.0 * rate).abs() < 0.06 * 2.0 * rate,
        "{inward} for {}",
        2.0 * rate
    );
}

#[test]
fn encoders_count_the_way() {
    let mut simulation = simulation(World::flat(), "");
    let start = simulation.pose().xyz();
    let events = drive(&mut simulation, 6.0, (0.0, 1.5));
    let said = readings(&simulation, &events, "RLWheel.Encoder");
    let Wheels { ticks, names, .. } = message(said.last().expect("it prints something"));
    assert_eq!(names[0], "RLWheel:Hub");
    let way = ticks[0] as f64 / 1_000.0 * std::f64::consts::TAU * 0.3;
    let gone = simulation.pose().xyz()[0] - start[0];
    assert!(
        (way - gone).abs() < 0.01 * gone,
        "{way} m counted, {gone} m gone"
    );
}

#[test]
fn navigation_errors_match_their_deviations_and_persist() {
    let sensor = r#"<ins name="P" frame="Up" rate_hz="20" position_sd_m="0.5" attitude_sd_deg="0.2" heading_sd_deg="1" correlation_s="2"/>"#;
    let mut simulation = simulation(World::flat(), sensor);
    let events = wait(&mut simulation, 600.0);
    let poses: Vec<PoseTransform> = readings(&simulation, &events, "Cart.P")
        .into_iter()
        .map(|reading| message::<PoseTransform>(reading).clone())
        .collect();
    assert_eq!(
        (poses[0].reference.as_str(), poses[0].frame.as_str()),
        ("map", "Cart:Up")
    );
    let errors: Vec<f64> = poses.iter().map(|pose| pose.matrix[3]).collect();
    let n = errors.len() as f64;
    let variance = errors.iter().map(|it| it * it).sum::<f64>() / n;
    assert!(
        (variance.sqrt() - 0.5).abs() < 0.05,
        "deviation {}",
        variance.sqrt()
    );
    let step = errors
        .array_windows()
        .map(|[a, b]| (a - b).powi(2))
        .sum::<f64>()
        / n;
    assert!(step < 0.05 * variance, "an error lasts");
    assert!((poses[0].position_covariance[0] - 0.25).abs() < 1e-12);
    assert!((poses[0].attitude_covariance[8] - 1.0_f64.to_radians().powi(2)).abs() < 1e-12);
    assert!(
        (poses[0].matrix[11] - 1.0).abs() < 3.0,
        "the sensor is 1 m up"
    );
}

#[test]
fn a_receiver_is_where_the_origin_is_and_a_compass_points_where_it_looks() {
    let sensors = r#"<gps name="G" frame="Up" rate_hz="10"/><magnetometer name="M" frame="Up" rate_hz="10" field_sd_t="0"/>"#;
    let mut world = World::flat();
    world.spawn.heading_rad = 1.0;
    world.spawn.xy_m = [100.0, 200.0];
    let origin = world.origin;
    let mut simulation = simulation(world, sensors);
    let events = wait(&mut simulation, 0.2);
    let fix: &GpsFix = message(readings(&simulation, &events, "Cart.G")[0]);
    // A degree of latitude is 111.2 km there, one of longitude 71.2 km.
    assert!(((fix.lat_deg - origin.lat_deg) * 111_229.0 - 200.0).abs() < 1.0);
    assert!(((fix.lon_deg - origin.lon_deg) * 71_270.0 - 100.0).abs() < 1.0);
    assert!((fix.alt_m - origin.alt_m - 1.0).abs() < 1e-3);
    let compass: &Heading = message(readings(&simulation, &events, "Cart.M")[0]);
    assert!(
        (compass.heading_rad - 1.0).abs() < 1e-6,
        "{}",
        compass.heading_rad
    );
}

#[test]
fn a_bumper_counts_how_often_it_is_pushed() {
    let sensor = r#"<bumper name="B" frame="Ahead" rate_hz="50"/>"#;
    let world = World::flat().with(
        Body::new(
            "post",
            Solid::Cylinder {
                radius_m: 0.3,
                half_m: 1.0,
            },
        )
        .at([4.0, 0.0, 1.0]),
    );
    let mut simulation = simulation(world, sensor);
    let pressed = |events: &[Event], simulation: &Simulation| {
        let said = readings(simulation, events, "Cart.B");
        let bumper: &Bumper = message(said.last().expect("it prints something"));
        (bumper.pressed, bumper.n_presses)
    };
    let events = drive(&mut simulation, 1.0, (0.0, 1.0));
    assert_eq!(pressed(&events, &simulation), (false, 0));
    let events = drive(&mut simulation, 4.0, (0.0, 1.0));
    let (is_pressed, n_presses) = pressed(&events, &simulation);
    assert!(is_pressed && n_presses >= 1);
    let events = drive(&mut simulation, 3.0, (0.0, -0.8));
    assert!(!pressed(&events, &simulation).0, "it has backed away");
}

#[test]
fn broken_sensors_are_silent_stuck_noisy_or_off() {
    let sensors = format!(r#"{LASER}<ins name="P" frame="Up" rate_hz="20"/>"#);
    let mut simulation = simulation(wall_ahead(), &sensors);
    let fault = |kind, port: &str| Fault {
        kind,
        port: Some(port.to_owned()),
        until_ns: None,
    };
    wait(&mut simulation, 0.5);

    simulation.break_down(fault(FaultKind::Dead, "Cart.L"));
    let events = wait(&mut simulation, 0.5);
    assert!(scans(&simulation, &events, "Cart.L").is_empty());
    assert!(
        !readings(&simulation, &events, "Cart.P").is_empty(),
        "others go on"
    );

    simulation.mend();
    simulation.break_down(fault(FaultKind::Stuck, "Cart.L"));
    let events = drive(&mut simulation, 2.0, (0.0, 1.0));
    let stuck = scans(&simulation, &events, "Cart.L");
    assert!(stuck.len() > 10 && !stuck[0].points.is_empty());
    assert!(
        stuck
            .array_windows()
            .all(|[a, b]| a.points == b.points && a.utime < b.utime)
    );

    simulation.mend();
    simulation.break_down(fault(FaultKind::Jump(5.0), "Cart.P"));
    let events = wait(&mut simulation, 0.2);
    let truth = simulation.pose().xyz()[0];
    let said = readings(&simulation, &events, "Cart.P");
    let pose: &PoseTransform = message(said.last().expect("it publishes poses"));
    assert!(
        (pose.matrix[3] - truth - 5.0).abs() < 0.3,
        "{} for {truth}",
        pose.matrix[3]
    );

    simulation.mend();
    let until_ns = Some(simulation.elapsed_ns() + 100_000_000);
    simulation.break_down(Fault {
        until_ns,
        ..fault(FaultKind::Dead, "Cart.P")
    });
    let events = wait(&mut simulation, 1.0);
    let heard = readings(&simulation, &events, "Cart.P").len();
    assert!(
        (17..=19).contains(&heard),
        "{heard} of 20: it was dead for 0.1 s"
    );
}

#[test]
fn jackal_in_generated_barn_worlds_stands_free_and_sees_walls() {
    for number in 0..24 {
        let mut simulation = crate::support::jackal(Barn::generate(number).world());
        let events = wait(&mut simulation, 0.05);
        let scan = &scans(&simulation, &events, "Laser.Scanner")[0];
        let near = scan.points.iter().filter(|point| point[3] < 5.0).count();
        assert!(near > 100, "{number}: {near} beams meet walls");
        assert_eq!(simulation.n_contacts_begun(), 0, "{number}");
    }
}

#[test]
fn devices_that_people_have_can_be_mounted_and_measure() {
    for (file, beams) in [
        ("urg04lx", 682),
        ("pb9_11", 91),
        ("vlp16", 16 * 900),
        ("hdl64", 64 * 1024),
        ("zed", 320 * 180),
    ] {
        let mut simulation =
            SimParameters::default().simulation(wall_ahead(), crate::support::cart_with(file));
        let events = wait(&mut simulation, 0.2);
        let port = simulation.vehicle().sensors[0].port.clone();
        let scan = &scans(&simulation, &events, &port)[0];
        let n_points = scan.points.len();
        assert!(
            n_points <= beams && n_points > beams / 2,
            "{file}: {n_points} of {beams}"
        );
    }
}

/// 1 m above the ground, 45 degrees down.
const CAMERA: &str = r#"<camera name="C" frame="Tilted" rate_hz="10" width_px="1280" height_px="1280" fov_deg="90"
    near_m="0.3" far_m="8"/>"#;

/// Points in the map of a vehicle that stands at the origin.
fn on_ground(scan: &Range3d) -> Vec<[f64; 3]> {
    let tilt = std::f64::consts::FRAC_PI_4.sin();
    let points = scan.points.iter().map(|point| point.map(f64::from));
    points
        .map(|[x, y, z, range]| {
            assert!((x.hypot(y).hypot(z) - range).abs() < 1e-5);
            [tilt * (x + z), y, 1.0 + tilt * (z - x)]
        })
        .collect()
}

fn seen(world: World, sensor: &str) -> Vec<[f64; 3]> {
    let mut simulation = simulation(world, sensor);
    // It settles on its springs first.
    let events = wait(&mut simulation, 2.0);
    let scans = scans(&simulation, &events, "Cart.C");
    assert_eq!(scans.len(), 20, "at its rate, lines or not");
    on_ground(scans.last().expect("a picture"))
}

#[test]
fn a_camera_sees_both_edges_of_a_line_where_they_are() {
    let line = Line::new("edge", vec![[-5.0, 1.0], [20.0, 1.0]]);
    let points = seen(World::flat().with_line(line), CAMERA);
    assert!(points.len() > 100, "{} points", points.len());
    for [x, y, z] in &points {
        let off = (y - 1.0).abs();
        assert!(
            (off - 0.05).abs() < 0.05,
            "at {x}: {off} m beside its middle"
        );
        assert!(z.abs() < 0.03, "on the ground: {z}");
    }
    let ahead = points.iter().map(|[x, ..]| *x);
    let nearest = ahead.clone().fold(f64::INFINITY, f64::min);
    let farthest = ahead.fold(0.0, f64::max);
    // Where the left edge of its picture meets the ground 0.95 m beside it.
    assert!((0.3..0.4).contains(&nearest), "{nearest}");
    // 8 m along its axis, which looks 45 degrees down.
    assert!((9.0..10.7).contains(&farthest), "{farthest}");
}

#[test]
fn what_stands_before_a_line_hides_it_and_gaps_are_not_seen() {
    let line = || Line::new("edge", vec![[3.0, -4.0], [3.0, 4.0]]);
    let post = Solid::Box {
        half_m: [0.1, 0.1, 2.0],
    };
    let hidden = seen(
        World::flat()
            .with_line(line())
            .with(Body::new("post", post).at([1.5, 0.0, 2.0])),
        CAMERA,
    );
    let gap = seen(
        World::flat().with_line(Line {
            dash_m: Some([3.75, 0.5]),
            ..line()
        }),
        CAMERA,
    );
    for points in [&hidden, &gap] {
        assert!(points.iter().all(|[_, y, _]| y.abs() > 0.15), "the middle");
        for side in [-1.0, 1.0] {
            assert!(points.iter().any(|[_, y, _]| y * side > 0.5), "the sides");
        }
    }
}

#[test]
fn a_camera_sees_lines_on_a_ramp_where_the_ramp_is() {
    let mut ramp = Body::new(
        "ramp",
        Solid::Box {
            half_m: [2.0, 5.0, 0.1],
        },
    )
    .at([4.0, 0.0, 0.2]);
    ramp.is_ground = true;
    let line = Line::new("edge", vec![[3.0, -1.0], [3.0, 1.0]]);
    let points = seen(World::flat().with(ramp).with_line(line), CAMERA);
    assert!(!points.is_empty());
    for [x, _, z] in points {
        assert!((z - 0.3).abs() < 0.05 && (x - 3.0).abs() < 0.15, "{x} {z}");
    }
}

#[test]
fn a_camera_that_is_worse_is_less_sure() {
    let line = || Line::new("edge", vec![[3.0, -4.0], [3.0, 4.0]]);
    let spread = |sensor: &str| {
        let points = seen(World::flat().with_line(line()), sensor);
        let off2 = points.iter().map(|[x, ..]| (x - 3.0) * (x - 3.0));
        (off2.sum::<f64>() / points.len() as f64).sqrt()
    };
    let good = spread(CAMERA);
    let noisy = spread(&CAMERA.replace("near_m", "pixel_sd=\"2\" near_m"));
    let coarse = spread(&CAMERA.replace("1280", "64"));
    assert!(noisy > good + 0.005, "{noisy} for {good}");
    assert!(coarse > good + 0.005, "{coarse} for {good}");
}
