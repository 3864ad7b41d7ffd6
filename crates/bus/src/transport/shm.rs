//! Memory shared between processes of one host, by iceoryx2: a large message is written once and read where it is.
//!
//! A message in memory:
//!
//! ```text
//!  0           8           16    17             to a multiple of 8
//! ┌───────────┬───────────┬─────┬─────────┬─────┬─────────┐
//! │ sequence  │ sent, ns  │ n   │ channel │ pad │ payload │   little-endian
//! └───────────┴───────────┴─────┴─────────┴─────┴─────────┘
//! ```
//!
//! One iceoryx2 service for a name, not one for a channel: patterns need no discovery, one descriptor wakes a reader,
//! order holds across channels, and what a receiver does not want costs it a look at a pointer. The price is that all
//! channels of a publisher share its slots.
//!
//! Publishers do not wait, unless the URL says for how long: `credits.rs`. The iceoryx2 event makes a call into the system only when a receiver has announced that it sleeps,
//! so a reader announces it as late as it can: when it found nothing twice.

mod credits;
mod outlet;
mod place;

use crate::clock::{self, Wait};
use crate::counts::{NetworkCounts, SenderCounts};
use crate::diagnosis;
use crate::event::{Arrival, Sender};
use crate::router::{Body, Inlet, Interest};
use crate::schemes::{Capability, Scheme, UrlOption};
use crate::sys;
use crate::transport::slot::Slot;
use crate::transport::{
    Buffered, Lending, ListenError, Observed, OpenError, Outgoing, ReceiveError, Selective,
    SendError, Transport,
};
use crate::url::{BadUrl, Url};
use bytes::Bytes;
use credits::Reports;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::ipc_threadsafe;
use iceoryx2::sample::Sample;
use outlet::Outlet;
use place::{Place, Settings};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Ipc = ipc_threadsafe::Service;

/// Messages of one publisher that the readers of one bus hold at the same time. Beyond that they are copied.
const MAX_BORROWED: usize = 64;
/// Buses that receive, or publish, under one name.
const MAX_PORTS: usize = 32;
/// Smaller messages are copied: that is cheaper than to hold a slot for long.
const MIN_BORROWED_LEN: usize = 4 << 10;
/// Up to there the first segment of a publisher is enough.
const FIRST_LEN: usize = 4 << 10;
/// How many messages are handed in before control goes back.
const MAX_RUN: usize = 64;
/// And how many bytes: what a reader has not touched yet should still be in the processor's cache when it does.
const MAX_RUN_BYTES: usize = 256 << 10;
/// How often a reader makes way and looks again before it sleeps: to be woken costs both sides more than a few looks.
const N_LINGER: usize = 8;
/// How many publishers' sequences are followed.
const MAX_SENDERS: usize = 4_096;
/// Before the channel: sequence, time, length of the channel.
const FIXED_LEN: usize = 17;

/// The row of the table.
pub static SCHEME: Scheme = Scheme {
    name: "shm",
    summary: "shared memory of this host, without copies for large messages",
    example: "shm://NAME",
    options: &[
        UrlOption {
            name: "slots",
            sample: "2048",
            default: "2048",
            meaning: "messages of each publisher that wait for a receiver; then the oldest makes room",
        },
        UrlOption {
            name: "wait",
            sample: "1s",
            default: "the oldest makes room at once",
            meaning: "how long a publisher waits for room in a receiver's slots",
        },
    ],
    capabilities: &[Capability::SharedMemory],
    check,
    open,
    examine: diagnosis::examine_by_check,
    checks: &[],
};

/// Checks a URL.
fn check(url: &Url) -> Result<(), BadUrl> {
    Settings::from_url(url).map(|_| ())
}

/// Opens the bus of a name.
fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    Ok(Arc::new(Shm {
        place: Place::open(&Settings::from_url(url)?)?,
        outlet: Mutex::default(),
        receiver: Slot::default(),
    }))
}

#[derive(Debug)]
struct Shm {
    place: Place,
    /// Made with the first message.
    outlet: Mutex<Option<Outlet>>,
    receiver: Slot<Receiver>,
}

/// Writes what comes before a payload; returns how long it is. Channels were checked to be at most 63 bytes.
fn write_head(head: &mut [u8; 96], sequence: u64, channel: &str) -> usize {
    let n_channel = u8::try_from(channel.len()).unwrap_or(u8::MAX);
    let pieces: [&[u8]; 4] = [
        &sequence.to_le_bytes(),
        &clock::wall_ns().to_le_bytes(),
        &[n_channel],
        channel.as_bytes(),
    ];
    let mut at = 0;
    for piece in pieces {
        if let Some(place) = head.get_mut(at..at + piece.len()) {
            place.copy_from_slice(piece);
        }
        at += piece.len();
    }
    head_len(channel.len())
}

fn head_len(n_channel: usize) -> usize {
    (FIXED_LEN + n_channel).next_multiple_of(8)
}

