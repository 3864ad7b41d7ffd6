//! Which thread reads the transport: the one that waits for a message.
//!
//! A thread that finds its mailbox empty reads the transport itself and delivers to all mailboxes until its own has
//! something: no second thread, no hand-over, no wake-up between the kernel and the subscriber. When several threads
//! wait, one reads (the leader) and the others sleep at their mailboxes; a leader that leaves nudges the next.
//!
//! ```text
//!              next(): mailbox empty
//!    outside ─────────────────────────▶ waiting ──none reads────▶ leading ──┐
//!       ▲                                  │  ▲                     │  ▲    │ reads the transport,
//!       │                                  │  └──────nudge──────────┘  └────┘ delivers to all
//!       └──────own mailbox has something, or the deadline passed────┘
//! ```
//!
//! While every reader is busy with what it got, no thread reads, and the kernel's buffer fills. The *relief* thread looks
//! after that: it sleeps while a reader reads, and when none has for a while it moves what waits into the queues,
//! where the policies decide. It reads all the time if a reader cannot call in, such as the owner of a file
//! descriptor that an event loop watches.

use crate::clock::{Deadline, Reader, Wait};
use crate::mailbox::{End, Mailbox, Taken};
use crate::queue::Take;
use crate::router::{Inlet, Router};
use crate::sys::Flag;
use crate::transport::{DEFAULT_ENDURANCE, ReceiveError, Transport};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How many times relief looks in vain before it sleeps until a reader stops reading. Waking it takes the reader's time.
const VAIN_LOOKS: u32 = 16;

/// A sender may be faster than we are; then enough is enough.
const MAX_READ_OUT: usize = 1_000;

/// Reads a transport on behalf of all mailboxes.
#[derive(Debug)]
pub(crate) struct Pump {
    transport: Arc<dyn Transport>,
    is_direct: bool,
    router: Arc<Router>,
    state: Mutex<State>,
    /// For the relief thread: the lead is free, or it is time to end.
    unattended: Condvar,
    interrupt: Flag,
    /// Whether the flag is up, without asking the kernel.
    is_interrupted: AtomicBool,
    /// From then on the flag stays up: no thread may wait any more.
    is_closing: AtomicBool,
    /// Whether the transport reported that nothing more will come: relief need not ask again. Changed under the lock.
    is_exhausted: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Taken along with the lead: only the leader delivers.
    inlet: Option<Inlet>,
    /// One entry for each thread, so a mailbox that several threads read may be here several times.
    waiting: Vec<Arc<Mailbox>>,
    /// Counts the times that a reader stopped reading.
    departures: u64,
    /// How many want reading to go on whether they call in or not.
    n_absent: usize,
    is_relief_asleep: bool,
    relief: Option<JoinHandle<()>>,
}

impl Pump {
    pub(crate) fn new(transport: Arc<dyn Transport>, router: Arc<Router>) -> io::Result<Self> {
        let state = State {
            inlet: Some(Inlet::new(Arc::clone(&router))),
            waiting: Vec::new(),
            departures: 0,
            n_absent: 0,
            is_relief_asleep: false,
            relief: None,
        };
        Ok(Self {
            is_direct: transport.direct().is_some(),
            transport,
            router,
            state: Mutex::new(state),
            unattended: Condvar::new(),
            interrupt: Flag::new()?,
            is_interrupted: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            is_exhausted: AtomicBool::new(false),
        })
    }

