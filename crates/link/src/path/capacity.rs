//! What a path carries, bytes a second, worked out while it is used.
//!
//! What arrives while something waits in a queue on the way is what the path carries. So: when packets take longer than
//! the fastest of late by more than a packet's time and a margin, or many are lost, the estimate falls at once to a bit less
//! than what arrives. When nothing waits and the sender would send more, it rises: fast until the first queue; after one
//! steadily up to what arrived then, and slowly at first where it is unknown what happens.

use bowline_component::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// What is tried first, bytes a second: 64 kbit/s, which any link carries that this is for.
const FIRST: f64 = 8_000.0;
/// Never less, bytes a second: a packet in a third of a second.
const LEAST: f64 = 1_000.0;
/// Never more, bytes a second.
const MOST: f64 = 125_000_000.0;
/// What packets may take longer than the fastest of late, beyond half a large packet's own time.
const MARGIN: Duration = Duration::from_millis(8);
/// So much lost is congestion, whatever the delay: a short queue loses instead of delaying.
const MAX_LOSS: f64 = 0.2;
/// How much is sent of what the path carries, and how much while a queue drains.
const PACE: f64 = 0.92;
const DRAIN: f64 = 0.5;
/// After a decrease the estimate rises by so much a second up to what is known to arrive.
const RETURN_GROWTH: f64 = 0.05;
/// Beyond, it rises by so much a second, and each second faster, up to that much: what is too much waits in a queue that is
/// received of late, and a shaper that lets bursts through hides it for longer.
const SLOW_GROWTH: f64 = 0.02;
const FAST_GROWTH: f64 = 0.4;
const GROWTH_OF_GROWTH: f64 = 0.6;
/// What arrives is measured over so long, and so many bytes: fewer are no measure of a rate, and on a path that is known to
/// carry little they take longer. Otherwise an estimate below that rate could never be seen to be too low.
const MEASURE: Duration = Duration::from_millis(250);
const MIN_MEASURED: u64 = 1_000;
/// The fastest transit counts for so long: two of these.
const BASE_WINDOW: Duration = Duration::from_secs(15);
/// For so long a queue that was seen shows how much is too much.
const KNOWN: Duration = Duration::from_secs(10);
/// Marks of what has arrived that are kept.
const MAX_MARKS: usize = 64;

/// What a report has about capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// When the newest packet arrived, by the peer's clock, microseconds.
    pub(crate) arrived_us: i64,
    /// Bytes that arrived, ever.
    pub(crate) n_bytes: u64,
    /// Packets that were sent, and that arrived, since the last report.
    pub(crate) n_sent: u32,
    pub(crate) n_arrived: u32,
    /// The shortest transit since the last report, by two clocks, microseconds.
    pub(crate) transit_us: i64,
    /// A round trip.
    pub(crate) rtt: Duration,
    /// How long the largest packet takes at the present estimate.
    pub(crate) packet_time: Duration,
    /// Whether the sender had to wait for the pacer since the last report.
    pub(crate) is_limited: bool,
}

/// What a path carries.
#[derive(Debug)]
pub(crate) struct Capacity {
    bytes_per_s: f64,
    limit: f64,
    marks: VecDeque<(i64, u64)>,
    /// The shortest transit of this window, and of the one before.
    base_us: [Option<i64>; 2],
    base_began_at: Time,
    loss: f64,
    is_starting: bool,
    is_draining: bool,
    /// What arrived when a queue was last seen, bytes a second.
    proven: f64,
    growth: f64,
    learned_at: Time,
    decide_at: Time,
    /// Packets since the last judgement about loss, sent and arrived.
    since: [u32; 2],
}

impl Capacity {
    pub(crate) fn new(limit_bytes_per_s: Option<f64>) -> Self {
        let limit = limit_bytes_per_s.unwrap_or(MOST).clamp(LEAST, MOST);
        Self {
            bytes_per_s: FIRST.min(limit),
            limit,
            marks: VecDeque::new(),
            base_us: [None; 2],
            base_began_at: Time::ZERO,
            loss: 0.0,
            is_starting: true,
            is_draining: false,
            proven: 0.0,
            growth: SLOW_GROWTH,
            learned_at: Time::ZERO,
            decide_at: Time::ZERO,
            since: [0; 2],
        }
    }

    pub(crate) fn bytes_per_s(&self) -> f64 {
        self.bytes_per_s
    }

    /// The same, if it is known that it carries no more: a queue was seen a while ago.
    pub(crate) fn known(&self, now: Time) -> Option<f64> {
        let is_known = !self.is_starting && now.since(self.decide_at) < KNOWN;
        is_known.then_some(self.bytes_per_s)
    }

    /// How fast to send.
    pub(crate) fn pace(&self) -> f64 {
        self.bytes_per_s * if self.is_draining { DRAIN } else { PACE }
    }

    /// What is lost on the way, smoothed.
    pub(crate) fn loss(&self) -> f64 {
        self.loss
    }

