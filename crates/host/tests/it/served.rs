//! Components that offer services and use them, and parameters that change while they run.

use crate::parts::{Heard, StopAtEnd, engine, instance, ms, scan};
use bowline_bus::Bus;
use bowline_component::engine::{Arrival, Engine, Instance};
use bowline_component::service::{CallError, Failure};
use bowline_component::{
    Build, BuildError, Client, Component, Kind, NoParameters, Outbox, Output, Parcel, Ports,
    Service, Step, Time,
};
use bowline_host::service::call;
use bowline_host::{Live, LiveOptions, Lockstep, Logged, Scope, Silence, Tape};
use bowline_log::{Reader, Writer, WriterOptions};
use bowline_msgs::{Answer, Parameters, ParametersRequest, Velocity, Waypoint};
use bowline_testing::patience::PATIENCE;
use bowline_wire::Message as _;
use std::sync::atomic::AtomicBool;

/// Doubles speeds; refuses negative ones, and keeps quiet about those above 100.
struct Doubler {
    double: Service<Velocity, Velocity>,
    dropped: Output<Waypoint>,
}

impl Build for Doubler {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self {
            double: ports.service("double", "Twice the speed."),
            dropped: ports.output("dropped", "Calls without a waiting caller."),
        })
    }
}

impl Component for Doubler {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(call) = step.called(self.double) {
            let Velocity { speed_mps, .. } = *call.request();
            if speed_mps < 0.0 {
                out.fail(self.double, call.id(), Failure::new(7, "it goes backward"));
            } else if speed_mps <= 100.0 {
                let reply = Velocity {
                    speed_mps: speed_mps * 2.0,
                    ..call.request().clone()
                };
                out.reply(self.double, call.id(), &reply);
            }
        }
        if let Some(id) = step.dropped(self.double) {
            let id = id.to_string();
            out.send(
                self.dropped,
                Waypoint {
                    id,
                    ..Waypoint::default()
                },
            );
        }
    }
}

/// Asks for one speed after the other, and publishes what it received.
struct Asker {
    double: Client<Velocity, Velocity>,
    told: Output<Waypoint>,
    speeds_mps: Vec<f64>,
}

impl Build for Asker {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(ms(100));
        Ok(Self {
            double: ports.client("double", "Who doubles."),
            told: ports.output("told", "What it received."),
            speeds_mps: vec![500.0, -1.0, 4.0],
        })
    }
}

impl Component for Asker {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.is_tick()
            && let Some(speed_mps) = self.speeds_mps.pop()
        {
            let request = Velocity {
                speed_mps,
                ..Velocity::default()
            };
            out.call(self.double, &request, ms(300))
                .expect("it can be encoded");
        }
        if let Some((_, outcome)) = step.answered(self.double) {
            let id = match outcome {
                Ok(reply) => format!("{} m/s", reply.speed_mps),
                Err(error) => error.to_string(),
            };
            out.send(
                self.told,
                Waypoint {
                    id,
                    ..Waypoint::default()
                },
            );
        }
    }
}

fn doubler() -> Instance {
    let kind = Kind::of::<Doubler>("doubler", "Doubles.");
    Instance::new(&kind, "doubler", &[], [].into()).unwrap()
}

fn asker() -> Instance {
    let kind = Kind::of::<Asker>("asker", "Asks.");
    let channels = [("double".to_owned(), "doubler.double".to_owned())];
    Instance::new(&kind, "asker", &[], channels.into()).unwrap()
}

fn told(heard: &Heard) -> Vec<String> {
    let told = heard
        .0
        .iter()
        .filter(|(_, channel, _)| channel == "asker.told");
    told.map(|(_, _, bytes)| Waypoint::decode(bytes).unwrap().id)
        .collect()
}

#[test]
fn a_call_has_a_reply_an_error_or_no_answer_in_time() {
    let mut heard = Heard::default();
    let start = Time::from_utime(1_000_000);
    let mut lockstep =
        Lockstep::start(engine(vec![asker(), doubler()]), Silence, start, &mut heard).unwrap();
    lockstep.run_until(start + ms(5_000), &mut heard).unwrap();
    let told = told(&heard);
    assert_eq!(
        told,
        [
            "8 m/s",
            "the service replied: it goes backward (code 7)",
            "doubler accepted the call, but did not answer it in time",
        ]
    );
    let dropped = heard
        .0
        .iter()
        .filter(|(_, channel, _)| channel == "doubler.dropped");
    assert_eq!(
        dropped.count(),
        1,
        "the server is notified that its caller has left"
    );
}

