//! How far it is to the nearest blocked cell, for every cell of an area at once.
//!
//! In: a sparse map and an area. Out: for each cell the exact Euclidean distance between its square and the nearest blocked
//! square; 0 where they touch. So no point of the cell is nearer to an obstacle than that, which is what questions about
//! clearance need.
//!
//! Two squares are as far apart as the middle of one is from the nearest middle among the eight neighbours of the other
//! and the other itself. So the distance between squares is the distance between middles on a map in which every blocked
//! cell blocks its neighbours too, and that is found in two passes (Felzenszwalb and Huttenlocher's lower envelopes).

use super::sparse::{Cell, SparseMap, TILE, index};

/// A rectangle of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// The cell with the smallest column and row.
    pub low: Cell,
    /// Cells along x.
    pub n_columns: usize,
    /// Cells along y.
    pub n_rows: usize,
}

impl Area {
    /// What lies within `margin_m` of the box of two points, if that is no more than `max_cells`.
    #[must_use]
    pub fn around(
        points_m: [[f64; 2]; 2],
        margin_m: f64,
        cell_m: f64,
        max_cells: usize,
    ) -> Option<Self> {
        let [one, two] = points_m;
        if !points_m.iter().flatten().all(|at| at.is_finite()) {
            return None;
        }
        let bound = |axis: usize, sign: f64| {
            let outer = (sign * one[axis]).max(sign * two[axis]) + margin_m;
            index(sign * outer / cell_m)
        };
        let low = Cell {
            x: bound(0, -1.0)?,
            y: bound(1, -1.0)?,
        };
        let side = |low: i32, high: i32| usize::try_from(high.checked_sub(low)? + 1).ok();
        let area = Self {
            low,
            n_columns: side(low.x, bound(0, 1.0)?)?,
            n_rows: side(low.y, bound(1, 1.0)?)?,
        };
        let n_cells = area.n_columns.checked_mul(area.n_rows)?;
        (n_cells <= max_cells).then_some(area)
    }

    /// How many cells it has.
    #[must_use]
    pub fn n_cells(&self) -> usize {
        self.n_columns * self.n_rows
    }
}

/// Distances to what is blocked, over an area.
#[derive(Clone, Debug, Default)]
pub struct Field {
    area: Area,
    cell_m: f64,
    /// Metres, row by row.
    distance_m: Vec<f32>,
    is_blocked: Vec<bool>,
    scratch: Scratch,
}

/// What the passes need; kept, so that a new map costs no allocation.
#[derive(Clone, Debug, Default)]
struct Scratch {
    /// Blocked, or a neighbour of a blocked cell.
    is_near: Vec<bool>,
    /// Squared cells to the nearest one in the same column.
    squared: Vec<f32>,
    /// The columns whose parabolas make the lower envelope of a row, and from where on.
    envelope: Vec<(usize, f32)>,
}

impl Field {
    /// Measures an area anew.
    pub fn measure(&mut self, map: &SparseMap, area: Area) {
        self.area = area;
        self.cell_m = map.cell_m();
        self.read_blocked(map);
        self.mark_near();
        self.measure_columns();
        self.measure_rows();
    }

    /// What it covers.
    #[must_use]
    pub fn area(&self) -> Area {
        self.area
    }

    /// The side of a cell, metres.
    #[must_use]
    pub fn cell_m(&self) -> f64 {
        self.cell_m
    }

    /// Column and row within the area of a point; none outside.
    #[must_use]
    pub fn at(&self, [x_m, y_m]: [f64; 2]) -> Option<[usize; 2]> {
        let column = x_m / self.cell_m - f64::from(self.area.low.x);
        let row = y_m / self.cell_m - f64::from(self.area.low.y);
        let is_inside = column >= 0.0
            && row >= 0.0
            && column < self.area.n_columns as f64
            && row < self.area.n_rows as f64;
        is_inside.then(|| [whole(column), whole(row)])
    }

    /// How far no point of a cell is nearer than to anything blocked, metres; by column and row within the area.
    #[must_use]
    pub fn distance_m(&self, [column, row]: [usize; 2]) -> f64 {
        f64::from(self.distance_m[row * self.area.n_columns + column])
    }

    /// Whether a cell is blocked, by column and row within the area.
    #[must_use]
    pub fn is_blocked(&self, [column, row]: [usize; 2]) -> bool {
        self.is_blocked[row * self.area.n_columns + column]
    }

    /// The lower left corner of the area, metres.
    pub(crate) fn corner_m(&self) -> [f64; 2] {
        [self.area.low.x, self.area.low.y].map(|at| f64::from(at) * self.cell_m)
    }

    fn read_blocked(&mut self, map: &SparseMap) {
        let Area {
            low,
            n_columns,
            n_rows,
        } = self.area;
        self.is_blocked.clear();
        self.is_blocked.resize(self.area.n_cells(), false);
        let tiles = |from: i32, n: usize| {
            let past = from.saturating_add(i32::try_from(n).unwrap_or(i32::MAX));
            from.div_euclid(TILE)..=past.div_euclid(TILE)
        };
        for y in tiles(low.y, n_rows) {
            for x in tiles(low.x, n_columns) {
                let mut bits = map.tile(Cell { x, y });
                while bits != 0 {
                    let bit = i32::try_from(bits.trailing_zeros()).unwrap_or_default();
                    bits &= bits - 1;
                    let cell = Cell {
                        x: x * TILE + bit % TILE,
                        y: y * TILE + bit / TILE,
                    };
                    self.mark_blocked(cell);
                }
            }
        }
    }

