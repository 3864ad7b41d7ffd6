//! Who answers for a vehicle that is outside its fence, or at an unknown place, and for how long.

use crate::bench::{Bench, ms};
use crate::station::Station;
use bowline_autonomy::gate::{Contingency, Input, Reason, Rules};
use bowline_msgs::{Gate, LeaseRequest};

const INSIDE: [f64; 2] = [0.0, 0.0];
const OUTSIDE: [f64; 2] = [6.0, 0.0];

fn rules() -> Rules {
    Rules {
        fence_m: Some(vec![[-5.0, -5.0], [5.0, -5.0], [5.0, 5.0], [-5.0, 5.0]]),
        contingency: Contingency::Return,
        ..Rules::default()
    }
}

/// A gate, a station that holds its lease, and a pose every 100 ms where there is one.
struct Water {
    bench: Bench,
    bridge: Station,
    place_m: Option<[f64; 2]>,
    has_operator: bool,
}

impl Water {
    /// Stopped as gates begin, with a holder of the lease.
    fn at(place_m: Option<[f64; 2]>) -> Self {
        let mut water = Self {
            bench: Bench::new(rules()),
            bridge: Station::new("bridge", 7, 0),
            place_m,
            has_operator: false,
        };
        water.pass(100);
        let Self { bench, bridge, .. } = &mut water;
        bench.lease(bridge, LeaseRequest::TAKE).unwrap();
        water.has_operator = true;
        water.pass(100);
        water
    }

    /// Outside, as the operator has seen and excused.
    fn excused() -> Self {
        let mut water = Self::at(Some(INSIDE));
        water.clear().unwrap();
        water.place_m = Some(OUTSIDE);
        water.pass(100);
        assert_eq!(water.stopped_by(), "fence");
        water.clear().unwrap();
        water.pass(100);
        let reason = water.bench.report().reason;
        let expected = "; the vehicle is outside the fence, excused by \"bridge\"";
        assert!(reason.ends_with(expected), "{reason}");
        water
    }

    fn pass(&mut self, period_ms: u64) {
        for _ in 0..period_ms / 100 {
            if let Some(place_m) = self.place_m {
                self.bench.handle(Input::Place(place_m)).unwrap();
            }
            if self.has_operator {
                self.bench
                    .lease(&mut self.bridge, LeaseRequest::RENEW)
                    .unwrap();
            }
            self.bench.pass(ms(100));
        }
    }

    fn clear(&mut self) -> Result<(), Reason> {
        self.bench.clear(&mut self.bridge)
    }

    fn task(&mut self, words: &str) -> Result<(), Reason> {
        self.bench.task(&mut self.bridge, words)
    }

    fn stopped_by(&self) -> String {
        self.bench.report().stopped_by
    }
}

#[test]
fn clearing_anothers_stop_excuses_no_unreported_fence() {
    let mut water = Water::at(Some(INSIDE));
    water.clear().unwrap();
    water
        .bench
        .stop(&mut Station::new("deck", 8, 0), "a swimmer");
    water.place_m = Some(OUTSIDE);
    water.pass(200);
    assert_eq!(water.stopped_by(), "deck");
    assert_eq!(water.clear(), Err(Reason::Local));
    let report = water.bench.report();
    assert_eq!(
        (report.stopped_by.as_str(), report.stop_reason.as_str()),
        ("fence", "the vehicle is outside the fence")
    );
    assert_eq!(
        water.clear(),
        Err(Reason::Unseen),
        "it cannot have received that yet"
    );
    water.pass(100);
    water.clear().unwrap();
    water.pass(100);
    water.task("goto 0,0").unwrap();
    water.bench.wish(0.5);
    assert_eq!(water.bench.output(), 0.5, "how else would it come back");
}

#[test]
fn an_excuse_is_for_what_was_seen_and_ends_with_it() {
    // Where the vehicle was outside, its place is unknown now.
    let mut water = Water::excused();
    water.place_m = None;
    water.pass(1_900);
    assert_eq!(water.stopped_by(), "");
    let deadline = water.bench.gate.deadline();
    assert!(deadline.is_some_and(|it| it > water.bench.now));
    water.pass(200);
    let reason = water.bench.report().stop_reason;
    assert!(reason.contains("not known"), "{reason}");

    // The reason of the stop is not what is wrong by now.
    let mut water = Water::at(Some(INSIDE));
    water.clear().unwrap();
    water.place_m = Some(OUTSIDE);
    water.pass(100);
    water.place_m = None;
    water.pass(2_200);
    assert!(water.bench.report().stop_reason.contains("outside"));
    assert_eq!(water.clear(), Err(Reason::Local));
    assert!(water.bench.report().stop_reason.contains("not known"));
    water.pass(100);
    water.clear().unwrap();
    // And to excuse an unknown place is not to excuse that it is outside.
    water.place_m = Some(OUTSIDE);
    water.pass(100);
    assert!(water.bench.report().stop_reason.contains("outside"));

    // Inside, the fence is kept again, and that is reported.
    let mut water = Water::excused();
    let n_changes = water.bench.gate.n_changes();
    water.place_m = Some(INSIDE);
    water.pass(100);
    assert!(water.bench.gate.n_changes() > n_changes);
    let reason = water.bench.report().reason;
    assert!(!reason.contains("excused"), "{reason}");
    water.place_m = Some(OUTSIDE);
    water.pass(100);
    assert_eq!(water.stopped_by(), "fence");

    // A stop of any sender ends it, too.
    let mut water = Water::excused();
    water.bench.stop(&mut Station::new("deck", 8, 0), "look");
    water.pass(100);
    assert_eq!(water.clear(), Err(Reason::Local));
}

