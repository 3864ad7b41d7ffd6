//! What stands up from the bottom: wrecks, rocks, piles, and things that were put there.
//!
//! In: a map of heights. Out: places that are higher than the bottom around them. The bottom around a place is the median of
//! heights in squares of some metres, so that it follows slopes and is not drawn up by what stands on it.

use super::planes::{Planes, ReadMapError};
use bowline_msgs::Map;

/// Something that stands on the bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shoal {
    /// Its middle, x and y.
    pub at_m: [f64; 2],
    /// How far its top is above the bottom around it, metres.
    pub rise_m: f64,
    /// How high its top is, metres, in the coordinates of the map.
    pub top_m: f64,
    /// How much of the bottom it takes, square metres.
    pub area_m2: f64,
}

/// What counts as standing up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShoalSettings {
    /// At least so much above the bottom around it, metres.
    pub rise_m: f64,
    /// In so many cells at least: one alone may be an outlier.
    pub n_cells: usize,
    /// The bottom is looked at in squares of this side, metres.
    pub around_m: f64,
}

impl Default for ShoalSettings {
    fn default() -> Self {
        Self {
            rise_m: 0.5,
            n_cells: 2,
            around_m: 8.0,
        }
    }
}

/// More are not reported.
pub const MAX_SHOALS: usize = 200;

/// What stands up from the bottom, the highest first.
///
/// # Errors
/// When the map has no heights.
pub fn shoals(map: &Map, settings: &ShoalSettings) -> Result<Vec<Shoal>, ReadMapError> {
    let planes = Planes::new(map)?;
    let heights = planes.plane("height")?;
    let (rows, columns) = (planes.rows(), planes.columns());
    let bottom = Bottom::new(heights, (settings.around_m / map.cell_m).max(2.0));
    let rise = |row: usize, column: usize| {
        let height = *heights.get(row)?.get(column)?;
        let rise_m = f64::from(height - bottom.at(row, column)?);
        (rise_m >= settings.rise_m).then_some((rise_m, f64::from(height)))
    };
    let mut is_seen = vec![false; rows * columns];
    let mut found = Vec::new();
    for start in 0..rows * columns {
        let mut patch = Vec::new();
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let (row, column) = (at / columns, at % columns);
            if is_seen[at] {
                continue;
            }
            is_seen[at] = true;
            let Some((rise_m, top_m)) = rise(row, column) else {
                continue;
            };
            patch.push((row, column, rise_m, top_m));
            for row in row.saturating_sub(1)..=(row + 1).min(rows - 1) {
                for column in column.saturating_sub(1)..=(column + 1).min(columns - 1) {
                    open.push(row * columns + column);
                }
            }
        }
        if patch.len() >= settings.n_cells.max(1) {
            found.push(shoal(&patch, map));
        }
    }
    found.sort_by(|one, other| other.rise_m.total_cmp(&one.rise_m));
    found.truncate(MAX_SHOALS);
    Ok(found)
}

/// Cells that touch, each with its row, column, rise and height.
fn shoal(patch: &[(usize, usize, f64, f64)], map: &Map) -> Shoal {
    let most = |of: fn(&(usize, usize, f64, f64)) -> f64| {
        patch.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
    };
    let weight: f64 = patch.iter().map(|(.., rise_m, _)| rise_m).sum();
    let middle = |of: fn(&(usize, usize, f64, f64)) -> usize, origin_m: f64| {
        let sum: f64 = patch
            .iter()
            .map(|cell| cell.2 * (of(cell) as f64 + 0.5))
            .sum();
        origin_m + map.cell_m * sum / weight
    };
    let [x0, y0] = map.origin_m;
    Shoal {
        at_m: [middle(|cell| cell.1, x0), middle(|cell| cell.0, y0)],
        rise_m: most(|cell| cell.2),
        top_m: most(|cell| cell.3),
        area_m2: patch.len() as f64 * map.cell_m * map.cell_m,
    }
}

/// How high the bottom is in squares of cells: the median of each with those around it.
struct Bottom {
    side: usize,
    columns: usize,
    medians: Vec<Option<f32>>,
}

impl Bottom {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "2 or more, and no more than a map has cells"
    )]
    fn new(heights: &[Vec<f32>], side: f64) -> Self {
        let side = side.min(1e6) as usize;
        let n_columns = heights.first().map_or(0, Vec::len);
        let (rows, columns) = (heights.len().div_ceil(side), n_columns.div_ceil(side));
        let square = |at: usize| {
            let (row, column) = (at / columns, at % columns);
            let near = |it: usize| it.saturating_sub(1) * side..(it + 2) * side;
            let lines = heights.iter().take(near(row).end).skip(near(row).start);
            // One in three both ways is enough for a median.
            let known = lines.step_by(3).flat_map(|line| {
                let cells = line.iter().take(near(column).end).skip(near(column).start);
                cells.step_by(3).copied().filter(|it| it.is_finite())
            });
            let mut known: Vec<f32> = known.collect();
            let middle = known.len() / 2;
            (!known.is_empty()).then(|| *known.select_nth_unstable_by(middle, f32::total_cmp).1)
        };
        Self {
            side,
            columns,
            medians: (0..rows * columns).map(square).collect(),
        }
    }

    fn at(&self, row: usize, column: usize) -> Option<f32> {
        let at = row / self.side * self.columns + column / self.side;
        self.medians.get(at).copied().flatten()
    }
}
