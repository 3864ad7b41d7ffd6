//! Several subscriptions, read by one thread in one order.

use crate::bus::{Bus, SubscribeError};
use crate::clock::{Deadline, Reader};
use crate::event::Event;
use crate::mailbox::{End, Mailbox};
use crate::pattern::Pattern;
use crate::queue::{ForAll, ForEach, Noting, Queue, QueueCounts, SubscriptionId, Take};
use crate::sys::Flag;
use crate::transport::{ListenError, ReceiveError};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Events of any number of subscriptions, in the order in which they arrived.
///
/// Reading it reads the network: a thread that waits here needs no other thread.
#[derive(Debug)]
pub struct Inbox {
    bus: Bus,
    mailbox: Arc<Mailbox>,
    subscriptions: Mutex<Vec<SubscriptionId>>,
    flag: OnceLock<Arc<Flag>>,
    /// Whether a thread of the bus reads on our behalf.
    is_kept: OnceLock<()>,
}

impl Inbox {
    pub(crate) fn new(bus: Bus) -> Self {
        Self {
            bus,
            mailbox: Arc::default(),
            subscriptions: Mutex::default(),
            flag: OnceLock::new(),
            is_kept: OnceLock::new(),
        }
    }

    /// Adds a subscription.
    ///
    /// # Errors
    /// When the pattern is malformed or nothing can be received.
    pub fn subscribe(&self, pattern: &str, queue: Queue) -> Result<SubscriptionId, SubscribeError> {
        Ok(self.subscribe_to(Pattern::new(pattern)?, queue)?)
    }

    /// Adds a subscription by a pattern that was checked before.
    ///
    /// # Errors
    /// When nothing can be received.
    pub fn subscribe_to(
        &self,
        pattern: Pattern,
        queue: Queue,
    ) -> Result<SubscriptionId, ListenError> {
        let shared = &self.bus.shared;
        let id = shared.router.subscribe(pattern, queue, &self.mailbox);
        if let Err(error) = shared.announce_interest() {
            shared.router.unsubscribe(id);
            return Err(error);
        }
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(id);
        Ok(id)
    }

    /// Ends a subscription. What waits for it is dropped.
    pub fn unsubscribe(&self, id: SubscriptionId) {
        let mut subscriptions = self
            .subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        subscriptions.retain(|subscription| *subscription != id);
        drop(subscriptions);
        self.end(&[id]);
    }

    /// Changes how much may wait for a subscription.
    pub fn set_queue(&self, id: SubscriptionId, queue: Queue) {
        self.mailbox.configure(id, queue);
    }

    /// What happened to the messages of a subscription.
    #[must_use]
    pub fn queue_counts(&self, id: SubscriptionId) -> QueueCounts {
        self.mailbox.counts(id)
    }

    /// The bus that it reads.
    #[must_use]
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// When nothing more will come, or the system refuses.
    pub fn recv(&self) -> Result<(SubscriptionId, Event), RecvError> {
        loop {
            if let Some(event) = self.next(&mut ForEach, Deadline::Never)? {
                return Ok(event);
            }
        }
    }

    /// Waits for the next event, but not longer than `timeout`.
    ///
    /// # Errors
    /// When nothing more will come, or the system refuses.
    pub fn recv_timeout(
        &self,
        timeout: Duration,
    ) -> Result<Option<(SubscriptionId, Event)>, RecvError> {
        self.next(&mut ForEach, Deadline::after(timeout))
    }

    /// [`recv_timeout`](Self::recv_timeout) that calls `on_empty` with each look that finds nothing: before it waits,
    /// and when the time is over.
    ///
    /// What comes afterwards cannot have waited from before that moment, whatever the date on it.
    ///
    /// # Errors
    /// When nothing more will come, or the system refuses.
    pub fn recv_noting(
        &self,
        timeout: Duration,
        on_empty: impl FnMut(),
    ) -> Result<Option<(SubscriptionId, Event)>, RecvError> {
        self.next(&mut Noting(on_empty), Deadline::after(timeout))
    }

    /// The next event if it is there already.
    ///
    /// # Errors
    /// When nothing more will come, or the system refuses.
    pub fn try_recv(&self) -> Result<Option<(SubscriptionId, Event)>, RecvError> {
        self.next(&mut ForEach, Deadline::Now)
    }

    /// Waits for the next event, and takes it for all subscriptions of the inbox that have it in their queues. They are
    /// put into `wanted_by`, in the order in which they were made. No timeout is for ever.
    ///
    /// The other ways to receive give the event once for each of them.
    ///
    /// # Errors
    /// When nothing more will come, or the system refuses.
    pub fn recv_for_all(
        &self,
        timeout: Option<Duration>,
        wanted_by: &mut Vec<SubscriptionId>,
    ) -> Result<Option<Event>, RecvError> {
        wanted_by.clear();
        let deadline = timeout.map_or(Deadline::Never, Deadline::after);
        self.next(&mut ForAll(wanted_by), deadline)
    }

    /// Moves what the transport holds into the queues, so that [`queue_counts`](Self::queue_counts) counts it too.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn read_out(&self) -> Result<(), RecvError> {
        let pump = &self.bus.shared.pump;
        pump.read_out(&self.mailbox).map_err(RecvError)
    }

    /// Has nothing more come: readers that wait here, now or later, get the end. What is here already can
    /// still be read.
    pub fn close(&self) {
        self.mailbox.end(End::Closed);
        self.bus.shared.pump.interrupt();
    }

    fn next<T: Take>(
        &self,
        take: &mut T,
        deadline: Deadline,
    ) -> Result<Option<T::Item>, RecvError> {
        let pump = &self.bus.shared.pump;
        let next = pump.next(&self.mailbox, take, deadline, Reader::Subscriber);
        next.map_err(RecvError)
    }

    /// A descriptor that is readable while an event waits, for programs with an event loop of their own. From then on
    /// a thread of the bus reads the network.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        if self.flag.get().is_none() {
            // Both would be the same flag.
            drop(self.flag.set(self.mailbox.flag()?));
        }
        self.keep_reading();
        let flag = self.flag.get();
        let flag = flag.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(flag.as_fd())
    }

    /// Has a thread of the bus read the network from now on.
    pub(crate) fn keep_reading(&self) {
        if self.is_kept.set(()).is_ok() {
            self.bus.shared.pump.keep_reading();
        }
    }

    /// Has `waker` woken when an event comes, unless one is there already.
    #[cfg(feature = "async")]
    pub(crate) fn wake_later(&self, waker: &std::task::Waker) -> bool {
        self.mailbox.wake_later(waker)
    }

    fn end(&self, ids: &[SubscriptionId]) {
        let shared = &self.bus.shared;
        for id in ids {
            shared.router.unsubscribe(*id);
        }
        // Wanting less cannot fail in a way that matters: at worst, more arrives than is wanted.
        drop(shared.announce_interest());
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let ids = std::mem::take(
            self.subscriptions
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.end(&ids);
        if self.is_kept.get().is_some() {
            self.bus.shared.pump.keep_reading_no_more();
        }
    }
}

/// Why no event could be received.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RecvError(pub(crate) ReceiveError);

impl RecvError {
    /// Whether a log is at its end, or the bus was closed: nothing more will ever come.
    #[must_use]
    pub fn is_end(&self) -> bool {
        matches!(self.0, ReceiveError::End | ReceiveError::Closed)
    }

    /// Whether a signal came whose handler was installed without `SA_RESTART`: the program wants its waiting calls to
    /// end. Nothing is wrong with the bus.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }
}
