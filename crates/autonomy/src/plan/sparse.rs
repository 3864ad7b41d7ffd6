//! The map that the planner searches: coordinates to blocked, everything else free (IGVC paper, Map Representation).
//!
//! In: cells one by one, discs, boxes, a plane of a map, points of ranging devices. Out: whether a cell is blocked, in
//! constant time; eight by eight cells at once for walks over an area. A counter grows with each change, so that
//! others see when they must look again. Memory follows what is blocked, within a limit; what is beyond it is counted.
//!
//! Deliberately absent: probabilities and heights. The terrain maps have those.

use bowline_geometry::{Transform, Vec3};
use bowline_msgs::{Map, Range3d};
use bowline_wire::random::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Cells on a side of a tile: one word has all its bits.
pub(crate) const TILE: i32 = 8;

/// Coordinates beyond this many cells are nowhere, so that nothing below has to think of overflow.
const FARTHEST: f64 = 1e8;

/// A cell by its column and row. The map's origin is the lower left corner of cell (0, 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Its column, growing with x.
    pub x: i32,
    /// Its row, growing with y.
    pub y: i32,
}

/// Which cells are blocked. All others are free.
#[derive(Clone, Debug)]
pub struct SparseMap {
    cell_m: f64,
    max_tiles: usize,
    /// Eight by eight cells each, a bit for each that is blocked. No tile is empty.
    tiles: HashMap<Cell, u64, BuildHasherDefault<TileHasher>>,
    n_blocked: usize,
    n_changes: u64,
    n_dropped: u64,
}

/// How a plane of a map encodes what is blocked.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaneRule {
    /// The plane's name.
    pub plane: String,
    /// A cell with less than this is blocked.
    pub blocked_below: f32,
    /// What a cell is of which nothing is known.
    pub unknown: Unknown,
}

/// What a cell is of which nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Free: find out by going there.
    Free,
    /// Blocked: go only where everything is known.
    Blocked,
    /// As it was before this map.
    Kept,
}

/// Why a map was not read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReadMapError {
    /// It has no such plane.
    #[error("the map has no plane {wanted:?}, only {found:?}: name one of these")]
    NoSuchPlane {
        /// What was asked for.
        wanted: String,
        /// What is there.
        found: Vec<String>,
    },
    /// It is nowhere, or has cells of no size.
    #[error(
        "expected a finite origin and cells of a finite size above 0 m, found origin {origin_m:?} and {cell_m} m"
    )]
    BadGrid {
        /// The origin that it declares.
        origin_m: [f64; 2],
        /// The size of cells that it declares.
        cell_m: f64,
    },
    /// It covers more cells of ours than a map can have.
    #[error("a map of {width_m} m by {height_m} m is too large for cells of {cell_m} m")]
    TooLarge {
        /// Along x.
        width_m: f64,
        /// Along y.
        height_m: f64,
        /// Our cells.
        cell_m: f64,
    },
}

/// Which points of a ranging device are obstacles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointRule {
    /// Lower ones are the ground, metres in the map's coordinates.
    pub lowest_m: f64,
    /// Higher ones are above the vehicle, metres in the map's coordinates.
    pub highest_m: f64,
    /// Farther ones are left out, metres.
    pub farthest_m: f64,
}

impl SparseMap {
    /// An empty map of cells of this size, metres, with at most so many of its 8 by 8 tiles in use.
    #[must_use]
    pub fn new(cell_m: f64, max_tiles: usize) -> Self {
        let is_size = cell_m.is_finite() && cell_m > 1e-4;
        Self {
            cell_m: if is_size { cell_m } else { 0.1 },
            max_tiles,
            tiles: HashMap::default(),
            n_blocked: 0,
            n_changes: 0,
            n_dropped: 0,
        }
    }

    /// The side of a cell, metres.
    #[must_use]
    pub fn cell_m(&self) -> f64 {
        self.cell_m
    }

    /// How many cells are blocked.
    #[must_use]
    pub fn n_blocked(&self) -> usize {
        self.n_blocked
    }

    /// Grows whenever a cell changes.
    #[must_use]
    pub fn n_changes(&self) -> u64 {
        self.n_changes
    }

    /// How many cells should have been blocked but found no room.
    #[must_use]
    pub fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    /// The cell that has a point. None where numbers end.
    #[must_use]
    pub fn cell_at(&self, [x_m, y_m]: [f64; 2]) -> Option<Cell> {
        Some(Cell {
            x: index(x_m / self.cell_m)?,
            y: index(y_m / self.cell_m)?,
        })
    }

    /// The middle of a cell.
    #[must_use]
    pub fn center_m(&self, cell: Cell) -> [f64; 2] {
        [cell.x, cell.y].map(|at| (f64::from(at) + 0.5) * self.cell_m)
    }

    /// Whether a cell is blocked.
    #[must_use]
    pub fn is_blocked(&self, cell: Cell) -> bool {
        let (tile, bit) = tile_of(cell);
        self.tile(tile) & bit != 0
    }

