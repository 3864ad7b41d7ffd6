//! Who may command: one at a time, and for how long.

use crate::bench::{Bench, START, ms};
use crate::promises::send_direct;
use crate::station::Station;
use bowline_autonomy::gate::{Gate, Reason, Rules};
use bowline_msgs::{self as msgs, LeaseRequest};
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);

fn ranks(ranks: &[(&str, i32)]) -> Rules {
    Rules {
        ranks: ranks
            .iter()
            .map(|(name, rank)| ((*name).to_owned(), *rank))
            .collect(),
        ..Rules::default()
    }
}

#[test]
fn a_lease_ends_a_second_after_the_last_word_of_its_holder() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    bench.lease(&mut bridge, LeaseRequest::RENEW).unwrap();
    let until = bench.now + ms(1_000);
    assert_eq!(bench.report().lease_until_utime, until.utime());
    bench.pass(ms(1_000));
    assert_eq!(bench.report().holder, "bridge");
    assert_eq!(bench.report().heard_us, 1_000_000);
    bench.pass(NS);
    assert_eq!(
        (bench.report().holder.as_str(), bench.report().heard_us),
        ("", -1)
    );
    assert_eq!(
        (bench.token.epoch != 0, bench.report().epoch != 0),
        (true, true)
    );
    assert_eq!(
        bench.lease(&mut bridge, LeaseRequest::RENEW),
        Err(Reason::Lease)
    );
}

#[test]
fn every_word_of_the_holder_renews_the_lease_even_one_that_is_refused_for_a_stop() {
    let mut bench = Bench::new(Rules::default());
    let mut bridge = Station::new("bridge", 7, 0);
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    for _ in 0..20 {
        bench.pass(ms(200));
        assert_eq!(bench.direct(&mut bridge, 0.5), Err(Reason::Stopped));
        assert_eq!(bench.report().heard_us, 0);
    }
    assert_eq!(bench.report().holder, "bridge");
}

#[test]
fn an_old_epoch_is_refused_for_ever() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    bridge.hear(&bench.token);
    let old_epoch = bench.report().epoch;
    bench.lease(&mut bridge, LeaseRequest::RELEASE).unwrap();
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    assert_eq!(bench.report().epoch, old_epoch + 1);
    bench.pass(ms(50));
    bridge.hear(&bench.token);
    let mut command = bridge.thrust(bench.now, 0.0, 0.0);
    command.by.epoch = old_epoch;
    assert_eq!(send_direct(&mut bench, &command), Err(Reason::Epoch));
    // Nor in another life of the gate.
    let mut next = Bench::new(Rules::default());
    next.gate = Gate::new(Rules::default(), START + Duration::from_secs(60)).unwrap();
    next.now = START + Duration::from_secs(60);
    next.token = next.gate.token();
    next.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    assert!(next.report().epoch > old_epoch + 1);
}

#[test]
fn another_station_is_refused_and_its_name_alone_is_not_enough() {
    let (mut bench, bridge) = Bench::armed(Rules::default());
    let mut deck = Station::new("deck", 8, 0);
    assert_eq!(bench.direct(&mut deck, 0.1), Err(Reason::Lease));
    let mut namesake = Station::new("bridge", 8, 0);
    assert_eq!(bench.direct(&mut namesake, 0.1), Err(Reason::Lease));
    let mut thief = Station::new("deck", bridge.number(), 0);
    assert_eq!(bench.direct(&mut thief, 0.1), Err(Reason::Lease));
    assert_eq!(bench.task(&mut deck, "goto 1,2"), Err(Reason::Lease));
    assert_eq!(bench.clear(&mut deck), Err(Reason::Lease));
    for ask in [
        LeaseRequest::RENEW,
        LeaseRequest::RELEASE,
        LeaseRequest::CONSENT,
        LeaseRequest::DENY,
    ] {
        assert_eq!(bench.lease(&mut deck, ask), Err(Reason::Lease), "{ask}");
    }
}

