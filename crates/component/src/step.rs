//! The input of a component at a step: why it was woken, the time, and what is known of its inputs.

use crate::engine::Ended;
use crate::input::{Held, Slot};
use crate::port::{Client, Input, Service};
use crate::service::{CallError, CallId, Called};
use crate::time::Time;
use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

/// One event in the life of a component.
///
/// Fresh data is easy to ask for, and so is what was wrong with it: [`fresh`](Self::fresh) gives a message that is not
/// older than the input's declaration allows, and nothing otherwise.
#[derive(Debug)]
pub struct Step<'a> {
    pub(crate) now: Time,
    pub(crate) cause: Cause<'a>,
    pub(crate) slots: &'a [Slot],
}

/// Why a component is woken.
#[derive(Clone, Copy)]
pub(crate) enum Cause<'a> {
    Start,
    Message {
        port: usize,
        held: &'a Held,
    },
    Stale {
        port: usize,
    },
    Tick {
        missed: u64,
    },
    Wake,
    Parameters,
    Called {
        port: usize,
        call: &'a Called,
        request: &'a (dyn Any + Send + Sync),
    },
    Dropped {
        port: usize,
        id: CallId,
    },
    Answered {
        port: usize,
        answer: &'a Ended,
    },
}

impl fmt::Debug for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Message { port, held } => write!(f, "message at {port}: {held:?}"),
            Self::Stale { port } => write!(f, "stale: {port}"),
            Self::Tick { missed } => write!(f, "tick, {missed} missed"),
            Self::Wake => f.write_str("wake"),
            Self::Parameters => f.write_str("parameters"),
            Self::Called { port, call, .. } => write!(f, "call at {port}: {call:?}"),
            Self::Dropped { port, id } => write!(f, "call {id} at {port} dropped"),
            Self::Answered { port, answer } => write!(f, "answer to {} at {port}", answer.id),
        }
    }
}

impl<'a> Step<'a> {
    /// The time, by the clock of the component's host.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The message that is the reason for this step, if it came in at this port.
    #[must_use]
    pub fn arrived<T: 'static>(&self, port: Input<T>) -> Option<Seen<'a, T>> {
        if let Cause::Message { port: at, held } = self.cause
            && at == port.index
        {
            return self.see(held);
        }
        None
    }

    /// The latest message of an input, if it is not too old.
    #[must_use]
    pub fn fresh<T: 'static>(&self, port: Input<T>) -> Option<Seen<'a, T>> {
        let fresh_for = self.slots.get(port.index)?.expect.fresh_for;
        self.latest(port)
            .filter(|seen| fresh_for.is_none_or(|fresh_for| seen.age() <= fresh_for))
    }

    /// The latest message of an input, however old.
    ///
    /// A message that was overtaken by a later one, by their own times, arrives but is not the latest.
    #[must_use]
    pub fn latest<T: 'static>(&self, port: Input<T>) -> Option<Seen<'a, T>> {
        self.see(self.slots.get(port.index)?.latest()?)
    }

    /// Whether the reason for this step is that the input has just grown stale.
    #[must_use]
    pub fn is_stale<T>(&self, port: Input<T>) -> bool {
        matches!(self.cause, Cause::Stale { port: at } if at == port.index)
    }

    /// Whether this is the first step, before anything arrived.
    #[must_use]
    pub fn is_start(&self) -> bool {
        matches!(self.cause, Cause::Start)
    }

    /// Whether the reason for this step is the component's tick.
    #[must_use]
    pub fn is_tick(&self) -> bool {
        matches!(self.cause, Cause::Tick { .. })
    }

    /// How many ticks were skipped before this one, because the host was too busy.
    #[must_use]
    pub fn missed_ticks(&self) -> u64 {
        if let Cause::Tick { missed } = self.cause {
            return missed;
        }
        0
    }

    /// Whether the reason for this step is a moment that the component asked to be woken at.
    #[must_use]
    pub fn is_wake(&self) -> bool {
        matches!(self.cause, Cause::Wake)
    }

