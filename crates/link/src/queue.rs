//! What waits to be sent on one stream, and what of it was sent and not confirmed yet.
//!
//! In: messages, acknowledgements, confirmations. Out: the next part to send. A message is in one place at a time:
//! waiting, begun (some of its parts were sent), or sent and not confirmed; and every one that ends elsewhere is counted.

use crate::counts::{Cause, Counts};
use crate::packet::{BLOCK_LEN, DATA_LEN, Data, FRAGMENT_LEN, MAX_MESSAGE};
use crate::stream::{Keep, Outgoing, stream_id};
use bowline_component::Time;
use bowline_wire::random::fnv;
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// Messages whose bytes are remembered, for streams that leave out repetitions.
const MAX_REMEMBERED: usize = 256;
/// Where messages have their utime if they begin with it: behind the fingerprint.
const UTIME: Range<usize> = 8..16;
/// A stream is due before its promise is broken, by so much, so that there is time to keep it.
const EARLY: f64 = 1.5;
/// So far behind what is due it goes before others.
const STARVING: f64 = 1.25;
/// Between two attempts to send a reliable message, at most.
const MAX_RESEND: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct SendQueue {
    pub(crate) declared: Outgoing,
    pub(crate) counts: Counts,
    id: u32,
    waiting: VecDeque<Entry>,
    begun: Option<Begun>,
    sent: Option<Sent>,
    next_message: u32,
    last_sent_at: Option<Time>,
    /// Since when there is something to send.
    waiting_since: Option<Time>,
    remembered: VecDeque<(u64, Time)>,
}

#[derive(Clone, Debug)]
struct Entry {
    message: u32,
    payload: Bytes,
    offered_at: Time,
    /// Whether it was sent before, over a path that failed.
    is_again: bool,
    is_stop: bool,
}

/// A message some of whose parts were sent.
#[derive(Debug)]
struct Begun {
    entry: Entry,
    next_block: usize,
    /// Blocks before this one were sent at least once.
    sent_to: usize,
    /// Of reliable messages: which blocks have arrived.
    acked: Vec<bool>,
    /// Of reliable messages that were sent whole, or whose path failed: when what has not arrived is sent again.
    resend_at: Option<Time>,
    n_tries: u32,
}

/// The last message of a stream that keeps the newest, until a report confirms that it got through.
#[derive(Debug)]
struct Sent {
    entry: Entry,
    path: usize,
    sequence: u32,
    /// Whether it was sent over a second path as well.
    is_doubled: bool,
}

/// What could be sent on a stream now, as schedulers see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Which stream, in the order of the file.
    pub stream: usize,
    /// What the message is worth.
    pub value: f64,
    /// When it should be there, if its stream has a deadline.
    pub deadline_at: Option<Time>,
    /// When it is worth nothing any more.
    pub expires_at: Time,
    /// How long the stream has had nothing sent, or if nothing ever was, how long the message waits.
    pub since: Duration,
    /// How long a message is good for.
    pub ttl: Duration,
    /// How long the stream should have nothing sent at most, a bit less than by its promised rate.
    pub max_period: Option<Duration>,
    /// What is left of the message to send, with what its frames add, bytes.
    pub n_left: usize,
    /// Whether parts of it were sent already.
    pub is_begun: bool,
    /// Whether it is sent until it has arrived.
    pub is_reliable: bool,
}

impl Candidate {
    /// How far behind its promised rate a stream is: 1 when the next message is due. Urgent ones have no need of it.
    #[must_use]
    pub fn behind(&self) -> Option<f64> {
        let period = self.max_period.filter(|it| !it.is_zero())?;
        let is_urgent = self.deadline_at.is_some();
        (!is_urgent).then(|| self.since.as_secs_f64() / period.as_secs_f64())
    }

    /// Whether it is so far behind that it goes before others once, so that the promise is kept.
    #[must_use]
    pub fn is_starving(&self) -> bool {
        self.behind() >= Some(STARVING)
    }
}

/// A part of a message, on its way into a packet.
#[derive(Debug)]
pub(crate) struct Part {
    payload: Bytes,
    message: u32,
    offered_at: Time,
    expires_at: Time,
    keep: Keep,
    is_urgent: bool,
    stream: u32,
    first_block: u16,
    n_blocks: u16,
    /// Whether it is the last one.
    pub(crate) is_last: bool,
}