#[test]
fn missing_service_is_an_error_in_time() {
    let mut heard = Heard::default();
    let start = Time::from_utime(1_000_000);
    let mut lockstep = Lockstep::start(engine(vec![asker()]), Silence, start, &mut heard).unwrap();
    lockstep.run_until(start + ms(5_000), &mut heard).unwrap();
    assert_eq!(told(&heard).len(), 3);
}

#[test]
fn a_service_whose_server_the_log_replaces_answers_as_it_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.log");
    let start = Time::from_utime(1_000_000);
    let record = |instances: Vec<Instance>, from: Time| {
        let writer = Writer::create(&path, WriterOptions::default()).unwrap();
        let mut sink = Logged::new(writer, Scope::Everything);
        let mut lockstep = Lockstep::start(engine(instances), Silence, from, &mut sink).unwrap();
        lockstep.run_until(from + ms(5_000), &mut sink).unwrap();
        sink.finish().unwrap();
    };
    record(vec![asker(), doubler()], start);
    let replay = |from: Time| {
        let engine = engine(vec![asker()]);
        let tape = Tape::new(Reader::open(&path).unwrap(), engine.wanted().cloned());
        let mut heard = Heard::default();
        // The caller starts at another moment than it did, so that its calls have other ids.
        let mut lockstep = Lockstep::start(engine, tape, from, &mut heard).unwrap();
        lockstep.run_until(start + ms(6_000), &mut heard).unwrap();
        let counts = lockstep.source().recall_counts();
        assert_eq!((counts.matched, counts.unmatched), (3, 0));
        (told(&heard), heard)
    };
    let expected = [
        "8 m/s",
        "the service replied: it goes backward (code 7)",
        "doubler accepted the call, but did not answer it in time",
    ];
    let early = start - ms(70);
    let (told, heard) = replay(early);
    assert_eq!(told, expected);
    let (again, heard_again) = replay(early);
    assert_eq!((again, heard_again.0), (told, heard.0), "it is repeatable");
}

/// Live hosts on one bus, until `act` is done.
fn while_live<T>(url: &str, hosts: Vec<Vec<Instance>>, act: impl FnOnce(&Bus) -> T) -> T {
    let stop = AtomicBool::new(false);
    let bus = Bus::open(url).unwrap();
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for instances in hosts {
            let own = Bus::open(url).unwrap();
            let mut host = Live::new(engine(instances), own, LiveOptions::default()).unwrap();
            let stop = &stop;
            scope.spawn(move || host.run(stop).unwrap());
        }
        act(&bus)
    })
}

#[test]
fn a_service_within_a_process_answers_each_call_once_though_the_bus_echoes() {
    let answers = while_live(
        "memq://served-echo",
        vec![vec![asker(), doubler()]],
        |bus| {
            let answers = bus
                .subscribe::<Answer>("bowline\\.answer\\.doubler\\.double")
                .unwrap();
            let told = bus.subscribe::<Waypoint>("asker\\.told").unwrap();
            let heard = (0..3).map(|_| {
                let told = told.recv_timeout(PATIENCE).unwrap();
                told.expect("every call has an outcome").id.clone()
            });
            let heard: Vec<String> = heard.collect();
            assert_eq!(heard[0], "8 m/s");
            let mut replies = 0;
            while let Some(answer) = answers.try_recv().unwrap() {
                replies += i32::from(answer.kind == Answer::REPLY);
            }
            replies
        },
    );
    assert_eq!(answers, 1);
}

#[test]
fn programs_that_are_no_components_can_ask() {
    let url = "memq://served-outside";
    while_live(url, vec![vec![doubler()]], |bus| {
        let ask = |speed_mps: f64| {
            let request = Velocity {
                speed_mps,
                ..Velocity::default()
            };
            call::<Velocity, Velocity>(bus, "doubler.double", &request, PATIENCE)
        };
        assert_eq!(ask(3.0).unwrap().speed_mps.to_bits(), 6.0_f64.to_bits());
        let error = ask(-3.0).unwrap_err().to_string();
        assert!(error.contains("it goes backward"), "{error}");
    });
}

fn ask_parameters(bus: &Bus, wishes: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
    let request = ParametersRequest {
        names: wishes.iter().map(|(name, _)| (*name).to_owned()).collect(),
        values: wishes
            .iter()
            .map(|(_, value)| (*value).to_owned())
            .collect(),
        ..ParametersRequest::default()
    };
    let request = request.with_lengths();
    let timeout = PATIENCE;
    let reply = call::<_, Parameters>(bus, "filter.parameters", &request, timeout);
    let reply = reply.map_err(|error| error.to_string())?;
    let parameters = reply.parameters.iter();
    Ok(parameters
        .map(|row| (row.name.clone(), row.value.clone()))
        .collect())
}

