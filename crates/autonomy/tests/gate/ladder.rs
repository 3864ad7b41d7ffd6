//! The ladder, as a table: what the vehicle is doing, what goes wrong, and what it does then, moment by moment.

use crate::bench::{Bench, ms};
use crate::station::Station as Bridge;
use bowline_autonomy::gate::{Contingency, Input, Rules};
use bowline_msgs::{Gate, LeaseRequest, Task};

#[expect(
    clippy::struct_excessive_bools,
    reason = "each of them may stay away or not"
)]
/// What is going on: a person at some level, a controller, a beat and a pose, each of which may stay away.
struct Scene {
    bench: Bench,
    bridge: Bridge,
    doing: &'static str,
    has_operator: bool,
    has_controller: bool,
    has_beat: bool,
    place_m: Option<[f64; 2]>,
    elapsed_ms: u64,
}

impl Scene {
    fn new(doing: &'static str, contingency: Contingency) -> Self {
        let rules = Rules {
            contingency,
            beat_within: Some(ms(500)),
            fence_m: Some(vec![
                [-50.0, -50.0],
                [50.0, -50.0],
                [50.0, 50.0],
                [-50.0, 50.0],
            ]),
            ..Rules::default()
        };
        let bench = Bench::new(rules);
        let mut scene = Self {
            bench,
            bridge: Bridge::new("bridge", 7, 0),
            doing: "nothing",
            has_operator: true,
            has_controller: true,
            has_beat: true,
            place_m: Some([0.0, 0.0]),
            elapsed_ms: 0,
        };
        scene.pass(100);
        scene
            .bench
            .lease(&mut scene.bridge, LeaseRequest::TAKE)
            .unwrap();
        scene.pass(100);
        scene.bench.clear(&mut scene.bridge).unwrap();
        scene.pass(100);
        scene.doing = "neutral";
        scene.pass(400);
        scene.doing = doing;
        scene.pass(1_000);
        let level = scene.bench.standing();
        assert!(scene.is_moving() || doing == "hold", "{doing}: {level:?}");
        scene.bench.tasks.clear();
        scene
    }

    fn pass(&mut self, period_ms: u64) {
        for _ in 0..period_ms / 10 {
            self.tell();
            self.bench.pass(ms(10));
            self.elapsed_ms += 10;
        }
    }

    /// What all senders send at this moment; refusals are part of the game.
    fn tell(&mut self) {
        let Self { bench, bridge, .. } = self;
        let every = |period_ms: u64| self.elapsed_ms.is_multiple_of(period_ms);
        if self.has_controller && every(100) {
            bench.wish(0.5);
        }
        if self.has_beat && every(100) {
            bench.handle(Input::Beat).unwrap();
        }
        if let Some(place_m) = self.place_m.filter(|_| every(100)) {
            bench.handle(Input::Place(place_m)).unwrap();
        }
        if !self.has_operator {
            return;
        }
        let _refused_or_not = match self.doing {
            "nothing" => Ok(()),
            "neutral" if every(30) => bench.direct(bridge, 0.0),
            "thrust" if every(30) => bench.direct(bridge, 0.5),
            "neutral" | "thrust" => Ok(()),
            words if words.starts_with("heading") && every(500) => bench.task(bridge, words),
            words if !words.starts_with("heading") && self.elapsed_ms == 700 => {
                bench.task(bridge, words)
            }
            _ => Ok(()),
        };
        if every(300) {
            let _refused_or_not = bench.lease(bridge, LeaseRequest::RENEW);
        }
    }

    fn is_moving(&self) -> bool {
        self.bench.output() != 0.0
    }
}

const STOPPED: i8 = Gate::STOPPED;
const IDLE: i8 = Gate::IDLE;
const AUTO: i8 = Gate::AUTONOMOUS;
const LOST: i8 = Gate::CONTINGENCY;
const OPERATED: i8 = Gate::OPERATED;

const THRUST: &str = "thrust";
const SETPOINT: &str = "heading 90 1";
const PLACE: &str = "goto 1,2";
const SURVEY: &str = "survey 0,0 9,0 9,9";
const HELD: &str = "hold";

/// Milliseconds after the fault, the state, and whether the vehicle moves.
type Moment = (u64, i8, bool);

struct Row {
    doing: &'static str,
    fault: &'static str,
    contingency: Contingency,
    then: &'static [Moment],
    /// The helm's task.
    tasks: &'static [i8],
}

const fn row(
    doing: &'static str,
    fault: &'static str,
    contingency: Contingency,
    then: &'static [Moment],
    tasks: &'static [i8],
) -> Row {
    Row {
        doing,
        fault,
        contingency,
        then,
        tasks,
    }
}