    /// Whether the transport's senders hand in by themselves, so that there is nothing to read.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// The next item of `mailbox`; `None` when none came in time.
    pub(crate) fn next<T: Take>(
        &self,
        mailbox: &Arc<Mailbox>,
        take: &mut T,
        deadline: Deadline,
        reader: Reader,
    ) -> Result<Option<T::Item>, ReceiveError> {
        if mailbox.is_exact() {
            self.read_out(mailbox)?;
        }
        let mut seat = Seat::new(self, mailbox);
        // Without time the transport is read all the same, so the deadline counts only after a look at it.
        let mut has_looked = false;
        loop {
            if !mailbox.is_idle() {
                match mailbox.take(take) {
                    Taken::Item(item) => return Ok(Some(item)),
                    Taken::Nothing(Some(End::Closed)) => return Err(ReceiveError::Closed),
                    Taken::Nothing(Some(End::Exhausted)) => return Err(ReceiveError::End),
                    Taken::Nothing(None) => {}
                }
            }
            if has_looked {
                take.note_empty();
                if deadline.has_passed() {
                    return Ok(None);
                }
            }
            let is_first_look = T::LOOKS_FIRST && !has_looked;
            let deadline = if is_first_look {
                Deadline::Now
            } else {
                deadline
            };
            match seat.lead() {
                // The leader before us may have delivered to us since we looked. From here on only we deliver.
                Some(_) if !mailbox.is_idle() => continue,
                Some(inlet) => {
                    if !mailbox.is_exact() {
                        inlet.reserve_for(mailbox);
                    }
                    let outcome = self.read(inlet, deadline, reader);
                    if let Some((id, event)) = inlet.take_reserved() {
                        return Ok(Some(take.accept(id, event)));
                    }
                    outcome?;
                }
                None => mailbox.wait(deadline),
            }
            has_looked = true;
        }
    }

    /// Moves what the transport holds into the mailboxes, so that queues keep the newest of all there is.
    pub(crate) fn read_out(&self, mailbox: &Arc<Mailbox>) -> Result<(), ReceiveError> {
        if self.is_direct {
            return Ok(());
        }
        let buffered = self.transport.buffered();
        let mut seat = Seat::new(self, mailbox);
        for _ in 0..MAX_READ_OUT {
            if buffered.is_some_and(|buffered| !buffered.holds_unread()) {
                break;
            }
            let Some(inlet) = seat.lead() else {
                break;
            };
            let before = inlet.n_handed_in();
            self.read(inlet, Deadline::Now, Reader::Subscriber)?;
            // One that cannot report what it holds is empty when a read finds nothing.
            if buffered.is_none() && inlet.n_handed_in() == before {
                break;
            }
        }
        Ok(())
    }

    /// Has the transport read from now on even when no thread waits: the reader will be woken by a flag or a waker.
    pub(crate) fn keep_reading(&self) {
        let mut state = self.lock();
        state.n_absent += 1;
        state.is_relief_asleep = false;
        // A new reader has to learn of the end too.
        self.is_exhausted.store(false, Ordering::Release);
        self.unattended.notify_all();
    }

    /// The counterpart of [`keep_reading`](Self::keep_reading).
    pub(crate) fn keep_reading_no_more(&self) {
        self.lock().n_absent -= 1;
        self.interrupt();
    }

    /// Ends a read that is going on, so that the reading thread looks up.
    pub(crate) fn interrupt(&self) {
        // In this order: a reader that lowers the flag must find it up, or it would stay up for ever.
        self.interrupt.raise();
        self.is_interrupted.store(true, Ordering::Release);
    }

    /// Starts the relief thread unless it runs.
    pub(crate) fn start_relief(self: &Arc<Self>) -> io::Result<()> {
        if self.is_direct {
            return Ok(());
        }
        let mut state = self.lock();
        if self.is_exhausted.swap(false, Ordering::AcqRel) {
            // A new reader has to learn of the end too.
            self.unattended.notify_all();
        }
        if state.relief.is_none() {
            let pump = Arc::clone(self);
            let thread = std::thread::Builder::new().name("bowline-relief".to_owned());
            state.relief = Some(thread.spawn(move || pump.relieve())?);
        }
        Ok(())
    }

