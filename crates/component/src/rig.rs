//! A component on the bench: given messages and the time, and its outputs read.

use crate::alarm::ALARM_CHANNEL;
use crate::component::Build;
use crate::engine::{Arrival, Engine, EngineError, Instance, Sent, Sink};
use crate::health::Health;
use crate::kind::Built;
use crate::outbox::CellCounts;
use crate::parcel::Parcel;
use crate::port::{Direction, Ports};
use crate::service::{ANSWER_CHANNEL, CALL_CHANNEL, CallId, Failure};
use crate::time::Time;
use bowline_msgs::{Alarm, Answer, Call};
use bowline_wire::Channel;
use bowline_wire::{Decode, Message};
use std::collections::BTreeMap;
use std::time::Duration;

/// One component, for its tests. Panics where a test should fail.
///
/// ```
/// # use bowline_component::{Build, BuildError, Component, Expect, Input, NoParameters, Outbox, Output, Ports, Step};
/// # use bowline_component::Rig;
/// # use bowline_msgs::{Laser, Velocity};
/// # use std::time::Duration;
/// # struct Stop { scan: Input<Laser>, command: Output<Velocity> }
/// # impl Component for Stop {
/// #     fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
/// #         if step.is_stale(self.scan) { out.send(self.command, Velocity::default()); }
/// #     }
/// # }
/// # impl Build for Stop {
/// #     type Parameters = NoParameters;
/// #     fn build(_: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
/// #         Ok(Self {
/// #             scan: ports.input("scan", "What is ahead.", Expect::within(Duration::from_millis(200))),
/// #             command: ports.output("command", "What to do."),
/// #         })
/// #     }
/// # }
/// let mut rig = Rig::new::<Stop>(NoParameters);
/// rig.send("scan", Laser::default());
/// rig.advance(Duration::from_millis(201));
/// assert_eq!(rig.take::<Velocity>("command").len(), 1, "it stops when it sees nothing any more");
/// ```
#[derive(Debug)]
pub struct Rig {
    engine: Engine,
    now: Time,
    said: Said,
    n_calls: i64,
}

#[derive(Debug, Default)]
struct Said(BTreeMap<Channel, Vec<Parcel>>);

impl Sink for Said {
    fn publish(&mut self, sent: &Sent<'_>) {
        let said = self.0.entry(sent.channel.clone()).or_default();
        said.push(sent.parcel.clone());
    }
}

#[expect(clippy::panic, reason = "it is for tests")]
impl Rig {
    /// Makes a component and lets it take its first step, at second 1 after the epoch.
    ///
    /// # Panics
    /// When it refuses.
    #[must_use]
    pub fn new<C: Build>(parameters: C::Parameters) -> Self {
        let mut ports = Ports::default();
        let component = match C::build(parameters, &mut ports) {
            Ok(component) => Box::new(component),
            Err(error) => panic!("the component refuses: {error}"),
        };
        let channels = ports
            .iter()
            .filter(|port| matches!(port.direction, Direction::Reads(_) | Direction::Writes))
            .map(|port| (port.name.clone(), port.name.clone()));
        let instance = Instance {
            name: "component".to_owned(),
            kind: "component".to_owned(),
            channels: channels.collect(),
            built: Built::new(component, ports),
            settings: String::new(),
        };
        let mut rig = match Engine::new(vec![instance]) {
            Ok(engine) => Self {
                engine,
                now: Time::from_utime(1_000_000),
                said: Said::default(),
                n_calls: 0,
            },
            Err(error) => panic!("{error}"),
        };
        rig.act(Engine::start);
        rig
    }

    /// The time that the component is given.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Brings a message to an input.
    ///
    /// # Panics
    /// When there is no such input, or the message cannot be encoded.
    pub fn send<M>(&mut self, input: &str, message: M)
    where
        M: Message + Send + Sync + 'static,
    {
        let is_input = self
            .engine
            .ports_of(0)
            .iter()
            .any(|port| port.name == input && matches!(port.direction, Direction::Reads(_)));
        assert!(is_input, "the component has no input {input:?}");
        let parcel = match Parcel::new(message) {
            Ok(parcel) => parcel,
            Err(error) => panic!("{error}"),
        };
        let arrival = Arrival {
            received: self.now,
            channel: input.into(),
            parcel,
        };
        self.act(|engine, now, sink| engine.deliver(now, &arrival, sink));
    }

