//! Components on a live bus: one alone in its process, or several that hand messages to each other as they are.

use crate::clock;
use crate::complaints::Complaints;
use crate::presence::{
    Beacon, HEARTBEAT_CHANNEL, Identity, PRESENCE_CHANNEL, PRESENCE_REQUEST_CHANNEL,
};
use crate::service;
use crate::supervise::EXPERIMENT_CHANNEL;
use bowline_bus::transport::ListenError;
use bowline_bus::{Bus, Channel, Event, Inbox, Pattern, Queue, RecvError, SubscriptionId};
use bowline_component::Parcel;
use bowline_component::Time;
use bowline_component::engine::{Arrival, Engine, EngineError, Sent, Sink};
use bowline_component::trace::{Lives, STEPS_CHANNEL};
use bowline_msgs::{Experiment, HeartbeatComponent, PresenceRequest};
use bowline_wire::Message;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long at most until it is seen that the host should stop.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// How often what happened is published for exact replay.
const TRACE_EVERY: Duration = Duration::from_millis(100);
/// How often experiments are published for stations, as supervisors do.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How many messages are taken before it is looked what is due, and for how long at most.
const MOST_AT_ONCE: usize = 256;
const LONGEST_DRAIN: Duration = Duration::from_millis(10);

/// An engine on a bus, in real time.
///
/// What a component here writes and another here reads is handed over as it is; all of it is published too, so
/// recorders, spies and other processes see no difference. A channel that is written here is not listened to: it has one
/// writer. Only channels that any client may write go over the bus, also from one component here to another.
#[derive(Debug)]
pub struct Live {
    engine: Engine,
    bus: Bus,
    inbox: Inbox,
    subscriptions: Vec<(SubscriptionId, Channel)>,
    clock: clock::Live,
    beacon: Beacon,
    lives: Option<Lives>,
    experiments: Vec<Experiment>,
    on_fault: Option<fn(&str, &str)>,
    /// When nothing waited, for the last time.
    empty_at: Time,
    complaints: Complaints,
    publish_failures: u64,
    reported_failures: u64,
}

/// Who a live host is, and what it does beside its work.
#[derive(Clone, Debug, Default)]
pub struct LiveOptions {
    /// The robot that this is part of.
    pub robot: String,
    /// What this process is called there.
    pub process: String,
    /// Whether every step is published, for exact replay.
    pub is_traced: bool,
    /// The robot's experiments as they are published, where no supervisor does.
    pub experiments: Vec<Experiment>,
    /// The receiver of what goes wrong in components: their name and what it was. Everything is counted, reported or not.
    pub on_fault: Option<fn(&str, &str)>,
}

/// Why a live host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to.
    Stopped,
}

