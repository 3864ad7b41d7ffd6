//! How high the ground is: ranges from anywhere, fused into a rolling grid.
//!
//! In: points of a device, and from where it looked. Out: a map of heights, their variances, tops and bottoms.
//! The same points in the same order give the same map to the bit, however they are cut into messages.
//!
//! Deliberately absent: time but as a stamp on cells, and poses, which `track` has.

use super::cell::{Cell, Height};
use super::chart::Chart;
use super::grid::{Grid, MakeGridError};
use super::noise::{HeightNoise, SensorNoise, View};
use bowline_msgs::Map;

/// How points are weighed against each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighting {
    /// By what is known of their noise.
    #[default]
    Variance,
    /// All alike: for experiments on what knowing the noise is worth.
    Mean,
}

/// What a terrain map is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerrainSettings {
    /// Side of the map, metres.
    pub size_m: f64,
    /// Side of a cell, metres.
    pub cell_m: f64,
    /// How points are weighed.
    pub weighting: Weighting,
    /// Standard deviation of how steep the ground is, along x and along y, metres a metre.
    pub slope_sd: f64,
    /// What is higher than this above the pose's frame is no ground: the vehicle passes below.
    pub overhead_m: f64,
}

impl Default for TerrainSettings {
    fn default() -> Self {
        Self {
            size_m: 40.0,
            cell_m: 0.2,
            weighting: Weighting::default(),
            slope_sd: 0.1,
            overhead_m: 2.5,
        }
    }
}

/// What became of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerrainCounts {
    /// They are in the map.
    pub fused: u64,
    /// They are beyond its edge.
    pub outside: u64,
    /// They are above the vehicle.
    pub overhead: u64,
    /// The device met nothing in their direction.
    pub nothing_met: u64,
    /// They are no points: not finite, or nearer or farther than the device sees.
    pub bad: u64,
    /// Tops and cells that were given up because rays go through them.
    pub cleared: u64,
}

/// The terrain around a vehicle.
#[derive(Clone, Debug)]
pub struct Terrain {
    pub(crate) grid: Grid<Cell>,
    settings: TerrainSettings,
    /// How uneven a cell may be: it adds to what a height may differ by.
    uneven_m2: f32,
    pub(crate) counts: TerrainCounts,
}

/// The standard deviation of each point where all count alike.
const MEAN_SD_M: f32 = 0.05;
/// Standard deviation of heights within a cell that is no step, metres a metre of its side: 27 degrees of slope.
const UNEVEN: f64 = 0.15;
/// Points are worked on in blocks: places and variances first, which needs no memory but the block's, then cells.
const BLOCK: usize = 64;

/// Where the points of a block fall, and their values: one array for each number, so that a processor works on several
/// points at once.
struct Block {
    /// Cells from the grid's corner; below 0 for what is not wanted.
    column: [i32; BLOCK],
    row: [i32; BLOCK],
    z: [f32; BLOCK],
    weight: [f32; BLOCK],
    tolerance: [f32; BLOCK],
}

impl Block {
    const EMPTY: Self = Self {
        column: [0; BLOCK],
        row: [0; BLOCK],
        z: [0.0; BLOCK],
        weight: [0.0; BLOCK],
        tolerance: [0.0; BLOCK],
    };
}

impl Terrain {
    /// A map of which nothing is known.
    ///
    /// # Errors
    /// When its cells have no sensible size, or there are too few or too many.
    pub fn new(settings: TerrainSettings) -> Result<Self, MakeGridError> {
        let uneven_m = UNEVEN * settings.cell_m;
        #[expect(clippy::cast_possible_truncation, reason = "it is a tolerance")]
        let uneven_m2 = (uneven_m * uneven_m) as f32;
        Ok(Self {
            grid: Grid::new(settings.size_m, settings.cell_m)?,
            settings,
            uneven_m2,
            counts: TerrainCounts::default(),
        })
    }

    /// The cells.
    #[must_use]
    pub fn grid(&self) -> &Grid<Cell> {
        &self.grid
    }

    /// What became of all points so far.
    #[must_use]
    pub fn counts(&self) -> TerrainCounts {
        self.counts
    }

    fn fuse_block(&mut self, points: &[[f32; 4]], block: &Block, placer: &Placer, time: u16) {
        let mut n_fused = 0;
        for (at, point) in points.iter().enumerate().take(BLOCK) {
            let place = (block.column[at], block.row[at]);
            let Some(cell) = self.grid.at_cell(place) else {
                self.leave_out(*point, placer);
                continue;
            };
            let measured = Height {
                z: block.z[at],
                weight: block.weight[at],
                tolerance: block.tolerance[at],
            };
            cell.observe(measured, time);
            n_fused += 1;
        }
        self.counts.fused += n_fused;
    }

    /// Counts a point that is not fused.
    #[cold]
    fn leave_out(&mut self, point: [f32; 4], placer: &Placer) {
        let [.., range_m] = point;
        let Placed { column, row, z, .. } = placer.place_one(point);
        let is_point = [column, row, z].iter().all(|it| it.is_finite());
        let count = if range_m == f32::INFINITY {
            &mut self.counts.nothing_met
        } else if !placer.is_seen(range_m) || !is_point {
            &mut self.counts.bad
        } else if z > placer.overhead_z {
            &mut self.counts.overhead
        } else {
            &mut self.counts.outside
        };
        *count += 1;
    }
}

impl Chart for Terrain {
    fn centre_on(&mut self, xy_m: [f64; 2]) {
        self.grid.centre_on(xy_m);
    }

    fn forget(&mut self) {
        self.grid.forget();
    }

