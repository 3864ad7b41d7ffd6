//! What a page is sent next.
//!
//! In: what happened, what the page wants, and the time. Out: frames, when the socket has room for one. So a page that
//! reads slowly sees less often and never late: of most channels only the newest message waits, and everything that it
//! was not sent is counted.
//!
//! ```text
//!  greetings, replies ─▶ RESET ─▶ STATUS ─▶ CHANNEL ─▶ last messages, the shortest first ─┬▶ types and the past ─┬▶
//!                                                                                         └▶ what comes ─────────┘ in turns
//! ```
//!
//! Messages of a channel keep their order: where a past is wanted, the last message comes after it.

mod slot;

use crate::board::{Board, ChannelId, Described, Listed, Message, Outcome};
use crate::frame;
use crate::wish::{Manner, Wanted, Wishes};
use bowline_component::Time;
use bowline_wire::Fingerprint;
use bytes::Bytes;
use slot::{Slot, Turn, cost};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Replies and such that may wait. A page that asks more without reading is sent away.
const MAX_URGENT: usize = 256;
/// Messages of one channel that may wait where every one is wanted, and their bytes.
const MAX_QUEUED: usize = 256;
const MAX_QUEUED_BYTES: usize = 4 << 20;
/// All that waits for a page, but for the last messages of channels, which the board has anyway.
const MAX_BYTES: usize = 32 << 20;
/// Messages of the past that are sent to a page at once, of all channels together, and their bytes.
const MAX_PAST: usize = 16_384;
const MAX_PAST_BYTES: usize = 16 << 20;

/// What waits for a page.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    urgent: VecDeque<Bytes>,
    reset: Option<Bytes>,
    status: Option<Bytes>,
    wishes: Option<Wishes>,
    slots: BTreeMap<ChannelId, Slot>,
    /// Channels that the page is to be notified of.
    unannounced: BTreeSet<ChannelId>,
    schemas: BTreeMap<u64, Bytes>,
    /// Channels whose last message is the first that the page sees of them.
    first: VecDeque<ChannelId>,
    past: VecDeque<(ChannelId, Message)>,
    past_bytes: usize,
    /// Channels with something to send, by when that may be.
    pending: BTreeSet<(Time, ChannelId)>,
    /// Whether what comes is next, and not the past.
    is_live_next: bool,
    /// What the queues of channels weigh, and all of them together.
    weights: BTreeSet<(usize, ChannelId)>,
    queued_bytes: usize,
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

/// What wishes come to for the channels that there are. To find that out takes a while, and needs no lock.
#[derive(Debug)]
pub(crate) struct Plan {
    wishes: Wishes,
    /// With the type that the channel had.
    found: BTreeMap<ChannelId, (Option<Arc<str>>, Option<Wanted>)>,
}

impl Plan {
    pub(crate) fn new(wishes: Wishes, channels: Vec<Listed>) -> Self {
        let found = channels.into_iter().map(|(id, name, type_name)| {
            let wanted = wishes.find(&name, type_name.as_deref());
            (id, (type_name, wanted))
        });
        Self {
            found: found.collect(),
            wishes,
        }
    }

    /// What is wanted of a channel, which may be a newer one, or have another type by now.
    fn wanted(&self, id: ChannelId, name: &str, type_name: Option<&str>) -> Option<Wanted> {
        match self.found.get(&id) {
            Some((planned, wanted)) if planned.as_deref() == type_name => *wanted,
            Some(_) | None => self.wishes.find(name, type_name),
        }
    }
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

    /// The result of receiving a message.
    pub(crate) fn learn(&mut self, board: &Board, outcome: Outcome) {
        let Outcome::Changed { id, gone } = outcome else {
            return;
        };
        if let Some(gone) = gone {
            self.forget(gone);
        }
        self.channel(board, id);
    }

    /// A channel is new, or has another type.
    pub(crate) fn channel(&mut self, board: &Board, id: ChannelId) {
        let Some(heard) = board.channel(id) else {
            return;
        };
        let type_name = board.type_of(heard.fingerprint).map(|it| &*it.name);
        let slot = self.slots.entry(id);
        let slot = slot.or_insert_with(|| Slot::new(heard.name.clone()));
        slot.fingerprint = heard.fingerprint;
        let wishes = self.wishes.as_ref();
        slot.wanted = wishes.and_then(|wishes| wishes.find(&slot.name, type_name));
        self.unannounced.insert(id);
    }

    /// A channel is not there any more.
    fn forget(&mut self, id: ChannelId) {
        let Some(slot) = self.slots.remove(&id) else {
            return;
        };
        self.counts.skipped += slot.n_queued() as u64;
        self.pending.remove(&(slot.due, id));
        self.weights.remove(&(slot.weight(), id));
        self.queued_bytes -= slot.weight();
        self.unannounced.remove(&id);
    }

    /// A type was described.
    pub(crate) fn schema(&mut self, fingerprint: Fingerprint, described: &Described) {
        self.schemas
            .insert(fingerprint.0, described.compact.clone());
    }

