//! What a gate promises, one by one.

use crate::bench::{Bench, START, ms, thrust};
use crate::station::Station;
use bowline_autonomy::gate::{Contingency, Gate, Input, Reason, Rules};
use bowline_component::Time;
use bowline_msgs::{self as msgs, Authority, LeaseRequest, StopCommand, Task, Thrust, Velocity};
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);

#[test]
fn gate_starts_stopped_and_pauses_the_helm() {
    let mut gate: Gate<Thrust> = Gate::new(Rules::default(), START).unwrap();
    gate.handle(START, Input::Wish(&thrust(0.5))).unwrap();
    assert_eq!(gate.output(), Thrust::default());
    let report = gate.report("test");
    assert!(report.is_stopped);
    assert_eq!(
        (report.state, report.level),
        (msgs::Gate::STOPPED, msgs::Gate::OBSERVE)
    );
    assert_eq!(report.stop_reason, "the gate has just started");
    assert_eq!((report.epoch, report.heard_us), (0, -1));
    let events: Vec<_> = gate.events().collect();
    assert_eq!(events.len(), 1, "{events:?}");
}

#[test]
fn a_direct_command_counts_until_its_token_is_as_old_as_the_bound_and_not_a_moment_longer() {
    let (mut bench, mut bridge) = Bench::armed(Rules::default());
    bridge.hear(&bench.token);
    let issued = Time::from_utime(bench.token.utime);
    bench.direct(&mut bridge, 0.4).unwrap();
    let until = issued + ms(250);
    assert_eq!(bench.report().until_utime, until.utime());
    assert_eq!(bench.gate.deadline(), Some(until + NS));
    bench.gate.advance(until);
    assert_eq!(bench.output(), 0.4);
    bench.gate.advance(until + NS);
    assert_eq!(bench.output(), 0.0);
    assert_eq!(bench.standing(), (msgs::Gate::IDLE, msgs::Gate::DIRECT));
}

#[test]
fn what_arrives_too_late_or_with_a_strange_token_is_refused_with_its_age() {
    let (mut bench, mut bridge) = Bench::armed(Rules::default());
    bridge.hear(&bench.token);
    let issued = Time::from_utime(bench.token.utime);
    let late = [0.4, 0.5].map(|ratio| bridge.thrust(bench.now, ratio, ratio));
    let tasks = [0, 1].map(|_| bench.task_command(&mut bridge, "goto 1,2"));
    for _ in 0..60 {
        bench.lease(&mut bridge, LeaseRequest::RENEW).unwrap();
        if bench.now + ms(40) > issued + ms(250) {
            break;
        }
        bench.pass(ms(30));
    }
    let at = |bench: &mut Bench, age: Duration, input: Input<'_, Thrust>| {
        bench.now = issued + age;
        bench.handle(input)
    };
    let on_time = at(&mut bench, ms(250), Input::Direct(&late[0]));
    assert_eq!(on_time, Ok(()), "at the bound it is not too old");
    let refusal = at(&mut bench, ms(250) + NS, Input::Direct(&late[1])).unwrap_err();
    assert_eq!(
        (refusal.reason, refusal.age),
        (Reason::Stale, Some(ms(250) + NS))
    );
    assert!(refusal.text.contains("at most 250ms"), "{refusal}");

    // Tasks may be older, within their own bound.
    let renew = |bench: &mut Bench, bridge: &mut Station| {
        bench.now = issued + ms(1_200);
        bench.gate.advance(bench.now);
        bench.token = bench.gate.token();
        bench.lease(bridge, LeaseRequest::RENEW).unwrap();
    };
    renew(&mut bench, &mut bridge);
    assert_eq!(at(&mut bench, ms(2_000), Input::Task(&tasks[0])), Ok(()));
    let refusal = at(&mut bench, ms(2_000) + NS, Input::Task(&tasks[1])).unwrap_err();
    assert_eq!(refusal.reason, Reason::Stale);

    let mut strange = late[0].clone();
    strange.by.token = bench.token.token.wrapping_add(1);
    strange.by.sequence = i64::MAX;
    let refusal = bench.handle(Input::Direct(&strange)).unwrap_err();
    assert_eq!((refusal.reason, refusal.age), (Reason::Unknown, None));
    assert_eq!(bench.gate.counts().refused_for(Reason::Stale), 2);
    assert_eq!(bench.gate.counts().refused_for(Reason::Unknown), 1);
    assert_eq!(bench.gate.counts().n_refused(), 3);
}