    /// Releases all threads that wait for the transport, for good.
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
        while let Some((mut inlet, deadline)) = self.await_task(&mut n_vain_looks) {
            // What is wrong shows to the readers too, who can do something about it.
            let outcome = self.read(&mut inlet, deadline, Reader::Relief);
            self.depart(self.lock(), Some(inlet));
            if outcome.is_err_and(|error| !error.is_interrupted()) {
                self.pause();
            }
        }
    }

    /// Waits until relief is needed, takes the lead, and returns how long to read; `None` when the bus closes.
    fn await_task(&self, n_vain_looks: &mut u32) -> Option<(Inlet, Deadline)> {
        let buffered = self.transport.buffered();
        let mut state = self.lock();
        loop {
            if self.is_closing() {
                return None;
            }
            if state.n_absent > 0
                && !self.is_exhausted()
                && let Some(inlet) = state.inlet.take()
            {
                return Some((inlet, Deadline::Never));
            }
            if self.is_exhausted() || (state.is_led() && *n_vain_looks >= VAIN_LOOKS) {
                state.is_relief_asleep = true;
                state = self
                    .unattended
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                *n_vain_looks = 0;
                continue;
            }
            let departures = state.departures;
            let endurance = buffered.map_or(DEFAULT_ENDURANCE, |buffered| buffered.endurance());
            let woken = self.unattended.wait_timeout(state, endurance);
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
            if state.is_led() || state.departures != departures || self.is_closing() {
                *n_vain_looks += 1;
                continue;
            }
            // The transport's own buffer is a fine place to wait, as long as it has room.
            if !buffered.is_some_and(|buffered| buffered.is_pressed()) {
                continue;
            }
            *n_vain_looks = 0;
            let inlet = state.inlet.take();
            return inlet.map(|inlet| (inlet, Deadline::Now));
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

    fn read(
        &self,
        inlet: &mut Inlet,
        deadline: Deadline,
        reader: Reader,
    ) -> Result<(), ReceiveError> {
        let wait = Wait {
            deadline,
            interrupt: &self.interrupt,
            reader,
        };
        let outcome = self.transport.receive(inlet, &wait);
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

    /// Gives the lead back, if `lead` is it, and passes it on.
    fn depart(&self, mut state: MutexGuard<'_, State>, lead: Option<Inlet>) {
        if let Some(inlet) = lead {
            state.inlet = Some(inlet);
            state.departures += 1;
        }
        if state.is_led() {
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

impl State {
    fn is_led(&self) -> bool {
        self.inlet.is_none()
    }
}

/// A thread's place among those who wait. Leaving it passes the lead on.
struct Seat<'a> {
    pump: &'a Pump,
    mailbox: &'a Arc<Mailbox>,
    /// The lead, while we have it.
    inlet: Option<Inlet>,
    is_waiting: bool,
}

impl<'a> Seat<'a> {
    fn new(pump: &'a Pump, mailbox: &'a Arc<Mailbox>) -> Self {
        Self {
            pump,
            mailbox,
            inlet: None,
            is_waiting: false,
        }
    }

    /// The lead, ours or free; otherwise queues up for it. There is none where senders hand in by themselves.
    fn lead(&mut self) -> Option<&mut Inlet> {
        if self.inlet.is_none() && !self.pump.is_direct {
            let mut state = self.pump.lock();
            self.inlet = state.inlet.take();
            if self.inlet.is_some() {
                self.wait_no_more(&mut state);
            } else if !self.is_waiting {
                self.is_waiting = true;
                state.waiting.push(Arc::clone(self.mailbox));
            }
        }
        self.inlet.as_mut()
    }

    fn wait_no_more(&mut self, state: &mut State) {
        if !std::mem::take(&mut self.is_waiting) {
            return;
        }
        // Threads that read one mailbox are woken together, so it does not matter whose entry this is.
        let mut waiting = state.waiting.iter();
        if let Some(place) = waiting.position(|other| Arc::ptr_eq(other, self.mailbox)) {
            state.waiting.remove(place);
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if self.inlet.is_none() && !self.is_waiting {
            return;
        }
        let mut state = self.pump.lock();
        self.wait_no_more(&mut state);
        self.pump.depart(state, self.inlet.take());
    }
}
