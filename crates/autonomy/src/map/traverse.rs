//! Where one can drive: slope, step and roughness of the terrain, and the worst of the three.
//!
//! In: a terrain map. Out: a map of the same cells with traversability, what it comes from, and the height passed on.
//!
//! Each of the three is held against what the vehicle can do: nothing of it is 1, the limit or more is 0. Traversability
//! is the *minimum*. A sum of weighted parts would let a smooth cliff pass, because it is smooth.
//!
//! - **Slope** and **roughness** come from a plane through the cells of a window as large as what stands on it. Cells
//!   that are a step away from the middle one belong to another surface: they do not bend the plane.
//! - **Step** is what is between neighbours and not explained by the slope on either side, and what is between the
//!   bottom and the top of one cell. It is the upper cell's: that stops a vehicle below before the wall without making
//!   the passage narrower, and one above a cell before the edge.
//! - **Drops** hide what is below them. Where known ground ends, the edge is as steep as what is next in sight behind the
//!   shadow shows, and where that is lower than any slope explains it has a step. Where nothing is known behind it, the
//!   shadow stays unknown, and unknown is not free.
//!
//! A cell is unknown (NaN) where its height is, or where too little is known around it; what is already known to
//! be too much is 0 all the same.

use super::planes::{Planes, ReadMapError};
use bowline_msgs::Map;

/// What a vehicle can do, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The steepest slope, radians.
    pub max_slope_rad: f64,
    /// The highest step, metres.
    pub max_step_m: f64,
    /// The roughest ground: standard deviation from a plane, metres.
    pub max_roughness_m: f64,
    /// Side of the window that a plane is laid through: a wheel, or the vehicle, metres.
    pub window_m: f64,
    /// How far a shadow may reach that a drop is looked for behind, metres.
    pub shadow_m: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_slope_rad: 0.44,
            max_step_m: 0.25,
            max_roughness_m: 0.1,
            window_m: 0.6,
            shadow_m: 2.0,
        }
    }
}

/// Judges a terrain map: planes `height`, and `min`, `max` and `variance` if it has them.
///
/// # Errors
/// When the map has no heights, or planes of different sizes.
pub fn traverse(terrain: &Map, limits: &Limits) -> Result<Map, ReadMapError> {
    let planes = Planes::new(terrain)?;
    let ground = Ground::new(&planes, limits)?;
    let mut cells = vec![vec![Vec::with_capacity(ground.columns); ground.rows]; PLANES.len()];
    for row in 0..ground.rows {
        for column in 0..ground.columns {
            let judged = ground.judged((column, row)).planes();
            for (plane, value) in cells.iter_mut().zip(judged) {
                plane[row].push(value);
            }
        }
    }
    let map = Map {
        utime: terrain.utime,
        reference: terrain.reference.clone(),
        origin_m: terrain.origin_m,
        cell_m: terrain.cell_m,
        names: PLANES.iter().map(|(name, _)| (*name).to_owned()).collect(),
        units: PLANES.iter().map(|(_, unit)| (*unit).to_owned()).collect(),
        cells,
        ..Map::default()
    };
    Ok(map.with_lengths())
}

const PLANES: [(&str, &str); 5] = [
    ("traversability", ""),
    ("slope", "rad"),
    ("step", "m"),
    ("roughness", "m"),
    ("height", "m"),
];

/// The result for one cell.
#[derive(Clone, Copy, Debug)]
struct Judged {
    traversability: f32,
    slope_rad: f32,
    step_m: f32,
    roughness_m: f32,
    height_m: f32,
}

impl Judged {
    const UNKNOWN: Self = Self {
        traversability: f32::NAN,
        slope_rad: f32::NAN,
        step_m: f32::NAN,
        roughness_m: f32::NAN,
        height_m: f32::NAN,
    };

    /// In the order of [`PLANES`].
    fn planes(&self) -> [f32; 5] {
        let Self {
            traversability,
            slope_rad,
            step_m,
            roughness_m,
            height_m,
        } = *self;
        [traversability, slope_rad, step_m, roughness_m, height_m]
    }
}

/// The terrain, with an unknown margin all around, so that no code need check whether there is a neighbour.
struct Ground<'a> {
    limits: &'a Limits,
    cell_m: f32,
    rows: usize,
    columns: usize,
    margin: usize,
    width: usize,
    height: Vec<f32>,
    low: Vec<f32>,
    high: Vec<f32>,
    variance: Vec<f32>,
    /// How far the window reaches from its middle, cells.
    reach: usize,
    /// How far a shadow may reach, cells.
    shadow: usize,
    steepest: f32,
}

