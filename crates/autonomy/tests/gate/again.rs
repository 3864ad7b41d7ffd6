//! What comes a second time, or has waited: done once, and no younger for having waited.

use crate::bench::{Bench, ms, task, thrust};
use crate::station::Station;
use bowline_autonomy::gate::{Input, Reason, Rules};
use bowline_msgs::{Gate, LeaseRequest, Task, Thrust};

/// Gives a task under a number of its sender's.
fn give(bench: &mut Bench, by: &mut Station, id: i64, words: &str) -> Result<(), Reason> {
    by.hear(&bench.token);
    let task = Task { id, ..task(words) };
    let command = by.task(bench.now, task);
    let outcome = bench.handle(Input::Task(&command));
    outcome.map_err(|it| it.reason)
}

fn ids(bench: &mut Bench) -> Vec<i64> {
    bench.tasks.drain(..).map(|task| task.id).collect()
}

#[test]
fn repeated_task_is_done_once_and_confirmed_again() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    for (id, words) in [
        (1, "survey 0,0 9,0 9,9 name=basin"),
        (2, "return"),
        (3, "hold"),
        (4, "resume"),
    ] {
        give(&mut bench, &mut bridge, id, words).unwrap();
    }
    let held = bench.report();
    assert_eq!(held.in_control, "autonomy: returns from basin");
    assert_eq!(ids(&mut bench), [1, 2, 3, 4]);
    // To resume twice is to give up the way back.
    for _ in 0..3 {
        bench.pass(ms(300));
        give(&mut bench, &mut bridge, 4, "resume").unwrap();
        assert_eq!(bench.report().in_control, held.in_control);
        assert_eq!(bench.report().since_utime, held.since_utime);
        assert_eq!(
            ids(&mut bench),
            [4],
            "its sender receives that it was taken"
        );
    }
    bench.pass(ms(900));
    assert_eq!(bench.report().holder, "bridge", "it keeps the lease, too");
    // Another number is another wish.
    give(&mut bench, &mut bridge, 5, "resume").unwrap();
    assert_eq!(bench.report().in_control, "autonomy: basin");
}

#[test]
fn the_number_of_a_task_is_its_session_s_and_none_is_none() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    for words in ["survey 0,0 9,0 9,9", "insert 1,1", "insert 1,1"] {
        give(&mut bench, &mut bridge, 0, words).unwrap();
    }
    give(&mut bench, &mut bridge, 5, "goto 1,1").unwrap();
    let since = bench.report().since_utime;
    bench.lease(&mut bridge, LeaseRequest::RELEASE).unwrap();
    bench.pass(ms(50));
    let mut deck = Station::new("deck", 8, 0);
    bench.lease(&mut deck, LeaseRequest::TAKE).unwrap();
    give(&mut bench, &mut deck, 5, "goto 2,2").unwrap();
    assert!(bench.report().since_utime > since, "another station's is");
    assert_eq!(ids(&mut bench), [0, 0, 0, 5, 5]);
}

#[test]
fn to_hold_and_to_keep_a_heading_have_their_effect_each_time() {
    let (mut bench, mut bridge) = Bench::armed(Rules {
        lease: ms(10_000),
        ..Rules::default()
    });
    give(&mut bench, &mut bridge, 5, "heading 90 1").unwrap();
    bench.pass(ms(1_000));
    let until = bench.report().until_utime;
    give(&mut bench, &mut bridge, 5, "heading 90 1").unwrap();
    assert!(bench.report().until_utime > until);
    give(&mut bench, &mut bridge, 6, "hold").unwrap();
    for _ in 0..12 {
        bench.direct(&mut bridge, 0.0).unwrap();
        bench.pass(ms(30));
    }
    bench.direct(&mut bridge, 0.5).unwrap();
    assert_eq!(bench.output(), 0.5);
    give(&mut bench, &mut bridge, 6, "hold").unwrap();
    assert_eq!((bench.output(), bench.report().state), (0.0, Gate::IDLE));
}

#[test]
fn a_task_that_something_else_came_after_is_not_confirmed() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    give(&mut bench, &mut bridge, 5, "goto 1,1").unwrap();
    bench.direct(&mut bridge, 0.0).unwrap();
    assert_eq!(ids(&mut bench), [5, 0], "the helm was paused");
    let again = give(&mut bench, &mut bridge, 5, "goto 1,1");
    assert_eq!(again, Err(Reason::Repeated));
    assert_eq!(bench.report().state, Gate::OPERATED);
    assert!(bench.tasks.is_empty());
    give(&mut bench, &mut bridge, 6, "goto 1,1").unwrap();
    assert_eq!(bench.report().state, Gate::AUTONOMOUS);
}

