//! From a channel to the mailboxes that want it.
//!
//! In: messages from a transport. Out: events in mailboxes. A channel's matches are worked out once and remembered in
//! bounded memory; a change of subscriptions forgets them all.

use crate::announce::{Announcer, SCHEMA_REQUEST_CHANNEL};
use crate::event::{Arrival, Event};
use crate::mailbox::{End, Mailbox};
use crate::pattern::Pattern;
use crate::queue::{Patience, Queue, QueueCounts, SubscriptionId};
use bowline_wire::Channel;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The subscriptions of one bus.
#[derive(Debug)]
pub(crate) struct Router {
    announcer: Arc<Announcer>,
    table: RwLock<Table>,
    /// Rises with every change of subscriptions, so that a stale route is recognised.
    generation: AtomicU64,
    received: AtomicU64,
    received_bytes: AtomicU64,
    unwanted: AtomicU64,
}

#[derive(Debug, Default)]
struct Table {
    next_id: u64,
    subscriptions: Vec<Subscribed>,
    /// Of subscriptions that are gone.
    past_drops: u64,
    past_replaced: u64,
    /// Routes used lately, and those used before: when `recent` is full it takes the place of `older`. A channel in
    /// use stays; memory is bounded by twice the capacity.
    recent: HashMap<Box<str>, Arc<Route>>,
    older: HashMap<Box<str>, Arc<Route>>,
}

/// How many channels' matches are remembered, twice.
const REMEMBERED_ROUTES: usize = 16_384;

#[derive(Debug)]
struct Subscribed {
    id: SubscriptionId,
    pattern: Pattern,
    mailbox: Arc<Mailbox>,
    passed: Arc<AtomicU64>,
}

/// Who wants a channel.
#[derive(Debug)]
pub(crate) struct Route {
    channel: Channel,
    /// Each mailbox once.
    targets: Vec<Target>,
    /// Whether its messages ask for descriptions of types.
    is_request: bool,
}

#[derive(Debug)]
struct Target {
    mailbox: Arc<Mailbox>,
    /// All its subscriptions that match.
    ids: Vec<SubscriptionId>,
    /// Of the first of them: events that went past its queue.
    passed: Arc<AtomicU64>,
}

/// What a bus wants from its transport now.
#[derive(Clone, Debug, Default)]
pub struct Interest {
    patterns: Vec<Pattern>,
}

impl Interest {
    /// The patterns of all subscriptions, one for each.
    #[must_use]
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Whether there is no subscription.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }
}

impl Router {
    pub(crate) fn new(announcer: Arc<Announcer>) -> Self {
        Self {
            announcer,
            table: RwLock::default(),
            generation: AtomicU64::new(0),
            received: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
            unwanted: AtomicU64::new(0),
        }
    }

    pub(crate) fn subscribe(
        &self,
        pattern: Pattern,
        queue: Queue,
        mailbox: &Arc<Mailbox>,
    ) -> SubscriptionId {
        let mut table = self.write();
        table.next_id += 1;
        let id = SubscriptionId(table.next_id);
        table.subscriptions.push(Subscribed {
            id,
            pattern,
            mailbox: Arc::clone(mailbox),
            passed: mailbox.open(id, queue),
        });
        self.forget_routes(&mut table);
        id
    }

    /// Ends a subscription; returns what its queue had dropped.
    pub(crate) fn unsubscribe(&self, id: SubscriptionId) {
        let mut table = self.write();
        let Some(at) = table.subscriptions.iter().position(|entry| entry.id == id) else {
            return;
        };
        let gone = table.subscriptions.remove(at);
        self.forget_routes(&mut table);
        let counts = gone.mailbox.close_lane(id);
        table.past_drops += counts.dropped;
        table.past_replaced += counts.replaced;
    }

    pub(crate) fn interest(&self) -> Interest {
        let table = self.read();
        let patterns = table
            .subscriptions
            .iter()
            .map(|entry| entry.pattern.clone());
        let mut patterns: Vec<_> = patterns.collect();
        // What is read for others anyway can be read for requests too.
        if !patterns.is_empty() && self.announcer.can_be_asked() {
            patterns.push(Pattern::exact(SCHEMA_REQUEST_CHANNEL));
        }
        Interest { patterns }
    }

