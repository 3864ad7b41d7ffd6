//! What a page is sent next.
//!
//! In: what happened, what the page wants, and the time. Out: frames, when the socket has room for one. So a page that
//! reads slowly sees less often and never late: of most channels only the newest message waits, and everything that it
//! was not sent is counted.

use crate::board::{Board, ChannelId, Described, Message};
use crate::frame;
use crate::wish::{Manner, Wishes};
use bowline_node::Time;
use bowline_wire::Fingerprint;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Replies and such that may wait. A page that asks more without reading is sent away.
const MAX_URGENT: usize = 256;
/// Messages of one channel that may wait where every one is wanted, and their bytes.
const MAX_QUEUED: usize = 256;
const MAX_QUEUED_BYTES: usize = 4 << 20;
/// Messages of the past that are sent to a page at once, of all channels together.
const MAX_PAST: usize = 16_384;

/// What waits for a page.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    urgent: VecDeque<Bytes>,
    status: Option<Bytes>,
    wishes: Option<Wishes>,
    slots: Vec<Slot>,
    /// Channels that the page is to be told about.
    unannounced: BTreeSet<ChannelId>,
    schemas: BTreeMap<u64, Bytes>,
    past: VecDeque<(ChannelId, Message)>,
    /// Channels with something to send, by when that may be.
    pending: BTreeSet<(Time, ChannelId)>,
    is_overrun: bool,
    pub(crate) counts: OutboxCounts,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutboxCounts {
    /// Frames that were taken to be sent, and their bytes.
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    /// Messages that the page wanted and was not sent.
    pub(crate) skipped: u64,
}

/// A channel as this page has it.
#[derive(Debug)]
struct Slot {
    name: bowline_bus::Channel,
    /// The type that the channel has now, and the one that the page was told.
    fingerprint: Fingerprint,
    told: Option<Fingerprint>,
    manner: Option<Manner>,
    queue: VecDeque<Message>,
    n_bytes: usize,
    n_skipped: u32,
    /// When the next one may be sent.
    due: Time,
}

impl Outbox {
    /// Something for this page alone: a greeting, a reply.
    pub(crate) fn say(&mut self, frame: Bytes) {
        if self.urgent.len() >= MAX_URGENT {
            self.is_overrun = true;
        } else {
            self.urgent.push_back(frame);
        }
    }

    /// Whether the page asks and does not read.
    pub(crate) fn is_overrun(&self) -> bool {
        self.is_overrun
    }

    /// The newest status; one that waits is out of date.
    pub(crate) fn status(&mut self, frame: Bytes) {
        self.status = Some(frame);
    }

