//! One path to the peer: who is there, how far away, what it carries, and whether it is alive.
//!
//! ```text
//!             carrier up                report of our packet, and
//!   Down ────────────────▶ Connecting ── theirs shows that we are known ──▶ Ready ◀──┐
//!    ▲                                                                          │      │ a report of
//!    └──────────────── carrier down, from anywhere          nothing answered ──▶│      │ a newer packet
//!                                                                               ▼      │
//!                                                                             Stalled ─┘
//! ```
//!
//! A peer's life is believed once it has answered a packet of ours that is a moment old. So a packet that something on the
//! way has kept, from whichever life, is never taken for the present; and from then on the peer's clock is known.

mod capacity;
mod clock;

use crate::packet::{Header, MAX_PACKET, Report};
use bowline_component::Time;
use capacity::{Capacity, Sample};
use clock::{PeerClock, Transit};
use std::collections::VecDeque;
use std::time::Duration;

/// Packets that may be unanswered and remembered.
const MAX_UNANSWERED: usize = 4_096;
/// A report of a packet that is older proves nothing.
pub(crate) const MAX_ECHO: Duration = Duration::from_secs(10);
/// No answer for so long is a stall, and for so many round trips.
const MIN_STALL: Duration = Duration::from_millis(250);
const STALL_RTTS: u32 = 3;
/// Between two probes: while connecting, when nothing else is sent, on a path that waits to be needed, in a stall.
const PROBE_CONNECTING: Duration = Duration::from_millis(200);
const PROBE_IDLE: Duration = Duration::from_millis(200);
const PROBE_STANDBY: Duration = Duration::from_millis(400);
pub(crate) const PROBE_STALLED: Duration = Duration::from_millis(30);
/// How much is sent in a stall of what was known to go, once it is not over soon. All may arrive though nothing comes back,
/// and no report shows when it is too much: what goes to find out must not fill the queue on the way that a stop would wait in.
const STALLED_PACE: f64 = 0.5;
const SHORT_STALL: Duration = Duration::from_millis(300);
/// Between two reports: as short as a tenth of what the path carries allows, within these.
const MIN_REPORT: Duration = Duration::from_millis(20);
pub(crate) const MAX_REPORT: Duration = Duration::from_millis(100);
/// The largest packet that bulk is put into takes so long, or is so small.
const MAX_AIRTIME: Duration = Duration::from_millis(2);
const MIN_PACKET: usize = 300;
/// Commands wait no longer than this for what was sent without asking the pacer.
const MAX_DEBT: Duration = Duration::from_millis(100);
/// After a stall a path is used again by preference once it has been well for so long.
const RECOVERED: Duration = Duration::from_secs(2);

/// What a carrier is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carriage {
    /// The largest packet, bytes.
    pub max_packet: usize,
    /// What every packet costs on the wire beside its own bytes.
    pub overhead: usize,
    /// Whether packets end with a checksum of ours: where nothing else would notice that one was changed on the way.
    pub is_sealed: bool,
}

impl Default for Carriage {
    /// UDP over IP over Ethernet.
    fn default() -> Self {
        Self {
            max_packet: MAX_PACKET,
            overhead: 42,
            is_sealed: true,
        }
    }
}

/// How a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// The carrier has no connection.
    Down,
    /// The peer has not answered yet.
    Connecting,
    /// It works.
    Ready,
    /// Nothing is answered.
    Stalled,
}

/// What is known of a path, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct PathStatus {
    /// How it is.
    pub state: PathState,
    /// Whether messages go over it.
    pub is_active: bool,
    /// A round trip.
    pub rtt: Option<Duration>,
    /// What it carries to the peer, as far as was tried, bytes a second.
    pub capacity_bytes_per_s: f64,
    /// What is lost on the way to the peer, 0 to 1.
    pub loss: f64,
    /// Packets that were sent.
    pub n_sent: u64,
    /// Packets that arrived.
    pub n_received: u64,
    /// Bytes that were sent, with what the carrier adds.
    pub sent_bytes: u64,
    /// Bytes that arrived, with what the carrier adds.
    pub received_bytes: u64,
    /// Times that nothing was answered.
    pub n_stalls: u64,
    /// Packets that were changed on the way, are of no form that is known, or came from another sender.
    pub n_bad: u64,
}

