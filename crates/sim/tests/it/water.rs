//! What sensors of the water measure, against the world's truth.

use crate::support::{EPOCH, message, readings, repository, vehicle, wait};
use bowline_msgs::{GpsFix, Heading, Image, Multibeam, Sounding, Spectrum};
use bowline_sim::{
    Body, Event, Fault, FaultKind, Flow, Plume, Sea, SimParameters, Simulation, Solid, Spawn,
    World, to_geojson, world_to_svg,
};
use bowline_wire::Message;

/// Flat mud under 8 m of water.
fn pond(sea: Sea) -> World {
    let world = World {
        sea: Some(sea),
        ..World::default()
    };
    world.with(Body::new("mud", Solid::Plane).at([0.0, 0.0, -8.0]))
}

fn upsv(world: World, noise: f64) -> Simulation {
    let parameters = SimParameters {
        noise,
        ..SimParameters::default()
    };
    parameters.simulation(world, vehicle("upsv/upsv.xml"))
}

fn harbour() -> World {
    let path = repository().join("worlds/harbour.toml");
    World::load(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// What a sensor measures out of turn.
fn measured<M: Message + Clone + 'static>(simulation: &mut Simulation, port: &str, tick: u64) -> M {
    let reading = simulation.measure(port, tick).expect("there is one");
    message::<M>(&reading).clone()
}

fn ping(simulation: &mut Simulation, tick: u64) -> Multibeam {
    measured(simulation, "Multibeam.Ping", tick)
}

fn spectrum(simulation: &mut Simulation) -> Spectrum {
    measured(simulation, "Spectrometer.Spectrum", 1)
}

fn picture(simulation: &mut Simulation) -> Image {
    measured(simulation, "Camera.Image", 1)
}

fn sounding(simulation: &mut Simulation, tick: u64) -> f64 {
    measured::<Sounding>(simulation, "Sounder.Depth", tick).depth_m
}

fn put(simulation: &mut Simulation, xy_m: [f64; 2], heading_rad: f64) {
    simulation.teleport(&Spawn {
        xy_m,
        from_z_m: None,
        heading_rad,
    });
}

#[test]
fn a_sounder_measures_from_its_transducer_to_what_is_nearest_below() {
    let mut simulation = upsv(pond(Sea::default()), 0.0);
    let found = sounding(&mut simulation, 1);
    assert!(
        (found - 7.85).abs() < 1e-9,
        "the transducer is 0.15 m down: {found}"
    );
    // Something under the edge of its cone, half of 8 degrees at 7 m, comes first.
    let rock = Solid::Sphere { radius_m: 0.5 };
    simulation.spawn(Body::new("rock", rock).at([0.3, 0.7, -7.5]));
    let found = sounding(&mut simulation, 1);
    assert!((6.8..7.6).contains(&found), "{found}");
    // Without a bottom there is no echo.
    simulation.remove("mud");
    simulation.remove("rock");
    assert!(sounding(&mut simulation, 1).is_nan());
}

#[test]
fn sounder_noise_matches_its_deviation() {
    let mut simulation = upsv(pond(Sea::default()), 1.0);
    let errors: Vec<f64> = (1..=2_000)
        .map(|tick| sounding(&mut simulation, tick) - 7.85)
        .collect();
    let n = errors.len() as f64;
    let sd = (errors.iter().map(|it| it * it).sum::<f64>() / n).sqrt();
    assert!((sd - 0.03).abs() < 0.003, "{sd}");
}

#[test]
fn a_ping_over_flat_mud_is_flat_and_about_800_bytes() {
    let mut simulation = upsv(pond(Sea::default()), 0.0);
    let ping = ping(&mut simulation, 1);
    assert_eq!((ping.n_beams, ping.frame.as_str()), (240, "Multibeam:Head"));
    let bytes = ping.encode().expect("it can be sent").len();
    assert!((750..850).contains(&bytes), "{bytes} bytes");
    for (nth, range_cm) in ping.ranges_cm.iter().enumerate() {
        let angle = f64::from(ping.first_rad) + f64::from(ping.step_rad) * nth as f64;
        // The head is 0.16 m down.
        let expected = 784.0 / angle.cos();
        let error = f64::from(*range_cm) - expected;
        assert!(
            error.abs() <= 0.51 + 1e-3,
            "beam {nth}: {range_cm} for {expected}"
        );
    }
    assert!((ping.first_rad + 60_f32.to_radians()).abs() < 1e-6);
    let (middle, side) = (ping.strengths[120], ping.strengths[0]);
    assert!(
        middle > 2 * side && side > 0,
        "{middle} below, {side} at the side"
    );
}

#[test]
fn a_ping_shows_what_lies_on_the_bottom_and_on_which_side() {
    let mut world = pond(Sea::default());
    let half_m = [1.0, 1.0, 1.0];
    world = world.with(Body::new("box", Solid::Box { half_m }).at([-0.2, 5.0, -7.0]));
    let mut simulation = upsv(world, 0.0);
    let ping = ping(&mut simulation, 1);
    let beam = |angle: f64| {
        let off = |nth: &usize| {
            let points_to = f64::from(ping.first_rad) + f64::from(ping.step_rad) * *nth as f64;
            (points_to - angle).abs()
        };
        let nearest = (0..240).min_by(|one, two| off(one).total_cmp(&off(two)));
        nearest.expect("there are beams")
    };
    // To port is where angles grow: its top is 6 m down, 5 m away.
    let angle = (5.0_f64 / 5.84).atan();
    let found = f64::from(ping.ranges_cm[beam(angle)]) / 100.0;
    assert!((found - 5.84 / angle.cos()).abs() < 0.1, "{found}");
    let other = f64::from(ping.ranges_cm[beam(-angle)]) / 100.0;
    assert!((other - 7.84 / angle.cos()).abs() < 0.1, "{other}");
    assert!(
        ping.strengths[beam(angle)] > ping.strengths[beam(-angle)],
        "steel is harder than mud"
    );
}

#[test]
fn echoes_are_lost_and_noisy_at_the_configured_rate() {
    let mut simulation = upsv(pond(Sea::default()), 1.0);
    let (mut n_lost, mut n, mut squares) = (0_u32, 0_u32, 0.0);
    for tick in 1..=100 {
        let ping = ping(&mut simulation, tick);
        for (nth, range_cm) in ping.ranges_cm.iter().enumerate() {
            n += 1;
            if *range_cm == 0 {
                n_lost += 1;
                assert_eq!(ping.strengths[nth], 0, "no echo, no strength");
                continue;
            }
            let angle = f64::from(ping.first_rad) + f64::from(ping.step_rad) * nth as f64;
            squares += (f64::from(*range_cm) / 100.0 - 7.84 / angle.cos()).powi(2);
        }
    }
    let lost = f64::from(n_lost) / f64::from(n);
    assert!((lost - 0.02).abs() < 0.005, "{lost} lost");
    let sd = (squares / f64::from(n - n_lost)).sqrt();
    assert!((sd - 0.03).abs() < 0.003, "{sd} m");
}

#[test]
fn a_spectrometer_finds_a_plume_where_the_current_carries_it() {
    let plume = Plume {
        name: "drum".to_owned(),
        substance: "benzene".to_owned(),
        at_m: [0.0, 0.0],
        leak_gps: 4.0,
        radius_m: 1.0,
        mixing_m2ps: 0.1,
        depth_m: 2.0,
    };
    let current = Flow {
        speed_mps: 0.5,
        ..Flow::default()
    };
    let sea = Sea {
        current,
        plumes: vec![plume],
        ..Sea::default()
    };
    let mut simulation = upsv(pond(sea), 0.0);
    let mut benzene = |x: f64, y: f64| {
        // The inlet is 0.8 m ahead.
        put(&mut simulation, [x - 0.8, y], 0.0);
        let spectrum = spectrum(&mut simulation);
        let at = spectrum.names.iter().position(|it| it == "benzene");
        f64::from(spectrum.current_a[at.expect("it is looked at")])
    };
    let upstream = benzene(-20.0, 0.0);
    assert!(
        (upstream - 2e-13).abs() < 1e-18,
        "only what is always there: {upstream}"
    );
    // 25 m down: sigma^2 = 1 + 2 * 0.1 * 25 / 0.5 = 11; Q / (u H sqrt(2 pi) sigma) = 0.4812 g/m^3.
    let middle = benzene(25.0, 0.0) - 2e-13;
    let expected = 4e-11 * 4.0 / (0.5 * 2.0 * (std::f64::consts::TAU * 11.0).sqrt());
    assert!(
        (middle / expected - 1.0).abs() < 1e-3,
        "{middle} for {expected}"
    );
    let beside = benzene(25.0, 11_f64.sqrt()) - 2e-13;
    assert!(
        (beside / middle - (-0.5_f64).exp()).abs() < 1e-3,
        "a deviation to the side"
    );
    assert!(benzene(25.0, 30.0) < 2.1e-13, "far to the side");
    // What crosses each section a second is what leaks.
    let flux: f64 = (-300..=300)
        .map(|step| {
            let dissolved = (benzene(40.0, f64::from(step) * 0.1) - 2e-13) / 4e-11;
            dissolved * 0.1 * 2.0 * 0.5
        })
        .sum();
    assert!((flux - 4.0).abs() < 0.05, "{flux} g/s");
}

#[test]
fn a_picture_has_sky_above_water_and_what_stands_in_it() {
    let mut simulation = upsv(pond(Sea::default()), 0.0);
    let empty = picture(&mut simulation);
    assert_eq!(
        (empty.width, empty.height, empty.size),
        (160, 120, 160 * 120)
    );
    let at = |image: &Image, column: usize, row: usize| image.data[row * 160 + column];
    assert!(at(&empty, 80, 5) > 150, "sky: {}", at(&empty, 80, 5));
    assert!(
        at(&empty, 80, 115) < 90,
        "water before the bow: {}",
        at(&empty, 80, 115)
    );
    let mut wall = Body::new(
        "wall",
        Solid::Box {
            half_m: [0.5, 2.0, 3.0],
        },
    )
    .at([12.0, 4.0, 0.0]);
    wall.colour = Some([30, 30, 30]);
    simulation.spawn(wall);
    let walled = picture(&mut simulation);
    let changed: Vec<usize> = (0..walled.data.len())
        .filter(|at| walled.data[*at] != empty.data[*at])
        .collect();
    assert!(changed.len() > 500, "{} pixels", changed.len());
    assert!(changed.iter().all(|at| at % 160 < 80), "it is to the left");
    // What is under water is not seen.
    simulation.remove("wall");
    let ball = Solid::Sphere { radius_m: 1.0 };
    simulation.spawn(Body::new("wreck", ball).at([8.0, 0.0, -3.0]));
    assert_eq!(picture(&mut simulation).data, empty.data);
}

#[test]
fn in_the_harbour_the_container_is_seen_by_the_sonar_and_not_on_the_chart() {
    let mut world = harbour();
    world.sea = Some(Sea::default());
    let mut simulation = upsv(world, 0.0);
    put(&mut simulation, [120.2, 45.0], 0.0);
    let over = sounding(&mut simulation, 1);
    assert!(
        (5.2..5.7).contains(&over),
        "{over} m to the container's top"
    );
    let floor = |x: f64, y: f64| {
        simulation
            .height_at([x, y], -1.0)
            .expect("there is a floor")
    };
    for (x, y, range) in [
        (150.0, 90.0, -12.6..-11.4),
        (120.0, 60.0, -8.6..-7.4),
        (100.0, 1.0, -4.8..-3.5),
    ] {
        assert!(range.contains(&floor(x, y)), "{} at {x}, {y}", floor(x, y));
    }
}

#[test]
fn the_harbours_chart_is_fresh_and_knows_no_wreck() {
    let chart = to_geojson(&harbour()).expect("it has a sea");
    let path = repository().join("worlds/harbour.geojson");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        chart == committed,
        "worlds/harbour.geojson is not the world's chart: bowline sim chart worlds/harbour.toml -o worlds/harbour.geojson"
    );
    let chart: serde_json::Value = serde_json::from_str(&chart).expect("it is JSON");
    let features = chart["features"].as_array().expect("features");
    let kinds = |wanted: &str| {
        features
            .iter()
            .filter(|it| it["properties"]["kind"] == wanted)
            .count()
    };
    for (kind, n) in [
        ("quay", 2),
        ("pier", 1),
        ("pile", 10),
        ("survey", 1),
        ("geofence", 1),
        ("berth", 1),
    ] {
        assert_eq!(kinds(kind), n, "{kind}");
    }
    assert!(kinds("depth_area") >= 3 && kinds("sounding") > 50);
    let names = features
        .iter()
        .filter_map(|it| it["properties"]["name"].as_str());
    assert!(names.clone().any(|name| name == "pier"));
    assert!(!chart.to_string().contains("container") && !chart.to_string().contains("benzene"));
    // The berth is where the vessel's receiver reports it.
    let berth = features
        .iter()
        .find(|it| it["properties"]["kind"] == "berth")
        .expect("a berth");
    let mut simulation = upsv(harbour(), 0.0);
    let fix: GpsFix = measured(&mut simulation, "GPS.Fix", 1);
    let lon = berth["geometry"]["coordinates"][0]
        .as_f64()
        .expect("a number");
    let lat = berth["geometry"]["coordinates"][1]
        .as_f64()
        .expect("a number");
    // The antenna is 0.1 m ahead, which is north.
    assert!(
        (lon - fix.lon_deg).abs() < 1e-6 && (lat - fix.lat_deg).abs() < 2e-6,
        "{fix:?}"
    );
}

