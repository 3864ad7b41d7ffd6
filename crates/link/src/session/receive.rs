//! The receiving half of a session: packets taken apart, messages put together, and nothing delivered that is old or was
//! delivered before.

use super::{Delivery, MAX_ACKS, MAX_DELIVERIES, Session};
use crate::counts::{Ages, Cause, Counts};
use crate::packet::{Ack, Data, Frame, Header, decode, unseal};
use crate::reassembly::{Partial, Put};
use crate::stream::{Incoming, Keep, stream_id};
use bowline_node::Time;
use bytes::Bytes;
use std::time::Duration;

/// A stream that may arrive.
#[derive(Debug)]
pub(super) struct ReceiveStream {
    pub(super) declared: Incoming,
    pub(super) counts: Counts,
    pub(super) ages: Ages,
    id: u32,
    partial: Option<Partial>,
    seen: Seen,
}

/// Which messages were delivered: the newest, and those just before it.
#[derive(Debug, Default)]
struct Seen {
    newest: Option<u32>,
    /// Bit 0 is the newest, bit 1 the one before.
    bits: u128,
}

/// What is known of a message's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Novelty {
    /// Newer than all.
    Newer,
    /// It was passed by newer ones.
    Older,
    /// It was here before, or may have been.
    Known,
}

impl Seen {
    fn novelty(&self, message: u32) -> Novelty {
        let Some(newest) = self.newest else {
            return Novelty::Newer;
        };
        let ahead = message.wrapping_sub(newest);
        if ahead != 0 && ahead < u32::MAX / 2 {
            return Novelty::Newer;
        }
        let behind = newest.wrapping_sub(message);
        match self.bits.checked_shr(behind) {
            Some(bits) if bits & 1 == 0 => Novelty::Older,
            Some(_) | None => Novelty::Known,
        }
    }

    fn note(&mut self, message: u32) {
        let Some(newest) = self.newest else {
            (self.newest, self.bits) = (Some(message), 1);
            return;
        };
        let ahead = message.wrapping_sub(newest);
        if ahead < u32::MAX / 2 {
            self.bits = self.bits.checked_shl(ahead).unwrap_or(0) | 1;
            self.newest = Some(message);
        } else {
            let bit = 1_u128.checked_shl(newest.wrapping_sub(message));
            self.bits |= bit.unwrap_or(0);
        }
    }
}

impl ReceiveStream {
    pub(super) fn new(declared: Incoming) -> Self {
        Self {
            id: stream_id(&declared.name),
            declared,
            counts: Counts::default(),
            ages: Ages::default(),
            partial: None,
            seen: Seen::default(),
        }
    }

    /// The peer has begun anew, and so do its numbers.
    fn restart(&mut self) {
        self.drop_partial();
        self.seen = Seen::default();
    }

    fn drop_partial(&mut self) {
        if self.partial.take().is_some() {
            self.counts.add(Cause::Incomplete);
        }
    }

    /// Takes a part; the message, if that is whole and was not delivered before.
    fn take(&mut self, data: &Data<'_>, keep: Keep) -> Option<Bytes> {
        let novelty = self.seen.novelty(data.message);
        let cause = match (novelty, keep) {
            (Novelty::Known, _) => Some(Cause::Duplicate),
            (Novelty::Older, Keep::Newest) => Some(Cause::Stale),
            (Novelty::Older, Keep::Fifo | Keep::Reliable) | (Novelty::Newer, _) => None,
        };
        if let Some(cause) = cause {
            self.counts.add(cause);
            return None;
        }
        if data.n_blocks == 1 {
            if data.payload.len() > self.declared.max_bytes {
                self.counts.add(Cause::TooLarge);
                return None;
            }
            if self
                .partial
                .as_ref()
                .is_some_and(|it| it.message() == data.message)
            {
                self.partial = None;
            }
            self.seen.note(data.message);
            return Some(Bytes::copy_from_slice(data.payload));
        }
        self.put(data)
    }

    fn put(&mut self, data: &Data<'_>) -> Option<Bytes> {
        if let Some(partial) = &self.partial
            && partial.message() != data.message
        {
            // Parts of what was given up may still come; they do not undo what is being put together.
            let is_newer = data.message.wrapping_sub(partial.message()) < u32::MAX / 2;
            if !is_newer {
                return None;
            }
            self.drop_partial();
        }
        if self.partial.is_none() {
            self.partial = Partial::new(data, self.declared.max_bytes);
        }
        let Some(partial) = &mut self.partial else {
            self.counts.add(Cause::TooLarge);
            return None;
        };
        match partial.put(data) {
            Put::Kept => None,
            Put::Refused => {
                self.drop_partial();
                None
            }
            Put::Whole(bytes) => {
                self.partial = None;
                self.seen.note(data.message);
                (bytes.len() <= self.declared.max_bytes).then_some(bytes)
            }
        }
    }
}

