//! The map of the bottom on the bench, and what is found on it.

use crate::support::{heights, modelled, plane};
use bowline_autonomy::map::{Bathymetry, BathymetryParameters, MAX_SHOALS, ShoalSettings, shoals};
use bowline_component::{Build as _, Health, Ports, Rig};
use bowline_geometry::Transform;
use bowline_msgs::{Map, Multibeam, Path, PoseTransform};
use std::time::Duration;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/upsv/upsv.xml");
/// Where the sonar's head is on the vessel: how far astern of the middle, and below the water.
const ASTERN_M: f64 = 0.2;
const BELOW_M: f64 = 0.16;
const N_BEAMS: u16 = 120;

/// 8 m deep, with a box of 2 m by 2 m, 1.5 m high.
fn bottom(x_m: f64, y_m: f64) -> f64 {
    let is_on_box = (x_m - 20.0).abs() < 1.0 && (y_m - 5.0).abs() < 1.0;
    if is_on_box { -6.5 } else { -8.0 }
}

fn parameters() -> BathymetryParameters {
    BathymetryParameters {
        vehicle: modelled(MODEL),
        centre_m: vec![20.0, 0.0],
        size_m: 64.0,
        ..BathymetryParameters::default()
    }
}

fn pose(utime: i64, x_m: f64) -> PoseTransform {
    let map_from_vessel = Transform::from_xyz_rpy([x_m, 0.0, 0.0], [0.0; 3]);
    PoseTransform {
        utime,
        frame: "Vessel:Vehicle".to_owned(),
        reference: "map".to_owned(),
        matrix: std::array::from_fn(|at| map_from_vessel.matrix()[at / 4][at % 4]),
        ..PoseTransform::default()
    }
}

/// The pings of a sonar over a bottom from a vessel that heads east, by sound that is so much faster than it believes.
fn ping(utime: i64, x_m: f64, bottom: impl Fn(f64, f64) -> f64, faster: f64) -> Multibeam {
    let (first, step) = (-1.0_f64, 2.0 / f64::from(N_BEAMS - 1));
    let range = |nth: u16| {
        let (sin, cos) = (first + step * f64::from(nth)).sin_cos();
        // Along the beam, a centimetre at a time, from starboard to port.
        let lengths = (50_u16..4_000).map(|cm| f64::from(cm) / 100.0);
        let hit = { lengths }.find(|it| -BELOW_M - it * cos <= bottom(x_m - ASTERN_M, it * sin));
        hit.map_or(0, |range_m| (range_m * 100.0 / faster).round() as i16)
    };
    let ranges_cm: Vec<i16> = (0..N_BEAMS).map(range).collect();
    Multibeam {
        utime,
        frame: "Multibeam:Head".to_owned(),
        first_rad: first as f32,
        step_rad: step as f32,
        sound_speed_mps: 1_500.0,
        range_sd_m: 0.02,
        beam_width_rad: 0.02,
        strengths: vec![200; ranges_cm.len()],
        ranges_cm,
        ..Multibeam::default()
    }
    .with_lengths()
}

/// A way east from 0 at 1 m/s, with five pings a second.
fn sail(rig: &mut Rig, seconds: std::ops::Range<u32>, faster: f64) {
    for tick in seconds.start * 10..seconds.end * 10 {
        let (utime, x_m) = (rig.now().utime(), f64::from(tick) / 10.0);
        rig.send("pose", pose(utime, x_m));
        if tick % 2 == 0 {
            rig.send("ping", ping(utime, x_m, bottom, faster));
        }
        rig.advance(Duration::from_millis(100));
    }
}

/// The newest map, and what it has at a place.
fn newest(rig: &mut Rig) -> Map {
    rig.take::<Map>("bathymetry").pop().expect("there is one")
}

fn at(map: &Map, name: &str, [x_m, y_m]: [f64; 2]) -> Option<f32> {
    let column = ((x_m - map.origin_m[0]) / map.cell_m).floor();
    let row = ((y_m - map.origin_m[1]) / map.cell_m).floor();
    if column < 0.0 || row < 0.0 {
        return None;
    }
    plane(map, name)
        .get(row as usize)?
        .get(column as usize)
        .copied()
}

