//! The gate as robots have it: what it makes of poses, of what waited in a queue, and what it says to whom.

use crate::bench::{ms, task, thrust};
use bowline_autonomy::gate::{GateComponent, GateParameters};
use bowline_autonomy::operator::Session;
use bowline_msgs::{Gate, GateToken, LeaseRequest, PoseTransform, Refusal, TaskCommand, Thrust};
use bowline_node::engine::{Arrival, Engine, Instance, Sent, Sink};
use bowline_node::{Kind, Parcel, Rig, Time};
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

fn last_token(rig: &mut Rig, session: &mut Session) {
    for token in rig.take::<GateToken>("token") {
        session.hear(&token);
    }
}

/// A gate with a fence of 10 m about the origin, cleared and autonomous at the origin.
fn under_way(place_sd_m: f64) -> (Rig, Session) {
    let mut rig = Rig::new::<GateComponent<Thrust>>(GateParameters {
        fence_m: vec![-5.0, -5.0, 5.0, -5.0, 5.0, 5.0, -5.0, 5.0],
        place_sd_m,
        lease: ms(60_000),
        ..GateParameters::default()
    });
    let mut bridge = Session::new("bridge", 7, 0);
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
        ("east of north", [25.1, 0.0, 0.1], false),
        ("north of east", [0.1, 0.0, 25.1], false),
        // Along the diagonal it is 5.5 m, which neither axis says.
        ("along a diagonal", [15.2, 15.0, 15.2], false),
        ("along the other", [15.2, -15.0, 15.2], false),
        ("it does not say", [nan, nan, nan], false),
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
    // Nor does it say that the vehicle is outside.
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
fn whose_commands_are_refused_is_told_whatever_noise_another_makes() {
    let (mut rig, _) = under_way(5.0);
    let mut noise = Session::new("noise", 8, 0);
    let mut deck = Session::new("deck", 9, 0);
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
    assert_eq!(first, Some(1), "the first of each sort is said");
    // All of them are counted.
    assert_eq!(state(&mut rig).n_refused, 606);
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
    let mut bridge = Session::new("bridge", 7, 0);
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
