//! One order of events.

use crate::parts::{Heard, KINDS, chain, engine, instance, ms, scan};
use bowline_component::engine::{Arrival, Engine, EngineError, Instance, WiringError};
use bowline_component::{
    Build, BuildError, Built, Component, Expect, Input, Kind, NoParameters, Outbox, Output, Parcel,
    Ports, Rig, Step, Time,
};
use bowline_host::{Lockstep, Silence};
use bowline_msgs::{Pose, Velocity};
use std::time::Duration;

/// A source of work for many: ticks and talks.
struct Talker {
    heard: Input<Velocity>,
    said: Output<Velocity>,
    sum: f64,
}

impl Build for Talker {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(ms(10));
        Ok(Self {
            heard: ports.input("heard", "What another sent.", Expect::ever()),
            said: ports.output("said", "What it sends."),
            sum: 0.0,
        })
    }
}

impl Component for Talker {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(heard) = step.arrived(self.heard) {
            self.sum = (self.sum + heard.speed_mps).sin();
        }
        if step.is_tick() {
            self.sum += 0.1;
            let utime = step.now().utime();
            let speed_mps = self.sum;
            out.send(
                self.said,
                Velocity {
                    utime,
                    steering_rad: 0.0,
                    speed_mps,
                },
            );
        }
    }
}

fn circle(size: usize) -> Vec<Instance> {
    let kind = Kind::of::<Talker>("talker", "Talks.");
    let talkers = (0..size).map(|number| {
        let neighbour = format!("talker{}.said", (number + 1) % size);
        Instance::new(
            &kind,
            &format!("talker{number}"),
            &[],
            [("heard".to_owned(), neighbour)].into(),
        )
        .unwrap()
    });
    talkers.collect()
}

fn run(engine: Engine, duration: Duration) -> Heard {
    let mut heard = Heard::default();
    let start = Time::from_utime(1_000_000);
    let mut lockstep = Lockstep::start(engine, Silence, start, &mut heard).unwrap();
    lockstep.run_until(start + duration, &mut heard).unwrap();
    heard
}

#[test]
fn a_run_that_is_repeated_is_the_same_to_the_bit() {
    let first = run(engine(circle(17)), ms(2_000));
    assert_eq!(first.0.len(), 17 * 200);
    assert!(run(engine(circle(17)), ms(2_000)) == first);
}

#[test]
fn a_message_is_followed_to_its_end_before_the_next() {
    let mut engine = engine(chain());
    let mut heard = Heard::default();
    let now = Time::from_utime(5);
    engine.start(now, &mut heard).unwrap();
    for number in 0..3 {
        let arrival = Arrival {
            received: now,
            channel: "laser.scan".into(),
            parcel: Parcel::new(scan(number)).unwrap(),
        };
        engine.deliver(now, &arrival, &mut heard).unwrap();
    }
    let channels: Vec<&str> = heard
        .0
        .iter()
        .map(|(_, channel, _)| channel.as_str())
        .collect();
    assert_eq!(channels, ["filter.speed", "reckoner.pose"].repeat(3));
}

#[test]
fn bytes_from_outside_and_values_from_inside_are_the_same_to_a_component() {
    let outcomes = [true, false].map(|is_bytes| {
        let mut engine = engine(chain());
        let mut heard = Heard::default();
        engine.start(Time::ZERO, &mut heard).unwrap();
        for number in 0..50 {
            let value = Parcel::new(scan(number)).unwrap();
            let bytes = Parcel::from_bytes(value.bytes().clone());
            let arrival = Arrival {
                received: Time::from_utime(number),
                channel: "laser.scan".into(),
                parcel: if is_bytes { bytes } else { value },
            };
            engine
                .deliver(arrival.received, &arrival, &mut heard)
                .unwrap();
        }
        heard
    });
    assert!(outcomes[0] == outcomes[1]);
}

/// Answers everything at once.
struct Echo {
    heard: Input<Velocity>,
    said: Output<Velocity>,
}

impl Build for Echo {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self {
            heard: ports.input("heard", "What another sent.", Expect::ever()),
            said: ports.output("said", "The same."),
        })
    }
}

impl Component for Echo {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.is_start() {
            out.send(self.said, Velocity::default());
        }
        if let Some(heard) = step.arrived(self.heard) {
            out.send(self.said, heard.message().clone());
        }
    }
}

#[test]
fn components_that_answer_each_other_without_end_are_named() {
    let kind = Kind::of::<Echo>("echo", "Answers.");
    let pair = [("a", "b.said"), ("b", "a.said")].map(|(name, heard)| {
        Instance::new(
            &kind,
            name,
            &[],
            [("heard".to_owned(), heard.to_owned())].into(),
        )
        .unwrap()
    });
    let mut engine = engine(pair.into());
    let error = engine.start(Time::ZERO, &mut ()).unwrap_err();
    assert!(matches!(&error, EngineError::Endless { components, .. } if components == &["a", "b"]));
    assert!(error.to_string().contains("wait for its tick"), "{error}");
}

#[test]
fn answers_that_double_are_found_before_memory_is_gone() {
    let kind = Kind::of::<Echo>("echo", "Answers.");
    // Three that all receive each other: every message makes two.
    let channels = |heard: &str| [("heard".to_owned(), heard.to_owned())].into();
    let crowd = [
        ("a", "b.said"),
        ("b", "a.said"),
        ("c", "a.said"),
        ("d", "b.said"),
    ];
    let crowd =
        crowd.map(|(name, heard)| Instance::new(&kind, name, &[], channels(heard)).unwrap());
    let error = engine(crowd.into()).start(Time::ZERO, &mut ()).unwrap_err();
    assert!(matches!(error, EngineError::Endless { .. }), "{error}");
}

