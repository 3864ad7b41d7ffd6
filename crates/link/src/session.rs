//! One end of a link: streams, paths, and what goes from one to the other. Both ends are alike.
//!
//! Gets the time, messages and packets; gives packets and messages. It reads no clock and holds no socket.
//!
//! Messages go over one path, the active one: the first of the file that works. When it falls silent a new generation
//! begins, what may be lost and is still good is sent again, over the next path that works, and commands go over both while
//! is unknown. The receiver delivers nothing twice.

mod receive;

use crate::counts::{Ages, Counts};
use crate::packet::{
    ACK_LEN, Ack, BLOCK_LEN, FRAGMENT_LEN, Frame, HEADER_LEN, PROBE_LEN, REPORT_LEN, SEAL_LEN, seal,
};
use crate::path::{Carriage, MAX_REPORT, Path, PathState, PathStatus};
use crate::queue::SendQueue;
use crate::schedule::{Candidate, Choice, Scheduler, View};
use crate::stream::{Incoming, Outgoing};
use bowline_component::Time;
use bytes::Bytes;
use receive::ReceiveStream;
use std::collections::VecDeque;
use std::time::Duration;

/// Less room is not worth a part of a message, bytes.
const MIN_PART: usize = FRAGMENT_LEN + BLOCK_LEN;
/// Acknowledgements that wait to be sent; what finds no room is asked for again.
const MAX_ACKS: usize = 256;
/// Messages that wait to be taken: more than the parts of any packet.
const MAX_DELIVERIES: usize = 4_096;
/// Lives of the peer that are over and remembered.
const MAX_RETIRED: usize = 8;

/// What makes a session.
#[derive(Clone, Debug)]
pub struct Setup {
    /// A number that is another one after every restart.
    pub life: u32,
    /// What is sent.
    pub sends: Vec<Outgoing>,
    /// What may arrive.
    pub receives: Vec<Incoming>,
    /// How many paths there are, in the order in which they are preferred.
    pub n_paths: usize,
}

/// A message for this end's bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Which of the streams that may arrive.
    pub stream: usize,
    /// What was offered at the other end.
    pub payload: Bytes,
    /// How long ago it was offered there.
    pub age: Duration,
}

/// One end of a link.
#[derive(Debug)]
pub struct Session {
    life: u32,
    generation: u16,
    scheduler: Box<dyn Scheduler>,
    sends: Vec<SendQueue>,
    receives: Vec<ReceiveStream>,
    paths: Vec<Path>,
    active: Option<usize>,
    peer_life: Option<u32>,
    /// Lives of the peer that are over, and since when.
    retired: VecDeque<(u32, Time)>,
    peer_generation: Option<u16>,
    acks: VecDeque<Ack>,
    deliveries: VecDeque<Delivery>,
    n_unknown: u64,
    candidates: Vec<Candidate>,
}

