//! Last moments: what lasts, lasts to its very end and no nanosecond longer, whether or not the gate was called in between.

use crate::bench::{Bench, ms};
use crate::station::Station;
use bowline_autonomy::gate::{Gate, Input, Reason, Rules};
use bowline_component::Time;
use bowline_msgs::{self as msgs, LeaseRequest, Thrust};
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);
const SQUARE_M: [[f64; 2]; 4] = [[-5.0, -5.0], [5.0, -5.0], [5.0, 5.0], [-5.0, 5.0]];

/// With a local stop and a fence, and nothing of it missing.
fn under_way(rules: &Rules) -> (Bench, Station) {
    let mut bench = Bench::new(rules.clone());
    let mut bridge = Station::new("bridge", 7, 0);
    bench.pass(ms(50));
    bench.handle(Input::Place([0.0, 0.0])).unwrap();
    bench.handle(Input::Beat).unwrap();
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    bench.pass(ms(50));
    bench.clear(&mut bridge).unwrap();
    bench.pass(ms(50));
    bench.task(&mut bridge, "goto 1,1").unwrap();
    (bench, bridge)
}

struct Row {
    what: &'static str,
    rules: Rules,
    begin: fn(&mut Bench, &mut Station),
    lasts: Duration,
    is_on: fn(&Bench) -> bool,
}

fn rows() -> [Row; 7] {
    // Nothing else is over before.
    let long = Rules {
        lease: ms(60_000),
        ..Rules::default()
    };
    let row = |what, rules, begin, lasts, is_on| Row {
        what,
        rules,
        begin,
        lasts,
        is_on,
    };
    let nothing = |_: &mut Bench, _: &mut Station| {};
    let is_free: fn(&Bench) -> bool = |bench| !bench.report().is_stopped;
    [
        row("a lease", Rules::default(), nothing, ms(1_000), |bench| {
            !bench.report().holder.is_empty()
        }),
        row("the grace", Rules::default(), nothing, ms(6_000), |bench| {
            bench.report().state != msgs::Gate::CONTINGENCY
        }),
        row(
            "a wish",
            long.clone(),
            |bench, _| bench.wish(0.5),
            ms(300),
            |bench| bench.output() != 0.0,
        ),
        row(
            "a setpoint",
            long.clone(),
            |bench, bridge| {
                bench.token = bench.gate.token();
                bench.task(bridge, "heading 45 1.5 for=1s").unwrap();
            },
            ms(1_500),
            |bench| {
                bench.report().level == msgs::Gate::SETPOINT
                    && bench.report().state == msgs::Gate::OPERATED
            },
        ),
        row(
            "a question",
            Rules {
                answer_within: ms(700),
                ..long.clone()
            },
            |bench, _| {
                let mut quay = Station::new("quay", 8, 0);
                bench.lease(&mut quay, LeaseRequest::TAKE).unwrap();
            },
            ms(700),
            |bench| bench.report().asking == "quay",
        ),
        row(
            "a beat",
            Rules {
                beat_within: Some(ms(500)),
                ..long.clone()
            },
            |bench, _| bench.handle(Input::Beat).unwrap(),
            ms(500),
            is_free,
        ),
        row(
            "a place",
            Rules {
                fence_m: Some(SQUARE_M.to_vec()),
                ..long
            },
            |bench, _| bench.handle(Input::Place([1.0, 1.0])).unwrap(),
            ms(2_000),
            is_free,
        ),
    ]
}

#[test]
fn what_lasts_is_there_in_its_last_moment_and_over_in_the_next() {
    for row in rows() {
        let what = row.what;
        let (mut bench, mut bridge) = under_way(&row.rules);
        (row.begin)(&mut bench, &mut bridge);
        let last = bench.now + row.lasts;
        bench.gate.advance(last);
        assert!((row.is_on)(&bench), "{what} in its last moment");
        assert_eq!(bench.gate.deadline(), Some(last + NS), "{what}");
        let n_changes = bench.gate.n_changes();
        bench.gate.advance(last + NS);
        if what != "a wish" {
            assert!(bench.gate.n_changes() > n_changes, "{what}: people see it");
        }
        assert!(!(row.is_on)(&bench), "{what} in the moment after that");
    }
}

#[test]
fn expired_state_ends_even_without_a_tick_for_an_hour() {
    for row in rows() {
        let (mut bench, mut bridge) = under_way(&row.rules);
        (row.begin)(&mut bench, &mut bridge);
        bench.gate.advance(bench.now + ms(3_600_000));
        assert!(!(row.is_on)(&bench), "{}", row.what);
        // Time that goes back brings nothing back.
        bench.gate.advance(bench.now);
        assert!(!(row.is_on)(&bench), "{}", row.what);
    }
}

fn with_fence(corners_m: Vec<[f64; 2]>) -> Rules {
    Rules {
        fence_m: Some(corners_m),
        ..Rules::default()
    }
}

