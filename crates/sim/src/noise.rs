//! Random numbers that are a function of who asks, when and for the how-manyth time, and of nothing else.
//!
//! So a sensor that is added changes nothing about the others, and a tick can be simulated again without those before it.

use bowline_wire::random::{Random, fnv, mix};

/// What all random numbers of a simulation come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The numbers of one source at one tick.
    #[must_use]
    pub fn stream(self, source: &str, tick: u64) -> Stream {
        let seed = mix(mix(mix(self.0) ^ fnv(source.bytes())) ^ tick);
        Stream {
            random: Random::new(seed),
            spare: None,
        }
    }
}

/// Random numbers in a row.
#[derive(Clone, Debug)]
pub struct Stream {
    random: Random,
    spare: Option<f64>,
}

impl Stream {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.random.bits()
    }

    /// From 0 to 1, without 1.
    pub fn uniform(&mut self) -> f64 {
        self.random.unit()
    }

    /// Of mean 0 and standard deviation 1 (Box and Muller's way, which gives two at once).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    /// Three of [`Self::normal`], each with its deviation.
    pub fn normals(&mut self, deviations: [f64; 3]) -> [f64; 3] {
        deviations.map(|deviation| deviation * self.normal())
    }
}

/// Noise that lasts: at any moment of deviation 1, and nearly the same a moment later. A source has up to 16 of them.
pub(crate) fn lasting(
    (seed, source): (Seed, &str),
    elapsed_ns: u64,
    lasts_s: f64,
    nth: u64,
) -> f64 {
    let lasts_ns = (lasts_s * 1e9).max(1.0);
    #[expect(
        clippy::cast_precision_loss,
        reason = "nanoseconds of a few months are exact"
    )]
    let at = elapsed_ns as f64 / lasts_ns;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not below 0, and far below the largest"
    )]
    let knot = at.floor() as u64;
    let value = |knot: u64| {
        let mut stream: Stream = seed.stream(source, knot.wrapping_mul(16) + nth);
        stream.normal()
    };
    // Sines and cosines keep the deviation at 1 all the way.
    let (sin, cos) = ((at - at.floor()) * std::f64::consts::FRAC_PI_2).sin_cos();
    value(knot) * cos + value(knot + 1) * sin
}
