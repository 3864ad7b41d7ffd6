//! Describes on `bowline.schema` the types of the messages that this bus publishes, so that inspectors and recorders need
//! no set-up.
//!
//! A type is described when it is first published, every [`PERIOD`] after as long as something is published, and when
//! a request comes on `bowline.schema.request`, which only a bus that is read anyway receives. There is no thread: each
//! call that publishes sends the few descriptions that are due, before the message.

use crate::clock;
use crate::transport::{Outgoing, Transport};
pub use bowline_format::SCHEMA_CHANNEL;
use bowline_msgs::Schema;
use bowline_wire::schema::{Docs, TypeId, TypeSet};
use bowline_wire::{Fingerprint, Message};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// Where publishers can be asked to describe their messages, with a `bowline.schema_request_t`.
pub const SCHEMA_REQUEST_CHANNEL: &str = "bowline.schema.request";

/// How often each type is described again.
const PERIOD: Duration = Duration::from_secs(5);
/// How often everything is described at most, however often it is requested.
const MIN_PERIOD: Duration = Duration::from_secs(1);
/// How many descriptions one call may send, so that no publisher waits for a burst of them.
const MAX_AT_ONCE: usize = 8;
/// Types of one bus that are described: more than real programs have.
const MAX_TYPES: usize = 4_096;
/// Channels that are named for each type.
const MAX_CHANNELS: usize = 64;
/// A description that is longer goes without its comments, and not at all if that does not help.
const MAX_DESCRIPTION: usize = 48 << 10;

/// What a bus has published, and what it has still to describe of that.
#[derive(Debug)]
pub(crate) struct Announcer {
    is_on: bool,
    start: Instant,
    known: RwLock<Known>,
    /// Nanoseconds after the start when a publisher has to look again; never, while nothing is known.
    due_ns: AtomicU64,
    is_asked: AtomicBool,
    /// Nanoseconds after the start when requests were last answered; 0 if never.
    answered_ns: AtomicU64,
    announced: AtomicU64,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    types: HashMap<Fingerprint, Described>,
    /// In the order in which they became known.
    order: Vec<Fingerprint>,
    /// To be sent.
    pending: VecDeque<Fingerprint>,
}

#[derive(Debug)]
struct Described {
    channels: HashSet<Box<str>>,
    /// None where there is nothing to send, or too much.
    schema: Option<Schema>,
}

impl Announcer {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            start: clock::monotonic(),
            known: RwLock::default(),
            due_ns: AtomicU64::new(u64::MAX),
            is_asked: AtomicBool::new(false),
            answered_ns: AtomicU64::new(0),
            announced: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// Whether there is something to be asked for.
    pub(crate) fn can_be_asked(&self) -> bool {
        self.due_ns.load(Ordering::Acquire) != u64::MAX
    }

    /// A description is requested.
    pub(crate) fn ask(&self) {
        self.is_asked.store(true, Ordering::Release);
    }