#[test]
fn a_stop_that_is_cleared_long_after_the_last_place_stays_cleared() {
    let (mut bench, mut bridge) = under_way(&with_fence(SQUARE_M.to_vec()));
    bench.stop(&mut bridge, "look");
    for _ in 0..5 {
        bench.pass(ms(500));
        bench.lease(&mut bridge, LeaseRequest::RENEW).unwrap();
    }
    assert_eq!(
        bench.clear(&mut bridge),
        Err(Reason::Local),
        "it is reported"
    );
    bench.pass(ms(50));
    bench.clear(&mut bridge).unwrap();
    let deadline = bench.gate.deadline().expect("the lease ends some day");
    assert!(
        deadline > bench.now,
        "a deadline that has passed goes round"
    );
    bench.pass(ms(500));
    assert_eq!(bench.report().state, msgs::Gate::IDLE);
}

#[test]
fn a_fence_of_any_shape_knows_its_inside() {
    // A mooring basin with a slanted quay and a notch from the north.
    let corners_m = [
        [0.0, 0.0],
        [10.0, 0.0],
        [14.0, 8.0],
        [8.0, 8.0],
        [7.0, 3.0],
        [6.0, 8.0],
        [-2.0, 8.0],
    ];
    for (place_m, is_inside) in [
        ([5.0, 1.0], true),
        ([1.0, 7.5], true),
        ([-1.5, 7.0], true),
        ([-1.5, 5.0], false),
        ([12.0, 5.0], true),
        ([12.0, 3.0], false),
        ([13.5, 7.5], true),
        ([7.0, 2.5], true),
        ([7.0, 3.5], false),
        ([7.0, 7.0], false),
        ([6.0, 7.0], true),
        ([8.0, 7.0], true),
        ([5.0, -0.5], false),
        ([5.0, 8.5], false),
        ([20.0, 4.0], false),
        ([-20.0, 4.0], false),
        // As far north as the corner of the notch, and on either side of it.
        ([5.0, 3.0], true),
        ([9.0, 3.0], true),
        ([-5.0, 3.0], false),
    ] {
        let (mut bench, _) = under_way(&with_fence(
            corners_m.iter().map(|[x, y]| [x - 5.0, y - 1.0]).collect(),
        ));
        let [x, y] = place_m;
        bench.handle(Input::Place([x - 5.0, y - 1.0])).unwrap();
        assert_eq!(!bench.report().is_stopped, is_inside, "{place_m:?}");
    }
}

#[test]
fn the_borders_of_a_fence_in_the_south_and_west_are_inside() {
    for (place_m, is_inside) in [
        ([-5.0, 0.0], true),
        ([0.0, -5.0], true),
        ([5.0, 0.0], false),
        ([0.0, 5.0], false),
    ] {
        let square = vec![[-5.0, -5.0], [5.0, -5.0], [5.0, 5.0], [-5.0, 5.0]];
        let (mut bench, _) = under_way(&with_fence(square));
        bench.handle(Input::Place(place_m)).unwrap();
        assert_eq!(!bench.report().is_stopped, is_inside, "{place_m:?}");
    }
}

#[test]
fn half_a_place_is_none() {
    for nowhere in [[f64::NAN, 0.0], [0.0, f64::NEG_INFINITY]] {
        let square = vec![[-5.0, -5.0], [5.0, -5.0], [5.0, 5.0], [-5.0, 5.0]];
        let (mut bench, _) = under_way(&with_fence(square));
        bench.handle(Input::Place([0.0, 0.0])).unwrap();
        for _ in 0..20 {
            bench.handle(Input::Place(nowhere)).unwrap();
            assert!(!bench.report().is_stopped, "{nowhere:?} is not outside");
            bench.pass(ms(100));
        }
        bench.pass(ms(1));
        assert!(bench.report().is_stopped, "{nowhere:?} is no news");
    }
}

#[test]
fn a_fence_has_3_to_1000_corners_and_each_is_somewhere() {
    let circle = |n: u32| -> Vec<[f64; 2]> {
        let angles = (0..n).map(|at| f64::from(at) * std::f64::consts::TAU / f64::from(n));
        angles.map(|it| [it.cos(), it.sin()]).collect()
    };
    let gate = |corners_m| Gate::<Thrust>::new(with_fence(corners_m), Time::from_utime(1));
    for (n, is_fine) in [
        (0, false),
        (2, false),
        (3, true),
        (1_000, true),
        (1_001, false),
    ] {
        assert_eq!(gate(circle(n)).is_ok(), is_fine, "{n} corners");
    }
    for nowhere in [[f64::NAN, 0.0], [0.0, f64::INFINITY]] {
        let mut corners_m = circle(4);
        corners_m[2] = nowhere;
        let error = gate(corners_m).unwrap_err().to_string();
        assert!(error.contains("corner 3"), "{error}");
    }
}
