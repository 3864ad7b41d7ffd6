//! Data sets of others: where they are found, and how a missing one is recorded. Samples of sweeps.

use bowline_tests::data::{Place, Use};
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
