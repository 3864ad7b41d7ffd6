//! Who reads the transport: whoever waits for a message.
//!
//! A thread that finds its mailbox empty reads the transport itself and delivers to all mailboxes until its own has
//! something: no second thread, no hand-over, no wake-up between the kernel and the subscriber. When several threads
//! wait, one reads (the leader) and the others sleep at their mailboxes; a leader that leaves nudges the next.
//!
//! ```text
//!              next(): mailbox empty
//!    outside ─────────────────────────▶ waiting ──nobody reads──▶ leading ──┐
//!       ▲                                  │  ▲                     │  ▲    │ reads the transport,
//!       │                                  │  └──────nudge──────────┘  └────┘ delivers to all
//!       └──────own mailbox has something, or the deadline passed────┘
//! ```
//!
//! While every reader is busy with what it got, nobody reads, and the kernel's buffer fills. The *relief* thread looks
//! after that: it sleeps while somebody reads, and when nobody has for a while it moves what waits into the queues,
//! where the policies decide. It reads all the time if somebody cannot call in, such as the owner of a file
//! descriptor that an event loop watches.

use crate::clock::{Deadline, Reader, Wait};
use crate::event::Event;
use crate::mailbox::{End, Mailbox};
use crate::queue::SubscriptionId;
use crate::router::{Inlet, Router};
use crate::sys::Flag;
use crate::transport::{ReceiveError, Transport};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How many times relief looks in vain before it sleeps until somebody stops reading. Waking it takes the reader's time.
const VAIN_LOOKS: u32 = 16;

/// A sender may be faster than we are; then enough is enough.
const MAX_READ_OUT: usize = 1_000;

/// Reads a transport on behalf of all mailboxes.
#[derive(Debug)]
pub(crate) struct Pump {
    transport: Arc<dyn Transport>,
    router: Arc<Router>,
    state: Mutex<State>,
    /// For the relief thread: nobody reads, or it is time to end.
    unattended: Condvar,
    /// Only the leader takes it.
    inlet: Mutex<Inlet>,
    interrupt: Flag,
    /// Whether the flag is up, without asking the kernel.
    is_interrupted: AtomicBool,
    /// From then on the flag stays up: nobody may wait any more.
    is_closing: AtomicBool,
    /// Whether the transport said that nothing more will come: relief need not ask again. Changed under the lock.
    is_exhausted: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    is_led: bool,
    /// One entry for each thread, so a mailbox that several threads read may be here several times.
    waiting: Vec<Arc<Mailbox>>,
    /// Counts the times that somebody stopped reading.
    departures: u64,
    /// How many want reading to go on whether they call in or not.
    n_absent: usize,
    is_relief_asleep: bool,
    relief: Option<JoinHandle<()>>,
}

impl Pump {
    pub(crate) fn new(transport: Arc<dyn Transport>, router: Arc<Router>) -> io::Result<Self> {
        Ok(Self {
            transport,
            router: Arc::clone(&router),
            state: Mutex::default(),
            unattended: Condvar::new(),
            inlet: Mutex::new(Inlet::new(router)),
            interrupt: Flag::new()?,
            is_interrupted: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            is_exhausted: AtomicBool::new(false),
        })
    }

    /// The next event of `mailbox`; `None` when none came in time.
    pub(crate) fn next(
        &self,
        mailbox: &Arc<Mailbox>,
        deadline: Deadline,
        reader: Reader,
    ) -> Result<Option<(SubscriptionId, Event)>, ReceiveError> {
        self.next_by(Mailbox::pop, mailbox, deadline, reader)
    }