impl Session {
    /// A packet arrived on a path. What was changed on the way, and what nobody understands, is counted, and changes
    /// nothing.
    pub fn receive(&mut self, nth: usize, packet: &[u8], now: Time) {
        let Some(path) = self.paths.get_mut(nth) else {
            return;
        };
        if !path.is_up() {
            return;
        }
        let opened = match path.is_sealed() {
            true => unseal(packet),
            false => Ok(packet),
        };
        let Ok((header, frames)) = opened.and_then(decode) else {
            path.n_bad += 1;
            return;
        };
        path.note_received(&header, packet.len(), now);
        // Reports first: they may introduce whoever speaks, and say how late it is there.
        for frame in frames.clone().flatten() {
            if let Frame::Report(report) = frame {
                self.take_report(nth, &header, &report, now);
            }
        }
        if frames
            .clone()
            .any(|it| matches!(it, Ok(Frame::Data(_) | Frame::Ack(_))))
        {
            self.note_unreported(nth);
        }
        for frame in frames {
            match frame {
                Ok(Frame::Probe) => self.answer_probe(nth),
                Ok(Frame::Report(_)) => {}
                Ok(Frame::Data(data)) => self.take_data(nth, &header, &data, now),
                Ok(Frame::Ack(ack)) => self.take_ack(&header, ack),
                Err(_) => self.count_bad(nth),
            }
        }
    }

    /// A packet arrived on a path that is not for this end, or not of its peer.
    pub(crate) fn count_bad(&mut self, nth: usize) {
        if let Some(path) = self.paths.get_mut(nth) {
            path.n_bad += 1;
        }
    }

    fn note_unreported(&mut self, nth: usize) {
        if let Some(path) = self.paths.get_mut(nth) {
            path.note_unreported();
        }
    }

    fn answer_probe(&mut self, nth: usize) {
        if let Some(path) = self.paths.get_mut(nth) {
            path.ask_report();
        }
    }

    fn take_report(
        &mut self,
        nth: usize,
        header: &Header,
        report: &crate::packet::Report,
        now: Time,
    ) {
        let Some(path) = self.paths.get_mut(nth) else {
            return;
        };
        let Some(learned) = path.learn(header, report, self.life, now) else {
            return;
        };
        for queue in &mut self.sends {
            queue.confirm(nth, report.highest);
        }
        if learned.is_new_life && self.peer_life != Some(header.life) {
            self.peer_life = Some(header.life);
            self.peer_generation = None;
            self.acks.clear();
            self.receives.iter_mut().for_each(ReceiveStream::restart);
            self.sends.iter_mut().for_each(super::SendQueue::restart);
        }
        if learned.is_recovered && self.active == Some(nth) {
            self.sends.iter_mut().for_each(super::SendQueue::requeue);
        }
        self.choose_path(now);
    }

    fn take_ack(&mut self, header: &Header, ack: Ack) {
        if self.peer_life != Some(header.life) {
            return;
        }
        let queues = self.sends.iter_mut();
        for queue in queues.filter(|queue| queue.id() == ack.stream) {
            queue.ack(ack.message, ack.first_block, ack.n_blocks);
        }
    }

    fn take_data(&mut self, nth: usize, header: &Header, data: &Data<'_>, now: Time) {
        let (Some(keep), Some(stream)) = (
            Keep::from_bits(data.keep),
            self.receives.iter().position(|it| it.id == data.stream),
        ) else {
            self.n_unknown += 1;
            return;
        };
        let transit = match self.peer_life == Some(header.life) {
            true => self
                .paths
                .get(nth)
                .and_then(|path| path.transit(header.sent_utime, now)),
            false => None,
        };
        let is_current = self.note_generation(header, transit.is_some());
        let Some(receiver) = self.receives.get_mut(stream) else {
            return;
        };
        let Some(transit) = transit else {
            // Nobody knows how old it is.
            receiver.counts.add(Cause::Stale);
            return;
        };
        let is_old = transit > Duration::from_micros(data.left_us.into());
        // What is newest, or urgent, was said again after a stall.
        let is_superseded = !is_current && (data.is_urgent || keep == Keep::Newest);
        if is_old || (is_superseded && keep != Keep::Reliable) {
            receiver.counts.add(Cause::Stale);
            return;
        }
        let is_known = receiver.seen.novelty(data.message) == Novelty::Known;
        if !is_known && data.first_block == 0 {
            receiver.counts.n_offered += 1;
        }
        let whole = receiver.take(data, keep);
        if keep == Keep::Reliable && self.acks.len() < MAX_ACKS {
            self.acks.push_back(ack_of(data));
        }
        let Some(payload) = whole else { return };
        let age = Duration::from_micros(data.age_us.into()) + transit;
        receiver.counts.n_delivered += 1;
        receiver.counts.n_bytes += u64::try_from(payload.len()).unwrap_or(0);
        receiver.ages.add(age);
        if self.deliveries.len() == MAX_DELIVERIES {
            self.deliveries.pop_front();
            receiver.counts.add(Cause::QueueFull);
        }
        self.deliveries.push_back(Delivery {
            stream,
            payload,
            age,
        });
    }

    /// Whether a packet is of the newest generation that was seen of the peer.
    fn note_generation(&mut self, header: &Header, is_known: bool) -> bool {
        let newest = self.peer_generation.unwrap_or(header.generation);
        let is_current = header.generation.wrapping_sub(newest) < u16::MAX / 2;
        if is_current && is_known {
            self.peer_generation = Some(header.generation);
        }
        is_current
    }
}

fn ack_of(data: &Data<'_>) -> Ack {
    let n_blocks = data.payload.len().div_ceil(crate::packet::BLOCK_LEN);
    Ack {
        stream: data.stream,
        message: data.message,
        first_block: data.first_block,
        n_blocks: match data.n_blocks {
            // All of it, whatever its length.
            1 => u16::MAX,
            _ => u16::try_from(n_blocks).unwrap_or(u16::MAX),
        },
    }
}
