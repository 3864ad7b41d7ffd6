//! Components on a live bus: one alone in its process, or several that hand messages to each other as they are.

use crate::clock;
use crate::engine::{Arrival, Engine, EngineError, Sent, Sink};
use crate::parcel::Parcel;
use crate::port::TypeInfo;
use crate::time::Time;
use crate::trace::{Lives, STEPS_CHANNEL};
use bowline_bus::transport::ListenError;
use bowline_bus::{Bus, Event, Inbox, Pattern, Queue, RecvError};
use bowline_wire::schema::TypeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long at most until it is seen that the host should stop.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// How often what happened is published for exact replay.
const TRACE_EVERY: Duration = Duration::from_millis(100);
/// A wall clock that moved so much between two looks was set, and says nothing about how long a message waited.
const CLOCK_STEP_NS: i64 = 50_000_000;

/// An engine on a bus, in real time.
///
/// What a component here writes and another here reads is handed over as it is; all of it is published too, so
/// recorders, spies and other processes see no difference. A channel that is written here is not listened to: it has one
/// writer.
#[derive(Debug)]
pub struct Live {
    engine: Engine,
    bus: Bus,
    inbox: Inbox,
    clock: clock::Live,
    lives: Option<Lives>,
    wall_offset_ns: i64,
    publish_failures: u64,
}

/// What a live host does beside its work.
#[derive(Clone, Debug, Default)]
pub struct LiveOptions {
    /// The robot that this is part of.
    pub robot: String,
    /// Whether every step is published, for exact replay.
    pub is_traced: bool,
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
        let inbox = bus.inbox();
        for channel in engine.wanted() {
            inbox.subscribe_to(Pattern::exact(channel), Queue::default())?;
        }
        for (_, channel, port) in engine.written() {
            if let Some(message) = &port.message {
                describe(&bus, channel, message);
            }
        }
        let clock = clock::Live::new();
        let LiveOptions { robot, is_traced } = options;
        let lives = is_traced.then(|| Lives::new(robot, clock.now()));
        let engine = match lives {
            Some(_) => engine.with_trace(),
            None => engine,
        };
        Ok(Self {
            engine,
            bus,
            inbox,
            clock,
            lives,
            wall_offset_ns: clock.wall_offset_ns(),
            publish_failures: 0,
        })
    }

    /// Runs until `stop` is set, or a component panics.
    ///
    /// # Errors
    /// When a component panics, or the bus cannot be read.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<Ended, LiveError> {
        let now = self.clock.now();
        self.with_engine(|engine, sink| engine.start(now, sink))?;
        let mut trace_due = now + TRACE_EVERY;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now >= trace_due {
                self.publish_traces(now);
                trace_due = now + TRACE_EVERY;
            }
            let wake = self.engine.next_due().unwrap_or(Time::MAX).min(trace_due);
            let timeout = wake.since(now).min(LONGEST_WAIT);
            self.turn(timeout)?;
        }
        self.publish_traces(self.clock.now());
        Ok(Ended::Stopped)
    }

    /// Takes one message if there is one in time, and does what is due.
    fn turn(&mut self, timeout: Duration) -> Result<(), LiveError> {
        let event = self.inbox.recv_timeout(timeout)?;
        let now = self.clock.now();
        if let Some((_, event)) = event {
            let arrival = self.arrival(now, event);
            self.with_engine(|engine, sink| engine.deliver(now, &arrival, sink))?;
        }
        if self.engine.next_due().is_some_and(|due| due <= now) {
            self.with_engine(|engine, sink| engine.wake(now, sink))?;
        }
        Ok(())
    }

    fn arrival(&mut self, now: Time, event: Event) -> Arrival {
        Arrival {
            received: now - self.waited(event.arrival.received_ns, now),
            channel: event.channel,
            parcel: Parcel::from_bytes(event.payload),
        }
    }

    /// How long a message waited until it was taken: by the wall clock, which stamped it, unless somebody set that.
    fn waited(&mut self, received_ns: i64, now: Time) -> Duration {
        let offset_ns = self.clock.wall_offset_ns();
        let is_set = (offset_ns - self.wall_offset_ns).abs() > CLOCK_STEP_NS;
        self.wall_offset_ns = offset_ns;
        if is_set {
            return Duration::ZERO;
        }
        let received = Time::from_ns(received_ns.saturating_sub(offset_ns));
        now.since(received)
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

/// Has others know what is published.
fn describe(bus: &Bus, channel: &str, message: &TypeInfo) {
    let Ok(types) = TypeSet::from_bytes(message.schema) else {
        return;
    };
    if let Some(id) = types.by_name(message.name) {
        bus.describe(channel, &types, id);
    }
}
