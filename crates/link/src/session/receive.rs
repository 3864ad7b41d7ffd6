//! The receiving half of a session: packets taken apart, messages put together, and nothing delivered that is old or was
//! delivered before.

use super::{Delivery, MAX_ACKS, MAX_DELIVERIES, MAX_RETIRED, Session};
use crate::counts::{Ages, Cause, Counts};
use crate::packet::{Ack, Data, Frame, Header, decode, unseal};
use crate::path::MAX_ECHO;
use crate::reassembly::{Partial, Put};
use crate::stream::{Incoming, Keep, stream_id};
use bowline_component::Time;
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
    /// The last message that is too large: what else comes of it is not counted again.
    refused: Option<u32>,
    seen: Seen,
}

/// What came of a part.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    /// The message is whole, and was not delivered before.
    Whole(Bytes),
    /// It is kept until the others are here.
    Kept,
    /// It was here before.
    Known,
    /// It was dropped, and counted.
    Dropped,
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
            refused: None,
            seen: Seen::default(),
        }
    }

    /// The peer has begun anew, and so do its numbers.
    fn restart(&mut self) {
        self.drop_partial();
        self.refused = None;
        self.seen = Seen::default();
    }

    fn drop_partial(&mut self) {
        if self.partial.take().is_some() {
            self.counts.add(Cause::Incomplete);
        }
    }

    fn drop_as(&mut self, cause: Cause) -> Taken {
        self.counts.add(cause);
        Taken::Dropped
    }

    /// A message is too large; it is offered and dropped once, however many of its parts come.
    fn refuse(&mut self, message: u32) -> Taken {
        if self.refused.replace(message) != Some(message) {
            self.counts.n_offered += 1;
            self.counts.add(Cause::TooLarge);
        }
        Taken::Dropped
    }

    /// Takes a part. A message that is begun here is offered once, and ends in one of the counts; parts that come too late
    /// or again are counted beside it.
    fn take(&mut self, data: &Data<'_>, keep: Keep) -> Taken {
        match (self.seen.novelty(data.message), keep) {
            (Novelty::Known, _) => {
                self.counts.add(Cause::Duplicate);
                Taken::Known
            }
            (Novelty::Older, Keep::Newest) => self.drop_as(Cause::Stale),
            (Novelty::Older, Keep::Fifo | Keep::Reliable) | (Novelty::Newer, _)
                if data.n_blocks == 1 =>
            {
                self.take_whole(data)
            }
            (Novelty::Older, Keep::Fifo | Keep::Reliable) | (Novelty::Newer, _) => self.put(data),
        }
    }

    fn take_whole(&mut self, data: &Data<'_>) -> Taken {
        if data.payload.len() > self.declared.max_bytes {
            return self.refuse(data.message);
        }
        let is_same = |partial: &mut Partial| partial.message() == data.message;
        if self.partial.take_if(is_same).is_none() {
            self.counts.n_offered += 1;
        }
        self.seen.note(data.message);
        Taken::Whole(Bytes::copy_from_slice(data.payload))
    }

    fn put(&mut self, data: &Data<'_>) -> Taken {
        if self.refused == Some(data.message) {
            return Taken::Dropped;
        }
        if let Some(partial) = &self.partial
            && partial.message() != data.message
        {
            // Parts of what was given up may still come; they do not undo what is being put together.
            let is_newer = data.message.wrapping_sub(partial.message()) < u32::MAX / 2;
            if !is_newer {
                return self.drop_as(Cause::Stale);
            }
            self.drop_partial();
        }
        if self.partial.is_none() {
            self.partial = Partial::new(data, self.declared.max_bytes);
            self.counts.n_offered += u64::from(self.partial.is_some());
        }
        let Some(partial) = &mut self.partial else {
            return self.refuse(data.message);
        };
        match partial.put(data) {
            Put::Kept => Taken::Kept,
            Put::Refused => {
                self.drop_partial();
                Taken::Dropped
            }
            // Its last block is longer than what is left of the bound.
            Put::Whole(bytes) if bytes.len() > self.declared.max_bytes => {
                self.partial = None;
                self.refused = Some(data.message);
                self.drop_as(Cause::TooLarge)
            }
            Put::Whole(bytes) => {
                self.partial = None;
                self.seen.note(data.message);
                Taken::Whole(bytes)
            }
        }
    }
}

impl Session {
    /// A packet arrived on a path. What was changed on the way, and what is not understood, is counted, and changes
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
        // Reports first: they may introduce the sender, and give the time there.
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
        let is_retired = self.is_retired(header.life, now);
        let Some(path) = self.paths.get_mut(nth).filter(|_| !is_retired) else {
            return;
        };
        let Some(learned) = path.learn(header, report, self.life, now) else {
            return;
        };
        for queue in &mut self.sends {
            queue.confirm(nth, report.highest);
        }
        if learned.is_new_life && self.peer_life != Some(header.life) {
            if let Some(before) = self.peer_life.replace(header.life) {
                self.retire(before, now);
            }
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

    /// Whether a life of the peer is over: a packet of it that was kept on the way does not bring it back.
    fn is_retired(&self, life: u32, now: Time) -> bool {
        let mut retired = self.retired.iter();
        retired.any(|(it, at)| *it == life && now.since(*at) <= MAX_ECHO)
    }

    /// A report of it proves nothing once what it answers is old, so an instance is remembered for that long. A peer that is
    /// alive after all is known again then.
    fn retire(&mut self, life: u32, now: Time) {
        if self.retired.len() == MAX_RETIRED {
            self.retired.pop_front();
        }
        self.retired.push_back((life, now));
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
        let path = self.paths.get(nth);
        let path = path.filter(|_| self.peer_life == Some(header.life));
        let transit = path.and_then(|path| path.transit(header.sent_utime, now));
        let is_current = self.note_generation(header, transit.is_some());
        let Some(receiver) = self.receives.get_mut(stream) else {
            return;
        };
        let Some(transit) = transit else {
            // Its age is unknown.
            receiver.counts.add(Cause::Stale);
            return;
        };
        let is_old = transit.most > Duration::from_micros(data.left_us.into());
        // What is newest, or urgent, was sent again after a stall.
        let is_superseded = !is_current && (data.is_urgent || keep == Keep::Newest);
        if is_old || (is_superseded && keep != Keep::Reliable) {
            receiver.counts.add(Cause::Stale);
            return;
        }
        let taken = receiver.take(data, keep);
        if keep == Keep::Reliable && taken != Taken::Dropped && self.acks.len() < MAX_ACKS {
            self.acks.push_back(ack_of(data));
        }
        let Taken::Whole(payload) = taken else { return };
        let age = Duration::from_micros(data.age_us.into()) + transit.likely;
        receiver.counts.deliver(payload.len());
        receiver.ages.add(age);
        self.push_delivery(Delivery {
            stream,
            payload,
            age,
        });
    }

    fn push_delivery(&mut self, delivery: Delivery) {
        if self.deliveries.len() == MAX_DELIVERIES
            && let Some(oldest) = self.deliveries.pop_front()
        {
            self.undeliver(&oldest, Cause::QueueFull);
        }
        self.deliveries.push_back(delivery);
    }

    /// A message that was taken for delivered is dropped after all.
    pub(crate) fn undeliver(&mut self, delivery: &Delivery, cause: Cause) {
        if let Some(receiver) = self.receives.get_mut(delivery.stream) {
            receiver.counts.undeliver(delivery.payload.len(), cause);
        }
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