impl Session {
    /// One that knows no peer yet.
    #[must_use]
    pub fn new(setup: Setup, scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            life: setup.life,
            generation: 0,
            scheduler,
            sends: setup.sends.into_iter().map(SendQueue::new).collect(),
            receives: setup.receives.into_iter().map(ReceiveStream::new).collect(),
            paths: (0..setup.n_paths).map(|_| Path::new()).collect(),
            active: None,
            peer_life: None,
            retired: VecDeque::new(),
            peer_generation: None,
            acks: VecDeque::new(),
            deliveries: VecDeque::new(),
            n_unknown: 0,
            candidates: Vec::new(),
        }
    }

    /// No more than this is ever sent over a path, bytes a second, whichever the scheduler.
    pub fn limit(&mut self, path: usize, bytes_per_s: f64) {
        if let Some(path) = self.paths.get_mut(path) {
            path.set_limit(bytes_per_s);
        }
    }

    /// This end's bus has a message for the other.
    pub fn offer(&mut self, stream: usize, payload: Bytes, now: Time) {
        if let Some(queue) = self.sends.get_mut(stream) {
            queue.offer(payload, now);
        }
    }

    /// This end's bus has a stop for the other: it waits for nothing on its stream but other stops.
    pub fn offer_stop(&mut self, stream: usize, payload: Bytes, now: Time) {
        if let Some(queue) = self.sends.get_mut(stream) {
            queue.offer_stop(payload, now);
        }
    }

    /// A carrier has a connection.
    pub fn path_up(&mut self, path: usize, carriage: Carriage, now: Time) {
        if let Some(path) = self.paths.get_mut(path) {
            path.up(carriage, now);
        }
    }

    /// A carrier has lost its connection.
    pub fn path_down(&mut self, path: usize, now: Time) {
        if let Some(path) = self.paths.get_mut(path) {
            path.down();
        }
        if self.active == Some(path) {
            self.begin_generation();
        }
        self.choose_path(now);
    }

    /// A carrier takes no more at present, or takes more again.
    pub fn set_blocked(&mut self, path: usize, is_blocked: bool) {
        if let Some(path) = self.paths.get_mut(path) {
            path.is_blocked = is_blocked;
        }
    }

    /// The next message for this end's bus.
    pub fn deliver(&mut self) -> Option<Delivery> {
        self.deliveries.pop_front()
    }

    /// Writes the next packet that is due, and returns over which path it goes. `None`: nothing is due now.
    pub fn transmit(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<usize> {
        self.look(now);
        // The active one first: commands are there.
        let active = self.active;
        let others = (0..self.paths.len()).filter(|path| Some(*path) != active);
        let order: Vec<usize> = active.into_iter().chain(others).collect();
        order.into_iter().find(|path| self.fill(*path, now, packet))
    }

    /// When to ask for a packet again, if nothing happens until then.
    #[must_use]
    pub fn wakes_at(&self, now: Time) -> Time {
        let mut wake = now + MAX_REPORT;
        for (nth, path) in self.paths.iter().enumerate() {
            let is_active = self.active == Some(nth);
            if path.is_blocked {
                continue;
            }
            let times = [
                path.report_due_at(),
                path.probe_due_at(is_active),
                path.stalls_at(),
            ];
            wake = times.into_iter().flatten().fold(wake, Time::min);
        }
        let Some(active) = self.active.and_then(|it| self.paths.get(it)) else {
            return wake.max(now);
        };
        let eligible = self.sends.iter().filter_map(|queue| queue.eligible_at(now));
        if let Some(first) = eligible.min()
            && active.state() == PathState::Ready
            && !active.is_blocked
        {
            let may_send_at = match self.is_paced(active) {
                true => active.may_send_at(now),
                false => now,
            };
            wake = wake.min(first.max(may_send_at));
        }
        wake.max(now)
    }

    /// What became of what is sent: each stream's declaration and counts.
    pub fn sends(&self) -> impl Iterator<Item = (&Outgoing, &Counts)> {
        self.sends.iter().map(|it| (&it.declared, &it.counts))
    }

    /// What became of what may arrive: each stream's declaration and counts, and how old its messages were.
    pub fn receives(&self) -> impl Iterator<Item = (&Incoming, &Counts, &Ages)> {
        let streams = self.receives.iter();
        streams.map(|it| (&it.declared, &it.counts, &it.ages))
    }

    /// How the paths are.
    pub fn paths(&self) -> impl Iterator<Item = PathStatus> {
        let paths = self.paths.iter().enumerate();
        paths.map(|(nth, path)| path.status(self.active == Some(nth)))
    }

    /// Messages on streams that this end does not take.
    #[must_use]
    pub fn n_unknown(&self) -> u64 {
        self.n_unknown
    }

    /// The largest packet that bulk is put into at present, with what the carrier adds, bytes.
    #[must_use]
    pub fn packet_len(&self) -> Option<usize> {
        let path = self.paths.get(self.active?)?;
        Some(path.packet_len(self.is_paced(path)) + path.overhead())
    }

    #[cfg(feature = "carriers")]
    pub(crate) fn count_send(&mut self, stream: usize) -> Option<&mut Counts> {
        self.sends.get_mut(stream).map(|it| &mut it.counts)
    }

    fn is_paced(&self, path: &Path) -> bool {
        self.scheduler.is_paced() || path.has_limit()
    }

    /// Notices what time alone brings about.
    fn look(&mut self, now: Time) {
        for queue in &mut self.sends {
            queue.expire(now);
        }
        let active = self.active;
        let mut is_lost = false;
        for (nth, path) in self.paths.iter_mut().enumerate() {
            is_lost |= path.stall_if_silent(now) && active == Some(nth);
        }
        if is_lost {
            self.begin_generation();
        }
        self.choose_path(now);
    }

    /// Separates what is sent from now on from what was sent before; what may be lost is sent again.
    fn begin_generation(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        for queue in &mut self.sends {
            queue.requeue();
        }
    }

    fn choose_path(&mut self, now: Time) {
        let states: Vec<PathState> = self.paths.iter().map(Path::state).collect();
        let state = |nth: usize| states.get(nth).copied().unwrap_or(PathState::Down);
        let is_working = self
            .active
            .is_some_and(|nth| state(nth) == PathState::Ready);
        let first_ready = states.iter().position(|it| *it == PathState::Ready);
        let first_alive = states.iter().position(|it| *it == PathState::Stalled);
        let recovered = self.paths.iter().position(|path| path.is_recovered(now));
        let chosen = match is_working {
            // A better one is taken once it can be trusted.
            true => recovered
                .filter(|it| Some(*it) < self.active)
                .or(self.active),
            false => first_ready
                .or(self.active.filter(|nth| state(*nth) == PathState::Stalled))
                .or(first_alive),
        };
        if chosen != self.active {
            let was_active = std::mem::replace(&mut self.active, chosen).is_some();
            // What was sent over the other path may be lost; the receiver knows what it has.
            if was_active && chosen.is_some() {
                for queue in &mut self.sends {
                    queue.requeue();
                }
            }
        }
    }

    /// Makes the next packet of a path, if anything is due.
    fn fill(&mut self, nth: usize, now: Time, packet: &mut Vec<u8>) -> bool {
        let is_active = self.active == Some(nth);
        let generation = self.generation;
        let Some(path) = self.paths.get_mut(nth) else {
            return false;
        };
        if !path.is_up() || path.is_blocked {
            return false;
        }
        path.header(self.life, generation, now).encode(packet);
        let is_paced = self.scheduler.is_paced() || path.has_limit();
        let is_sealed = path.is_sealed();
        let seal_len = if is_sealed { SEAL_LEN } else { 0 };
        let max_len = path.packet_len(is_paced).saturating_sub(seal_len);
        if path.report_due_at().is_some_and(|at| now >= at)
            && let Some(report) = path.report(now)
        {
            Frame::Report(report).encode(packet);
        }
        let n_reported = packet.len();
        let is_probed = path.is_probe_due(is_active, now);
        if is_probed {
            Frame::Probe.encode(packet);
            path.note_probed(now);
        }
        let is_ready = path.state() == PathState::Ready;
        let is_stalled = path.state() == PathState::Stalled;
        let has_path = is_active || self.active.is_none();
        if is_ready && has_path {
            self.fill_acks(max_len, packet);
        }
        let mut last_parts = Vec::new();
        if is_active && (is_ready || (is_stalled && is_probed)) {
            self.fill_data(nth, max_len, now, packet, &mut last_parts);
        } else if is_ready && !is_active {
            self.fill_doubles(nth, max_len, now, packet);
        }
        if packet.len() == HEADER_LEN {
            return false;
        }
        let is_answered = packet.len() > n_reported;
        let Some(path) = self.paths.get_mut(nth) else {
            return false;
        };
        if packet.len() + REPORT_LEN <= max_len
            && path.is_report_welcome(now)
            && let Some(report) = path.report(now)
        {
            Frame::Report(report).encode(packet);
        }
        if is_sealed {
            seal(packet);
        }
        let sequence = path.note_sent(packet.len(), is_answered, now);
        for stream in last_parts {
            if let Some(queue) = self.sends.get_mut(stream) {
                queue.note_sent(nth, sequence);
                if is_stalled {
                    // Until it gets through, it is what the next probe carries too, unless there is something newer.
                    queue.requeue();
                }
            }
        }
        true
    }

    fn fill_acks(&mut self, max_len: usize, packet: &mut Vec<u8>) {
        while packet.len() + ACK_LEN <= max_len
            && let Some(ack) = self.acks.pop_front()
        {
            Frame::Ack(ack).encode(packet);
        }
    }

    /// Puts parts of messages into a packet, as the scheduler wants it. Streams whose last part went are put into `ended`.
    fn fill_data(
        &mut self,
        nth: usize,
        max_len: usize,
        now: Time,
        packet: &mut Vec<u8>,
        ended: &mut Vec<usize>,
    ) {
        let Some(path) = self.paths.get_mut(nth) else {
            return;
        };
        let is_paced = self.scheduler.is_paced() || path.has_limit();
        let is_stalled = path.state() == PathState::Stalled;
        let is_free = is_stalled || !is_paced || path.may_send(now);
        let is_full = is_paced && !is_stalled && path.is_full();
        let resend_after = path.resend_after();
        let view = View {
            now,
            capacity_bytes_per_s: path.capacity.known(now),
        };
        self.candidates.clear();
        let queues = self.sends.iter().enumerate();
        let candidates = queues.filter_map(|(stream, it)| it.candidate(stream, now));
        self.candidates.extend(candidates);
        let n_all = self.candidates.len();
        // The pacer does not hold up what has a deadline or starves; it pays for it later.
        self.candidates
            .retain(|it| !is_full && (is_free || it.deadline_at.is_some() || it.is_starving()));
        if self.candidates.len() < n_all {
            path.note_limited();
        }
        loop {
            let room = max_len.saturating_sub(packet.len());
            // What fits into a packet of its own is not cut, and in a stall nothing is, for it would never be whole. What is
            // reliable and fits goes again in each packet of a stall: no report confirms that it has arrived.
            let is_cut = |it: &Candidate| !is_stalled && it.n_left > max_len - HEADER_LEN;
            self.candidates.retain(|it| match it.is_begun {
                true if is_stalled => it.is_reliable && it.n_left <= room,
                true => room >= MIN_PART,
                false => it.n_left <= room || (is_cut(it) && room >= MIN_PART),
            });
            if self.candidates.is_empty() {
                return;
            }
            // In a stall the most valuable of what is urgent goes in every packet: what was sent first may have arrived.
            let vital = most_valuable(&self.candidates).filter(|_| is_stalled);
            let choice =
                vital.map_or_else(|| self.scheduler.pick(&self.candidates, view), Choice::Send);
            let (Choice::Send(place) | Choice::Shed(place)) = choice;
            let stream = self.candidates.get(place).map(|it| it.stream);
            let Some((stream, queue)) = stream.and_then(|it| Some((it, self.sends.get_mut(it)?)))
            else {
                return;
            };
            if matches!(choice, Choice::Shed(_)) {
                queue.shed();
            } else {
                let Some(part) = queue.next_part(room, now, resend_after) else {
                    return;
                };
                Frame::Data(part.to_frame(now)).encode(packet);
                if part.is_last {
                    ended.push(stream);
                }
            }
            // One message of a stream in a packet is enough; what is left of this one may be in the next.
            self.candidates.retain(|it| it.stream != stream);
        }
    }

    /// Commands that went over a path which may be dead go over this one too.
    fn fill_doubles(&mut self, nth: usize, max_len: usize, now: Time, packet: &mut Vec<u8>) {
        let active = self.active.and_then(|it| self.paths.get(it));
        if !active.is_some_and(|path| path.is_suspect(now)) {
            return;
        }
        for queue in &mut self.sends {
            let room = max_len.saturating_sub(packet.len() + PROBE_LEN);
            if let Some(part) = queue.double(nth, room) {
                Frame::Data(part.to_frame(now)).encode(packet);
            }
        }
    }
}

/// Of what has a deadline the most valuable; of equals the one that had nothing sent for longest.
fn most_valuable(candidates: &[Candidate]) -> Option<usize> {
    let urgent = candidates.iter().enumerate();
    let urgent = urgent.filter(|(_, it)| it.deadline_at.is_some());
    let order =
        |a: &Candidate, b: &Candidate| a.value.total_cmp(&b.value).then(a.since.cmp(&b.since));
    urgent
        .max_by(|(_, a), (_, b)| order(a, b))
        .map(|(nth, _)| nth)
}
