//! Components advance together on the time of their events, as fast as the machine allows.

use bowline_component::Time;
use bowline_component::engine::{Arrival, Engine, EngineError, Sent, Sink};
use bowline_format::ReadError;
use std::time::Duration;

/// Where events come from that components do not make themselves.
pub trait Source {
    /// The next event; `None` when there are no more.
    ///
    /// # Errors
    /// When there may be more, but they cannot be had.
    fn next(&mut self) -> Result<Option<Arrival>, ReadError>;

    /// What components are handed of an event when its time has come; `None` if they are handed nothing.
    fn admit(&mut self, arrival: Arrival) -> Option<Arrival> {
        Some(arrival)
    }

    /// A component has sent something, which the source may have been waiting for.
    fn hear(&mut self, _sent: &Sent<'_>) {}

    /// An event that was waiting for that, and happens now.
    fn release(&mut self, _now: Time) -> Option<Arrival> {
        None
    }
}

/// Passes what components send to the source.
struct Overheard<'a, S> {
    source: &'a mut S,
    sink: &'a mut dyn Sink,
}

impl<S: Source> Sink for Overheard<'_, S> {
    fn publish(&mut self, sent: &Sent<'_>) {
        self.source.hear(sent);
        self.sink.publish(sent);
    }

    fn arrived(&mut self, now: Time, arrival: &Arrival) {
        self.sink.arrived(now, arrival);
    }
}

/// Nothing comes from outside: everything that happens is made by the components, a simulator among them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Source for Silence {
    fn next(&mut self) -> Result<Option<Arrival>, ReadError> {
        Ok(None)
    }
}

/// An engine on the time of its events.
///
/// Instant by instant: first what comes from outside, in its order, then whatever is due. So the same source gives the
/// same bytes, whatever the machine, its load and the number of threads.
#[derive(Debug)]
pub struct Lockstep<S> {
    engine: Engine,
    source: S,
    next: Option<Arrival>,
    now: Time,
    clock: SteadyClock,
}

/// The clock of a source without its steps: it may have been set while the source was recorded.
#[derive(Debug, Default)]
struct SteadyClock {
    /// How far the source's clock is ahead of the components' time, nanoseconds.
    ahead_ns: i64,
    steps: u64,
}

/// What is later than that by the source's clock is not a pause: the clock was set.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3_600);
/// What is earlier than that is not a matter of the order in which events were recorded: the clock was set back.
const LONGEST_DISORDER: Duration = Duration::from_secs(1);

impl SteadyClock {
    /// When an event happens: never before `now`.
    fn time(&mut self, received: Time, now: Time) -> Time {
        let steady = Time::from_ns(received.ns().saturating_sub(self.ahead_ns));
        let is_set = steady.since(now) > LONGEST_PAUSE || now.since(steady) > LONGEST_DISORDER;
        if is_set {
            self.ahead_ns = received.ns().saturating_sub(now.ns());
            self.steps += 1;
            return now;
        }
        steady.max(now)
    }
}

/// Why lockstep ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum LockstepError {
    /// The components cannot go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] ReadError),
}

impl<S: Source> Lockstep<S> {
    /// Takes the first steps of the components, at the time of the first event, or at `start` if there is none or it is
    /// later than that.
    ///
    /// # Errors
    /// When a component panics, or the source cannot be read.
    pub fn start(
        mut engine: Engine,
        mut source: S,
        start: Time,
        sink: &mut dyn Sink,
    ) -> Result<Self, LockstepError> {
        let next = source.next()?;
        let now = next
            .as_ref()
            .map_or(start, |first| first.received.min(start));
        let overheard = &mut Overheard {
            source: &mut source,
            sink,
        };
        engine.start(now, overheard)?;
        let mut lockstep = Self {
            engine,
            source,
            next,
            now,
            clock: SteadyClock::default(),
        };
        lockstep.set_time_of_next();
        Ok(lockstep)
    }

    /// Puts the next event on the components' time.
    fn set_time_of_next(&mut self) {
        if let Some(next) = &mut self.next {
            next.received = self.clock.time(next.received, self.now);
        }
    }

    /// How often the source's clock was set. Time went on from where it was.
    #[must_use]
    pub fn clock_steps(&self) -> u64 {
        self.clock.steps
    }

    /// Where events come from.
    #[must_use]
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// When something happens next; `None` when nothing will.
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        let event = self.next.as_ref().map(|event| event.received);
        let times = event.into_iter().chain(self.engine.next_due());
        times.min().map(|time| time.max(self.now))
    }

    /// Whether the source has ended.
    #[must_use]
    pub fn is_source_done(&self) -> bool {
        self.next.is_none()
    }

    /// Goes on to the next instant at which something happens.
    ///
    /// # Errors
    /// When a component panics, or the source cannot be read.
    pub fn step(&mut self, sink: &mut dyn Sink) -> Result<(), LockstepError> {
        let Some(now) = self.next_time() else {
            return Ok(());
        };
        self.now = now;
        while let Some(arrival) = self.next.take_if(|next| next.received <= now) {
            if let Some(arrival) = self.source.admit(arrival) {
                self.deliver(&arrival, sink)?;
            }
            self.release(sink)?;
            self.next = self.source.next()?;
            self.set_time_of_next();
        }
        if self.engine.next_due().is_some_and(|due| due <= now) {
            let source = &mut self.source;
            self.engine.wake(now, &mut Overheard { source, sink })?;
        }
        self.release(sink)
    }

    fn deliver(&mut self, arrival: &Arrival, sink: &mut dyn Sink) -> Result<(), LockstepError> {
        let source = &mut self.source;
        let overheard = &mut Overheard { source, sink };
        Ok(self.engine.deliver(self.now, arrival, overheard)?)
    }

    /// What was waiting for outputs of components that have come meanwhile.
    fn release(&mut self, sink: &mut dyn Sink) -> Result<(), LockstepError> {
        while let Some(arrival) = self.source.release(self.now) {
            self.deliver(&arrival, sink)?;
        }
        Ok(())
    }

    /// Goes on until `end`: everything that happens up to then, and at that moment.
    ///
    /// # Errors
    /// When a component panics, or the source cannot be read.
    pub fn run_until(&mut self, end: Time, sink: &mut dyn Sink) -> Result<(), LockstepError> {
        while self.next_time().is_some_and(|next| next <= end) {
            self.step(sink)?;
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Goes on until the source has ended.
    ///
    /// # Errors
    /// When a component panics, or the source cannot be read.
    pub fn run_to_end(&mut self, sink: &mut dyn Sink) -> Result<(), LockstepError> {
        while !self.is_source_done() {
            self.step(sink)?;
        }
        Ok(())
    }

    /// The components.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The components.
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
}
