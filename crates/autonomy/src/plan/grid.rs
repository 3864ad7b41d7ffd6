//! How far it is to the goal for a vehicle that could move like a king of chess: a bound that knows the obstacles.
//!
//! In: the distance field, the goal's cells, the radius of the disc that the vehicle covers wherever it looks. Out: for a
//! cell, a distance that no vehicle can beat; or that there is no way at all.
//!
//! A cell may be entered if the disc fits somewhere in it. That lets too much through and never too little, so that what
//! is cut off here is cut off for the vehicle ([`Fit::Anywhere`]). Gaps that it only seems to fit through lead a search
//! astray, so those where it does not fit near the middle of a cell are left out as long as there is another way
//! ([`Fit::Middle`]). Between two cells that touch at a corner there is a way if one of the two beside them can be entered.
//! Moves between cells cost 29 or 41: 41/29 is a little less than the root of 2.
//! Along any line these add up to at most 1 / cos(pi / 8) of its length, which is taken off again, with a cell for the
//! places within the cells.
//!
//! The search goes outward from the goal in buckets (Dial), only as far as a caller asks.

use super::field::{Area, Field};
use std::f64::consts::SQRT_2;

const STRAIGHT: u32 = 29;
const DIAGONAL: u32 = 41;
/// More than the longest move; a power of two, so that a bucket is found by its last bits.
const N_BUCKETS: u32 = 64;
/// cos(pi / 8).
const LEAST_RATIO: f64 = 0.923_879_532_511_286_7;
/// Not reached, or not yet.
const FAR: u32 = u32::MAX;
/// No move enters there: less than the goal costs, so that no move there is an improvement.
const CLOSED: u32 = 0;
/// What the goal costs: more than a place that cannot be entered.
const GOAL: u32 = 1;

/// When a cell may be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The disc fits near its middle.
    Middle,
    /// The disc may fit somewhere in it: nothing that is left out can be entered.
    Anywhere,
}

impl Fit {
    /// How much farther a place in a cell may be from what is blocked than the cell's nearest point, in cells.
    fn slack_cells(self) -> f64 {
        match self {
            Self::Middle => 0.5,
            Self::Anywhere => SQRT_2,
        }
    }
}

/// Distances to the goal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distances {
    /// Cells in a row, with one more at either end that cannot be entered.
    stride: usize,
    /// What it costs to the goal.
    costs: Vec<u32>,
    buckets: Vec<Vec<usize>>,
    /// Everything that costs less is settled.
    settled: u32,
    n_open: usize,
    unit_m: f64,
    cell_m: f64,
}

impl Distances {
    /// Begins at the cells within `tolerance_m` of the goal. Returns whether there are any that can be entered.
    pub(crate) fn begin(
        &mut self,
        field: &Field,
        goal_m: [f64; 2],
        tolerance_m: f64,
        (inner_m, fit): (f64, Fit),
    ) -> bool {
        let area = field.area();
        self.stride = area.n_columns + 2;
        self.cell_m = field.cell_m();
        self.unit_m = LEAST_RATIO * self.cell_m / f64::from(STRAIGHT);
        self.settled = GOAL;
        self.n_open = 0;
        self.buckets.resize(N_BUCKETS as usize, Vec::new());
        self.buckets.iter_mut().for_each(Vec::clear);
        self.open_cells(field, inner_m, fit);
        self.start_at_goal(field, area, goal_m, tolerance_m);
        self.n_open > 0
    }

    /// No vehicle gets to the goal from a point in this cell on less than this, metres. None: there is no way.
    pub(crate) fn at_least_m(&mut self, [column, row]: [usize; 2]) -> Option<f64> {
        let idx = self.idx([column, row]);
        let cost = self.cost(idx);
        if cost != CLOSED {
            return self.in_m(cost);
        }
        // Not near the middle, but at the side to a cell that can be entered.
        let around = self.around(idx).map(|(next, move_cost)| {
            let cost = self.cost(next);
            if cost == CLOSED || cost == FAR {
                FAR
            } else {
                cost + move_cost
            }
        });
        let nearest = around.into_iter().min().unwrap_or(FAR);
        self.in_m(nearest)
    }

