//! A component cannot know its host.

use crate::parts::{Heard, StopAtEnd, chain, engine, ms, scan};
use bowline_bus::{Bus, Hub};
use bowline_component::engine::{Engine, Instance};
use bowline_component::{
    Build, BuildError, Component, Expect, Input, Kind, NoParameters, Outbox, Output, Ports, Step,
    Time, trace,
};
use bowline_host::{Live, LiveOptions, Lockstep, Logged, Scope, Silence, Tape};
use bowline_log::{ChannelFilter, DiffOptions, LogEvent, Reader, Writer, WriterOptions, diff};
use bowline_msgs::Velocity;
use bowline_testing::patience::PATIENCE;
use bowline_wire::Message as _;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What depends on nothing but the content of the inputs.
const BY_CONTENT: &str = "filter.speed|reckoner.pose";
const SCANS: i64 = 300;

fn record_scans(path: &Path) {
    let mut log = Writer::create(path, WriterOptions::default()).unwrap();
    for number in 0..SCANS {
        let scan = scan(number);
        let event = LogEvent {
            number: 0,
            utime: scan.utime,
            nanos: 0,
            channel: "laser.scan",
            payload: &scan.encode().unwrap(),
        };
        log.write(event).unwrap();
    }
    log.finish().unwrap();
}

fn replay(scans: &Path, out: &Path) {
    let engine = engine(chain());
    let tape = Tape::new(Reader::open(scans).unwrap(), engine.wanted().cloned());
    let writer = Writer::create(out, WriterOptions::default()).unwrap();
    let mut sink = Logged::new(writer, Scope::Everything);
    let mut lockstep = Lockstep::start(engine, tape, Time::MAX, &mut sink).unwrap();
    lockstep.run_to_end(&mut sink).unwrap();
    let end = lockstep.now() + ms(200);
    lockstep.run_until(end, &mut sink).unwrap();
    sink.finish().unwrap();
}

/// Live on a bus: each of the chain's components in a host of its own, or all in one.
fn live(url: &str, out: &Path, apart: bool) {
    let bus = Bus::open(url).unwrap();
    let everything = bus.events(".*").unwrap();
    let hosts = if apart {
        chain().into_iter().map(|instance| vec![instance]).collect()
    } else {
        vec![chain()]
    };
    let stop = AtomicBool::new(false);
    let mut writer = Writer::create(out, WriterOptions::default()).unwrap();
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for instances in hosts {
            let mut host = Live::new(
                engine(instances),
                Bus::open(url).unwrap(),
                LiveOptions::default(),
            )
            .unwrap();
            scope.spawn({
                let stop = &stop;
                move || host.run(stop).unwrap()
            });
        }
        let mut poses = 0;
        for number in 0..SCANS {
            bus.publish("laser.scan", &scan(number)).unwrap();
        }
        while poses < SCANS {
            let event = everything.recv_timeout(PATIENCE).unwrap();
            let (_, event) = event.expect("every scan becomes a pose");
            writer.write(LogEvent::from(&event)).unwrap();
            poses += i64::from(event.channel.as_str() == "reckoner.pose");
        }
    });
    writer.finish().unwrap();
}

fn assert_same(a: &Path, b: &Path, channels: &str) {
    let options = DiffOptions {
        channels: ChannelFilter::new(&[channels]).unwrap(),
        ..DiffOptions::default()
    };
    let mut logs = [a, b].map(|path| Reader::open(path).unwrap());
    let [a, b] = &mut logs;
    let difference = diff(a, b, &options, &mut |_, _| {}).unwrap();
    assert!(difference.is_same(), "{difference:?}");
    assert!(difference.n_same > 0);
}

#[test]
fn outputs_are_equal_live_apart_live_together_in_lockstep_and_from_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    record_scans(&path("scans.lcmlog"));
    replay(&path("scans.lcmlog"), &path("replay.mcap"));
    live("memq://apart", &path("apart.mcap"), true);
    live("memq://together", &path("together.mcap"), false);

    assert_same(&path("replay.mcap"), &path("apart.mcap"), BY_CONTENT);
    assert_same(&path("replay.mcap"), &path("together.mcap"), BY_CONTENT);
}

#[test]
fn the_same_log_gives_the_same_bytes_at_the_same_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    record_scans(&path("scans.lcmlog"));
    replay(&path("scans.lcmlog"), &path("a.lcmlog"));
    replay(&path("scans.lcmlog"), &path("b.lcmlog"));
    let [a, b] = ["a.lcmlog", "b.lcmlog"].map(|name| std::fs::read(path(name)).unwrap());
    assert!(a == b);
}

#[test]
fn a_log_that_goes_back_in_time_goes_on_at_the_time_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("back.lcmlog");
    let mut log = Writer::create(&path, WriterOptions::default()).unwrap();
    for (number, utime) in [(0, 2_000_000), (1, 1_000_000), (2, 3_000_000)] {
        let payload = scan(number).encode().unwrap();
        let event = LogEvent {
            number: 0,
            utime,
            nanos: 0,
            channel: "laser.scan",
            payload: &payload,
        };
        log.write(event).unwrap();
    }
    log.finish().unwrap();
    let engine = engine(chain());
    let tape = Tape::new(Reader::open(&path).unwrap(), engine.wanted().cloned());
    let mut heard = Heard::default();
    let mut lockstep = Lockstep::start(engine, tape, Time::MAX, &mut heard).unwrap();
    lockstep.run_to_end(&mut heard).unwrap();
    let times: Vec<i64> = heard
        .0
        .iter()
        .filter(|(_, channel, _)| channel == "filter.speed")
        .map(|(at, _, _)| *at / 1_000)
        .collect();
    assert_eq!(times, [2_000_000, 2_000_000, 3_000_000]);
    assert!(heard.0.is_sorted_by_key(|(at, _, _)| *at));
    assert_ne!(trace::hash(b"a"), trace::hash(b"b"));
}

