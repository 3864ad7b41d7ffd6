//! What the obstacle map makes of rays and points.

use crate::support::modelled;
use bowline_autonomy::map::{ObstacleMap, ObstacleMapParameters};
use bowline_component::{Health, Rig};
use bowline_msgs::{Map, PoseTransform, Range3d};
use std::time::Duration;

fn parameters() -> ObstacleMapParameters {
    ObstacleMapParameters {
        vehicle: modelled(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../models/jackal/jackal.xml"
        )),
        lines: vec!["lines".to_owned()],
        ..ObstacleMapParameters::default()
    }
}

/// The robot at the origin, looking along x.
fn pose(utime: i64) -> PoseTransform {
    let mut matrix = [0.0; 16];
    for diagonal in [0, 5, 10, 15] {
        matrix[diagonal] = 1.0;
    }
    // As high as the inertial unit is mounted.
    matrix[11] = 0.14;
    PoseTransform {
        utime,
        frame: "INS:SenseCenter".to_owned(),
        reference: "map".to_owned(),
        matrix,
        ..PoseTransform::default()
    }
}

fn ranges(utime: i64, frame: &str, points: &[[f32; 4]]) -> Range3d {
    Range3d {
        utime,
        frame: frame.to_owned(),
        min_range_m: 0.1,
        max_range_m: 10.0,
        points: points.to_vec(),
        ..Range3d::default()
    }
    .with_lengths()
}

/// Straight ahead of the laser, which sits 0.12 m before the robot's middle.
fn ahead(range_m: f32) -> [f32; 4] {
    if range_m.is_infinite() {
        [1.0, 0.0, 0.0, range_m]
    } else {
        [range_m, 0.0, 0.0, range_m]
    }
}

fn heard(rig: &mut Rig, scan: &[[f32; 4]], lines: &[[f32; 4]]) -> Option<Map> {
    let utime = rig.now().utime();
    rig.send("laser", ranges(utime, "Laser:ScanCenter", scan));
    rig.send("lines", ranges(utime, "Jackal:Vehicle", lines));
    rig.send("pose", pose(utime));
    rig.advance(Duration::from_millis(100));
    rig.take::<Map>("traverse").pop()
}

fn at(map: &Map, x_m: f64, y_m: f64) -> String {
    let cell = |at: f64, origin: f64| ((at - origin) / map.cell_m).floor() as usize;
    let value = map.cells[0][cell(y_m, map.origin_m[1])][cell(x_m, map.origin_m[0])];
    match value {
        it if it.is_nan() => "unknown".to_owned(),
        it if it < 0.5 => "blocked".to_owned(),
        _ => "free".to_owned(),
    }
}

#[test]
fn a_point_blocks_its_cell_a_ray_frees_what_is_before_it_and_the_rest_is_not_known() {
    let mut rig = Rig::new::<ObstacleMap>(parameters());
    let map = heard(&mut rig, &[ahead(3.0)], &[[2.0, -1.0, 0.0, 2.2]]).unwrap();
    assert_eq!(at(&map, 3.12, 0.05), "blocked");
    assert_eq!(at(&map, 1.5, 0.05), "free");
    assert_eq!(at(&map, 4.0, 0.05), "unknown");
    assert_eq!(
        at(&map, 2.0, -1.0),
        "blocked",
        "a line, though it is on the ground"
    );
    assert_eq!(
        at(&map, 1.0, -0.5),
        "unknown",
        "nothing looks along the ground to a line"
    );
}

#[test]
fn what_has_gone_is_given_up_after_a_few_rays_and_lines_stay() {
    let mut rig = Rig::new::<ObstacleMap>(parameters());
    heard(&mut rig, &[ahead(3.0)], &[[2.0, 0.0, 0.0, 2.0]]);
    let mut map = None;
    for _ in 0..5 {
        map = heard(&mut rig, &[ahead(f32::INFINITY)], &[]);
    }
    let map = map.unwrap();
    assert_eq!(at(&map, 3.12, 0.05), "free");
    assert_eq!(at(&map, 9.0, 0.05), "free", "as far as the laser sees");
    assert_eq!(at(&map, 2.0, 0.05), "blocked", "the line is still there");
}

#[test]
fn points_overhead_and_on_the_ground_are_no_obstacles_and_garbage_is_left_out() {
    let mut rig = Rig::new::<ObstacleMap>(parameters());
    let scan = [
        [2.0, 0.0, 3.0, 3.6],
        [1.0, 0.0, -0.314, 1.05],
        [f32::NAN, 0.0, 0.0, 1.0],
        [4.0, 0.0, 0.0, f32::NAN],
        [4.0, 0.0, 0.0, 40.0],
    ];
    let map = heard(&mut rig, &scan, &[]).unwrap();
    for (x_m, expected) in [(2.12, "unknown"), (1.12, "unknown"), (4.12, "unknown")] {
        assert_eq!(at(&map, x_m, 0.05), expected, "{x_m}");
    }
}

#[test]
fn a_silent_source_withholds_the_map_and_is_named() {
    let mut rig = Rig::new::<ObstacleMap>(parameters());
    assert!(heard(&mut rig, &[ahead(3.0)], &[]).is_some());
    for _ in 0..4 {
        let utime = rig.now().utime();
        rig.send("lines", ranges(utime, "Jackal:Vehicle", &[]));
        rig.send("pose", pose(utime));
        rig.advance(Duration::from_millis(100));
    }
    assert!(rig.take::<Map>("traverse").is_empty());
    assert_eq!(
        rig.health(),
        &Health::Degraded("nothing comes from laser".into())
    );
}