/// What has arrived of one life of the peer.
#[derive(Clone, Copy, Debug)]
struct Heard {
    life: u32,
    highest: u32,
    n_packets: u32,
    n_bytes: u32,
    newest_utime: i64,
    newest_at: Time,
    /// Since the last report.
    transit_us: Option<i64>,
    /// Of a new instance: it has not answered yet.
    is_new: bool,
}

/// A packet without an answer so far.
#[derive(Clone, Copy, Debug)]
struct Unanswered {
    sequence: u32,
    sent_at: Time,
    n_bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Path {
    carriage: Option<Carriage>,
    limit_bytes_per_s: Option<f64>,
    /// The carrier takes no more at present.
    pub(crate) is_blocked: bool,
    sequence: u32,
    heard: Option<Heard>,
    stranger: Option<Heard>,
    is_acquainted: bool,
    clock: PeerClock,
    pub(crate) capacity: Capacity,
    unanswered: VecDeque<Unanswered>,
    in_flight: usize,
    answered_to: Option<(u32, u32)>,
    /// Bytes that arrived there, counted on beyond the range of a report.
    arrived: (u32, u64),
    pacer: Pacer,
    owed: Owed,
    reported_at: Time,
    probed_at: Option<Time>,
    /// In a stall, between the last probe and the next.
    stalled_pause: Duration,
    sent_at: Time,
    stalled_at: Option<Time>,
    well_since: Time,
    n_sent: u64,
    n_received: u64,
    sent_bytes: u64,
    received_bytes: u64,
    n_stalls: u64,
    pub(crate) n_bad: u64,
}

/// A bucket of what may be sent, bytes: what is sent beyond it is owed.
#[derive(Debug, Default)]
struct Pacer {
    tokens: f64,
    filled_at: Time,
    /// Something had to wait since the last report.
    is_limited: bool,
}

/// Whether the peer should get a report of what arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owed {
    Nothing,
    /// When a report is due.
    Soon,
    /// It asked.
    Now,
}

/// What a report of something that we sent was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Learned {
    /// The peer is one that was not known.
    pub(crate) is_new_life: bool,
    /// The path is alive again.
    pub(crate) is_recovered: bool,
}

impl Path {
    pub(crate) fn new() -> Self {
        Self {
            carriage: None,
            limit_bytes_per_s: None,
            is_blocked: false,
            sequence: 0,
            heard: None,
            stranger: None,
            is_acquainted: false,
            clock: PeerClock::default(),
            capacity: Capacity::new(None),
            unanswered: VecDeque::new(),
            in_flight: 0,
            answered_to: None,
            arrived: (0, 0),
            pacer: Pacer::default(),
            owed: Owed::Nothing,
            reported_at: Time::ZERO,
            probed_at: None,
            stalled_pause: PROBE_STALLED,
            sent_at: Time::ZERO,
            stalled_at: None,
            well_since: Time::ZERO,
            n_sent: 0,
            n_received: 0,
            sent_bytes: 0,
            received_bytes: 0,
            n_stalls: 0,
            n_bad: 0,
        }
    }

    pub(crate) fn set_limit(&mut self, bytes_per_s: f64) {
        self.limit_bytes_per_s = Some(bytes_per_s);
        self.capacity = Capacity::new(self.limit_bytes_per_s);
    }

    pub(crate) fn has_limit(&self) -> bool {
        self.limit_bytes_per_s.is_some()
    }

    /// The carrier is connected: everything begins anew but the counts.
    pub(crate) fn up(&mut self, carriage: Carriage, now: Time) {
        let before = std::mem::replace(self, Self::new());
        *self = Self {
            carriage: Some(carriage),
            limit_bytes_per_s: before.limit_bytes_per_s,
            capacity: Capacity::new(before.limit_bytes_per_s),
            // Numbers go on, so that packets of before cannot be mistaken.
            sequence: before.sequence,
            pacer: Pacer {
                filled_at: now,
                ..Pacer::default()
            },
            well_since: now,
            n_sent: before.n_sent,
            n_received: before.n_received,
            sent_bytes: before.sent_bytes,
            received_bytes: before.received_bytes,
            n_stalls: before.n_stalls,
            n_bad: before.n_bad,
            ..Self::new()
        };
    }

