//! A subscription's place in an inbox: how much it may hold, and what happens when that is full.
//!
//! In: events with the subscription they are for. Out: the same events in order of arrival, less those that the
//! policy dropped, every one of them counted. No locks and no waiting here; the inbox has those.

use crate::event::Event;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How many messages wait for a subscriber, and which are dropped when there are more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    capacity: usize,
    max_bytes: usize,
    when_full: WhenFull,
    /// Whether what the transport still holds counts as waiting too.
    is_exact: bool,
}

/// What a full queue does with one more message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The oldest makes room.
    DropOldest,
    /// The new one is dropped.
    DropNewest,
    /// Of each channel only the latest is kept.
    KeepLatest,
    /// The publisher waits. In-process transports only: a network has no way to make a sender wait.
    Block,
}

impl Queue {
    /// Enough for half a second of stillness at the rate of one call a message.
    pub const DEFAULT_CAPACITY: usize = 65_536;
    /// So that a queue of large messages does not eat the machine. One message always fits.
    pub const DEFAULT_MAX_BYTES: usize = 256 << 20;

    /// Keeps the newest `capacity` messages: old ones make room.
    #[must_use]
    pub const fn keep_newest(capacity: usize) -> Self {
        Self::new(capacity, WhenFull::DropOldest)
    }

    /// Keeps the oldest `capacity` messages: what comes when it is full is dropped, as LCM does.
    #[must_use]
    pub const fn keep_oldest(capacity: usize) -> Self {
        Self::new(capacity, WhenFull::DropNewest)
    }

    /// Keeps the latest message of each channel only.
    #[must_use]
    pub const fn latest() -> Self {
        Self::new(Self::DEFAULT_CAPACITY, WhenFull::KeepLatest)
    }

    /// Makes publishers of this process wait when `capacity` messages are unread. On transports that cannot, the
    /// oldest makes room.
    #[must_use]
    pub const fn block(capacity: usize) -> Self {
        Self::new(capacity, WhenFull::Block)
    }

    const fn new(capacity: usize, when_full: WhenFull) -> Self {
        Self {
            capacity: if capacity == 0 { 1 } else { capacity },
            max_bytes: Self::DEFAULT_MAX_BYTES,
            when_full,
            is_exact: true,
        }
    }

    /// Bounds the payload bytes that may wait. One message always fits.
    #[must_use]
    pub const fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// How many messages may wait.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// What happens when it is full.
    #[must_use]
    pub const fn when_full(&self) -> WhenFull {
        self.when_full
    }
}

impl Default for Queue {
    /// Loses as little as it can: keeps the newest [`DEFAULT_CAPACITY`](Self::DEFAULT_CAPACITY) messages beside those
    /// that wait in the transport's own buffer. The other queues read that buffer out before a message is taken, so
    /// that "newest" and "latest" mean what they say.
    fn default() -> Self {
        Self {
            is_exact: false,
            ..Self::keep_newest(Self::DEFAULT_CAPACITY)
        }
    }
}

/// Names one subscription of an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub(crate) u64);

/// What happened to the messages of one subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Messages that matched and were put in the queue.
    pub queued: u64,
    /// Messages that the policy dropped because the reader was slow.
    pub dropped: u64,
    /// Messages that wait now.
    pub waiting: usize,
    /// Their payload bytes.
    pub waiting_bytes: usize,
}

/// The events of several subscriptions in one order.
///
/// Each subscription has a lane of its own, so that dropping from one never searches the others. `order` names the
/// lane whose front came first; it has one entry for every lane that is not empty, and may be behind when a front was
/// dropped.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Sorted by id.
    lanes: Vec<Lane>,
    order: BinaryHeap<Reverse<(Stamp, SubscriptionId)>>,
    next_stamp: Stamp,
}

/// Counts arrivals at the inbox.
type Stamp = u64;

#[derive(Debug)]
struct Lane {
    id: SubscriptionId,
    config: Queue,
    counts: QueueCounts,
    events: VecDeque<(Stamp, Event)>,
}

/// What became of an event.
#[derive(Clone, Debug)]
#[must_use]
pub(crate) enum Offer {
    /// It waits to be read.
    Queued,
    /// The policy dropped it, or its subscription is gone.
    Dropped,
    /// There is no room, and the policy is to wait for some: here it is back.
    Full(Event),
}

/// Whether the one who brings an event can wait for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A publisher of this process.
    CanWait,
    /// A network: where the policy is to wait, the oldest makes room instead.
    CannotWait,
}

