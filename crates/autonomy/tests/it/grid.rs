use bowline_autonomy::map::{Grid, MakeGridError};
use bowline_testing::random::cases;
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use std::collections::BTreeMap;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// Against a map of everything that was ever written, from which what leaves is taken out.
    #[test]
    fn rolling_keeps_what_stays_and_forgets_the_rest(
        moves in proptest::collection::vec((-30_i32..30, -30_i32..30, any::<u16>()), 1..40),
    ) {
        const N: i64 = 9;
        let mut grid = Grid::<u32>::new(9.0, 1.0).expect("it is a grid");
        let mut known = BTreeMap::new();
        for (at, (x, y, mark)) in moves.into_iter().enumerate() {
            let (x, y) = (x / 3, y / 3);
            grid.centre_on([f64::from(x) + 0.5, f64::from(y) + 0.5]);
            let first = [i64::from(x) - N / 2, i64::from(y) - N / 2];
            let is_within = |place: &[i64; 2]| (0..2).all(|axis| (first[axis]..first[axis] + N).contains(&place[axis]));
            known.retain(|place, _| is_within(place));
            let place = [first[0] + i64::from(mark) % N, first[1] + i64::from(mark) / 16 % N];
            let value = u32::try_from(at).expect("few moves") + 1;
            *grid.at_mut(place.map(|it| it as f64 + 0.5)).expect("it is within") = value;
            known.insert(place, value);
            for row in 0..N {
                for column in 0..N {
                    let place = [first[0] + column, first[1] + row];
                    let expected = known.get(&place).copied().unwrap_or_default();
                    let found = grid.at(place.map(|it| it as f64 + 0.5)).copied();
                    prop_assert_eq!(found, Some(expected), "at {:?}", place);
                }
            }
        }
    }
}

#[test]
fn places_that_are_none_are_in_no_cell_and_move_nothing() {
    let mut grid = Grid::<u8>::new(10.0, 0.5).expect("it is a grid");
    *grid.at_mut([0.0, 0.0]).expect("it is within") = 7;
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        assert_eq!(grid.at([odd, 0.0]), None, "{odd}");
        grid.centre_on([odd, odd]);
    }
    assert_eq!(grid.at([0.0, 0.0]), Some(&7));
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let make = |size_m, cell_m| Grid::<u8>::new(size_m, cell_m).map(|grid| grid.side());
    assert_eq!(make(40.0, 0.2), Ok(200));
    assert_eq!(make(0.3, 0.1), Ok(3));
    assert!(matches!(make(40.0, 0.0), Err(MakeGridError::Cell { .. })));
    assert!(matches!(
        make(40.0, f64::NAN),
        Err(MakeGridError::Cell { .. })
    ));
    assert!(matches!(make(1e6, 0.1), Err(MakeGridError::Size { .. })));
    assert!(matches!(
        make(f64::NAN, 0.1),
        Err(MakeGridError::Size { .. })
    ));
}

#[test]
fn a_place_is_in_the_same_cell_wherever_the_grid_is() {
    let mut grid = Grid::<u8>::new(10.0, 0.1).expect("it is a grid");
    let place = [1234.56, -987.65];
    grid.centre_on(place);
    *grid.at_mut(place).expect("it is within") = 1;
    for step in 0..40 {
        grid.centre_on([place[0] + 0.1 * f64::from(step), place[1]]);
        assert_eq!(grid.at(place), Some(&1), "after {step} steps");
    }
}