    /// Descriptions that were sent, and those that the transport refused.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.announced), load(&self.failures))
    }

    /// Takes note of a message that is about to be published. Returns whether that is the first that can be described.
    pub(crate) fn see<M: Message>(&self, channel: &str) -> bool {
        let describe = || {
            let types = TypeSet::from_bytes(M::SCHEMA).ok()?;
            let id = types.by_fingerprint(M::FINGERPRINT)?;
            description(&types, id)
        };
        self.see_described(channel, M::FINGERPRINT, describe)
    }

    /// The same for a type that is known at run time.
    pub(crate) fn see_type(&self, channel: &str, types: &TypeSet, id: TypeId) -> bool {
        let Some(fingerprint) = types.fingerprint(id) else {
            return false;
        };
        self.see_described(channel, fingerprint, || description(types, id))
    }

    fn see_described(
        &self,
        channel: &str,
        fingerprint: Fingerprint,
        describe: impl FnOnce() -> Option<Schema>,
    ) -> bool {
        if !self.is_on || channel == SCHEMA_REQUEST_CHANNEL || channel == SCHEMA_CHANNEL {
            return false;
        }
        let is_known = |described: &Described| {
            described.channels.contains(channel) || described.channels.len() >= MAX_CHANNELS
        };
        if self.read().types.get(&fingerprint).is_some_and(is_known) {
            return false;
        }
        let mut known = self.write();
        let was_empty = known.pending.is_empty() && !self.can_be_asked();
        if !known.add(channel, fingerprint, describe) {
            return false;
        }
        self.due_ns.store(0, Ordering::Release);
        was_empty
    }

    /// Sends some of the descriptions that are due.
    #[inline]
    pub(crate) fn announce(&self, transport: &dyn Transport) {
        let due_ns = self.due_ns.load(Ordering::Acquire);
        if due_ns == u64::MAX {
            return;
        }
        let is_due = due_ns == 0 || self.elapsed_ns() >= due_ns;
        if is_due || self.is_answering() {
            self.announce_some(transport);
        }
    }

    fn announce_some(&self, transport: &dyn Transport) {
        let mut messages = Vec::new();
        {
            let mut known = self.write();
            let is_answering = self.is_answering();
            if is_answering {
                self.is_asked.store(false, Ordering::Release);
                self.answered_ns.store(self.elapsed_ns(), Ordering::Release);
            }
            if is_answering || (known.pending.is_empty() && self.is_period_over()) {
                known.pending = known.order.iter().copied().collect();
            }
            while messages.len() < MAX_AT_ONCE
                && let Some(fingerprint) = known.pending.pop_front()
            {
                let described = known.types.get(&fingerprint);
                let schema = described.and_then(|described| described.schema.as_ref());
                messages.extend(schema.and_then(|schema| schema.encode().ok()));
            }
            let due_ns = if known.pending.is_empty() {
                let period = u64::try_from(PERIOD.as_nanos()).unwrap_or(u64::MAX - 1);
                self.elapsed_ns().saturating_add(period)
            } else {
                0
            };
            self.due_ns.store(due_ns, Ordering::Release);
        }
        // Not while others wait for the list: a transport may take its time.
        for payload in &messages {
            let message = Outgoing {
                channel: SCHEMA_CHANNEL,
                payload,
                shared: None,
            };
            let counter = match transport.send(&[message]) {
                Ok(()) => &self.announced,
                Err(_told_with_the_message_itself) => &self.failures,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether there is a request, and the last answer is not just given: a flood of requests gets no flood of
    /// answers.
    fn is_answering(&self) -> bool {
        if !self.is_asked.load(Ordering::Acquire) {
            return false;
        }
        let answered_ns = self.answered_ns.load(Ordering::Acquire);
        let since = Duration::from_nanos(self.elapsed_ns().saturating_sub(answered_ns));
        answered_ns == 0 || since >= MIN_PERIOD
    }

    fn is_period_over(&self) -> bool {
        let due_ns = self.due_ns.load(Ordering::Acquire);
        due_ns != 0 && self.elapsed_ns() >= due_ns
    }

    fn elapsed_ns(&self) -> u64 {
        let elapsed = clock::monotonic().saturating_duration_since(self.start);
        // Neither of the two that mean something else.
        u64::try_from(elapsed.as_nanos())
            .unwrap_or(u64::MAX)
            .clamp(1, u64::MAX - 1)
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Adds a channel of a type; returns whether there is something new to be sent.
    fn add(
        &mut self,
        channel: &str,
        fingerprint: Fingerprint,
        describe: impl FnOnce() -> Option<Schema>,
    ) -> bool {
        if !self.types.contains_key(&fingerprint) {
            if self.types.len() >= MAX_TYPES {
                return false;
            }
            self.order.push(fingerprint);
        }
        let described = self.types.entry(fingerprint).or_insert_with(|| Described {
            channels: HashSet::new(),
            schema: describe(),
        });
        described.channels.insert(channel.into());
        let Some(schema) = &mut described.schema else {
            return false;
        };
        schema.channels.push(channel.to_owned());
        schema.n_channels = i32::try_from(schema.channels.len()).unwrap_or(0);
        if !self.pending.contains(&fingerprint) {
            self.pending.push_front(fingerprint);
        }
        true
    }
}

/// The description of a type, but for the channels.
fn description(types: &TypeSet, id: TypeId) -> Option<Schema> {
    let closure = types.closure(id);
    let bytes = [Docs::Keep, Docs::Strip]
        .into_iter()
        .map(|docs| closure.to_bytes(docs))
        .find(|bytes| bytes.len() <= MAX_DESCRIPTION)?;
    let publisher = Publisher::this();
    Some(
        Schema {
            version: Schema::VERSION,
            fingerprint: types.fingerprint(id)?.0.cast_signed(),
            name: types.def(id).full_name(),
            host: publisher.host.clone(),
            process: publisher.process.clone(),
            pid: publisher.pid,
            bytes,
            ..Schema::default()
        }
        .with_lengths(),
    )
}

/// This process, as others know it.
struct Publisher {
    host: String,
    process: String,
    pid: i32,
}

impl Publisher {
    fn this() -> &'static Self {
        static THIS: OnceLock<Publisher> = OnceLock::new();
        THIS.get_or_init(|| {
            let line = |path| {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                text.trim().to_owned()
            };
            let program = std::fs::read_link("/proc/self/exe").ok();
            let name = program.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
            Self {
                host: line("/proc/sys/kernel/hostname"),
                process: name.unwrap_or_else(|| line("/proc/self/comm")),
                pid: i32::try_from(std::process::id()).unwrap_or(0),
            }
        })
    }
}
