//! What the sparse map and its distances promise.

use bowline_autonomy::plan::field::{Area, Field};
use bowline_autonomy::plan::sparse::{
    Cell, PlaneRule, PointRule, ReadMapError, SparseMap, Unknown,
};
use bowline_geometry::Transform;
use bowline_msgs::{Map, Range3d};
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn a_map_is_the_set_of_what_was_blocked_and_not_freed(
        acts in prop::collection::vec((any::<bool>(), -40..40_i32, -40..40_i32), 0..300),
    ) {
        let mut map = SparseMap::new(0.5, 1_000);
        let mut set = BTreeSet::new();
        let mut n_changes = 0_u64;
        for (is_block, x, y) in acts {
            let cell = Cell { x, y };
            let is_news = if is_block { set.insert(cell) } else { set.remove(&cell) };
            let said = if is_block { map.block(cell) } else { map.free(cell) };
            n_changes += u64::from(is_news);
            prop_assert_eq!(said, is_news);
        }
        prop_assert_eq!(map.n_blocked(), set.len());
        prop_assert_eq!(map.n_changes(), n_changes);
        for x in -41..41 {
            for y in -41..41 {
                let cell = Cell { x, y };
                prop_assert_eq!(map.is_blocked(cell), set.contains(&cell));
            }
        }
    }

    #[test]
    fn distances_are_those_between_squares(
        blocked in prop::collection::vec((-3..23_i32, -3..17_i32), 0..30),
    ) {
        let mut map = SparseMap::new(0.5, 1_000);
        for (x, y) in &blocked {
            map.block(Cell { x: *x, y: *y });
        }
        let mut field = Field::default();
        field.measure(&map, Area { low: Cell { x: 0, y: 0 }, n_columns: 20, n_rows: 14 });
        // What is outside of the area is not seen.
        let seen: Vec<(i32, i32)> = blocked
            .into_iter()
            .filter(|(x, y)| (0..20).contains(x) && (0..14).contains(y))
            .collect();
        for column in 0..20_i32 {
            for row in 0..14_i32 {
                let gap = |one: i32, two: i32| f64::from(((one - two).abs() - 1).max(0));
                let nearest = seen
                    .iter()
                    .map(|(x, y)| 0.5 * gap(column, *x).hypot(gap(row, *y)))
                    .fold(f64::INFINITY, f64::min);
                let cell = [usize::try_from(column).unwrap(), usize::try_from(row).unwrap()];
                let measured = field.distance_m(cell);
                prop_assert!(
                    (measured - nearest).abs() < 1e-4 || nearest.is_infinite() && measured > 1e5,
                    "({column}, {row}): {measured}, not {nearest}"
                );
            }
        }
    }
}

#[test]
fn a_full_map_counts_what_it_drops_and_keeps_the_rest() {
    let mut map = SparseMap::new(1.0, 2);
    for x in 0..40 {
        map.block(Cell { x, y: 0 });
    }
    assert_eq!((map.n_blocked(), map.n_dropped()), (16, 24));
    assert!(map.is_blocked(Cell { x: 15, y: 0 }));
    assert!(!map.is_blocked(Cell { x: 16, y: 0 }));
}

#[test]
fn places_that_are_nowhere_have_no_cell() {
    let map = SparseMap::new(0.1, 10);
    for at in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e12] {
        assert_eq!(map.cell_at([at, 0.0]), None, "{at}");
    }
}

fn plane(cells: Vec<Vec<f32>>, cell_m: f64) -> Map {
    Map {
        origin_m: [0.0, 0.0],
        cell_m,
        names: vec!["traversability".to_owned()],
        units: vec![String::new()],
        cells: vec![cells],
        ..Map::default()
    }
    .with_lengths()
}

fn rule(unknown: Unknown) -> PlaneRule {
    PlaneRule {
        plane: "traversability".to_owned(),
        blocked_below: 0.5,
        unknown,
    }
}