#[test]
fn no_command_counts_twice_nor_after_a_later_one_but_a_renewal_does_not_overtake_a_task() {
    let (mut bench, mut bridge) = Bench::armed(Rules::default());
    bridge.hear(&bench.token);
    let commands = [0.1, 0.2, 0.3].map(|ratio| bridge.thrust(bench.now, ratio, ratio));
    let task = bench.task_command(&mut bridge, "goto 1,2");
    let renewal = bridge.request(bench.now, LeaseRequest::RENEW);
    let mut send = |at: usize| {
        let sent = &commands[at];
        let outcome = bench.handle(Input::Direct(sent));
        outcome.map_err(|it| it.reason)
    };
    assert_eq!(send(1), Ok(()));
    assert_eq!(send(1), Err(Reason::Repeated));
    assert_eq!(send(0), Err(Reason::Overtaken));
    assert_eq!(send(2), Ok(()));
    assert_eq!(bench.output(), 0.3);
    bench.handle(Input::Lease(&renewal)).unwrap();
    assert_eq!(
        bench.handle(Input::Lease(&renewal)).unwrap_err().reason,
        Reason::Repeated
    );
    bench.handle(Input::Task(&task)).unwrap();
    assert_eq!(
        send_direct(&mut bench, &commands[2]),
        Err(Reason::Overtaken)
    );
}

pub(crate) fn send_direct(bench: &mut Bench, command: &msgs::DirectCommand) -> Result<(), Reason> {
    let outcome = bench.handle(Input::Direct(command));
    outcome.map_err(|it| it.reason)
}

#[test]
fn not_even_the_first_word_of_a_session_counts_twice() {
    let mut bench = Bench::new(Rules::default());
    let mut quay = Station::new("quay", 8, 0);
    quay.hear(&bench.token);
    let request = quay.request(bench.now, LeaseRequest::TAKE);
    bench.handle(Input::Lease(&request)).unwrap();
    let refusal = bench.handle(Input::Lease(&request)).unwrap_err();
    assert_eq!(refusal.reason, Reason::Repeated);
}

#[test]
fn sessions_are_bounded_and_room_comes_back_when_they_fall_silent() {
    let mut bench = Bench::new(Rules::default());
    let take = |bench: &mut Bench, session: i64| {
        let mut station = Station::new("crowd", session, 0);
        match bench.lease(&mut station, LeaseRequest::TAKE) {
            Err(Reason::Crowded) => false,
            Ok(()) | Err(_) => true,
        }
    };
    let taken = (1..=100)
        .filter(|session| take(&mut bench, *session))
        .count();
    assert_eq!(taken, 64);
    bench.pass(ms(2_000));
    assert!(
        !take(&mut bench, 101),
        "their messages could still come again"
    );
    bench.pass(NS);
    assert!(take(&mut bench, 101));
}

#[test]
fn stop_is_taken_from_any_station_and_cleared_by_an_informed_holder() {
    let (mut bench, mut bridge) = Bench::armed(Rules::default());
    bench.direct(&mut bridge, 0.5).unwrap();
    bridge.hear(&bench.token);
    let early = bridge.clear(bench.now);
    let nobody = StopCommand {
        ask: StopCommand::STOP,
        reason: "ä swimmer".repeat(100),
        by: Authority {
            station: "x".repeat(1_000),
            ..Authority::default()
        },
        ..StopCommand::default()
    };
    bench.handle(Input::Stop(&nobody)).unwrap();
    assert_eq!(bench.output(), 0.0);
    let report = bench.report();
    assert_eq!(
        (report.stopped_by.len(), report.state),
        (64, msgs::Gate::STOPPED)
    );
    assert!((199..=200).contains(&report.stop_reason.len()));
    assert_eq!(
        bench.handle(Input::Stop(&early)).unwrap_err().reason,
        Reason::Unseen,
        "it was sent before the stop"
    );
    assert_eq!(bench.direct(&mut bridge, 0.5), Err(Reason::Stopped));
    assert_eq!(bench.task(&mut bridge, "goto 1,2"), Err(Reason::Stopped));
    bench.pass(ms(100));
    bench.clear(&mut bridge).unwrap();
    assert_eq!(
        bench.clear(&mut bridge),
        Ok(()),
        "there is nothing left to clear"
    );
    let odd = StopCommand { ask: 3, ..nobody };
    assert_eq!(
        bench.handle(Input::Stop(&odd)).unwrap_err().reason,
        Reason::Malformed
    );
}

