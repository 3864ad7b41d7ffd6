//! What moves, and where it is heading: that ground is not free, although nothing is there yet.
//!
//! In: one map of traversability after the other. Out: the same, with what is about to be taken blocked.
//!
//! Something has *arrived* where all the ground around was known to be free a moment ago, and something stands now. What
//! merely comes into sight had unknown ground behind it, so that a wall does not pass for a mover; and ground that turns
//! out to be worse than it looked has no step. An arrival came from the nearest place where something stood then, and goes
//! on like that for as long as is looked ahead. It is remembered for a while, because it may leave the sight of the
//! sensors and come all the same.
//!
//! Deliberately absent: things, with shapes and names. Each cell goes its own way.

use super::planes::{Planes, ReadMapError};
use bowline_msgs::Map;
use std::collections::VecDeque;

/// How long ago a moment ago is, seconds. Things have moved by a few cells then.
const WINDOW_S: f64 = 1.0;
/// Faster than this nothing is followed, metres a second.
const MAX_SPEED_MPS: f64 = 4.0;
/// Ground that is worse than this cannot be driven on: as those who drive by the map have it.
const BLOCKED_BELOW: f32 = 0.3;
/// What is lower than this does not stand on the ground but is the ground, metres.
const STANDS_M: f32 = 0.3;
/// So many cells around an arrival must have been free, so that the edge of something that stands is none.
const OPEN: isize = 2;
/// What moved is expected to go on for so long after it was last seen to, seconds.
const REMEMBERED_S: f64 = 2.0;
/// Fewer cells at once are noise.
const MIN_ARRIVALS: usize = 3;
/// More cells at once are another world, and not looked at.
const MAX_ARRIVALS: usize = 2_000;
/// Nothing is followed farther than this, cells.
const MAX_CELLS: isize = 100;
/// More maps are not kept; those that come faster are left out.
const MAX_KEPT: usize = 16;

/// Follows what moves from map to map.
#[derive(Clone, Debug)]
pub struct Movers {
    ahead_s: f64,
    /// The oldest first.
    kept: VecDeque<Snapshot>,
    /// What was seen to move lately, and when.
    moving: VecDeque<(i64, Vec<Heading>)>,
}

/// A cell that moves, counted in cells.
#[derive(Clone, Copy, Debug)]
struct Heading {
    from: [f64; 2],
    per_s: [f64; 2],
}

/// What a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Footing {
    Unknown,
    Free,
    /// Bad ground.
    Rough,
    /// Something is there.
    Taken,
}

/// A cell, counted from the origin of the reference frame: east and north.
type Cell = [isize; 2];

/// What was known of the ground at a time.
#[derive(Clone, Debug)]
struct Snapshot {
    utime: i64,
    cell_m: f64,
    /// Its cell in the south-west.
    corner: Cell,
    rows: Vec<Vec<Footing>>,
}

impl Movers {
    /// Without a map yet; what moves is followed for so long into the future.
    #[must_use]
    pub fn new(ahead_s: f64) -> Self {
        Self {
            ahead_s,
            kept: VecDeque::with_capacity(MAX_KEPT),
            moving: VecDeque::with_capacity(MAX_KEPT),
        }
    }

    /// Takes a map in, and blocks in it what something that moves is heading for.
    ///
    /// # Errors
    /// When the map has no traversability or steps, or planes of different sizes.
    pub fn foresee(&mut self, map: &mut Map) -> Result<(), ReadMapError> {
        if self.ahead_s <= 0.0 {
            return Ok(());
        }
        let now = Snapshot::of(map)?;
        let before = self.before(&now);
        let headings = before.map(|(before, elapsed_s)| headings(&now, before, elapsed_s));
        self.remember(now.utime, headings.unwrap_or_default());
        let plane = map.names.iter().position(|name| name == PLANE);
        if let Some(plane) = plane.and_then(|nth| map.cells.get_mut(nth)) {
            for cell in self.taken(now.utime) {
                if let Some(value) = now.index(cell).and_then(|at| plane_at(plane, at)) {
                    *value = 0.0;
                }
            }
        }
        self.keep(now);
        Ok(())
    }

