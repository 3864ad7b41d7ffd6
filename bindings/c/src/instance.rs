//! A `lcm_t`: a bus, one inbox for all its subscriptions, and the handlers that go with them.

use crate::complaint::complain;
use crate::ffi::Callback;
use crate::turn::{Held, Refusal, Turn};
use bowline_bus::transport::OpenError;
use bowline_bus::{BadUrl, Bus, Event, Inbox, PublishError, Queue, SubscribeError, SubscriptionId};
use bytes::BytesMut;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a `lcm_t` points to.
#[derive(Debug)]
pub(crate) struct Instance {
    inbox: Arc<Inbox>,
    /// Sorted by id, which is the order in which they were made.
    subscriptions: Mutex<Vec<Arc<Subscription>>>,
    turn: Turn<Scratch>,
    /// Whether a failed publish has been explained. The explanation is not repeated for ever.
    has_complained: AtomicBool,
}

/// What a `lcm_subscription_t` points to.
#[derive(Debug)]
pub(crate) struct Subscription {
    inbox: Arc<Inbox>,
    id: SubscriptionId,
    is_ended: AtomicBool,
    pub(crate) callback: Callback,
}

/// Memory that is used again for the next message.
#[derive(Debug, Default)]
struct Scratch {
    ids: Vec<SubscriptionId>,
    wanted_by: Vec<Arc<Subscription>>,
    channel: Vec<u8>,
}

/// A message on its way to its handlers. The turn to handle ends with it.
#[derive(Debug)]
pub(crate) struct Delivery<'a> {
    held: Held<'a, Scratch>,
    payload: BytesMut,
    utime: i64,
}

/// How much waits where a program asks for no limit: far more than liblcm's users can have had in mind, but bounded.
const UNLIMITED: Queue = Queue::keep_oldest(1 << 20).with_max_bytes(1 << 30);

impl Instance {
    /// Opens the bus that `url` names; an empty one is the default. Options that the transport does not know are reported
    /// to `ignored`.
    pub(crate) fn open(url: &str, ignored: impl FnMut(&BadUrl)) -> Result<Self, OpenError> {
        Ok(Self {
            inbox: Arc::new(Bus::open_ignoring(url, ignored)?.lcm_inbox()),
            subscriptions: Mutex::default(),
            turn: Turn::default(),
            has_complained: AtomicBool::new(false),
        })
    }

    pub(crate) fn subscribe(
        &self,
        pattern: &str,
        callback: Callback,
    ) -> Result<Arc<Subscription>, SubscribeError> {
        // Held throughout, so that ids rise here too, and no message is taken for a subscription that is not here yet.
        let mut subscriptions = self.lock();
        let id = self.inbox.subscribe(pattern, Queue::default())?;
        let subscription = Arc::new(Subscription {
            inbox: Arc::clone(&self.inbox),
            id,
            is_ended: AtomicBool::new(false),
            callback,
        });
        subscriptions.push(Arc::clone(&subscription));
        Ok(subscription)
    }

    /// Ends the subscription at that address; returns whether there is one. Its handler is not called any more, except
    /// for a call that is going on in another thread.
    pub(crate) fn unsubscribe(&self, address: *const Subscription) -> bool {
        let mut subscriptions = self.lock();
        let mut all = subscriptions.iter();
        let Some(at) = all.position(|subscription| Arc::as_ptr(subscription) == address) else {
            return false;
        };
        let gone = subscriptions.remove(at);
        drop(subscriptions);
        gone.is_ended.store(true, Ordering::Release);
        self.inbox.unsubscribe(gone.id);
        true
    }

    /// Ends everything: no handler is called any more, and threads that wait for messages are let go.
    pub(crate) fn close(&self) {
        for subscription in self.lock().iter() {
            subscription.is_ended.store(true, Ordering::Release);
        }
        self.inbox.close();
    }

    pub(crate) fn publish(&self, channel: &str, payload: &[u8]) -> Result<(), PublishError> {
        self.inbox.bus().publish_bytes(channel, payload)
    }

    /// Whether to explain why a message could not be published: once.
    pub(crate) fn should_complain(&self) -> bool {
        !self.has_complained.swap(true, Ordering::Relaxed)
    }

