//! Promises of the machine that one schedule shows.

use super::super::*;
use crate::supervise::plan::{HEARTBEAT_LIMIT, Heartbeat, Ready, Restart, SafeState};

/// A machine by hand, for promises that one schedule shows.
struct Hand {
    plan: Plan,
    machine: Machine,
    now: Time,
}

impl Hand {
    fn new(processes: Vec<ProcessSpec>) -> Self {
        let plan = Plan {
            robot: "robot".to_owned(),
            host: "host".to_owned(),
            processes,
            ..Plan::default()
        };
        plan.check().expect("a sound plan");
        Self {
            machine: Machine::new(&plan),
            plan,
            now: Time::from_ns(5_000_000_000),
        }
    }

    fn tell(&mut self, event: Event) -> Vec<Action> {
        self.machine.handle(&self.plan, self.now, event)
    }

    fn wait(&mut self, delay: Duration) {
        self.now = self.now + delay;
    }

    /// Waits for as long as the machine wants to, and passes it the time.
    fn wait_and_look(&mut self) -> Vec<Action> {
        self.now = self.machine.deadline().expect("something to wait for");
        self.tell(Event::Tick)
    }

    fn phase(&self, unit: usize) -> Phase {
        self.machine
            .view(unit, self.now)
            .expect("it is in the plan")
            .phase
    }

    fn beat(&mut self) {
        self.tell(Event::Beat(0, 0, self.now));
    }

    /// Waits until something is to be done.
    fn wait_for_actions(&mut self) -> Vec<Action> {
        loop {
            let actions = self.wait_and_look();
            if !actions.is_empty() {
                return actions;
            }
        }
    }

    fn die(&mut self, unit: usize) -> Vec<Action> {
        let mut actions = self.tell(Event::Exited(unit, Exit::Code(1)));
        actions.extend(self.tell(Event::Gone(unit)));
        actions
    }
}

fn beating(name: &str) -> ProcessSpec {
    ProcessSpec {
        heartbeat: Heartbeat::Presence {
            components: vec![name.to_owned()],
            within: HEARTBEAT_LIMIT,
        },
        ready: Ready::FirstHeartbeat,
        ..ProcessSpec::new(name, ["x"])
    }
}

#[test]
fn silence_is_noticed_when_the_limit_is_over_and_not_before() {
    let mut hand = Hand::new(vec![beating("a")]);
    assert_eq!(hand.tell(Event::Begin), [Action::Spawn(0)]);
    hand.tell(Event::Started(0));
    assert_eq!(hand.phase(0), Phase::Starting);
    hand.beat();
    assert_eq!(hand.phase(0), Phase::Running);
    let heard = hand.now;
    assert_eq!(hand.wait_for_actions(), [Action::Kill(0)]);
    assert_eq!(hand.now.since(heard), HEARTBEAT_LIMIT);
    hand.die(0);
    let view = hand.machine.view(0, hand.now).expect("it is there");
    assert_eq!(view.last_exit, "no heartbeat for 0.65 s, exit code 1");
}

#[test]
fn delayed_supervisor_ends_no_process() {
    let mut hand = Hand::new(vec![beating("a")]);
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    hand.beat();
    hand.wait(Duration::from_secs(60));
    assert_eq!(hand.tell(Event::Tick), []);
    assert_eq!(hand.phase(0), Phase::Running);
}

/// One process that runs, with a heartbeat now.
fn heard_now() -> Hand {
    let mut hand = Hand::new(vec![beating("a")]);
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    hand.beat();
    hand
}

#[test]
fn heartbeat_read_late_does_not_extend_a_life() {
    let mut hand = heard_now();
    let heard = hand.now + Duration::from_millis(10);
    // It came soon, and was taken late.
    hand.wait(Duration::from_millis(290));
    hand.tell(Event::Beat(0, 0, heard));
    assert_eq!(hand.wait_for_actions(), [Action::Kill(0)]);
    assert_eq!(hand.now.since(heard), HEARTBEAT_LIMIT);
}

#[test]
fn beats_out_of_order_and_from_the_future_change_nothing() {
    let mut hand = heard_now();
    let heard = hand.now;
    hand.tell(Event::Beat(0, 0, heard - Duration::from_millis(100)));
    hand.tell(Event::Beat(0, 0, heard + Duration::from_secs(3_600)));
    assert_eq!(hand.wait_for_actions(), [Action::Kill(0)]);
    assert_eq!(hand.now.since(heard), HEARTBEAT_LIMIT);
}

