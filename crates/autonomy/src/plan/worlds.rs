//! Made-up worlds to try planners in: the random discs of SBMPO's own benchmark, and a city of 256 by 256 cells.
//!
//! The same seed gives the same world. The distributions of the discs are those of SBMPO's unicycle benchmark; the numbers
//! are ours. The city stands for street maps such as those of `MovingAI`: blocks of buildings at two angles, and a river
//! with bridges.

use super::sparse::{Cell, SparseMap};
use crate::Place;
use bowline_wire::random::{Random, STEP};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::f64::consts::SQRT_2;

/// The numbers that the worlds of benchmarks were made with.
fn numbers(seed: u64) -> Random {
    Random::with_step(seed.wrapping_mul(STEP), 0xd1b5_4a32_d192_ed03)
}

/// Discs to go round: each a middle, metres, and a radius, metres.
pub type Discs = Vec<([f64; 2], f64)>;

/// One set of SBMPO's unicycle benchmark: five to seven discs between (-3, -3) and (3, 3).
#[must_use]
pub fn discs(seed: u64) -> Discs {
    let mut random = numbers(seed);
    let n = 5 + super::field::whole(random.unit() * 3.0);
    (0..n)
        .map(|_| {
            let at = [random.within(-2.0, 2.0), random.within(-2.0, 2.0)];
            (at, random.within(0.35, 0.55))
        })
        .collect()
}

/// A map of discs: every cell that one touches is blocked.
#[must_use]
pub fn map_of_discs(discs: &Discs, cell_m: f64) -> SparseMap {
    let mut map = SparseMap::new(cell_m, 1 << 16);
    for (at, radius_m) in discs {
        map.block_disc(*at, *radius_m);
    }
    map
}

/// Cells on a side of the city; each is a metre.
pub const CITY: i32 = 256;

/// A way through the city, and how long it is on the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errand {
    /// Where it begins, looking along the shortest way.
    pub start: Place,
    /// The middle of the cell where it ends.
    pub goal_m: [f64; 2],
    /// The length of the shortest way over the eight neighbours that cuts no corner, metres.
    pub grid_m: f64,
}

/// A city.
#[must_use]
pub fn city(seed: u64) -> SparseMap {
    let mut random = numbers(seed ^ 0xc17e);
    let mut map = SparseMap::new(1.0, 1 << 14);
    let side = f64::from(CITY);
    for district in 0..2 {
        let tilt = random.within(-0.6, 0.6);
        let (sin, cos) = tilt.sin_cos();
        let (pitch_x, pitch_y) = (random.within(24.0, 34.0), random.within(20.0, 30.0));
        for row in -20..20 {
            for column in -20..20 {
                let jitter = [random.within(-2.0, 2.0), random.within(-2.0, 2.0)];
                let street = [random.within(3.0, 8.0), random.within(3.0, 8.0)];
                let missing = random.unit();
                let [u, v] = [
                    f64::from(column) * pitch_x + jitter[0],
                    f64::from(row) * pitch_y + jitter[1],
                ];
                let at = [
                    side / 2.0 + cos * u - sin * v,
                    side / 2.0 + sin * u + cos * v,
                ];
                let is_here = (at[0] + at[1] < side) == (district == 0);
                if is_here && missing > 0.12 {
                    let half = [(pitch_x - street[0]) / 2.0, (pitch_y - street[1]) / 2.0];
                    block_building(&mut map, at, half, (sin, cos));
                }
            }
        }
    }
    block_river(&mut map, &mut random);
    map
}

fn block_building(map: &mut SparseMap, at: [f64; 2], half: [f64; 2], (sin, cos): (f64, f64)) {
    for y in 0..CITY {
        for x in 0..CITY {
            let [dx, dy] = [f64::from(x) + 0.5 - at[0], f64::from(y) + 0.5 - at[1]];
            let (u, v) = (cos * dx + sin * dy, cos * dy - sin * dx);
            if u.abs() <= half[0] && v.abs() <= half[1] {
                map.block(Cell { x, y });
            }
        }
    }
}

fn block_river(map: &mut SparseMap, random: &mut Random) {
    let phase = random.within(0.0, 6.0);
    let bridges = [random.within(20.0, 90.0), random.within(160.0, 236.0)];
    for x in 0..CITY {
        let along = f64::from(x);
        let is_bridge = bridges.iter().any(|at| (along - at).abs() < 5.0);
        let middle = 128.0 + 24.0 * (along / 40.0 + phase).sin();
        for y in 0..CITY {
            let across = (f64::from(y) - middle).abs();
            let cell = Cell { x, y };
            if is_bridge && across < 16.0 {
                map.free(cell);
            } else if across < 6.0 {
                map.block(cell);
            }
        }
    }
}

