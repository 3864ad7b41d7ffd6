//! The gate as robots have it: what it makes of poses, of what waited in a queue, and what it publishes.

use crate::bench::{ms, task, thrust};
use crate::station::Station;
use bowline_autonomy::gate::{GateComponent, GateParameters};
use bowline_component::engine::{Arrival, Engine, Instance, Sent, Sink};
use bowline_component::{Build as _, Kind, Parcel, Ports, Rig, Time};
use bowline_msgs::{
    Alarm, Gate, GateToken, LeaseRequest, Parameters, ParametersRequest, PoseTransform, Refusal,
    StopCommand, TaskCommand, Thrust,
};
use bowline_wire::{Decode, Message};
use std::collections::BTreeMap;

/// At a place, and how certain that is: variances along x and y, and what they have in common.
fn pose(rig: &Rig, x_m: f64, [xx, xy, yy]: [f64; 3]) -> PoseTransform {
    #[rustfmt::skip]
    let matrix = [
        1.0, 0.0, 0.0, x_m,
        0.0, 1.0, 0.0, 0.0,
        0.0, 0.0, 1.0, 0.0,
        0.0, 0.0, 0.0, 1.0,
    ];
    PoseTransform {
        utime: rig.now().utime(),
        matrix,
        position_covariance: [xx, xy, 0.0, xy, yy, 0.0, 0.0, 0.0, 1e9],
        ..PoseTransform::default()
    }
}

fn last_token(rig: &mut Rig, session: &mut Station) {
    for token in rig.take::<GateToken>("token") {
        session.hear(&token);
    }
}

/// A gate with a fence of 10 m about the origin, cleared and autonomous at the origin.
fn under_way(place_sd_m: f64) -> (Rig, Station) {
    let mut rig = Rig::new::<GateComponent<Thrust>>(GateParameters {
        fence_m: vec![-5.0, -5.0, 5.0, -5.0, 5.0, 5.0, -5.0, 5.0],
        place_sd_m,
        lease: ms(60_000),
        ..GateParameters::default()
    });
    let mut bridge = Station::new("bridge", 7, 0);
    rig.advance(ms(100));
    last_token(&mut rig, &mut bridge);
    rig.send("pose", pose(&rig, 0.0, [0.01, 0.0, 0.01]));
    rig.send("leases", bridge.request(rig.now(), LeaseRequest::TAKE));
    rig.advance(ms(100));
    last_token(&mut rig, &mut bridge);
    rig.send("stops", bridge.clear(rig.now()));
    rig.advance(ms(100));
    last_token(&mut rig, &mut bridge);
    rig.send("tasks", bridge.task(rig.now(), task("station")));
    let state: Gate = rig.take("state").pop().unwrap();
    assert_eq!(state.state, Gate::AUTONOMOUS, "{}", state.reason);
    (rig, bridge)
}

fn state(rig: &mut Rig) -> Gate {
    rig.advance(ms(250));
    rig.take("state").pop().unwrap()
}

#[test]
fn a_pose_that_is_too_uncertain_is_no_place_and_the_vehicle_stops_in_time() {
    let good = [24.9, 0.0, 24.9];
    let nan = f64::NAN;
    for (what, covariance, is_place) in [
        ("certain", [0.0, 0.0, 0.0], true),
        ("just certain enough", good, true),
        ("along a narrow pier", [20.0, 0.0, 0.0], true),
        ("east of north", [25.1, 0.0, 0.1], false),
        ("north of east", [0.1, 0.0, 25.1], false),
        // Along the diagonal it is 5.5 m, which neither axis shows.
        ("along a diagonal", [15.2, 15.0, 15.2], false),
        ("along the other", [15.2, -15.0, 15.2], false),
        ("it is not known", [nan, nan, nan], false),
        ("half of it", [0.1, 0.0, nan], false),
        ("nonsense", [-1.0, 0.0, -1.0], false),
    ] {
        let (mut rig, _) = under_way(5.0);
        for _ in 0..30 {
            rig.send("pose", pose(&rig, 1.0, covariance));
            rig.advance(ms(100));
        }
        let state = state(&mut rig);
        assert_eq!(!state.is_stopped, is_place, "{what}: {}", state.reason);
        if !is_place {
            assert_eq!(state.stopped_by, "fence", "{what}");
            assert!(state.stop_reason.contains("not known"), "{what}");
        }
    }
    // Nor does it show that the vehicle is outside.
    let (mut rig, _) = under_way(5.0);
    rig.send("pose", pose(&rig, 9.0, [26.0, 0.0, 26.0]));
    assert!(!state(&mut rig).is_stopped);
    rig.send("pose", pose(&rig, 9.0, good));
    assert!(state(&mut rig).stop_reason.contains("outside"));
}

