use crate::support::{EXACT, Scene, beams, camera, view};
use bowline_autonomy::map::{
    Cell, Chart as _, Height, REFUTATION, SensorNoise, TAKEOVER, Terrain, TerrainSettings,
};
use bowline_geometry::Transform;
use bowline_testing::random::{Random, cases};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

/// A measurement with a standard deviation of 2 cm.
fn height(z: f32) -> Height {
    Height {
        z,
        weight: 2500.0,
        tolerance: 4e-4 + 9e-4,
    }
}

fn cell(heights: &[f32]) -> Cell {
    let mut cell = Cell::default();
    heights.iter().for_each(|z| cell.observe(height(*z), 0));
    cell
}

fn small() -> Terrain {
    let settings = TerrainSettings {
        size_m: 20.0,
        cell_m: 0.25,
        ..TerrainSettings::default()
    };
    Terrain::new(settings).expect("it is a map")
}

#[test]
fn a_cell_is_half_a_cache_line() {
    assert_eq!(size_of::<Cell>(), 32);
}

#[test]
fn what_was_not_seen_is_unknown() {
    let cell = Cell::default();
    let numbers = [cell.height(), cell.variance(), cell.min(), cell.max()];
    assert!(numbers.iter().all(|it| it.is_nan()), "{numbers:?}");
}

#[test]
fn agreeing_heights_are_fused_as_a_kalman_filter_does() {
    let cell = cell(&[0.01, -0.01, 0.03, 0.01]);
    assert!((cell.height() - 0.01).abs() < 1e-6, "{cell:?}");
    assert!((cell.variance() - 1e-4).abs() < 1e-8, "{cell:?}");
    assert_eq!((cell.max(), cell.min()), (cell.height(), cell.height()));
}

#[test]
fn one_outlier_changes_nothing_whenever_it_comes() {
    for wrong in [3.0, -3.0, 0.4] {
        for at in 1..6 {
            let mut heights = vec![0.0; 12];
            heights[at] = wrong;
            let cell = cell(&heights);
            assert_eq!(
                (cell.height(), cell.max(), cell.min()),
                (0.0, 0.0, 0.0),
                "{wrong} at {at}"
            );
        }
    }
}

#[test]
fn a_first_measurement_that_was_wrong_is_given_up() {
    let cell = cell(&[5.0, 0.0, 0.01, 0.0, 0.01]);
    assert!(cell.height().abs() < 0.02, "{cell:?}");
}

#[test]
fn a_change_is_taken_over_after_a_few_that_agree() {
    for new in [1.0_f32, -1.0] {
        let mut heights = vec![0.0; 200];
        heights.extend(vec![new; usize::from(TAKEOVER) - 1]);
        assert_eq!(cell(&heights).height(), 0.0, "not yet");
        heights.push(new);
        assert!((cell(&heights).height() - new).abs() < 1e-3, "to {new}");
    }
}

#[test]
fn a_wall_in_a_cell_of_ground_survives() {
    // Two on the ground, then two on the wall, and so on: at different heights.
    let mut heights = Vec::new();
    for turn in 0..50_u8 {
        let up = 0.3 + 0.01 * f32::from(turn);
        heights.extend([0.0, 0.01, up, up + 0.2]);
    }
    let cell = cell(&heights);
    assert!(cell.max() > 0.75, "{cell:?}");
    assert!(cell.min().abs() < 0.05, "{cell:?}");
    let mut buried = cell;
    (0..1000).for_each(|_| buried.observe(height(0.0), 100));
    assert!(
        buried.max() > 0.75,
        "ground alone does not bury it: {buried:?}"
    );
}