impl Part {
    pub(crate) fn to_frame(&self, now: Time) -> Data<'_> {
        Data {
            keep: self.keep.bits(),
            is_urgent: self.is_urgent,
            stream: self.stream,
            message: self.message,
            age_us: micros(now.since(self.offered_at)),
            left_us: micros(self.expires_at.since(now)),
            first_block: self.first_block,
            n_blocks: self.n_blocks,
            payload: &self.payload,
        }
    }
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

fn period(rate_hz: Option<f64>) -> Option<Duration> {
    Duration::try_from_secs_f64(1.0 / rate_hz?).ok()
}

impl SendQueue {
    pub(crate) fn new(declared: Outgoing) -> Self {
        Self {
            id: stream_id(&declared.name),
            declared,
            counts: Counts::default(),
            waiting: VecDeque::new(),
            begun: None,
            sent: None,
            next_message: 0,
            last_sent_at: None,
            waiting_since: None,
            remembered: VecDeque::new(),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Takes a message, or counts why not.
    pub(crate) fn offer(&mut self, payload: Bytes, now: Time) {
        self.take(payload, now, false);
    }

    /// Takes a stop, which waits for nothing but other stops.
    pub(crate) fn offer_stop(&mut self, payload: Bytes, now: Time) {
        self.take(payload, now, true);
    }

    /// A stop takes the place of all before it that is no stop and may not have arrived: while nothing is answered it would
    /// wait for that, and it is of no use any more.
    fn make_way(&mut self) {
        let n_waiting = self.waiting.len();
        self.waiting.retain(|it| it.is_stop);
        let begun = self.begun.take_if(|it| !it.entry.is_stop);
        let n_replaced = n_waiting - self.waiting.len() + usize::from(begun.is_some());
        let n_replaced = u64::try_from(n_replaced).unwrap_or(0);
        self.counts.add_many(Cause::Replaced, n_replaced);
    }

    fn take(&mut self, payload: Bytes, now: Time, is_stop: bool) {
        self.counts.n_offered += 1;
        if payload.len() > self.declared.max_bytes.min(MAX_MESSAGE) {
            return self.counts.add(Cause::TooLarge);
        }
        if self.was_said(&payload, now) {
            return self.counts.add(Cause::Unchanged);
        }
        if is_stop && self.declared.keep != Keep::Newest {
            self.make_way();
        }
        let room = match self.declared.keep {
            Keep::Newest => 1,
            Keep::Fifo | Keep::Reliable => self.declared.queue.max(1),
        };
        if self.waiting.len() >= room {
            match self.declared.keep {
                Keep::Newest => {
                    // One that was sent before is counted already.
                    let is_new = self.waiting.iter().any(|it| !it.is_again);
                    self.waiting.clear();
                    if is_new {
                        self.counts.add(Cause::Replaced);
                    }
                }
                Keep::Fifo => {
                    self.waiting.pop_front();
                    self.counts.add(Cause::QueueFull);
                }
                // What was asked first is done first.
                Keep::Reliable => return self.counts.add(Cause::QueueFull),
            }
        }
        self.waiting_since.get_or_insert(now);
        let message = self.next_message;
        self.next_message = message.wrapping_add(1);
        self.waiting.push_back(Entry {
            message,
            payload,
            offered_at: now,
            is_again: false,
            is_stop,
        });
    }

    fn was_said(&mut self, payload: &[u8], now: Time) -> bool {
        let Some(again) = self.declared.again else {
            return false;
        };
        let hash = match (payload.get(..UTIME.start), payload.get(UTIME.end..)) {
            (Some(head), Some(rest)) if self.declared.is_timeless => {
                fnv(head) ^ fnv(rest).rotate_left(17)
            }
            _ => fnv(payload),
        };
        let is_old = |said: &Time| now.since(*said) >= again;
        self.remembered.retain(|(_, said)| !is_old(said));
        if self.remembered.iter().any(|(said, _)| *said == hash) {
            return true;
        }
        if self.remembered.len() == MAX_REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back((hash, now));
        false
    }

    /// Forgets what is too old.
    pub(crate) fn expire(&mut self, now: Time) {
        let ttl = self.declared.ttl;
        while let Some(first) = self.waiting.front()
            && now.since(first.offered_at) > ttl
        {
            let is_new = !first.is_again;
            self.waiting.pop_front();
            if is_new {
                self.counts.add(Cause::Expired);
            }
        }
        if let Some(begun) = &self.begun
            && now.since(begun.entry.offered_at) > ttl
        {
            // A reliable one that went out whole may have arrived, but no report confirmed it.
            let is_new = !begun.entry.is_again;
            self.begun = None;
            if is_new {
                self.counts.add(Cause::Expired);
            }
        }
        if let Some(sent) = &self.sent
            && now.since(sent.entry.offered_at) > ttl
        {
            self.sent = None;
        }
    }

    /// What could be sent now. `stream` is the number of this one.
    pub(crate) fn candidate(&self, stream: usize, now: Time) -> Option<Candidate> {
        if self.eligible_at(now)? > now {
            return None;
        }
        let (entry, n_left, is_begun) = match &self.begun {
            Some(begun) => {
                let n_done = begun.next_block * BLOCK_LEN;
                let n_left = begun.entry.payload.len().saturating_sub(n_done);
                (&begun.entry, n_left + FRAGMENT_LEN, true)
            }
            None => {
                let entry = self.waiting.front()?;
                (entry, entry.payload.len() + DATA_LEN, false)
            }
        };
        Some(Candidate {
            stream,
            value: self.declared.value,
            deadline_at: self.declared.deadline.map(|it| entry.offered_at + it),
            expires_at: entry.offered_at + self.declared.ttl,
            since: now.since(self.last_sent_at.or(self.waiting_since).unwrap_or(now)),
            ttl: self.declared.ttl,
            max_period: period(self.declared.min_rate_hz).map(|it| it.div_f64(EARLY)),
            n_left,
            is_begun,
            is_reliable: self.declared.keep == Keep::Reliable,
        })
    }

    /// From when on there is something to send; `None` if there is nothing.
    pub(crate) fn eligible_at(&self, now: Time) -> Option<Time> {
        if let Some(begun) = &self.begun {
            return Some(begun.resend_at.unwrap_or(now));
        }
        self.waiting.front()?;
        let last = self.last_sent_at.zip(period(self.declared.rate_hz));
        Some(last.map_or(now, |(last, period)| last + period))
    }

    /// Drops the message that is next, which could not be there in time.
    pub(crate) fn shed(&mut self) {
        if self.begun.is_some() {
            return;
        }
        // One that was sent before is counted already.
        if self.waiting.pop_front().is_some_and(|it| !it.is_again) {
            self.counts.add(Cause::Shed);
        }
    }

    /// The next part, with its frame no longer than `room`; `None` if there is nothing, or not enough room to begin.
    /// What was sent whole is sent again after `resend_after`, if it is reliable and no report confirms that it arrived.
    pub(crate) fn next_part(
        &mut self,
        room: usize,
        now: Time,
        resend_after: Duration,
    ) -> Option<Part> {
        if self.begun.is_none() {
            let first = self.waiting.front()?;
            let is_whole = first.payload.len() + DATA_LEN <= room;
            if !is_whole && room < FRAGMENT_LEN + BLOCK_LEN {
                return None;
            }
            let entry = self.waiting.pop_front()?;
            let n_blocks = entry.payload.len().div_ceil(BLOCK_LEN).max(1);
            self.begun = Some(Begun {
                acked: match self.declared.keep {
                    Keep::Reliable => vec![false; n_blocks],
                    Keep::Newest | Keep::Fifo => Vec::new(),
                },
                entry,
                next_block: 0,
                sent_to: 0,
                resend_at: None,
                n_tries: 0,
            });
        }
        let begun = self.begun.as_mut()?;
        let cut = begun.cut(room)?;
        begun.next_block = cut.end;
        let n_blocks = begun.n_blocks();
        let is_whole = cut.start == 0 && cut.end == n_blocks && cut.len + DATA_LEN <= room;
        let is_resent = cut.start < begun.sent_to || begun.entry.is_again;
        begun.sent_to = begun.sent_to.max(cut.end);
        if is_resent {
            self.counts.n_resent += 1;
        } else {
            self.counts.n_bytes += u64::try_from(cut.len).unwrap_or(0);
        }
        let start = cut.start * BLOCK_LEN;
        let part = Part {
            payload: begun.entry.payload.slice(start..start + cut.len),
            message: begun.entry.message,
            offered_at: begun.entry.offered_at,
            expires_at: begun.entry.offered_at + self.declared.ttl,
            keep: self.declared.keep,
            is_urgent: self.declared.deadline.is_some(),
            stream: self.id,
            first_block: u16::try_from(cut.start).ok()?,
            n_blocks: if is_whole {
                1
            } else {
                u16::try_from(n_blocks).ok()?
            },
            is_last: begun.next_unacked(begun.next_block) >= n_blocks,
        };
        if part.is_last {
            self.finish_pass(now, resend_after);
        }
        Some(part)
    }

    /// All parts went out once.
    fn finish_pass(&mut self, now: Time, resend_after: Duration) {
        self.last_sent_at = Some(now);
        let Some(begun) = &mut self.begun else { return };
        if self.declared.keep != Keep::Reliable {
            self.counts.n_sent += u64::from(!begun.entry.is_again);
        } else {
            let pause = resend_after.saturating_mul(1 << begun.n_tries.min(6));
            begun.resend_at = Some(now + pause.min(MAX_RESEND));
            begun.n_tries += 1;
            begun.next_block = 0;
        }
    }

    /// The last part of a message went into packet `sequence` of `path`.
    pub(crate) fn note_sent(&mut self, path: usize, sequence: u32) {
        match self.declared.keep {
            Keep::Reliable => {}
            Keep::Fifo => self.begun = None,
            Keep::Newest => {
                if let Some(begun) = self.begun.take() {
                    self.sent = Some(Sent {
                        entry: begun.entry,
                        path,
                        sequence,
                        is_doubled: false,
                    });
                }
            }
        }
    }

    /// Packets of `path` up to `highest` have arrived or are lost.
    pub(crate) fn confirm(&mut self, path: usize, highest: u32) {
        self.sent.take_if(|sent| {
            sent.path == path && highest.wrapping_sub(sent.sequence) < u32::MAX / 2
        });
    }

    /// Blocks of a reliable message have arrived.
    pub(crate) fn ack(&mut self, message: u32, first_block: u16, n_blocks: u16) {
        let Some(begun) = &mut self.begun else { return };
        if begun.entry.message != message {
            return;
        }
        let first = usize::from(first_block);
        let acked = begun.acked.iter_mut().skip(first);
        acked.take(usize::from(n_blocks)).for_each(|it| *it = true);
        if !begun.acked.is_empty() && begun.acked.iter().all(|it| *it) {
            self.begun = None;
            self.counts.n_sent += 1;
        }
    }

    /// The path has failed: what may be lost is sent again, unless there is something newer.
    pub(crate) fn requeue(&mut self) {
        if let Some(begun) = &mut self.begun
            && self.declared.keep == Keep::Reliable
        {
            begun.next_block = 0;
            begun.resend_at = Some(Time::ZERO);
            begun.n_tries = 0;
        }
        if let Some(sent) = self.sent.take()
            && self.waiting.is_empty()
            && self.begun.is_none()
        {
            self.waiting.push_back(Entry {
                is_again: true,
                ..sent.entry
            });
        }
    }

    /// The peer has begun anew, and has nothing of what was begun or sent.
    pub(crate) fn restart(&mut self) {
        if let Some(begun) = &mut self.begun {
            begun.acked.fill(false);
            begun.next_block = 0;
        }
        self.remembered.clear();
        self.requeue();
    }

    /// All of a message in one part.
    fn whole(&self, entry: &Entry) -> Part {
        Part {
            payload: entry.payload.clone(),
            message: entry.message,
            offered_at: entry.offered_at,
            expires_at: entry.offered_at + self.declared.ttl,
            keep: self.declared.keep,
            is_urgent: self.declared.deadline.is_some(),
            stream: self.id,
            first_block: 0,
            n_blocks: 1,
            is_last: true,
        }
    }

    /// The last command, to be sent over a second path while it is unknown whether the first one still works.
    pub(crate) fn double(&mut self, path: usize, room: usize) -> Option<Part> {
        let sent = self.sent.as_mut()?;
        let fits = sent.entry.payload.len() + DATA_LEN <= room;
        let is_urgent = self.declared.deadline.is_some();
        if sent.path == path || sent.is_doubled || !fits || !is_urgent {
            return None;
        }
        sent.is_doubled = true;
        let entry = sent.entry.clone();
        self.counts.n_resent += 1;
        Some(self.whole(&entry))
    }
}

/// Some blocks of a message.
struct Cut {
    start: usize,
    end: usize,
    /// Bytes.
    len: usize,
}

impl Begun {
    fn n_blocks(&self) -> usize {
        self.entry.payload.len().div_ceil(BLOCK_LEN).max(1)
    }

    fn next_unacked(&self, from: usize) -> usize {
        let mut rest = self.acked.iter().skip(from);
        from + rest
            .position(|acked| !acked)
            .unwrap_or(match self.acked.is_empty() {
                true => 0,
                false => self.acked.len().saturating_sub(from),
            })
    }

    /// The next blocks that fit into a frame of `room` bytes.
    fn cut(&self, room: usize) -> Option<Cut> {
        let n_blocks = self.n_blocks();
        let start = self.next_unacked(self.next_block);
        let payload_len = self.entry.payload.len();
        let n_left = payload_len.saturating_sub(start * BLOCK_LEN);
        let is_whole = start == 0 && payload_len + DATA_LEN <= room;
        let end = match is_whole || n_left + FRAGMENT_LEN <= room {
            true => n_blocks,
            false => start + room.checked_sub(FRAGMENT_LEN)? / BLOCK_LEN,
        };
        let unacked = self.acked.iter().skip(start).take_while(|acked| !**acked);
        let end = match self.acked.is_empty() {
            true => end,
            false => end.min(start + unacked.count()),
        };
        let len = payload_len
            .min(end * BLOCK_LEN)
            .checked_sub(start * BLOCK_LEN)?;
        (end > start).then_some(Cut { start, end, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Time = Time::from_utime(1_000_000);

    fn queue(change: impl FnOnce(&mut Outgoing)) -> SendQueue {
        let mut declared = Outgoing::new("channel");
        change(&mut declared);
        SendQueue::new(declared)
    }

    /// A fingerprint, a time, and something else.
    fn said(utime: i64, rest: &[u8]) -> Bytes {
        [&7_u64.to_be_bytes(), &utime.to_be_bytes(), rest]
            .concat()
            .into()
    }

    fn n_sent(queue: &mut SendQueue, now: Time) -> usize {
        let mut n = 0;
        while queue.next_part(1_000, now, Duration::ZERO).is_some() {
            queue.note_sent(0, 0);
            n += 1;
        }
        n
    }

    #[test]
    fn what_differs_in_its_time_alone_is_not_sent_again_on_a_timeless_stream() {
        let again = Some(Duration::from_secs(30));
        let timeless = |is_timeless| {
            let mut queue = queue(|it| {
                it.keep = Keep::Fifo;
                (it.again, it.is_timeless) = (again, is_timeless);
            });
            for utime in [1, 2] {
                for rest in [b"one", b"two"] {
                    queue.offer(said(utime, rest), AT);
                }
            }
            // Too short to have a time.
            (0..2).for_each(|_| queue.offer(Bytes::from_static(b"short"), AT));
            queue
        };
        assert_eq!(n_sent(&mut timeless(false), AT), 5);
        let mut queue = timeless(true);
        assert_eq!(n_sent(&mut queue, AT), 3);
        assert_eq!(queue.counts.dropped(Cause::Unchanged), 3);
        // A peer that begins anew has not received it.
        queue.restart();
        queue.offer(said(3, b"one"), AT);
        assert_eq!(n_sent(&mut queue, AT), 1);
    }

    #[test]
    fn a_stop_takes_the_place_of_all_but_stops_before_it_and_there_is_always_room_for_it() {
        let mut queue = queue(|it| (it.keep, it.queue) = (Keep::Reliable, 3));
        let next = |queue: &mut SendQueue| {
            let part = queue.next_part(1_000, AT, Duration::ZERO);
            part.map(|it| it.payload)
        };
        let clear = || said(1, b"clear");
        (0..5).for_each(|_| queue.offer(clear(), AT));
        assert_eq!(next(&mut queue), Some(clear()));
        queue.offer_stop(said(2, b"stop"), AT);
        queue.offer(clear(), AT);
        queue.offer_stop(said(3, b"stop"), AT);
        // The first of them until it has arrived; what was before it does not come any more.
        assert_eq!(next(&mut queue), Some(said(2, b"stop")));
        assert_eq!(next(&mut queue), Some(said(2, b"stop")));
        queue.ack(3, 0, u16::MAX);
        assert_eq!(next(&mut queue), Some(said(3, b"stop")));
        queue.offer(clear(), AT);
        queue.ack(5, 0, u16::MAX);
        assert_eq!(
            next(&mut queue),
            Some(clear()),
            "after a stop it has its turn"
        );
        let counts = &queue.counts;
        assert_eq!((counts.n_offered, counts.n_sent), (9, 2));
        assert_eq!(counts.dropped(Cause::QueueFull), 2);
        assert_eq!(counts.dropped(Cause::Replaced), 4);
    }

    #[test]
    fn what_was_sent_and_is_shed_when_it_comes_again_is_counted_once() {
        let mut queue = queue(|_| {});
        queue.offer(said(1, b"state"), AT);
        assert_eq!(n_sent(&mut queue, AT), 1);
        queue.requeue();
        assert!(queue.candidate(0, AT).is_some(), "it is to be sent again");
        queue.shed();
        assert!(queue.candidate(0, AT).is_none());
        let counts = &queue.counts;
        assert_eq!((counts.n_sent, counts.n_dropped()), (1, 0), "{counts:?}");
    }
}