#[test]
fn how_uncertain_a_pose_may_be_is_the_robots_choice() {
    let (mut rig, _) = under_way(0.5);
    for _ in 0..30 {
        rig.send("pose", pose(&rig, 1.0, [0.26, 0.0, 0.0]));
        rig.advance(ms(100));
    }
    assert!(state(&mut rig).is_stopped);
}

#[test]
fn refusals_reach_their_station_whatever_another_sends() {
    let (mut rig, _) = under_way(5.0);
    let mut noise = Station::new("noise", 8, 0);
    let mut deck = Station::new("deck", 9, 0);
    for nth in 0..300 {
        last_token(&mut rig, &mut noise);
        let command = noise.thrust(rig.now(), 0.5, 0.5);
        rig.send("direct", command.clone());
        rig.send("direct", command);
        if nth % 50 == 0 {
            deck.hear(&GateToken {
                utime: rig.now().utime(),
                ..GateToken::default()
            });
            rig.send("tasks", deck.task(rig.now(), task("station")));
        }
        rig.advance(ms(10));
    }
    let refusals = rig.take::<Refusal>("refusal");
    let of = |station: &str| {
        let mine = refusals.iter().filter(|it| it.by.station == station);
        mine.map(|it| it.reason.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of("deck"), ["unknown"; 6]);
    let noise = of("noise");
    assert!((45..=55).contains(&noise.len()), "{}", noise.len());
    let first = noise.iter().position(|it| *it == "repeated");
    assert_eq!(first, Some(1), "the first of each sort is sent");
    // All of them are counted.
    assert_eq!(state(&mut rig).n_refused, 606);
}

fn refused(parameters: GateParameters) -> Option<String> {
    let built = GateComponent::<Thrust>::build(parameters, &mut Ports::default());
    built.err().map(|error| error.to_string())
}

#[test]
fn contradictory_or_empty_rules_are_refused_when_built() {
    let leases = [(249, false), (250, true), (251, true)];
    for (lease_ms, is_good) in leases {
        let error = refused(GateParameters {
            ttl: ms(250),
            lease: ms(lease_ms),
            ..GateParameters::default()
        });
        assert_eq!(error.is_none(), is_good, "{lease_ms} ms: {error:?}");
    }
    for text in ["bridge", "bridge=", "bridge=two", "bridge=-1", "2"] {
        let error = refused(GateParameters {
            ranks: vec!["deck=1".to_owned(), text.to_owned()],
            ..GateParameters::default()
        });
        assert!(error.unwrap().ends_with(&format!("found {text:?}")));
    }
    let error = refused(GateParameters {
        fence_m: vec![0.0, 0.0, 9.0, 0.0, 9.0],
        ..GateParameters::default()
    });
    assert_eq!(error.unwrap(), "fence_m has an x without a y");
}

#[test]
fn who_takes_over_by_rank_is_the_robots_choice() {
    let mut rig = Rig::new::<GateComponent<Thrust>>(GateParameters {
        ranks: vec!["mate=1".to_owned(), " captain = 2 ".to_owned()],
        lease: ms(60_000),
        ..GateParameters::default()
    });
    let mut ask = |station: &str, session, ask| {
        let mut session = Station::new(station, session, 99);
        rig.advance(ms(250));
        last_token(&mut rig, &mut session);
        rig.send("leases", session.request(rig.now(), ask));
        let state = state(&mut rig);
        (state.holder, state.rank)
    };
    let is = |holder: &str, rank| (holder.to_owned(), rank);
    assert_eq!(ask("bridge", 7, LeaseRequest::TAKE), is("bridge", 0));
    assert_eq!(ask("deck", 8, LeaseRequest::PREEMPT), is("bridge", 0));
    assert_eq!(ask("mate", 9, LeaseRequest::PREEMPT), is("mate", 1));
    assert_eq!(ask("captain", 10, LeaseRequest::PREEMPT), is("captain", 2));
}

#[test]
fn what_it_allows_can_be_asked_for_and_not_be_changed_while_it_guards() {
    let mut rig = Rig::new::<GateComponent<Thrust>>(GateParameters::default());
    let mut ask = |names: &[&str], values: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|&it| it.to_owned()).collect();
        let request = ParametersRequest {
            names: owned(names),
            values: owned(values),
            ..ParametersRequest::default()
        };
        rig.call("parameters", &request.with_lengths());
        rig.answers::<Parameters>("parameters").pop().unwrap()
    };
    let ttl = |parameters: Parameters| {
        let mut all = parameters.parameters.into_iter();
        all.find(|it| it.name == "ttl").unwrap().value
    };
    assert_eq!(ttl(ask(&[], &[]).unwrap()), "\"250ms\"");
    assert!(ask(&["ttl"], &["\"1s\""]).is_err());
    assert_eq!(ttl(ask(&[], &[]).unwrap()), "\"250ms\"");
}