#[test]
fn a_clock_that_was_set_while_it_was_recorded_is_no_time_that_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.lcmlog");
    let hour_us = 3_600_000_000;
    // Without a clock in its battery, set right by the network, and set back by an hour.
    let stretches = [
        1_000_000,
        1_700_000_000_000_000,
        1_700_000_000_000_000 - hour_us,
    ];
    let mut log = Writer::create(&path, WriterOptions::default()).unwrap();
    for (stretch, began) in stretches.into_iter().enumerate() {
        for number in 0..50 {
            let number = i64::try_from(stretch).unwrap() * 50 + number;
            let payload = scan(number).encode().unwrap();
            let event = LogEvent {
                number: 0,
                utime: began + (number % 50) * 10_000,
                nanos: 0,
                channel: "laser.scan",
                payload: &payload,
            };
            log.write(event).unwrap();
        }
    }
    log.finish().unwrap();
    let engine = engine(chain());
    let tape = Tape::new(Reader::open(&path).unwrap(), engine.wanted().cloned());
    let mut heard = Heard::default();
    let mut lockstep = Lockstep::start(engine, tape, Time::MAX, &mut heard).unwrap();
    lockstep.run_to_end(&mut heard).unwrap();
    assert_eq!(lockstep.clock_steps(), 2);
    let reports = heard
        .0
        .iter()
        .filter(|(_, channel, _)| channel == "reporter.report");
    let known = reports.map(|(_, _, bytes)| bowline_msgs::Pose::decode(bytes).unwrap().state);
    let known: Vec<[f64; 12]> = known.collect();
    // A second and a half, a report every 20 ms, and all of them with a pose that is fresh.
    assert_eq!(known.len(), 73);
    assert!(
        known.iter().all(|state| state[0] > 0.0 && state[1] <= 0.02),
        "{known:?}"
    );
}

/// Sends a few words, as a script does that stands in for a person.
struct Script {
    orders: Output<Velocity>,
    n_said: i32,
}

impl Build for Script {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(ms(5));
        Ok(Self {
            orders: ports.output_on("orders", "What to do.", "orders"),
            n_said: 0,
        })
    }
}

impl Component for Script {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.is_tick() && self.n_said < SCRIPTED {
            self.n_said += 1;
            out.send(self.orders, order(self.n_said));
        }
    }
}

/// Passes on any order.
struct Ear {
    orders: Input<Velocity>,
    heard: Output<Velocity>,
}

impl Build for Ear {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let anybody = Expect::ever().from_anybody();
        Ok(Self {
            orders: ports.input_on("orders", "What any client wants.", anybody, "orders"),
            heard: ports.output_on("heard", "What it received.", "heard"),
        })
    }
}

impl Component for Ear {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(order) = step.arrived(self.orders) {
            out.send(self.heard, Velocity::clone(&order));
        }
    }
}

const SCRIPTED: i32 = 20;

fn order(number: i32) -> Velocity {
    Velocity {
        utime: 0,
        steering_rad: 0.0,
        speed_mps: f64::from(number),
    }
}

/// Two scripts that order, and their receiver.
fn scripted() -> Engine {
    let kinds = [
        Kind::of::<Ear>("ear", "Hears."),
        Kind::of::<Script>("script", "Orders."),
    ];
    let names = [("ear", 0), ("first", 1), ("second", 1)];
    let instances = names
        .map(|(name, kind)| Instance::new(&kinds[kind], name, &[], BTreeMap::default()).unwrap());
    Engine::new(instances.into()).expect("external inputs have many writers")
}

/// What was ordered, the slowest first.
fn sorted(mut speeds_mps: Vec<f64>) -> Vec<f64> {
    speeds_mps.sort_by(f64::total_cmp);
    speeds_mps
}

#[test]
fn external_input_is_received_once_from_within_and_without() {
    let twice = (1..=SCRIPTED).flat_map(|number| [f64::from(number); 2]);
    let within: Vec<f64> = twice.collect();

    let mut heard = Heard::default();
    let start = Time::from_utime(1_000_000);
    let mut lockstep = Lockstep::start(scripted(), Silence, start, &mut heard).unwrap();
    lockstep.run_until(start + ms(1_000), &mut heard).unwrap();
    let heard = heard.0.iter().filter(|(_, channel, _)| channel == "heard");
    let heard = heard.map(|(_, _, bytes)| Velocity::decode(bytes).unwrap().speed_mps);
    assert_eq!(sorted(heard.collect()), within, "in lockstep");

    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    for url in ["memq://anybody".to_owned(), hub.url()] {
        let bus = Bus::open(&url).unwrap();
        let mine = bus.subscribe::<Velocity>("heard").unwrap();
        let mut host = Live::new(scripted(), Bus::open(&url).unwrap(), LiveOptions::default());
        let host = host.as_mut().unwrap();
        let stop = AtomicBool::new(false);
        let stop = &stop;
        std::thread::scope(|scope| {
            let _stop = StopAtEnd(stop);
            scope.spawn(move || host.run(stop).unwrap());
            let mut heard = Vec::new();
            let mut hear = |until: usize| {
                while heard.len() < until {
                    let next = mine.recv_timeout(PATIENCE).unwrap();
                    heard.push(next.expect("all that was sent is received").speed_mps);
                }
                sorted(heard.clone())
            };
            assert_eq!(hear(within.len()), within, "{url}");
            bus.publish("orders", &order(SCRIPTED + 1)).unwrap();
            let all = [within.as_slice(), &[f64::from(SCRIPTED + 1)]].concat();
            assert_eq!(hear(all.len()), all, "{url}");
        });
    }
}
