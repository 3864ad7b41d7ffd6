//! Worlds of the BARN challenge's kind: as files have them, and as they are generated.

use crate::support::repository;
use bowline_sim::Barn;

fn near(found: [f64; 3], expected: [f64; 3]) -> bool {
    let pairs = found.iter().zip(expected);
    pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn barn_world_in_a_file_has_its_cylinders_its_start_and_its_best_time() {
    // Two cylinders, and a path of three cells; the challenge's cell (10, 0) has its middle at (-3.075, 5.075).
    let text = r#"{"world":7,"cylinder_radius_m":0.075,"cylinders_xy_m":[[-4.425,0.075],[-1.0,6.0]],
        "reference_path":[[10,0],[10,14],[15,29]]}"#;
    let barn = Barn::parse(text).expect("it is one");
    let world = barn.world();
    let names: Vec<&str> = world.bodies.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["ground", "cylinder_0", "cylinder_1"]);
    assert_eq!(world.name, "barn_007");
    assert!(near(
        world.bodies[2].world_from_body.xyz(),
        [-1.0, 6.0, 0.5]
    ));
    let [x, y] = world.spawn.xy_m;
    assert!(near([x, y, 0.0], [-2.25, 3.0, 0.0]));
    let [first_x, first_y] = barn.path_m()[1];
    assert!(near([first_x, first_y, 0.0], [-3.075, 5.075, 0.0]));
    // 2.233 m to the path, 2.1 m and 2.372 m along it, 3.576 m from its end, at 2 m/s.
    let best_s = barn.optimal_time_s();
    assert!((best_s - 5.1405).abs() < 1e-3, "{best_s} s");
    assert_eq!(Barn::parse(&barn.to_json()).expect("it is one"), barn);
    for text in [
        "",
        "{}",
        "[1, 2]",
        r#"{"world":0,"cylinder_radius_m":-1,"cylinders_xy_m":[],"reference_path":[]}"#,
    ] {
        assert!(Barn::parse(text).is_err(), "{text}");
    }
}

/// How many worlds are looked at; twelve numbers have all combinations of fill and smoothing.
const N_GENERATED: u32 = 150;
/// Cylinders of the walls: 30 behind the start, 32 on each side before the grid, 30 on each side of it.
const N_WALLS: usize = 30 + 2 * 32 + 2 * 30;

#[test]
fn generated_barn_worlds_have_the_published_grid_fill_and_clearance() {
    // Cells inside of the walls, by the probability with which they were filled at first.
    let mut filled = [0_usize; 4];
    let mut lists = std::collections::BTreeSet::new();
    for number in 0..N_GENERATED {
        let barn = Barn::generate(number);
        assert_eq!(
            barn,
            Barn::generate(number),
            "the same number, the same world"
        );
        let n_cylinders = barn.cylinders_xy_m.len();
        filled[number as usize % 4] += n_cylinders - N_WALLS;
        for [x, y] in &barn.cylinders_xy_m {
            let [column, row] = [(x + 4.425) / 0.15, (y - 5.075) / 0.15];
            assert!((column - column.round()).abs() < 1e-6, "{number}: {x}");
            assert!((row - row.round()).abs() < 1e-6, "{number}: {y}");
            let is_wall = column.round() <= 0.0 || column.round() >= 29.0 || row.round() <= -33.0;
            let is_in_grid = (-0.1..29.1).contains(&column) && (-0.1..29.1).contains(&row);
            assert!(is_wall || is_in_grid, "{number}: ({x}, {y})");
        }
        check_way(&barn);
        assert!(lists.insert(barn.to_json()), "{number}: as another");
    }
    // Ratios of filled cells after smoothing, for 0.15, 0.20, 0.25 and 0.30 before it. A filled cell stays with two or more
    // of its eight neighbours filled: 0.15 becomes 0.15 * 0.34 = 0.05 the first time, and less the next.
    let n_cells = f64::from(28 * 30) * f64::from(N_GENERATED) / 4.0;
    let ratios = filled.map(|n| n as f64 / n_cells);
    println!("filled after smoothing: {ratios:.3?}");
    let expected = [(0.02, 0.06), (0.05, 0.11), (0.09, 0.18), (0.14, 0.30)];
    for (ratio, (low, high)) in ratios.iter().zip(expected) {
        assert!((low..high).contains(ratio), "{ratios:?}");
    }
}

/// The reference path leads from the first row of the grid to the last, a cell at a time, 0.3 m from all cylinders.
fn check_way(barn: &Barn) {
    let (number, way) = (barn.world, &barn.reference_path);
    assert!(way.len() >= 30, "{number}: {way:?}");
    let is = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
    let ends = is(way[0][1], 0.0) && is(way[way.len() - 1][1], 29.0);
    assert!(ends, "{number}: {way:?}");
    for [[ax, ay], [bx, by]] in way.array_windows() {
        let step = (ax - bx).abs().max((ay - by).abs());
        assert!(is(step, 1.0), "{number}: ({ax}, {ay}) to ({bx}, {by})");
    }
    for [x, y] in barn.path_m() {
        let to_surface_m = |[cx, cy]: &[f64; 2]| (cx - x).hypot(cy - y) - barn.cylinder_radius_m;
        let nearest_m = barn
            .cylinders_xy_m
            .iter()
            .map(to_surface_m)
            .fold(f64::INFINITY, f64::min);
        assert!(
            nearest_m > 0.3 - 1e-6,
            "{number}: {nearest_m} m at {x}, {y}"
        );
    }
    let best_s = barn.optimal_time_s();
    assert!((5.0..9.0).contains(&best_s), "{number}: {best_s} s");
}

#[test]
fn committed_clutter_world_is_what_the_generator_makes() {
    let path = repository().join("worlds/clutter.json");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let help = "run: bowline sim barn 87 -o worlds/clutter.json";
    assert!(text == Barn::generate(87).to_json(), "{help}");
}