#[test]
fn what_hangs_is_noticed_in_time_although_the_supervisor_was_held_up() {
    // For how long, and how long after the last heartbeat the end of the process is noticed: a supervisor that was held up for
    // longer than the promise can keep it no more, but waits no longer than a beat takes.
    for (held_up_ms, noticed_ms) in [
        (200, 650),
        (301, 650),
        (400, 650),
        (450, 700),
        (2_000, 2_250),
    ] {
        let mut hand = heard_now();
        let heard = hand.now;
        hand.wait(Duration::from_millis(held_up_ms));
        assert_eq!(hand.tell(Event::Tick), [], "{held_up_ms} ms");
        assert_eq!(hand.wait_for_actions(), [Action::Kill(0)]);
        let noticed = hand.now.since(heard);
        assert_eq!(
            noticed,
            Duration::from_millis(noticed_ms),
            "{held_up_ms} ms"
        );
    }
}

#[test]
fn after_a_delay_processes_with_a_heartbeat_in_time_are_kept() {
    let mut hand = heard_now();
    hand.wait(Duration::from_secs(60));
    hand.tell(Event::Tick);
    for _ in 0..20 {
        let beat_at = hand.now + Duration::from_millis(200);
        while hand.machine.deadline().is_some_and(|at| at < beat_at) {
            assert_eq!(hand.wait_and_look(), []);
        }
        hand.now = beat_at;
        hand.beat();
    }
    assert_eq!(hand.phase(0), Phase::Running);
}

#[test]
fn heartbeat_limit_of_a_process_is_the_one_of_its_plan() {
    let within = Duration::from_secs(3);
    let mut hand = Hand::new(vec![ProcessSpec {
        heartbeat: Heartbeat::Presence {
            components: vec!["a".to_owned()],
            within,
        },
        ..beating("a")
    }]);
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    hand.beat();
    let heard = hand.now;
    assert_eq!(hand.wait_for_actions(), [Action::Kill(0)]);
    assert_eq!(hand.now.since(heard), within);
    hand.die(0);
    let view = hand.machine.view(0, hand.now).expect("it is there");
    assert_eq!(view.last_exit, "no heartbeat for 3 s, exit code 1");
}

/// Waits until something is to be done, while the process waits for a processor for a part of the time. The actions, and
/// how long it took.
fn wait_starved(hand: &mut Hand, percent: u32) -> (Vec<Action>, Duration) {
    let began = hand.now;
    loop {
        let before = hand.now;
        let wanted = hand.machine.deadline().expect("something to wait for");
        hand.now = wanted.min(before + Duration::from_millis(100));
        let elapsed = hand.now.since(before);
        if hand.machine.doubtful(before).any(|unit| unit == 0) {
            let waited = elapsed * percent / 100;
            assert_eq!(hand.tell(Event::Starved(vec![(0, waited)])), []);
        }
        let actions = hand.tell(Event::Tick);
        if !actions.is_empty() {
            return (actions, hand.now.since(began));
        }
    }
}

#[test]
fn process_without_a_processor_has_more_time_up_to_the_bound() {
    // Half of the limit passes before anything is looked at; of the rest, what it waited does not count.
    for (percent, from_ms, to_ms) in [
        (0, 650, 650),
        (50, 850, 1_000),
        (80, 1_500, 2_000),
        (100, 3_250, 3_250),
    ] {
        let mut hand = heard_now();
        let (actions, took) = wait_starved(&mut hand, percent);
        assert_eq!(actions, [Action::Kill(0)], "{percent} %");
        let expected = Duration::from_millis(from_ms)..=Duration::from_millis(to_ms);
        assert!(expected.contains(&took), "{percent} %: {took:?}");
        let n_extensions = hand
            .machine
            .view(0, hand.now)
            .expect("it is there")
            .n_extensions;
        assert_eq!(n_extensions, u64::from(percent > 0), "{percent} %");
    }
}

#[test]
fn heartbeat_after_starvation_ends_the_extension_and_each_is_counted() {
    let mut hand = heard_now();
    for n_extensions in 1..=3 {
        hand.wait(Duration::from_millis(400));
        assert_eq!(
            hand.tell(Event::Starved(vec![(0, Duration::from_millis(500))])),
            []
        );
        hand.wait(Duration::from_millis(290));
        assert_eq!(
            hand.tell(Event::Tick),
            [],
            "its limit is over, and it was starved"
        );
        let view = hand.machine.view(0, hand.now).expect("it is there");
        assert_eq!(
            (view.phase, view.n_extensions),
            (Phase::Running, n_extensions)
        );
        hand.beat();
    }
    let heard = hand.now;
    assert_eq!(hand.wait_for_actions(), [Action::Kill(0)]);
    assert_eq!(hand.now.since(heard), HEARTBEAT_LIMIT);
    hand.die(0);
    let view = hand.machine.view(0, hand.now).expect("it is there");
    assert_eq!(view.last_exit, "no heartbeat for 0.65 s, exit code 1");
}