    /// Calls a service of the component. The answer is among [`Self::answers`], now or later.
    ///
    /// # Panics
    /// When the request cannot be encoded.
    pub fn call<Q: Message>(&mut self, service: &str, request: &Q) {
        let body = match request.encode() {
            Ok(body) => body,
            Err(error) => panic!("{error}"),
        };
        let service = format!("component.{service}");
        self.n_calls += 1;
        let call = Call {
            id: CallId::new("rig", 0, self.n_calls).0,
            caller: "rig".to_owned(),
            number: self.n_calls,
            kind: Call::REQUEST,
            timeout_us: 60_000_000,
            body,
            service,
            ..Call::default()
        }
        .with_lengths();
        let channel = format!("{CALL_CHANNEL}{}", call.service);
        let parcel = match Parcel::new(call) {
            Ok(parcel) => parcel,
            Err(error) => panic!("{error}"),
        };
        let arrival = Arrival {
            received: self.now,
            channel: channel.as_str().into(),
            parcel,
        };
        self.act(|engine, now, sink| engine.deliver(now, &arrival, sink));
    }

    /// How calls of a service ended since this was last asked.
    ///
    /// # Panics
    /// When an answer is not of this type.
    pub fn answers<A>(&mut self, service: &str) -> Vec<Result<A, Failure>>
    where
        A: Message + for<'a> Decode<'a>,
    {
        let channel = format!("{ANSWER_CHANNEL}component.{service}");
        let mut outcomes = Vec::new();
        for answer in self.take::<Answer>(&channel) {
            match answer.kind {
                Answer::REPLY => match A::decode(&answer.body) {
                    Ok(reply) => outcomes.push(Ok(reply)),
                    Err(error) => panic!("service {service:?}: {error}"),
                },
                Answer::ERROR => outcomes.push(Err(Failure {
                    code: answer.code,
                    text: answer.text,
                })),
                // It is being worked on.
                _ => {}
            }
        }
        outcomes
    }

    /// Lets time pass, and whatever is due happen in it.
    pub fn advance(&mut self, duration: Duration) {
        let end = self.now + duration;
        while let Some(due) = self.engine.next_due().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.act(Engine::wake);
        }
        self.now = end;
    }

    /// What was sent through an output since this was last asked.
    ///
    /// # Panics
    /// When that is not of this type.
    pub fn take<M>(&mut self, output: &str) -> Vec<M>
    where
        M: Message + for<'a> Decode<'a>,
    {
        let parcels = self.said.0.remove(output).unwrap_or_default();
        let messages = parcels
            .iter()
            .map(|parcel| match M::decode(parcel.bytes()) {
                Ok(message) => message,
                Err(error) => panic!("output {output:?}: {error}"),
            });
        messages.collect()
    }

    /// The alarms that the component published since this was last asked, repetitions included.
    pub fn alarms(&mut self) -> Vec<Alarm> {
        self.take(ALARM_CHANNEL)
    }

    /// How the component is, in its own judgement.
    ///
    /// # Panics
    /// Never: there is one component.
    #[must_use]
    pub fn health(&self) -> &Health {
        let Some(view) = self.engine.components().next() else {
            panic!("there is one component");
        };
        view.health
    }

    /// What happened in the component.
    #[must_use]
    pub fn counts(&self) -> CellCounts {
        self.engine
            .components()
            .next()
            .map(|view| view.counts)
            .unwrap_or_default()
    }

    fn act(
        &mut self,
        act: impl FnOnce(&mut Engine, Time, &mut dyn Sink) -> Result<(), EngineError>,
    ) {
        if let Err(error) = act(&mut self.engine, self.now, &mut self.said) {
            panic!("{error}");
        }
    }
}
