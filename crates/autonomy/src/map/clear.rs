//! What a ray goes through is not there: things that moved away are given up.
//!
//! In: points with the place that they were measured from, after they were fused. Out: tops that are refuted.
//!
//! A cell is refuted by rays that cross most of it below its top, when its top has not been seen for a while. A cell that
//! is partly taken is hit and passed in the same sweep, and keeps its top.

use super::noise::{SensorNoise, View};
use super::terrain::{Terrain, tenths};

/// A ray may be off by this much in height before it says anything.
const MARGIN_M: f64 = 0.15;
/// How much of a cell's side a ray must cross to speak for all of it.
const CROSSED: f64 = 0.6;

impl Terrain {
    /// Gives up what the rays to these points went through. One ray in `every` is looked at.
    pub fn clear(
        &mut self,
        points: &[[f32; 4]],
        sensor: SensorNoise,
        view: &View,
        (utime, every): (i64, usize),
    ) {
        let time = tenths(utime);
        let start = view.map_from_sensor.xyz();
        for point in points.iter().step_by(every.max(1)) {
            let [x, y, z, range_m] = point.map(f64::from);
            let stretch = if range_m == f64::INFINITY {
                f64::from(sensor.max_range_m)
            } else {
                1.0
            };
            let end = view
                .map_from_sensor
                .apply([x * stretch, y * stretch, z * stretch]);
            if range_m >= f64::from(sensor.min_range_m) && end.iter().all(|it| it.is_finite()) {
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
        let mut axes = [0, 1].map(|axis| Axis::new(start[axis], by[axis], cell_m));
        let mut from = 0.0;
        // No more steps than a ray can take within the grid.
        for _ in 0..2 * self.grid.side() {
            let to = axes[0].next.min(axes[1].next).min(1.0);
            if (to - from) * length_m >= CROSSED * cell_m {
                let middle = 0.5 * (from + to);
                let place = [start[0] + middle * by[0], start[1] + middle * by[1]];
                let highest_m = start[2] + climb * if climb > 0.0 { to } else { from };
                if !self.refute(place, highest_m + MARGIN_M, time) {
                    return;
                }
            }
            if to >= 1.0 {
                return;
            }
            from = to;
            axes.iter_mut().for_each(|axis| axis.pass(to));
        }
    }

    /// Tells one cell; `false` beyond the edge of the map.
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

/// Where a ray crosses the lines between cells, as parts of its length.
#[derive(Clone, Copy, Debug)]
struct Axis {
    next: f64,
    step: f64,
}

impl Axis {
    fn new(start_m: f64, by_m: f64, cell_m: f64) -> Self {
        let within = start_m - (start_m / cell_m).floor() * cell_m;
        let to_line = if by_m > 0.0 { cell_m - within } else { within };
        Self {
            // Along the lines there is none to cross.
            next: if by_m == 0.0 {
                f64::INFINITY
            } else {
                to_line / by_m.abs()
            },
            step: cell_m / by_m.abs(),
        }
    }

    fn pass(&mut self, at: f64) {
        if self.next <= at {
            self.next += self.step;
        }
    }
}