/// Why a live host cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The components cannot go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Nothing can be subscribed to.
    #[error(transparent)]
    Subscribe(#[from] ListenError),
    /// The bus cannot be read.
    #[error(transparent)]
    Receive(#[from] RecvError),
}

impl Live {
    /// Subscribes to what the components read.
    ///
    /// # Errors
    /// When nothing can be subscribed to.
    pub fn new(engine: Engine, bus: Bus, options: LiveOptions) -> Result<Self, LiveError> {
        let engine = engine.hearing_anybody();
        let inbox = bus.inbox();
        let mut subscriptions = Vec::new();
        let requests = Channel::from(PRESENCE_REQUEST_CHANNEL);
        for channel in engine.wanted().chain([&requests]) {
            let id = inbox.subscribe_to(Pattern::exact(channel), Queue::default())?;
            subscriptions.push((id, channel.clone()));
        }
        describe_types(&engine, &bus);
        let clock = clock::Live::new();
        let now = clock.now();
        let LiveOptions {
            robot,
            process,
            is_traced,
            experiments,
            on_fault,
        } = options;
        let identity = Identity::of_this_process(&robot, &process, now);
        let lives = is_traced.then(|| Lives::new(robot, now));
        let engine = match lives {
            Some(_) => engine.with_trace(),
            None => engine,
        };
        Ok(Self {
            beacon: Beacon::new(identity, engine.describe(), now),
            engine,
            bus,
            inbox,
            subscriptions,
            clock,
            lives,
            experiments,
            on_fault,
            empty_at: now,
            complaints: Complaints::default(),
            publish_failures: 0,
            reported_failures: 0,
        })
    }

    /// Runs until `stop` is set, or a component panics.
    ///
    /// # Errors
    /// When a component panics, or the bus cannot be read.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<Ended, LiveError> {
        let ended = self.run_until(stop);
        if ended.is_err() {
            // What led there is what a person will want to replay.
            self.publish_traces(self.clock.now());
        }
        ended
    }

    fn run_until(&mut self, stop: &AtomicBool) -> Result<Ended, LiveError> {
        let now = self.clock.now();
        self.with_engine(|engine, sink| engine.start(now, sink))?;
        let mut trace_due = now + TRACE_EVERY;
        let mut tell_due = now;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now >= trace_due {
                self.publish_traces(now);
                trace_due = now + TRACE_EVERY;
            }
            if now >= self.beacon.next_due() {
                self.publish_presence(now);
            }
            // Looked at with every heartbeat, which is often enough.
            if now >= tell_due {
                self.publish_experiments(now);
                tell_due = now + TELL_EVERY;
            }
            let due = self.engine.next_due().unwrap_or(Time::MAX);
            let wake = due.min(trace_due).min(self.beacon.next_due());
            self.turn(wake.since(now).min(LONGEST_WAIT))?;
        }
        self.leave()?;
        Ok(Ended::Stopped)
    }

    /// Announces its end: to those who wait for answers, and to those who watch over it.
    fn leave(&mut self) -> Result<(), LiveError> {
        let now = self.clock.now();
        self.with_engine(|engine, sink| engine.stop(now, sink))?;
        self.publish_traces(now);
        let health = self.health();
        let last = self.beacon.leave(now, self.clock.wall_offset_ns(), health);
        self.publish(HEARTBEAT_CHANNEL, &last);
        Ok(())
    }

    /// Waits for a message, takes those that are there, and does what is due.
    ///
    /// Those that are there come first: an input whose next message waits in the queue is not stale. But not for long,
    /// so that a flood does not keep ticks and heartbeats from their time.
    fn turn(&mut self, timeout: Duration) -> Result<(), LiveError> {
        let mut wait = timeout;
        let mut began = None;
        for _ in 0..MOST_AT_ONCE {
            let Some(event) = self.take(wait)? else {
                break;
            };
            let now = self.clock.now();
            self.on_event(now, event)?;
            wait = Duration::ZERO;
            if now.since(*began.get_or_insert(now)) > LONGEST_DRAIN {
                break;
            }
        }
        let now = self.clock.now();
        if self.engine.next_due().is_some_and(|due| due <= now) {
            self.with_engine(|engine, sink| engine.wake(now, sink))?;
        }
        self.report_faults(now);
        Ok(())
    }

    fn take(&mut self, timeout: Duration) -> Result<Option<Event>, LiveError> {
        let Self {
            inbox,
            clock,
            empty_at,
            ..
        } = self;
        let taken = inbox.recv_noting(timeout, || *empty_at = clock.now())?;
        Ok(taken.map(|(_, event)| event))
    }

    fn on_event(&mut self, now: Time, event: Event) -> Result<(), LiveError> {
        if event.channel.as_str() == PRESENCE_REQUEST_CHANNEL {
            if let Ok(request) = PresenceRequest::decode(&event.payload) {
                self.beacon.on_request(now, &request);
            }
            return Ok(());
        }
        let arrival = Arrival {
            received: now
                - self
                    .clock
                    .waited(event.arrival.received_ns, now, self.empty_at),
            channel: event.channel,
            parcel: Parcel::from_bytes(event.payload),
        };
        self.with_engine(|engine, sink| engine.deliver(now, &arrival, sink))
    }

    fn report_faults(&mut self, now: Time) {
        let mut faults = self.engine.take_faults();
        if self.publish_failures > self.reported_failures {
            let count = self.publish_failures - self.reported_failures;
            self.reported_failures = self.publish_failures;
            let fault = format!("{count} messages were not published: the bus refuses them");
            faults.push((self.beacon.identity().process.clone(), fault));
        }
        for (component, fault) in self.complaints.limit(now, faults) {
            if let Some(on_fault) = self.on_fault {
                on_fault(&component, &fault);
            }
        }
    }

    fn publish_presence(&mut self, now: Time) {
        let health = self.health();
        let due = self
            .beacon
            .on_time(now, self.clock.wall_offset_ns(), || health);
        if let Some(heartbeat) = due.heartbeat {
            self.publish(HEARTBEAT_CHANNEL, &heartbeat);
        }
        if let Some(presence) = due.presence {
            self.publish(PRESENCE_CHANNEL, &presence);
        }
    }

    fn publish_experiments(&mut self, now: Time) {
        let told = self.experiments.clone().into_iter();
        let host = self.beacon.identity().host.clone();
        for experiment in told {
            let experiment = Experiment {
                utime: now.utime(),
                host: host.clone(),
                ..experiment
            };
            self.publish(EXPERIMENT_CHANNEL, &experiment);
        }
    }

    /// How the components are, and what was lost on the way to them.
    fn health(&self) -> Vec<HeartbeatComponent> {
        let mut health = self.engine.health();
        for (id, channel) in &self.subscriptions {
            let dropped = self.inbox.queue_counts(*id).dropped;
            for index in self.engine.readers(channel).filter(|_| dropped > 0) {
                if let Some(component) = health.get_mut(index) {
                    component.n_dropped += i64::try_from(dropped).unwrap_or(i64::MAX);
                }
            }
        }
        // Whose messages the bus refused is not known once they are out, so every component reports it.
        let failures = i64::try_from(self.publish_failures).unwrap_or(i64::MAX);
        for component in &mut health {
            component.n_errors = component.n_errors.saturating_add(failures);
        }
        health
    }

    fn publish<M: Message>(&mut self, channel: &str, message: &M) {
        if self.bus.publish(channel, message).is_err() {
            self.publish_failures += 1;
        }
    }

    fn with_engine<T>(
        &mut self,
        act: impl FnOnce(&mut Engine, &mut dyn Sink) -> Result<T, EngineError>,
    ) -> Result<T, LiveError> {
        let mut sink = OnBus {
            bus: &self.bus,
            failures: &mut self.publish_failures,
        };
        Ok(act(&mut self.engine, &mut sink)?)
    }

    fn publish_traces(&mut self, now: Time) {
        let Some(lives) = &self.lives else {
            return;
        };
        for taken in self.engine.take_traces() {
            let steps = lives.message(now, &taken);
            if self.bus.publish(STEPS_CHANNEL, &steps).is_err() {
                self.publish_failures += 1;
            }
        }
    }
}

struct OnBus<'a> {
    bus: &'a Bus,
    failures: &'a mut u64,
}

impl Sink for OnBus<'_> {
    fn publish(&mut self, sent: &Sent<'_>) {
        let published = self.bus.publish_shared(sent.channel, sent.parcel.bytes());
        if published.is_err() {
            *self.failures += 1;
        }
    }
}

/// Has others know what is published, asked and answered.
fn describe_types(engine: &Engine, bus: &Bus) {
    for (channel, message) in engine.spoken() {
        service::describe(bus, channel, message);
    }
}
