use crate::support::{EXACT, Scene, beams, model, pose, ranges};
use bowline_autonomy::Agility;
use bowline_autonomy::map::{MAX_WAITING, Mapper, MapperSettings, Terrain, TerrainSettings};
use bowline_geometry::Transform;
use bowline_msgs::{PoseTransform, Range3d};
use std::time::Duration;

fn mapper(down_rad: f64) -> Mapper<Terrain> {
    let terrain = TerrainSettings {
        size_m: 24.0,
        cell_m: 0.2,
        ..TerrainSettings::default()
    };
    let settings = MapperSettings {
        pose_timeout: Duration::from_millis(200),
        agility: Agility {
            max_speed_mps: 20.0,
            max_turn_radps: 5.0,
        },
        clear_every: 1,
    };
    let terrain = Terrain::new(terrain).expect("it is a map");
    Mapper::new(model(down_rad), terrain, settings)
}

fn ground(utime: i64) -> Range3d {
    ranges(utime, 0, vec![[5.0, 0.0, -1.0, 5.1]; 10])
}

#[test]
fn points_wait_for_the_pose_after_them() {
    let mut mapper = mapper(0.0);
    mapper.take_pose(&pose(1_000_000, 0.0, 0.0, 0.0));
    mapper.take_ranges(&ground(1_010_000), 1_010_000);
    assert_eq!(
        mapper.chart().counts().fused,
        0,
        "the vehicle may be anywhere by then"
    );
    mapper.take_pose(&pose(1_020_000, 0.4, 0.0, 0.0));
    assert_eq!(mapper.chart().counts().fused, 10);
    // The laser is 1 m before the vehicle's origin, and half way between the poses.
    let cell = mapper
        .chart()
        .grid()
        .at([6.2, 0.0])
        .copied()
        .expect("it is within");
    assert!(cell.height().abs() < 1e-3, "{cell:?}");
    assert_eq!(mapper.utime(), Some(1_010_000));
}

#[test]
fn points_at_the_time_of_a_pose_need_no_other() {
    let mut mapper = mapper(0.0);
    mapper.take_pose(&pose(1_000_000, 0.0, 0.0, 0.0));
    mapper.take_ranges(&ground(1_000_000), 1_000_000);
    assert_eq!(mapper.chart().counts().fused, 10);
}

#[test]
fn points_without_a_pose_are_dropped_and_counted() {
    let mut mapper = mapper(0.0);
    mapper.take_ranges(&ground(1_000_000), 1_000_000);
    mapper.give_up(1_100_000);
    assert_eq!(mapper.counts().points_without_pose, 0, "it may still come");
    mapper.give_up(1_300_000);
    assert_eq!(mapper.counts().points_without_pose, 10, "it has not come");
    mapper.take_pose(&pose(2_000_000, 0.0, 0.0, 0.0));
    mapper.take_ranges(&ground(1_900_000), 2_000_000);
    assert_eq!(
        mapper.counts().points_without_pose,
        20,
        "before the first pose"
    );
    mapper.take_ranges(&ground(2_100_000), 2_100_000);
    mapper.take_pose(&pose(3_000_000, 0.0, 0.0, 0.0));
    assert_eq!(mapper.counts().points_without_pose, 30, "in a gap");
    assert_eq!(mapper.chart().counts().fused, 0);
    assert_eq!(mapper.map(), None);
}

#[test]
fn queue_is_bounded_and_counts_its_losses() {
    let mut mapper = mapper(0.0);
    for at in 0..MAX_WAITING + 3 {
        let utime = 1_000_000 + i64::try_from(at).expect("few");
        mapper.take_ranges(&ground(utime), utime);
    }
    assert_eq!(mapper.counts().points_pushed_out, 30);
}

#[test]
fn a_jump_makes_the_map_begin_anew() {
    let mut mapper = mapper(0.0);
    mapper.take_pose(&pose(1_000_000, 0.0, 0.0, 0.0));
    mapper.take_ranges(&ground(1_000_000), 1_000_000);
    assert!(mapper.map().is_some());
    mapper.take_pose(&pose(1_010_000, 3.0, 0.0, 0.0));
    assert_eq!(mapper.counts().jumps, 1);
    assert_eq!(mapper.map(), None);
    let trouble = mapper.take_trouble().expect("it reports so");
    assert!(trouble.contains("jumped by 3.0 m"), "{trouble}");
}

