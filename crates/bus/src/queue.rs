//! A subscription's place in an inbox: how much it may hold, and what happens when that is full.
//!
//! In: events with the subscription they are for. Out: the same events in order of arrival, less those that the
//! policy dropped, every one of them counted. No locks and no waiting here; the inbox has those.

use crate::event::Event;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

    /// Bounds how many messages may wait.
    #[must_use]
    pub const fn with_capacity(mut self, capacity: usize) -> Self {
        self.capacity = if capacity == 0 { 1 } else { capacity };
        self
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
    /// that "newest" and "latest" hold exactly.
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
    /// Messages whose place a newer one of their channel took, as [`Queue::latest`] asks.
    pub replaced: u64,
    /// Messages that wait now.
    pub waiting: usize,
    /// Their payload bytes.
    pub waiting_bytes: usize,
}

/// The events of several subscriptions in one order.
///
/// Each subscription has a lane of its own, so that dropping from one never searches the others. An event that is for
/// several has one stamp in all their lanes, and can be taken out of all of them together. `order` names the lane
/// whose front came first; it has one entry for every lane that is not empty, and may be behind when a front was
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
    /// Events that went past it to the reader that waited for them, counted by the one that delivers.
    passed: Arc<AtomicU64>,
    events: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    /// Its turn. One that took the place of an older one has the turn of that one.
    turn: Stamp,
    /// When it came.
    came: Stamp,
    event: Event,
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
    /// A log, which waits for room whatever the policy; only what "latest" replaces is lost.
    Lossless,
}

/// A way to take events out of a backlog.
pub(crate) trait Take {
    type Item;
    /// Whether to look at what is there, without waiting, before anything is waited for.
    const LOOKS_FIRST: bool = false;

    /// A look found nothing.
    fn note_empty(&mut self) {}

    /// The oldest event that waits.
    fn take_from(&mut self, backlog: &mut Backlog) -> Option<Self::Item>;

    /// One that went past the queue, for the only subscription that it is for.
    fn accept(&mut self, id: SubscriptionId, event: Event) -> Self::Item;
}

/// Takes an event once for each subscription that it waits for.
#[derive(Debug)]
pub(crate) struct ForEach;

impl Take for ForEach {
    type Item = (SubscriptionId, Event);

    fn take_from(&mut self, backlog: &mut Backlog) -> Option<Self::Item> {
        let (id, waiting) = backlog.pop_waiting()?;
        Some((id, waiting.event))
    }

    fn accept(&mut self, id: SubscriptionId, event: Event) -> Self::Item {
        (id, event)
    }
}

/// The same, and reports each look that finds nothing.
#[derive(Debug)]
pub(crate) struct Noting<F>(pub(crate) F);

impl<F: FnMut()> Take for Noting<F> {
    type Item = (SubscriptionId, Event);
    const LOOKS_FIRST: bool = true;

    fn note_empty(&mut self) {
        (self.0)();
    }

    fn take_from(&mut self, backlog: &mut Backlog) -> Option<Self::Item> {
        ForEach.take_from(backlog)
    }

    fn accept(&mut self, id: SubscriptionId, event: Event) -> Self::Item {
        (id, event)
    }
}

/// Takes an event once for all subscriptions that it waits for, which are put here, the oldest subscription first.
#[derive(Debug)]
pub(crate) struct ForAll<'a>(pub(crate) &'a mut Vec<SubscriptionId>);

impl Take for ForAll<'_> {
    type Item = Event;

    fn take_from(&mut self, backlog: &mut Backlog) -> Option<Event> {
        backlog.pop_for_all(self.0)
    }

    fn accept(&mut self, id: SubscriptionId, event: Event) -> Event {
        self.0.clear();
        self.0.push(id);
        event
    }
}

