//! Worlds of cylinders as the BARN challenge describes its own (Perille and others, "Benchmarking Metric Ground Navigation",
//! 2020): a cellular automaton on a grid of 30 by 30 cells of 0.15 m, between walls.
//!
//! 1. Each cell is filled with a probability of 0.15, 0.20, 0.25 or 0.30.
//! 2. Two, three or four times all cells are smoothed at once: five or more filled neighbours of eight fill a cell, one or
//!    none clears it.
//! 3. A cylinder stands on each filled cell, and on those of the walls: at both sides from 5 m before the grid to its end,
//!    and behind the start.
//! 4. A world counts only if the robot can get through: there is a way from the first row to the last on which no cylinder
//!    is nearer to its middle than its clearance. If there is none, the automaton begins again with other numbers.
//!
//! In: the number of a world. Out: always the same world for it. The paper leaves the choice of the reference path open;
//! ours is the shortest way from start to goal over cells with clearance.

use super::Barn;
use crate::noise::{Seed, Stream};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Cells along each side of the grid.
const N_CELLS: usize = 30;
/// Rows of the walls before the grid: 5 m.
const N_ROWS_BEFORE: usize = 33;
/// Probabilities that a cell is filled at first.
const FILLS: [f64; 4] = [0.15, 0.20, 0.25, 0.30];
/// How often cells are smoothed.
const SMOOTHINGS: [u32; 3] = [2, 3, 4];
/// So many filled neighbours, or more, fill a cell.
const FILL_FROM: usize = 5;
/// So many filled neighbours, or fewer, clear a cell.
const CLEAR_UP_TO: usize = 1;
/// The smallest distance from the robot's middle to the surface of a cylinder on the way, metres: a Jackal is 0.43 m wide.
const CLEARANCE_M: f64 = 0.3;
/// The densest kind has a way in about one of three attempts; so many without one have not been seen.
const MAX_ATTEMPTS: u64 = 10_000;

/// A column and a row of the grid.
type Cell = (usize, usize);

impl Barn {
    /// The world of that number, made by our own code as the challenge describes its worlds. Twelve consecutive numbers
    /// have all combinations of fill and smoothing.
    ///
    /// # Panics
    /// Never: every number has a world after a few attempts, and the numbers of a seed do not change.
    #[must_use]
    pub fn generate(number: u32) -> Self {
        let fill = FILLS[(number % 4) as usize];
        let n_smoothings = SMOOTHINGS[(number / 4 % 3) as usize];
        let (grid, way) = (0..MAX_ATTEMPTS)
            .find_map(|attempt| {
                let mut stream = Seed(u64::from(number)).stream("barn", attempt);
                let grid = automaton(fill, n_smoothings, &mut stream);
                let way = shortest_way(&grid)?;
                Some((grid, way))
            })
            .expect("every number has a world after a few attempts");
        let walls = (1..=N_ROWS_BEFORE)
            .flat_map(|row| [0, N_CELLS - 1].map(|column| at(column, -real(row))));
        let behind = (1..N_CELLS - 1).map(|column| at(column, -real(N_ROWS_BEFORE)));
        let field = cells().filter(|cell| grid.is_filled(*cell));
        let field = field.map(|(column, row)| at(column, real(row)));
        Self {
            world: number,
            cylinder_radius_m: Self::CELL_M / 2.0,
            cylinders_xy_m: behind.chain(walls).chain(field).collect(),
            reference_path: way
                .into_iter()
                .map(|(column, row)| [real(column) + 1.0, real(row)])
                .collect(),
        }
    }
}

fn real(count: usize) -> f64 {
    f64::from(u16::try_from(count).unwrap_or(u16::MAX))
}

/// Where a cell's middle is, metres; rows before the grid are negative.
fn at(column: usize, row: f64) -> [f64; 2] {
    // The grid's own lattice has one column more at the left.
    let middle = Barn::cell_m([real(column) + 1.0, row]);
    // Whole millimetres, as files have them.
    middle.map(|it| (it * 1e3).round() / 1e3)
}

fn cells() -> impl Iterator<Item = Cell> {
    (0..N_CELLS).flat_map(|row| (0..N_CELLS).map(move |column| (column, row)))
}

