//! Pictures of maps: planes as colours, with what drives on them.
//!
//! In: a plane of a map, places in the map's coordinates. Out: PNG.
//!
//! Colours of heights are DRDC's: green is neutral, red is below grade, blue is above. What is not known is dark.

mod picture;

pub use picture::{EncodePngError, Picture, Rgb};

use super::planes::{Planes, ReadMapError};
use bowline_msgs::Map;

/// How numbers become colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Palette {
    /// Heights: red below grade, green at it, blue above.
    Height {
        /// What is neutral: the height of the ground that the vehicle stands on, metres.
        grade_m: f64,
        /// How far from it colours are as red or blue as they get, metres.
        span_m: f64,
    },
    /// Ratios: red at 0, amber between, green at 1.
    Ratio,
    /// Anything between two numbers, from light to dark: depths as charts have them, shallow water light.
    Span {
        /// What is lightest.
        low: f64,
        /// What is darkest.
        high: f64,
    },
}

/// What is not known.
pub const UNKNOWN: Rgb = [22, 24, 29];

/// Stops of a ramp: where, and the colour.
type Stops = [(f32, Rgb); 5];

const HEIGHTS: Stops = [
    (0.0, [120, 12, 24]),
    (0.3, [214, 62, 44]),
    (0.5, [78, 154, 84]),
    (0.7, [52, 120, 214]),
    (1.0, [26, 40, 140]),
];
const RATIOS: Stops = [
    (0.0, [150, 22, 34]),
    (0.25, [214, 84, 46]),
    (0.5, [238, 186, 72]),
    (0.75, [150, 186, 84]),
    (1.0, [64, 158, 92]),
];

const SPANS: Stops = [
    (0.0, [252, 240, 196]),
    (0.25, [166, 214, 190]),
    (0.5, [84, 174, 196]),
    (0.75, [42, 106, 172]),
    (1.0, [24, 44, 104]),
];

impl Palette {
    /// The place of a number among the colours: 1 to 255; 0 for what is not known.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and 255"
    )]
    pub fn index(&self, value: f32) -> u8 {
        let part = match *self {
            Self::Height { grade_m, span_m } => {
                0.5 + 0.5 * (f64::from(value) - grade_m) / span_m.max(1e-6)
            }
            Self::Ratio => f64::from(value),
            Self::Span { low, high } => (f64::from(value) - low) / (high - low).max(1e-6),
        };
        if part.is_nan() {
            return 0;
        }
        (1.5 + 254.0 * part.clamp(0.0, 1.0)).min(255.0) as u8
    }

    /// The colour at a place.
    #[must_use]
    pub fn colour(&self, index: u8) -> Rgb {
        let Some(above) = index.checked_sub(1) else {
            return UNKNOWN;
        };
        let stops = match self {
            Self::Height { .. } => &HEIGHTS,
            Self::Ratio => &RATIOS,
            Self::Span { .. } => &SPANS,
        };
        mixed(stops, f32::from(above) / 254.0)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between two bytes"
)]
fn mixed(stops: &Stops, at: f32) -> Rgb {
    let next = stops
        .iter()
        .position(|(stop, _)| *stop >= at)
        .unwrap_or(stops.len() - 1);
    let (to, end) = stops[next];
    let (from, begin) = stops[next.saturating_sub(1)];
    let part = if to > from {
        (at - from) / (to - from)
    } else {
        1.0
    };
    let mix = |a: u8, b: u8| (f32::from(a) + part * (f32::from(b) - f32::from(a)) + 0.5) as u8;
    std::array::from_fn(|at| mix(begin[at], end[at]))
}

/// A plane of a map as colours: a byte a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The outer corner with the smallest x and y, metres.
    pub origin_m: [f64; 2],
    /// Side of a cell, metres.
    pub cell_m: f64,
    /// Cells along x.
    pub columns: usize,
    /// Cells along y.
    pub rows: usize,
    /// Places among the colours, north first, as pictures are: the row with the largest y, in it columns with growing x.
    pub cells: Vec<u8>,
    /// The colours.
    pub palette: Palette,
}

impl Layer {
    /// Of a plane of a map.
    ///
    /// # Errors
    /// When there is no such plane, or planes have different sizes.
    pub fn new(map: &Map, plane: &str, palette: Palette) -> Result<Self, ReadMapError> {
        let planes = Planes::new(map)?;
        let rows = planes.plane(plane)?;
        let cells = rows.iter().rev().flatten().map(|it| palette.index(*it));
        Ok(Self {
            origin_m: map.origin_m,
            cell_m: map.cell_m,
            columns: planes.columns(),
            rows: planes.rows(),
            cells: cells.collect(),
            palette,
        })
    }
}
