//! A rolling grid: square cells on the ground around a place that moves.
//!
//! In: where the middle should be. Out: cells by place. What leaves on one side is forgotten and comes in unknown on the
//! other; what stays is not copied, because a cell's slot is its number modulo the size.
//!
//! Deliberately absent: what a cell is, and which way is up.

/// Square cells, aligned with multiples of their side, around a middle that moves by whole cells.
#[derive(Clone, Debug)]
pub struct Grid<C> {
    cell_m: f64,
    cells_per_m: f64,
    n: usize,
    /// The number of the first column and of the first row: `floor(coordinate / cell_m)`.
    first: [i64; 2],
    /// The slots of those.
    start: [usize; 2],
    cells: Vec<C>,
}

/// Why there is no such grid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MakeGridError {
    /// Cells of no size.
    #[error("expected cells of 0.01 m to 100 m, found {found} m")]
    Cell {
        /// Their side.
        found: f64,
    },
    /// Too few or too many cells.
    #[error(
        "expected a map of 2 to {} cells a side, found {size_m} m of cells of {cell_m} m",
        MAX_SIDE
    )]
    Size {
        /// The side of the map.
        size_m: f64,
        /// The side of a cell.
        cell_m: f64,
    },
}

/// The most cells along a side: 4 million cells are more than a bus can carry.
pub const MAX_SIDE: usize = 2048;

impl<C: Clone + Default> Grid<C> {
    /// A grid about the origin of which nothing is known.
    ///
    /// # Errors
    /// When cells have no sensible size, or there are too few or too many.
    pub fn new(size_m: f64, cell_m: f64) -> Result<Self, MakeGridError> {
        if !(0.01..=100.0).contains(&cell_m) {
            return Err(MakeGridError::Cell { found: cell_m });
        }
        // A tiny bit less than what was asked for is what was asked for: 40 / 0.2 is not quite 200 in binary.
        let n = (size_m / cell_m - 1e-9).ceil();
        if !(2.0..=MAX_SIDE as f64).contains(&n) {
            return Err(MakeGridError::Size { size_m, cell_m });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 2 and 2048"
        )]
        let n = n as usize;
        let mut grid = Self {
            cell_m,
            cells_per_m: 1.0 / cell_m,
            n,
            first: [0; 2],
            start: [0; 2],
            cells: vec![C::default(); n * n],
        };
        grid.centre_on([0.0; 2]);
        Ok(grid)
    }

    /// The side of a cell.
    #[must_use]
    pub fn cell_m(&self) -> f64 {
        self.cell_m
    }

    /// How many cells there are along a side.
    #[must_use]
    pub fn side(&self) -> usize {
        self.n
    }

    /// The outer corner of the first cell of the first row: the smallest x and y.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "numbers of cells are small")]
    pub fn origin_m(&self) -> [f64; 2] {
        self.first.map(|it| it as f64 * self.cell_m)
    }

    /// Moves so that a place is in the middle. A place that is none moves nothing.
    ///
    /// # Panics
    /// Never: there are at most [`MAX_SIDE`] cells along a side.
    pub fn centre_on(&mut self, [x, y]: [f64; 2]) {
        let half = i64::try_from(self.n / 2).expect("at most 2048 cells");
        for (axis, at) in [x, y].into_iter().enumerate() {
            if let Some(number) = self.number(at) {
                self.shift(axis, number - half);
            }
        }
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.cells.fill(C::default());
    }

    /// The cell at a place, if that is within the grid.
    #[inline]
    #[must_use]
    pub fn at(&self, [x, y]: [f64; 2]) -> Option<&C> {
        let (column, row) = (self.local(0, x)?, self.local(1, y)?);
        self.cells.get(self.slot(column, row))
    }

    /// The cell at a place, to be changed, if that is within the grid.
    #[inline]
    pub fn at_mut(&mut self, [x, y]: [f64; 2]) -> Option<&mut C> {
        let (column, row) = (self.local(0, x)?, self.local(1, y)?);
        let slot = self.slot(column, row);
        self.cells.get_mut(slot)
    }

    /// The cell in a column and a row, counted from the origin, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self, column: usize, row: usize) -> Option<&C> {
        if column >= self.n || row >= self.n {
            return None;
        }
        self.cells.get(self.slot(column, row))
    }

    /// The cell in a column and a row, to be changed, if there is one.
    #[inline]
    pub fn get_mut(&mut self, column: usize, row: usize) -> Option<&mut C> {
        if column >= self.n || row >= self.n {
            return None;
        }
        let slot = self.slot(column, row);
        self.cells.get_mut(slot)
    }

    /// The cell in a column and a row, to be changed, if there is one: for those who may be beyond the edge.
    #[inline]
    pub(crate) fn at_cell(&mut self, (column, row): (i32, i32)) -> Option<&mut C> {
        let (column, row) = (
            column.cast_unsigned() as usize,
            row.cast_unsigned() as usize,
        );
        self.get_mut(column, row)
    }

    /// The column (axis 0) or row (axis 1) that a coordinate is in, if it is within the grid.
    #[inline]
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "within the grid it is a small number that is not below 0"
    )]
    pub fn local(&self, axis: usize, at_m: f64) -> Option<usize> {
        let local = at_m * self.cells_per_m - self.first[axis] as f64;
        // NaN is in no range. Above 0 the cast rounds down, without the call that `floor` is on old processors.
        (0.0..self.n as f64)
            .contains(&local)
            .then_some(local as usize)
    }

    /// The value of each cell, row by row from the origin: one plane of a map.
    pub fn plane(&self, value: impl Fn(&C) -> f32) -> Vec<Vec<f32>> {
        let row = |row: usize| {
            (0..self.n)
                .map(|column| value(&self.cells[self.slot(column, row)]))
                .collect()
        };
        (0..self.n).map(row).collect()
    }

    #[inline]
    fn slot(&self, column: usize, row: usize) -> usize {
        self.wrapped(self.start[1] + row) * self.n + self.wrapped(self.start[0] + column)
    }

    #[inline]
    fn wrapped(&self, at: usize) -> usize {
        if at >= self.n { at - self.n } else { at }
    }

    /// The number of the column or row that a coordinate is in; none for what is no place on earth.
    #[expect(clippy::cast_possible_truncation, reason = "it is below 2^53")]
    fn number(&self, at_m: f64) -> Option<i64> {
        let number = (at_m * self.cells_per_m).floor();
        (number.abs() < 9e15).then_some(number as i64)
    }

    /// Makes a number the first of an axis, and forgets what is no longer within.
    fn shift(&mut self, axis: usize, first: i64) {
        let n = i64::try_from(self.n).expect("at most 2048 cells");
        let by = first - self.first[axis];
        self.first[axis] = first;
        if by.abs() >= n {
            self.forget();
        } else {
            // Slots of what left: the first ones when moving on, the last ones when moving back.
            let leaving = if by > 0 { 0..by } else { n + by..n };
            for local in leaving {
                let local = usize::try_from(local).expect("between 0 and the side");
                self.forget_line(axis, local);
            }
        }
        let start = i64::try_from(self.start[axis]).expect("at most 2048 cells");
        self.start[axis] =
            usize::try_from((start + by).rem_euclid(n)).expect("between 0 and the side");
    }

    fn forget_line(&mut self, axis: usize, at: usize) {
        for along in 0..self.n {
            let (column, row) = if axis == 0 { (at, along) } else { (along, at) };
            let slot = self.slot(column, row);
            self.cells[slot] = C::default();
        }
    }
}