struct Panics;

impl Build for Panics {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(ms(50));
        Ok(Self)
    }
}

impl Component for Panics {
    fn step(&mut self, step: &Step<'_>, _out: &mut Outbox<'_>) {
        assert!(!step.is_tick(), "the tick came");
    }
}

#[test]
fn a_panic_is_an_error_with_a_name_and_a_time() {
    let mut instances = circle(2);
    let kind = Kind::of::<Panics>("panics", "Panics.");
    instances.push(Instance::new(&kind, "weak", &[], [].into()).unwrap());
    let mut lockstep = Lockstep::start(engine(instances), Silence, Time::ZERO, &mut ()).unwrap();
    let error = lockstep
        .run_until(Time::from_utime(1_000_000), &mut ())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "component \"weak\" panicked at 0.050000000 s: the tick came"
    );
}

#[test]
fn wiring_mistakes_are_found_before_anything_runs() {
    let cases: [(Vec<Instance>, &str); 5] = [
        (
            vec![instance("filter", "filter", &[])],
            "input \"scan\" of component \"filter\" is not connected to a channel",
        ),
        (
            vec![
                instance("filter", "a", &[("scan", "s")]),
                instance("filter", "a", &[("scan", "s")]),
            ],
            "there are two components \"a\"",
        ),
        (
            vec![
                instance("filter", "a", &[("scan", "s"), ("speed", "speed")]),
                instance("filter", "b", &[("scan", "s"), ("speed", "speed")]),
            ],
            "both \"a\" and \"b\" write channel \"speed\"",
        ),
        (
            vec![
                instance("filter", "a", &[("scan", "s")]),
                instance("reporter", "b", &[("pose", "a.speed")]),
            ],
            "on channel \"a.speed\", \"a\" writes bowline.velocity_t and \"b\" reads bowline.pose_t",
        ),
        (
            vec![instance("filter", "a", &[("scam", "s")])],
            "component \"a\" has no port \"scam\": it has scan, speed, parameters",
        ),
    ];
    for (instances, expected) in cases {
        let error: WiringError = Engine::new(instances).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

/// Sends what cannot be sent.
struct Liar(Output<bowline_msgs::Laser>);

impl Build for Liar {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self(ports.output(
            "lie",
            "A scan that declares more ranges than there are.",
        )))
    }
}

impl Component for Liar {
    fn step(&mut self, _step: &Step<'_>, out: &mut Outbox<'_>) {
        let lie = bowline_msgs::Laser {
            nranges: 5,
            ..bowline_msgs::Laser::default()
        };
        out.send(self.0, lie);
    }
}

#[test]
fn unencodable_message_is_not_sent_even_as_a_value() {
    let rig = Rig::new::<Liar>(NoParameters);
    assert_eq!((rig.counts().sent, rig.counts().unencodable), (0, 1));
}

#[test]
fn a_message_of_another_type_is_counted_and_goes_no_further() {
    let mut engine = engine(chain());
    engine.start(Time::ZERO, &mut ()).unwrap();
    let arrival = Arrival {
        received: Time::ZERO,
        channel: "laser.scan".into(),
        parcel: Parcel::new(Pose::default()).unwrap(),
    };
    let mut heard = Heard::default();
    engine.deliver(Time::ZERO, &arrival, &mut heard).unwrap();
    assert_eq!(heard, Heard::default());
    let filter = engine.components().next().unwrap();
    assert_eq!((filter.counts.undecodable, filter.counts.steps), (1, 1));
    let faults = engine.take_faults();
    assert!(faults[0].1.starts_with("input \"scan\": "), "{faults:?}");
}

#[test]
fn kinds_show_what_they_are() {
    let filter = KINDS.iter().find(|kind| kind.name == "filter").unwrap();
    let names: Vec<&str> = filter
        .parameters()
        .iter()
        .map(|parameter| parameter.name)
        .collect();
    assert_eq!(names, ["keep"]);
    let Built { ports, .. } = filter.build(&[]).unwrap();
    let ports: Vec<String> = ports
        .iter()
        .map(|port| format!("{} {:?}", port.name, port.message))
        .collect();
    assert!(
        ports[0].starts_with("scan Some(bowline.laser_t"),
        "{ports:?}"
    );
}

#[test]
fn killed_component_sends_nothing_and_others_continue() {
    let (start, mut heard) = (Time::from_utime(1_000_000), Heard::default());
    let mut lockstep =
        Lockstep::start(engine(circle(3)), Silence, start, &mut heard).expect("it starts");
    let go_on = |lockstep: &mut Lockstep<Silence>, to| {
        let mut heard = Heard::default();
        lockstep.run_until(start + ms(to), &mut heard).unwrap();
        let channels = heard.0.into_iter().map(|(_, channel, _)| channel);
        channels.collect::<Vec<_>>()
    };
    assert_eq!(go_on(&mut lockstep, 100).len(), 30);
    assert!(!lockstep.engine_mut().kill("nobody"));
    assert!(lockstep.engine_mut().kill("talker1"));
    let after = go_on(&mut lockstep, 200);
    assert_eq!(after, ["talker0.said", "talker2.said"].repeat(10));
    lockstep
        .engine_mut()
        .stop(start + ms(200), &mut heard)
        .expect("the others can end");
}
