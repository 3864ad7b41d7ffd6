//! Seeded randomness. The same seed gives the same numbers on every machine, unless a run asks for others: two variables
//! of proptest hold for all that is drawn, by proptest or here. `PROPTEST_RNG_SEED` asks for cases that were not drawn
//! before, `PROPTEST_CASES` for more or fewer of them. `scripts/soak properties` sets both.

use std::time::Duration;

/// The usual value of `PROPTEST_RNG_SEED`, which .cargo/config.toml sets.
pub const USUAL_SEED: u64 = 20_261_116;
/// The usual value of `PROPTEST_CASES`, which is proptest's own.
pub const USUAL_CASES: u32 = 256;

/// A setting of the run, or the usual value. A misspelt one panics: it must not run the usual cases in silence.
fn setting<N: std::str::FromStr>(name: &str, usual: N) -> N {
    let Some(text) = std::env::var_os(name) else {
        return usual;
    };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("expected a number in {name}, found {text:?}"))
}

/// How many cases of a property are drawn that has so many usually: in a run that asks for more, more by as much.
#[must_use]
pub fn cases(usual: u32) -> u32 {
    scaled(usual, setting("PROPTEST_CASES", USUAL_CASES))
}

/// So many usual cases, where all properties that name no number have `asked` instead of the usual ones.
#[must_use]
pub fn scaled(usual: u32, asked: u32) -> u32 {
    let scaled = u64::from(usual) * u64::from(asked) / u64::from(USUAL_CASES);
    u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
}

/// Numbers from a seed.
#[derive(Clone, Debug)]
pub struct Random(bowline_wire::random::Random);

impl Random {
    /// The numbers of that seed; others in a run that asks for new cases.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::drawn_in(setting("PROPTEST_RNG_SEED", USUAL_SEED), seed)
    }

    /// The numbers of that seed in a run with a seed of its own.
    #[must_use]
    pub fn drawn_in(run_seed: u64, seed: u64) -> Self {
        let other = run_seed.wrapping_sub(USUAL_SEED);
        Self::fixed(seed ^ other.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The numbers of that seed in every run: where what a test expects was measured with these very numbers.
    #[must_use]
    pub fn fixed(seed: u64) -> Self {
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
