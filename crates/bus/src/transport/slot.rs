//! A receiver that is there while there are subscriptions.

use crate::counts::NetworkCounts;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Where a transport keeps it.
#[derive(Debug)]
pub(crate) struct Slot<R> {
    state: Mutex<State<R>>,
    /// Rises whenever it is another one, so that the thread that reads needs no lock to see that it is not.
    generation: AtomicU64,
}

#[derive(Debug)]
struct State<R> {
    receiver: Option<Arc<R>>,
    /// Of receivers that are gone.
    past: NetworkCounts,
}

/// The receiver that a thread saw last. It does not keep it open.
#[derive(Debug)]
pub(crate) struct Seen<R> {
    generation: u64,
    receiver: Weak<R>,
}

impl<R> Default for Seen<R> {
    fn default() -> Self {
        Self {
            generation: 0,
            receiver: Weak::new(),
        }
    }
}

impl<R> Default for Slot<R> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                receiver: None,
                past: NetworkCounts::default(),
            }),
            generation: AtomicU64::new(0),
        }
    }
}

impl<R> Slot<R> {
    pub(crate) fn get(&self) -> Option<Arc<R>> {
        self.lock().receiver.clone()
    }

    /// [`get`](Self::get), without the lock where the receiver is the one that was seen last.
    pub(crate) fn get_again(&self, seen: &mut Seen<R>) -> Option<Arc<R>> {
        if seen.generation != self.generation.load(Ordering::Acquire) {
            let state = self.lock();
            seen.generation = self.generation.load(Ordering::Acquire);
            seen.receiver = state
                .receiver
                .as_ref()
                .map_or_else(Weak::new, Arc::downgrade);
        }
        seen.receiver.upgrade()
    }

    /// The receiver, which `open` makes unless it is there.
    pub(crate) fn get_or_open<E>(&self, open: impl FnOnce() -> Result<R, E>) -> Result<Arc<R>, E> {
        let mut state = self.lock();
        if let Some(receiver) = &state.receiver {
            return Ok(Arc::clone(receiver));
        }
        let receiver = Arc::new(open()?);
        state.receiver = Some(Arc::clone(&receiver));
        self.generation.fetch_add(1, Ordering::Release);
        Ok(receiver)
    }

    /// Closes the receiver as soon as no thread uses it; `counts` are its last.
    pub(crate) fn close(&self, counts: impl FnOnce(&R) -> NetworkCounts) {
        let mut state = self.lock();
        if let Some(gone) = state.receiver.take() {
            state.past = state.past.plus(&counts(&gone));
            self.generation.fetch_add(1, Ordering::Release);
        }
    }

    /// The counts of all receivers so far.
    pub(crate) fn counts(&self, counts: impl FnOnce(&R) -> NetworkCounts) -> NetworkCounts {
        let state = self.lock();
        let present = state.receiver.as_deref().map(counts);
        state.past.plus(&present.unwrap_or_default())
    }

    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