/// Neighbours: how many columns and rows on.
const DIRECTIONS: [(isize, isize); 8] = [
    (1, 0),
    (-1, 0),
    (0, 1),
    (0, -1),
    (1, 1),
    (-1, -1),
    (1, -1),
    (-1, 1),
];

impl<'a> Ground<'a> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "cells of a window are few, and heights need no more digits"
    )]
    fn new(planes: &Planes<'_>, limits: &'a Limits) -> Result<Self, ReadMapError> {
        let heights = planes.plane("height")?;
        let (rows, columns) = (planes.rows(), planes.columns());
        let cell_m = planes.map().cell_m;
        let cells = |length_m: f64| (length_m / cell_m + 1e-9).clamp(0.0, 64.0) as usize;
        let reach = (cells(limits.window_m) / 2).max(1);
        let shadow = cells(limits.shadow_m);
        // A neighbour, and the one behind it.
        let margin = reach.max(shadow + 1).max(2);
        let width = columns + 2 * margin;
        let padded = |plane: Option<&[Vec<f32>]>| {
            let mut cells = vec![f32::NAN; width * (rows + 2 * margin)];
            for (row, values) in plane.unwrap_or(heights).iter().enumerate() {
                let start = (row + margin) * width + margin;
                cells[start..start + columns].copy_from_slice(values);
            }
            cells
        };
        let variance = match planes.optional("variance") {
            Some(variance) => padded(Some(variance)),
            None => vec![0.0; width * (rows + 2 * margin)],
        };
        Ok(Self {
            limits,
            cell_m: cell_m as f32,
            rows,
            columns,
            margin,
            width,
            height: padded(None),
            low: padded(planes.optional("min")),
            high: padded(planes.optional("max")),
            variance,
            reach,
            shadow,
            steepest: limits.max_slope_rad.tan() as f32,
        })
    }

    fn index(&self, (column, row): (usize, usize)) -> usize {
        (row + self.margin) * self.width + column + self.margin
    }

    /// So many steps in a direction.
    fn toward(&self, at: usize, (columns, rows): (isize, isize), steps: usize) -> usize {
        let one = rows * self.width.cast_signed() + columns;
        at.wrapping_add_signed(one * steps.cast_signed())
    }

    fn judged(&self, place: (usize, usize)) -> Judged {
        let at = self.index(place);
        let height_m = self.height[at];
        if !height_m.is_finite() {
            return Judged::UNKNOWN;
        }
        let Edges { step_m, slope } = self.edges(at);
        let (slope_rad, roughness_m) =
            self.plane_through(at)
                .map_or((f32::NAN, f32::NAN), |Fit { gradient, rough_m2 }| {
                    let [x, y] = gradient;
                    let steeper = (x * x + y * y).sqrt().max(slope);
                    (steeper.atan(), rough_m2.max(0.0).sqrt())
                });
        let Limits {
            max_slope_rad,
            max_step_m,
            max_roughness_m,
            ..
        } = *self.limits;
        let scores = [
            score(slope_rad, max_slope_rad),
            score(step_m, max_step_m),
            score(roughness_m, max_roughness_m),
        ];
        Judged {
            traversability: worst(scores),
            slope_rad,
            step_m,
            roughness_m,
            height_m,
        }
    }

    /// The largest step down from a cell, or within it, and the steepest slope across a shadow; NaN and 0 where no
    /// neighbour is known.
    fn edges(&self, at: usize) -> Edges {
        let within = self.high[at] - self.low[at];
        let mut is_known = false;
        let mut edges = Edges {
            step_m: if within.is_finite() { within } else { 0.0 },
            slope: 0.0,
        };
        for direction in DIRECTIONS {
            let next = self.toward(at, direction, 1);
            if self.height[next].is_finite() {
                is_known = true;
                edges.step_m = edges.step_m.max(self.step_to(at, next, direction));
            } else if let Some((down, distance_m)) = self.behind_shadow(at, direction) {
                edges.slope = edges.slope.max(down / distance_m);
                edges.step_m = edges.step_m.max(down - self.steepest * distance_m);
            }
        }
        if !is_known && edges.step_m <= 0.0 {
            edges.step_m = f32::NAN;
        }
        edges
    }

    /// How far it is down to a neighbour beyond what slopes explain.
    fn step_to(&self, at: usize, next: usize, (columns, rows): (isize, isize)) -> f32 {
        let down = self.high[at] - self.low[next];
        if down.is_nan() || down <= 0.0 {
            return 0.0;
        }
        // The slope on either side goes on across; without a neighbour there is none that could.
        let before = self.height[self.toward(at, (-columns, -rows), 1)];
        let behind = self.height[self.toward(at, (columns, rows), 2)];
        let fall = |from: f32, to: f32| if from > to { from - to } else { 0.0 };
        let explained = fall(before, self.height[at]).min(fall(self.height[next], behind));
        (down - explained).max(0.0)
    }

    /// Ground ends here. How far down is what is next in sight, and how far away?
    fn behind_shadow(&self, at: usize, direction: (isize, isize)) -> Option<(f32, f32)> {
        let steps = (2..=self.shadow + 1).find(|&steps| {
            let there = self.toward(at, direction, steps);
            self.height[there].is_finite()
        })?;
        let down = self.height[at] - self.low[self.toward(at, direction, steps)];
        let (columns, rows) = direction;
        let aslant = if columns != 0 && rows != 0 {
            2.0_f32.sqrt()
        } else {
            1.0
        };
        #[expect(clippy::cast_precision_loss, reason = "at most 65 steps")]
        let distance_m = steps as f32 * aslant * self.cell_m;
        (down > 0.0).then_some((down, distance_m))
    }

    /// The plane through what stands around a cell on the same surface; `None` where too little is known.
    fn plane_through(&self, at: usize) -> Option<Fit> {
        let mut sums = Sums::default();
        let reach = self.reach.cast_signed();
        let middle = self.height[at];
        #[expect(
            clippy::cast_possible_truncation,
            reason = "heights need no more digits"
        )]
        let max_step = self.limits.max_step_m as f32;
        for y in -reach..=reach {
            let row = at.wrapping_add_signed(y * self.width.cast_signed());
            for x in -reach..=reach {
                let there = row.wrapping_add_signed(x);
                let off = self.height[there] - middle;
                #[expect(clippy::cast_precision_loss, reason = "at most 32 cells")]
                let (x, y) = (x as f32 * self.cell_m, y as f32 * self.cell_m);
                // What is no number is not below either.
                let allowed = max_step + self.steepest * (x.abs() + y.abs());
                if off.abs() <= allowed {
                    sums.add(x, y, off, self.variance[there]);
                }
            }
        }
        sums.fit()
    }
}

