//! How much later than they should have been events were published.

use std::time::Duration;

/// Buckets for each doubling: a quantile is right to an eighth.
const STEPS: u64 = 8;
const N_BUCKETS: usize = 64 * 8;

/// Counts of lateness, in memory that does not grow.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    n: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: vec![0; N_BUCKETS],
            n: 0,
            sum_ns: 0,
            max_ns: 0,
        }
    }
}

impl Lateness {
    pub(super) fn add(&mut self, late: Duration) {
        let ns = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.n += 1;
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
        if let Some(count) = self.counts.get_mut(bucket(ns)) {
            *count += 1;
        }
    }

    /// How many events were due at a time; those of a step or as fast as possible are not.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// On average.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let mean = self.sum_ns.checked_div(u128::from(self.n)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// So many of a thousand were not later than this, to an eighth.
    #[must_use]
    pub fn permille(&self, permille: u64) -> Duration {
        let rank = (self.n * permille).div_ceil(1_000).max(1);
        let mut n = 0;
        for (at, count) in self.counts.iter().enumerate() {
            n += count;
            if n >= rank {
                return Duration::from_nanos(highest(at).min(self.max_ns));
            }
        }
        Duration::from_nanos(self.max_ns)
    }

    /// At worst.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max_ns)
    }
}

fn bucket(ns: u64) -> usize {
    let at = match ns.checked_ilog2() {
        None | Some(0..3) => ns,
        // The three bits below the highest.
        Some(power) => u64::from(power - 2) * STEPS + ((ns >> (power - 3)) & (STEPS - 1)),
    };
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// The most that is in a bucket.
fn highest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let (power, step) = (bucket / STEPS, bucket % STEPS);
    if power == 0 {
        return step;
    }
    let shift = u32::try_from(power - 1).unwrap_or(u32::MAX);
    let next = u128::from(STEPS + step + 1)
        .checked_shl(shift)
        .unwrap_or(u128::MAX);
    u64::try_from(next - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_within_an_eighth() {
        for ns in (0..100).chain([1_000, 65_535, 65_536, 1_900_000, u64::MAX / 3, u64::MAX]) {
            let highest = highest(bucket(ns));
            assert!(highest >= ns && highest - ns <= ns / 8, "{ns}: {highest}");
        }
    }

    #[test]
    fn quantiles_are_of_what_was_added() {
        let mut lateness = Lateness::default();
        for us in 1..=1_000 {
            lateness.add(Duration::from_micros(us));
        }
        assert_eq!(lateness.mean(), Duration::from_nanos(500_500));
        assert_eq!(lateness.max(), Duration::from_millis(1));
        let p99 = lateness.permille(990);
        assert!(p99 >= Duration::from_micros(990) && p99 <= lateness.max());
        assert!(lateness.permille(500) >= Duration::from_micros(500));
        assert!(lateness.permille(500) <= Duration::from_micros(570));
        assert_eq!(Lateness::default().permille(990), Duration::ZERO);
    }
}