use Contingency::{Continue, Hold, Return, Station};

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // A person who steers vanishes: zero within 250 ms, whatever was chosen; then, after the lease and the grace, that.
    row(THRUST,   "operator", Hold,     &[(20, OPERATED, true), (260, IDLE, false), (5_900, IDLE, false), (6_300, LOST, false)], &[Task::HOLD]),
    row(THRUST,   "operator", Station,  &[(260, IDLE, false), (5_900, IDLE, false), (6_300, LOST, true)], &[Task::STATION]),
    row(THRUST,   "operator", Return,   &[(260, IDLE, false), (5_900, IDLE, false), (6_300, LOST, true)], &[Task::RETURN]),
    row(THRUST,   "operator", Continue, &[(260, IDLE, false), (5_900, IDLE, false), (6_300, LOST, false)], &[Task::HOLD]),
    // Heading and speed are kept until the lease ends, and then as above.
    row(SETPOINT, "operator", Hold,     &[(600, OPERATED, true), (1_310, IDLE, false), (6_400, LOST, false)], &[Task::HOLD, Task::HOLD]),
    row(SETPOINT, "operator", Return,   &[(600, OPERATED, true), (1_310, IDLE, false), (6_400, LOST, true)], &[Task::HOLD, Task::RETURN]),
    row(SETPOINT, "operator", Continue, &[(600, OPERATED, true), (1_310, IDLE, false), (6_400, LOST, false)], &[Task::HOLD, Task::HOLD]),
    // What the vehicle does by itself goes on until control counts as lost.
    row(PLACE,    "operator", Hold,     &[(1_400, AUTO, true), (5_600, AUTO, true), (6_400, LOST, false)], &[Task::HOLD]),
    row(PLACE,    "operator", Station,  &[(5_600, AUTO, true), (6_400, LOST, true)], &[Task::STATION]),
    row(SURVEY,   "operator", Hold,     &[(5_600, AUTO, true), (6_400, LOST, false)], &[Task::HOLD]),
    row(SURVEY,   "operator", Station,  &[(5_600, AUTO, true), (6_400, LOST, true)], &[Task::STATION]),
    row(SURVEY,   "operator", Return,   &[(5_600, AUTO, true), (6_400, LOST, true)], &[Task::RETURN]),
    row(SURVEY,   "operator", Continue, &[(5_600, AUTO, true), (6_400, LOST, true), (60_000, LOST, true)], &[]),
    // A vehicle that holds does not move because its operator vanishes.
    row(HELD,     "operator", Return,   &[(1_400, IDLE, false), (6_400, IDLE, false), (60_000, IDLE, false)], &[]),
    // Of one's own free will nothing is lost.
    row(THRUST,   "release",  Return,   &[(10, IDLE, false), (60_000, IDLE, false)], &[]),
    row(SETPOINT, "release",  Return,   &[(10, IDLE, false), (60_000, IDLE, false)], &[Task::HOLD]),
    row(SURVEY,   "release",  Return,   &[(10, AUTO, true), (60_000, AUTO, true)], &[]),
    // A stop is one, from any sender, at every level, and stays one.
    row(THRUST,   "stop",     Continue, &[(10, STOPPED, false), (60_000, STOPPED, false)], &[]),
    row(SETPOINT, "stop",     Continue, &[(10, STOPPED, false), (60_000, STOPPED, false)], &[Task::HOLD]),
    row(SURVEY,   "stop",     Continue, &[(10, STOPPED, false), (60_000, STOPPED, false)], &[Task::HOLD]),
    row(HELD,     "stop",     Continue, &[(10, STOPPED, false), (60_000, STOPPED, false)], &[]),
    // The local stop: its beat stays away for longer than half a second.
    row(THRUST,   "beat",     Continue, &[(390, OPERATED, true), (510, STOPPED, false), (60_000, STOPPED, false)], &[]),
    row(SURVEY,   "beat",     Continue, &[(390, AUTO, true), (510, STOPPED, false), (60_000, STOPPED, false)], &[Task::HOLD]),
    // The fence: outside, or at an unknown place.
    row(THRUST,   "fence",    Continue, &[(100, STOPPED, false), (60_000, STOPPED, false)], &[]),
    row(SURVEY,   "fence",    Continue, &[(100, STOPPED, false), (60_000, STOPPED, false)], &[Task::HOLD]),
    row(SURVEY,   "pose",     Continue, &[(1_800, AUTO, true), (2_010, STOPPED, false)], &[Task::HOLD]),
    // A controller that dies gives no thrust; it is missed, and nothing else changes.
    row(SURVEY,   "controller", Continue, &[(190, AUTO, true), (310, AUTO, false), (60_000, AUTO, false)], &[]),
    // The most severe wins, in whichever order they come.
    row(SURVEY,   "operator, fence", Return, &[(5_000, STOPPED, false), (60_000, STOPPED, false)], &[Task::HOLD]),
    row(SURVEY,   "operator, late fence", Return, &[(6_400, LOST, true), (7_100, STOPPED, false), (60_000, STOPPED, false)], &[Task::RETURN, Task::HOLD]),
    row(SURVEY,   "operator, late stop",  Return, &[(6_400, LOST, true), (7_100, STOPPED, false), (60_000, STOPPED, false)], &[Task::RETURN, Task::HOLD]),
];