#[test]
fn a_held_lease_is_asked_for_and_consent_hands_it_over_with_the_mission_going_on() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    let mut deck = Station::new("deck", 8, 0);
    let mut third = Station::new("third", 9, 0);
    bench.task(&mut bridge, "survey 0,0 9,0 9,9").unwrap();
    assert_eq!(
        bench.lease(&mut bridge, LeaseRequest::CONSENT),
        Err(Reason::Unasked)
    );
    assert_eq!(
        bench.lease(&mut bridge, LeaseRequest::DENY),
        Err(Reason::Unasked)
    );
    bench.lease(&mut deck, LeaseRequest::TAKE).unwrap();
    let report = bench.report();
    assert_eq!(
        (report.holder.as_str(), report.asking.as_str()),
        ("bridge", "deck")
    );
    assert_eq!(report.asking_until_utime, (bench.now + ms(5_000)).utime());
    assert_eq!(
        bench.lease(&mut deck, LeaseRequest::TAKE),
        Ok(()),
        "asking twice is asking"
    );
    assert_eq!(
        bench.lease(&mut third, LeaseRequest::TAKE),
        Err(Reason::Asked)
    );
    let epoch = bench.report().epoch;
    bench.lease(&mut bridge, LeaseRequest::CONSENT).unwrap();
    let report = bench.report();
    assert_eq!(
        (report.holder.as_str(), report.asking.as_str()),
        ("deck", "")
    );
    assert_eq!(report.epoch, epoch + 1);
    assert_eq!(report.state, msgs::Gate::AUTONOMOUS);
    assert_eq!(bench.task(&mut bridge, "hold"), Err(Reason::Lease));
    assert_eq!(
        bench.direct(&mut deck, 0.5),
        Err(Reason::Neutral),
        "it has not shown neutral input"
    );
}

#[test]
fn only_one_session_asks_at_a_time_and_asking_again_is_no_second_question() {
    let (mut bench, _) = Bench::ready(Rules {
        lease: ms(60_000),
        ..Rules::default()
    });
    let mut quay = Station::new("quay", 8, 0);
    bench.lease(&mut quay, LeaseRequest::TAKE).unwrap();
    let until = bench.report().asking_until_utime;
    bench.pass(ms(100));
    for (station, session) in [("quay", 9), ("boat", 8), ("boat", 9)] {
        let mut other = Station::new(station, session, 0);
        let found = bench.lease(&mut other, LeaseRequest::TAKE);
        assert_eq!(found, Err(Reason::Asked), "{station}, {session}");
    }
    bench.lease(&mut quay, LeaseRequest::TAKE).unwrap();
    assert_eq!(bench.report().asking, "quay");
    assert_eq!(bench.report().asking_until_utime, until);
}

#[test]
fn denied_or_unanswered_request_is_reported_and_may_be_repeated() {
    let (mut bench, mut bridge) = Bench::ready(Rules::default());
    let mut deck = Station::new("deck", 8, 0);
    bench.lease(&mut deck, LeaseRequest::TAKE).unwrap();
    bench.lease(&mut bridge, LeaseRequest::DENY).unwrap();
    assert_eq!(bench.turned_away, [("deck".to_owned(), Reason::Denied)]);
    bench.lease(&mut deck, LeaseRequest::TAKE).unwrap();
    let until = bench.now + ms(5_000);
    while bench.now < until {
        bench.lease(&mut bridge, LeaseRequest::RENEW).unwrap();
        bench.pass(ms(100));
    }
    assert_eq!(bench.turned_away.len(), 1);
    bench.pass(NS);
    assert_eq!(
        bench.turned_away[1],
        ("deck".to_owned(), Reason::Unanswered)
    );
    assert_eq!(bench.report().holder, "bridge");
    assert_eq!(bench.gate.counts().refused_for(Reason::Unanswered), 1);
    // When the holder vanishes, the station that asked can have it.
    bench.lease(&mut deck, LeaseRequest::TAKE).unwrap();
    bench.pass(ms(1_001));
    assert_eq!(
        (
            bench.report().holder.as_str(),
            bench.report().asking.as_str()
        ),
        ("", "")
    );
    bench.lease(&mut deck, LeaseRequest::TAKE).unwrap();
    assert_eq!(bench.report().holder, "deck");
}