/// What comes before a payload.
struct Head<'a> {
    sequence: u64,
    sent_ns: i64,
    channel: &'a str,
    len: usize,
}

impl<'a> Head<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (sequence, rest) = bytes.split_first_chunk()?;
        let (sent_ns, rest) = rest.split_first_chunk()?;
        let (n_channel, rest) = rest.split_first()?;
        let n_channel = usize::from(*n_channel);
        let len = head_len(n_channel);
        let channel = std::str::from_utf8(rest.get(..n_channel)?).ok()?;
        (bytes.len() >= len).then_some(Self {
            sequence: u64::from_le_bytes(*sequence),
            sent_ns: i64::from_le_bytes(*sent_ns),
            channel,
            len,
        })
    }
}

/// Where one bus receives.
struct Receiver {
    subscriber: Subscriber<Ipc, [u8], ()>,
    listener: Listener<Ipc>,
    /// Where publishers wait for receivers.
    reports: Option<Reports>,
    senders: Mutex<HashMap<u64, Followed>>,
    /// Messages that readers hold where they are.
    n_borrowed: Arc<AtomicUsize>,
    n_received: AtomicU64,
    n_lost: AtomicU64,
    n_malformed: AtomicU64,
}

/// A sender, and what its next sequence should be.
struct Followed {
    counts: SenderCounts,
    next: u64,
}

/// A message that a reader holds in shared memory.
struct Borrowed {
    sample: Sample<Ipc, [u8], ()>,
    n_borrowed: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        self.sample.payload()
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.n_borrowed.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Receiver {
    fn open(place: &Place) -> Result<Self, ListenError> {
        let refused = |error: String| ListenError::System {
            doing: "receive from shared memory".to_owned(),
            source: io::Error::other(error),
            hint: None,
        };
        // First, so that no message comes without a way to be notified.
        let listener = place.events.listener_builder().create();
        let listener = listener.map_err(|error| refused(format!("no listener: {error:?}")))?;
        let subscriber = place.messages.subscriber_builder().create();
        let subscriber =
            subscriber.map_err(|error| refused(format!("no subscriber: {error:?}")))?;
        let own = low_bits(subscriber.id().value());
        let waiting = place.waiting.as_ref();
        let reports = waiting.map(|waiting| Reports::open(waiting, own));
        Ok(Self {
            subscriber,
            listener,
            reports: reports.transpose().map_err(refused)?,
            senders: Mutex::default(),
            n_borrowed: Arc::default(),
            n_received: AtomicU64::new(0),
            n_lost: AtomicU64::new(0),
            n_malformed: AtomicU64::new(0),
        })
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        if self.take_run(inlet)? || wait.is_poll() {
            return Ok(());
        }
        for _ in 0..N_LINGER {
            std::thread::yield_now();
            if self.take_run(inlet)? {
                return Ok(());
            }
        }
        // From here on publishers notify us, so what came before that has to be looked for once more.
        self.listener.try_wait(|_| {}).map_err(io::Error::other)?;
        if self.take_run(inlet)? {
            return Ok(());
        }
        let descriptors = [sys::descriptor(&self.listener), wait.interrupt()];
        let [is_told, _] = sys::poll(descriptors, wait.left())?;
        if is_told {
            self.take_run(inlet)?;
        }
        Ok(())
    }

    /// Hands in what is there, up to a bound; whether there was something.
    fn take_run(&self, inlet: &mut Inlet) -> Result<bool, ReceiveError> {
        let is_something = self.take_messages(inlet)?;
        if is_something && let Some(reports) = &self.reports {
            reports.send();
        }
        Ok(is_something)
    }

    fn take_messages(&self, inlet: &mut Inlet) -> Result<bool, ReceiveError> {
        let mut n_bytes = 0;
        for n_taken in 0..MAX_RUN {
            if n_bytes > MAX_RUN_BYTES {
                break;
            }
            let sample = self.subscriber.receive().map_err(io::Error::other)?;
            let Some(sample) = sample else {
                return Ok(n_taken > 0);
            };
            n_bytes += self.take(sample, inlet);
        }
        Ok(true)
    }

    /// Hands in one message; returns how large it was.
    fn take(&self, sample: Sample<Ipc, [u8], ()>, inlet: &mut Inlet) -> usize {
        self.n_received.fetch_add(1, Ordering::Relaxed);
        let sender = low_bits(sample.origin().value());
        let bytes = sample.payload();
        let n_bytes = bytes.len();
        let Some(head) = Head::read(bytes) else {
            self.n_malformed.fetch_add(1, Ordering::Relaxed);
            return n_bytes;
        };
        self.follow(sender, head.sequence);
        if let Some(reports) = &self.reports {
            reports.note(sender, head.sequence.wrapping_add(1));
        }
        let arrival = Arrival {
            received_ns: head.sent_ns,
            sender: Sender::Memory(sender),
            sequence: u32::try_from(head.sequence & u64::from(u32::MAX)).ok(),
        };
        let payload = bytes.get(head.len..).unwrap_or_default();
        if payload.len() < MIN_BORROWED_LEN
            || self.n_borrowed.load(Ordering::Relaxed) >= MAX_BORROWED
            || !inlet.wants(head.channel)
        {
            inlet.deliver(head.channel, Body::Borrowed(payload), arrival);
            return n_bytes;
        }
        let (channel, head_len) = (head.channel.to_owned(), head.len);
        self.n_borrowed.fetch_add(1, Ordering::Relaxed);
        let n_borrowed = Arc::clone(&self.n_borrowed);
        let whole = Bytes::from_owner(Borrowed { sample, n_borrowed });
        inlet.deliver(&channel, Body::Owned(whole.slice(head_len..)), arrival);
        n_bytes
    }

    /// Counts what a sender sent that never came.
    fn follow(&self, sender: u64, sequence: u64) {
        let mut senders = lock(&self.senders);
        if senders.len() >= MAX_SENDERS && !senders.contains_key(&sender) {
            senders.clear();
        }
        let followed = senders.entry(sender).or_insert(Followed {
            counts: SenderCounts {
                sender: Sender::Memory(sender),
                received: 0,
                lost: 0,
                duplicates: 0,
                late: 0,
                restarts: 0,
            },
            next: sequence,
        });
        let lost = sequence.saturating_sub(followed.next);
        followed.next = sequence.wrapping_add(1);
        followed.counts.received += 1;
        followed.counts.lost += lost;
        self.n_lost.fetch_add(lost, Ordering::Relaxed);
    }

    fn counts(&self) -> NetworkCounts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        NetworkCounts {
            datagrams: load(&self.n_received),
            lost: load(&self.n_lost),
            malformed: load(&self.n_malformed),
            senders: lock(&self.senders).len() as u64,
            ..NetworkCounts::default()
        }
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({:?})", self.counts())
    }
}