    /// What queues dropped, and what newer messages replaced in them, over all subscriptions so far.
    pub(crate) fn queue_losses(&self) -> (u64, u64) {
        let table = self.read();
        let present = table.subscriptions.iter();
        let past = (table.past_drops, table.past_replaced);
        present.fold(past, |(dropped, replaced), entry| {
            let counts = entry.mailbox.counts(entry.id);
            (dropped + counts.dropped, replaced + counts.replaced)
        })
    }

    /// Ends all mailboxes: nothing more will come.
    pub(crate) fn end(&self, end: End) {
        let table = self.read();
        let mailboxes = table.subscriptions.iter();
        let mailboxes: Vec<_> = mailboxes.map(|entry| Arc::clone(&entry.mailbox)).collect();
        // A woken reader may end a subscription at once.
        drop(table);
        for mailbox in mailboxes {
            mailbox.end(end);
        }
    }

    /// Each subscription's pattern and what happened to its messages.
    pub(crate) fn subscriptions(&self) -> Vec<(String, QueueCounts)> {
        let table = self.read();
        let present = table.subscriptions.iter();
        present
            .map(|entry| {
                (
                    entry.pattern.as_str().to_owned(),
                    entry.mailbox.counts(entry.id),
                )
            })
            .collect()
    }

    /// Messages that matched, their bytes, and messages that did not match.
    pub(crate) fn received(&self) -> (u64, u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (
            load(&self.received),
            load(&self.received_bytes),
            load(&self.unwanted),
        )
    }

    fn route(&self, channel: &str) -> Arc<Route> {
        if let Some(route) = self.read().recent.get(channel) {
            return Arc::clone(route);
        }
        let mut table = self.write();
        let route = match table.older.remove(channel) {
            Some(route) => route,
            None => Arc::new(table.work_out(channel)),
        };
        if table.recent.len() >= REMEMBERED_ROUTES {
            table.older = std::mem::take(&mut table.recent);
        }
        table.recent.insert(channel.into(), Arc::clone(&route));
        route
    }

    fn forget_routes(&self, table: &mut Table) {
        table.recent.clear();
        table.older.clear();
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn work_out(&self, channel: &str) -> Route {
        let wanting = self
            .subscriptions
            .iter()
            .filter(|entry| entry.pattern.matches(channel));
        let mut targets: Vec<Target> = Vec::new();
        for entry in wanting {
            let is_same = |target: &&mut Target| Arc::ptr_eq(&target.mailbox, &entry.mailbox);
            match targets.iter_mut().find(is_same) {
                Some(target) => target.ids.push(entry.id),
                None => targets.push(Target {
                    mailbox: Arc::clone(&entry.mailbox),
                    ids: vec![entry.id],
                    passed: Arc::clone(&entry.passed),
                }),
            }
        }
        Route {
            channel: Channel::from(channel),
            targets,
            is_request: channel == SCHEMA_REQUEST_CHANNEL,
        }
    }
}

/// A payload on its way in.
#[derive(Debug)]
pub enum Body<'a> {
    /// In a buffer that will be used again: copied if it has a subscriber.
    Borrowed(&'a [u8]),
    /// To be kept as it is.
    Owned(Bytes),
}

impl Body<'_> {
    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Where a transport hands in what arrived. Remembers the last route, since messages of one channel come in runs.
#[derive(Clone, Debug)]
pub struct Inlet {
    router: Arc<Router>,
    last: Option<(u64, Arc<Route>)>,
    n_handed_in: u64,
    /// The mailbox whose reader waits here for one event, by its address.
    reader: Option<usize>,
    /// That event.
    reserved: Option<(SubscriptionId, Event)>,
}

impl Inlet {
    pub(crate) fn new(router: Arc<Router>) -> Self {
        Self {
            router,
            last: None,
            n_handed_in: 0,
            reader: None,
            reserved: None,
        }
    }

    /// Keeps the next event for the reader of this mailbox here, instead of putting it in its queue.
    pub(crate) fn reserve_for(&mut self, mailbox: &Arc<Mailbox>) {
        self.reader = Some(Arc::as_ptr(mailbox).addr());
    }

    /// What was kept; from now on events go to the queues.
    pub(crate) fn take_reserved(&mut self) -> Option<(SubscriptionId, Event)> {
        self.reader = None;
        self.reserved.take()
    }

    /// How many messages were handed in so far, wanted or not.
    pub(crate) fn n_handed_in(&self) -> u64 {
        self.n_handed_in
    }

    /// Whether `channel` has a subscriber.
    pub fn wants(&mut self, channel: &str) -> bool {
        let route = last_route(&self.router, &mut self.last, channel);
        route.is_request || !route.targets.is_empty()
    }