    /// A channel is new, or has another type.
    pub(crate) fn channel(&mut self, board: &Board, id: ChannelId) {
        let Some(heard) = board.channel(id) else {
            return;
        };
        // Ids are given in order, so there are no gaps.
        if self.slots.len() == id.0 as usize {
            self.slots.push(Slot {
                name: heard.name.clone(),
                fingerprint: Fingerprint(0),
                told: None,
                manner: None,
                queue: VecDeque::new(),
                n_bytes: 0,
                n_skipped: 0,
                due: Time::ZERO,
            });
        }
        let type_name = board.type_of(heard.fingerprint).map(|it| &*it.name);
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            slot.fingerprint = heard.fingerprint;
            let wishes = self.wishes.as_ref();
            slot.manner = wishes.and_then(|wishes| Some(wishes.find(&slot.name, type_name)?.0));
            self.unannounced.insert(id);
        }
    }

    /// A type was described.
    pub(crate) fn schema(&mut self, fingerprint: Fingerprint, described: &Described) {
        self.schemas
            .insert(fingerprint.0, described.compact.clone());
    }

    /// A message came.
    pub(crate) fn offer(&mut self, now: Time, id: ChannelId, message: &Message) {
        let Some(slot) = self.slots.get_mut(id.0 as usize) else {
            return;
        };
        let Some(manner) = slot.manner else {
            return;
        };
        let was_empty = slot.queue.is_empty();
        let n_dropped = match manner {
            Manner::Newest { .. } => slot.drop_oldest_beyond(0, 0),
            Manner::All => slot.drop_oldest_beyond(
                MAX_QUEUED - 1,
                MAX_QUEUED_BYTES.saturating_sub(message.payload.len()),
            ),
        };
        slot.n_bytes += message.payload.len();
        slot.queue.push_back(message.clone());
        self.counts.skipped += u64::from(n_dropped);
        if was_empty {
            slot.due = slot.due.max(now);
            self.pending.insert((slot.due, id));
        }
    }

    /// What the page wants from now on: the last message of each channel, the past where it wants that, and what comes.
    pub(crate) fn subscribe(&mut self, now: Time, board: &Board, wishes: Wishes) {
        self.clear_messages();
        self.wishes = Some(wishes);
        self.fill(now, board);
    }

    /// Time went back: what the page knows is void.
    pub(crate) fn reset(&mut self, now: Time, board: &Board, utime: i64, why: &str) {
        self.clear_messages();
        self.say(frame::reset(utime, why));
        self.fill(now, board);
    }

    fn clear_messages(&mut self) {
        self.past.clear();
        self.pending.clear();
        for slot in &mut self.slots {
            slot.queue.clear();
            slot.n_bytes = 0;
            slot.due = Time::ZERO;
        }
    }

    /// What was there before the page came, in the order of time.
    fn fill(&mut self, now: Time, board: &Board) {
        let Some(wishes) = &self.wishes else {
            return;
        };
        let mut past: Vec<(ChannelId, Message)> = Vec::new();
        let mut last = Vec::new();
        for (id, heard) in board.channels() {
            let type_name = board.type_of(heard.fingerprint).map(|it| &*it.name);
            let found = wishes.find(&heard.name, type_name);
            if let Some(slot) = self.slots.get_mut(id.0 as usize) {
                slot.manner = found.map(|it| it.0);
            }
            let Some((_, n_past)) = found else {
                continue;
            };
            let room = MAX_PAST.saturating_sub(past.len());
            let newest = heard.last.as_ref();
            let older = heard.past.sample(n_past.min(room));
            let older = older.filter(|it| newest.is_none_or(|newest| !is_same(it, newest)));
            past.extend(older.map(|message| (id, message.clone())));
            last.extend(newest.map(|message| (id, message.clone())));
        }
        past.sort_by_key(|(_, message)| message.utime);
        self.past = past.into();
        last.sort_by_key(|(_, message)| message.utime);
        for (id, message) in last {
            self.offer(now, id, &message);
        }
    }

    /// The next frame that may be sent.
    pub(crate) fn take(&mut self, now: Time) -> Option<Bytes> {
        let frame = self.next(now)?;
        self.counts.frames += 1;
        self.counts.bytes += frame.len() as u64;
        Some(frame)
    }

    fn next(&mut self, now: Time) -> Option<Bytes> {
        if let Some(frame) = self.urgent.pop_front() {
            return Some(frame);
        }
        if let Some(frame) = self.status.take() {
            return Some(frame);
        }
        if let Some(id) = self.unannounced.pop_first() {
            let slot = self.slots.get_mut(id.0 as usize)?;
            return Some(slot.announce(id, slot.fingerprint));
        }
        if let Some((fingerprint, compact)) = self.schemas.pop_first() {
            return Some(frame::schema(Fingerprint(fingerprint), &compact));
        }
        if let Some((id, message)) = self.past.front() {
            let (id, fingerprint) = (*id, message.fingerprint());
            let slot = self.slots.get_mut(id.0 as usize)?;
            if slot.told != Some(fingerprint) {
                return Some(slot.announce(id, fingerprint));
            }
            let (_, message) = self.past.pop_front()?;
            return Some(frame::message(id.0, message.utime, 0, &message.payload));
        }
        self.next_message(now)
    }

    fn next_message(&mut self, now: Time) -> Option<Bytes> {
        let (due, id) = *self.pending.first()?;
        if due > now {
            return None;
        }
        let slot = self.slots.get_mut(id.0 as usize)?;
        let fingerprint = slot.queue.front().map(Message::fingerprint);
        if let Some(fingerprint) = fingerprint
            && slot.told != Some(fingerprint)
        {
            return Some(slot.announce(id, fingerprint));
        }
        self.pending.pop_first();
        let message = slot.queue.pop_front()?;
        slot.n_bytes -= message.payload.len();
        let period = match slot.manner {
            Some(Manner::Newest { period }) => period,
            Some(Manner::All) | None => Duration::ZERO,
        };
        slot.due = now + period;
        if !slot.queue.is_empty() {
            self.pending.insert((slot.due, id));
        }
        let n_skipped = std::mem::take(&mut slot.n_skipped);
        Some(frame::message(
            id.0,
            message.utime,
            n_skipped,
            &message.payload,
        ))
    }

    /// When there will be something to send, if nothing else happens.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.pending.first().map(|(due, _)| *due)
    }
}

fn is_same(one: &Message, other: &Message) -> bool {
    one.utime == other.utime && one.payload == other.payload
}

impl Slot {
    fn announce(&mut self, id: ChannelId, fingerprint: Fingerprint) -> Bytes {
        self.told = Some(fingerprint);
        frame::channel(id.0, fingerprint, &self.name)
    }

    /// Makes room. Returns how many were dropped.
    fn drop_oldest_beyond(&mut self, n: usize, n_bytes: usize) -> u32 {
        let mut n_dropped = 0;
        while self.queue.len() > n || (self.n_bytes > n_bytes && !self.queue.is_empty()) {
            if let Some(oldest) = self.queue.pop_front() {
                self.n_bytes -= oldest.payload.len();
                n_dropped += 1;
            }
        }
        self.n_skipped = self.n_skipped.saturating_add(n_dropped);
        n_dropped
    }
}

#[cfg(test)]
mod tests;
