//! What a ray goes through is not there: things that moved away are given up.
//!
//! In: points with the place that they were measured from, after they were fused. Out: tops that are refuted.
//!
//! A cell is refuted by rays that cross most of it below its top, when its top has not been seen for a while. A cell that
//! is partly taken is hit and passed in the same sweep, and keeps its top.

use super::noise::{SensorNoise, View};
use super::terrain::{Terrain, tenths};
use super::walk::walk;

/// A ray may be off by this much in height before it counts.
const MARGIN_M: f64 = 0.15;
/// How much of a cell's side a ray must cross to count for all of it.
const CROSSED: f64 = 0.6;

impl Terrain {
    /// Gives up what the rays to these points went through. One ray in `every` is looked at.
    pub(super) fn refute_along_rays(
        &mut self,
        points: &[[f32; 4]],
        sensor: SensorNoise,
        view: &View,
        (utime, every): (i64, usize),
    ) {
        let time = tenths(utime);
        let start = view.map_from_sensor.xyz();
        for point in points.iter().step_by(every.max(1)) {
            if let Some(end) = view.ray_end(*point, &sensor) {
                self.clear_along(start, end, time);
            }
        }
    }

    /// Walks over the cells below a ray, from the device on.
    fn clear_along(&mut self, start: [f64; 3], end: [f64; 3], time: u16) {
        let cell_m = self.grid.cell_m();
        let by = [end[0] - start[0], end[1] - start[1]];
        let length_m = by[0].hypot(by[1]);
        if length_m < cell_m {
            return;
        }
        let climb = end[2] - start[2];
        for (from, to) in walk([start[0], start[1]], by, cell_m).take(2 * self.grid.side()) {
            if (to - from) * length_m < CROSSED * cell_m {
                continue;
            }
            let middle = 0.5 * (from + to);
            let place = [start[0] + middle * by[0], start[1] + middle * by[1]];
            let highest_m = start[2] + climb * if climb > 0.0 { to } else { from };
            if !self.refute(place, highest_m + MARGIN_M, time) {
                return;
            }
        }
    }

    /// Updates one cell; `false` beyond the edge of the map.
    #[expect(clippy::cast_possible_truncation, reason = "as heights are kept")]
    fn refute(&mut self, place: [f64; 2], height_m: f64, time: u16) -> bool {
        let Some(cell) = self.grid.at_mut(place) else {
            return false;
        };
        if cell.refute(height_m as f32, time) {
            self.counts.cleared += 1;
        }
        true
    }
}