    /// Hands in a message from a network. Returns whether it had a subscriber.
    pub fn deliver(&mut self, channel: &str, body: Body<'_>, arrival: Arrival) -> bool {
        self.put(channel, body, arrival, Patience::CannotWait)
    }

    /// Hands in a message of this process, and waits where a queue makes publishers wait.
    pub fn deliver_patiently(&mut self, channel: &str, body: Body<'_>, arrival: Arrival) -> bool {
        self.put(channel, body, arrival, Patience::CanWait)
    }

    /// Hands in a message of a log, and waits where a queue is full, whatever its policy. Only for threads that read
    /// no mailbox themselves.
    pub fn deliver_without_loss(
        &mut self,
        channel: &str,
        body: Body<'_>,
        arrival: Arrival,
    ) -> bool {
        self.put(channel, body, arrival, Patience::Lossless)
    }

    fn put(&mut self, channel: &str, body: Body<'_>, arrival: Arrival, patience: Patience) -> bool {
        let Self {
            router,
            last,
            n_handed_in,
            reader,
            reserved,
        } = self;
        *n_handed_in += 1;
        let route = last_route(router, last, channel);
        if route.is_request {
            router.announcer.ask();
        }
        let Some((target, others)) = route.targets.split_last() else {
            if !route.is_request {
                router.unwanted.fetch_add(1, Ordering::Relaxed);
            }
            return route.is_request;
        };
        let event = Event {
            channel: route.channel.clone(),
            payload: body.into_bytes(),
            arrival,
        };
        router.received.fetch_add(1, Ordering::Relaxed);
        let size = event.payload.len() as u64;
        router.received_bytes.fetch_add(size, Ordering::Relaxed);
        for Target { mailbox, ids, .. } in others {
            mailbox.put(ids, event.clone(), patience);
        }
        let Target {
            mailbox,
            ids,
            passed,
        } = target;
        match **ids {
            // Nothing else puts anything there while its reader waits here.
            [id] if *reader == Some(Arc::as_ptr(mailbox).addr()) && mailbox.is_idle() => {
                // One is enough: the next finds its place in the queue.
                *reader = None;
                passed.fetch_add(1, Ordering::Relaxed);
                *reserved = Some((id, event));
            }
            _ => mailbox.put(ids, event, patience),
        }
        true
    }
}

/// The route of a channel, by way of the one that was used last.
#[inline]
fn last_route<'a>(
    router: &Router,
    last: &'a mut Option<(u64, Arc<Route>)>,
    channel: &str,
) -> &'a Route {
    let generation = router.generation.load(Ordering::Acquire);
    let is_last = matches!(&*last, Some((of, route)) if *of == generation && route.channel.as_str() == channel);
    if !is_last {
        *last = None;
    }
    let (_, route) = last.get_or_insert_with(|| (generation, router.route(channel)));
    route
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Sender;

    fn deliver(inlet: &mut Inlet, channel: &str) {
        let arrival = Arrival {
            received_ns: 0,
            sender: Sender::Process,
            sequence: None,
        };
        inlet.deliver(channel, Body::Borrowed(b"x"), arrival);
    }

    #[test]
    fn event_for_one_subscription_waits_behind_one_for_two() {
        let router = Arc::new(Router::new(Arc::new(Announcer::new(false))));
        let mailbox = Arc::<Mailbox>::default();
        for pattern in [Pattern::exact("A"), Pattern::new(".*").unwrap()] {
            router.subscribe(pattern, Queue::default(), &mailbox);
        }
        let mut inlet = Inlet::new(router);
        inlet.reserve_for(&mailbox);
        deliver(&mut inlet, "A");
        deliver(&mut inlet, "B");
        assert!(inlet.take_reserved().is_none(), "the first one waits");
    }

    #[test]
    fn event_that_passes_the_queue_is_counted_as_queued() {
        let router = Arc::new(Router::new(Arc::new(Announcer::new(false))));
        let mailbox = Arc::<Mailbox>::default();
        let id = router.subscribe(Pattern::exact("A"), Queue::default(), &mailbox);
        let mut inlet = Inlet::new(router);
        inlet.reserve_for(&mailbox);
        deliver(&mut inlet, "A");
        deliver(&mut inlet, "A");
        let (reserved, _) = inlet.take_reserved().expect("it went past");
        let counts = mailbox.counts(id);
        assert_eq!((reserved, counts.queued, counts.waiting), (id, 2, 1));
    }
}
