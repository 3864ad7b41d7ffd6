//! An inbox for asynchronous programs.

use crate::event::Event;
use crate::inbox::{Inbox, RecvError};
use crate::queue::SubscriptionId;
use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The events of an inbox as a stream, for any executor. A thread of the bus reads the network.
#[derive(Debug)]
pub struct EventStream {
    inbox: Inbox,
}

impl Inbox {
    /// Reads the inbox asynchronously.
    #[must_use]
    pub fn into_stream(self) -> EventStream {
        self.keep_reading();
        EventStream { inbox: self }
    }
}

impl EventStream {
    /// The inbox below: to subscribe, and to look at counts.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

impl Stream for EventStream {
    type Item = Result<(SubscriptionId, Event), RecvError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match self.inbox.try_recv() {
                Ok(Some(event)) => return Poll::Ready(Some(Ok(event))),
                Ok(None) => {}
                Err(error) if error.is_end() => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            if self.inbox.wake_later(context.waker()) {
                return Poll::Pending;
            }
        }
    }
}