    /// The next that `pop` takes out of `mailbox`; `None` when nothing came in time.
    pub(crate) fn next_by<T>(
        &self,
        mut pop: impl FnMut(&Mailbox) -> Option<T>,
        mailbox: &Arc<Mailbox>,
        deadline: Deadline,
        reader: Reader,
    ) -> Result<Option<T>, ReceiveError> {
        if mailbox.is_exact() {
            self.read_out(mailbox)?;
        }
        if let Some(event) = pop(mailbox) {
            return Ok(Some(event));
        }
        let mut seat = Seat::new(self, mailbox);
        loop {
            // Whoever has no time still gets what the transport holds, so time is not looked at before it was read.
            let mut has_looked = true;
            if !self.transport.is_read_by_bus() {
                mailbox.wait(deadline);
            } else {
                match seat.lead() {
                    Lead::Held => self.read(deadline, reader)?,
                    // The leader before us may have delivered to us since we looked.
                    Lead::Taken => has_looked = false,
                    Lead::Others => mailbox.wait(deadline),
                }
            }
            if let Some(event) = pop(mailbox) {
                return Ok(Some(event));
            }
            match mailbox.ended() {
                Some(End::Closed) => return Err(ReceiveError::Closed),
                Some(End::Exhausted) => return Err(ReceiveError::End),
                None => {}
            }
            if has_looked && deadline.has_passed() {
                return Ok(None);
            }
        }
    }

    /// Moves what the transport holds into the mailboxes, so that queues keep the newest of all there is.
    pub(crate) fn read_out(&self, mailbox: &Arc<Mailbox>) -> Result<(), ReceiveError> {
        let mut seat = Seat::new(self, mailbox);
        let mut n_reads = 0;
        while self.transport.is_read_by_bus()
            && n_reads < MAX_READ_OUT
            && self.transport.holds_unread()
            && seat.lead() != Lead::Others
        {
            self.read(Deadline::Now, Reader::Subscriber)?;
            n_reads += 1;
        }
        Ok(())
    }

    /// Has the transport read from now on even when nobody waits: the reader will be told by a flag or a waker.
    pub(crate) fn keep_reading(&self) {
        let mut state = self.lock();
        state.n_absent += 1;
        state.is_relief_asleep = false;
        // Whoever is new has to be told of the end too.
        self.is_exhausted.store(false, Ordering::Release);
        self.unattended.notify_all();
    }

    /// The counterpart of [`keep_reading`](Self::keep_reading).
    pub(crate) fn keep_reading_no_more(&self) {
        self.lock().n_absent -= 1;
        self.interrupt();
    }

    /// Ends a read that is going on, so that whoever reads looks up.
    pub(crate) fn interrupt(&self) {
        // In this order: a reader that lowers the flag must find it up, or it would stay up for ever.
        self.interrupt.raise();
        self.is_interrupted.store(true, Ordering::Release);
    }

    /// Starts the relief thread unless it runs.
    pub(crate) fn start_relief(self: &Arc<Self>) -> io::Result<()> {
        if !self.transport.is_read_by_bus() {
            return Ok(());
        }
        let mut state = self.lock();
        if self.is_exhausted.swap(false, Ordering::AcqRel) {
            // Whoever is new has to be told of the end too.
            self.unattended.notify_all();
        }
        if state.relief.is_none() {
            let pump = Arc::clone(self);
            let thread = std::thread::Builder::new().name("bowline-relief".to_owned());
            state.relief = Some(thread.spawn(move || pump.relieve())?);
        }
        Ok(())
    }

    /// Lets go of everybody who waits for the transport, for good.
    pub(crate) fn close(&self) {
        let relief = {
            let mut state = self.lock();
            self.is_closing.store(true, Ordering::Release);
            state.relief.take()
        };
        self.interrupt.raise();
        self.unattended.notify_all();
        if let Some(relief) = relief
            && relief.thread().id() != std::thread::current().id()
        {
            // A panic there has been printed; the bus is closing anyway.
            drop(relief.join());
        }
    }

    fn relieve(&self) {
        let mut n_vain_looks = 0;
        while let Some(task) = self.await_task(&mut n_vain_looks) {
            let deadline = match task {
                ReliefTask::Drain => Deadline::Now,
                ReliefTask::Read => Deadline::Never,
            };
            // What is wrong shows to the readers too, who can do something about it.
            let outcome = self.read(deadline, Reader::Relief);
            self.depart(true);
            if outcome.is_err_and(|error| !error.is_interrupted()) {
                self.pause();
            }
        }
    }