#[test]
fn a_task_is_not_confirmed_by_the_same_number_of_another_session_at_the_station() {
    let (mut bench, mut first) = Bench::ready(Rules::default());
    let mut second = Station::new("bridge", 8, 0);
    give(&mut bench, &mut first, 5, "goto 1,1").unwrap();
    bench.lease(&mut first, LeaseRequest::RELEASE).unwrap();
    bench.lease(&mut second, LeaseRequest::TAKE).unwrap();
    give(&mut bench, &mut second, 5, "goto 2,2").unwrap();
    bench.lease(&mut second, LeaseRequest::RELEASE).unwrap();
    bench.lease(&mut first, LeaseRequest::TAKE).unwrap();
    assert_eq!(ids(&mut bench), [5, 5]);
    let again = give(&mut bench, &mut first, 5, "goto 1,1");
    assert_eq!(again, Err(Reason::Repeated));
    assert!(bench.tasks.is_empty());
}

#[test]
fn what_waited_in_a_queue_is_as_old_as_it_is() {
    let (mut bench, mut bridge) = Bench::ready(Rules {
        lease: ms(60_000),
        ..Rules::default()
    });
    bench.task(&mut bridge, "goto 1,2").unwrap();
    bench.pass(ms(1_000));
    let wish = thrust(0.5);
    let mut wish_of = |age_ms: u64| {
        let received = bench.now - ms(age_ms);
        let told = Input::Wish(&wish);
        bench
            .gate
            .handle_received(bench.now, received, told)
            .unwrap();
        bench.output()
    };
    assert_eq!(wish_of(1_000), 0.0);
    assert_eq!(wish_of(301), 0.0);
    assert_eq!(wish_of(200), 0.5);
    bench.pass(ms(100));
    assert_eq!(bench.output(), 0.5);
    bench.pass(ms(1));
    assert_eq!(bench.output(), 0.0, "it lasts from when it came");
}

#[test]
fn what_was_wished_before_the_valve_opened_does_not_count_when_it_comes_out_of_a_queue_after() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    let before = bench.now;
    bench.pass(ms(10));
    bench.task(&mut bridge, "goto 1,2").unwrap();
    let wish = thrust(0.5);
    let told = Input::Wish(&wish);
    bench.gate.handle_received(bench.now, before, told).unwrap();
    assert_eq!(bench.output(), 0.0);
    bench.wish(0.5);
    assert_eq!(bench.output(), 0.5);
}

#[test]
fn a_beat_and_a_place_that_waited_are_as_old_as_they_are() {
    let corners_m = vec![[-5.0, -5.0], [5.0, -5.0], [5.0, 5.0], [-5.0, 5.0]];
    let beat: fn() -> Input<'static, Thrust> = || Input::Beat;
    let place: fn() -> Input<'static, Thrust> = || Input::Place([0.0, 0.0]);
    for (rules, told, lasts_ms) in [
        (
            Rules {
                beat_within: Some(ms(500)),
                ..Rules::default()
            },
            beat,
            500,
        ),
        (
            Rules {
                fence_m: Some(corners_m),
                ..Rules::default()
            },
            place,
            2_000,
        ),
    ] {
        let mut bench = Bench::new(rules);
        let mut bridge = Station::new("bridge", 7, 0);
        bench.pass(ms(50));
        bench.handle(told()).unwrap();
        bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
        bench.pass(ms(50));
        bench.clear(&mut bridge).unwrap();
        bench.pass(ms(200));
        let received = bench.now - ms(100);
        bench
            .gate
            .handle_received(bench.now, received, told())
            .unwrap();
        // An older one that comes after it makes nothing older.
        let older = bench.now - ms(150);
        bench
            .gate
            .handle_received(bench.now, older, told())
            .unwrap();
        bench.pass(ms(lasts_ms - 100));
        assert!(!bench.report().is_stopped, "{:?}", told());
        let past = bench.now;
        assert!(bench.gate.deadline().is_some_and(|it| it > past));
        bench.pass(ms(1));
        assert!(bench.report().is_stopped, "{:?}", told());
    }
}
