//! What the bus has from std and the system, as models: every lock, wait and flag is a point where the explorer may
//! switch threads, and time passes when it decides.
//!
//! Paths below have std's shape, since copies of the bus have `crate::kernel::sync` where the bus has `std::sync`.

pub mod sync;

use crate::kernel::sync::{Condvar, Mutex};
use crate::kernel::time::Instant;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

thread_local! {
    /// All threads of an execution are coroutines of one thread of the system, so this is what they share.
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static EVENTS: RefCell<Arc<Events>> = RefCell::default();
    static TWIN: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Begins an execution: nothing of the one before is left. The line of `twin` is weak in it.
pub fn boot(twin: Option<&'static str>) {
    TWIN.set(twin);
    NOW.set(Duration::ZERO);
    EVENTS.set(Arc::default());
}

/// Whether the line that the twin of this name weakens is weak.
#[must_use]
pub fn is_weak(name: &str) -> bool {
    TWIN.get() == Some(name)
}

/// The kernel's lock, and who sleeps in it.
#[derive(Debug, Default)]
pub struct Events {
    lock: Mutex<()>,
    changed: Condvar,
}

impl Events {
    fn current() -> Arc<Self> {
        EVENTS.with_borrow(Arc::clone)
    }
}

/// Changes what a thread may be polling for.
pub fn signal<T>(change: impl FnOnce() -> T) -> T {
    let events = Events::current();
    let _held = events.lock.lock();
    let outcome = change();
    events.changed.notify_all();
    outcome
}

/// Waits until `look` finds something, for at most `timeout`.
pub fn poll<T>(timeout: Option<Duration>, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let events = Events::current();
    let mut held = events.lock.lock().ok()?;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        held = match timeout {
            None => events.changed.wait(held).ok()?,
            Some(Duration::ZERO) => return None,
            Some(left) => {
                let (woken, timeout) = events.changed.wait_timeout(held, left).ok()?;
                if timeout.timed_out() {
                    return look();
                }
                woken
            }
        };
    }
}

/// State of what is modelled, not of what is tested: threads are not switched while it is touched.
#[derive(Debug, Default)]
pub struct Shelf<T>(std::sync::Mutex<T>);

impl<T> Shelf<T> {
    pub fn get(&self) -> std::sync::MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The bus's flag, without a descriptor.
#[derive(Debug)]
pub struct Flag {
    is_up: AtomicBool,
}

impl Flag {
    pub fn new() -> std::io::Result<Self> {
        let is_up = AtomicBool::new(false);
        Ok(Self { is_up })
    }

    pub fn raise(&self) {
        signal(|| self.is_up.store(true, Ordering::SeqCst));
    }

    pub fn lower(&self) {
        signal(|| self.is_up.store(false, Ordering::SeqCst));
    }

    /// Waits until it is up, or for `timeout`.
    pub fn wait(&self, timeout: Option<Duration>) -> std::io::Result<()> {
        poll(timeout, || self.is_up().then_some(()));
        Ok(())
    }

    /// To be asked within [`poll`].
    pub fn is_up(&self) -> bool {
        self.is_up.load(Ordering::SeqCst)
    }
}

/// The little of `std::os::fd` that the bus uses: a descriptor is the flag itself.
pub mod fd {
    use super::Flag;

    pub type BorrowedFd<'a> = &'a Flag;

    pub trait AsFd {
        fn as_fd(&self) -> BorrowedFd<'_>;
    }

    impl AsFd for Flag {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self
        }
    }
}

/// A clock that stands still until the waiting of a thread is over.
pub mod time {
    pub use std::time::{Duration, SystemTime, UNIX_EPOCH};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(pub(super) Duration);

    impl Instant {
        #[must_use]
        pub fn now() -> Self {
            Self(super::NOW.get())
        }

        #[must_use]
        pub fn checked_add(&self, timeout: Duration) -> Option<Self> {
            self.0.checked_add(timeout).map(Self)
        }

        #[must_use]
        pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }
}

/// A thread waited until `then`.
fn pass_time(then: Instant) {
    NOW.set(NOW.get().max(then.0));
}