    /// A message came. `is_kept`: the board has it as the last one of the channel.
    pub(crate) fn offer(&mut self, now: Time, id: ChannelId, message: &Message, is_kept: bool) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let Some(Wanted { manner, .. }) = slot.wanted else {
            return;
        };
        let before = slot.weight();
        let n_dropped = match manner {
            Manner::Newest { .. } => slot.drop_oldest_beyond(0, 0),
            Manner::All => slot.drop_oldest_beyond(
                MAX_QUEUED - 1,
                MAX_QUEUED_BYTES.saturating_sub(cost(message)),
            ),
        };
        slot.push(message.clone(), is_kept);
        self.counts.skipped += u64::from(n_dropped);
        self.reweigh(id, before);
        self.schedule(id, now);
        self.shed();
    }

    /// Has the channel wait for its time, unless it waits already.
    fn schedule(&mut self, id: ChannelId, now: Time) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        if slot.turn == Turn::None && slot.n_queued() > 0 {
            slot.turn = Turn::Due;
            slot.due = slot.due.max(now);
            self.pending.insert((slot.due, id));
        }
    }

    fn reweigh(&mut self, id: ChannelId, before: usize) {
        let after = self.slots.get(&id).map_or(0, Slot::weight);
        self.weights.remove(&(before, id));
        if after > 0 {
            self.weights.insert((after, id));
        }
        self.queued_bytes = self.queued_bytes - before + after;
    }

    /// Drops the oldest of whatever weighs most, as long as all of it is too much.
    fn shed(&mut self) {
        while self.queued_bytes + self.past_bytes > MAX_BYTES
            && let Some((before, id)) = self.weights.last().copied()
            && let Some(slot) = self.slots.get_mut(&id)
        {
            let n_kept = slot.n_queued() - 1;
            let n_dropped = slot.drop_oldest_beyond(n_kept, usize::MAX);
            if n_kept == 0 && slot.turn == Turn::Due {
                slot.turn = Turn::None;
                self.pending.remove(&(slot.due, id));
            }
            self.counts.skipped += u64::from(n_dropped);
            self.reweigh(id, before);
        }
    }

    /// What the page wants from now on: the last message of each channel, the past where it wants that, and what comes.
    pub(crate) fn subscribe(&mut self, now: Time, board: &Board, plan: Plan) {
        let unsent = self.clear_messages();
        for (id, slot) in &mut self.slots {
            let type_name = board.type_of(slot.fingerprint).map(|it| &*it.name);
            slot.wanted = plan.wanted(*id, &slot.name, type_name);
        }
        self.wishes = Some(plan.wishes);
        self.fill(now, board);
        self.count_unsent(&unsent);
    }

    /// Time went back: what the page knows is void.
    pub(crate) fn reset(&mut self, now: Time, board: &Board, utime: i64, why: &str) {
        self.clear_messages();
        // One that waits is out of date, as a status is.
        self.reset = Some(frame::reset(utime, why));
        self.fill(now, board);
    }

    /// Takes out all messages. Returns what waited for its channel's turn.
    fn clear_messages(&mut self) -> Vec<(ChannelId, VecDeque<Message>)> {
        self.first.clear();
        self.past.clear();
        self.past_bytes = 0;
        self.pending.clear();
        self.weights.clear();
        self.queued_bytes = 0;
        let slots = self.slots.iter_mut();
        let queues = slots.map(|(id, slot)| (*id, slot.clear()));
        queues.filter(|(_, queue)| !queue.is_empty()).collect()
    }

    /// Counts what waited and will not be sent after all.
    fn count_unsent(&mut self, unsent: &[(ChannelId, VecDeque<Message>)]) {
        let of_past = self.past.iter();
        let of_past: BTreeSet<_> = of_past.map(|(id, it)| (*id, it.utime)).collect();
        for (id, queue) in unsent {
            let Some(slot) = self.slots.get_mut(id) else {
                continue;
            };
            let is_sent = |it: &&Message| slot.has(it) || of_past.contains(&(*id, it.utime));
            let n_sent = queue.iter().filter(is_sent).count();
            let n_skipped = queue.len() - n_sent;
            slot.skip(u32::try_from(n_skipped).unwrap_or(u32::MAX));
            self.counts.skipped += n_skipped as u64;
        }
    }

    /// What was there before the page came: last messages, the shortest first, and the past in the order of time.
    fn fill(&mut self, now: Time, board: &Board) {
        let mut past: Vec<(ChannelId, Message)> = Vec::new();
        let mut first = Vec::new();
        for (id, slot) in &mut self.slots {
            let (Some(wanted), Some(heard)) = (slot.wanted, board.channel(*id)) else {
                continue;
            };
            let newest = heard.last.as_ref();
            let n_before = past.len();
            let is_other = |it: &&Message| newest.is_none_or(|newest| !is_same(it, newest));
            let n_past = wanted.n_past.min(MAX_PAST - past.len());
            for message in heard.past.sample(n_past).filter(is_other) {
                self.past_bytes += cost(message);
                past.push((*id, message.clone()));
            }
            // There is no more room. Half a past would be a wrong one.
            if self.past_bytes > MAX_PAST_BYTES {
                let left_out = past.drain(n_before..);
                self.past_bytes -= left_out.map(|(_, it)| cost(&it)).sum::<usize>();
            }
            slot.n_past = past.len() - n_before;
            if slot.n_past > 0 {
                slot.turn = Turn::AfterPast;
            } else if let Some(newest) = newest {
                slot.turn = Turn::First;
                first.push((newest.payload.len(), *id));
            }
        }
        past.sort_by_key(|(_, message)| message.utime);
        self.past = past.into();
        first.sort_unstable();
        self.first = first.into_iter().map(|(_, id)| id).collect();
        for (id, heard) in board.channels() {
            if let Some(last) = &heard.last {
                self.offer(now, id, last, true);
            }
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
        let alone = self.urgent.pop_front();
        let alone = alone.or_else(|| self.reset.take());
        let alone = alone.or_else(|| self.status.take());
        if let Some(frame) = alone {
            return Some(frame);
        }
        while let Some(id) = self.unannounced.pop_first() {
            if let Some(slot) = self.slots.get_mut(&id) {
                return Some(slot.announce(id, slot.fingerprint));
            }
        }
        if let Some(frame) = self.next_of_first(now) {
            return Some(frame);
        }
        let is_due = self.pending.first().is_some_and(|(due, _)| *due <= now);
        let has_past = !self.schemas.is_empty() || !self.past.is_empty();
        self.is_live_next = !self.is_live_next;
        if is_due && (self.is_live_next || !has_past) {
            return self.next_due_message(now);
        }
        if let Some((fingerprint, compact)) = self.schemas.pop_first() {
            return Some(frame::schema(Fingerprint(fingerprint), &compact));
        }
        self.next_of_past(now)
            .or_else(|| self.next_due_message(now))
    }

    fn next_of_first(&mut self, now: Time) -> Option<Bytes> {
        while let Some(id) = self.first.front().copied() {
            let oldest = self.slots.get(&id).and_then(Slot::oldest);
            let Some(fingerprint) = oldest.map(Message::fingerprint) else {
                // It was forgotten, or made room for others.
                self.first.pop_front();
                self.end_turn(id, now);
                continue;
            };
            let preface = self.preface(id, fingerprint);
            if preface.is_some() {
                return preface;
            }
            self.first.pop_front();
            return self.message(id, now);
        }
        None
    }

    fn next_of_past(&mut self, now: Time) -> Option<Bytes> {
        while let Some((id, message)) = self.past.front() {
            let (id, fingerprint) = (*id, message.fingerprint());
            if self.slots.contains_key(&id) {
                let preface = self.preface(id, fingerprint);
                if preface.is_some() {
                    return preface;
                }
            }
            let (_, message) = self.past.pop_front()?;
            self.past_bytes -= cost(&message);
            let Some(slot) = self.slots.get_mut(&id) else {
                continue;
            };
            slot.n_past -= 1;
            if slot.n_past == 0 {
                self.end_turn(id, now);
            }
            return Some(frame::message(id.0, message.utime, 0, &message.payload));
        }
        None
    }

    fn next_due_message(&mut self, now: Time) -> Option<Bytes> {
        let (due, id) = *self.pending.first()?;
        if due > now {
            return None;
        }
        let oldest = self.slots.get(&id).and_then(Slot::oldest);
        let preface = self.preface(id, oldest.map(Message::fingerprint)?);
        if preface.is_some() {
            return preface;
        }
        self.pending.pop_first();
        self.message(id, now)
    }

    /// What a page must know before a message of this type on this channel.
    fn preface(&mut self, id: ChannelId, fingerprint: Fingerprint) -> Option<Bytes> {
        let slot = self.slots.get_mut(&id)?;
        if slot.told != Some(fingerprint) {
            return Some(slot.announce(id, fingerprint));
        }
        let compact = self.schemas.remove(&fingerprint.0)?;
        Some(frame::schema(fingerprint, &compact))
    }

    /// The oldest message of a channel, whose turn it is.
    fn message(&mut self, id: ChannelId, now: Time) -> Option<Bytes> {
        let slot = self.slots.get_mut(&id)?;
        let before = slot.weight();
        let message = slot.pop()?;
        let period = match slot.wanted.map(|it| it.manner) {
            Some(Manner::Newest { period }) => period,
            Some(Manner::All) | None => Duration::ZERO,
        };
        slot.due = now + period;
        let n_skipped = std::mem::take(&mut slot.n_skipped);
        self.reweigh(id, before);
        self.end_turn(id, now);
        Some(frame::message(
            id.0,
            message.utime,
            n_skipped,
            &message.payload,
        ))
    }

    fn end_turn(&mut self, id: ChannelId, now: Time) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.turn = Turn::None;
        }
        self.schedule(id, now);
    }

    /// When there will be something to send, if nothing else happens.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.pending.first().map(|(due, _)| *due)
    }
}

fn is_same(one: &Message, other: &Message) -> bool {
    one.utime == other.utime && one.payload == other.payload
}

#[cfg(test)]
mod tests;