#[test]
fn process_that_starts_on_a_busy_machine_has_more_time_up_to_the_bound() {
    let mut hand = Hand::new(vec![beating("a")]);
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    let (actions, took) = wait_starved(&mut hand, 100);
    assert_eq!(actions, [Action::Kill(0)]);
    let ready_within = hand.plan.processes[0].ready_within;
    assert_eq!(took, ready_within * MAX_SILENCE);
    hand.die(0);
    let view = hand.machine.view(0, hand.now).expect("it is there");
    assert_eq!(
        view.last_exit,
        "not ready after 10 s and 40.00 s of a busy machine, exit code 1"
    );
}

#[test]
fn process_that_starts_while_the_supervisor_is_held_up_is_given_that_time() {
    let mut hand = Hand::new(vec![beating("a")]);
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    hand.wait(Duration::from_secs(60));
    let back = hand.now;
    assert_eq!(hand.tell(Event::Tick), []);
    assert_eq!(hand.phase(0), Phase::Starting);
    assert_eq!(hand.wait_for_actions(), [Action::Kill(0)]);
    assert_eq!(hand.now.since(back), hand.plan.processes[0].ready_within);
}

#[test]
fn supervisor_that_is_late_again_and_again_finds_a_hang_all_the_same() {
    let mut hand = heard_now();
    let mut n_looks = 0;
    while hand.tell(Event::Tick).is_empty() {
        hand.wait(Duration::from_secs(1));
        n_looks += 1;
        assert!(n_looks < 100, "it is never found");
    }
    assert_eq!(n_looks, MAX_HOLD_UPS + 1);
}

#[test]
fn silence_is_not_judged_before_all_that_came_was_given() {
    let mut hand = Hand::new(vec![beating("a"), beating("b")]);
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    hand.tell(Event::Started(1));
    hand.beat();
    for _ in 0..7 {
        hand.wait(Duration::from_millis(100));
        // Another's first heartbeat is taken first: the one of `a` is behind it.
        assert_eq!(hand.tell(Event::Beat(1, 0, hand.now)), []);
        hand.tell(Event::Starved(Vec::new()));
    }
    hand.beat();
    assert_eq!(hand.tell(Event::Tick), []);
    assert_eq!(hand.phase(0), Phase::Running);
}

#[test]
fn traffic_that_may_be_rare_is_waited_for_as_long_as_ever_after_a_hold_up() {
    let within = Duration::from_secs(5);
    let mut hand = Hand::new(vec![ProcessSpec {
        heartbeat: Heartbeat::Traffic {
            channel: "camera.image".to_owned(),
            within,
        },
        ..beating("a")
    }]);
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    hand.beat();
    hand.wait(Duration::from_secs(60));
    let back = hand.now;
    assert_eq!(hand.tell(Event::Tick), []);
    assert_eq!(hand.wait_for_actions(), [Action::Kill(0)]);
    assert_eq!(hand.now.since(back), within);
}

#[test]
fn rests_get_longer_until_it_is_given_up_and_others_go_on() {
    let mut hand = Hand::new(vec![
        ProcessSpec::new("a", ["x"]),
        ProcessSpec::new("b", ["x"]),
    ]);
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    hand.tell(Event::Started(1));
    let mut rests = Vec::new();
    let raised = loop {
        let actions = hand.die(0);
        if let Some(raised) = actions.iter().find(|it| matches!(it, Action::Raise(..))) {
            break raised.clone();
        }
        let before = hand.now;
        assert_eq!(hand.wait_and_look(), [Action::Spawn(0)]);
        rests.push(hand.now.since(before).as_millis());
        hand.tell(Event::Started(0));
    };
    assert_eq!(rests, [100, 200, 400, 800, 1_600]);
    let why = "restarted 5 times in 30 s; last: exit code 1".to_owned();
    assert_eq!(raised, Action::Raise(0, why));
    assert_eq!(
        (hand.phase(0), hand.phase(1)),
        (Phase::GivenUp, Phase::Running)
    );
    assert!(hand.machine.is_safe_state());

    let (actions, _) = hand
        .machine
        .order(hand.now, Verb::Start, "a")
        .expect("it is there");
    assert_eq!(
        actions,
        [Action::Clear(0), Action::LeaveSafeState, Action::Spawn(0)]
    );
}

