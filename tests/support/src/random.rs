//! Seeded randomness. The same seed gives the same numbers on every machine.

use std::time::Duration;

/// Numbers from a seed.
#[derive(Clone, Debug)]
pub struct Random(bowline_wire::random::Random);

impl Random {
    /// The numbers of that seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // A first step keeps neighbouring seeds apart.
        let mut numbers = bowline_wire::random::Random::new(seed ^ 0x5bd1_e995_9d1b_a7c3);
        numbers.bits();
        Self(numbers)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A random byte.
    pub fn byte(&mut self) -> u8 {
        self.0.byte()
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.index(n)
    }

    /// A number of that range, both ends included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// True in that many of 100 cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// Whole milliseconds from `low` up to `high`, which is excluded and larger.
    pub fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(low + self.bits() % (high - low))
    }

    /// Whole microseconds of that range, both ends included.
    pub fn duration(&mut self, low: Duration, high: Duration) -> Duration {
        let micros = u64::try_from((high - low).as_micros()).expect("less than 500,000 years");
        low + Duration::from_micros(self.bits() % (micros + 1))
    }

    /// A number from `low` up to `high`, evenly distributed.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.0.within(low, high)
    }

    /// A number of mean 0 and standard deviation 1 (Box and Muller's way).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform(0.0, 1.0)).ln()).sqrt();
        radius * self.uniform(0.0, std::f64::consts::TAU).cos()
    }
}
