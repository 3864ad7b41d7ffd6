//! How often something happens, as of late, at a fixed cost.

/// Slices of time that are counted apart.
const N_SLICES: i64 = 8;
const RING: usize = 8;
const SLICE_NS: i64 = 250_000_000;
/// With fewer than so many in all slices, the time between them is the better measure than their number.
const FEW: u32 = 4;
/// How much the latest of the intervals counts in their mean and spread.
const WEIGHT: f64 = 1.0 / 16.0;

/// The times of messages, summed up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rhythm {
    /// Which slice of time the last one is.
    slice: i64,
    /// A ring, by the number of the slice.
    counts: [u32; RING],
    bytes: [u64; RING],
    first_ns: i64,
    last_ns: i64,
    n_intervals: u64,
    mean_ns: f64,
    variance: f64,
}

impl Rhythm {
    /// One more, at that time, of so many bytes.
    pub(crate) fn beat(&mut self, at_ns: i64, size: usize) {
        let slice = at_ns.div_euclid(SLICE_NS);
        if self.first_ns == 0 || slice < self.slice - 1 {
            // The first, or time went back: a log is played from an earlier place.
            *self = Self {
                slice,
                first_ns: at_ns,
                ..Self::default()
            };
        } else {
            self.take_interval(at_ns - self.last_ns);
            self.advance(slice);
        }
        self.last_ns = at_ns;
        let at = place(self.slice);
        if let (Some(count), Some(bytes)) = (self.counts.get_mut(at), self.bytes.get_mut(at)) {
            *count = count.saturating_add(1);
            *bytes = bytes.saturating_add(size as u64);
        }
    }

    fn advance(&mut self, slice: i64) {
        let n_passed = (slice - self.slice).clamp(0, N_SLICES);
        for passed in 0..n_passed {
            let at = place(slice - passed);
            if let (Some(count), Some(bytes)) = (self.counts.get_mut(at), self.bytes.get_mut(at)) {
                *count = 0;
                *bytes = 0;
            }
        }
        self.slice = self.slice.max(slice);
    }

    #[expect(clippy::cast_precision_loss, reason = "a statistic for people")]
    fn take_interval(&mut self, interval_ns: i64) {
        let interval = interval_ns as f64;
        self.n_intervals += 1;
        // The first few are weighed alike, so that the first does not linger.
        let weight = WEIGHT.max(1.0 / self.n_intervals as f64);
        let off = interval - self.mean_ns;
        self.mean_ns += weight * off;
        self.variance = (1.0 - weight) * (self.variance + weight * off * off);
    }

    pub(crate) fn rate_hz(&self, now_ns: i64) -> f64 {
        let (n, _, window_s) = self.lately(now_ns);
        if n >= FEW && window_s > 0.0 {
            return f64::from(n) / window_s;
        }
        self.slow_rate_hz(now_ns)
    }

    /// Of few messages: the rate by the time between them, less when the next is overdue.
    #[expect(clippy::cast_precision_loss, reason = "a statistic for people")]
    fn slow_rate_hz(&self, now_ns: i64) -> f64 {
        if self.n_intervals == 0 {
            return 0.0;
        }
        let age = (now_ns - self.last_ns) as f64;
        let interval = if age > 2.0 * self.mean_ns {
            age
        } else {
            self.mean_ns
        };
        1e9 / interval.max(1.0)
    }

    #[expect(clippy::cast_precision_loss, reason = "a statistic for people")]
    pub(crate) fn bytes_per_second(&self, now_ns: i64) -> f64 {
        let (n, bytes, window_s) = self.lately(now_ns);
        if n >= FEW && window_s > 0.0 {
            return bytes as f64 / window_s;
        }
        let n_kept: u32 = self.counts.iter().sum();
        let bytes_kept: u64 = self.bytes.iter().sum();
        self.slow_rate_hz(now_ns) * bytes_kept as f64 / f64::from(n_kept.max(1))
    }

    pub(crate) fn jitter_s(&self) -> f64 {
        self.variance.max(0.0).sqrt() / 1e9
    }

    /// Messages and bytes in the slices before the present one, and how long those are.
    #[expect(clippy::cast_precision_loss, reason = "a statistic for people")]
    fn lately(&self, now_ns: i64) -> (u32, u64, f64) {
        let present = now_ns.div_euclid(SLICE_NS).max(self.slice);
        let oldest = present - N_SLICES + 1;
        let slices = (oldest..present).filter(|slice| *slice > self.slice - N_SLICES);
        let slices = slices.filter(|slice| *slice <= self.slice);
        let (mut n, mut bytes) = (0_u32, 0_u64);
        for at in slices.map(place) {
            n = n.saturating_add(self.counts.get(at).copied().unwrap_or(0));
            bytes = bytes.saturating_add(self.bytes.get(at).copied().unwrap_or(0));
        }
        let from_ns = (oldest * SLICE_NS).max(self.first_ns);
        (n, bytes, (present * SLICE_NS - from_ns) as f64 / 1e9)
    }
}

fn place(slice: i64) -> usize {
    usize::try_from(slice.rem_euclid(N_SLICES)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_763_269_856_000_000_000;

    fn after(n: i64, interval_ns: i64) -> Rhythm {
        let mut rhythm = Rhythm::default();
        for i in 0..n {
            rhythm.beat(START + i * interval_ns, 100);
        }
        rhythm
    }

    #[test]
    fn steady_rates_are_measured_at_every_speed() {
        for hz in [0.1, 0.5, 1.0, 10.0, 100.0, 50_000.0] {
            #[expect(clippy::cast_possible_truncation, reason = "short times")]
            let interval_ns = (1e9 / hz) as i64;
            let n = 4 + 3_000_000_000 / interval_ns;
            let rhythm = after(n, interval_ns);
            let now = START + n * interval_ns;
            let told = rhythm.rate_hz(now);
            assert!((told / hz - 1.0).abs() < 0.1, "{hz} Hz: {told}");
            let bandwidth = rhythm.bytes_per_second(now);
            assert!(
                (bandwidth / hz / 100.0 - 1.0).abs() < 0.1,
                "{hz} Hz: {bandwidth}"
            );
            assert!(rhythm.jitter_s() < 1e-6, "{hz} Hz");
        }
    }

    #[test]
    fn silence_lowers_the_rate() {
        let rhythm = after(100, 10_000_000);
        let now = rhythm.last_ns;
        assert!(rhythm.rate_hz(now + 1_000_000_000) < 60.0);
        assert!(rhythm.rate_hz(now + 10_000_000_000) < 0.2);
    }

    #[test]
    fn unsteady_intervals_show_as_jitter() {
        let mut rhythm = Rhythm::default();
        let mut at = START;
        for i in 0..400 {
            at += if i % 2 == 0 { 9_000_000 } else { 11_000_000 };
            rhythm.beat(at, 1);
        }
        let jitter_ms = rhythm.jitter_s() * 1e3;
        assert!((0.9..1.1).contains(&jitter_ms), "{jitter_ms}");
    }

    #[test]
    fn time_that_goes_back_starts_anew() {
        let mut rhythm = after(100, 10_000_000);
        rhythm.beat(START - 60_000_000_000, 1);
        assert!(rhythm.rate_hz(START - 60_000_000_000).abs() < f64::EPSILON);
        for i in 1..400 {
            rhythm.beat(START - 60_000_000_000 + i * 10_000_000, 1);
        }
        let told = rhythm.rate_hz(START - 56_000_000_000);
        assert!((told - 100.0).abs() < 10.0, "{told}");
    }
}