#[test]
fn station_with_the_first_token_after_a_stop_knows_of_it() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    bench.stop(&mut Station::new("deck", 8, 0), "look out");
    bench.token = bench.gate.token();
    assert_eq!(bench.clear(&mut bridge), Ok(()));
    assert!(!bench.gate.report("gate").is_stopped);
}

#[test]
fn clearing_moves_nothing_and_what_was_commanded_before_it_does_not_count() {
    let (mut bench, mut bridge) = Bench::armed(Rules::default());
    bench.stop(&mut Station::new("deck", 8, 0), "look out");
    bench.pass(ms(100));
    bridge.hear(&bench.token);
    let clear = bridge.clear(bench.now);
    let task = bench.task_command(&mut bridge, "goto 1,2");
    let direct = bridge.thrust(bench.now, 0.0, 0.0);
    bench.wish(0.5);
    bench.handle(Input::Stop(&clear)).unwrap();
    assert_eq!(bench.standing(), (msgs::Gate::IDLE, msgs::Gate::OBSERVE));
    assert_eq!(bench.output(), 0.0);
    assert_eq!(
        bench.handle(Input::Task(&task)).unwrap_err().reason,
        Reason::Unseen
    );
    assert_eq!(send_direct(&mut bench, &direct), Err(Reason::Unseen));
    for _ in 0..100 {
        bench.wish(0.5);
        bench.lease(&mut bridge, LeaseRequest::RENEW).unwrap();
        bench.pass(ms(100));
        assert_eq!(bench.output(), 0.0);
    }
}

#[test]
fn direct_control_begins_with_neutral_input_for_300_ms_without_a_gap() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    assert_eq!(bench.direct(&mut bridge, 0.1), Err(Reason::Neutral));
    let neutral = |bench: &mut Bench, bridge: &mut Station, n: u64| {
        for _ in 0..n {
            bench.direct(bridge, 0.0005).unwrap();
            bench.pass(ms(30));
        }
    };
    neutral(&mut bench, &mut bridge, 9);
    assert_eq!(
        bench.direct(&mut bridge, 0.1),
        Err(Reason::Neutral),
        "270 ms are too short"
    );
    neutral(&mut bench, &mut bridge, 9);
    bench.pass(ms(300));
    neutral(&mut bench, &mut bridge, 1);
    assert_eq!(
        bench.direct(&mut bridge, 0.1),
        Err(Reason::Neutral),
        "there was a gap"
    );
    neutral(&mut bench, &mut bridge, 11);
    bench.direct(&mut bridge, 0.1).unwrap();
    assert_eq!(bench.output(), 0.1);
    // A short silence under the same lease asks for nothing.
    bench.pass(ms(600));
    assert_eq!(bench.output(), 0.0);
    bench.direct(&mut bridge, 0.2).unwrap();
    assert_eq!(bench.output(), 0.2);
}

#[test]
fn no_task_spares_neutral_input_before_direct_control() {
    for words in ["hold", "resume", "goto 1,2", "heading 90 1"] {
        let (mut bench, mut bridge) = Bench::ready(Rules::default());
        bench.task(&mut bridge, words).unwrap();
        let lever = bench.direct(&mut bridge, 1.0);
        assert_eq!(lever, Err(Reason::Neutral), "{words}");
        assert_eq!(bench.output(), 0.0, "{words}");
        // Nor does neutral input from before it.
        let (mut bench, mut bridge) = Bench::armed(Rules::default());
        bench.direct(&mut bridge, 0.3).unwrap();
        bench.task(&mut bridge, words).unwrap();
        let lever = bench.direct(&mut bridge, 1.0);
        assert_eq!(lever, Err(Reason::Neutral), "{words}");
    }
}