    /// What keeps messages from coming, if anything is known of it and was not reported.
    pub(crate) fn trouble(&self) -> Option<String> {
        let trouble = self.inbox.bus().trouble()?;
        self.should_complain().then_some(trouble)
    }

    /// Takes the next message, with the turn to handle it. `None` when none came in time.
    pub(crate) fn take(
        &self,
        timeout: Option<Duration>,
    ) -> Result<Option<Delivery<'_>>, HandleError> {
        let mut held = match self.turn.take(timeout) {
            Ok(held) => held,
            Err(Refusal::Timeout) => return Ok(None),
            Err(Refusal::Recursion) => {
                complain("lcm_handle was called inside a message handler; it does nothing there");
                return Err(HandleError::Refused);
            }
        };
        let received = self.inbox.recv_for_all(held.left, &mut held.kept.ids);
        let event = received.map_err(|error| {
            if error.is_interrupted() {
                return HandleError::Interrupted;
            }
            if !error.is_end() {
                complain(&error);
            }
            HandleError::Refused
        })?;
        Ok(event.map(|event| self.address(event, held)))
    }

    /// Finds the handlers that a message is for.
    fn address<'a>(&self, event: Event, mut held: Held<'a, Scratch>) -> Delivery<'a> {
        let Scratch {
            ids,
            wanted_by,
            channel,
        } = &mut held.kept;
        let subscriptions = self.lock();
        wanted_by.clear();
        wanted_by.extend(ids.iter().filter_map(|id| {
            let at = subscriptions.binary_search_by_key(id, |subscription| subscription.id);
            at.ok().and_then(|at| subscriptions.get(at)).cloned()
        }));
        drop(subscriptions);
        channel.clear();
        channel.extend_from_slice(event.channel.as_bytes());
        channel.push(0);
        // C's handlers may write into what they get, so it has to be theirs alone. It nearly always is.
        let payload = event.payload.try_into_mut();
        Delivery {
            held,
            payload: payload.unwrap_or_else(|shared| BytesMut::from(&*shared)),
            utime: event.arrival.utime(),
        }
    }

    /// A descriptor that is readable while a message waits.
    pub(crate) fn descriptor(&self) -> io::Result<RawFd> {
        Ok(self.inbox.fd()?.as_raw_fd())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Subscription>>> {
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Keeps the oldest so many messages, as liblcm does; zero or less is no limit.
    pub(crate) fn set_capacity(&self, n_messages: i32) {
        let queue = match usize::try_from(n_messages) {
            Ok(0) | Err(_) => UNLIMITED,
            Ok(capacity) => Queue::keep_oldest(capacity),
        };
        self.inbox.set_queue(self.id, queue);
    }

    /// How many messages wait for its handler.
    pub(crate) fn n_waiting(&self) -> usize {
        // What cannot be read cannot be counted, and shows when it is handled.
        drop(self.inbox.read_out());
        self.inbox.queue_counts(self.id).waiting
    }

    /// Whether it was not ended meanwhile.
    pub(crate) fn is_live(&self) -> bool {
        !self.is_ended.load(Ordering::Acquire)
    }
}

impl Delivery<'_> {
    /// In the order in which they were subscribed.
    pub(crate) fn wanted_by(&self) -> &[Arc<Subscription>] {
        &self.held.kept.wanted_by
    }

    /// The channel's name, with the NUL that C wants.
    pub(crate) fn channel(&self) -> &[u8] {
        &self.held.kept.channel
    }

    pub(crate) fn payload(&mut self) -> &mut [u8] {
        &mut self.payload
    }

    /// When it was received, in microseconds since the epoch.
    pub(crate) fn utime(&self) -> i64 {
        self.utime
    }
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        // A subscription that was ended should not live until the next message comes.
        self.held.kept.wanted_by.clear();
    }
}

/// Why no message was taken. On stderr already, where that helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleError {
    /// A signal came, and its handler was installed so that waiting calls end.
    Interrupted,
    /// There is nothing more to come, or something is wrong.
    Refused,
}
