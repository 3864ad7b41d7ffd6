//! One client of a hub, without its socket: what it sent, what it wants, what waits for it.

use super::outbox::Outbox;
use super::{Client, Settings};
use crate::pattern::{BadPattern, Pattern};
use crate::transport::tcpq::frames::{BadStream, FrameReader, Published, WholeFrame};
use bowline_wire::tcpq::{
    BadFrame, CONFIRM_PREFIX, CONFIRMING_VERSION, Limits, Side, write_publish_header,
};
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many patterns a client may have. Each costs every other client's messages time.
const MAX_PATTERNS: usize = 20_000;

#[derive(Debug)]
pub(super) struct Seat {
    pub(super) reader: FrameReader,
    pub(super) outbox: Outbox,
    pub(super) gauge: Arc<Gauge>,
    /// How often each was subscribed to.
    patterns: Vec<(Pattern, u32)>,
    /// Whether it sent its hello, and that was reported.
    pub(super) has_joined: bool,
    /// When it connected.
    pub(super) since: Instant,
    /// When it last took something, or had nothing to take.
    pub(super) took: Instant,
}

/// What is counted of a client, to be seen from other threads.
#[derive(Debug)]
pub(super) struct Gauge {
    pub(super) peer: SocketAddr,
    pub(super) received: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) waiting: AtomicU64,
    pub(super) patterns: AtomicU64,
    pub(super) ignored: AtomicU64,
}

impl Gauge {
    pub(super) fn read(&self) -> Client {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Client {
            peer: self.peer,
            patterns: load(&self.patterns),
            received: load(&self.received),
            sent: load(&self.sent),
            dropped: load(&self.dropped),
            waiting_bytes: load(&self.waiting),
            ignored: load(&self.ignored),
        }
    }
}

/// What a client's frame means for the others.
#[derive(Debug)]
pub(super) enum Deed {
    /// To be relayed.
    Published(Published),
    /// It wants something else than before.
    WantsChanged,
    /// Nothing.
    Answered,
    /// Nothing: it was left out. The first of a client comes with the reason.
    Ignored(Option<Fault>),
}

/// Why one frame of a client was left out. Where the next one begins is still clear, so the client stays: one that is
/// sent away comes back and sends the same again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("a subscription: {0}")]
    Pattern(#[from] BadPattern),
    #[error("a frame: {0}")]
    Frame(BadFrame),
}

/// Why a client is sent away.
#[derive(Debug, thiserror::Error)]
pub(super) enum Misdeed {
    #[error(transparent)]
    Stream(#[from] BadStream),
    #[error("expected at most {MAX_PATTERNS} subscriptions, found more")]
    TooManyPatterns,
}

impl Seat {
    pub(super) fn new(peer: SocketAddr, settings: &Settings, now: Instant) -> Self {
        let mut seat = Self {
            reader: FrameReader::new(Side::Client, Limits::default()),
            outbox: Outbox::new(settings.queue_bytes),
            gauge: Arc::new(Gauge {
                peer,
                received: AtomicU64::new(0),
                sent: AtomicU64::new(0),
                dropped: AtomicU64::new(0),
                waiting: AtomicU64::new(0),
                patterns: AtomicU64::new(0),
                ignored: AtomicU64::new(0),
            }),
            patterns: Vec::new(),
            has_joined: false,
            since: now,
            took: now,
        };
        let hello = Side::Server.hello_of_version(CONFIRMING_VERSION);
        seat.outbox.push(Bytes::copy_from_slice(&hello));
        seat
    }

    /// What the next frame means, if there is one as a whole.
    pub(super) fn next(&mut self) -> Result<Option<Deed>, Misdeed> {
        Ok(match self.reader.next()? {
            None => None,
            Some(WholeFrame::Publish(message)) => {
                self.gauge.received.fetch_add(1, Ordering::Relaxed);
                Some(Deed::Published(message))
            }
            Some(WholeFrame::Subscribe(pattern)) if pattern.starts_with(CONFIRM_PREFIX) => {
                self.confirm(&pattern);
                Some(Deed::Answered)
            }
            Some(WholeFrame::Subscribe(pattern)) => Some(self.subscribe(&pattern)?),
            Some(WholeFrame::Unsubscribe(pattern)) => {
                self.unsubscribe(&pattern);
                Some(Deed::WantsChanged)
            }
            Some(WholeFrame::Unusable(fault)) => Some(self.ignore(Fault::Frame(fault))),
        })
    }

    /// Counts what is left out; only the first is worth a word, however often it is repeated.
    fn ignore(&self, fault: Fault) -> Deed {
        let n_before = self.gauge.ignored.fetch_add(1, Ordering::Relaxed);
        Deed::Ignored((n_before == 0).then_some(fault))
    }

    fn confirm(&mut self, question: &str) {
        let mut frame = Vec::new();
        // It came in a frame, so it fits into one.
        drop(write_publish_header(question, 0, &mut frame));
        self.push(frame.into());
    }

    fn subscribe(&mut self, text: &str) -> Result<Deed, Misdeed> {
        let mut known = self.patterns.iter_mut();
        if let Some((_, count)) = known.find(|(pattern, _)| pattern.as_str() == text) {
            *count = count.saturating_add(1);
            return Ok(Deed::WantsChanged);
        }
        if self.patterns.len() >= MAX_PATTERNS {
            return Err(Misdeed::TooManyPatterns);
        }
        match Pattern::new(text) {
            Ok(pattern) => self.patterns.push((pattern, 1)),
            Err(fault) => return Ok(self.ignore(fault.into())),
        }
        self.count_patterns();
        Ok(Deed::WantsChanged)
    }

    fn unsubscribe(&mut self, text: &str) {
        self.patterns.retain_mut(|(pattern, count)| {
            if pattern.as_str() == text {
                *count -= 1;
            }
            *count > 0
        });
        self.count_patterns();
    }

    fn count_patterns(&self) {
        let count = self.patterns.len() as u64;
        self.gauge.patterns.store(count, Ordering::Relaxed);
    }

    pub(super) fn wants(&self, channel: &str) -> bool {
        self.patterns
            .iter()
            .any(|(pattern, _)| pattern.matches(channel))
    }

    /// Queues a frame; returns how many were dropped for it.
    pub(super) fn push(&mut self, frame: Bytes) -> u64 {
        let n_dropped = self.outbox.push(frame);
        self.gauge.dropped.fetch_add(n_dropped, Ordering::Relaxed);
        n_dropped
    }
}
