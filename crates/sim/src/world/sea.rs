//! The water that vessels float on, and the air above it.

/// Water up to a level, which moves, and wind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sea {
    /// How high still water stands, metres, map frame.
    pub level_m: f64,
    /// How the water moves.
    pub current: Flow,
    /// How the air moves.
    pub wind: Flow,
    /// How the surface moves.
    pub waves: Waves,
    /// What leaks into it.
    pub plumes: Vec<Plume>,
}

/// Something that leaks into the water and drifts away with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plume {
    /// Unique in its world.
    pub name: String,
    /// What it is, as spectrometers call it.
    pub substance: String,
    /// Where from, metres, map frame.
    pub at_m: [f64; 2],
    /// How much, grams a second.
    pub leak_gps: f64,
    /// How large the leak is: the deviation of the plume where it begins, metres.
    pub radius_m: f64,
    /// How fast water mixes it to the sides, square metres a second.
    pub mixing_m2ps: f64,
    /// How deep down it is mixed, metres.
    pub depth_m: f64,
}

/// Water or air that moves, the same everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// How fast, metres a second.
    pub speed_mps: f64,
    /// Where to, radians from east, to the left positive.
    pub towards_rad: f64,
    /// The deviation of gusts along the flow and across it, metres a second.
    pub gust_mps: f64,
    /// How long a gust lasts, seconds.
    pub gust_s: f64,
    /// After so many seconds it runs the other way, and stands halfway between; none: it never turns.
    pub tide_s: Option<f64>,
}

/// A seaway of many waves about one period and one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waves {
    /// From trough to crest, of the highest third, metres.
    pub height_m: f64,
    /// From crest to crest of the strongest, seconds, above 0.
    pub period_s: f64,
    /// Where to, radians from east, to the left positive.
    pub towards_rad: f64,
    /// The deviation of their directions, radians.
    pub spread_rad: f64,
}

impl Default for Waves {
    /// None.
    fn default() -> Self {
        Self {
            height_m: 0.0,
            period_s: 3.0,
            towards_rad: 0.0,
            spread_rad: 0.0,
        }
    }
}