#[test]
fn map_grows_with_the_track_and_has_only_measured_depths() {
    let mut rig = Rig::new::<Bathymetry>(parameters());
    rig.advance(Duration::from_secs(10));
    assert!(rig.take::<Map>("bathymetry").is_empty(), "nothing is known");
    sail(&mut rig, 0..11, 1.0);
    let early = newest(&mut rig);
    assert_eq!(early.names, ["height", "variance", "count", "depth"]);
    sail(&mut rig, 11..31, 1.0);
    let map = newest(&mut rig);
    assert_eq!(*rig.health(), Health::Good);
    // Twelve metres to either side of the way at most, from where it began to where it is.
    let [west_m, south_m] = map.origin_m;
    let [width_m, height_m] = [map.n_columns, map.n_rows].map(|n| f64::from(n) * map.cell_m);
    assert!((-1.0..=0.0).contains(&west_m), "{west_m}");
    assert!((-13.5..=-11.0).contains(&south_m), "{south_m}");
    assert!(
        (24.0..=32.0).contains(&width_m) && (22.0..=27.0).contains(&height_m),
        "{width_m} {height_m}"
    );
    assert!(
        map.n_columns > early.n_columns + 20,
        "{} {}",
        early.n_columns,
        map.n_columns
    );
    for place_m in [[5.0, 0.0], [10.0, -6.0], [15.0, 8.0], [21.0, 0.2]] {
        let (height, depth) = (at(&map, "height", place_m), at(&map, "depth", place_m));
        assert!(
            height.is_some_and(|it| (it + 8.0).abs() < 0.06),
            "{place_m:?}: {height:?}"
        );
        assert!(
            depth.is_some_and(|it| (it - 8.0).abs() < 0.06),
            "{place_m:?}: {depth:?}"
        );
        assert!(at(&map, "count", place_m).is_some_and(|it| it >= 1.0));
        assert!(at(&map, "variance", place_m).is_some_and(|it| (0.0..0.05).contains(&it)));
    }
    let top = at(&map, "height", [20.2, 4.6]);
    assert!(top.is_some_and(|it| (it + 6.5).abs() < 0.1), "{top:?}");
    // Behind the box no beam comes to the ground.
    let shadow = at(&map, "height", [20.2, 6.6]);
    assert!(shadow.is_none_or(f32::is_nan), "{shadow:?}");
}

#[test]
fn object_on_the_bottom_is_reported_with_place_and_height() {
    let mut rig = Rig::new::<Bathymetry>(parameters());
    sail(&mut rig, 0..31, 1.0);
    let finds = rig
        .take::<Path>("finds")
        .pop()
        .expect("they are published with each map");
    let [find] = finds.waypoints.as_slice() else {
        panic!("expected one, found {:?}", finds.waypoints);
    };
    let [x_m, y_m] = find.position.map(f64::from);
    let off_m = (x_m - 20.0).hypot(y_m - 5.0);
    assert!(off_m < 0.5, "{off_m} m off");
    assert_eq!(find.id, "rises 1.5 m to -6.5 m");
}

#[test]
fn sound_speed_is_a_parameter_for_sonars_without_one() {
    for (sound_mps, expected_m) in [(0.0, 8.0 / 1.03), (1_545.0, 8.0)] {
        let mut rig = Rig::new::<Bathymetry>(BathymetryParameters {
            sound_mps,
            ..parameters()
        });
        sail(&mut rig, 0..11, 1.03);
        let depth = at(&newest(&mut rig), "depth", [5.0, 0.0]);
        assert!(
            depth.is_some_and(|it| (f64::from(it) - expected_m).abs() < 0.06),
            "{sound_mps} m/s: {depth:?}"
        );
    }
}

#[test]
fn a_level_that_is_not_0_shifts_depths_and_no_heights() {
    let mut rig = Rig::new::<Bathymetry>(BathymetryParameters {
        level_m: 1.5,
        ..parameters()
    });
    sail(&mut rig, 0..11, 1.0);
    let map = newest(&mut rig);
    let (height, depth) = (
        at(&map, "height", [5.0, 0.0]),
        at(&map, "depth", [5.0, 0.0]),
    );
    assert!(
        height.is_some_and(|it| (it + 8.0).abs() < 0.06),
        "{height:?}"
    );
    assert!(depth.is_some_and(|it| (it - 9.5).abs() < 0.06), "{depth:?}");
}

#[test]
fn pings_that_are_none_and_beams_without_an_echo_change_nothing() {
    let mut rig = Rig::new::<Bathymetry>(parameters());
    sail(&mut rig, 0..11, 1.0);
    let before = newest(&mut rig);
    for _ in 0..50 {
        let utime = rig.now().utime();
        rig.send("pose", pose(utime, 11.0));
        let mute = Multibeam {
            ranges_cm: vec![0; usize::from(N_BEAMS)],
            ..ping(utime, 11.0, bottom, 1.0)
        };
        rig.send("ping", mute);
        let crooked = Multibeam {
            step_rad: f32::NAN,
            ..ping(utime, 11.0, |_, _| -2.0, 1.0)
        };
        rig.send("ping", crooked);
        rig.advance(Duration::from_millis(100));
    }
    let Health::Degraded(why) = rig.health() else {
        panic!("{:?}", rig.health());
    };
    assert!(why.contains("pings were none"), "{why}");
    if let Some(after) = rig.take::<Map>("bathymetry").pop() {
        assert_eq!(
            plane(&after, "height").len(),
            plane(&before, "height").len()
        );
        assert_eq!(
            at(&after, "height", [5.0, 0.0]),
            at(&before, "height", [5.0, 0.0])
        );
    }
}