    /// Whether the reason for this step is that parameters have changed.
    #[must_use]
    pub fn is_parameter_change(&self) -> bool {
        matches!(self.cause, Cause::Parameters)
    }

    /// The call that is the reason for this step, if it is of this service. To be answered with
    /// [`Outbox::reply`](crate::Outbox::reply) or [`Outbox::fail`](crate::Outbox::fail), now or later.
    #[must_use]
    pub fn called<Request: 'static, Reply>(
        &self,
        port: Service<Request, Reply>,
    ) -> Option<Call<'a, Request>> {
        if let Cause::Called {
            port: at,
            call,
            request,
        } = self.cause
            && at == port.index
        {
            let request = request.downcast_ref()?;
            return Some(Call { request, call });
        }
        None
    }

    /// The call of this service whose caller does not wait any more, if that is the reason for this step.
    #[must_use]
    pub fn dropped<Request, Reply>(&self, port: Service<Request, Reply>) -> Option<CallId> {
        if let Cause::Dropped { port: at, id } = self.cause
            && at == port.index
        {
            return Some(id);
        }
        None
    }

    /// The answer that is the reason for this step, if it is to a call through this port: the call and the reply, or
    /// why there is none.
    #[must_use]
    pub fn answered<Request, Reply: 'static>(
        &self,
        port: Client<Request, Reply>,
    ) -> Option<(CallId, Result<&'a Reply, &'a CallError>)> {
        if let Cause::Answered { port: at, answer } = self.cause
            && at == port.index
        {
            let outcome = match &answer.outcome {
                Ok(reply) => Ok(reply.downcast_ref()?),
                Err(error) => Err(error),
            };
            return Some((answer.id, outcome));
        }
        None
    }

    fn see<T: 'static>(&self, held: &'a Held) -> Option<Seen<'a, T>> {
        let message = held.value.downcast_ref()?;
        Some(Seen {
            message,
            held,
            now: self.now,
        })
    }
}

/// A call of a service.
#[derive(Debug)]
pub struct Call<'a, Request> {
    request: &'a Request,
    call: &'a Called,
}

impl<'a, Request> Call<'a, Request> {
    /// To answer it by.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.call.id
    }

    /// What is asked.
    #[must_use]
    pub fn request(&self) -> &'a Request {
        self.request
    }

    /// Who asks.
    #[must_use]
    pub fn caller(&self) -> &'a str {
        &self.call.caller
    }

    /// When no caller will wait for the answer any more.
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.call.deadline
    }
}

/// A message, and what is known of how it came.
#[derive(Debug)]
pub struct Seen<'a, T> {
    message: &'a T,
    held: &'a Held,
    now: Time,
}

impl<'a, T> Seen<'a, T> {
    /// The message itself.
    #[must_use]
    pub fn message(&self) -> &'a T {
        self.message
    }

    /// When it arrived.
    #[must_use]
    pub fn at(&self) -> Time {
        self.held.at
    }

    /// How long ago it arrived.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.now.since(self.held.at)
    }

    /// Its own time, from its field `utime`; `None` where it has none.
    #[must_use]
    pub fn stamp(&self) -> Option<Time> {
        self.held.stamp.map(Time::from_utime)
    }

    /// How long before its arrival its own time was: how long it took to get here, if the clocks agree.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        Some(self.held.at.since(self.stamp()?))
    }

    /// How much time lies between it and the one before, by their own times if they have them, by arrival otherwise.
    #[must_use]
    pub fn gap(&self) -> Option<Duration> {
        self.held.gap
    }

    /// How many messages should have come between it and the one before, by what the input declares.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.held.missing
    }

    /// Whether it came in its turn.
    #[must_use]
    pub fn order(&self) -> Order {
        self.held.order
    }
}

impl<T> Deref for Seen<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.message
    }
}

impl<T> Clone for Seen<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Seen<'_, T> {}

/// Whether a message came in its turn, by its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// After what came before it, or it has no time of its own.
    InTurn,
    /// With the same time as the one before: most likely a duplicate.
    Repeated,
    /// After one that is later than it.
    Late,
}
