//! Many small messages in few calls into the system.

use crate::bus::{Bus, PublishError, Tallies};
use crate::transport::{Outgoing, SendError, Transport};
use bowline_wire::Message;
use bowline_wire::datagram::check_channel;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// When so much is collected it goes out: what the kernel takes in one piece.
const FULL_BYTES: usize = 62 << 10;
/// Or so many messages.
const FULL_COUNT: usize = 128;

/// Collects messages, and publishes them together when there are enough, and when it is dropped or flushed.
#[derive(Debug)]
pub struct Cork<'a> {
    bus: &'a Bus,
    collected: Collected,
}

impl<'a> Cork<'a> {
    pub(crate) fn new(bus: &'a Bus) -> Self {
        Self {
            bus,
            collected: Collected::default(),
        }
    }

    /// Adds a message.
    ///
    /// # Errors
    /// When it cannot be sent faithfully, or what was collected before is refused by the transport.
    pub fn publish<M: Message>(&mut self, channel: &str, message: &M) -> Result<(), PublishError> {
        let payload = message.encode()?;
        self.bus.see::<M>(channel);
        self.publish_bytes(channel, &payload)
    }

    /// Adds an encoded message.
    ///
    /// # Errors
    /// When the channel's name cannot be sent, or what was collected before is refused by the transport.
    pub fn publish_bytes(&mut self, channel: &str, payload: &[u8]) -> Result<(), PublishError> {
        check_channel(channel)?;
        if !self.collected.has_room_for(channel, payload) {
            self.flush()?;
        }
        self.collected.add(channel, payload);
        Ok(())
    }

    /// Publishes what is collected.
    ///
    /// # Errors
    /// When the transport refuses.
    pub fn flush(&mut self) -> Result<(), PublishError> {
        let bus = self.bus;
        self.collected.drain(|messages| bus.send(messages))
    }
}

impl Drop for Cork<'_> {
    fn drop(&mut self) {
        // The failure is counted; who wants to know at once calls `flush`.
        drop(self.flush());
    }
}

/// Messages end to end.
#[derive(Debug, Default)]
struct Collected {
    bytes: Vec<u8>,
    messages: Vec<(Range<usize>, Range<usize>)>,
}

impl Collected {
    fn has_room_for(&self, channel: &str, payload: &[u8]) -> bool {
        self.messages.is_empty()
            || self.messages.len() < FULL_COUNT
                && self.bytes.len() + channel.len() + payload.len() <= FULL_BYTES
    }

    fn add(&mut self, channel: &str, payload: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(channel.as_bytes());
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.messages
            .push((start..middle, middle..self.bytes.len()));
    }

    /// Hands everything to `send` and is empty afterwards, whatever that returns.
    fn drain<E>(&mut self, send: impl FnOnce(&[Outgoing<'_>]) -> Result<(), E>) -> Result<(), E> {
        if self.messages.is_empty() {
            return Ok(());
        }
        let bytes = &self.bytes;
        let message = |(channel, payload): &(Range<usize>, Range<usize>)| {
            let channel = bytes.get(channel.clone()).unwrap_or_default();
            Outgoing {
                channel: std::str::from_utf8(channel).unwrap_or_default(),
                payload: bytes.get(payload.clone()).unwrap_or_default(),
                shared: None,
            }
        };
        let messages: Vec<Outgoing<'_>> = self.messages.iter().map(message).collect();
        let sent = send(&messages);
        self.messages.clear();
        self.bytes.clear();
        sent
    }
}

/// The cork that `batch=DURATION` puts on a whole bus.
#[derive(Debug)]
pub(crate) struct Batcher {
    core: Arc<BatcherCore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct BatcherCore {
    transport: Arc<dyn Transport>,
    tallies: Arc<Tallies>,
    delay: Duration,
    state: Mutex<BatcherState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct BatcherState {
    collected: Collected,
    is_closing: bool,
}

impl Batcher {
    pub(crate) fn start(
        transport: Arc<dyn Transport>,
        tallies: Arc<Tallies>,
        delay: Duration,
    ) -> io::Result<Self> {
        let core = Arc::new(BatcherCore {
            transport,
            tallies,
            delay,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let worker = Arc::clone(&core);
        let thread = std::thread::Builder::new().name("bowline-batch".to_owned());
        let thread = thread.spawn(move || worker.run())?;
        Ok(Self {
            core,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Holds a message back, or sends what is there when that is enough.
    pub(crate) fn add(&self, message: &Outgoing<'_>) -> Result<(), SendError> {
        let mut state = self.core.lock();
        let mut sent = Ok(());
        if !state
            .collected
            .has_room_for(message.channel, message.payload)
        {
            sent = self.core.flush(&mut state);
        }
        let is_first = state.collected.messages.is_empty();
        state.collected.add(message.channel, message.payload);
        drop(state);
        if is_first {
            self.core.changed.notify_one();
        }
        sent
    }

    pub(crate) fn close(&self) {
        self.core.lock().is_closing = true;
        self.core.changed.notify_one();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            drop(thread.join());
        }
    }
}

impl BatcherCore {
    fn run(&self) {
        let mut state = self.lock();
        loop {
            if state.collected.messages.is_empty() {
                if state.is_closing {
                    return;
                }
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if !state.is_closing {
                let woken = self.changed.wait_timeout(state, self.delay);
                (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
            }
            // The failure is counted: there is no publisher here to return it to.
            drop(self.flush(&mut state));
        }
    }

    fn flush(&self, state: &mut BatcherState) -> Result<(), SendError> {
        state.collected.drain(|messages| {
            let sent = self.transport.send(messages);
            self.tallies.published_all(messages, sent.is_ok());
            sent
        })
    }

    fn lock(&self) -> MutexGuard<'_, BatcherState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
