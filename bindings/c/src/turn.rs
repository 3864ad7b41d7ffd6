//! Whose turn it is to handle messages: one thread's at a time, and never twice the same one's.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// One turn, for all threads, and what goes with it.
#[derive(Debug, Default)]
pub(crate) struct Turn<T> {
    state: Mutex<State<T>>,
    is_free: Condvar,
}

#[derive(Debug, Default)]
struct State<T> {
    holder: Option<ThreadId>,
    kept: T,
}

/// The turn of the current thread, until dropped.
#[derive(Debug)]
pub(crate) struct Held<'a, T: Default> {
    turn: &'a Turn<T>,
    /// What was kept from the turn before, and will be for the next.
    pub(crate) kept: T,
    /// What is left of the timeout.
    pub(crate) left: Option<Duration>,
}

/// Why it was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This thread has it already: it is inside a handler.
    Recursion,
    /// Others had it all the time.
    Timeout,
}

impl<T: Default> Turn<T> {
    /// Waits for the turn; without a timeout for ever.
    pub(crate) fn take(&self, timeout: Option<Duration>) -> Result<Held<'_, T>, Refusal> {
        let me = std::thread::current().id();
        let state = self.lock();
        if state.holder == Some(me) {
            return Err(Refusal::Recursion);
        }
        let (mut state, left) = if state.holder.is_none() {
            (state, timeout)
        } else {
            self.wait(state, timeout)
        };
        if state.holder.is_some() {
            return Err(Refusal::Timeout);
        }
        state.holder = Some(me);
        Ok(Held {
            turn: self,
            kept: std::mem::take(&mut state.kept),
            left,
        })
    }

    /// Waits until no thread has the turn; returns what is left of the timeout.
    #[expect(
        clippy::disallowed_methods,
        reason = "a timeout that covers two waits needs a clock"
    )]
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State<T>>,
        timeout: Option<Duration>,
    ) -> (MutexGuard<'a, State<T>>, Option<Duration>) {
        let is_taken = |state: &mut State<T>| state.holder.is_some();
        let Some(timeout) = timeout else {
            let waited = self.is_free.wait_while(state, is_taken);
            return (waited.unwrap_or_else(PoisonError::into_inner), None);
        };
        let start = Instant::now();
        let waited = self.is_free.wait_timeout_while(state, timeout, is_taken);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (state, Some(timeout.saturating_sub(start.elapsed())))
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Drop for Held<'_, T> {
    fn drop(&mut self) {
        let mut state = self.turn.lock();
        state.holder = None;
        state.kept = std::mem::take(&mut self.kept);
        drop(state);
        self.turn.is_free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_never_has_two_turns() {
        let turn = Turn::<()>::default();
        let held = turn.take(None).unwrap();
        assert_eq!(turn.take(None).unwrap_err(), Refusal::Recursion);
        drop(held);
        assert!(turn.take(Some(Duration::ZERO)).is_ok());
    }

    #[test]
    fn a_second_thread_waits_as_long_as_it_wants_to() {
        let turn = Turn::<u32>::default();
        let mut held = turn.take(None).unwrap();
        std::thread::scope(|scope| {
            let impatient = scope.spawn(|| turn.take(Some(Duration::from_millis(1))).map(drop));
            assert_eq!(impatient.join().unwrap(), Err(Refusal::Timeout));
            let patient = scope.spawn(|| turn.take(None).map(|held| held.kept));
            held.kept = 7;
            drop(held);
            assert_eq!(patient.join().unwrap(), Ok(7));
        });
    }
}
