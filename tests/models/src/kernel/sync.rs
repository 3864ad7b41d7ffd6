//! `std::sync` for the explorer: shuttle's, with waits that can time out.

use crate::kernel::pass_time;
use crate::kernel::time::Instant;
use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness};
use shuttle::rand::Rng as _;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

pub use shuttle::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
pub use std::sync::{Arc, LazyLock, LockResult, PoisonError, Weak};

/// A lock whose guard knows it, so that waiting can take it again. Never poisoned.
#[derive(Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    inner: shuttle::sync::MutexGuard<'a, T>,
}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(MutexGuard { mutex: self, inner })
    }

    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// Wakes whom the explorer picks; a wait with a timeout may be over at any point.
#[derive(Debug, Default)]
pub struct Condvar {
    /// Between two points where threads switch nothing else runs, so this lock is never contended.
    sleepers: std::sync::Mutex<Vec<Arc<BatchSemaphore>>>,
}

#[derive(Clone, Copy, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let sleep = self.lie_down();
        let mutex = guard.mutex;
        drop(guard);
        sleep.acquire_blocking(1).expect("it is never closed");
        mutex.lock()
    }

    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let end = Instant::now().checked_add(timeout);
        let sleep = self.lie_down();
        let mutex = guard.mutex;
        drop(guard);
        let is_over = loop {
            shuttle::thread::yield_now();
            if sleep.try_acquire(1).is_ok() {
                break false;
            }
            // Asked after the last point where threads switch: a thread that is not among the sleepers was woken.
            if shuttle::rand::thread_rng().gen_ratio(1, 4) && self.get_up(&sleep) {
                break true;
            }
        };
        if is_over && let Some(end) = end {
            pass_time(end);
        }
        let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((guard, WaitTimeoutResult(is_over)))
    }

    pub fn notify_one(&self) {
        let sleep = {
            let mut sleepers = self.sleepers();
            if sleepers.is_empty() {
                return;
            }
            let at = shuttle::rand::thread_rng().gen_range(0..sleepers.len());
            sleepers.swap_remove(at)
        };
        sleep.release(1);
    }

    pub fn notify_all(&self) {
        let sleepers = std::mem::take(&mut *self.sleepers());
        for sleep in sleepers {
            sleep.release(1);
        }
    }

    fn lie_down(&self) -> Arc<BatchSemaphore> {
        let sleep = Arc::new(BatchSemaphore::new(0, Fairness::Unfair));
        self.sleepers().push(Arc::clone(&sleep));
        sleep
    }

    fn get_up(&self, sleep: &Arc<BatchSemaphore>) -> bool {
        let mut sleepers = self.sleepers();
        let place = sleepers.iter().position(|other| Arc::ptr_eq(other, sleep));
        place.map(|place| sleepers.swap_remove(place)).is_some()
    }

    fn sleepers(&self) -> std::sync::MutexGuard<'_, Vec<Arc<BatchSemaphore>>> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// std's, with a point where threads switch before each look.
#[derive(Debug)]
pub struct OnceLock<T> {
    cell: std::sync::OnceLock<T>,
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> OnceLock<T> {
    #[must_use]
    pub const fn new() -> Self {
        let cell = std::sync::OnceLock::new();
        Self { cell }
    }

    fn cell(&self) -> &std::sync::OnceLock<T> {
        // An atomic of this look alone: one in a static would be shared by executions that run beside each other.
        atomic::AtomicBool::new(false).load(atomic::Ordering::SeqCst);
        &self.cell
    }

    pub fn get(&self) -> Option<&T> {
        self.cell().get()
    }

    pub fn set(&self, value: T) -> Result<(), T> {
        self.cell().set(value)
    }

    pub fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        self.cell().get_or_init(init)
    }
}