#[test]
fn parameters_are_read_and_changed_while_a_component_runs() {
    let filter = instance("filter", "filter", &[("scan", "laser.scan")]);
    while_live("memq://served-parameters", vec![vec![filter]], |bus| {
        let keep = |value: &str| vec![("keep".to_owned(), value.to_owned())];
        assert_eq!(ask_parameters(bus, &[]).unwrap(), keep("0.75"));
        assert_eq!(
            ask_parameters(bus, &[("keep", "0.5")]).unwrap(),
            keep("0.5")
        );
        let error = ask_parameters(bus, &[("keep", "0.25"), ("keep", "1.5")]).unwrap_err();
        assert!(error.contains("must be 0.0 to 1.0, found 1.5"), "{error}");
        assert_eq!(
            ask_parameters(bus, &[]).unwrap(),
            keep("0.5"),
            "all or nothing"
        );
        let error = ask_parameters(bus, &[("kep", "0.25")]).unwrap_err();
        assert!(error.contains("did you mean \"keep\"?"), "{error}");
    });
}

#[test]
fn a_change_of_parameters_is_in_the_record_and_replays() {
    let run = |changed: bool| {
        let mut engine: Engine = engine(vec![instance(
            "filter",
            "filter",
            &[("scan", "laser.scan")],
        )]);
        let mut heard = Heard::default();
        engine.start(Time::from_utime(1), &mut heard).unwrap();
        let request = ParametersRequest {
            names: vec!["keep".to_owned()],
            values: vec!["0.5".to_owned()],
            ..ParametersRequest::default()
        };
        let call = bowline_msgs::Call {
            id: 5,
            caller: "test".to_owned(),
            number: 1,
            service: "filter.parameters".to_owned(),
            kind: bowline_msgs::Call::REQUEST,
            timeout_us: 1_000_000,
            body: request.with_lengths().encode().unwrap(),
            ..bowline_msgs::Call::default()
        };
        let mut deliver = |channel: &str, parcel: Parcel| {
            let received = Time::from_utime(2);
            let arrival = Arrival {
                received,
                channel: channel.into(),
                parcel,
            };
            engine.deliver(received, &arrival, &mut heard).unwrap();
        };
        if changed {
            deliver(
                "bowline.call.filter.parameters",
                Parcel::new(call.with_lengths()).unwrap(),
            );
        }
        deliver("laser.scan", Parcel::new(scan(1)).unwrap());
        heard
    };
    let (plain, changed, again) = (run(false), run(true), run(true));
    assert!(changed == again);
    let speed = |heard: &Heard| {
        let (_, channel, bytes) = heard.0.last().unwrap();
        assert_eq!(channel, "filter.speed");
        Velocity::decode(bytes).unwrap().speed_mps
    };
    assert!((speed(&changed) / speed(&plain) - 2.0).abs() < 1e-12);
    assert_eq!(plain.0.len() + 2, changed.0.len(), "accepted, and replied");
}

#[test]
fn callers_of_a_stopping_component_are_notified() {
    let mut engine = engine(vec![doubler()]);
    let mut heard = Heard::default();
    engine.start(Time::from_utime(1), &mut heard).unwrap();
    let request = Velocity {
        speed_mps: 500.0,
        ..Velocity::default()
    };
    let call = bowline_msgs::Call {
        id: 9,
        caller: "test".to_owned(),
        number: 1,
        service: "doubler.double".to_owned(),
        kind: bowline_msgs::Call::REQUEST,
        timeout_us: 60_000_000,
        body: request.encode().unwrap(),
        ..bowline_msgs::Call::default()
    };
    let arrival = Arrival {
        received: Time::from_utime(2),
        channel: "bowline.call.doubler.double".into(),
        parcel: Parcel::new(call.with_lengths()).unwrap(),
    };
    engine
        .deliver(arrival.received, &arrival, &mut heard)
        .unwrap();
    engine.stop(Time::from_utime(3), &mut heard).unwrap();
    let (_, _, last) = heard.0.last().unwrap();
    let answer = Answer::decode(last).unwrap();
    assert_eq!(
        (answer.kind, answer.code),
        (Answer::ERROR, Answer::ABANDONED)
    );
    assert!(matches!(
        CallError::from_answer(&answer),
        CallError::Refused { .. }
    ));
}