#[test]
fn gate_reports_at_5_hz_and_issues_tokens_at_20_hz() {
    let (mut rig, _) = under_way(5.0);
    let (said, told) = (rig.take::<Gate>("state"), rig.take::<GateToken>("token"));
    drop((said, told));
    for _ in 0..100 {
        // What changes nothing is not published each time.
        rig.send("wish", thrust(0.1));
        rig.send("pose", pose(&rig, 0.0, [0.01, 0.0, 0.01]));
        rig.advance(ms(100));
    }
    let n_states = rig.take::<Gate>("state").len();
    let n_tokens = rig.take::<GateToken>("token").len();
    assert!((49..=51).contains(&n_states), "{n_states} in 10 s");
    assert!((199..=201).contains(&n_tokens), "{n_tokens} in 10 s");
}

#[test]
fn refusal_has_the_command_and_its_known_age() {
    let (mut rig, mut bridge) = under_way(5.0);
    let strangers = (100..).map(|number| Station::new("stranger", number, 0));
    let asks = [
        (LeaseRequest::RENEW, "renew"),
        (LeaseRequest::RELEASE, "release"),
        (LeaseRequest::CONSENT, "consent"),
        (LeaseRequest::DENY, "deny"),
        (LeaseRequest::PREEMPT, "preempt"),
        (77, "lease"),
    ];
    rig.advance(ms(50));
    let token = rig.take::<GateToken>("token").pop().unwrap();
    rig.advance(ms(30));
    let last = |rig: &mut Rig| rig.take::<Refusal>("refusal").pop().unwrap();
    for (mut stranger, (ask, word)) in strangers.clone().zip(asks) {
        stranger.hear(&token);
        rig.send("leases", stranger.request(rig.now(), ask));
        let refusal = last(&mut rig);
        assert_eq!(refusal.command, word, "{}", refusal.text);
    }
    let [mut clears, mut stops, mut takes] = [1, 2, 3].map(|it| Station::new("deck", it, 0));
    clears.hear(&token);
    rig.send("stops", clears.clear(rig.now()));
    assert_eq!(last(&mut rig).command, "clear");
    let nonsense = StopCommand {
        ask: 77,
        ..stops.stop(rig.now(), "")
    };
    rig.send("stops", nonsense);
    assert_eq!(last(&mut rig).command, "stop");
    // Too late: it is known by how much.
    bridge.hear(&token);
    let command = bridge.thrust(rig.now(), 0.0, 0.0);
    rig.advance(ms(400));
    rig.send("direct", command);
    let refusal = last(&mut rig);
    assert_eq!((&*refusal.command, &*refusal.reason), ("direct", "stale"));
    assert!((400_000..500_000).contains(&refusal.age_us), "{refusal:?}");
    // The age of what it never issued is unknown.
    takes.hear(&GateToken {
        token: 1 << 60,
        ..token
    });
    rig.send("leases", takes.request(rig.now(), LeaseRequest::TAKE));
    let refusal = last(&mut rig);
    assert_eq!((&*refusal.command, &*refusal.reason), ("take", "unknown"));
    assert_eq!(refusal.age_us, -1);
}