#[test]
fn an_excuse_ends_when_the_lease_goes_to_another_station() {
    let mut water = Water::excused();
    water.task("goto 0,0").unwrap();
    let mut deck = Station::new("deck", 8, 0);
    water.bench.lease(&mut deck, LeaseRequest::TAKE).unwrap();
    assert_eq!(water.stopped_by(), "", "to ask is not to have");
    let Water { bench, bridge, .. } = &mut water;
    bench.lease(bridge, LeaseRequest::CONSENT).unwrap();
    assert_eq!(water.stopped_by(), "fence");
    // The one who has it now has seen that.
    water.bench.pass(ms(50));
    water.bench.clear(&mut deck).unwrap();
    let reason = water.bench.report().reason;
    assert!(reason.ends_with("excused by \"deck\""), "{reason}");
}

#[test]
fn a_station_that_clears_and_comes_back_has_its_excuse_still() {
    // As a command line does, which gives the lease back after each command.
    let mut water = Water::excused();
    let Water { bench, bridge, .. } = &mut water;
    bench.lease(bridge, LeaseRequest::RELEASE).unwrap();
    water.has_operator = false;
    water.pass(3_000);
    assert_eq!(water.bench.report().state, Gate::IDLE);
    water.bridge = Station::new("bridge", 8, 0);
    let Water { bench, bridge, .. } = &mut water;
    bench.lease(bridge, LeaseRequest::TAKE).unwrap();
    water.has_operator = true;
    water.task("goto 0,0").unwrap();
    assert_eq!(water.bench.report().state, Gate::AUTONOMOUS);
}

#[test]
fn vehicle_outside_its_fence_is_not_left_to_itself() {
    let mut water = Water::excused();
    water.task("goto 0,0").unwrap();
    let Water { bench, bridge, .. } = &mut water;
    bench.lease(bridge, LeaseRequest::RELEASE).unwrap();
    assert_eq!(water.stopped_by(), "fence");

    // Nor does it do there what was chosen for a lost link.
    let mut water = Water::excused();
    water.task("goto 0,0").unwrap();
    water.bench.tasks.clear();
    water.has_operator = false;
    water.pass(5_900);
    assert_eq!(water.bench.report().state, Gate::AUTONOMOUS);
    water.pass(300);
    assert_eq!(water.stopped_by(), "fence");
    let kinds = water.bench.task_kinds();
    assert_eq!(kinds, [bowline_msgs::Task::HOLD], "it is not sent back");
}

#[test]
fn before_the_first_place_a_stop_can_be_cleared_and_nothing_moves() {
    let mut water = Water::at(None);
    water.clear().unwrap();
    water.pass(10_000);
    assert_eq!(water.bench.report().state, Gate::IDLE, "it waits for one");
    assert_eq!(water.task("goto 1,1"), Err(Reason::Local));
    let report = water.bench.report();
    assert_eq!(report.stopped_by, "fence");
    assert!(report.stop_reason.contains("not known yet"), "{report:?}");
    water.pass(100);
    // A station that has seen that may go all the same, until there is a place.
    water.clear().unwrap();
    water.pass(100);
    water.task("goto 1,1").unwrap();
    water.pass(1_000);
    assert_eq!(water.bench.report().state, Gate::AUTONOMOUS);
    water.place_m = Some(OUTSIDE);
    water.pass(100);
    assert_eq!(water.stopped_by(), "fence");

    for words in ["goto 1,1", "heading 90 1"] {
        let mut water = Water::at(None);
        water.clear().unwrap();
        water.pass(1_000);
        water.place_m = Some(INSIDE);
        water.pass(100);
        assert_eq!(
            water.task(words),
            Ok(()),
            "with a place there is no question"
        );
    }
    let mut water = Water::at(None);
    water.clear().unwrap();
    water.place_m = Some(OUTSIDE);
    water.pass(100);
    assert_eq!(water.stopped_by(), "fence", "nor when the first is outside");
    let mut water = Water::at(None);
    water.clear().unwrap();
    water.pass(100);
    let Water { bench, bridge, .. } = &mut water;
    assert_eq!(bench.direct(bridge, 0.0), Err(Reason::Local));
}
