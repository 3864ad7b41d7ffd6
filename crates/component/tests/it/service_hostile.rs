//! Servers and callers that receive anything at any time.

use bowline_component::Time;
use bowline_component::service::{
    BeginError, CallId, Caller, Failure, Incoming, MAX_BODY, MAX_TIMEOUT, Request, Server,
    ServerLimits, ServiceName,
};
use bowline_msgs::{Answer, Call};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

const START: Time = Time::from_ns(1_000_000_000_000);
const INSTANCE: i64 = 5;
const LIMITS: ServerLimits = ServerLimits {
    max_working: 3,
    max_kept: 6,
    max_kept_bytes: 64,
    max_callers: 4,
};

fn service() -> ServiceName {
    ServiceName::new("model.transform").unwrap()
}

fn server() -> Server {
    Server::new(service(), "model", INSTANCE, None, LIMITS)
}

fn request(body: Vec<u8>, timeout: Duration) -> Request {
    Request {
        service: service(),
        body,
        reply: None,
        timeout,
    }
}

/// Numbers at the ends, and small ones that meet.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0_i64..6, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => any::<i64>()]
}

prop_compose! {
    /// What any client might send as a call.
    fn any_call()(
        (id, incarnation, number) in (number(), 0_i64..3, number()),
        (timeout_us, elapsed_us) in (prop_oneof![Just(1_000_000), number()], prop_oneof![Just(0), number()]),
        server_instance in prop_oneof![4 => Just(0), 2 => Just(INSTANCE), 1 => number()],
        caller in 0_u8..6,
        kind in prop_oneof![6 => Just(Call::REQUEST), 2 => Just(Call::CANCEL), 1 => any::<i8>()],
        attempt in prop_oneof![4 => 0_i32..3, 1 => any::<i32>()],
        is_ours in prop::bool::weighted(0.95),
        size in 0_usize..20,
    ) -> Call {
        let service = if is_ours { "model.transform" } else { "other" };
        Call {
            id, incarnation, number, timeout_us, elapsed_us, server_instance, kind, attempt,
            caller: format!("c{caller}"),
            service: service.to_owned(),
            body: vec![7; size],
            ..Call::default()
        }.with_lengths()
    }
}

prop_compose! {
    /// What any client might send as an answer, to one of a few calls.
    fn any_answer(ids: Vec<i64>)(
        id in prop::sample::select(ids),
        server_instance in 0_i64..4,
        attempt in prop_oneof![4 => 0_i32..30, 1 => any::<i32>()],
        kind in prop_oneof![9 => 1_i8..5, 1 => any::<i8>()],
        code in prop_oneof![4 => -8_i32..3, 1 => any::<i32>()],
        is_ours in prop::bool::weighted(0.9),
        server in 0_u8..2,
    ) -> Answer {
        let caller = if is_ours { "planner" } else { "other" };
        Answer {
            id, server_instance, attempt, kind, code,
            caller: caller.to_owned(),
            service: "model.transform".to_owned(),
            server: format!("s{server}"),
            text: "no".to_owned(),
            ..Answer::default()
        }
    }
}

