//! The bottom of the water: soundings from anywhere, fused into a map of an area that stays where it is.
//!
//! The cells are those of [`Terrain`]: weighed by variance, with outliers that have to agree with each other before they
//! count. What differs is that the map does not roll with the vehicle, that nothing is forgotten when the pose jumps
//! (soundings that were put in the wrong place are outvoted by those that come after), and that only the part that is
//! known is published.

use super::cell::Cell;
use super::chart::Chart;
use super::grid::MakeGridError;
use super::noise::{SensorNoise, View};
use super::terrain::{Terrain, TerrainCounts, TerrainSettings, Weighting};
use bowline_msgs::Map;

/// Which area is mapped, and how finely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeabedSettings {
    /// The middle of the area, x and y.
    pub centre_m: [f64; 2],
    /// Its side, metres.
    pub size_m: f64,
    /// Side of a cell, metres.
    pub cell_m: f64,
    /// Where the water's surface is that depths are counted from, metres, map frame.
    pub level_m: f64,
    /// Standard deviation of how steep the bottom is, metres a metre.
    pub slope_sd: f64,
}

/// The bottom of an area.
#[derive(Clone, Debug)]
pub struct Seabed {
    terrain: Terrain,
    level_m: f64,
}

impl Seabed {
    /// A bottom of which nothing is known.
    ///
    /// # Errors
    /// When its cells have no sensible size, or there are too few or too many.
    pub fn new(settings: &SeabedSettings) -> Result<Self, MakeGridError> {
        let mut terrain = Terrain::new(TerrainSettings {
            size_m: settings.size_m,
            cell_m: settings.cell_m,
            weighting: Weighting::Variance,
            slope_sd: settings.slope_sd,
            // What is above the water is no bottom.
            overhead_m: 0.0,
        })?;
        terrain.centre_on(settings.centre_m);
        Ok(Self {
            terrain,
            level_m: settings.level_m,
        })
    }

    /// What became of all soundings so far.
    #[must_use]
    pub fn counts(&self) -> TerrainCounts {
        self.terrain.counts()
    }

    /// Rows and columns that have anything in them, as first and one after the last.
    fn known(&self) -> ([usize; 2], [usize; 2]) {
        let grid = self.terrain.grid();
        let (mut rows, mut columns) = ([usize::MAX, 0], [usize::MAX, 0]);
        for row in 0..grid.side() {
            for column in 0..grid.side() {
                if grid.get(column, row).is_some_and(Cell::is_known) {
                    rows = [rows[0].min(row), row + 1];
                    columns = [columns[0].min(column), columns[1].max(column + 1)];
                }
            }
        }
        (rows, columns)
    }
}

/// A plane of the map: its name, its unit, and what a cell has of it.
type Plane<'p> = (&'p str, &'p str, &'p dyn Fn(&Cell) -> f32);

impl Chart for Seabed {
    fn centre_on(&mut self, _: [f64; 2]) {}

    fn forget(&mut self) {}

    fn fuse(&mut self, points: &[[f32; 4]], sensor: SensorNoise, view: &View, utime: i64) {
        self.terrain.fuse(points, sensor, view, utime);
    }

    fn clear(&mut self, _: &[[f32; 4]], _: SensorNoise, _: &View, _: (i64, usize)) {}

    fn to_map(&self, reference: &str, utime: i64) -> Map {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "depths need no more digits"
        )]
        let level_m = self.level_m as f32;
        let planes: [Plane<'_>; 4] = [
            ("height", "m", &Cell::height),
            ("variance", "m^2", &Cell::variance),
            ("count", "", &|cell| f32::from(cell.n())),
            ("depth", "m", &|cell| level_m - cell.height()),
        ];
        let grid = self.terrain.grid();
        let ([south, north], [west, east]) = self.known();
        let plane = |of: &dyn Fn(&Cell) -> f32| -> Vec<Vec<f32>> {
            let row = |row| {
                (west..east)
                    .filter_map(|column| grid.get(column, row))
                    .map(of)
                    .collect()
            };
            (south..north).map(row).collect()
        };
        let corner = |axis: usize, first: usize| {
            // Nothing is known: a map without cells is anywhere.
            let first = if first == usize::MAX { 0 } else { first };
            grid.origin_m()[axis] + first as f64 * grid.cell_m()
        };
        Map {
            utime,
            reference: reference.to_owned(),
            origin_m: [corner(0, west), corner(1, south)],
            cell_m: grid.cell_m(),
            names: planes.iter().map(|(name, ..)| (*name).to_owned()).collect(),
            units: planes
                .iter()
                .map(|(_, unit, _)| (*unit).to_owned())
                .collect(),
            cells: planes.iter().map(|(.., of)| plane(of)).collect(),
            ..Map::default()
        }
        .with_lengths()
    }
}