impl Backlog {
    /// Ids must rise.
    pub(crate) fn open(&mut self, id: SubscriptionId, config: Queue) {
        self.lanes.push(Lane {
            id,
            config,
            counts: QueueCounts::default(),
            events: VecDeque::new(),
        });
    }

    pub(crate) fn close(&mut self, id: SubscriptionId) {
        self.lanes.retain(|lane| lane.id != id);
        self.order.retain(|Reverse((_, lane))| *lane != id);
    }

    pub(crate) fn configure(&mut self, id: SubscriptionId, config: Queue) {
        if let Some(lane) = self.lane(id) {
            lane.config = config;
        }
    }

    pub(crate) fn counts(&mut self, id: SubscriptionId) -> QueueCounts {
        self.lane(id).map(|lane| lane.counts).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Whether the transport should be read out before anything is taken.
    pub(crate) fn is_exact(&self) -> bool {
        self.lanes.iter().any(|lane| lane.config.is_exact)
    }

    /// Takes an event in, or drops one, as the lane's policy says.
    pub(crate) fn offer(&mut self, id: SubscriptionId, event: Event, patience: Patience) -> Offer {
        let stamp = self.next_stamp;
        let Some(lane) = self.lane(id) else {
            return Offer::Dropped;
        };
        let was_empty = lane.events.is_empty();
        let outcome = lane.offer(stamp, event, patience);
        if was_empty && matches!(outcome, Offer::Queued) {
            self.order.push(Reverse((stamp, id)));
        }
        self.next_stamp += 1;
        outcome
    }

    /// The oldest event of any subscription.
    pub(crate) fn pop(&mut self) -> Option<(SubscriptionId, Event)> {
        while let Some(Reverse((stamp, id))) = self.order.pop() {
            let Some(lane) = self.lane(id) else {
                continue;
            };
            let event = lane.pop_if(stamp);
            if let Some((next, _)) = lane.events.front() {
                let next = Reverse((*next, id));
                self.order.push(next);
            }
            if let Some(event) = event {
                return Some((id, event));
            }
        }
        None
    }

    fn lane(&mut self, id: SubscriptionId) -> Option<&mut Lane> {
        let at = self.lanes.binary_search_by_key(&id, |lane| lane.id).ok()?;
        self.lanes.get_mut(at)
    }
}

impl Lane {
    fn offer(&mut self, stamp: Stamp, event: Event, patience: Patience) -> Offer {
        if self.config.when_full == WhenFull::KeepLatest && self.replace(&event) {
            return Offer::Queued;
        }
        while self.is_full_for(event.payload.len()) {
            match (self.config.when_full, patience) {
                (WhenFull::Block, Patience::CanWait) => return Offer::Full(event),
                (WhenFull::DropNewest, _) => {
                    self.counts.dropped += 1;
                    return Offer::Dropped;
                }
                (WhenFull::DropOldest | WhenFull::KeepLatest, _)
                | (WhenFull::Block, Patience::CannotWait) => self.drop_oldest(),
            }
        }
        self.counts.queued += 1;
        self.counts.waiting += 1;
        self.counts.waiting_bytes += event.payload.len();
        self.events.push_back((stamp, event));
        Offer::Queued
    }

    fn is_full_for(&self, size: usize) -> bool {
        let QueueCounts {
            waiting,
            waiting_bytes,
            ..
        } = self.counts;
        let Queue {
            capacity,
            max_bytes,
            ..
        } = self.config;
        waiting > 0 && (waiting >= capacity || waiting_bytes + size > max_bytes)
    }

    /// Puts the event in the place of an older one of its channel.
    fn replace(&mut self, event: &Event) -> bool {
        let mut events = self.events.iter_mut().map(|(_, event)| event);
        let Some(old) = events.find(|old| old.channel == event.channel) else {
            return false;
        };
        self.counts.queued += 1;
        self.counts.dropped += 1;
        self.counts.waiting_bytes -= old.payload.len();
        self.counts.waiting_bytes += event.payload.len();
        *old = event.clone();
        true
    }

    fn drop_oldest(&mut self) {
        if self.take_front().is_some() {
            self.counts.dropped += 1;
        }
    }

    /// The front, unless the one that `stamp` names was dropped meanwhile.
    fn pop_if(&mut self, stamp: Stamp) -> Option<Event> {
        let (front, _) = self.events.front()?;
        if *front == stamp {
            self.take_front()
        } else {
            None
        }
    }

    fn take_front(&mut self) -> Option<Event> {
        let (_, event) = self.events.pop_front()?;
        self.counts.waiting -= 1;
        self.counts.waiting_bytes -= event.payload.len();
        Some(event)
    }
}

#[cfg(test)]
mod tests;