    /// The ground as it was a moment ago, and how long ago that is.
    fn before(&mut self, now: &Snapshot) -> Option<(&Snapshot, f64)> {
        let age_s = |it: &Snapshot| seconds(now.utime.saturating_sub(it.utime));
        let is_same = |it: &Snapshot| it.cell_m.to_bits() == now.cell_m.to_bits();
        // Time that goes back is another time, and other cells are another map.
        self.kept.retain(|it| age_s(it) > 0.0 && is_same(it));
        if self.kept.is_empty() {
            self.moving.clear();
        }
        while self.kept.get(1).is_some_and(|next| age_s(next) >= WINDOW_S) {
            self.kept.pop_front();
        }
        let oldest = self.kept.front()?;
        let elapsed_s = age_s(oldest);
        (WINDOW_S..2.0 * WINDOW_S)
            .contains(&elapsed_s)
            .then_some((oldest, elapsed_s))
    }

    fn remember(&mut self, utime: i64, headings: Vec<Heading>) {
        let lately = 0.0..REMEMBERED_S;
        let age_s = |then: i64| seconds(utime.saturating_sub(then));
        self.moving
            .retain(|(then, _)| lately.contains(&age_s(*then)));
        if !headings.is_empty() {
            if self.moving.len() == MAX_KEPT {
                self.moving.pop_front();
            }
            self.moving.push_back((utime, headings));
        }
    }

    /// The cells that something is heading for.
    fn taken(&self, utime: i64) -> impl Iterator<Item = Cell> {
        self.moving.iter().flat_map(move |(then, headings)| {
            let age_s = seconds(utime.saturating_sub(*then));
            headings
                .iter()
                .flat_map(move |heading| heading.onward(age_s, self.ahead_s))
        })
    }

    fn keep(&mut self, now: Snapshot) {
        let since = |it: &Snapshot| seconds(now.utime.saturating_sub(it.utime));
        let is_next = self.kept.back().is_none_or(|last| since(last) >= 0.09);
        if is_next && self.kept.len() < MAX_KEPT {
            self.kept.push_back(now);
        }
    }
}

const PLANE: &str = "traversability";

#[expect(clippy::cast_precision_loss, reason = "spans are short")]
fn seconds(us: i64) -> f64 {
    us as f64 * 1e-6
}

fn plane_at(plane: &mut [Vec<f32>], [column, row]: [usize; 2]) -> Option<&mut f32> {
    plane.get_mut(row)?.get_mut(column)
}

impl Snapshot {
    fn of(map: &Map) -> Result<Self, ReadMapError> {
        let planes = Planes::new(map)?;
        let footing = |(value, step_m): (&f32, &f32)| match *value {
            value if value.is_nan() => Footing::Unknown,
            value if value >= BLOCKED_BELOW => Footing::Free,
            _ if *step_m >= STANDS_M => Footing::Taken,
            _ => Footing::Rough,
        };
        let rows = planes.plane(PLANE)?.iter().zip(planes.plane("step")?);
        Ok(Self {
            utime: map.utime,
            cell_m: map.cell_m,
            corner: map.origin_m.map(|origin_m| whole(origin_m / map.cell_m)),
            rows: rows
                .map(|(row, steps)| row.iter().zip(steps).map(footing).collect())
                .collect(),
        })
    }

    /// Where a cell is in the rows, if it may be within.
    fn index(&self, cell: Cell) -> Option<[usize; 2]> {
        let [column, row] = [cell[0] - self.corner[0], cell[1] - self.corner[1]];
        Some([usize::try_from(column).ok()?, usize::try_from(row).ok()?])
    }

    fn at(&self, cell: Cell) -> Footing {
        let found = self.index(cell);
        let found = found.and_then(|[column, row]| self.rows.get(row)?.get(column));
        found.copied().unwrap_or(Footing::Unknown)
    }

    /// Where something stands.
    fn taken(&self) -> impl Iterator<Item = Cell> {
        let rows = self.rows.iter().zip(self.corner[1]..);
        rows.flat_map(|(row, north)| {
            let cells = row.iter().zip(self.corner[0]..);
            let taken = cells.filter(|(footing, _)| **footing == Footing::Taken);
            taken.map(move |(_, east)| [east, north])
        })
    }

    /// Whether all the ground around a cell is known to be free.
    fn is_open(&self, [east, north]: Cell) -> bool {
        let mut around = (-OPEN..=OPEN).flat_map(|x| (-OPEN..=OPEN).map(move |y| [x, y]));
        around.all(|[x, y]| self.at([east + x, north + y]) == Footing::Free)
    }