impl Backlog {
    /// Ids must rise. Returns the count of events that go past the lane to a reader.
    pub(crate) fn open(&mut self, id: SubscriptionId, config: Queue) -> Arc<AtomicU64> {
        let passed = Arc::<AtomicU64>::default();
        self.lanes.push(Lane {
            id,
            config,
            counts: QueueCounts::default(),
            passed: Arc::clone(&passed),
            events: VecDeque::new(),
        });
        passed
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
        self.lane(id).map(Lane::all_counts).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Whether the transport should be read out before anything is taken.
    pub(crate) fn is_exact(&self) -> bool {
        self.lanes.iter().any(|lane| lane.config.is_exact)
    }

    /// Takes an event in for each of the subscriptions, or drops one, by each lane's policy. Where one has to
    /// wait for room, none gets it yet.
    pub(crate) fn offer(
        &mut self,
        ids: &[SubscriptionId],
        event: Event,
        patience: Patience,
    ) -> Offer {
        let size = event.payload.len();
        let must_wait = |lane: &mut Lane| lane.must_wait(size, patience);
        if ids.iter().any(|id| self.lane(*id).is_some_and(must_wait)) {
            return Offer::Full(event);
        }
        let Some((last, others)) = ids.split_last() else {
            return Offer::Dropped;
        };
        let mut is_queued = false;
        for id in others {
            is_queued |= self.take_in(*id, event.clone());
        }
        is_queued |= self.take_in(*last, event);
        self.next_stamp += 1;
        if is_queued {
            Offer::Queued
        } else {
            Offer::Dropped
        }
    }

    /// Returns whether the event waits now.
    fn take_in(&mut self, id: SubscriptionId, event: Event) -> bool {
        let stamp = self.next_stamp;
        let Some(lane) = self.lane(id) else {
            return false;
        };
        let was_empty = lane.events.is_empty();
        let is_queued = lane.take_in(stamp, event);
        if was_empty && is_queued {
            self.order.push(Reverse((stamp, id)));
        }
        is_queued
    }

    fn pop_for_all(&mut self, wanted_by: &mut Vec<SubscriptionId>) -> Option<Event> {
        wanted_by.clear();
        let (first, waiting) = self.pop_waiting()?;
        wanted_by.push(first);
        while let Some(Reverse((turn, id))) = self.order.peek().copied()
            && turn == waiting.turn
        {
            let front = self.lane(id).and_then(|lane| lane.events.front());
            if front.is_some_and(|front| front.turn == turn && front.came != waiting.came) {
                // A later event has this turn in that lane: it is the next to be taken.
                break;
            }
            if self.pop_entry().is_some() {
                wanted_by.push(id);
            }
        }
        Some(waiting.event)
    }

    fn pop_waiting(&mut self) -> Option<(SubscriptionId, Waiting)> {
        while !self.order.is_empty() {
            if let Some(popped) = self.pop_entry() {
                return Some(popped);
            }
        }
        None
    }

    /// Takes the first entry of the order, and what it names unless that was dropped meanwhile.
    fn pop_entry(&mut self) -> Option<(SubscriptionId, Waiting)> {
        let Reverse((turn, id)) = self.order.pop()?;
        let lane = self.lane(id)?;
        let waiting = lane.pop_if(turn);
        if let Some(next) = lane.events.front() {
            let next = Reverse((next.turn, id));
            self.order.push(next);
        }
        Some((id, waiting?))
    }

    fn lane(&mut self, id: SubscriptionId) -> Option<&mut Lane> {
        let at = self.lanes.binary_search_by_key(&id, |lane| lane.id).ok()?;
        self.lanes.get_mut(at)
    }
}

impl Lane {
    fn all_counts(&mut self) -> QueueCounts {
        QueueCounts {
            queued: self.counts.queued + self.passed.load(Ordering::Relaxed),
            ..self.counts
        }
    }

    /// Whether a publisher has to wait until there is room.
    fn must_wait(&self, size: usize, patience: Patience) -> bool {
        let waits = match patience {
            Patience::CannotWait => false,
            Patience::CanWait => self.config.when_full == WhenFull::Block,
            Patience::Lossless => true,
        };
        waits && self.is_full_for(size)
    }

    /// Returns whether the event waits now.
    fn take_in(&mut self, stamp: Stamp, event: Event) -> bool {
        if self.config.when_full == WhenFull::KeepLatest && self.replace(stamp, &event) {
            return true;
        }
        while self.is_full_for(event.payload.len()) {
            match self.config.when_full {
                WhenFull::DropNewest => {
                    self.counts.dropped += 1;
                    return false;
                }
                // Who could have waited has.
                WhenFull::DropOldest | WhenFull::KeepLatest | WhenFull::Block => self.drop_oldest(),
            }
        }
        self.counts.queued += 1;
        self.counts.waiting += 1;
        self.counts.waiting_bytes += event.payload.len();
        self.events.push_back(Waiting {
            turn: stamp,
            came: stamp,
            event,
        });
        true
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
    fn replace(&mut self, stamp: Stamp, event: &Event) -> bool {
        let mut events = self.events.iter_mut();
        let Some(old) = events.find(|old| old.event.channel == event.channel) else {
            return false;
        };
        self.counts.queued += 1;
        self.counts.replaced += 1;
        self.counts.waiting_bytes -= old.event.payload.len();
        self.counts.waiting_bytes += event.payload.len();
        old.came = stamp;
        old.event = event.clone();
        true
    }

    fn drop_oldest(&mut self) {
        if self.take_front().is_some() {
            self.counts.dropped += 1;
        }
    }

    /// The front, unless the one whose turn it was was dropped meanwhile.
    fn pop_if(&mut self, turn: Stamp) -> Option<Waiting> {
        let front = self.events.front()?;
        if front.turn == turn {
            self.take_front()
        } else {
            None
        }
    }

    fn take_front(&mut self) -> Option<Waiting> {
        let waiting = self.events.pop_front()?;
        self.counts.waiting -= 1;
        self.counts.waiting_bytes -= waiting.event.payload.len();
        Some(waiting)
    }
}

#[cfg(test)]
mod tests;
