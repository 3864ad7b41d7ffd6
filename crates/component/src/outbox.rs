//! The outputs of a component: messages, its health, and when it wants to be woken.

use crate::alarm::{AlarmKind, Alarms};
use crate::engine::Services;
use crate::health::Health;
use crate::parcel::{Parcel, Raw};
use crate::port::{Client, Output, Service};
use crate::service::{BeginError, CallId, Failure};
use crate::time::Time;
use bowline_wire::{EncodeError, Message};
use std::collections::BTreeSet;
use std::time::Duration;

/// How many moments a component may ask to be woken at, at a time.
pub(crate) const MAX_WAKES: usize = 1_024;

/// Where a component's outputs go: the only way out.
#[derive(Debug)]
pub struct Outbox<'a> {
    pub(crate) now: Time,
    pub(crate) effects: &'a mut Effects,
    pub(crate) services: &'a mut Services,
}

/// Why a service was not called.
#[derive(Debug, thiserror::Error)]
pub enum NotCalled {
    /// The robot does not set which service the port is for.
    #[error("the port is not connected to a service")]
    Unconnected,
    /// The request has no faithful encoding.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The call cannot be begun.
    #[error(transparent)]
    Begin(#[from] BeginError),
}

/// What came out of a component, until the host takes it.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) sent: Vec<Emission>,
    pub(crate) wakes: BTreeSet<Time>,
    pub(crate) alarms: Alarms,
    pub(crate) health: Health,
    pub(crate) counts: CellCounts,
    /// What went wrong since the host last asked, in words; bounded.
    pub(crate) faults: Vec<String>,
    /// Why the component cannot go on.
    pub(crate) fatal: Option<String>,
}

/// A message that left a port.
#[derive(Clone, Debug)]
pub(crate) struct Emission {
    pub(crate) port: usize,
    pub(crate) parcel: Parcel,
}

/// What happened in a component, and to what was meant for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// Steps that were taken.
    pub steps: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were not of the input's type.
    pub undecodable: u64,
    /// Messages that could not be encoded faithfully, and were not sent.
    pub unencodable: u64,
    /// Ticks that were skipped because the host was too busy.
    pub missed_ticks: u64,
    /// Wishes to be woken beyond what one component may have.
    pub refused_wakes: u64,
    /// Alarms beyond those that one component may have, which were not raised.
    pub refused_alarms: u64,
    /// Faults beyond those that were kept in words.
    pub unworded_faults: u64,
}

const MAX_FAULTS: usize = 16;

impl Outbox<'_> {
    /// The time of the step.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a message. What has no faithful encoding (a length field that lies) is not sent; that is a fault, counted
    /// and reported by the host.
    pub fn send<T>(&mut self, port: Output<T>, message: T)
    where
        T: Message + Send + Sync + 'static,
    {
        match Parcel::new(message) {
            Ok(parcel) => self.effects.send(port.index, parcel),
            Err(error) => {
                self.effects.counts.unencodable += 1;
                self.effects
                    .fault(format!("a message was not sent: {error}"));
            }
        }
    }

    /// Sends bytes as they are, for components that pass on what they do not understand.
    pub fn send_raw(&mut self, port: Output<Raw>, raw: Raw) {
        self.effects.send(port.index, Parcel::from_bytes(raw.bytes));
    }

    /// Replies to a call, now or in a later step. Nothing is sent if the caller no longer waits.
    pub fn reply<Request, Reply: Message>(
        &mut self,
        port: Service<Request, Reply>,
        call: CallId,
        reply: &Reply,
    ) {
        match reply.encode() {
            Ok(body) => self.answer(port, call, Ok(body)),
            Err(error) => {
                self.effects.counts.unencodable += 1;
                self.effects.fault(format!("a reply was not sent: {error}"));
                let failure = Failure::new(1, format!("the reply cannot be sent: {error}"));
                self.answer(port, call, Err(failure));
            }
        }
    }

    /// Answers a call with an error.
    pub fn fail<Request, Reply>(
        &mut self,
        port: Service<Request, Reply>,
        call: CallId,
        failure: Failure,
    ) {
        self.answer(port, call, Err(failure));
    }

    fn answer<Request, Reply>(
        &mut self,
        port: Service<Request, Reply>,
        call: CallId,
        result: Result<Vec<u8>, Failure>,
    ) {
        let Self {
            now,
            effects,
            services,
        } = self;
        services.answer(*now, (port.index, call), result, effects);
    }

    /// Calls a service. The answer is a step of its own, in time or as an error.
    ///
    /// # Errors
    /// When the call cannot be sent.
    pub fn call<Request: Message, Reply>(
        &mut self,
        port: Client<Request, Reply>,
        request: &Request,
        timeout: Duration,
    ) -> Result<CallId, NotCalled> {
        let body = request.encode()?;
        let Self {
            now,
            effects,
            services,
        } = self;
        services.begin(*now, port.index, (body, timeout), effects)
    }

    /// Lets a call be. There will be no answer to it.
    pub fn cancel<Request, Reply>(&mut self, port: Client<Request, Reply>, call: CallId) {
        let Self {
            now,
            effects,
            services,
        } = self;
        services.cancel(*now, port.index, call, effects);
    }

    /// Ends the component after this step, for a cause that it cannot recover from: its host ends with that cause, and a
    /// supervisor starts it again. Nothing that it sent in this step leaves it.
    pub fn abort(&mut self, cause: String) {
        self.effects.fatal.get_or_insert(cause);
    }

    /// Reports how the component is, until the next report.
    pub fn health(&mut self, health: Health) {
        self.effects.health = health;
    }

    /// Raises an alarm for people, or confirms that it still holds. Its source is the component.
    ///
    /// It is published at once and then every second until it is cleared, whether the component is woken or not; another
    /// cause is published with the next repetition.
    pub fn raise(&mut self, kind: &AlarmKind, cause: &str) {
        if self.effects.alarms.raise(self.now, kind, cause).is_err() {
            self.effects.counts.refused_alarms += 1;
            self.effects.fault(format!(
                "alarm {:?} was not raised: there are too many",
                kind.id
            ));
        }
    }

    /// Clears an alarm, if it was raised.
    pub fn clear(&mut self, kind: &AlarmKind) {
        self.effects.alarms.clear(self.now, kind.id);
    }

    /// Raises an alarm where there is a cause, and clears it where there is none.
    pub fn alarm(&mut self, kind: &AlarmKind, cause: Option<&str>) {
        match cause {
            Some(cause) => self.raise(kind, cause),
            None => self.clear(kind),
        }
    }

    /// Asks for a step after a while.
    pub fn wake_after(&mut self, duration: Duration) {
        self.wake_at(self.now + duration);
    }

    /// Asks for a step at a moment; one that has passed comes at once.
    pub fn wake_at(&mut self, moment: Time) {
        if self.effects.wakes.len() >= MAX_WAKES {
            self.effects.counts.refused_wakes += 1;
            return;
        }
        // At the very moment there is a step already.
        let moment = moment.max(self.now + Duration::from_nanos(1));
        self.effects.wakes.insert(moment);
    }
}

impl Effects {
    pub(crate) fn send(&mut self, port: usize, parcel: Parcel) {
        self.counts.sent += 1;
        self.sent.push(Emission { port, parcel });
    }

    pub(crate) fn fault(&mut self, words: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(words);
        } else {
            self.counts.unworded_faults += 1;
        }
    }
}
