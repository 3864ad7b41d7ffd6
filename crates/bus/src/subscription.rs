//! Messages of one type.

use crate::bus::Tallies;
use crate::event::{Arrival, Event};
use crate::inbox::{Inbox, RecvError};
use crate::queue::{QueueCounts, SubscriptionId};
use bowline_wire::Channel;
use bowline_wire::{Decode, DecodeError, Message};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A subscription to messages of type `T`. Ends when dropped.
#[derive(Debug)]
pub struct Subscription<T> {
    inbox: Inbox,
    id: SubscriptionId,
    message: PhantomData<fn() -> T>,
}

/// A message, and how it came.
#[derive(Clone, Debug)]
pub struct Received<T> {
    /// The message itself; `Received` dereferences to it.
    pub message: T,
    /// Where it was published.
    pub channel: Channel,
    /// When and from whom it came.
    pub arrival: Arrival,
}

impl<T: Message + for<'a> Decode<'a>> Subscription<T> {
    pub(crate) fn new(inbox: Inbox, id: SubscriptionId) -> Self {
        Self {
            inbox,
            id,
            message: PhantomData,
        }
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// When what came is not a `T`, nothing more will come, or the system refuses.
    pub fn recv(&self) -> Result<Received<T>, RecvMessageError> {
        let (_, event) = self.inbox.recv()?;
        self.decode(event)
    }

    /// Waits for the next message, but not longer than `timeout`.
    ///
    /// # Errors
    /// When what came is not a `T`, nothing more will come, or the system refuses.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Option<Received<T>>, RecvMessageError> {
        let event = self.inbox.recv_timeout(timeout)?;
        event.map(|(_, event)| self.decode(event)).transpose()
    }

    /// The next message if it is there already.
    ///
    /// # Errors
    /// When what came is not a `T`, nothing more will come, or the system refuses.
    pub fn try_recv(&self) -> Result<Option<Received<T>>, RecvMessageError> {
        let event = self.inbox.try_recv()?;
        event.map(|(_, event)| self.decode(event)).transpose()
    }

    /// All messages, as they come, until nothing more will. What is not a `T` is an error among them.
    pub fn iter(&self) -> impl Iterator<Item = Result<Received<T>, RecvMessageError>> {
        self.until_end(|| self.recv().map(Some))
    }

    /// All messages, until none comes for `timeout`.
    pub fn iter_timeout(
        &self,
        timeout: Duration,
    ) -> impl Iterator<Item = Result<Received<T>, RecvMessageError>> {
        self.until_end(move || self.recv_timeout(timeout))
    }

    fn until_end(
        &self,
        mut next: impl FnMut() -> Result<Option<Received<T>>, RecvMessageError>,
    ) -> impl Iterator<Item = Result<Received<T>, RecvMessageError>> {
        std::iter::from_fn(move || match next() {
            Err(RecvMessageError::Receive(error)) if error.is_end() => None,
            other => other.transpose(),
        })
    }

    /// What happened to its messages.
    #[must_use]
    pub fn counts(&self) -> QueueCounts {
        self.inbox.queue_counts(self.id)
    }

    /// The inbox below: raw events, and a descriptor for event loops.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    fn decode(&self, event: Event) -> Result<Received<T>, RecvMessageError> {
        decode(event, self.inbox.bus().tallies())
    }
}

pub(crate) fn decode<T>(event: Event, tallies: &Tallies) -> Result<Received<T>, RecvMessageError>
where
    T: Message + for<'a> Decode<'a>,
{
    match T::decode(&event.payload) {
        Ok(message) => Ok(Received {
            message,
            channel: event.channel,
            arrival: event.arrival,
        }),
        Err(source) => {
            tallies.undecodable.fetch_add(1, Ordering::Relaxed);
            Err(RecvMessageError::Undecodable { event, source })
        }
    }
}

impl<T> Deref for Received<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.message
    }
}

impl<T> DerefMut for Received<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.message
    }
}

/// Why no message of the type could be received.
#[derive(Debug, thiserror::Error)]
pub enum RecvMessageError {
    /// Something came, but not that.
    #[error("on channel {:?}: {source}", event.channel.as_str())]
    Undecodable {
        /// What came.
        event: Event,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// Nothing came.
    #[error(transparent)]
    Receive(#[from] RecvError),
}