#[test]
fn a_world_without_a_sea_has_no_chart() {
    assert!(to_geojson(&World::flat()).is_none());
    assert!(world_to_svg(&harbour()).contains("m deep"));
    assert!(!world_to_svg(&World::flat()).contains("m deep"));
}

#[test]
fn the_same_seed_gives_a_vessel_the_same_bytes_and_another_one_others() {
    let run = |seed: i64| {
        let parameters = SimParameters {
            seed,
            ..SimParameters::default()
        };
        let mut simulation = parameters.simulation(harbour(), vehicle("upsv/upsv.xml"));
        let mut events = Vec::new();
        for nth in 0..1_000_i64 {
            simulation.command(&bowline_msgs::Thrust {
                utime: nth * 5_000,
                port_ratio: 0.5,
                starboard_ratio: 0.4,
            });
            simulation.step(EPOCH, &mut events);
        }
        events
            .iter()
            .flat_map(crate::repeatable::bytes)
            .collect::<Vec<u8>>()
    };
    let first = run(1);
    assert!(first == run(1));
    assert!(first != run(2));
}

/// What a vessel at rest measures in 20 s, with a fault or without.
struct Measured {
    /// East of its mean, and north of it, metres.
    fixes_m: Vec<[f64; 2]>,
    headings_rad: Vec<f64>,
    pings: Vec<Multibeam>,
}

