//! Options of world files: what the parser accepts is in the example.

use crate::support::repository;
use bowline_sim::World;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is wrong with a world file.
fn errors(text: &str) -> String {
    let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    files.insert("w.toml".into(), text.as_bytes().to_vec());
    let world = World::load_from(Path::new("w.toml"), &mut files);
    world.expect_err("unknown keys").to_string()
}

/// A world file with a key that no table has, in every kind of table; and words that no choice has.
const UNKNOWN_KEYS: &str = r#"
qqqqqqqqqqqq = 1
[world]
name = "w"
qqqqqqqqqqqq = 1
origin = { qqqqqqqqqqqq = 1 }
[spawn]
at_m = [0, 0]
qqqqqqqqqqqq = 1
[body.box]
shape = "box"
size_m = [1, 1, 1]
qqqqqqqqqqqq = 1
path = { points_m = [[0, 0], [1, 0]], speed_mps = 1, qqqqqqqqqqqq = 1, end = "qqqq" }
[body.cylinder]
shape = "cylinder"
qqqqqqqqqqqq = 1
[body.sphere]
shape = "sphere"
qqqqqqqqqqqq = 1
[body.plane]
shape = "plane"
qqqqqqqqqqqq = 1
[body.mesh]
shape = "mesh"
qqqqqqqqqqqq = 1
[body.heightmap]
shape = "heightmap"
qqqqqqqqqqqq = 1
[body.seabed]
shape = "seabed"
size_m = [10, 10, 2]
depth_m = 5
qqqqqqqqqqqq = 1
channel = { points_m = [[-5, 0], [5, 0]], width_m = 2, depth_m = 6, qqqqqqqqqqqq = 1 }
[body.none]
shape = "qqqq"
[line.l]
points_m = [[0, 0], [1, 0]]
qqqqqqqqqqqq = 1
[sea]
qqqqqqqqqqqq = 1
current = { speed_mps = 0.1, qqqqqqqqqqqq = 1 }
wind = { speed_mps = 0.1, qqqqqqqqqqqq = 1 }
waves = { height_m = 0.1, qqqqqqqqqqqq = 1 }
[sea.plume.p]
substance = "benzene"
at_m = [0, 0]
leak_gps = 1
qqqqqqqqqqqq = 1
[area.a]
kind = "qqqq"
points_m = [[0, 0], [1, 0], [1, 1]]
qqqqqqqqqqqq = 1
"#;

/// What comes after a phrase in each line that has it.
fn after<'t>(text: &'t str, phrase: &str) -> Vec<&'t str> {
    let lines = text.lines();
    let rests = lines.filter_map(|line| line.split_once(phrase).map(|(_, rest)| rest));
    rests.collect()
}

/// Whether a document has a key: set, in the name of a table, or as the last word of a row of the table of faults.
fn has_key(document: &str, key: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    document.lines().any(|line| {
        let mut places = line.match_indices(key);
        places.any(|(at, _)| {
            let (before, rest) = (&line[..at], &line[at + key.len()..]);
            let is_whole = !before.bytes().last().is_some_and(is_word)
                && !rest.bytes().next().is_some_and(is_word);
            let is_set = rest.trim_start().starts_with('=');
            let is_table = before.ends_with(['[', '.']) && rest.starts_with([']', '.']);
            let is_amount = line.starts_with("#   \"") && before.ends_with("  ");
            is_whole && (is_set || is_table || is_amount)
        })
    })
}

/// The parser itself lists its keys and words when it finds one that it does not know.
#[test]
fn every_option_that_world_files_may_have_is_in_the_example() {
    let example = std::fs::read_to_string(repository().join("worlds/example.toml"));
    let example = example.expect("the example is there");
    let mut told = errors(UNKNOWN_KEYS);
    let words = |told: &str| -> Vec<String> {
        let lists = after(told, " is one of ").into_iter();
        let words = lists.flat_map(|list| list.split("\", ").collect::<Vec<_>>());
        let words = words.filter(|word| !word.starts_with("found "));
        words.map(|it| it.trim_matches('"').to_owned()).collect()
    };
    let faults =
        "[world]\nname = \"w\"\n[[fault]]\nat = \"1s\"\nkind = \"KIND\"\nqqqqqqqqqqqq = 1\n";
    let unknown = errors(&faults.replace("KIND", "qqqq"));
    let kinds = words(&unknown);
    assert!(kinds.len() >= 7, "{kinds:?}");
    for kind in &kinds {
        told += &errors(&faults.replace("KIND", kind));
        told.push('\n');
    }
    let n_tables = UNKNOWN_KEYS.matches("qqqqqqqqqqqq").count() + kinds.len();
    let lists: Vec<&str> = after(&told, "help: ")
        .into_iter()
        .filter_map(|help| help.split_once(" has ").map(|(_, keys)| keys))
        .collect();
    assert_eq!(lists.len(), n_tables, "{told}");
    let keys: std::collections::BTreeSet<&str> =
        lists.iter().flat_map(|list| list.split(", ")).collect();
    assert!(keys.len() >= 60, "{keys:?}");
    for key in keys {
        assert!(has_key(&example, key), "worlds/example.toml has no {key}");
    }
    let words = [words(&told), kinds].concat();
    assert!(words.len() >= 7 + 3 + 2 + 7, "{words:?}");
    for word in words {
        let quoted = format!("\"{word}\"");
        assert!(
            example.contains(&quoted),
            "worlds/example.toml has no {quoted}"
        );
    }
    assert!(!has_key(&example, "qqqq") && !has_key(&example, "radius"));
}
