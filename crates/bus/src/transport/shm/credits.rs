//! How far receivers have read, so that a publisher can wait for the slowest.
//!
//! Each receiver publishes on a service of its own what it takes next from each publisher. The newest report holds all
//! of it, so one slot is enough, and a report is looked at only when a publisher seems to be out of room:
//!
//! ```text
//!  0          8            16           24
//! ┌──────────┬────────────┬────────────┬──────┐
//! │ receiver │ publisher, its next one │ ...  │   native words
//! └──────────┴────────────┴────────────┴──────┘
//! ```
//!
//! A receiver counts from the moment at which a publisher first sees it: what was sent before does not reach it.

use super::place::Waiting;
use super::{Ipc, MAX_PORTS, lock, low_bits};
use crate::clock;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::CallbackProgression;
use iceoryx2::service::port_factory::PortFactory as _;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

/// Bytes of one publisher that wait for one receiver, unless it is one message: memory that stays in the cache.
const MAX_BYTES: u64 = 16 << 20;
/// How often a publisher makes way and looks again before it sleeps between looks.
const N_YIELDS: u32 = 64;
/// And then: a receiver reads hundreds of messages in that time.
const RETRY_EVERY: Duration = Duration::from_micros(100);
/// A receiver's own name, and a pair for each publisher.
const MAX_WORDS: usize = 1 + 2 * MAX_PORTS;

/// What a receiver reports.
pub(super) struct Reports {
    publisher: Publisher<Ipc, [u64], ()>,
    own: u64,
    /// Publishers with what is taken from them next; the one that was read last at the end.
    taken: Mutex<Vec<[u64; 2]>>,
}

impl Reports {
    pub(super) fn open(waiting: &Waiting, own: u64) -> Result<Self, String> {
        let publisher = waiting.reports.publisher_builder();
        let publisher = publisher.initial_max_slice_len(MAX_WORDS);
        let publisher = publisher
            .create()
            .map_err(|error| format!("no publisher: {error:?}"))?;
        Ok(Self {
            publisher,
            own,
            taken: Mutex::default(),
        })
    }

    /// Takes note that all before `next` was taken.
    pub(super) fn note(&self, publisher: u64, next: u64) {
        let mut taken = lock(&self.taken);
        if let Some(at) = taken.iter().rposition(|[of, _]| *of == publisher) {
            taken.remove(at);
        } else if taken.len() >= MAX_PORTS {
            taken.remove(0);
        }
        taken.push([publisher, next]);
    }

    /// Reports what was taken so far.
    pub(super) fn send(&self) {
        let taken = lock(&self.taken);
        let pairs = taken.as_flattened();
        let Ok(loan) = self.publisher.loan_slice_uninit(1 + pairs.len()) else {
            return;
        };
        let word = |at: usize| at.checked_sub(1).and_then(|at| pairs.get(at)).copied();
        let report = loan.write_from_fn(|at| word(at).unwrap_or(self.own));
        // A publisher that gets no report waits no longer than its URL says.
        let _n_publishers = report.send();
    }
}

/// What a publisher knows of its receivers.
pub(super) struct Credits {
    reports: Subscriber<Ipc, [u64], ()>,
    /// Messages that wait for one receiver at most.
    slots: usize,
    /// How long to wait for room.
    wait: Duration,
    own: u64,
    receivers: Vec<Reader>,
    /// All bytes sent, before and after each of the latest messages, as many as there are slots.
    ends: VecDeque<u64>,
    /// How much may be sent without another look.
    n_room: usize,
    room_bytes: u64,
}

struct Reader {
    id: u64,
    /// The sequence of what it takes next.
    next: u64,
    /// It used the time up that there is for waiting; and how far it had read then. It is waited for again when it has
    /// read on, and caught up.
    left_at: Option<u64>,
}

/// The services that a publisher looks at, and what it is about to send.
pub(super) struct Departure<'a> {
    pub(super) messages: &'a PortFactory<Ipc, [u8], ()>,
    pub(super) sequence: u64,
    pub(super) n_bytes: usize,
}

impl Credits {
    pub(super) fn open(waiting: &Waiting, own: u64, slots: usize) -> Result<Self, String> {
        let reports = waiting.reports.subscriber_builder().create();
        Ok(Self {
            reports: reports.map_err(|error| format!("no subscriber: {error:?}"))?,
            slots,
            wait: waiting.wait,
            own,
            receivers: Vec::new(),
            ends: VecDeque::from([0]),
            n_room: 0,
            room_bytes: 0,
        })
    }