fn low_bits(id: u128) -> u64 {
    u64::try_from(id & u128::from(u64::MAX)).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shm {
    fn opened<'a>(&self, outlet: &'a mut Option<Outlet>) -> Result<&'a mut Outlet, SendError> {
        match outlet {
            Some(outlet) => Ok(outlet),
            none => Ok(none.insert(Outlet::new(&self.place)?)),
        }
    }
}

impl Transport for Shm {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        let mut outlet = lock(&self.outlet);
        let outlet = self.opened(&mut outlet)?;
        let sent = messages.iter().try_for_each(|message| {
            let Outgoing {
                channel, payload, ..
            } = message;
            outlet.send(&self.place, channel, payload.len(), |memory| {
                memory.copy_from_slice(payload);
                true
            })
        });
        // Also when one failed: those before it are there.
        let notified = outlet.notify();
        sent.and(notified)
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        match self.receiver.get() {
            Some(receiver) => receiver.receive(inlet, wait),
            // A change of subscriptions interrupts this.
            None => wait.idle(),
        }
    }

    fn selective(&self) -> Option<&dyn Selective> {
        Some(self)
    }

    fn buffered(&self) -> Option<&dyn Buffered> {
        Some(self)
    }

    fn observed(&self) -> Option<&dyn Observed> {
        Some(self)
    }

    fn lending(&self) -> Option<&dyn Lending> {
        Some(self)
    }
}

impl Lending for Shm {
    fn send_written(
        &self,
        channel: &str,
        size: usize,
        write: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<(), SendError> {
        let mut outlet = lock(&self.outlet);
        let outlet = self.opened(&mut outlet)?;
        outlet.send(&self.place, channel, size, write)?;
        outlet.notify()
    }
}

impl Selective for Shm {
    fn want(&self, interest: &Interest, _: &mut Inlet) -> Result<(), ListenError> {
        if interest.is_empty() {
            self.receiver.close(Receiver::counts);
            return Ok(());
        }
        let open = || Receiver::open(&self.place);
        self.receiver.get_or_open(open).map(drop)
    }
}

impl Buffered for Shm {
    fn holds_unread(&self) -> bool {
        self.receiver
            .get()
            .is_some_and(|receiver| receiver.subscriber.has_samples().unwrap_or(true))
    }

    /// How full the slots are cannot be seen, so whatever waits for a while is moved.
    fn is_pressed(&self) -> bool {
        self.holds_unread()
    }
}

impl Observed for Shm {
    fn counts(&self) -> NetworkCounts {
        self.receiver.counts(Receiver::counts)
    }

    fn senders(&self) -> Vec<SenderCounts> {
        let Some(receiver) = self.receiver.get() else {
            return Vec::new();
        };
        let followed = lock(&receiver.senders);
        let mut senders: Vec<_> = followed.values().map(|followed| followed.counts).collect();
        drop(followed);
        senders.sort_unstable_by_key(|counts| counts.sender);
        senders
    }
}
