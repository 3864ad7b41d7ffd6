//! The pilot in worlds of BARN that it has never seen, by laser alone.

use crate::barn_loop::{End, World, pilot_rule, read, run_pilot, run_window};

fn world(number: &str) -> World {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../worlds/barn");
    read(&std::fs::read_to_string(format!("{folder}/world_{number}.json")).unwrap())
}

#[test]
fn the_pilot_gets_through_worlds_that_it_has_never_seen_and_touches_nothing() {
    for (number, noise_m) in [
        ("000", 0.0),
        ("064", 0.01),
        ("148", 0.0),
        ("234", 0.01),
        ("298", 0.0),
    ] {
        let run = run_pilot(&world(number), noise_m, pilot_rule());
        assert_eq!(run.end, End::Goal, "world {number}: {run:?}");
        assert!(run.metric > 0.2, "world {number}: {run:?}");
    }
}

#[test]
fn a_drive_is_the_same_each_time() {
    let world = world("064");
    let [one, two] = [(), ()].map(|()| run_pilot(&world, 0.01, pilot_rule()));
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
}

#[test]
fn the_dynamic_window_driver_touches_nothing_in_an_easy_world() {
    let run = run_window(&world("000"), 0.0);
    assert_ne!(run.end, End::Contact, "{run:?}");
}
