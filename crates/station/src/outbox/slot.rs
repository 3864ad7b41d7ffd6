//! A channel as a page has it, and what waits there.

use super::is_same;
use crate::board::{ChannelId, Message};
use crate::frame;
use crate::wish::Wanted;
use bowline_bus::Channel;
use bowline_component::Time;
use bowline_wire::Fingerprint;
use bytes::Bytes;
use std::collections::VecDeque;

/// What a message costs beside its bytes.
const OVERHEAD: usize = 64;

/// What a message costs that waits.
pub(super) fn cost(message: &Message) -> usize {
    message.payload.len() + OVERHEAD
}

/// A channel as a page has it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) name: Channel,
    /// The type that the channel has now, and the one that the page has.
    pub(super) fingerprint: Fingerprint,
    pub(super) told: Option<Fingerprint>,
    pub(super) wanted: Option<Wanted>,
    queue: VecDeque<Message>,
    n_bytes: usize,
    /// Whether the newest is the board's last one too, and costs nothing here.
    is_newest_shared: bool,
    pub(super) n_skipped: u32,
    /// How much of its past is not sent yet.
    pub(super) n_past: usize,
    pub(super) turn: Turn,
    /// When the next one may be sent.
    pub(super) due: Time,
}

/// What a channel's queue waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// For a message.
    None,
    /// For the other channels that the page sees first.
    First,
    /// For its own past.
    AfterPast,
    /// For its time.
    Due,
}

impl Slot {
    pub(super) fn new(name: Channel) -> Self {
        Self {
            name,
            fingerprint: Fingerprint(0),
            told: None,
            wanted: None,
            queue: VecDeque::new(),
            n_bytes: 0,
            is_newest_shared: false,
            n_skipped: 0,
            n_past: 0,
            turn: Turn::None,
            due: Time::ZERO,
        }
    }

    pub(super) fn announce(&mut self, id: ChannelId, fingerprint: Fingerprint) -> Bytes {
        self.told = Some(fingerprint);
        frame::channel(id.0, fingerprint, &self.name)
    }

    pub(super) fn n_queued(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn oldest(&self) -> Option<&Message> {
        self.queue.front()
    }

    /// Whether this message waits.
    pub(super) fn has(&self, message: &Message) -> bool {
        self.queue.iter().any(|it| is_same(it, message))
    }

    /// What would be gained if nothing waited.
    pub(super) fn weight(&self) -> usize {
        let newest = self.queue.back().filter(|_| self.is_newest_shared);
        self.n_bytes - newest.map_or(0, cost)
    }

    pub(super) fn push(&mut self, message: Message, is_shared: bool) {
        self.n_bytes += cost(&message);
        self.queue.push_back(message);
        self.is_newest_shared = is_shared;
    }

    pub(super) fn pop(&mut self) -> Option<Message> {
        let oldest = self.queue.pop_front()?;
        self.n_bytes -= cost(&oldest);
        Some(oldest)
    }

    /// Makes room. Returns how many were dropped.
    pub(super) fn drop_oldest_beyond(&mut self, n: usize, n_bytes: usize) -> u32 {
        let mut n_dropped = 0;
        while (self.queue.len() > n || self.n_bytes > n_bytes) && self.pop().is_some() {
            n_dropped += 1;
        }
        self.skip(n_dropped);
        n_dropped
    }

    /// The page will not get so many.
    pub(super) fn skip(&mut self, n: u32) {
        self.n_skipped = self.n_skipped.saturating_add(n);
    }

    /// Begins anew, but for what the page has and what it missed.
    pub(super) fn clear(&mut self) -> VecDeque<Message> {
        self.n_bytes = 0;
        self.n_past = 0;
        self.turn = Turn::None;
        self.due = Time::ZERO;
        std::mem::take(&mut self.queue)
    }
}