    fn in_m(&self, cost: u32) -> Option<f64> {
        (cost != FAR).then(|| (f64::from(cost) * self.unit_m - self.cell_m).max(0.0))
    }

    /// What a cell costs, once that is settled.
    fn cost(&mut self, idx: usize) -> u32 {
        while self.costs[idx] > self.settled && self.n_open > 0 {
            self.settle_next();
        }
        self.costs[idx]
    }

    /// The eight cells around one, first those that share a side.
    fn around(&self, idx: usize) -> [(usize, u32); 8] {
        let stride = self.stride;
        [
            (idx - stride, STRAIGHT),
            (idx - 1, STRAIGHT),
            (idx + 1, STRAIGHT),
            (idx + stride, STRAIGHT),
            (idx - stride - 1, DIAGONAL),
            (idx - stride + 1, DIAGONAL),
            (idx + stride - 1, DIAGONAL),
            (idx + stride + 1, DIAGONAL),
        ]
    }

    fn idx(&self, [column, row]: [usize; 2]) -> usize {
        (row + 1) * self.stride + column + 1
    }

    fn open_cells(&mut self, field: &Field, inner_m: f64, fit: Fit) {
        let area = field.area();
        self.costs.clear();
        self.costs.resize(self.stride * (area.n_rows + 2), CLOSED);
        let slack_m = fit.slack_cells() * self.cell_m;
        for row in 0..area.n_rows {
            for column in 0..area.n_columns {
                let cell = [column, row];
                if !field.is_blocked(cell) && field.distance_m(cell) + slack_m >= inner_m {
                    let idx = self.idx(cell);
                    self.costs[idx] = FAR;
                }
            }
        }
    }

    fn start_at_goal(&mut self, field: &Field, area: Area, goal_m: [f64; 2], tolerance_m: f64) {
        let corner_m = field.corner_m();
        let [x, y] = [0, 1].map(|axis| (goal_m[axis] - corner_m[axis]) / self.cell_m);
        let tolerance = tolerance_m / self.cell_m;
        let gap = |at: f64, cell: usize| ((at - cell as f64 - 0.5).abs() - 0.5).max(0.0);
        let near = |at: f64, n: usize| {
            let first = super::field::whole((at - tolerance).max(0.0).floor());
            let last = super::field::whole((at + tolerance).max(0.0).floor());
            first..(last + 1).min(n)
        };
        for row in near(y, area.n_rows) {
            for column in near(x, area.n_columns) {
                let idx = self.idx([column, row]);
                let is_near = gap(x, column).hypot(gap(y, row)) <= tolerance;
                if is_near && self.costs[idx] == FAR {
                    self.push(idx, GOAL);
                }
            }
        }
    }

    fn push(&mut self, idx: usize, cost: u32) {
        self.costs[idx] = cost;
        self.buckets[(cost % N_BUCKETS) as usize].push(idx);
        self.n_open += 1;
    }

    fn settle_next(&mut self) {
        let now = self.settled;
        let mut bucket = std::mem::take(&mut self.buckets[(now % N_BUCKETS) as usize]);
        self.n_open -= bucket.len();
        for idx in bucket.drain(..) {
            // A cheaper way was found after it was put here.
            if self.costs[idx] < now {
                continue;
            }
            let around = self.around(idx);
            for (next, move_cost) in around {
                let is_corner = move_cost == DIAGONAL;
                if now + move_cost < self.costs[next] && !(is_corner && self.is_shut(idx, next)) {
                    self.push(next, now + move_cost);
                }
            }
        }
        // Its memory is used again.
        self.buckets[(now % N_BUCKETS) as usize] = bucket;
        self.settled += 1;
    }

    /// Whether both cells beside a diagonal move are closed: then there is nothing between the two but a corner.
    fn is_shut(&self, from: usize, to: usize) -> bool {
        let (low, high) = (from.min(to), from.max(to));
        // One row on, and a column to the right or to the left.
        let beside = if high - low > self.stride {
            low + 1
        } else {
            low - 1
        };
        self.costs[beside] == CLOSED && self.costs[low + high - beside] == CLOSED
    }
}
