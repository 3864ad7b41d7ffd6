use crate::support::{heights, plane};
use bowline_autonomy::map::{Limits, ReadMapError, traverse};
use bowline_msgs::Map;
use bowline_testing::random::cases;
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

const N: usize = 40;
const CELL_M: f64 = 0.2;
const LIMITS: Limits = Limits {
    max_slope_rad: 0.4,
    max_step_m: 0.2,
    max_roughness_m: 0.1,
    window_m: 0.6,
    shadow_m: 2.0,
};

fn judged(height: impl Fn(f64, f64) -> f64) -> Map {
    traverse(&heights(N, CELL_M, height), &LIMITS).expect("it is a map")
}

/// The value of a plane at a place.
fn at(map: &Map, name: &str, x: f64, y: f64) -> f32 {
    plane(map, name)[(y / CELL_M) as usize][(x / CELL_M) as usize]
}

#[test]
fn level_ground_is_perfect() {
    let map = judged(|_, _| 12.5);
    for name in ["slope", "step", "roughness"] {
        assert!(
            plane(&map, name).iter().flatten().all(|it| it.abs() < 1e-3),
            "{name}"
        );
    }
    assert!(
        plane(&map, "traversability")
            .iter()
            .flatten()
            .all(|it| *it > 0.99)
    );
    assert!(plane(&map, "height").iter().flatten().all(|it| *it == 12.5));
}

#[test]
fn a_ramp_has_its_slope_and_no_step() {
    for angle in [0.1_f64, 0.2, 0.3, 0.39] {
        for (x, y) in [(1.0, 0.0), (0.0, -1.0), (0.6, 0.8)] {
            let map = judged(|east, north| angle.tan() * (x * east + y * north));
            let slope = f64::from(at(&map, "slope", 4.0, 4.0));
            assert!((slope - angle).abs() < 1e-3, "{slope} for {angle}");
            let (step, rough) = (at(&map, "step", 4.0, 4.0), at(&map, "roughness", 4.0, 4.0));
            assert!(step < 0.01 && rough < 0.01, "{step} {rough}");
            let score = f64::from(at(&map, "traversability", 4.0, 4.0));
            assert!(
                (score - (1.0 - angle / 0.4)).abs() < 0.06,
                "{score} for {angle}"
            );
        }
    }
}

#[test]
fn what_is_too_steep_cannot_be_driven() {
    let map = judged(|x, _| 0.5 * x);
    assert_eq!(at(&map, "traversability", 4.0, 4.0), 0.0);
}

#[test]
fn a_kerb_has_its_height_and_belongs_to_the_upper_cell() {
    let map = judged(|x, _| if x > 4.0 { 0.1 } else { 0.0 });
    assert!((at(&map, "step", 4.1, 4.0) - 0.1).abs() < 1e-6);
    assert!(at(&map, "step", 3.9, 4.0) < 1e-6);
    let free = at(&map, "traversability", 4.1, 4.0);
    assert!(
        (0.3..=0.5).contains(&free),
        "half the step it can do, and the slope of it: {free}"
    );
}

#[test]
fn a_wall_stops_and_leaves_the_ground_before_it_free() {
    let map = judged(|x, _| if (4.0..4.4).contains(&x) { 1.5 } else { 0.0 });
    assert_eq!(at(&map, "traversability", 4.1, 4.0), 0.0);
    assert_eq!(at(&map, "traversability", 4.3, 4.0), 0.0);
    assert!(
        at(&map, "traversability", 3.9, 4.0) > 0.99,
        "the passage is not made narrower"
    );
    assert!(at(&map, "traversability", 4.5, 4.0) > 0.99);
}

#[test]
fn a_ditch_stops_before_its_edge() {
    let map = judged(|x, _| if (4.0..4.6).contains(&x) { -0.8 } else { 0.0 });
    assert_eq!(at(&map, "traversability", 3.9, 4.0), 0.0);
    assert_eq!(at(&map, "traversability", 4.7, 4.0), 0.0);
    assert!((at(&map, "step", 3.9, 4.0) - 0.8).abs() < 1e-6);
}

#[test]
fn a_drop_is_seen_across_its_shadow() {
    let map = judged(|x, _| match x {
        x if x < 4.0 => 0.0,
        x if x < 5.0 => f64::NAN,
        _ => -2.0,
    });
    assert_eq!(at(&map, "traversability", 3.9, 4.0), 0.0, "the edge");
    assert!(at(&map, "traversability", 4.5, 4.0).is_nan(), "the shadow");
    assert!(at(&map, "traversability", 3.5, 4.0) > 0.99);
}