#[test]
fn a_new_lease_has_to_show_neutral_input_again() {
    let (mut bench, mut bridge) = Bench::armed(Rules::default());
    bench.direct(&mut bridge, 0.3).unwrap();
    bench.pass(ms(1_100));
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    assert_eq!(bench.direct(&mut bridge, 0.3), Err(Reason::Neutral));
}

#[test]
fn the_valve_passes_wishes_that_are_fresh_sane_and_made_since_it_opened() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    bench.wish(0.9);
    bench.task(&mut bridge, "goto 1,2").unwrap();
    assert_eq!(bench.output(), 0.0, "that was about something else");
    bench.wish(0.5);
    let at = bench.now;
    assert_eq!(bench.output(), 0.5);
    assert_eq!(bench.gate.output().utime, at.utime());
    for mad in [f64::NAN, f64::INFINITY, 1.01, -1.01] {
        let refusal = bench.handle(Input::Wish(&thrust(mad))).unwrap_err();
        assert_eq!(refusal.reason, Reason::Malformed);
    }
    assert_eq!(bench.gate.counts().refused_for(Reason::Malformed), 4);
    assert_eq!(bench.output(), 0.5, "what is no wish changes nothing");
    assert_eq!(bench.gate.deadline(), Some(at + ms(300) + NS));
    bench.gate.advance(at + ms(300));
    assert_eq!(bench.output(), 0.5);
    bench.gate.advance(at + ms(300) + NS);
    assert_eq!(bench.output(), 0.0);
    assert_eq!(bench.standing().0, msgs::Gate::AUTONOMOUS);
}

#[test]
fn retasking_stays_autonomous_and_replacing_replaces() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    let mut level = |words: &str| {
        bench.task(&mut bridge, words).unwrap();
        bench.wish(0.5);
        assert_eq!(bench.output(), 0.5, "{words}");
        bench.standing()
    };
    let autonomous = |level: i8| (msgs::Gate::AUTONOMOUS, level);
    assert_eq!(level("goto 1,2"), autonomous(msgs::Gate::WAYPOINT));
    assert_eq!(level("station"), autonomous(msgs::Gate::WAYPOINT));
    assert_eq!(level("route 1,2 3,4"), autonomous(msgs::Gate::ROUTE));
    assert_eq!(level("return"), autonomous(msgs::Gate::ROUTE));
    assert_eq!(
        level("survey 0,0 9,0 9,9"),
        autonomous(msgs::Gate::OBJECTIVE)
    );
    assert_eq!(level("insert 5,5"), autonomous(msgs::Gate::OBJECTIVE));
    assert_eq!(level("goto 5,5 append"), autonomous(msgs::Gate::OBJECTIVE));
    assert_eq!(
        level("heading 90 1"),
        (msgs::Gate::OPERATED, msgs::Gate::SETPOINT)
    );
    assert_eq!(level("resume"), autonomous(msgs::Gate::OBJECTIVE));
    assert_eq!(level("goto 1,2"), autonomous(msgs::Gate::WAYPOINT));
    let expected = [2, 1, 2, 5, 3, 2, 2, 4, 6, 2];
    assert_eq!(
        bench.task_kinds(),
        expected,
        "all of them went to the helm, and nothing else"
    );
}

#[test]
fn what_is_put_into_a_mission_does_not_rename_it() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    for (words, expected) in [
        ("survey 0,0 9,0 9,9 name=basin", "autonomy: basin"),
        ("insert 5,5 name=buoy", "autonomy: basin"),
        ("goto 5,5 append", "autonomy: basin"),
        ("goto 5,5 name=buoy", "autonomy: buoy"),
        // Without a mission, what is put first is the mission.
        ("hold", "none"),
        ("insert 1,1 name=pier", "autonomy: pier"),
    ] {
        bench.task(&mut bridge, words).unwrap();
        assert_eq!(bench.report().in_control, expected, "{words}");
    }
}

