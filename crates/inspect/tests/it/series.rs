//! Fields over time.

use bowline_inspect::series::Series;

const S: i64 = 1_000_000_000;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn what_all_have_in_common_is_kept() {
    let mut series = Series::default();
    assert_eq!(series.stats(), None);
    for (at, value) in [
        (0, 1.0),
        (1, f64::NAN),
        (2, 4.0),
        (3, -2.0),
        (4, f64::INFINITY),
    ] {
        series.push(at * S, value);
    }
    let stats = series.stats().unwrap();
    assert_eq!(stats.n, 3);
    assert!(close(stats.min, -2.0) && close(stats.max, 4.0) && close(stats.last, -2.0));
    assert!(close(stats.mean, 1.0));
    assert_eq!((series.n_gaps(), series.n_restarts()), (2, 0));
    assert_eq!(
        (series.first_ns(), series.last_ns()),
        (Some(0), Some(4 * S))
    );
}

#[test]
fn a_spike_survives_any_length_and_any_zoom_within_bounds() {
    let mut series = Series::default();
    let n = 3_000_000_i64;
    for at in 0..n {
        let value = if at == 123_457 { 99.0 } else { 1.0 };
        series.push(at * 1_000_000, value);
    }
    assert!(series.n_kept() <= 100_000);
    for n_columns in [1, 7, 80, 1000] {
        let window = series.window(0, n * 1_000_000, n_columns);
        let highest = window
            .columns
            .iter()
            .flatten()
            .map(|it| it.max)
            .fold(0.0, f64::max);
        assert!(close(highest, 99.0), "{n_columns}");
        let n_high = window
            .columns
            .iter()
            .flatten()
            .filter(|it| it.max > 2.0)
            .count();
        assert!(
            n_high <= 2,
            "a spike stays where it was: {n_high} of {n_columns}"
        );
        let stats = window.stats.unwrap();
        assert_eq!(stats.n, 3_000_000);
        assert!(close(stats.max, 99.0));
        assert!((stats.mean - 1.0).abs() < 1e-3);
    }
}

#[test]
fn columns_have_the_extremes_and_the_ends_of_their_time() {
    let mut series = Series::default();
    for (at, value) in [(0, 1.0), (1, 5.0), (2, -3.0), (3, 2.0), (8, 7.0), (12, 9.0)] {
        series.push(at * S, value);
    }
    let window = series.window(S, 11 * S, 5);
    let column = |at: usize| window.columns.get(at).copied().flatten();
    let first = column(0).unwrap();
    assert!(close(first.first, 5.0) && close(first.last, -3.0));
    assert!(close(first.min, -3.0) && close(first.max, 5.0) && !first.is_after_gap);
    assert!(close(column(1).unwrap().last, 2.0));
    assert_eq!(column(2), None);
    assert!(close(column(3).unwrap().first, 7.0));
    assert_eq!(window.before, Some((0, 1.0)));
    assert_eq!(window.after, Some((12 * S, 9.0)));
}

#[test]
fn what_is_no_number_is_a_gap() {
    let mut series = Series::default();
    for (at, value) in [(0, 1.0), (1, f64::NAN), (2, 2.0), (3, 3.0), (4, f64::NAN)] {
        series.push(at * S, value);
    }
    let window = series.window(0, 5 * S, 5);
    let after_gap: Vec<_> = window
        .columns
        .iter()
        .map(|it| it.map(|it| it.is_after_gap))
        .collect();
    assert_eq!(after_gap, [Some(true), None, Some(true), Some(false), None]);
}

#[test]
fn time_that_goes_back_starts_anew_and_a_moment_does_not() {
    let mut series = Series::default();
    series.push(10 * S, 1.0);
    series.push(10 * S - 1_000_000, 2.0);
    assert_eq!((series.n_restarts(), series.stats().unwrap().n), (0, 2));
    series.push(3 * S, 3.0);
    assert_eq!((series.n_restarts(), series.stats().unwrap().n), (1, 1));
    assert_eq!(series.first_ns(), Some(3 * S));
}

#[test]
fn the_number_nearest_to_a_moment_is_found_wherever_it_is_kept() {
    let mut series = Series::default();
    assert_eq!(series.nearest(0), None);
    for at in 0..200_000_i32 {
        series.push(i64::from(at) * S, f64::from(at));
    }
    for (ns, expected) in [
        (-S, 1.0),
        (199_999 * S, 199_999.0),
        (i64::MAX, 199_999.0),
        (190_000 * S + 1, 190_000.0),
    ] {
        let (_, found) = series.nearest(ns).unwrap();
        assert!((found - expected).abs() < 20.0, "{ns}: {found}");
    }
    let (_, old) = series.nearest(50_000 * S).unwrap();
    assert!((old - 50_000.0).abs() < 64.0, "{old}");
}

#[test]
fn windows_without_sense_are_empty() {
    let mut series = Series::default();
    series.push(0, 1.0);
    for (from, to, n) in [(5, 5, 10), (5, 1, 10), (0, 1, 0), (i64::MIN, i64::MAX, 3)] {
        assert_eq!(series.window(from, to, n).columns.len(), n);
    }
}