#[test]
fn map_blocks_and_frees_cells() {
    let good = 1.0;
    let bad = 0.2;
    let unknown = f32::NAN;
    for (how, expected) in [
        (Unknown::Free, [false, true, false]),
        (Unknown::Blocked, [false, true, true]),
        (Unknown::Kept, [false, true, true]),
    ] {
        let mut map = SparseMap::new(0.5, 100);
        for x in 0..3 {
            map.block(Cell { x, y: 0 });
        }
        map.block(Cell { x: 9, y: 9 });
        map.read_map(&plane(vec![vec![good, bad, unknown]], 0.5), &rule(how))
            .unwrap();
        let found = [0, 1, 2].map(|x| map.is_blocked(Cell { x, y: 0 }));
        assert_eq!(found, expected, "{how:?}");
        assert!(map.is_blocked(Cell { x: 9, y: 9 }), "outside of the map");
    }
}

#[test]
fn a_cell_is_blocked_if_any_of_a_finer_or_coarser_map_is() {
    let mut map = SparseMap::new(0.5, 100);
    let coarse = plane(vec![vec![1.0, 0.0]], 1.0);
    map.read_map(&coarse, &rule(Unknown::Free)).unwrap();
    let blocked: Vec<bool> = (0..4).map(|x| map.is_blocked(Cell { x, y: 1 })).collect();
    assert_eq!(blocked, [false, false, true, true]);
    let fine = plane(vec![vec![1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]; 4], 0.25);
    map.read_map(&fine, &rule(Unknown::Free)).unwrap();
    let blocked: Vec<bool> = (0..4).map(|x| map.is_blocked(Cell { x, y: 1 })).collect();
    assert_eq!(blocked, [false, false, true, false]);
}

#[test]
fn a_map_that_makes_no_sense_changes_nothing() {
    let mut map = SparseMap::new(0.01, 100);
    map.block(Cell { x: 1, y: 1 });
    let good = plane(vec![vec![1.0; 4]; 4], 1.0);
    let wrong = [
        Map {
            cell_m: f64::NAN,
            ..good.clone()
        },
        Map {
            cell_m: 0.0,
            ..good.clone()
        },
        Map {
            origin_m: [f64::INFINITY, 0.0],
            ..good.clone()
        },
        Map {
            cell_m: 1e9,
            ..good.clone()
        },
        Map {
            names: vec!["height".to_owned()],
            ..good.clone()
        },
    ];
    for wrong in wrong {
        let error = map.read_map(&wrong, &rule(Unknown::Free)).unwrap_err();
        assert!(
            matches!(
                error,
                ReadMapError::BadGrid { .. }
                    | ReadMapError::TooLarge { .. }
                    | ReadMapError::NoSuchPlane { .. }
            ),
            "{error}"
        );
        assert_eq!(map.n_blocked(), 1);
    }
    // Rows of different lengths are no reason to fall over.
    let ragged = plane(vec![vec![0.0; 2], vec![], vec![0.0; 3]], 0.01);
    map.read_map(&ragged, &rule(Unknown::Free)).unwrap();
}

#[test]
fn points_are_obstacles_between_ground_and_roof_and_within_range() {
    let mut map = SparseMap::new(0.5, 100);
    let ranges = Range3d {
        points: vec![
            [1.0, 0.0, 0.0, 1.0],
            [3.0, 0.0, -0.9, 3.1],
            [5.0, 0.0, 5.0, 7.1],
            [0.0, 9.0, 0.0, 9.0],
            [1.0, 0.0, 0.0, f32::INFINITY],
            [f32::NAN, 0.0, 0.0, 1.0],
        ],
        ..Range3d::default()
    }
    .with_lengths();
    let rule = PointRule {
        lowest_m: 0.3,
        highest_m: 2.0,
        farthest_m: 8.0,
    };
    let device = Transform::from_xyz_rpy([10.0, 0.0, 1.0], [0.0, 0.0, std::f64::consts::FRAC_PI_2]);
    map.add_points(&ranges, &device, &rule);
    assert_eq!(map.n_blocked(), 1);
    let met = map.cell_at([9.99, 1.01]).unwrap();
    let beside = map.cell_at([10.01, 1.01]).unwrap();
    assert!(map.is_blocked(met) || map.is_blocked(beside));
}