    /// The way to a cell from the nearest one where something stands, no farther than this, in cells.
    fn way_to(&self, [east, north]: Cell, farthest: isize) -> Option<Cell> {
        let ways = (-farthest..=farthest).flat_map(|x| (-farthest..=farthest).map(move |y| [x, y]));
        let taken = ways.filter(|[x, y]| self.at([east - x, north - y]) == Footing::Taken);
        let away2 = |[x, y]: &Cell| x * x + y * y;
        let nearest = taken.min_by_key(away2)?;
        (away2(&nearest) <= farthest * farthest).then_some(nearest)
    }
}

/// What has moved between two moments.
fn headings(now: &Snapshot, before: &Snapshot, elapsed_s: f64) -> Vec<Heading> {
    let arrivals = now.taken().filter(|cell| before.is_open(*cell));
    let arrivals: Vec<Cell> = arrivals.take(MAX_ARRIVALS).collect();
    if arrivals.len() < MIN_ARRIVALS {
        return Vec::new();
    }
    let farthest = whole(MAX_SPEED_MPS * elapsed_s / now.cell_m).min(MAX_CELLS);
    let moving = arrivals.iter().filter_map(|cell| {
        let way = before.way_to(*cell, farthest)?;
        Some(Heading {
            from: cell.map(real),
            per_s: way.map(|it| real(it) / elapsed_s),
        })
    });
    moving.collect()
}