/// The longest of many errands between random places of a city: the hardest ones.
#[must_use]
pub fn hardest_errands(map: &SparseMap, seed: u64, n: usize) -> Vec<Errand> {
    let mut random = numbers(seed ^ 0xe44a);
    let mut errands = Vec::new();
    for _ in 0..20 {
        let Some(goal) = random_place(map, &mut random) else {
            continue;
        };
        let costs = grid_costs(map, goal);
        for _ in 0..10 {
            let start = random_place(map, &mut random);
            errands.extend(start.and_then(|start| errand(map, &costs, start, goal)));
        }
    }
    errands.sort_by(|one, two| two.grid_m.total_cmp(&one.grid_m));
    errands.truncate(n);
    errands
}

/// A cell with some room around it.
fn random_place(map: &SparseMap, random: &mut Random) -> Option<Cell> {
    (0..1_000).find_map(|_| {
        let mut at = || super::sparse::index(random.within(4.0, f64::from(CITY) - 4.0));
        let cell = Cell { x: at()?, y: at()? };
        let mut near = (-3..=3).flat_map(|dy| {
            (-3..=3).map(move |dx| Cell {
                x: cell.x + dx,
                y: cell.y + dy,
            })
        });
        near.all(|cell| !map.is_blocked(cell)).then_some(cell)
    })
}

fn errand(map: &SparseMap, costs: &[f64], start: Cell, goal: Cell) -> Option<Errand> {
    let cost = |cell: Cell| in_city(cell).map_or(f64::INFINITY, |idx| costs[idx]);
    let grid_m = cost(start);
    // Down the slope for a while, to see which way it goes.
    let mut at = start;
    for _ in 0..6 {
        at = moves(map, at)
            .min_by(|one, two| cost(one.0).total_cmp(&cost(two.0)))?
            .0;
    }
    let heading_rad = f64::from(at.y - start.y).atan2(f64::from(at.x - start.x));
    let [x_m, y_m] = map.center_m(start);
    grid_m.is_finite().then_some(Errand {
        start: Place::new(x_m, y_m, heading_rad),
        goal_m: map.center_m(goal),
        grid_m,
    })
}

/// From each cell the length of the shortest way to a goal over the eight neighbours; none cuts a corner.
fn grid_costs(map: &SparseMap, goal: Cell) -> Vec<f64> {
    let side = usize::try_from(CITY).unwrap_or_default();
    let mut costs = vec![f64::INFINITY; side * side];
    let mut queue = BinaryHeap::new();
    if let Some(idx) = in_city(goal) {
        costs[idx] = 0.0;
        queue.push(Reverse((0.0_f64.to_bits(), goal)));
    }
    while let Some(Reverse((bits, cell))) = queue.pop() {
        let cost = f64::from_bits(bits);
        if in_city(cell).is_none_or(|idx| costs[idx] < cost) {
            continue;
        }
        for (next, length) in moves(map, cell) {
            if let Some(idx) = in_city(next)
                && cost + length < costs[idx]
            {
                costs[idx] = cost + length;
                queue.push(Reverse((costs[idx].to_bits(), next)));
            }
        }
    }
    costs
}

fn moves(map: &SparseMap, from: Cell) -> impl Iterator<Item = (Cell, f64)> {
    let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
    around.filter_map(move |(dx, dy)| {
        let to = |dx, dy| Cell {
            x: from.x + dx,
            y: from.y + dy,
        };
        let is_open = |cell| in_city(cell).is_some() && !map.is_blocked(cell);
        let is_move =
            (dx, dy) != (0, 0) && is_open(to(dx, dy)) && is_open(to(dx, 0)) && is_open(to(0, dy));
        let length = if dx != 0 && dy != 0 { SQRT_2 } else { 1.0 };
        is_move.then(|| (to(dx, dy), length))
    })
}

fn in_city(cell: Cell) -> Option<usize> {
    let is_inside = (0..CITY).contains(&cell.x) && (0..CITY).contains(&cell.y);
    let idx = usize::try_from(cell.y * CITY + cell.x).ok()?;
    is_inside.then_some(idx)
}