    pub(crate) fn learn(&mut self, sample: &Sample, now: Time) {
        let elapsed = now.since(self.learned_at).min(Duration::from_secs(1));
        self.learned_at = now;
        let is_lossy = self.learn_loss(sample);
        let queued = self.learn_base(sample.transit_us, now);
        let delivered = self.learn_rate(sample);
        let patience = MARGIN + sample.packet_time / 2;
        let is_queued = queued > patience;
        self.is_draining = queued > patience + patience;
        // Who sends less than the path carries does not make it lose.
        if is_queued || (is_lossy && sample.is_limited) {
            if now >= self.decide_at
                && let Some(delivered) = delivered
            {
                let less = (delivered * 0.92).min(self.bytes_per_s * 0.96);
                // One measurement may be of a moment when little was sent.
                self.bytes_per_s = less.max(self.bytes_per_s * 0.25).clamp(LEAST, self.limit);
                self.is_starting = false;
                self.proven = delivered;
                self.growth = SLOW_GROWTH;
                self.decide_at = now + sample.rtt.max(Duration::from_millis(20));
                self.marks.drain(..self.marks.len().saturating_sub(1));
            }
            return;
        }
        if sample.is_limited {
            self.grow(elapsed, sample.rtt, delivered);
        }
    }

    fn grow(&mut self, elapsed: Duration, rtt: Duration, delivered: Option<f64>) {
        let factor = match self.is_starting {
            true => {
                let doubling_s = rtt.max(Duration::from_millis(100)).as_secs_f64();
                // What has not arrived yet proves nothing.
                let is_ahead = delivered.is_some_and(|it| it < self.bytes_per_s * 0.4);
                if is_ahead {
                    1.0
                } else {
                    (elapsed.as_secs_f64() / doubling_s).min(1.0).exp2()
                }
            }
            // Nor does what was not even sent.
            false if delivered.is_none_or(|it| it < self.bytes_per_s * 0.6) => 1.0,
            false if self.bytes_per_s < self.proven => 1.0 + RETURN_GROWTH * elapsed.as_secs_f64(),
            false => {
                let faster = 1.0 + GROWTH_OF_GROWTH * elapsed.as_secs_f64();
                let growth = self.growth;
                self.growth = (growth * faster).min(FAST_GROWTH);
                1.0 + growth * elapsed.as_secs_f64()
            }
        };
        self.bytes_per_s = (self.bytes_per_s * factor).min(self.limit);
    }

    /// Whether so much is lost that it must be congestion.
    fn learn_loss(&mut self, sample: &Sample) -> bool {
        let [n_sent, n_arrived] = &mut self.since;
        *n_sent = n_sent.saturating_add(sample.n_sent);
        *n_arrived = n_arrived.saturating_add(sample.n_arrived);
        if *n_sent < 10 {
            return false;
        }
        let lost = 1.0 - (f64::from(*n_arrived) / f64::from(*n_sent)).min(1.0);
        self.since = [0; 2];
        self.loss += (lost - self.loss) * 0.3;
        lost > MAX_LOSS
    }

    /// How long packets wait on the way.
    fn learn_base(&mut self, transit_us: i64, now: Time) -> Duration {
        if now.since(self.base_began_at) > BASE_WINDOW {
            self.base_began_at = now;
            self.base_us = [None, self.base_us[0]];
        }
        self.base_us[0] = Some(self.base_us[0].map_or(transit_us, |it| it.min(transit_us)));
        let base = self.base_us.iter().flatten().min().copied();
        let queued_us = transit_us.saturating_sub(base.unwrap_or(transit_us));
        Duration::from_micros(u64::try_from(queued_us).unwrap_or(0))
    }

    /// What has arrived of late, bytes a second.
    fn learn_rate(&mut self, sample: &Sample) -> Option<f64> {
        let Sample {
            arrived_us,
            n_bytes,
            ..
        } = *sample;
        if self.marks.back().is_none_or(|(at, _)| arrived_us > *at) {
            if self.marks.len() == MAX_MARKS {
                self.marks.pop_front();
            }
            self.marks.push_back((arrived_us, n_bytes));
        }
        let measure_us = i64::try_from(MEASURE.as_micros()).unwrap_or(i64::MAX);
        while self.marks.len() > 2
            && self.marks.get(1).is_some_and(|(at, before)| {
                arrived_us.saturating_sub(*at) >= measure_us
                    && n_bytes.wrapping_sub(*before) >= MIN_MEASURED
            })
        {
            self.marks.pop_front();
        }
        let (first_us, first_bytes) = *self.marks.front()?;
        let elapsed_us = arrived_us.saturating_sub(first_us);
        let elapsed_us = u32::try_from(elapsed_us).ok().filter(|it| *it >= 10_000)?;
        let n_new = n_bytes.wrapping_sub(first_bytes);
        let n_new = u32::try_from(n_new)
            .ok()
            .filter(|_| n_new >= MIN_MEASURED)?;
        Some(f64::from(n_new) * 1e6 / f64::from(elapsed_us))
    }

    /// The path was dead for a while; what it carries now is unknown.
    pub(crate) fn restart(&mut self) {
        self.bytes_per_s = (self.bytes_per_s * 0.5).max(LEAST);
        self.marks.clear();
        self.since = [0; 2];
        self.is_draining = false;
        self.is_starting = true;
        self.growth = SLOW_GROWTH;
    }
}