/// Which cells have a cylinder.
#[derive(Clone, Debug)]
struct Grid([[bool; N_CELLS]; N_CELLS]);

impl Grid {
    fn is_filled(&self, (column, row): Cell) -> bool {
        self.0[row][column]
    }

    /// The filled ones among the cells of the grid around a cell.
    fn n_filled_around(&self, (column, row): Cell) -> usize {
        let around = near(column, 1).flat_map(|x| near(row, 1).map(move |y| (x, y)));
        around
            .filter(|cell| *cell != (column, row) && self.is_filled(*cell))
            .count()
    }
}

/// Indices of the grid up to so many away.
fn near(middle: usize, reach: usize) -> impl Iterator<Item = usize> {
    middle.saturating_sub(reach)..=(middle + reach).min(N_CELLS - 1)
}

/// Fills cells by chance, smooths them, and puts up the walls at both sides.
fn automaton(fill: f64, n_smoothings: u32, stream: &mut Stream) -> Grid {
    let mut grid = Grid([[false; N_CELLS]; N_CELLS]);
    for (column, row) in cells() {
        grid.0[row][column] = stream.uniform() < fill;
    }
    for _ in 0..n_smoothings {
        let before = grid.clone();
        for (column, row) in cells() {
            let n_filled = before.n_filled_around((column, row));
            if n_filled >= FILL_FROM {
                grid.0[row][column] = true;
            } else if n_filled <= CLEAR_UP_TO {
                grid.0[row][column] = false;
            }
        }
    }
    for row in &mut grid.0 {
        row[0] = true;
        row[N_CELLS - 1] = true;
    }
    grid
}

/// Whether the robot's middle may be in a cell.
fn has_clearance(grid: &Grid, (column, row): Cell) -> bool {
    let keep_away_m = CLEARANCE_M + Barn::CELL_M / 2.0;
    let mut around = near(column, 3).flat_map(|x| near(row, 3).map(move |y| (x, y)));
    around.all(|(x, y)| {
        let (dx, dy) = (x.abs_diff(column), y.abs_diff(row));
        let away_m = Barn::CELL_M * real(dx).hypot(real(dy));
        !grid.is_filled((x, y)) || away_m >= keep_away_m - 1e-9
    })
}

/// Distances in tenths of a millimetre: whole numbers have an order.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few metres"
)]
fn tenths_mm([ax, ay]: [f64; 2], [bx, by]: [f64; 2]) -> u64 {
    ((ax - bx).hypot(ay - by) * 1e4).round() as u64
}

/// The cells of the shortest way with clearance from the start through the grid to the goal, if there is one.
fn shortest_way(grid: &Grid) -> Option<Vec<Cell>> {
    let free: BTreeSet<Cell> = cells().filter(|cell| has_clearance(grid, *cell)).collect();
    let place = |(column, row): Cell| at(column, real(row));
    let mut from = [[None; N_CELLS]; N_CELLS];
    let mut open: BinaryHeap<Reverse<(u64, Cell, Option<Cell>)>> = BinaryHeap::new();
    for cell in free.iter().filter(|(_, row)| *row == 0) {
        let length = tenths_mm(Barn::START_M, place(*cell));
        open.push(Reverse((length, *cell, None)));
    }
    let mut best: Option<(u64, Cell)> = None;
    while let Some(Reverse((length, cell, before))) = open.pop() {
        let (column, row) = cell;
        if from[row][column].is_some() {
            continue;
        }
        from[row][column] = Some(before);
        if row == N_CELLS - 1 {
            let whole = length + tenths_mm(place(cell), Barn::GOAL_M);
            best = best.into_iter().chain([(whole, cell)]).min();
        }
        for next in near(column, 1).flat_map(|x| near(row, 1).map(move |y| (x, y))) {
            if free.contains(&next) {
                let length = length + tenths_mm(place(cell), place(next));
                open.push(Reverse((length, next, Some(cell))));
            }
        }
    }
    let (_, mut cell) = best?;
    let mut way = vec![cell];
    while let Some(Some(before)) = from[cell.1][cell.0] {
        way.push(before);
        cell = before;
    }
    way.reverse();
    Some(way)
}