fn at_rest(fault: Option<(FaultKind, &str)>) -> Measured {
    let world = pond(Sea::default());
    let (lat_deg, lon_deg) = (world.origin.lat_deg, world.origin.lon_deg);
    let mut simulation = upsv(world, 1.0);
    if let Some((kind, port)) = fault {
        let fault = Fault {
            kind,
            port: Some(port.to_owned()),
            until_ns: None,
        };
        assert!(simulation.break_down(fault));
    }
    let events = wait(&mut simulation, 20.0);
    let metres = 111_319.5;
    let mut all = Measured {
        fixes_m: Vec::new(),
        headings_rad: Vec::new(),
        pings: Vec::new(),
    };
    for reading in readings(&simulation, &events, "GPS.Fix") {
        let fix: &GpsFix = message(reading);
        all.fixes_m.push([
            (fix.lon_deg - lon_deg) * metres * lat_deg.to_radians().cos(),
            (fix.lat_deg - lat_deg) * metres,
        ]);
    }
    for reading in readings(&simulation, &events, "Compass.Heading") {
        all.headings_rad
            .push(message::<Heading>(reading).heading_rad);
    }
    for reading in readings(&simulation, &events, "Multibeam.Ping") {
        all.pings.push(message::<Multibeam>(reading).clone());
    }
    all
}

