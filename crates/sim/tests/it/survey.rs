//! Maps compared with the world, by hand: a map of the ground before a wall.

use bowline_component::{Health, Rig};
use bowline_msgs::{Map, MapError};
use bowline_sim::{Survey, SurveyParameters};
use std::io::Write as _;

const N: usize = 10;

/// Flat ground, and from x = 3 on something 2 m high.
fn world() -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new()
        .suffix(".toml")
        .tempfile()
        .expect("a file");
    let text = "[world]\nname = \"w\"\n[body.ground]\nshape = \"plane\"\n\
                [body.wall]\nshape = \"box\"\nsize_m = [20.0, 100.0, 2.0]\non_m = [13.0, 0.0]\n";
    file.write_all(text.as_bytes()).expect("it can be written");
    file
}

/// Cells of half a metre from the origin on: x and y from 0 to 5.
fn map(height: impl Fn(usize, usize) -> f32, planes: &[&str]) -> Map {
    let plane = |name: &&str| -> Vec<Vec<f32>> {
        let cell = |row, column| match *name {
            "variance" => 0.01,
            _ => height(row, column),
        };
        let row = |row| (0..N).map(|column| cell(row, column)).collect();
        (0..N).map(row).collect()
    };
    let map = Map {
        utime: 7,
        cell_m: 0.5,
        names: planes.iter().map(|name| (*name).to_owned()).collect(),
        units: planes.iter().map(|_| "m".to_owned()).collect(),
        cells: planes.iter().map(plane).collect(),
        ..Map::default()
    };
    map.with_lengths()
}

fn errors(map: Map) -> (Vec<MapError>, Health) {
    let world = world();
    let mut rig = Rig::new::<Survey>(SurveyParameters {
        world: world.path().to_owned(),
        edge_cells: 1,
        ..SurveyParameters::default()
    });
    rig.send("map", map);
    (rig.take("error"), rig.health().clone())
}

#[test]
fn a_map_is_as_far_from_the_world_as_it_was_drawn() {
    // 10 cm too high on the ground, 20 cm too low on the wall; where the two meet nothing is compared.
    let drawn = |_, column| if column < 6 { 0.1 } else { 1.8 };
    let (errors, health) = errors(map(drawn, &["height", "variance"]));
    assert_eq!(health, Health::Good);
    let [error] = &errors[..] else {
        panic!("{errors:?}")
    };
    assert_eq!((error.utime, error.plane.as_str()), (7, "height"));
    // Columns 5 and 6 are at the edge.
    assert_eq!((error.n_compared, error.n_edges), (80, 20));
    let near =
        |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    near(error.rms_m, ((50.0 * 0.01 + 30.0 * 0.04) / 80.0_f64).sqrt());
    near(error.bias_m, (50.0 * 0.1 - 30.0 * 0.2) / 80.0);
    near(error.worst_m, 0.2);
    near(error.boldness, error.rms_m / 0.1);
}

#[test]
fn what_is_not_known_is_not_compared_and_what_is_no_map_of_heights_is_refused() {
    let (errors_of_none, _) = errors(map(|_, _| f32::NAN, &["height"]));
    let [error] = &errors_of_none[..] else {
        panic!("{errors_of_none:?}")
    };
    assert_eq!((error.n_compared, error.n_edges), (0, 0));
    assert!(error.rms_m == 0.0 && error.boldness == 0.0, "{error:?}");
    let (errors, health) = errors(map(|_, _| 0.0, &["slope"]));
    assert_eq!(errors, []);
    let Health::Failed(why) = health else {
        panic!("{health:?}")
    };
    assert!(
        why.contains("expected a map with a plane \"height\", found slope"),
        "{why}"
    );
}