impl Heading {
    /// Cells on its way, from where it is now: so long after it was seen, and for so long.
    fn onward(self, age_s: f64, ahead_s: f64) -> impl Iterator<Item = Cell> {
        let [x, y] = self.per_s.map(|it| it * ahead_s);
        // Two steps in a cell leave out none that is more than touched.
        let n = whole(2.0 * x.abs().max(y.abs())).clamp(1, 2 * MAX_CELLS);
        (0..=n).map(move |nth| {
            let after_s = age_s + ahead_s * real(nth) / real(n);
            [0, 1].map(|axis| whole(self.from[axis] + self.per_s[axis] * after_s))
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounded, and within limits that no map reaches"
)]
fn whole(cells: f64) -> isize {
    cells.round().clamp(-1e9, 1e9) as isize
}

#[expect(clippy::cast_precision_loss, reason = "cells of a map are few")]
fn real(cells: isize) -> f64 {
    cells as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: usize = 100;
    const CELL_M: f64 = 0.2;

    /// A map of 20 by 20 m: free but for something 1 m wide and 1.4 m high, and unknown behind it, to the east.
    fn map(tenths: i64, west_m: f64, south_m: f64, origin_m: [f64; 2]) -> Map {
        let cell = |[x, y]: [f64; 2]| match x - west_m {
            _ if !(south_m..south_m + 1.0).contains(&y) => 1.0,
            x if (0.0..0.4).contains(&x) => 0.0,
            x if x >= 0.4 => f32::NAN,
            _ => 1.0,
        };
        let row = |row: usize| {
            let at = |column: usize| [origin_m[0] + middle(column), origin_m[1] + middle(row)];
            (0..SIDE).map(|column| cell(at(column))).collect()
        };
        let plane: Vec<Vec<f32>> = (0..SIDE).map(row).collect();
        let step = |value: &f32| if *value < BLOCKED_BELOW { 1.4 } else { 0.0 };
        let steps = plane.iter().map(|row| row.iter().map(step).collect());
        Map {
            utime: tenths * 100_000,
            origin_m,
            cell_m: CELL_M,
            names: vec![PLANE.to_owned(), "step".to_owned()],
            cells: vec![plane.clone(), steps.collect()],
            ..Map::default()
        }
    }

    fn middle(nth: usize) -> f64 {
        (f64::from(u32::try_from(nth).unwrap()) + 0.5) * CELL_M
    }

    /// Whether a place is blocked in the last of some maps.
    fn foreseen(ahead_s: f64, maps: impl Iterator<Item = Map>, [x, y]: [f64; 2]) -> bool {
        let mut movers = Movers::new(ahead_s);
        let mut last = None;
        for mut map in maps {
            movers.foresee(&mut map).expect("it is a map");
            last = Some(map);
        }
        let map = last.expect("there are maps");
        let nth = |at: f64, origin: f64| usize::try_from(whole((at - origin) / CELL_M - 0.5));
        let [column, row] = [nth(x, map.origin_m[0]), nth(y, map.origin_m[1])];
        map.cells[0][row.unwrap()][column.unwrap()] < BLOCKED_BELOW
    }

    /// From 5 m north of the origin to the north, 1.2 m a second, for 2 s: then it is from 7.4 to 8.4 m north.
    fn north() -> impl Iterator<Item = Map> {
        (0..=20_i32).map(|tenths| {
            map(
                tenths.into(),
                10.0,
                5.0 + 0.12 * f64::from(tenths),
                [0.0; 2],
            )
        })
    }

    #[test]
    fn what_moves_is_heading_on_and_nowhere_else() {
        let cases = [
            ([10.1, 9.0], true, "right before it"),
            ([10.1, 10.9], true, "two seconds on"),
            ([10.1, 13.9], false, "five seconds on"),
            ([10.1, 6.5], false, "behind it"),
            ([8.5, 8.0], false, "beside it"),
        ];
        for (place, expected, what) in cases {
            assert_eq!(foreseen(3.0, north(), place), expected, "{what}");
        }
        assert!(
            !foreseen(0.0, north(), [10.1, 9.0]),
            "no driver looks ahead"
        );
        let low = north().map(|mut map| {
            map.cells[1]
                .iter_mut()
                .flatten()
                .for_each(|step_m| *step_m = 0.1);
            map
        });
        assert!(!foreseen(3.0, low, [10.1, 9.0]), "ground that looks worse");
    }

    #[test]
    fn it_makes_no_difference_that_the_map_rolls_with_the_vehicle() {
        let rolling = north().enumerate().map(|(nth, still)| {
            let rolled = f64::from(u32::try_from(nth).unwrap()) * CELL_M;
            let tenths = still.utime / 100_000;
            map(
                tenths,
                10.0,
                5.0 + 0.12 * f64::from(u32::try_from(nth).unwrap()),
                [rolled, 0.0],
            )
        });
        assert!(foreseen(3.0, rolling, [10.1, 10.9]));
    }

    #[test]
    fn what_stands_and_what_comes_into_sight_is_heading_nowhere() {
        let standing = (0..=20).map(|tenths| map(tenths, 10.0, 5.0, [0.0; 2]));
        assert!(!foreseen(3.0, standing, [10.1, 6.5]));
        // The same block, of which more is seen from map to map: what was hidden was not known to be free.
        let seen = (0..=20_i32).map(|tenths| {
            let mut map = map(tenths.into(), 10.0, 5.0, [0.0; 2]);
            let hidden_from = 5.2 + 0.04 * f64::from(tenths);
            for (nth, row) in map.cells[0].iter_mut().enumerate() {
                if middle(nth) > hidden_from {
                    row[50..].fill(f32::NAN);
                }
            }
            map
        });
        assert!(!foreseen(3.0, seen, [10.1, 7.5]));
    }

    #[test]
    fn what_leaves_the_sight_of_the_sensors_comes_all_the_same() {
        // Nothing is known any more for the last second: it is from 8.6 to 9.6 m north by then.
        let hidden = north().chain((21..=30).map(|tenths| {
            let mut map = map(tenths, 10.0, 0.0, [0.0; 2]);
            for cell in map.cells[0].iter_mut().flatten() {
                *cell = f32::NAN;
            }
            map
        }));
        assert!(foreseen(3.0, hidden, [10.1, 11.9]));
    }

    #[test]
    fn what_stops_leaves_the_ground_before_it_free_after_a_moment() {
        let stopping = (0..=60_i32).map(|tenths| {
            let south_m = 5.0 + 0.12 * f64::from(tenths.min(20));
            map(tenths.into(), 10.0, south_m, [0.0; 2])
        });
        assert!(!foreseen(3.0, stopping, [10.1, 9.0]));
    }

    #[test]
    fn maps_of_nonsense_are_survived() {
        let mut movers = Movers::new(3.0);
        assert!(movers.foresee(&mut Map::default()).is_err());
        let mut maps = [
            map(5, 10.0, 5.0, [1e300, -1e300]),
            map(3, 0.0, 0.0, [0.0; 2]),
        ];
        maps[1].cell_m = 0.5;
        for map in &mut maps {
            assert!(movers.foresee(map).is_ok());
        }
    }
}