    pub(crate) fn down(&mut self) {
        self.carriage = None;
        self.is_acquainted = false;
        self.heard = None;
    }

    pub(crate) fn state(&self) -> PathState {
        match (self.carriage, self.is_ready(), self.stalled_at) {
            (None, _, _) => PathState::Down,
            (Some(_), false, _) => PathState::Connecting,
            (Some(_), true, None) => PathState::Ready,
            (Some(_), true, Some(_)) => PathState::Stalled,
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.carriage.is_some()
    }

    /// Whether both ends know each other, and so data may go.
    fn is_ready(&self) -> bool {
        self.carriage.is_some() && self.is_acquainted && self.heard.is_some()
    }

    /// Whether it has been well for long enough to be preferred again.
    pub(crate) fn is_recovered(&self, now: Time) -> bool {
        self.state() == PathState::Ready && now.since(self.well_since) >= RECOVERED
    }

    pub(crate) fn overhead(&self) -> usize {
        self.carriage.map_or(0, |it| it.overhead)
    }

    /// Whether packets have a checksum of ours.
    pub(crate) fn is_sealed(&self) -> bool {
        self.carriage.is_some_and(|it| it.is_sealed)
    }

    /// How large a packet may be: what is sent takes no longer than a moment, so that a command need not wait for it.
    pub(crate) fn packet_len(&self, is_paced: bool) -> usize {
        let max = self.carriage.map_or(0, |it| it.max_packet).min(MAX_PACKET);
        if self.stalled_at.is_some() {
            let probe = whole(self.capacity.bytes_per_s() * PROBE_STALLED.as_secs_f64());
            return probe.clamp(MIN_PACKET, 2 * MIN_PACKET).min(max);
        }
        if !is_paced {
            return max;
        }
        let airtime = whole(self.capacity.bytes_per_s() * MAX_AIRTIME.as_secs_f64());
        airtime.clamp(MIN_PACKET.min(max), max)
    }

    fn packet_time(&self) -> Duration {
        let n_bytes = self.packet_len(true) + self.overhead();
        let n_bytes = f64::from(u32::try_from(n_bytes).unwrap_or(u32::MAX));
        Duration::try_from_secs_f64(n_bytes / self.capacity.bytes_per_s()).unwrap_or(MAX_REPORT)
    }

    pub(crate) fn header(&self, life: u32, generation: u16, now: Time) -> Header {
        Header {
            generation,
            life,
            sequence: self.sequence,
            sent_utime: now.utime(),
        }
    }

    // Sending.

    /// Whether bulk may be sent now, by the pacer and by what is on the way already.
    pub(crate) fn may_send(&mut self, now: Time) -> bool {
        let earned = self.capacity.pace() * now.since(self.pacer.filled_at).as_secs_f64();
        self.pacer.filled_at = now;
        self.pacer.tokens =
            (self.pacer.tokens + earned).min(0.0_f64.max(self.capacity.pace() * 0.002));
        self.pacer.tokens >= 0.0 && self.in_flight < self.max_in_flight()
    }

    /// Something had to wait for the pacer.
    pub(crate) fn note_limited(&mut self) {
        self.pacer.is_limited = true;
    }

    /// Whether even a command should wait: so much is ahead of it that it would wait on the way instead.
    pub(crate) fn is_full(&self) -> bool {
        self.in_flight > 2 * self.max_in_flight() || self.pacer.tokens < -self.urgent_debt()
    }

    /// What commands may owe: two packets.
    fn urgent_debt(&self) -> f64 {
        f64::from(u32::try_from(2 * self.packet_len(true)).unwrap_or(u32::MAX))
    }

    /// The most that is owed. Reports and probes go whatever is owed, and on a path that carries less than them none could
    /// ever pay: commands wait for what is ahead of them on the way, and no longer.
    fn max_debt(&self) -> f64 {
        self.urgent_debt() + self.capacity.pace() * MAX_DEBT.as_secs_f64()
    }

    fn max_in_flight(&self) -> usize {
        let rtt = self.clock.min_rtt().unwrap_or(MAX_REPORT) + MAX_REPORT;
        whole(self.capacity.bytes_per_s() * rtt.as_secs_f64()) + 2 * self.packet_len(true)
    }

    /// When the pacer lets bulk go again.
    pub(crate) fn may_send_at(&self, now: Time) -> Time {
        let wait_s = (-self.pacer.tokens).max(0.0) / self.capacity.pace();
        let wait = Duration::try_from_secs_f64(wait_s).unwrap_or(MAX_REPORT);
        match self.in_flight < self.max_in_flight() {
            true => self.pacer.filled_at + wait.max(Duration::from_micros(100)),
            // A report or a stall will show.
            false => now + MAX_REPORT,
        }
    }

    /// A packet went. Reports are not answered, or they would be for ever.
    pub(crate) fn note_sent(&mut self, packet_len: usize, is_answered: bool, now: Time) -> u32 {
        let n_bytes = packet_len + self.overhead();
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        self.n_sent += 1;
        self.sent_bytes += u64::try_from(n_bytes).unwrap_or(0);
        let spent = f64::from(u32::try_from(n_bytes).unwrap_or(u32::MAX));
        self.pacer.tokens = (self.pacer.tokens - spent).max(-self.max_debt());
        if !is_answered {
            return sequence;
        }
        self.stalled_pause = self.stalled_pause(spent, now);
        self.sent_at = now;
        if self.unanswered.len() == MAX_UNANSWERED
            && let Some(oldest) = self.unanswered.pop_front()
        {
            self.in_flight -= oldest.n_bytes;
        }
        self.in_flight += n_bytes;
        self.unanswered.push_back(Unanswered {
            sequence,
            sent_at: now,
            n_bytes,
        });
        sequence
    }

    /// How long to rest after a packet of so many bytes in a stall.
    fn stalled_pause(&self, n_bytes: f64, now: Time) -> Duration {
        if self.stalled_at.is_none_or(|at| now.since(at) < SHORT_STALL) {
            return PROBE_STALLED;
        }
        let pause = Duration::try_from_secs_f64(n_bytes / (self.capacity.pace() * STALLED_PACE));
        let pause = pause.unwrap_or(PROBE_STANDBY);
        pause.clamp(PROBE_STALLED, PROBE_STANDBY)
    }

    pub(crate) fn is_probe_due(&self, is_active: bool, now: Time) -> bool {
        self.probe_due_at(is_active).is_some_and(|at| now >= at)
    }

    pub(crate) fn probe_due_at(&self, is_active: bool) -> Option<Time> {
        let last = self.probed_at;
        let every = match (self.state(), is_active) {
            (PathState::Down, _) => return None,
            (PathState::Connecting, _) => PROBE_CONNECTING,
            (PathState::Stalled, true) => self.stalled_pause,
            (PathState::Stalled, false) => PROBE_STANDBY,
            // What is sent anyway is answered anyway.
            (PathState::Ready, true) => {
                return Some(self.sent_at.max(last.unwrap_or(Time::ZERO)) + PROBE_IDLE);
            }
            (PathState::Ready, false) => PROBE_STANDBY,
        };
        Some(last.map_or(Time::ZERO, |last| last + every))
    }

    pub(crate) fn note_probed(&mut self, now: Time) {
        self.probed_at = Some(now);
    }

    /// How long a reliable message waits for its acknowledgement.
    pub(crate) fn resend_after(&self) -> Duration {
        let rtt = self.clock.rtt().unwrap_or(MAX_REPORT);
        rtt + rtt / 2 + Duration::from_millis(50)
    }

    // Stalls.

    fn patience(&self) -> Duration {
        let rtt = self.clock.rtt().unwrap_or(MAX_REPORT);
        (rtt * STALL_RTTS).max(MIN_STALL) + MAX_REPORT
    }

    /// When the oldest packet has been unanswered for too long.
    pub(crate) fn stalls_at(&self) -> Option<Time> {
        let is_watched = self.state() == PathState::Ready;
        let oldest = self.unanswered.front().filter(|_| is_watched)?;
        Some(oldest.sent_at + self.patience())
    }

    /// Whether it is unknown if it still works.
    pub(crate) fn is_suspect(&self, now: Time) -> bool {
        let at = self.stalls_at().map(|at| at - self.patience() / 3);
        self.state() != PathState::Ready || at.is_some_and(|at| now >= at)
    }

    /// Whether it stalls just now. What is on the way is taken for lost.
    pub(crate) fn stall_if_silent(&mut self, now: Time) -> bool {
        if self.stalls_at().is_none_or(|at| now < at) {
            return false;
        }
        self.stalled_at = Some(now);
        self.n_stalls += 1;
        self.unanswered.clear();
        self.in_flight = 0;
        self.probed_at = None;
        true
    }

    // Receiving.

    /// A packet is here. Whether it is of the life that is known, so that its data counts.
    pub(crate) fn note_received(&mut self, header: &Header, packet_len: usize, now: Time) -> bool {
        let n_bytes = packet_len + self.overhead();
        self.n_received += 1;
        self.received_bytes += u64::try_from(n_bytes).unwrap_or(0);
        let n_bytes = u32::try_from(n_bytes).unwrap_or(u32::MAX);
        let is_known = self.heard.is_some_and(|heard| heard.life == header.life);
        let heard = match is_known {
            true => &mut self.heard,
            false => &mut self.stranger,
        };
        match heard.as_mut().filter(|heard| heard.life == header.life) {
            Some(heard) => heard.note(header, n_bytes, now),
            None => *heard = Some(Heard::first(header, n_bytes, now)),
        }
        is_known
    }

    /// What arrived should be answered, soon.
    pub(crate) fn note_unreported(&mut self) {
        self.owed = self.owed.max(Owed::Soon);
    }

    pub(crate) fn ask_report(&mut self) {
        self.owed = Owed::Now;
    }

    /// Takes a report about what we sent, in a packet from `header.life`.
    pub(crate) fn learn(
        &mut self,
        header: &Header,
        report: &Report,
        life: u32,
        now: Time,
    ) -> Option<Learned> {
        let now_us = now.utime();
        let age_us = now_us.saturating_sub(report.echo_utime);
        let max_us = i64::try_from(MAX_ECHO.as_micros()).unwrap_or(i64::MAX);
        if report.echo_life != life || !(0..=max_us).contains(&age_us) {
            return None;
        }
        let is_new_life = self.heard.is_none_or(|heard| heard.life != header.life);
        if is_new_life {
            self.heard = self.stranger.take_if(|it| it.life == header.life);
            self.clock = PeerClock::default();
            self.answered_to = None;
        }
        let arrived_us = header.sent_utime.saturating_sub(i64::from(report.hold_us));
        let times = [report.echo_utime, arrived_us, header.sent_utime, now_us];
        self.clock.learn(times, now);
        self.is_acquainted = report.is_acquainted;
        let is_recovered = self.recover(report.echo_utime, now);
        self.answer(report.highest);
        self.learn_capacity(report, arrived_us, now);
        Some(Learned {
            is_new_life,
            is_recovered,
        })
    }

    /// Only the answer to a packet from after the stall ends it: others may have been kept on the way.
    fn recover(&mut self, echo_utime: i64, now: Time) -> bool {
        let is_over = self.stalled_at.is_some_and(|at| echo_utime >= at.utime());
        if is_over {
            self.stalled_at = None;
            self.well_since = now;
            self.capacity.restart();
            // What was sent meanwhile was sent to find out; commands do not wait until that is paid for.
            self.pacer.tokens = 0.0;
            self.pacer.filled_at = now;
        }
        is_over
    }

    fn answer(&mut self, highest: u32) {
        while let Some(first) = self.unanswered.front().copied()
            && highest.wrapping_sub(first.sequence) < u32::MAX / 2
        {
            self.unanswered.pop_front();
            self.in_flight -= first.n_bytes;
        }
    }

    fn learn_capacity(&mut self, report: &Report, arrived_us: i64, now: Time) {
        let Some((highest, n_packets)) =
            self.answered_to.replace((report.highest, report.n_packets))
        else {
            self.arrived = (report.n_bytes, 0);
            return;
        };
        let n_sent = report.highest.wrapping_sub(highest);
        if n_sent == 0 || n_sent > u32::MAX / 2 {
            return;
        }
        let (before, total) = self.arrived;
        let total = total.wrapping_add(u64::from(report.n_bytes.wrapping_sub(before)));
        self.arrived = (report.n_bytes, total);
        let sample = Sample {
            arrived_us,
            n_bytes: total,
            n_sent,
            n_arrived: report.n_packets.wrapping_sub(n_packets),
            transit_us: report.transit_us,
            rtt: self.clock.rtt().unwrap_or(MAX_REPORT),
            packet_time: self.packet_time(),
            is_limited: std::mem::take(&mut self.pacer.is_limited),
        };
        self.capacity.learn(&sample, now);
    }

    /// How long ago a packet of the peer was sent; `None` while its clock is not known.
    pub(crate) fn transit(&self, sent_utime: i64, now: Time) -> Option<Transit> {
        self.clock.transit(sent_utime, now)
    }

    // Reporting.

    fn report_every(&self) -> Duration {
        let n_bytes = 60.0 + f64::from(u32::try_from(self.overhead()).unwrap_or(0));
        let every = Duration::try_from_secs_f64(10.0 * n_bytes / self.capacity.bytes_per_s());
        every.unwrap_or(MAX_REPORT).clamp(MIN_REPORT, MAX_REPORT)
    }

    pub(crate) fn report_due_at(&self) -> Option<Time> {
        let is_stranger = self.stranger.is_some_and(|it| it.is_new);
        match (self.owed, is_stranger) {
            _ if !self.is_up() => None,
            (Owed::Now, _) | (_, true) => Some(Time::ZERO),
            (Owed::Soon, false) => Some(self.reported_at + self.report_every()),
            (Owed::Nothing, false) => None,
        }
    }

    /// Whether a report may as well go along with what is sent anyway.
    pub(crate) fn is_report_welcome(&self, now: Time) -> bool {
        self.owed > Owed::Nothing && now.since(self.reported_at) >= self.report_every() / 2
    }

    pub(crate) fn report(&mut self, now: Time) -> Option<Report> {
        // A new instance gets a report first, so that it knows it is received.
        let stranger = self.stranger.as_mut().filter(|it| it.is_new);
        let is_stranger = stranger.is_some();
        if !is_stranger {
            self.owed = Owed::Nothing;
        }
        self.reported_at = now;
        let is_known = !is_stranger && self.clock.rtt().is_some();
        let heard = stranger.or(self.heard.as_mut())?;
        heard.is_new = false;
        let hold = now.since(heard.newest_at);
        Some(Report {
            is_acquainted: is_known,
            echo_life: heard.life,
            echo_utime: heard.newest_utime,
            hold_us: u32::try_from(hold.as_micros()).unwrap_or(u32::MAX),
            highest: heard.highest,
            n_packets: heard.n_packets,
            n_bytes: heard.n_bytes,
            transit_us: heard.transit_us.take().unwrap_or(0),
        })
    }

    pub(crate) fn status(&self, is_active: bool) -> PathStatus {
        PathStatus {
            state: self.state(),
            is_active,
            rtt: self.clock.rtt(),
            capacity_bytes_per_s: self.capacity.bytes_per_s(),
            loss: self.capacity.loss(),
            n_sent: self.n_sent,
            n_received: self.n_received,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            n_stalls: self.n_stalls,
            n_bad: self.n_bad,
        }
    }
}

impl Heard {
    fn first(header: &Header, n_bytes: u32, now: Time) -> Self {
        Self {
            life: header.life,
            highest: header.sequence,
            n_packets: 1,
            n_bytes,
            newest_utime: header.sent_utime,
            newest_at: now,
            transit_us: Some(now.utime().saturating_sub(header.sent_utime)),
            is_new: true,
        }
    }

    fn note(&mut self, header: &Header, n_bytes: u32, now: Time) {
        self.is_new = true;
        self.n_packets = self.n_packets.wrapping_add(1);
        self.n_bytes = self.n_bytes.wrapping_add(n_bytes);
        let transit_us = now.utime().saturating_sub(header.sent_utime);
        self.transit_us = Some(self.transit_us.map_or(transit_us, |it| it.min(transit_us)));
        if header.sequence.wrapping_sub(self.highest) < u32::MAX / 2 {
            self.highest = header.sequence;
            self.newest_utime = header.sent_utime;
            self.newest_at = now;
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cast to the nearest number that there is"
)]
fn whole(bytes: f64) -> usize {
    bytes as usize
}