    /// Blocks a cell. Returns whether it was free before.
    pub fn block(&mut self, cell: Cell) -> bool {
        let (tile, bit) = tile_of(cell);
        if let Some(bits) = self.tiles.get_mut(&tile) {
            let is_news = *bits & bit == 0;
            *bits |= bit;
            self.count(is_news, 1);
            return is_news;
        }
        if self.tiles.len() >= self.max_tiles {
            self.n_dropped += 1;
            return false;
        }
        self.tiles.insert(tile, bit);
        self.count(true, 1);
        true
    }

    /// Frees a cell. Returns whether it was blocked before.
    pub fn free(&mut self, cell: Cell) -> bool {
        let (tile, bit) = tile_of(cell);
        let Some(bits) = self.tiles.get_mut(&tile) else {
            return false;
        };
        let is_news = *bits & bit != 0;
        *bits &= !bit;
        if *bits == 0 {
            self.tiles.remove(&tile);
        }
        self.count(is_news, -1);
        is_news
    }

    /// Frees everything.
    pub fn clear(&mut self) {
        self.n_changes += u64::from(self.n_blocked > 0);
        self.tiles.clear();
        self.n_blocked = 0;
    }

    /// Blocks all cells that a disc touches.
    pub fn block_disc(&mut self, [x_m, y_m]: [f64; 2], radius_m: f64) {
        let low = self.cell_at([x_m - radius_m, y_m - radius_m]);
        let high = self.cell_at([x_m + radius_m, y_m + radius_m]);
        let (Some(low), Some(high)) = (low, high) else {
            return;
        };
        for cell in cells(low, high) {
            let [to_x, to_y] = self.center_m(cell);
            let gap = |from: f64, to: f64| ((from - to).abs() - self.cell_m / 2.0).max(0.0);
            if gap(x_m, to_x).hypot(gap(y_m, to_y)) <= radius_m {
                self.block(cell);
            }
        }
    }

    /// Sets the area of a map as in one of its planes; cells outside stay.
    ///
    /// Where cells differ in size, ours is blocked if any of the map's that it touches is.
    ///
    /// # Errors
    /// When the map has no such plane, or is nowhere. Nothing has changed then.
    pub fn read_map(&mut self, map: &Map, rule: &PlaneRule) -> Result<(), ReadMapError> {
        let named = map.names.iter().position(|name| *name == rule.plane);
        let plane = named.and_then(|at| map.cells.get(at));
        let plane = plane.ok_or_else(|| ReadMapError::NoSuchPlane {
            wanted: rule.plane.clone(),
            found: map.names.clone(),
        })?;
        let Map {
            origin_m, cell_m, ..
        } = *map;
        let is_grid =
            origin_m.iter().all(|at| at.is_finite()) && cell_m.is_finite() && cell_m > 0.0;
        if !is_grid {
            return Err(ReadMapError::BadGrid { origin_m, cell_m });
        }
        let n_columns = plane.iter().map(Vec::len).max().unwrap_or_default();
        let size_m = [n_columns as f64 * cell_m, plane.len() as f64 * cell_m];
        self.check_size(size_m)?;
        self.free_unless_kept(plane, map, rule);
        self.block_plane(plane, map, rule);
        Ok(())
    }

    fn check_size(&self, [width_m, height_m]: [f64; 2]) -> Result<(), ReadMapError> {
        // So many cells can be looked at while others wait.
        const MOST: f64 = 16e6;
        let n_cells = (width_m / self.cell_m + 2.0) * (height_m / self.cell_m + 2.0);
        if n_cells <= MOST {
            return Ok(());
        }
        Err(ReadMapError::TooLarge {
            width_m,
            height_m,
            cell_m: self.cell_m,
        })
    }

    /// First all that is not kept is freed, then what is blocked is blocked: cells of ours may lie under several of theirs.
    fn free_unless_kept(&mut self, plane: &[Vec<f32>], map: &Map, rule: &PlaneRule) {
        for (at, value) in numbered(plane) {
            let is_kept = value.is_nan() && rule.unknown == Unknown::Kept;
            if !is_kept {
                self.each_under(map, at, Self::free);
            }
        }
    }

    fn block_plane(&mut self, plane: &[Vec<f32>], map: &Map, rule: &PlaneRule) {
        for (at, value) in numbered(plane) {
            let is_blocked = if value.is_nan() {
                rule.unknown == Unknown::Blocked
            } else {
                value < rule.blocked_below
            };
            if is_blocked {
                self.each_under(map, at, Self::block);
            }
        }
    }

    /// Our cells that a cell of a map touches with more than its rim.
    fn each_under(&mut self, map: &Map, at: [usize; 2], act: fn(&mut Self, Cell) -> bool) {
        // Of a cell: sums of decimal fractions do not meet exactly.
        const RIM: f64 = 1e-6;
        let corner = |step: f64, inset: f64| {
            let [x_m, y_m] = [0, 1].map(|axis| {
                map.origin_m[axis] + (at[axis] as f64 + step) * map.cell_m + inset * self.cell_m
            });
            self.cell_at([x_m, y_m])
        };
        let (Some(low), Some(high)) = (corner(0.0, RIM), corner(1.0, -RIM)) else {
            return;
        };
        for cell in cells(low, high) {
            act(self, cell);
        }
    }