#[test]
fn what_was_given_up_before_is_not_started_and_keeps_the_safe_state() {
    let spec = |name| ProcessSpec::new(name, ["x"]);
    let mut hand = Hand::new(vec![spec("a"), spec("b"), spec("motor"), spec("other")]);
    hand.plan.safe_state = SafeState {
        stop: vec!["motor".to_owned()],
        // It was given up too, so the safe state must do without.
        start: vec!["b".to_owned()],
        publish: Vec::new(),
    };
    hand.machine = Machine::new(&hand.plan);
    // The supervisor before died while it was stopping the motor.
    hand.tell(Event::Adopted(2));
    let alarms = vec![(0, "broken".to_owned()), (1, "worn".to_owned())];
    assert_eq!(
        hand.tell(Event::Inherited(alarms)),
        [
            Action::Raise(0, "broken".to_owned()),
            Action::EnterSafeState,
            Action::Raise(1, "worn".to_owned()),
            Action::Signal(2),
        ]
    );
    assert_eq!(hand.tell(Event::Begin), [Action::Spawn(3)]);
    hand.die(2);
    let phases = [0, 1, 2].map(|unit| hand.phase(unit));
    assert_eq!(phases, [Phase::GivenUp, Phase::GivenUp, Phase::Stopped]);
}

#[test]
fn process_that_ran_long_enough_is_restarted_at_once() {
    let mut hand = Hand::new(vec![ProcessSpec::new("a", ["x"])]);
    hand.tell(Event::Begin);
    for _ in 0..20 {
        hand.tell(Event::Started(0));
        hand.wait(LIVED);
        hand.die(0);
        let before = hand.now;
        assert_eq!(hand.wait_and_look(), [Action::Spawn(0)]);
        assert_eq!(hand.now.since(before), MIN_BACK_OFF);
    }
}

#[test]
fn what_the_safe_state_stopped_stays_down_until_its_cause_is_dealt_with() {
    let mut plan = Hand::new(vec![
        ProcessSpec {
            restart: Restart::Never,
            ..ProcessSpec::new("lidar", ["x"])
        },
        ProcessSpec::new("motors", ["x"]),
    ])
    .plan;
    plan.safe_state.stop = vec!["motors".to_owned()];
    let mut hand = Hand {
        machine: Machine::new(&plan),
        plan,
        now: Time::from_ns(1),
    };
    hand.tell(Event::Begin);
    hand.tell(Event::Started(0));
    hand.tell(Event::Started(1));
    let actions = hand.die(0);
    assert!(
        actions.contains(&Action::EnterSafeState) && actions.contains(&Action::Signal(1)),
        "{actions:?}"
    );
    hand.tell(Event::Gone(1));
    let refused = hand
        .machine
        .order(hand.now, Verb::Start, "motors")
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("because \"lidar\" was given up"),
        "{refused}"
    );
    let (actions, _) = hand
        .machine
        .order(hand.now, Verb::Stop, "lidar")
        .expect("it is there");
    assert_eq!(actions, [Action::Clear(0), Action::LeaveSafeState]);
    assert_eq!(
        hand.phase(1),
        Phase::Stopped,
        "leaving the safe state starts nothing"
    );
    let (actions, _) = hand
        .machine
        .order(hand.now, Verb::Start, "motors")
        .expect("nothing holds it");
    assert_eq!(actions, [Action::Spawn(1)]);
}

#[test]
fn a_name_that_is_nearly_right_is_suggested() {
    let mut hand = Hand::new(vec![ProcessSpec {
        group: "sensors".to_owned(),
        ..ProcessSpec::new("lidar", ["x"])
    }]);
    let refused = hand
        .machine
        .order(hand.now, Verb::Start, "sensor")
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "there is no process, component or group \"sensor\": did you mean \"sensors\"?"
    );
}

#[test]
fn what_was_adopted_goes_on_and_what_is_left_of_another_plan_is_replaced() {
    let names = ["same", "other"];
    let mut hand = Hand::new(names.map(|name| ProcessSpec::new(name, ["x"])).to_vec());
    assert_eq!(hand.tell(Event::Adopted(0)), []);
    assert_eq!(hand.tell(Event::Leftover(1)), [Action::Signal(1)]);
    assert_eq!(hand.tell(Event::Begin), []);
    assert_eq!(
        (hand.phase(0), hand.phase(1)),
        (Phase::Running, Phase::Stopping)
    );
    hand.tell(Event::Exited(1, Exit::Unknown));
    assert_eq!(hand.tell(Event::Gone(1)), [Action::Spawn(1)]);
}