#[derive(Default)]
struct Heard(Vec<(String, Vec<u8>)>);

impl Sink for Heard {
    fn publish(&mut self, sent: &Sent<'_>) {
        let bytes = sent.parcel.bytes().to_vec();
        self.0.push((sent.channel.to_string(), bytes));
    }
}

impl Heard {
    fn last<M: Message + for<'a> Decode<'a>>(&self, channel: &str) -> M {
        let mut newest_first = self.0.iter().rev();
        let (_, bytes) = newest_first.find(|(at, _)| at == channel).unwrap();
        M::decode(bytes).unwrap()
    }
}

#[test]
fn wishes_that_waited_while_the_gate_was_held_up_move_nothing() {
    const KIND: Kind = Kind::of::<GateComponent<Thrust>>("gate", "A gate.");
    let instance = Instance::new(&KIND, "gate", &[], BTreeMap::new()).unwrap();
    let mut engine = Engine::new(vec![instance]).unwrap();
    let (mut heard, mut now) = (Heard::default(), Time::from_utime(1_000_000));
    let mut bridge = Station::new("bridge", 7, 0);
    engine.start(now, &mut heard).unwrap();
    let mut tell = |now: Time, received: Time, channel: &str, parcel: Parcel| {
        let arrival = Arrival {
            received,
            channel: channel.into(),
            parcel,
        };
        engine.wake(now, &mut heard).unwrap();
        engine.deliver(now, &arrival, &mut heard).unwrap();
        let thrust: Thrust = heard.last("thrust.command");
        (heard.last::<GateToken>("gate.token"), thrust.port_ratio)
    };
    let take = Parcel::new({
        bridge.hear(&GateToken::default());
        bridge.request(now, LeaseRequest::TAKE)
    });
    let (token, _) = tell(now, now, "operator.lease", take.unwrap());
    bridge.hear(&token);
    for nth in 0..3 {
        now = now + ms(60);
        let (channel, parcel) = match nth {
            0 => (
                "operator.lease",
                Parcel::new(bridge.request(now, LeaseRequest::TAKE)),
            ),
            1 => ("operator.stop", Parcel::new(bridge.clear(now))),
            _ => {
                let command: TaskCommand = bridge.task(now, task("station"));
                ("operator.task", Parcel::new(command))
            }
        };
        let (token, _) = tell(now, now, channel, parcel.unwrap());
        bridge.hear(&token);
    }
    let wish = || Parcel::new(thrust(0.5)).unwrap();
    now = now + ms(10);
    let (_, moves) = tell(now, now, "thrust.wish", wish());
    assert_eq!(moves, 0.5, "it moves by what is fresh");
    // Held up for a second: what came meanwhile is a second old, and older.
    let held_up = now;
    now = now + ms(1_000);
    for waited_ms in [900, 600, 310] {
        let (_, moves) = tell(now, now - ms(waited_ms), "thrust.wish", wish());
        assert_eq!(moves, 0.0, "{waited_ms} ms after {held_up:?}");
    }
    let (_, moves) = tell(now, now - ms(20), "thrust.wish", wish());
    assert_eq!(moves, 0.5);
}

#[test]
fn a_contingency_raises_an_alarm_with_its_reason() {
    let (mut rig, _) = under_way(5.0);
    assert_eq!(rig.alarms(), []);
    // The lease lasts for 60 s, and the operator may be away for 5 s after it.
    for _ in 0..700 {
        rig.send("pose", pose(&rig, 0.0, [0.01, 0.0, 0.01]));
        rig.advance(ms(100));
    }
    let state = state(&mut rig);
    assert_eq!(state.state, Gate::CONTINGENCY, "{}", state.reason);
    let alarms = rig.alarms();
    let alarm = alarms.last().unwrap();
    assert_eq!(
        (alarm.id.as_str(), alarm.severity, alarm.state),
        ("contingency", Alarm::ALARM, Alarm::RAISED)
    );
    assert_eq!(alarm.cause, state.reason);
}