    /// Blocks the cells in which a ranging device met something.
    pub fn add_points(&mut self, ranges: &Range3d, map_from_device: &Transform, rule: &PointRule) {
        for [x, y, z, range_m] in &ranges.points {
            let range_m = f64::from(*range_m);
            // Infinite: nothing was met. Not a number: the device failed.
            if !range_m.is_finite() || range_m > rule.farthest_m {
                continue;
            }
            let in_device: Vec3 = [x, y, z].map(|at| f64::from(*at));
            let [x_m, y_m, z_m] = map_from_device.apply(in_device);
            if !(rule.lowest_m..=rule.highest_m).contains(&z_m) {
                continue;
            }
            if let Some(cell) = self.cell_at([x_m, y_m]) {
                self.block(cell);
            }
        }
    }

    /// Blocks the cells in which a planar laser at a point has met something.
    ///
    /// What its rays have passed through within `clear_m` is free again, so that noise does not add up; what they end at
    /// stays.
    pub fn see(&mut self, from_m: [f64; 2], hits_m: &[[f64; 2]], clear_m: f64) {
        for hit in hits_m {
            let [dx, dy] = [hit[0] - from_m[0], hit[1] - from_m[1]];
            let part = (clear_m / dx.hypot(dy)).min(1.0);
            let to_m = [from_m[0] + dx * part, from_m[1] + dy * part];
            let short_m = if part < 1.0 { 0.0 } else { self.cell_m };
            self.free_ray(from_m, to_m, short_m);
        }
        for hit in hits_m {
            if let Some(cell) = self.cell_at(*hit) {
                self.block(cell);
            }
        }
    }

    /// Frees the cells that a ray has passed through, up to `short_m` before its end.
    pub fn free_ray(&mut self, from_m: [f64; 2], to_m: [f64; 2], short_m: f64) {
        let [dx, dy] = [to_m[0] - from_m[0], to_m[1] - from_m[1]];
        let range_m = dx.hypot(dy);
        let step_m = self.cell_m / 2.0;
        // Half a cell a step: a cell whose corner is cut stays until a ray goes through its middle.
        let n_steps = index((range_m - short_m) / step_m).unwrap_or_default();
        let mut empty: Option<Cell> = None;
        for nth in 0..n_steps.min(4_096) {
            let along = f64::from(nth) * step_m / range_m;
            let Some(cell) = self.cell_at([from_m[0] + dx * along, from_m[1] + dy * along]) else {
                continue;
            };
            // Most tiles have nothing in them, and a ray stays in one for several steps.
            let (tile, _) = tile_of(cell);
            if empty == Some(tile) {
                continue;
            }
            if self.tiles.contains_key(&tile) {
                self.free(cell);
            } else {
                empty = Some(tile);
            }
        }
    }

    /// The bits of a tile: bit `8 y + x` is the cell at (x, y) in it.
    pub(crate) fn tile(&self, tile: Cell) -> u64 {
        self.tiles.get(&tile).copied().unwrap_or_default()
    }

    fn count(&mut self, is_news: bool, difference: isize) {
        if is_news {
            self.n_changes += 1;
            self.n_blocked = self.n_blocked.saturating_add_signed(difference);
        }
    }
}

/// The values of a plane, each with its column and row.
fn numbered(plane: &[Vec<f32>]) -> impl Iterator<Item = ([usize; 2], f32)> {
    plane.iter().enumerate().flat_map(|(row, values)| {
        let columns = values.iter().enumerate();
        columns.map(move |(column, value)| ([column, row], *value))
    })
}

/// All cells of a box, corners included, row by row.
fn cells(low: Cell, high: Cell) -> impl Iterator<Item = Cell> {
    (low.y..=high.y).flat_map(move |y| (low.x..=high.x).map(move |x| Cell { x, y }))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it is checked to be within the numbers of an i32"
)]
pub(crate) fn index(at: f64) -> Option<i32> {
    (at.abs() < FARTHEST).then(|| at.floor() as i32)
}

fn tile_of(cell: Cell) -> (Cell, u64) {
    let tile = Cell {
        x: cell.x.div_euclid(TILE),
        y: cell.y.div_euclid(TILE),
    };
    let bit = cell.y.rem_euclid(TILE) * TILE + cell.x.rem_euclid(TILE);
    (tile, 1 << bit)
}

/// The same in each process: results of a map must not depend on the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct TileHasher(u64);

impl Hasher for TileHasher {
    fn finish(&self) -> u64 {
        // Spread over all bits: the table uses both ends.
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_i32(&mut self, number: i32) {
        self.0 = self.0.rotate_left(32) ^ u64::from(number.cast_unsigned());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 ^= number;
    }
}