#[test]
fn returning_vessel_names_its_mission_again_when_it_resumes() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    let (route, objective) = (msgs::Gate::ROUTE, msgs::Gate::OBJECTIVE);
    for (words, expected, level) in [
        (
            "survey 0,0 9,0 9,9 name=basin",
            "autonomy: basin",
            objective,
        ),
        ("return", "autonomy: returns from basin", route),
        (
            "insert 5,5 name=buoy",
            "autonomy: returns from basin",
            route,
        ),
        ("hold", "none", msgs::Gate::OBSERVE),
        // On the way back it was held, and goes on with that; from there on with the mission.
        ("resume", "autonomy: returns from basin", route),
        ("resume", "autonomy: basin", objective),
        ("return", "autonomy: returns from basin", route),
        ("goto 5,5 name=buoy", "autonomy: buoy", msgs::Gate::WAYPOINT),
        ("return replace name=home", "autonomy: returns", route),
        ("hold", "none", msgs::Gate::OBSERVE),
        (
            "insert 1,1 name=pier",
            "autonomy: pier",
            msgs::Gate::WAYPOINT,
        ),
    ] {
        bench.task(&mut bridge, words).unwrap();
        assert_eq!(bench.report().in_control, expected, "{words}");
        assert_eq!(bench.standing().1, level, "{words}");
    }
    // A vehicle that a lost link sent back continues the mission on the command of a station.
    for (contingency, expected) in [
        (Contingency::Return, "autonomy: basin"),
        (Contingency::Continue, "autonomy: basin"),
        (Contingency::Station, "autonomy: returns from basin"),
        (Contingency::Hold, "autonomy: returns from basin"),
    ] {
        let rules = Rules {
            contingency,
            ..Rules::default()
        };
        let (mut bench, mut bridge) = Bench::ready(rules);
        bench
            .task(&mut bridge, "survey 0,0 9,0 9,9 name=basin")
            .unwrap();
        bench.task(&mut bridge, "return").unwrap();
        bench.pass(ms(6_100));
        assert_eq!(bench.report().state, msgs::Gate::CONTINGENCY);
        bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
        bench.task(&mut bridge, "resume").unwrap();
        assert_eq!(bench.report().in_control, expected, "{contingency:?}");
    }
}

#[test]
fn a_setpoint_lasts_a_second_and_a_half_and_then_the_mission_is_paused() {
    let rules = Rules {
        lease: ms(10_000),
        ..Rules::default()
    };
    let (mut bench, mut bridge) = Bench::ready(rules);
    bench.task(&mut bridge, "heading 90 1").unwrap();
    let until = Time::from_utime(bench.token.utime) + ms(1_500);
    bench.wish(0.5);
    let since = bench.report().since_utime;
    bench.pass(ms(500));
    bench.task(&mut bridge, "heading 80 1").unwrap();
    assert_eq!(
        bench.report().since_utime,
        since,
        "it is the same state still"
    );
    let until = until + ms(500);
    bench.pass(until.since(bench.now));
    bench.wish(0.5);
    assert_eq!(bench.output(), 0.5);
    assert_eq!(bench.task_kinds(), [Task::SETPOINT, Task::SETPOINT]);
    bench.pass(NS);
    assert_eq!(bench.output(), 0.0);
    assert_eq!(bench.standing(), (msgs::Gate::IDLE, msgs::Gate::SETPOINT));
    assert_eq!(bench.task_kinds(), [Task::HOLD]);
    // A setpoint that is too old to be kept at all is not begun.
    bridge.hear(&bench.token);
    let late = bench.task_command(&mut bridge, "heading 70 1");
    bench.pass(ms(1_600));
    assert_eq!(
        bench.handle(Input::Task(&late)).unwrap_err().reason,
        Reason::Stale
    );
}