    /// Waits until there is room for a message with every receiver that keeps up, and takes note of it. `wake` is for
    /// receivers that sleep.
    pub(super) fn wait_for_room(&mut self, departure: &Departure<'_>, wake: impl FnOnce()) {
        let n_bytes = departure.n_bytes as u64;
        let n_receivers = departure.messages.dynamic_config().number_of_subscribers();
        let has_room = self.n_room > 0 && self.room_bytes >= n_bytes;
        if n_receivers != self.receivers.len() || !has_room {
            self.look(departure);
            if !self.has_room(departure) {
                wake();
                self.wait(departure);
            }
        }
        self.n_room = self.n_room.saturating_sub(1);
        self.room_bytes = self.room_bytes.saturating_sub(n_bytes);
        if self.ends.len() > self.slots {
            self.ends.pop_front();
        }
        let sent = self.ends.back().copied().unwrap_or(0);
        self.ends.push_back(sent + n_bytes);
    }

    fn wait(&mut self, departure: &Departure<'_>) {
        let began = clock::monotonic();
        for n_looks in 0_u32.. {
            if n_looks < N_YIELDS {
                std::thread::yield_now();
            } else {
                std::thread::park_timeout(RETRY_EVERY);
            }
            self.look(departure);
            if self.has_room(departure) {
                return;
            }
            if clock::monotonic().duration_since(began) >= self.wait {
                self.leave_behind(departure);
                return;
            }
        }
    }

    /// Learns who receives, and how far each has read.
    fn look(&mut self, departure: &Departure<'_>) {
        let mut present = Vec::with_capacity(MAX_PORTS);
        let config = departure.messages.dynamic_config();
        config.list_subscribers(|details| {
            present.push(low_bits(details.subscriber_id.value()));
            CallbackProgression::Continue
        });
        self.receivers.retain(|reader| present.contains(&reader.id));
        for id in present {
            if !self.receivers.iter().any(|reader| reader.id == id) {
                self.receivers.push(Reader {
                    id,
                    next: departure.sequence,
                    left_at: None,
                });
            }
        }
        while let Ok(Some(report)) = self.reports.receive() {
            let Some((id, pairs)) = report.payload().split_first() else {
                continue;
            };
            let (pairs, _) = pairs.as_chunks::<2>();
            let ours = pairs.iter().find(|[of, _]| *of == self.own);
            let reader = self.receivers.iter_mut().find(|reader| reader.id == *id);
            if let Some(([_, next], reader)) = ours.zip(reader) {
                reader.next = reader.next.max(*next);
            }
        }
        let n_half = self.slots as u64 / 2;
        for reader in &mut self.receivers {
            let has_caught_up = departure.sequence.saturating_sub(reader.next) <= n_half;
            let is_left = |at: &u64| reader.next <= *at || !has_caught_up;
            reader.left_at = reader.left_at.filter(is_left);
        }
    }

    /// Works out the room with the slowest receiver; whether it is enough for the message.
    fn has_room(&mut self, departure: &Departure<'_>) -> bool {
        let slots = self.slots as u64;
        let waited_for = self.receivers.iter();
        let waited_for = waited_for.filter(|reader| reader.left_at.is_none());
        let slowest = waited_for.map(|reader| reader.next).min();
        let n_waiting = departure
            .sequence
            .saturating_sub(slowest.unwrap_or(departure.sequence));
        let waiting_bytes = self.latest_bytes(n_waiting);
        self.n_room = usize::try_from(slots.saturating_sub(n_waiting)).unwrap_or(0);
        self.room_bytes = match n_waiting {
            0 => MAX_BYTES.max(departure.n_bytes as u64),
            _ => MAX_BYTES.saturating_sub(waiting_bytes),
        };
        self.n_room > 0 && self.room_bytes >= departure.n_bytes as u64
    }

    /// The bytes of the last `n` messages.
    fn latest_bytes(&self, n: u64) -> u64 {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let first = self.ends.len().saturating_sub(1).saturating_sub(n);
        let before = self.ends.get(first).copied().unwrap_or(0);
        self.ends.back().copied().unwrap_or(0) - before
    }

    /// Waits no more for the receivers that have no room.
    fn leave_behind(&mut self, departure: &Departure<'_>) {
        while !self.has_room(departure) {
            let waited_for = self.receivers.iter_mut();
            let waited_for = waited_for.filter(|reader| reader.left_at.is_none());
            let Some(slowest) = waited_for.min_by_key(|reader| reader.next) else {
                return;
            };
            slowest.left_at = Some(slowest.next);
        }
    }
}