fn sd(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = numbers.clone().count() as f64;
    let mean = numbers.clone().sum::<f64>() / n;
    (numbers.map(|it| (it - mean).powi(2)).sum::<f64>() / n).sqrt()
}

#[test]
fn noise_fault_scales_one_sensor_only() {
    let sound = at_rest(None);
    assert!(sound.fixes_m.len() > 50 && sound.headings_rad.len() > 100);
    let noisy = at_rest(Some((FaultKind::Noisy(4.0), "GPS.Fix")));
    for axis in [0, 1] {
        let of = |it: &Measured| sd(it.fixes_m.iter().map(|fix| fix[axis]));
        let ratio = of(&noisy) / of(&sound);
        assert!((ratio - 4.0).abs() < 0.05, "{ratio}");
    }
    assert_eq!(noisy.headings_rad, sound.headings_rad);
    assert!(noisy.pings == sound.pings);
    let noisy = at_rest(Some((FaultKind::Noisy(4.0), "Compass.Heading")));
    let of = |it: &Measured| sd(it.headings_rad.iter().copied());
    let ratio = of(&noisy) / of(&sound);
    assert!((ratio - 4.0).abs() < 0.05, "{ratio}");
    assert_eq!(noisy.fixes_m, sound.fixes_m);
    // The middle beam looks straight down: the mud does not move, so all that differs is noise.
    let noisy = at_rest(Some((FaultKind::Noisy(4.0), "Multibeam.Ping")));
    let of = |it: &Measured| {
        let heard = it.pings.iter().map(|ping| f64::from(ping.ranges_cm[120]));
        sd(heard.filter(|it| *it > 0.0))
    };
    // Ranges are whole centimetres, and the noise is three of them.
    let ratio = of(&noisy) / of(&sound);
    assert!((3.5..=4.5).contains(&ratio), "{ratio}");
    assert_eq!(noisy.fixes_m, sound.fixes_m);
}