#[test]
fn every_loss_leads_to_what_was_chosen_and_the_most_severe_wins() {
    for (nth, row) in TABLE.iter().enumerate() {
        let Row {
            doing,
            fault,
            contingency,
            then,
            tasks,
        } = row;
        let mut scene = Scene::new(doing, *contingency);
        let started_ms = scene.elapsed_ms;
        begin(&mut scene, fault);
        for (after_ms, state, is_moving) in *then {
            loop {
                let after = scene.elapsed_ms - started_ms;
                if after == 7_000 {
                    begin_late(&mut scene, fault);
                }
                if after >= *after_ms {
                    break;
                }
                scene.pass(10);
            }
            let found = (scene.bench.report().state, scene.is_moving());
            let reason = scene.bench.report().reason;
            assert_eq!(
                found,
                (*state, *is_moving),
                "row {nth}: {doing}, {fault}, {contingency:?}, after {after_ms} ms: {reason}"
            );
        }
        assert_eq!(
            scene.bench.task_kinds(),
            *tasks,
            "row {nth}: {doing}, {fault}, {contingency:?}"
        );
    }
}

fn begin(scene: &mut Scene, fault: &str) {
    if fault.starts_with("operator") || fault == "release" {
        scene.has_operator = false;
    }
    match fault {
        "release" => scene
            .bench
            .lease(&mut scene.bridge, LeaseRequest::RELEASE)
            .unwrap(),
        "stop" => scene
            .bench
            .stop(&mut Bridge::new("deck", 8, 0), "a swimmer"),
        "beat" => scene.has_beat = false,
        "pose" => scene.place_m = None,
        "controller" => scene.has_controller = false,
        "fence" | "operator, fence" => scene.place_m = Some([50.5, 0.0]),
        _ => {}
    }
}

fn begin_late(scene: &mut Scene, fault: &str) {
    match fault {
        "operator, late fence" => scene.place_m = Some([0.0, -50.5]),
        "operator, late stop" => scene
            .bench
            .stop(&mut Bridge::new("deck", 8, 0), "a swimmer"),
        _ => {}
    }
}

#[test]
fn a_local_stop_cannot_be_cleared_until_its_beat_is_back() {
    let mut scene = Scene::new(SURVEY, Hold);
    scene.has_beat = false;
    scene.pass(1_000);
    assert_eq!(scene.bench.report().stopped_by, "local stop");
    let reason = scene.bench.clear(&mut scene.bridge).unwrap_err();
    assert_eq!(reason.word(), "local");
    scene.has_beat = true;
    scene.pass(200);
    scene.bench.clear(&mut scene.bridge).unwrap();
    assert_eq!(scene.bench.report().state, IDLE);
    assert!(!scene.is_moving());
}

#[test]
fn a_gate_with_a_local_stop_waits_for_its_first_beat() {
    let rules = Rules {
        beat_within: Some(ms(500)),
        ..Rules::default()
    };
    let mut bench = Bench::new(rules);
    let mut bridge = Bridge::new("bridge", 7, 0);
    bench.pass(ms(50));
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    bench.pass(ms(50));
    assert_eq!(bench.clear(&mut bridge).unwrap_err().word(), "local");
    bench.handle(Input::Beat).unwrap();
    bench.clear(&mut bridge).unwrap();
}

#[test]
fn outside_the_fence_a_person_may_drive_back_and_the_fence_is_there_again() {
    let mut scene = Scene::new(SURVEY, Hold);
    scene.place_m = Some([60.0, 0.0]);
    scene.pass(200);
    assert_eq!(scene.bench.report().stopped_by, "fence");
    scene.bench.clear(&mut scene.bridge).unwrap();
    scene.pass(200);
    scene.bench.task(&mut scene.bridge, "goto 0,0").unwrap();
    scene.pass(500);
    assert!(scene.is_moving(), "how else would it come back");
    scene.place_m = Some([40.0, 0.0]);
    scene.pass(200);
    assert!(scene.is_moving());
    scene.place_m = Some([40.0, 51.0]);
    scene.pass(200);
    assert_eq!(scene.bench.report().state, STOPPED, "it is kept again");
    // What is no place has no effect.
    scene.bench.clear(&mut scene.bridge).unwrap();
    scene.place_m = Some([f64::NAN, 0.0]);
    scene.pass(200);
    assert_eq!(scene.bench.report().state, IDLE);
}
