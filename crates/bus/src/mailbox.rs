//! Where events wait for one reader: a backlog, a lock, and the ways to wake the reader.

use crate::clock::Deadline;
use crate::event::Event;
use crate::queue::{Backlog, Offer, Patience, Queue, QueueCounts, SubscriptionId, Take};
use crate::sys::Flag;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Shared by those who deliver and the one who reads.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    /// Something came, or the reader should look up.
    changed: Condvar,
    /// Something was read.
    room: Condvar,
    /// The state of the backlog, to be read without the lock.
    is_exact: AtomicBool,
    /// Something waits, or the end has come; to be read without the lock.
    is_occupied: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    backlog: Backlog,
    n_readers_waiting: usize,
    n_writers_waiting: usize,
    is_nudged: bool,
    end: Option<End>,
    flag: Option<Arc<Flag>>,
    waker: Option<Waker>,
}

/// What a reader found.
pub(crate) enum Taken<T> {
    Item(T),
    /// The mailbox is empty; and why it stays so, if it does.
    Nothing(Option<End>),
}

/// Why nothing more will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The bus is closed.
    Closed,
    /// The transport has no more: a log was read to its end.
    Exhausted,
}

impl Mailbox {
    /// Opens a subscription's lane; returns the count of events that go past it to a reader.
    pub(crate) fn open(&self, id: SubscriptionId, queue: Queue) -> Arc<AtomicU64> {
        let mut state = self.lock();
        let passed = state.backlog.open(id, queue);
        self.is_exact
            .store(state.backlog.is_exact(), Ordering::Relaxed);
        passed
    }

    /// Forgets a subscription and what waits for it; returns what it had dropped.
    pub(crate) fn close_lane(&self, id: SubscriptionId) -> QueueCounts {
        let mut state = self.lock();
        let counts = state.backlog.counts(id);
        state.backlog.close(id);
        self.is_exact
            .store(state.backlog.is_exact(), Ordering::Relaxed);
        self.settle(&state);
        self.room.notify_all();
        counts
    }

    pub(crate) fn configure(&self, id: SubscriptionId, queue: Queue) {
        let mut state = self.lock();
        state.backlog.configure(id, queue);
        self.is_exact
            .store(state.backlog.is_exact(), Ordering::Relaxed);
        self.room.notify_all();
    }

    pub(crate) fn counts(&self, id: SubscriptionId) -> QueueCounts {
        self.lock().backlog.counts(id)
    }

    /// Nothing more will come; waiting readers are released. What is here can still be read.
    pub(crate) fn end(&self, end: End) {
        let mut state = self.lock();
        state.end.get_or_insert(end);
        let waker = self.occupy(&mut state);
        drop(state);
        self.changed.notify_all();
        self.room.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the transport should be read out before anything is taken.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact.load(Ordering::Relaxed)
    }

    /// Whether there is nothing to take, neither an event nor the end. For the thread that delivers it is certain;
    /// for others it may have changed already.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_occupied.load(Ordering::Acquire)
    }

    /// Why nothing more will come, if that is so.
    pub(crate) fn ended(&self) -> Option<End> {
        self.lock().end
    }

    /// Takes an event in for some of the subscriptions. Waits for room only if a queue requires it and the caller can.
    pub(crate) fn put(&self, ids: &[SubscriptionId], mut event: Event, patience: Patience) {
        let mut state = self.lock();
        let waker = loop {
            let was_empty = state.backlog.is_empty();
            match state.backlog.offer(ids, event, patience) {
                Offer::Queued => {
                    break if was_empty {
                        self.occupy(&mut state)
                    } else {
                        None
                    };
                }
                Offer::Full(returned) if state.end.is_none() => {
                    event = returned;
                    state.n_writers_waiting += 1;
                    state = self
                        .room
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                    state.n_writers_waiting -= 1;
                }
                // The queue counted it; or no reader is left here.
                Offer::Full(_) | Offer::Dropped => return,
            }
        };
        let is_awaited = state.n_readers_waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_one();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes an item out.
    pub(crate) fn take<T: Take>(&self, take: &mut T) -> Taken<T::Item> {
        let mut state = self.lock();
        let taken = take.take_from(&mut state.backlog);
        self.settle(&state);
        if state.n_writers_waiting > 0 {
            self.room.notify_all();
        }
        taken.map_or(Taken::Nothing(state.end), Taken::Item)
    }

    /// Waits until something came, a nudge, the end, or the deadline.
    pub(crate) fn wait(&self, deadline: Deadline) {
        let mut state = self.lock();
        while state.backlog.is_empty() && !state.is_nudged && state.end.is_none() {
            state.n_readers_waiting += 1;
            let is_over;
            (state, is_over) = match deadline.left() {
                None => {
                    let woken = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                    (woken, false)
                }
                Some(left) => {
                    let woken = self.changed.wait_timeout(state, left);
                    let (woken, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
                    (woken, timeout.timed_out())
                }
            };
            state.n_readers_waiting -= 1;
            if is_over {
                break;
            }
        }
        state.is_nudged = false;
    }

    /// Makes a waiting reader look up although nothing came: it is its turn to read the transport.
    pub(crate) fn nudge(&self) {
        self.lock().is_nudged = true;
        self.changed.notify_all();
    }

    /// A flag that is up while something waits here.
    pub(crate) fn flag(&self) -> std::io::Result<Arc<Flag>> {
        let mut state = self.lock();
        if let Some(flag) = &state.flag {
            return Ok(Arc::clone(flag));
        }
        let flag = Arc::new(Flag::new()?);
        if !state.is_idle() {
            flag.raise();
        }
        state.flag = Some(Arc::clone(&flag));
        Ok(flag)
    }

    #[cfg(feature = "async")]
    /// Has `waker` woken when something comes, unless something is there already.
    pub(crate) fn wake_later(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        if !state.is_idle() {
            return false;
        }
        let former = state.waker.replace(waker.clone());
        drop(state);
        drop(former);
        true
    }

    /// There is something to take. A waker is for the caller to wake once the lock is gone: it may run or drop
    /// anything, such as the inbox of this mailbox.
    #[must_use]
    fn occupy(&self, state: &mut State) -> Option<Waker> {
        self.is_occupied.store(true, Ordering::Release);
        if let Some(flag) = &state.flag {
            flag.raise();
        }
        state.waker.take()
    }

    /// There may be nothing to take any more.
    fn settle(&self, state: &State) {
        if !state.is_idle() {
            return;
        }
        self.is_occupied.store(false, Ordering::Release);
        if let Some(flag) = &state.flag {
            flag.lower();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing here panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.backlog.is_empty() && self.end.is_none()
    }
}