    fn fuse(&mut self, points: &[[f32; 4]], sensor: SensorNoise, view: &View, utime: i64) {
        let time = tenths(utime);
        let placer = Placer::new(self, sensor, view);
        let mut block = Block::EMPTY;
        for points in points.chunks(BLOCK) {
            placer.place(points, &mut block);
            self.fuse_block(points, &block, &placer, time);
        }
    }

    fn clear(&mut self, points: &[[f32; 4]], sensor: SensorNoise, view: &View, when: (i64, usize)) {
        self.refute_along_rays(points, sensor, view, when);
    }

    fn to_map(&self, reference: &str, utime: i64) -> Map {
        type Plane = (&'static str, &'static str, fn(&Cell) -> f32);
        let planes: [Plane; 5] = [
            ("height", "m", Cell::height),
            ("variance", "m^2", Cell::variance),
            ("min", "m", Cell::min),
            ("max", "m", Cell::max),
            ("count", "", |cell| f32::from(cell.n())),
        ];
        let map = Map {
            utime,
            reference: reference.to_owned(),
            origin_m: self.grid.origin_m(),
            cell_m: self.grid.cell_m(),
            names: planes.iter().map(|(name, ..)| (*name).to_owned()).collect(),
            units: planes
                .iter()
                .map(|(_, unit, _)| (*unit).to_owned())
                .collect(),
            cells: planes.iter().map(|(.., of)| self.grid.plane(of)).collect(),
            ..Map::default()
        };
        map.with_lengths()
    }
}

/// Takes points of a device to places in the grid.
///
/// Places are counted in cells from the grid's corner: near enough for four-byte numbers to have tenths of millimetres,
/// wherever on earth the grid is.
struct Placer {
    /// From the device to the axes of the map.
    turn: [[f32; 3]; 3],
    /// The device, from the grid's corner; its height is the map's.
    at: [f32; 3],
    /// The device, from the frame whose pose is known.
    from_posed: [f32; 3],
    cells_per_m: f32,
    noise: HeightNoise,
    weighting: Weighting,
    uneven_m2: f32,
    min_range_m: f32,
    max_range_m: f32,
    /// What is higher is no ground.
    overhead_z: f32,
}

impl Placer {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "all are near the grid's corner"
    )]
    fn new(terrain: &Terrain, sensor: SensorNoise, view: &View) -> Self {
        let ([x, y, z], [px, py, pz]) = (view.map_from_sensor.xyz(), view.posed_at);
        let [west, south] = terrain.grid.origin_m();
        Self {
            turn: view
                .map_from_sensor
                .rotation()
                .map(|row| row.map(|it| it as f32)),
            at: [x - west, y - south, z].map(|it| it as f32),
            from_posed: [x - px, y - py, z - pz].map(|it| it as f32),
            cells_per_m: (1.0 / terrain.grid.cell_m()) as f32,
            noise: HeightNoise::new(sensor, &view.noise, terrain.settings.slope_sd),
            weighting: terrain.settings.weighting,
            uneven_m2: terrain.uneven_m2,
            min_range_m: sensor.min_range_m,
            max_range_m: sensor.max_range_m,
            overhead_z: (pz + terrain.settings.overhead_m) as f32,
        }
    }

    /// Whether a range is one that the device can measure. Comparisons with what is no number are false.
    #[inline]
    fn is_seen(&self, range_m: f32) -> bool {
        (range_m >= self.min_range_m) & (range_m <= self.max_range_m)
    }

    /// Works out where a point falls, whether it is wanted or not.
    #[inline]
    fn place_one(&self, [x, y, z, range_m]: [f32; 4]) -> Placed {
        let along = |row: [f32; 3]| row[0] * x + row[1] * y + row[2] * z;
        let ray = self.turn.map(along);
        let from = |start: [f32; 3]| [ray[0] + start[0], ray[1] + start[1], ray[2] + start[2]];
        let [column_m, row_m, z] = from(self.at);
        Placed {
            column: column_m * self.cells_per_m,
            row: row_m * self.cells_per_m,
            z,
            variance: self.noise.variance(ray, range_m, from(self.from_posed)),
        }
    }

    /// Works out where points fall; there are at most as many as a block has.
    fn place(&self, points: &[[f32; 4]], block: &mut Block) {
        // Whole arrays, whose length the compiler knows.
        let [mut xs, mut ys, mut zs, mut ranges] = [[0.0; BLOCK]; 4];
        for (at, [x, y, z, range_m]) in points.iter().enumerate().take(BLOCK) {
            xs[at] = *x;
            ys[at] = *y;
            zs[at] = *z;
            ranges[at] = *range_m;
        }
        for at in 0..BLOCK {
            let Placed {
                column,
                row,
                z,
                variance,
            } = self.place_one([xs[at], ys[at], zs[at], ranges[at]]);
            let is_wanted = self.is_seen(ranges[at]) & (z <= self.overhead_z);
            // What is no number is not at 0 or beyond either.
            let is_right = is_wanted & (column >= 0.0);
            #[expect(clippy::cast_possible_truncation, reason = "to whole cells")]
            {
                block.column[at] = if is_right { column } else { -1.0 } as i32;
                block.row[at] = if row >= 0.0 { row } else { -1.0 } as i32;
            }
            block.z[at] = z;
            block.tolerance[at] = variance + self.uneven_m2;
            block.weight[at] = variance.recip();
        }
        if self.weighting == Weighting::Mean {
            block.weight = [(MEAN_SD_M * MEAN_SD_M).recip(); BLOCK];
        }
    }
}

/// Where a point falls, in cells from the grid's corner, and how sure its height is.
struct Placed {
    column: f32,
    row: f32,
    z: f32,
    variance: f32,
}

/// Tenths of a second, modulo 2^16: enough to know how long ago something was seen.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is meant to wrap"
)]
pub(crate) fn tenths(utime: i64) -> u16 {
    utime.div_euclid(100_000) as u16
}