#[test]
fn a_top_is_given_up_when_rays_go_through_and_it_is_not_seen() {
    let mut cell = cell(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(cell.max(), 1.0);
    let refute = |cell: &mut Cell, time| (0..REFUTATION).any(|_| cell.refute(0.3, time));
    assert!(!refute(&mut cell, 1), "it was seen a moment ago");
    assert!(!cell.refute(2.0, 100), "that goes over it");
    let mut once = cell;
    assert!(!once.refute(0.3, 100), "one ray is not enough");
    assert!(refute(&mut cell, 100));
    assert_eq!((cell.max(), cell.height()), (0.0, 0.0));
}

#[test]
fn a_box_that_was_taken_away_leaves_the_map() {
    let map_from_sensor = Transform::from_xyz_rpy([-8.0, 0.0, 1.5], [0.0, 0.2, 0.0]);
    let with_box = Scene {
        boxes: vec![([1.0, -1.0, 0.0], [2.0, 1.0, 1.0])],
        ..Scene::default()
    };
    let directions = camera(160, 120, 0.7);
    let mut terrain = small();
    let mut look = |scene: &Scene, utime: i64| {
        let points = scene.scan(&map_from_sensor, &directions, &EXACT, || 0.0);
        terrain.fuse(&points, EXACT, &view(map_from_sensor), utime);
        terrain.clear(&points, EXACT, &view(map_from_sensor), (utime, 1));
        terrain.grid().at([1.1, 0.1]).expect("it is within").max()
    };
    for turn in 0..20 {
        let top = look(&with_box, turn * 100_000);
        assert!(top > 0.9, "while it is seen it stays: {top}");
    }
    let mut tops = (20..60).map(|turn| look(&Scene::default(), turn * 100_000));
    assert!(tops.any(|top| top.is_nan() || top < 0.1), "gone");
}

#[test]
fn only_rays_that_a_device_can_measure_speak_against_anything() {
    let map_from_sensor = Transform::from_xyz([-8.0, 0.0, 0.5]);
    let wall = vec![[6.0, 0.05, 0.2, 6.01]; 4];
    let through: [(&str, [f32; 4], bool); 5] = [
        ("nothing met", [1.0, 0.0, 0.0, f32::INFINITY], true),
        (
            "nothing met, not of length 1",
            [1e6, 0.0, 0.0, f32::INFINITY],
            true,
        ),
        ("farther than it sees", [80.0, 0.6, 0.0, 80.0], false),
        ("nowhere", [0.0, 0.0, 0.0, f32::INFINITY], false),
        ("no number", [9.0, 0.06, 0.0, f32::NAN], false),
    ];
    for (what, ray, is_gone) in through {
        let mut terrain = small();
        terrain.fuse(&wall, EXACT, &view(map_from_sensor), 0);
        let rays = vec![ray; usize::from(REFUTATION)];
        terrain.clear(&rays, EXACT, &view(map_from_sensor), (5_000_000, 1));
        let cell = terrain.grid().at([-2.0, 0.05]).expect("it is within");
        assert_eq!(cell.is_known(), !is_gone, "{what}");
    }
}

#[test]
fn what_hangs_over_the_vehicle_is_no_ground() {
    let bridge = Scene {
        boxes: vec![([0.0, -5.0, 4.0], [5.0, 5.0, 4.5])],
        ..Scene::default()
    };
    let map_from_sensor = Transform::from_xyz([-5.0, 0.0, 1.0]);
    let points = bridge.scan(&map_from_sensor, &camera(100, 100, 1.4), &EXACT, || 0.0);
    let mut terrain = small();
    terrain.fuse(&points, EXACT, &view(map_from_sensor), 0);
    assert!(terrain.counts().overhead > 100, "{:?}", terrain.counts());
    let map = terrain.to_map("map", 0);
    let known = map.cells[3].iter().flatten().filter(|it| !it.is_nan());
    let tops: Vec<f32> = known.copied().collect();
    assert!(tops.len() > 100, "{} cells are known", tops.len());
    assert!(tops.iter().all(|top| *top < 0.1));
}

#[test]
fn walls_and_boxes_come_out_where_they_are() {
    let scene = Scene {
        boxes: vec![([2.0, -2.0, 0.0], [4.0, 2.0, 1.2])],
        ..Scene::default()
    };
    let mut random = Random::new(7);
    let mut terrain = small();
    let sensor = SensorNoise {
        range_sd_m: 0.01,
        ..EXACT
    };
    // A laser that looks down by 12 degrees, driven up to the box.
    for step in 0..400 {
        let x = -9.0 + 0.02 * f64::from(step);
        let map_from_sensor = Transform::from_xyz_rpy([x, 0.0, 1.8], [0.0, 0.21, 0.0]);
        let points = scene.scan(&map_from_sensor, &beams(361, 3.1), &sensor, || {
            random.normal()
        });
        terrain.fuse(
            &points,
            sensor,
            &view(map_from_sensor),
            i64::from(step) * 26_000,
        );
        terrain.clear(
            &points,
            sensor,
            &view(map_from_sensor),
            (i64::from(step) * 26_000, 1),
        );
    }
    let at = |x: f64, y: f64| terrain.grid().at([x, y]).copied().expect("it is within");
    assert!(
        at(1.0, 0.1).max() < 0.05,
        "ground before it: {:?}",
        at(1.0, 0.1)
    );
    assert!(at(2.1, 0.1).max() > 0.8, "its face: {:?}", at(2.1, 0.1));
    assert!(!at(7.0, 0.1).is_known(), "its shadow is unknown");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn the_same_points_give_the_same_map_to_the_bit_however_they_are_cut(
        cuts in proptest::collection::vec(1_usize..300, 1..40),
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let scene = Scene { boxes: vec![([1.0, -1.0, 0.0], [2.0, 1.0, 1.0])], ..Scene::default() };
        let map_from_sensor = Transform::from_xyz_rpy([-5.0, 0.3, 1.5], [0.1, 0.2, 0.3]);
        let points = scene.scan(&map_from_sensor, &camera(60, 40, 0.8), &EXACT, || 20.0 * random.normal());
        let (mut whole, mut cut) = (small(), small());
        whole.fuse(&points, EXACT, &view(map_from_sensor), 0);
        let mut rest = points.as_slice();
        for cut_at in cuts {
            let (now, later) = rest.split_at(cut_at.min(rest.len()));
            cut.fuse(now, EXACT, &view(map_from_sensor), 0);
            rest = later;
        }
        cut.fuse(rest, EXACT, &view(map_from_sensor), 0);
        let bits = |terrain: &Terrain| -> Vec<u32> {
            let map = terrain.to_map("map", 0);
            map.cells.iter().flatten().flatten().map(|it| it.to_bits()).collect()
        };
        prop_assert!(bits(&whole) == bits(&cut));
        prop_assert_eq!(whole.counts(), cut.counts());
    }

    #[test]
    fn garbage_is_counted_and_never_in_the_map(
        points in proptest::collection::vec(any::<[u32; 4]>(), 0..300),
        sensor in any::<[u32; 5]>(),
        place in any::<[u16; 3]>(),
    ) {
        let points: Vec<[f32; 4]> = points.iter().map(|it| it.map(f32::from_bits)).collect();
        let [min_range_m, max_range_m, range_sd_m, range_sd_per_m, bearing_sd_rad] = sensor.map(f32::from_bits);
        let ranges = bowline_msgs::Range3d {
            min_range_m, max_range_m, range_sd_m, range_sd_per_m, bearing_sd_rad, ..Default::default()
        };
        let sensor = SensorNoise::of(&ranges);
        let map_from_sensor = Transform::from_xyz(place.map(f64::from));
        let mut terrain = small();
        terrain.fuse(&points, sensor, &view(map_from_sensor), i64::MIN);
        terrain.clear(&points, sensor, &view(map_from_sensor), (i64::MAX, 1));
        let counts = terrain.counts();
        let all = counts.fused + counts.outside + counts.overhead + counts.nothing_met + counts.bad;
        prop_assert_eq!(all, points.len() as u64);
        let map = terrain.to_map("map", 0);
        prop_assert!(map.cells.iter().flatten().flatten().all(|it| !it.is_infinite()));
    }
}
