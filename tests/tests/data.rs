//! Data sets of others: where they are found, and how a missing one is recorded. Samples of sweeps.

use bowline_tests::data::{Place, Use};
use bowline_tests::peers::workspace;
use bowline_tests::random::{Random, USUAL_CASES, USUAL_SEED, scaled};
use bowline_tests::sweep;
use std::fs;

const SET: Use<'_> = Use {
    set: "logs",
    what: "a test of logs",
};

#[test]
fn data_set_is_found_beside_the_repository_or_where_it_was_chosen() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    for folder in ["repository", "shared/data/logs", "other/logs"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    let (repository, other) = (root.join("repository"), root.join("other"));
    let record = root.join("not-run.txt");
    let mut place = Place {
        chosen: None,
        repository: &repository,
        record: &record,
    };
    let beside = SET.find_in(&place).expect("it is there");
    let expected = root.join("shared/data/logs").canonicalize();
    assert_eq!(
        beside.canonicalize().expect("a folder"),
        expected.expect("a folder")
    );
    place.chosen = Some(&other);
    assert_eq!(SET.find_in(&place), Some(other.join("logs")));
    assert!(!record.exists(), "nothing is missing");
}

#[test]
fn data_set_that_is_missing_is_recorded_with_its_use_and_the_reason() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let record = root.join("target/not-run.txt");
    let mut place = Place {
        chosen: None,
        repository: root,
        record: &record,
    };
    assert_eq!(SET.find_in(&place), None);
    place.chosen = Some(root);
    assert_eq!(SET.find_in(&place), None);
    assert_eq!(
        fs::read_to_string(&record).expect("a record"),
        "not run: logs: a test of logs: no folder logs in ../shared/data\n\
         not run: logs: a test of logs: no folder logs in the folder that BOWLINE_DATA names\n"
    );
}

#[test]
#[should_panic(expected = "expected BOWLINE_DATA to name a folder")]
fn data_folder_that_was_chosen_and_is_none_fails_the_test() {
    let root = tempfile::tempdir().expect("a folder");
    let chosen = root.path().join("nowhere");
    let place = Place {
        chosen: Some(&chosen),
        repository: root.path(),
        record: &root.path().join("not-run.txt"),
    };
    assert_eq!(SET.find_in(&place), None);
}

#[test]
fn sample_of_a_sweep_is_spread_evenly() {
    assert_eq!(sweep::evenly(Vec::from_iter(0..10), 3), [0, 3, 6]);
    assert_eq!(sweep::evenly(Vec::from_iter(0..10), 10).len(), 10);
    assert_eq!(sweep::evenly(vec![7, 8], 3), [7, 8]);
    assert!(sweep::evenly(vec![7, 8], 0).is_empty());
}

#[test]
fn pick_of_a_sweep_is_noted_for_the_end_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("swept.txt");
    let picked = sweep::pick_noted(&record, "kills", 3, 7);
    assert_eq!(picked, if sweep::is_whole() { 7 } else { 3 });
    let noted = fs::read_to_string(&record).expect("it was written");
    assert_eq!(noted, format!("swept: kills: {picked} of 7\n"));
}

#[test]
fn run_that_asks_for_new_cases_draws_others_but_where_they_are_fixed() {
    let first = |mut random: Random| random.bits();
    let usual = first(Random::fixed(5));
    assert_eq!(first(Random::drawn_in(USUAL_SEED, 5)), usual);
    assert_ne!(first(Random::drawn_in(1, 5)), usual);
    assert_ne!(first(Random::drawn_in(1, 5)), first(Random::drawn_in(1, 6)));
    assert_ne!(first(Random::drawn_in(1, 5)), first(Random::drawn_in(2, 5)));
}

#[test]
fn run_that_asks_for_more_cases_has_as_many_times_more_of_each_property() {
    assert_eq!(scaled(64, USUAL_CASES), 64);
    assert_eq!(scaled(64, 16 * USUAL_CASES), 1_024);
    assert_eq!(scaled(24, 1), 1, "none would prove nothing");
    assert_eq!(scaled(u32::MAX, u32::MAX), u32::MAX);
}

#[test]
fn usual_seed_is_the_one_that_cargo_sets() {
    let settings = fs::read_to_string(workspace().join(".cargo/config.toml"));
    let settings: toml::Table = settings.expect("it is there").parse().expect("TOML");
    let seed = settings["env"]["PROPTEST_RNG_SEED"]["value"].as_str();
    assert_eq!(seed, Some(&*USUAL_SEED.to_string()));
}