#[test]
fn the_holder_who_lets_go_ends_direct_control_and_leaves_autonomy_alone() {
    for (words, state, tasks) in [
        (
            "survey 0,0 9,0 9,9",
            msgs::Gate::AUTONOMOUS,
            vec![Task::SURVEY],
        ),
        (
            "heading 90 1",
            msgs::Gate::IDLE,
            vec![Task::SETPOINT, Task::HOLD],
        ),
        ("hold", msgs::Gate::IDLE, vec![Task::HOLD]),
    ] {
        let (mut bench, mut bridge) = Bench::ready(Rules::default());
        bench.task(&mut bridge, words).unwrap();
        bench.lease(&mut bridge, LeaseRequest::RELEASE).unwrap();
        bench.pass(ms(60_000));
        assert_eq!(bench.report().state, state, "{words}");
        assert_eq!(bench.report().until_utime, 0, "{words}");
        assert_eq!(bench.task_kinds(), tasks, "{words}");
    }
    let (mut bench, mut bridge) = Bench::armed(Rules::default());
    bench.direct(&mut bridge, 0.5).unwrap();
    bench.lease(&mut bridge, LeaseRequest::RELEASE).unwrap();
    assert_eq!(bench.output(), 0.0);
    bench.pass(ms(60_000));
    assert_eq!(bench.standing(), (msgs::Gate::IDLE, msgs::Gate::OBSERVE));
}

#[test]
fn a_contingency_lasts_until_a_holder_commands_anew() {
    let rules = Rules {
        contingency: Contingency::Return,
        ..Rules::default()
    };
    let (mut bench, mut bridge) = Bench::ready(rules);
    bench.task(&mut bridge, "survey 0,0 9,0 9,9").unwrap();
    bench.pass(ms(6_100));
    assert_eq!(bench.report().state, msgs::Gate::CONTINGENCY);
    assert_eq!(bench.report().in_control, "autonomy: contingency return");
    assert_eq!(bench.task_kinds(), [Task::SURVEY, Task::RETURN]);
    bench.wish(0.5);
    assert_eq!(bench.output(), 0.5);
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    bench.pass(ms(500));
    assert_eq!(
        bench.report().state,
        msgs::Gate::CONTINGENCY,
        "to be there is not to command"
    );
    bench.task(&mut bridge, "resume").unwrap();
    assert_eq!(
        bench.standing(),
        (msgs::Gate::AUTONOMOUS, msgs::Gate::OBJECTIVE)
    );
}

#[test]
fn a_lease_that_is_taken_again_in_time_is_no_loss() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    bench.task(&mut bridge, "survey 0,0 9,0 9,9").unwrap();
    bench.pass(ms(3_000));
    assert_eq!(bench.report().holder, "");
    let lost = bench.report().until_utime;
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    assert!(bench.report().until_utime > lost);
    for _ in 0..100 {
        bench.lease(&mut bridge, LeaseRequest::RENEW).unwrap();
        bench.pass(ms(100));
    }
    assert_eq!(bench.report().state, msgs::Gate::AUTONOMOUS);
}

/// Makes a task worse, or just good enough.
type Spoil<'a> = &'a dyn Fn(&mut Task);

