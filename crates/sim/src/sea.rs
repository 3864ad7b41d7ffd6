//! The sea as it is at a moment: a function of the world, the seed and the time, and of nothing else.
//!
//! Waves are a sum of sines, as linear theory has them in deep water. A vessel rides them as a flat raft of its length and
//! beam would: what is shorter than the hull evens out over it.

use crate::noise::{Seed, lasting};
use crate::world::{Flow, Plume, Sea, Waves};

/// How many sines a seaway is made of. Enough that it does not repeat within minutes.
const N_WAVES: u32 = 12;
const GRAVITY_MPS2: f64 = 9.806_65;

/// A sea with its gusts and waves.
#[derive(Clone, Debug)]
pub struct Water {
    pub(crate) sea: Sea,
    seed: Seed,
    waves: Vec<Sine>,
}

/// One long-crested wave.
#[derive(Clone, Copy, Debug)]
struct Sine {
    amplitude_m: f64,
    /// Radians a second, and radians a metre.
    omega_radps: f64,
    number_radpm: f64,
    towards_rad: f64,
    phase_rad: f64,
}

/// A raft on waves: how it lies there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lie {
    /// Above still water, metres.
    pub(crate) heave_m: f64,
    /// How the surface below it rises ahead and to the left, metres a metre.
    pub(crate) slope: [f64; 2],
}

impl Water {
    /// Of a world, with gusts and waves from a seed.
    #[must_use]
    pub fn new(sea: Sea, seed: Seed) -> Self {
        Self {
            waves: sines(&sea.waves, seed),
            sea,
            seed,
        }
    }

    /// How the water moves, along east and north, metres a second.
    #[must_use]
    pub fn current(&self, elapsed_ns: u64) -> [f64; 2] {
        self.flow(&self.sea.current, "sea.current", elapsed_ns)
    }

    /// How the air moves, along east and north, metres a second.
    #[must_use]
    pub fn wind(&self, elapsed_ns: u64) -> [f64; 2] {
        self.flow(&self.sea.wind, "sea.wind", elapsed_ns)
    }

    fn flow(&self, flow: &Flow, source: &str, elapsed_ns: u64) -> [f64; 2] {
        let (sin, cos) = flow.towards_rad.sin_cos();
        let gust = |nth| {
            if flow.gust_mps == 0.0 {
                return 0.0;
            }
            flow.gust_mps * lasting((self.seed, source), elapsed_ns, flow.gust_s, nth)
        };
        let along = flow.speed_mps * tide(flow, elapsed_ns) + gust(0);
        let across = gust(1);
        [along * cos - across * sin, along * sin + across * cos]
    }

    /// How much of a substance is dissolved at a place, grams a cubic metre: Gauss's plumes, as long as the current has
    /// been, without its gusts.
    pub(crate) fn dissolved_gpm3(&self, substance: &str, at_m: [f64; 2], elapsed_ns: u64) -> f64 {
        let mut plumes = self.sea.plumes.iter().peekable();
        if plumes.peek().is_none() {
            return 0.0;
        }
        let current = &self.sea.current;
        let along = current.speed_mps * tide(current, elapsed_ns);
        let (sin, cos) = current.towards_rad.sin_cos();
        let plumes = plumes.filter(|plume| plume.substance == substance);
        let each = plumes.map(|plume| plume.dissolved_gpm3([along * cos, along * sin], at_m));
        each.sum()
    }

    /// How high the surface is at a place, metres, map frame.
    #[must_use]
    pub fn surface_m(&self, [x, y]: [f64; 2], elapsed_ns: u64) -> f64 {
        let heights = self.waves.iter().map(|wave| {
            let (_, cos) = wave.phase(x, y, elapsed_ns).sin_cos();
            wave.amplitude_m * cos
        });
        self.sea.level_m + heights.sum::<f64>()
    }