#[test]
fn a_gap_on_level_ground_is_no_drop() {
    let map = judged(|x, _| {
        if (4.0..5.0).contains(&x) {
            f64::NAN
        } else {
            0.0
        }
    });
    assert!(at(&map, "traversability", 3.9, 4.0) > 0.99);
    assert!(at(&map, "traversability", 4.5, 4.0).is_nan());
}

#[test]
fn rough_ground_is_rough_and_neither_steep_nor_stepped() {
    // Two centimetres up and down, as on a chess board: no neighbour is a step, on average there is no slope.
    let bumpy = |x: f64, y: f64| {
        let cell = (x / CELL_M) as i64 + (y / CELL_M) as i64;
        if cell % 2 == 0 { 0.02 } else { -0.02 }
    };
    let map = judged(bumpy);
    let rough = at(&map, "roughness", 4.1, 4.1);
    assert!((rough - 0.02).abs() < 0.002, "{rough}");
    assert!(at(&map, "slope", 4.1, 4.1) < 0.01);
    assert!(at(&map, "traversability", 4.1, 4.1) <= 0.8 + 1e-3);
}

#[test]
fn noise_that_is_known_does_not_make_ground_rough() {
    let mut map = heights(N, CELL_M, |x, y| {
        if ((x / CELL_M) as i64 + (y / CELL_M) as i64) % 2 == 0 {
            0.02
        } else {
            -0.02
        }
    });
    map.names.push("variance".to_owned());
    map.units.push("m^2".to_owned());
    map.cells.push(vec![vec![4e-4; N]; N]);
    let judged = traverse(&map.with_lengths(), &LIMITS).expect("it is a map");
    assert!(at(&judged, "roughness", 4.1, 4.1) < 0.005);
}

#[test]
fn what_stands_within_a_cell_is_a_step() {
    let mut map = heights(N, CELL_M, |_, _| 0.0);
    map.names.push("max".to_owned());
    map.units.push("m".to_owned());
    let mut tops = vec![vec![0.0; N]; N];
    tops[20][20] = 0.6;
    map.cells.push(tops);
    let judged = traverse(&map.with_lengths(), &LIMITS).expect("it is a map");
    let free = plane(&judged, "traversability");
    assert_eq!(free[20][20], 0.0);
    assert!(free[20][19] > 0.99);
}

#[test]
fn unknown_stays_unknown_and_lonely_cells_are_not_judged_free() {
    let map = judged(|_, _| f64::NAN);
    assert!(map.cells.iter().flatten().flatten().all(|it| it.is_nan()));
    let lonely = judged(|x, y| {
        if (x - 4.1).hypot(y - 4.1) < 0.1 {
            0.0
        } else {
            f64::NAN
        }
    });
    assert!(at(&lonely, "traversability", 4.1, 4.1).is_nan());
}

#[test]
fn maps_that_are_none_are_refused_with_a_reason() {
    let mut nameless = heights(N, CELL_M, |_, _| 0.0);
    nameless.names[0] = "colour".to_owned();
    let found = traverse(&nameless, &LIMITS).expect_err("no heights");
    assert!(
        matches!(&found, ReadMapError::NoPlane { expected, .. } if expected == "height"),
        "{found}"
    );
    let mut ragged = heights(N, CELL_M, |_, _| 0.0);
    ragged.cells[0][3].pop();
    let found = traverse(&ragged, &LIMITS).expect_err("ragged");
    assert!(matches!(found, ReadMapError::Ragged { .. }), "{found}");
    let mut sizeless = heights(N, CELL_M, |_, _| 0.0);
    sizeless.cell_m = 0.0;
    assert!(traverse(&sizeless, &LIMITS).is_err());
    assert!(
        traverse(
            &Map {
                cell_m: 1.0,
                ..Map::default()
            },
            &LIMITS
        )
        .is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn any_heights_give_ratios_or_nothing(
        bits in proptest::collection::vec(any::<u32>(), 100..=100),
        cell_m in 0.01_f64..2.0,
    ) {
        let map = heights(10, 1.0, |x, y| f64::from(f32::from_bits(bits[x as usize + 10 * (y as usize)])));
        let map = Map { cell_m, ..map };
        let judged = traverse(&map, &LIMITS).expect("it is a map");
        let free = plane(&judged, "traversability").iter().flatten();
        let known = map.cells[0].iter().flatten();
        for (free, height) in free.zip(known) {
            prop_assert!(free.is_nan() || (0.0..=1.0).contains(free));
            prop_assert!(height.is_finite() || free.is_nan(), "unknown is not free");
        }
    }
}
