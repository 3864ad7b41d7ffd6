//! Functions that are called with each message, one after the other, on one thread.

use crate::bus::{Bus, Shared, SubscribeError, Tallies};
use crate::clock::{Deadline, Reader};
use crate::event::Event;
use crate::mailbox::{End, Mailbox};
use crate::pattern::Pattern;
use crate::pump::Pump;
use crate::queue::{ForEach, Queue, SubscriptionId};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A callback. Dropping it ends it; one that is running is not waited for.
#[derive(Debug)]
pub struct Callback {
    bus: Bus,
    id: SubscriptionId,
    handlers: Arc<Handlers>,
}

impl Drop for Callback {
    fn drop(&mut self) {
        self.bus.shared.router.unsubscribe(self.id);
        // Dropped when the lock is gone: it may own anything, such as another callback.
        let handler = self.handlers.lock().remove(&self.id);
        drop(handler);
        // Wanting less cannot fail in a way that matters: at worst, more arrives than is wanted.
        drop(self.bus.shared.announce_interest());
    }
}

type Handler = Box<dyn FnMut(Event) + Send>;

#[derive(Default)]
struct Handlers(Mutex<HashMap<SubscriptionId, Arc<Mutex<Handler>>>>);

impl Handlers {
    fn lock(&self) -> MutexGuard<'_, HashMap<SubscriptionId, Arc<Mutex<Handler>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handlers({})", self.lock().len())
    }
}

/// The thread that calls, and what it calls.
#[derive(Debug)]
pub(crate) struct Callbacks {
    mailbox: Arc<Mailbox>,
    handlers: Arc<Handlers>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Callbacks {
    pub(crate) fn start(shared: &Shared) -> io::Result<Self> {
        let mailbox = Arc::<Mailbox>::default();
        let handlers = Arc::<Handlers>::default();
        let worker = Worker {
            mailbox: Arc::clone(&mailbox),
            handlers: Arc::clone(&handlers),
            pump: Arc::clone(&shared.pump),
            tallies: shared.tallies(),
        };
        let thread = std::thread::Builder::new().name("bowline-callbacks".to_owned());
        let thread = thread.spawn(move || worker.run())?;
        Ok(Self {
            mailbox,
            handlers,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(crate) fn add(
        &self,
        bus: &Bus,
        pattern: &str,
        handler: Handler,
    ) -> Result<Callback, SubscribeError> {
        let pattern = Pattern::new(pattern)?;
        let shared = &bus.shared;
        // What comes at once waits until there is a handler.
        let mut handlers = self.handlers.lock();
        let id = shared
            .router
            .subscribe(pattern, Queue::default(), &self.mailbox);
        handlers.insert(id, Arc::new(Mutex::new(handler)));
        drop(handlers);
        let callback = Callback {
            bus: bus.clone(),
            id,
            handlers: Arc::clone(&self.handlers),
        };
        // On failure `callback` is dropped, and takes the subscription back.
        shared.announce_interest()?;
        Ok(callback)
    }

    /// Ends the thread. The pump must be closed.
    pub(crate) fn close(&self) {
        self.mailbox.end(End::Closed);
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // It catches what handlers panic with.
            drop(thread.join());
        }
    }
}

struct Worker {
    mailbox: Arc<Mailbox>,
    handlers: Arc<Handlers>,
    pump: Arc<Pump>,
    tallies: Arc<Tallies>,
}

impl Worker {
    fn run(self) {
        loop {
            let next = self.pump.next(
                &self.mailbox,
                &mut ForEach,
                Deadline::Never,
                Reader::Callbacks,
            );
            match next {
                Ok(Some((id, event))) => self.call(id, event),
                Ok(None) => {}
                Err(_) if self.mailbox.ended().is_some() => return,
                // An interface that is gone: no one to report to but the counters.
                Err(_) => self
                    .mailbox
                    .wait(Deadline::after(std::time::Duration::from_millis(100))),
            }
        }
    }

    fn call(&self, id: SubscriptionId, event: Event) {
        let Some(handler) = self.handlers.lock().get(&id).cloned() else {
            return;
        };
        let mut handler = handler.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| handler(event)));
        if outcome.is_err() {
            self.tallies.callback_panics.fetch_add(1, Ordering::Relaxed);
        }
    }
}