#[test]
fn nonsense_is_refused_from_every_station() {
    let (mut bench, mut bridge) = Bench::armed(Rules::default());
    bridge.hear(&bench.token);
    let nan = f64::NAN;
    let good = bench.task_command(&mut bridge, "goto 1,2").task;
    let spoilt: [(&str, Spoil<'_>); 15] = [
        ("kind 7", &|it| it.kind = 7),
        ("kind -1", &|it| it.kind = -1),
        ("placing 3", &|it| it.placing = 3),
        ("placing -1", &|it| it.placing = -1),
        ("a point that is none", &|it| it.points_m = vec![[1.0, nan]]),
        ("too many points", &|it| {
            it.points_m = vec![[1.0, 1.0]; 10_001];
        }),
        ("no point", &|it| it.points_m.clear()),
        ("a speed backward", &|it| it.speed_mps = -1.0),
        ("no spacing", &|it| it.lane_spacing_m = 0.0),
        ("a heading that is none", &|it| {
            it.heading_rad = f64::INFINITY;
        }),
        ("a long name", &|it| it.name = "x".repeat(129)),
        ("an area without", &|it| it.kind = Task::SURVEY),
        ("a setpoint without", &|it| it.kind = Task::SETPOINT),
        ("a setpoint without a speed", &|it| {
            (it.kind, it.heading_rad) = (Task::SETPOINT, 1.0);
        }),
        ("a setpoint without a heading", &|it| {
            (it.kind, it.speed_mps) = (Task::SETPOINT, 1.0);
        }),
    ];
    for (what, spoil) in spoilt {
        let mut command = bridge.task(bench.now, good.clone());
        spoil(&mut command.task);
        let refusal = bench.handle(Input::Task(&command)).unwrap_err();
        assert_eq!(refusal.reason, Reason::Malformed, "{what}");
    }
    let fits: [Spoil<'_>; 3] = [
        &|it| it.points_m = vec![[1.0, 1.0]; 10_000],
        &|it| it.name = "x".repeat(128),
        &|it| it.speed_mps = 0.0,
    ];
    for fit in fits {
        let mut command = bridge.task(bench.now, good.clone());
        fit(&mut command.task);
        bench.handle(Input::Task(&command)).unwrap();
    }
    let mut speakers = [0, 1, 2].map(|_| bridge.request(bench.now, LeaseRequest::RENEW));
    speakers[0].by.station.clear();
    speakers[1].by.station = "x".repeat(65);
    speakers[2].by.session = 0;
    for request in &speakers {
        let refusal = bench.handle(Input::Lease(request)).unwrap_err();
        assert_eq!(refusal.reason, Reason::Malformed, "{request:?}");
    }
    for ask in [0, 7, -1] {
        assert_eq!(bench.lease(&mut bridge, ask), Err(Reason::Malformed));
    }
    for mad in [nan, 1.1, f64::NEG_INFINITY] {
        assert_eq!(bench.direct(&mut bridge, mad), Err(Reason::Malformed));
    }
}

#[test]
fn reasons_have_a_word_each_and_the_report_counts_all_of_them() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    assert_eq!(bench.direct(&mut bridge, 0.5), Err(Reason::Neutral));
    let report = bench.report();
    assert_eq!(report.reasons.len(), report.n_refusals.len());
    let counted: Vec<(&str, i64)> = report
        .reasons
        .iter()
        .map(String::as_str)
        .zip(report.n_refusals.iter().copied())
        .filter(|(_, n)| *n > 0)
        .collect();
    assert_eq!(counted, [("neutral", 1)]);
    assert_eq!((report.n_accepted, report.n_refused), (2, 1));
    let mut words: Vec<&str> = Reason::ALL.map(Reason::word).to_vec();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), Reason::ALL.len());
}

#[test]
fn a_gate_for_wheels_is_the_same_gate() {
    let mut gate: Gate<Velocity> = Gate::new(Rules::default(), START).unwrap();
    let velocity = |speed_mps: f64, steering_rad: f64| Velocity {
        utime: 0,
        steering_rad,
        speed_mps,
    };
    for (wish, is_sane) in [
        (velocity(2.0, 0.3), true),
        (velocity(-100.0, 3.1), true),
        (velocity(100.1, 0.0), false),
        (velocity(1.0, 3.2), false),
        (velocity(f64::NAN, 0.0), false),
        (velocity(1.0, f64::NAN), false),
    ] {
        assert_eq!(
            gate.handle(START, Input::Wish(&wish)).is_ok(),
            is_sane,
            "{wish:?}"
        );
    }
    let mut bridge = Station::new("bridge", 7, 0);
    let mut now = START;
    let mut token = |gate: &mut Gate<Velocity>, bridge: &mut Station| {
        now = now + ms(50);
        gate.advance(now);
        bridge.hear(&gate.token());
        now
    };
    let at = token(&mut gate, &mut bridge);
    gate.handle(at, Input::Lease(&bridge.request(at, LeaseRequest::TAKE)))
        .unwrap();
    let at = token(&mut gate, &mut bridge);
    gate.handle(at, Input::Stop(&bridge.clear(at))).unwrap();
    for _ in 0..8 {
        let at = token(&mut gate, &mut bridge);
        // Turning the wheel on the spot moves nothing.
        let command = bridge.velocity(at, 0.4, 0.0);
        gate.handle(at, Input::Direct(&command)).unwrap();
    }
    let at = token(&mut gate, &mut bridge);
    let command = bridge.velocity(at, 0.4, 1.5);
    gate.handle(at, Input::Direct(&command)).unwrap();
    assert_eq!(gate.output().speed_mps, 1.5);
    gate.advance(at + ms(251));
    assert_eq!(gate.output(), Velocity::default());
}