    /// How a raft lies on the waves.
    pub(crate) fn lie(&self, raft: &Raft, elapsed_ns: u64) -> Lie {
        let mut lie = Lie::default();
        for wave in &self.waves {
            let (sin, cos) = (wave.towards_rad - raft.heading_rad).sin_cos();
            let (ahead, left) = (wave.number_radpm * cos, wave.number_radpm * sin);
            let evened = sinc(ahead * raft.length_m / 2.0) * sinc(left * raft.beam_m / 2.0);
            let amplitude = wave.amplitude_m * evened;
            let [x, y] = raft.xy_m;
            let (sin, cos) = wave.phase(x, y, elapsed_ns).sin_cos();
            lie.heave_m += amplitude * cos;
            lie.slope[0] -= amplitude * ahead * sin;
            lie.slope[1] -= amplitude * left * sin;
        }
        lie
    }
}

/// Water that stands still carries nothing away; it is taken to move a little, metres a second.
const SLOWEST_MPS: f64 = 0.02;

impl Plume {
    /// What a steady leak makes of water that moves steadily: a Gaussian across its way that gets broader down it.
    fn dissolved_gpm3(&self, [east, north]: [f64; 2], [x, y]: [f64; 2]) -> f64 {
        let speed = east.hypot(north).max(SLOWEST_MPS);
        let (cos, sin) = (east / speed, north / speed);
        let (dx, dy) = (x - self.at_m[0], y - self.at_m[1]);
        let (down, across) = (dx * cos + dy * sin, dy * cos - dx * sin);
        let square = self.radius_m * self.radius_m + 2.0 * self.mixing_m2ps * down.max(0.0) / speed;
        // Against the current it ends where the leak does.
        let against = down.min(0.0) / self.radius_m;
        let off = across * across / square + against * against;
        let width = (std::f64::consts::TAU * square).sqrt();
        self.leak_gps / (speed * self.depth_m * width) * (-0.5 * off).exp()
    }
}

/// Something flat that floats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raft {
    pub(crate) xy_m: [f64; 2],
    pub(crate) heading_rad: f64,
    pub(crate) length_m: f64,
    pub(crate) beam_m: f64,
}

impl Sine {
    fn phase(&self, x: f64, y: f64, elapsed_ns: u64) -> f64 {
        let (sin, cos) = self.towards_rad.sin_cos();
        let seconds = std::time::Duration::from_nanos(elapsed_ns).as_secs_f64();
        self.number_radpm * (x * cos + y * sin) - self.omega_radps * seconds + self.phase_rad
    }
}

/// Waves of one height each whose periods lie about the strongest one's. Together they have the deviation that makes a
/// highest third of the wanted height: a quarter of it.
fn sines(waves: &Waves, seed: Seed) -> Vec<Sine> {
    if waves.height_m == 0.0 {
        return Vec::new();
    }
    let amplitude_m = waves.height_m / 4.0 * (2.0 / f64::from(N_WAVES)).sqrt();
    let sines = (0..N_WAVES).map(|nth| {
        let mut stream = seed.stream("sea.waves", nth.into());
        // From 0.7 to 1.5 times as fast, one in each part of that.
        let share = (f64::from(nth) + stream.uniform()) / f64::from(N_WAVES);
        let omega_radps = std::f64::consts::TAU / waves.period_s * (0.7 + 0.8 * share);
        Sine {
            amplitude_m,
            omega_radps,
            number_radpm: omega_radps * omega_radps / GRAVITY_MPS2,
            towards_rad: waves.towards_rad + waves.spread_rad * stream.normal(),
            phase_rad: std::f64::consts::TAU * stream.uniform(),
        }
    });
    sines.collect()
}

fn tide(flow: &Flow, elapsed_ns: u64) -> f64 {
    let seconds = std::time::Duration::from_nanos(elapsed_ns).as_secs_f64();
    flow.tide_s
        .map_or(1.0, |tide| (std::f64::consts::PI * seconds / tide).cos())
}

/// The mean of a cosine over plus and minus an angle.
fn sinc(angle: f64) -> f64 {
    if angle.abs() < 1e-6 {
        1.0
    } else {
        angle.sin() / angle
    }
}