#[test]
fn rank_takes_the_lease_through_a_stop_and_only_as_far_as_the_gate_allows() {
    let (mut bench, mut bridge) = Bench::ready(ranks(&[("captain", 2), ("mate", 1)]));
    bench.task(&mut bridge, "goto 1,2").unwrap();
    bench.wish(0.5);
    assert_eq!(bench.output(), 0.5);
    let mut stranger = Station::new("stranger", 9, 99);
    assert_eq!(
        bench.lease(&mut stranger, LeaseRequest::PREEMPT),
        Err(Reason::Rank)
    );
    let mut humble = Station::new("captain", 10, 0);
    assert_eq!(
        bench.lease(&mut humble, LeaseRequest::PREEMPT),
        Err(Reason::Rank)
    );
    assert_eq!(
        bench.lease(&mut bridge, LeaseRequest::PREEMPT),
        Ok(()),
        "it has it"
    );
    assert_eq!(bench.output(), 0.5);
    let mut mate = Station::new("mate", 11, 99);
    bench.lease(&mut mate, LeaseRequest::PREEMPT).unwrap();
    let report = bench.report();
    assert_eq!(
        (report.holder.as_str(), report.rank, report.state),
        ("mate", 1, msgs::Gate::STOPPED)
    );
    assert_eq!(report.stopped_by, "mate");
    assert_eq!(bench.output(), 0.0);
    let mut captain = Station::new("captain", 12, 2);
    bench.lease(&mut captain, LeaseRequest::PREEMPT).unwrap();
    assert_eq!(bench.report().rank, 2);
    assert_eq!(
        bench.lease(&mut mate, LeaseRequest::PREEMPT),
        Err(Reason::Rank)
    );
}

#[test]
fn people_have_the_rank_of_their_station_unless_they_have_one_of_their_own() {
    let (mut bench, _) = Bench::ready(ranks(&[("bridge", 2), ("bridge/bob", 1)]));
    for (name, refused, rank) in [
        ("deck/anna", true, 0),
        ("bridgehead/anna", true, 0),
        ("bridge/bob", false, 1),
        ("bridge/anna", false, 2),
    ] {
        let mut session = Station::new(name, 9, 99);
        let outcome = bench.lease(&mut session, LeaseRequest::PREEMPT);
        assert_eq!(outcome.is_err(), refused, "{name}");
        if !refused {
            assert_eq!(bench.report().rank, rank, "{name}");
        }
    }
}

#[test]
fn whatever_becomes_of_the_lease_is_news() {
    let mut bench = Bench::new(Rules::default());
    let mut bridge = Station::new("bridge", 7, 0);
    let mut shore = Station::new("shore", 8, 0);
    let mut n_changes = bench.gate.n_changes();
    let mut is_news = |bench: &Bench, what: &str| {
        let before = std::mem::replace(&mut n_changes, bench.gate.n_changes());
        assert!(n_changes > before, "{what}: {before}, then {n_changes}");
    };
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    is_news(&bench, "taken");
    bench.lease(&mut shore, LeaseRequest::TAKE).unwrap();
    is_news(&bench, "asked for");
    bench.lease(&mut bridge, LeaseRequest::CONSENT).unwrap();
    is_news(&bench, "handed over");
    bench.lease(&mut shore, LeaseRequest::RELEASE).unwrap();
    is_news(&bench, "given up");
    bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
    bench.lease(&mut shore, LeaseRequest::TAKE).unwrap();
    is_news(&bench, "asked for again");
    bench.lease(&mut bridge, LeaseRequest::DENY).unwrap();
    is_news(&bench, "denied");
    bench.lease(&mut shore, LeaseRequest::TAKE).unwrap();
    is_news(&bench, "asked for once more");
    for _ in 0..6 {
        bench.lease(&mut bridge, LeaseRequest::RENEW).unwrap();
        bench.pass(ms(900));
    }
    is_news(&bench, "not answered");
    bench.pass(ms(1_100));
    is_news(&bench, "run out");
}