proptest! {
    #[test]
    fn no_message_breaks_a_servers_bounds_or_executes_twice(
        // A minute is not over: a caller that is quiet for longer may be forgotten.
        heard in prop::collection::vec((any_call(), 0_u64..250, 0_u8..4), 1..200)
    ) {
        let mut server = server();
        let mut now = START;
        let mut executed = BTreeSet::new();
        for (call, after, deed) in heard {
            now = now + Duration::from_millis(after);
            let incoming = server.on_call(now, &call).incoming;
            if let Some(Incoming::Called(called)) = incoming {
                let key = (call.caller.clone(), call.incarnation, call.number);
                prop_assert!(executed.insert(key), "{call:?} was executed twice");
                if deed == 1 {
                    server.finish(now, called.id, Ok(vec![1; 30]));
                }
            }
            match deed {
                2 => drop(server.on_time(now)),
                3 => drop(server.finish(now, CallId(call.id), Err(Failure::new(1, "no")))),
                _ => {}
            }
            let (n_kept, n_bytes) = server.kept();
            prop_assert!(n_kept <= LIMITS.max_kept && n_bytes <= LIMITS.max_kept_bytes);
            prop_assert!(server.n_working() <= LIMITS.max_working);
        }
        server.on_time(now + MAX_TIMEOUT + Duration::from_secs(1));
        prop_assert_eq!((server.kept(), server.n_working(), server.next_due()), ((0, 0), 0, None));
    }

    #[test]
    fn no_message_gives_a_call_two_outcomes_or_none(
        heard in prop::collection::vec(
            (any_answer((1..=5).map(|number| CallId::new("planner", 1, number).0).collect()), 0_u64..200),
            0..100,
        )
    ) {
        let mut caller = Caller::new("planner", 1);
        let mut now = START;
        let mut finished = Vec::new();
        for _ in 0..4 {
            caller.begin(now, request(vec![1], Duration::from_secs(3))).unwrap();
        }
        for (place, (answer, after)) in heard.iter().enumerate() {
            now = now + Duration::from_millis(*after);
            finished.extend(caller.on_answer(now, answer).map(|it| it.id));
            if place % 5 == 4 {
                finished.extend(caller.on_time(now).finished.into_iter().map(|it| it.id));
            }
            if place == 20 {
                let cancelled = caller.cancel(now, CallId::new("planner", 1, 2));
                finished.extend(cancelled.map(|(it, _)| it.id));
            }
        }
        now = now + Duration::from_secs(4);
        finished.extend(caller.on_time(now).finished.into_iter().map(|it| it.id));
        let distinct: BTreeSet<CallId> = finished.iter().copied().collect();
        prop_assert_eq!((finished.len(), distinct.len()), (4, 4));
        prop_assert_eq!((caller.n_open(), caller.next_due()), (0, None));
    }
}

#[test]
fn what_is_too_much_is_not_begun() {
    let mut caller = Caller::new("planner", 1);
    let second = Duration::from_secs(1);
    let too_large = caller.begin(START, request(vec![0; MAX_BODY + 1], second));
    assert!(matches!(too_large, Err(BeginError::TooLarge { .. })));
    for timeout in [Duration::ZERO, MAX_TIMEOUT * 2] {
        let refused = caller.begin(START, request(Vec::new(), timeout));
        assert_eq!(refused.unwrap_err(), BeginError::Timeout { timeout });
    }
    let mut n_begun = 0;
    while n_begun < 10_000 && caller.begin(START, request(Vec::new(), second)).is_ok() {
        n_begun += 1;
    }
    assert_eq!((n_begun, caller.n_open()), (256, 256));
    assert_eq!(caller.on_time(START + second).finished.len(), 256);
}

#[test]
fn a_flood_of_callers_is_refused_aloud_and_those_who_were_quiet_make_room() {
    let mut server = server();
    let call = |caller: usize, now: Time| {
        let mut caller = Caller::new(&format!("c{caller}"), 1);
        let (_, call) = caller
            .begin(now, request(vec![0; 8], Duration::from_secs(1)))
            .unwrap();
        call
    };
    for caller in 0..100 {
        let answer = server.on_call(START, &call(caller, START)).answer.unwrap();
        let is_refused = answer.kind == Answer::ERROR && answer.code == Answer::BUSY;
        assert_eq!(is_refused, caller >= LIMITS.max_working, "{caller}");
    }
    assert_eq!(server.counts().busy, 97);
    let later = START + Duration::from_secs(61);
    server.on_time(later);
    let answer = server.on_call(later, &call(1_000, later)).answer.unwrap();
    assert_eq!(answer.kind, Answer::ACCEPTED);
}