    /// Waits until relief is needed, and takes the lead; `None` when the bus closes.
    fn await_task(&self, n_vain_looks: &mut u32) -> Option<ReliefTask> {
        let mut state = self.lock();
        loop {
            if self.is_closing() {
                return None;
            }
            if state.n_absent > 0 && !state.is_led && !self.is_exhausted() {
                state.is_led = true;
                return Some(ReliefTask::Read);
            }
            if self.is_exhausted() || (state.is_led && *n_vain_looks >= VAIN_LOOKS) {
                state.is_relief_asleep = true;
                state = self
                    .unattended
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                *n_vain_looks = 0;
                continue;
            }
            let departures = state.departures;
            let woken = self
                .unattended
                .wait_timeout(state, self.transport.stamina());
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
            if state.is_led || state.departures != departures || self.is_closing() {
                *n_vain_looks += 1;
                continue;
            }
            // The transport's own buffer is a fine place to wait, as long as it has room.
            if !self.transport.is_pressed() {
                continue;
            }
            *n_vain_looks = 0;
            state.is_led = true;
            return Some(ReliefTask::Drain);
        }
    }

    /// After an error: not again at once, so that a dead interface does not keep a core busy.
    fn pause(&self) {
        let state = self.lock();
        if !self.is_closing() {
            drop(
                self.unattended
                    .wait_timeout(state, Duration::from_millis(100)),
            );
        }
    }

    fn read(&self, deadline: Deadline, reader: Reader) -> Result<(), ReceiveError> {
        let mut inlet = self.inlet.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = Wait {
            deadline,
            interrupt: &self.interrupt,
            reader,
        };
        let outcome = self.transport.receive(&mut inlet, &wait);
        if self.is_interrupted.swap(false, Ordering::AcqRel) {
            self.interrupt.lower();
            // Asked afterwards: had it been closed between asking and lowering, the flag would be down for good.
            if self.is_closing() {
                self.interrupt.raise();
            }
        }
        match outcome {
            // For all readers, once they have read what is in their mailboxes.
            Err(ReceiveError::End) => {
                self.router.end(End::Exhausted);
                let _state = self.lock();
                self.is_exhausted.store(true, Ordering::Release);
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn depart(&self, was_leading: bool) {
        let mut state = self.lock();
        if was_leading {
            state.is_led = false;
            state.departures += 1;
        }
        if state.is_led {
            return;
        }
        if let Some(next) = state.waiting.first() {
            next.nudge();
        } else if state.is_relief_asleep {
            state.is_relief_asleep = false;
            drop(state);
            self.unattended.notify_one();
        }
    }

    fn is_exhausted(&self) -> bool {
        self.is_exhausted.load(Ordering::Acquire)
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, Debug)]
enum ReliefTask {
    /// Move what waits into the queues.
    Drain,
    /// Read on until interrupted.
    Read,
}

/// Who reads the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    /// We do, and have.
    Held,
    /// We do, from now on.
    Taken,
    /// Somebody else.
    Others,
}

/// A thread's place among those who wait. Leaving it passes the lead on.
struct Seat<'a> {
    pump: &'a Pump,
    mailbox: &'a Arc<Mailbox>,
    is_leading: bool,
    is_waiting: bool,
}

impl<'a> Seat<'a> {
    fn new(pump: &'a Pump, mailbox: &'a Arc<Mailbox>) -> Self {
        Self {
            pump,
            mailbox,
            is_leading: false,
            is_waiting: false,
        }
    }

    /// Takes the lead if nobody has it; otherwise queues up for it.
    fn lead(&mut self) -> Lead {
        if self.is_leading {
            return Lead::Held;
        }
        let mut state = self.pump.lock();
        if state.is_led {
            if !self.is_waiting {
                self.is_waiting = true;
                state.waiting.push(Arc::clone(self.mailbox));
            }
            return Lead::Others;
        }
        self.wait_no_more(&mut state);
        state.is_led = true;
        self.is_leading = true;
        Lead::Taken
    }

    fn wait_no_more(&mut self, state: &mut State) {
        if !std::mem::take(&mut self.is_waiting) {
            return;
        }
        // Threads that read one mailbox are told together, so it does not matter whose entry this is.
        let mut waiting = state.waiting.iter();
        if let Some(place) = waiting.position(|other| Arc::ptr_eq(other, self.mailbox)) {
            state.waiting.remove(place);
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let pump = self.pump;
        self.wait_no_more(&mut pump.lock());
        self.pump.depart(self.is_leading);
    }
}