/// What goes down from a cell.
struct Edges {
    step_m: f32,
    /// Across shadows, metres a metre.
    slope: f32,
}

/// A plane through a window.
struct Fit {
    /// Metres a metre, along x and y.
    gradient: [f32; 2],
    /// Mean square distance from it, without what the noise of heights makes of it, metres squared.
    rough_m2: f32,
}

/// Sums over the cells of a window, relative to its middle.
#[derive(Default)]
struct Sums {
    n: f32,
    x: f32,
    y: f32,
    z: f32,
    xx: f32,
    xy: f32,
    yy: f32,
    xz: f32,
    yz: f32,
    zz: f32,
    variance: f32,
}

/// A plane goes through three cells whatever they are: fewer than four are no evidence.
const MIN_CELLS: f32 = 4.0;

impl Sums {
    #[inline]
    fn add(&mut self, x: f32, y: f32, z: f32, variance: f32) {
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.z += z;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
        self.xz += x * z;
        self.yz += y * z;
        self.zz += z * z;
        self.variance += variance.max(0.0);
    }

    /// Least squares.
    fn fit(&self) -> Option<Fit> {
        if self.n < MIN_CELLS {
            return None;
        }
        let mean = |sum: f32| sum / self.n;
        let (x, y, z) = (mean(self.x), mean(self.y), mean(self.z));
        let (xx, xy, yy) = (
            mean(self.xx) - x * x,
            mean(self.xy) - x * y,
            mean(self.yy) - y * y,
        );
        let (xz, yz) = (mean(self.xz) - x * z, mean(self.yz) - y * z);
        let zz = mean(self.zz) - z * z;
        let determinant = xx * yy - xy * xy;
        // Cells in one line are no measure of the slope across it.
        if determinant <= 1e-3 * xx * yy.max(xx) {
            return None;
        }
        let gradient = [
            (xz * yy - yz * xy) / determinant,
            (yz * xx - xz * xy) / determinant,
        ];
        let residual = zz - gradient[0] * xz - gradient[1] * yz;
        Some(Fit {
            gradient,
            rough_m2: residual - mean(self.variance),
        })
    }
}

/// 1 without any of it, 0 at the limit; NaN stays.
#[expect(clippy::cast_possible_truncation, reason = "it is a ratio")]
fn score(value: f32, limit: f64) -> f32 {
    if value.is_nan() {
        return f32::NAN;
    }
    (1.0 - f64::from(value) / limit).clamp(0.0, 1.0) as f32
}

/// The least; 0 whatever else is not known, and not known if something is not.
fn worst(scores: [f32; 3]) -> f32 {
    let least = scores.iter().copied().fold(1.0, f32::min);
    if least > 0.0 && scores.iter().any(|it| it.is_nan()) {
        f32::NAN
    } else {
        least
    }
}