#[test]
fn unknown_frames_and_poses_are_counted_with_a_reason() {
    let mut mapper = mapper(0.0);
    mapper.take_pose(&pose(1_000_000, 0.0, 0.0, 0.0));
    let strange = Range3d {
        frame: "Sonar:Face".to_owned(),
        ..ground(1_000_000)
    };
    mapper.take_ranges(&strange, 1_000_000);
    assert_eq!(mapper.counts().points_without_frame, 10);
    assert!(mapper.take_trouble().is_some_and(|it| it.contains("Sonar")));
    let skewed = PoseTransform {
        matrix: [1.0; 16],
        ..pose(1_010_000, 0.0, 0.0, 0.0)
    };
    let nowhere = pose(1_010_000, f64::NAN, 0.0, 0.0);
    let mut unsure = pose(1_010_000, 0.0, 0.0, 0.0);
    unsure.attitude_covariance[4] = f64::INFINITY;
    let early = pose(1_000_000, 0.0, 0.0, 0.0);
    let other = PoseTransform {
        reference: "odom".to_owned(),
        ..pose(1_010_000, 0.0, 0.0, 0.0)
    };
    for (n, bad) in [skewed, nowhere, unsure, early, other].iter().enumerate() {
        mapper.take_pose(bad);
        assert_eq!(mapper.counts().poses_refused, n as u64 + 1);
    }
}

/// A laser that sweeps for 26 ms while the vehicle turns: what each beam really sees, from where it was then.
fn sweep(scene: &Scene, utime: i64, duration_us: i32, rate_radps: f64) -> Vec<[f32; 4]> {
    let directions = beams(361, 2.0);
    let mut points = Vec::new();
    for (at, direction) in directions.iter().enumerate() {
        let part = at as f64 / 360.0 - 1.0;
        let seconds = (utime as f64 + part * f64::from(duration_us)) * 1e-6;
        let car = Transform::from_xyz_rpy([0.0; 3], [0.0, 0.0, rate_radps * seconds]);
        let laser = car * Transform::from_xyz([1.0, 0.0, 1.0]);
        points.extend(scene.scan(&laser, &[*direction], &EXACT, || 0.0));
    }
    points
}

/// How far what was measured of a wall at x = 8 is from it, at most.
fn worst_off_wall(believed_us: i32) -> f64 {
    let wall = Scene {
        boxes: vec![([8.0, -30.0, 0.0], [9.0, 30.0, 2.0])],
        ..Scene::default()
    };
    let rate = 1.5;
    let mut mapper = mapper(0.0);
    for step in 0..100_i64 {
        let utime = step * 10_000;
        mapper.take_pose(&pose(utime, 0.0, 0.0, rate * utime as f64 * 1e-6 - 0.7));
    }
    // The clock of the scene begins where the heading is -0.7.
    let begin = 0.7 / rate * 1e6;
    for step in 10..25_i64 {
        let utime = step * 26_600;
        let shifted = utime - begin as i64;
        let points = sweep(&wall, shifted, 26_000, rate);
        mapper.take_ranges(&ranges(utime, believed_us, points), utime);
    }
    assert_eq!(mapper.counts().points_without_pose, 0);
    let (grid, mut worst) = (mapper.chart().grid(), 0.0_f64);
    for row in 0..grid.side() {
        for column in 0..grid.side() {
            let cell = grid.get(column, row).expect("it is within");
            if cell.is_known() {
                let x = grid.origin_m()[0] + (column as f64 + 0.5) * grid.cell_m();
                worst = worst.max((x - 8.0).abs());
            }
        }
    }
    worst
}

#[test]
fn a_wall_stays_straight_while_the_vehicle_turns() {
    let straight = worst_off_wall(26_000);
    assert!(straight <= 0.11, "within its cells: {straight} m");
    let bent = worst_off_wall(0);
    assert!(
        bent > 0.25,
        "and would not be without the times of points: {bent} m"
    );
}

#[test]
fn a_sweep_may_be_cut_into_messages() {
    let scene = Scene::default();
    let cut = |n: usize| {
        let mut mapper = mapper(0.2);
        for step in 0..30_i64 {
            mapper.take_pose(&pose(
                step * 10_000,
                0.02 * step as f64,
                0.0,
                0.03 * step as f64,
            ));
        }
        // 101 points, a millisecond apart, seen from 100 ms on.
        let laser = Transform::from_xyz_rpy([1.0, 0.0, 1.0], [0.0, 0.2, 0.0]);
        let points = scene.scan(&laser, &beams(101, 2.0), &EXACT, || 0.0);
        for (at, part) in points.chunks(n).enumerate() {
            let last = i64::try_from(at * n + part.len() - 1).expect("few");
            let duration = i32::try_from((part.len() - 1) * 1000).expect("few");
            mapper.take_ranges(&ranges(100_000 + last * 1000, duration, part.to_vec()), 0);
        }
        let map = mapper.map().expect("there is a map");
        let bits = map.cells.iter().flatten().flatten().map(|it| it.to_bits());
        bits.collect::<Vec<u32>>()
    };
    let whole = cut(101);
    for n in [1, 7, 50] {
        assert!(cut(n) == whole, "in parts of {n}");
    }
}