#[test]
fn jump_and_turn_faults_shift_fixes_and_headings_by_their_amount() {
    let sound = at_rest(None);
    let jumped = at_rest(Some((FaultKind::Jump(25.0), "GPS.Fix")));
    assert_eq!(jumped.fixes_m.len(), sound.fixes_m.len());
    for (jumped, sound) in jumped.fixes_m.iter().zip(&sound.fixes_m) {
        let [east_m, north_m] = [0, 1].map(|axis| jumped[axis] - sound[axis]);
        assert!(
            (east_m - 25.0).abs() < 0.1 && north_m.abs() < 0.01,
            "{east_m} {north_m}"
        );
    }
    assert_eq!(jumped.headings_rad, sound.headings_rad);
    let turned = at_rest(Some((FaultKind::Turn(0.5), "Compass.Heading")));
    assert_eq!(turned.headings_rad.len(), sound.headings_rad.len());
    for (turned, sound) in turned.headings_rad.iter().zip(&sound.headings_rad) {
        let left_rad = (turned - sound).rem_euclid(std::f64::consts::TAU);
        assert!((left_rad - 0.5).abs() < 1e-9, "{left_rad}");
    }
    assert_eq!(turned.fixes_m, sound.fixes_m);
}

#[test]
fn a_satellite_outage_is_silent_and_a_stuck_sonar_repeats_itself() {
    let mut simulation = upsv(harbour(), 1.0);
    let fault = |kind, port: &str| Fault {
        kind,
        port: Some(port.to_owned()),
        until_ns: Some(2_000_000_000),
    };
    wait(&mut simulation, 0.5);
    assert!(simulation.break_down(fault(FaultKind::Dead, "GPS.Fix")));
    assert!(simulation.break_down(fault(FaultKind::Stuck, "Multibeam.Ping")));
    let events = wait(&mut simulation, 1.0);
    assert_eq!(readings(&simulation, &events, "GPS.Fix").len(), 0);
    assert!(!readings(&simulation, &events, "Compass.Heading").is_empty());
    let pings = readings(&simulation, &events, "Multibeam.Ping").into_iter();
    let pings = pings.map(|reading| message::<Multibeam>(reading).clone());
    let pings: Vec<Multibeam> = pings.collect();
    assert!(pings.len() >= 4);
    assert!(
        pings
            .iter()
            .all(|ping| ping.ranges_cm == pings[0].ranges_cm)
    );
    assert!(pings.is_sorted_by(|one, two| one.utime < two.utime));
    let events = wait(&mut simulation, 2.0);
    assert!(
        !readings(&simulation, &events, "GPS.Fix").is_empty(),
        "it is over"
    );
}

#[test]
fn sea_state_is_published_as_simulated() {
    let current = Flow {
        speed_mps: 0.4,
        towards_rad: 1.0,
        tide_s: Some(10.0),
        ..Flow::default()
    };
    let mut simulation = upsv(
        pond(Sea {
            current,
            level_m: 0.5,
            ..Sea::default()
        }),
        1.0,
    );
    let events = wait(&mut simulation, 10.0);
    let seas: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Sea(sea) => Some(sea),
            Event::Measured { .. } | Event::Truth(_) | Event::Contact(_) => None,
        })
        .collect();
    assert_eq!(seas.len(), 500, "50 times a second");
    let (first, last) = (seas[0], seas[499]);
    assert!((first.depth_m - 8.5).abs() < 1e-9 && (first.surface_m - 0.5).abs() < 1e-9);
    assert!((first.current_mps[0] - 0.4 * 1_f64.cos()).abs() < 1e-3);
    assert!(
        (last.current_mps[0] + 0.4 * 1_f64.cos()).abs() < 1e-3,
        "the tide has turned"
    );
    assert!(seas[249].current_mps[0].abs() < 0.01, "it stands halfway");
}