    fn mark_blocked(&mut self, cell: Cell) {
        let within = |at: i32, low: i32, n: usize| {
            let offset = usize::try_from(at - low).ok()?;
            (offset < n).then_some(offset)
        };
        let column = within(cell.x, self.area.low.x, self.area.n_columns);
        let row = within(cell.y, self.area.low.y, self.area.n_rows);
        if let (Some(column), Some(row)) = (column, row) {
            self.is_blocked[row * self.area.n_columns + column] = true;
        }
    }

    fn mark_near(&mut self) {
        let Area {
            n_columns, n_rows, ..
        } = self.area;
        let near = &mut self.scratch.is_near;
        near.clear();
        near.resize(self.is_blocked.len(), false);
        for row in 0..n_rows {
            let rows = row.saturating_sub(1)..(row + 2).min(n_rows);
            for column in 0..n_columns {
                if !self.is_blocked[row * n_columns + column] {
                    continue;
                }
                let columns = column.saturating_sub(1)..(column + 2).min(n_columns);
                for row in rows.clone() {
                    near[row * n_columns + columns.start..row * n_columns + columns.end].fill(true);
                }
            }
        }
    }

    /// Down and up each column: cells to the nearest one that is near, squared. All columns go together, row by row,
    /// as memory lies.
    fn measure_columns(&mut self) {
        let Area {
            n_columns, n_rows, ..
        } = self.area;
        let Scratch {
            is_near, squared, ..
        } = &mut self.scratch;
        squared.clear();
        squared.resize(is_near.len(), FAR);
        for row in 0..n_rows {
            let (before, here) = squared.split_at_mut(row * n_columns);
            let before = before.rchunks(n_columns).next();
            for column in 0..n_columns {
                here[column] = match before {
                    _ if is_near[row * n_columns + column] => 0.0,
                    Some(before) => (before[column] + 1.0).min(FAR),
                    None => FAR,
                };
            }
        }
        for row in (0..n_rows.saturating_sub(1)).rev() {
            let (here, after) = squared.split_at_mut((row + 1) * n_columns);
            let here = &mut here[row * n_columns..];
            for (here, after) in here.iter_mut().zip(after) {
                *here = here.min(*after + 1.0);
            }
        }
        for cells in squared {
            *cells *= *cells;
        }
    }

    fn measure_rows(&mut self) {
        let n_columns = self.area.n_columns;
        let cell_m = as_f32(self.cell_m);
        self.distance_m.clear();
        self.distance_m.resize(self.is_blocked.len(), 0.0);
        let Scratch {
            squared, envelope, ..
        } = &mut self.scratch;
        let rows = squared.chunks(n_columns.max(1));
        for (row, out) in rows.zip(self.distance_m.chunks_mut(n_columns.max(1))) {
            lower_envelope(row, envelope);
            let mut nth = 0;
            for (column, out) in out.iter_mut().enumerate() {
                let at = column as f32;
                while envelope.get(nth + 1).is_some_and(|(_, from)| *from <= at) {
                    nth += 1;
                }
                let (site, _) = envelope[nth];
                let across = at - site as f32;
                *out = (across * across + row[site]).sqrt() * cell_m;
            }
        }
    }
}

/// Cells: nothing in the column. Its square is still exact in an f32's range, and far more than any area has.
const FAR: f32 = 1e6;

/// The parabolas of a row of which each is the lowest somewhere, with the column from which on it is.
fn lower_envelope(row: &[f32], envelope: &mut Vec<(usize, f32)>) {
    envelope.clear();
    envelope.push((0, f32::NEG_INFINITY));
    for column in 1..row.len() {
        // Where nothing is in the column, the parabola is above all others that matter.
        if row[column] >= FAR * FAR {
            continue;
        }
        while let Some((last, from)) = envelope.last().copied() {
            let crossing = crossing(row, last, column);
            if crossing > from {
                envelope.push((column, crossing));
                break;
            }
            envelope.pop();
            if envelope.is_empty() {
                envelope.push((column, f32::NEG_INFINITY));
                break;
            }
        }
    }
}

/// From which column on the parabola of `right` is lower than that of `left`.
fn crossing(row: &[f32], left: usize, right: usize) -> f32 {
    let (l, r) = (left as f32, right as f32);
    // As (r² - l²) / (2 (r - l)) = (r + l) / 2, small numbers stay exact.
    (r + l) / 2.0 + (row[right] - row[left]) / (2.0 * (r - l))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the callers have checked that it is within an area"
)]
pub(crate) fn whole(at: f64) -> usize {
    at as usize
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a rounding that the field's margin covers"
)]
pub(crate) fn as_f32(number: f64) -> f32 {
    number as f32
}