#[test]
fn health_names_the_silent_source() {
    for (silent, expected) in [
        ("ping", "nothing comes from the sonar"),
        ("pose", "nothing comes from pose"),
    ] {
        let mut rig = Rig::new::<Bathymetry>(parameters());
        sail(&mut rig, 0..2, 1.0);
        for _ in 0..100 {
            let utime = rig.now().utime();
            match silent {
                "ping" => rig.send("pose", pose(utime, 2.0)),
                _ => rig.send("ping", ping(utime, 2.0, bottom, 1.0)),
            }
            rig.advance(Duration::from_millis(100));
        }
        let Health::Degraded(why) = rig.health() else {
            panic!("{silent}: {:?}", rig.health());
        };
        assert!(why.starts_with(expected), "{why}");
    }
}

#[test]
fn an_area_that_is_none_is_refused_in_words() {
    for (wrong, expected) in [
        (
            BathymetryParameters {
                centre_m: vec![0.0; 3],
                ..parameters()
            },
            "expected centre_m to be x and y",
        ),
        (
            BathymetryParameters {
                size_m: 4_000.0,
                cell_m: 0.05,
                ..parameters()
            },
            "expected",
        ),
    ] {
        let refused = Bathymetry::build(wrong, &mut Ports::default()).map(drop);
        let why = refused.expect_err("it is no area").to_string();
        assert!(why.contains(expected), "{why}");
    }
}

/// A bottom that falls to the east, with boxes that stand up from it: middle, half a side, height.
fn slope(boxes: &[([f64; 2], f64, f64)]) -> Map {
    heights(80, 0.5, |x, y| {
        let stands = |([bx, by], half_m, _): &&([f64; 2], f64, f64)| {
            (x - bx).abs() < *half_m && (y - by).abs() < *half_m
        };
        let rise_m = boxes.iter().find(stands).map_or(0.0, |it| it.2);
        -5.0 - 0.05 * x + rise_m
    })
}

#[test]
fn objects_on_a_slope_are_reported_highest_first() {
    let settings = ShoalSettings::default();
    assert_eq!(shoals(&slope(&[]), &settings).unwrap(), []);
    let map = slope(&[([10.0, 10.0], 1.0, 1.0), ([30.0, 25.0], 1.5, 2.0)]);
    let found = shoals(&map, &settings).unwrap();
    let [high, low] = found.as_slice() else {
        panic!("{found:?}");
    };
    for (shoal, at_m, rise_m, area_m2) in [
        (high, [30.0, 25.0], 2.0, 9.0),
        (low, [10.0, 10.0], 1.0, 4.0),
    ] {
        let off_m = (shoal.at_m[0] - at_m[0]).hypot(shoal.at_m[1] - at_m[1]);
        assert!(off_m < 0.3, "{shoal:?}");
        // The bottom around it is taken from squares of 8 m, over which it falls by 0.4 m.
        assert!((shoal.rise_m - rise_m).abs() < 0.4, "{shoal:?}");
        let top_m = -5.0 - 0.05 * at_m[0] + rise_m;
        assert!((shoal.top_m - top_m).abs() < 0.1, "{shoal:?}");
        assert_eq!(shoal.area_m2, area_m2);
    }
}

#[test]
fn one_cell_alone_and_what_is_not_known_are_no_find() {
    let settings = ShoalSettings::default();
    let outlier = heights(40, 0.5, |x, y| if x < 0.5 && y < 0.5 { -1.0 } else { -5.0 });
    assert_eq!(shoals(&outlier, &settings).unwrap(), []);
    let one = ShoalSettings {
        n_cells: 1,
        ..settings
    };
    assert_eq!(shoals(&outlier, &one).unwrap().len(), 1);
    let holes = heights(40, 0.5, |x, _| if x < 10.0 { f64::NAN } else { -5.0 });
    assert_eq!(shoals(&holes, &one).unwrap(), []);
    let unknown = heights(40, 0.5, |_, _| f64::NAN);
    assert_eq!(shoals(&unknown, &one).unwrap(), []);
    assert_eq!(shoals(&heights(0, 0.5, |_, _| 0.0), &one).unwrap(), []);
}

#[test]
fn finds_are_bounded_and_a_map_without_heights_is_refused() {
    let settings = ShoalSettings {
        n_cells: 1,
        ..ShoalSettings::default()
    };
    let stones = heights(80, 0.5, |x, y| {
        let is_stone = (x / 0.5) as i64 % 4 == 0 && (y / 0.5) as i64 % 4 == 0;
        if is_stone { -4.0 } else { -5.0 }
    });
    assert_eq!(shoals(&stones, &settings).unwrap().len(), MAX_SHOALS);
    let mut other = heights(10, 0.5, |_, _| 0.0);
    other.names = vec!["cost".to_owned()];
    assert!(shoals(&other, &settings).is_err());
}
