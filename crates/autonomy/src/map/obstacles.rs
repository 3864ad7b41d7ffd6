//! Where something stands, as a vehicle on flat ground needs it: a grid of cells that are blocked, free or not known.
//!
//! In: points of devices that look along the ground, and of detectors of lines on it. Out: blocked where points show it,
//! free where rays went through, not known where nothing was ever seen.
//!
//! Deliberately absent: heights. The terrain map has those.

use super::chart::Chart;
use super::grid::{Grid, MakeGridError};
use super::noise::{SensorNoise, View};
use super::walk::walk;
use bowline_msgs::Map;

/// What is known of a cell: points in it are evidence for something, rays through it against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    /// Points less rays, within limits.
    score: i8,
    is_seen: bool,
}

/// One point is enough to block a cell: what stands there must not be hit.
const HIT: i8 = 4;
const MAX_SCORE: i8 = 12;
const MIN_SCORE: i8 = -4;

impl Cell {
    fn hit(&mut self) {
        self.score = (self.score.max(0) + HIT).min(MAX_SCORE);
        self.is_seen = true;
    }

    fn miss(&mut self) {
        self.score = (self.score - 1).max(MIN_SCORE);
        self.is_seen = true;
    }

    fn traversability(&self) -> f32 {
        match (self.is_seen, self.score > 0) {
            (true, true) => 0.0,
            (true, false) => 1.0,
            (false, _) => f32::NAN,
        }
    }
}

/// What the obstacle map is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObstacleSettings {
    /// Side of the map, metres.
    pub size_m: f64,
    /// Side of a cell, metres.
    pub cell_m: f64,
    /// Points lower than this above the ground are the ground, metres.
    pub low_m: f64,
    /// Points higher than this above it are no obstacle: the vehicle passes below, metres.
    pub high_m: f64,
    /// The ground under the frame whose pose is known, below its origin, metres.
    pub posed_above_ground_m: f64,
}

/// A rolling map of obstacles.
#[derive(Clone, Debug)]
pub struct Obstacles {
    settings: ObstacleSettings,
    grid: Grid<Cell>,
}

impl Obstacles {
    /// Of which nothing is known.
    ///
    /// # Errors
    /// When its cells have no sensible size, or there are too few or too many.
    pub fn new(settings: ObstacleSettings) -> Result<Self, MakeGridError> {
        Ok(Self {
            grid: Grid::new(settings.size_m, settings.cell_m)?,
            settings,
        })
    }

    /// Sets how high above the ground the frame is whose pose is known, metres.
    pub fn stand(&mut self, posed_above_ground_m: f64) {
        if posed_above_ground_m.is_finite() {
            self.settings.posed_above_ground_m = posed_above_ground_m;
        }
    }

    fn is_obstacle(&self, z_m: f64, view: &View) -> bool {
        let above_m = z_m - (view.posed_at[2] - self.settings.posed_above_ground_m);
        (self.settings.low_m..=self.settings.high_m).contains(&above_m)
    }

    /// Rays that stay within the heights that matter show that nothing stands where they went.
    fn clear_along(&mut self, view: &View, end: [f64; 3]) {
        let start = view.map_from_sensor.xyz();
        if !self.is_obstacle(start[2], view) {
            return;
        }
        let by = [end[0] - start[0], end[1] - start[1]];
        let climb = end[2] - start[2];
        let n_steps = 2 * self.grid.side();
        for (from, to) in walk([start[0], start[1]], by, self.grid.cell_m()).take(n_steps) {
            // The last cell is where the point itself is.
            if to >= 1.0 || !self.is_obstacle(start[2] + climb * to, view) {
                return;
            }
            let middle = 0.5 * (from + to);
            let place = [start[0] + middle * by[0], start[1] + middle * by[1]];
            let Some(cell) = self.grid.at_mut(place) else {
                return;
            };
            cell.miss();
        }
    }
}

impl Chart for Obstacles {
    fn centre_on(&mut self, xy_m: [f64; 2]) {
        self.grid.centre_on(xy_m);
    }

    fn forget(&mut self) {
        self.grid.forget();
    }

    fn fuse(&mut self, points: &[[f32; 4]], sensor: SensorNoise, view: &View, _utime: i64) {
        for point in points {
            let [x, y, z, range_m] = *point;
            // Comparisons with what is no number are false.
            if !(range_m >= sensor.min_range_m && range_m <= sensor.max_range_m) {
                continue;
            }
            let [x, y, z] = view.map_from_sensor.apply([x, y, z].map(f64::from));
            if self.is_obstacle(z, view)
                && let Some(cell) = self.grid.at_mut([x, y])
            {
                cell.hit();
            }
        }
    }

    fn clear(
        &mut self,
        points: &[[f32; 4]],
        sensor: SensorNoise,
        view: &View,
        (_utime, every): (i64, usize),
    ) {
        for point in points.iter().step_by(every.max(1)) {
            if let Some(end) = view.ray_end(*point, &sensor) {
                self.clear_along(view, end);
            }
        }
    }

    fn to_map(&self, reference: &str, utime: i64) -> Map {
        Map {
            utime,
            reference: reference.to_owned(),
            origin_m: self.grid.origin_m(),
            cell_m: self.grid.cell_m(),
            names: vec!["traversability".to_owned()],
            units: vec![String::new()],
            cells: vec![self.grid.plane(Cell::traversability)],
            ..Map::default()
        }
        .with_lengths()
    }
}
