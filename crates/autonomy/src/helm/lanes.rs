//! An area turned into lanes: to and fro, so that all of it is passed over.
//!
//! Lines across the area are cut by its edge. Pieces that follow each other form a cell; where the area forks or joins, a
//! cell ends. Within a cell lanes go to and fro; from cell to cell the nearest end is next.
//!
//! Deliberately absent: what is in the way between cells. The way from one to the next is straight, and may lead out of an
//! area with bays: the author of the area knows the water around it.

/// More lanes are refused.
pub const MAX_LANES: usize = 2_000;
/// Shorter pieces are left out: a vessel is about as long.
const MIN_LANE_M: f64 = 1.0;
/// Smaller areas are none, square metres.
const MIN_AREA_M2: f64 = 1.0;

/// A straight line to follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lane {
    /// Where it begins, x and y.
    pub from_m: [f64; 2],
    /// Where it ends.
    pub to_m: [f64; 2],
}

/// How an area is covered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneSettings {
    /// At most this far apart, metres.
    pub spacing_m: f64,
    /// Which way lanes go, radians from east; without it along the longest side.
    pub heading_rad: Option<f64>,
    /// From where: the nearest end of a lane is the first.
    pub start_m: [f64; 2],
}

/// Why there are no lanes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LanesError {
    /// Not enough corners.
    #[error("expected an area of at least 3 corners, found {found}")]
    Corners {
        /// How many there are.
        found: usize,
    },
    /// Corners that are nowhere.
    #[error("a corner of the area is not a number")]
    Nowhere,
    /// All corners on a line.
    #[error("expected an area of at least {MIN_AREA_M2} m^2, found {found:.2} m^2")]
    Area {
        /// How large it is, square metres.
        found: f64,
    },
    /// No distance.
    #[error("expected lanes more than 0 m apart, found {found} m")]
    Spacing {
        /// How far apart they should be.
        found: f64,
    },
    /// Too fine.
    #[error("expected at most {MAX_LANES} lanes, found {found:.0}: make them wider apart")]
    TooMany {
        /// How many there would be.
        found: f64,
    },
    /// Nothing is left.
    #[error("no lane of at least {MIN_LANE_M} m fits into the area")]
    Nothing,
}

/// A piece of a line: where it begins and ends along it.
#[derive(Clone, Copy, Debug)]
struct Piece {
    across_m: f64,
    low_m: f64,
    high_m: f64,
}

/// Turns an area, given by its corners in order, into lanes in the order in which they are best followed.
///
/// # Errors
/// When there is no such area, or too many lanes.
pub fn lanes(corners_m: &[[f64; 2]], settings: &LaneSettings) -> Result<Vec<Lane>, LanesError> {
    check(corners_m, settings)?;
    let heading_rad = settings
        .heading_rad
        .unwrap_or_else(|| longest_side(corners_m));
    let (sin, cos) = heading_rad.sin_cos();
    let along = |[x, y]: [f64; 2]| [cos * x + sin * y, cos * y - sin * x];
    let back = |[u, w]: [f64; 2]| [cos * u - sin * w, sin * u + cos * w];
    let corners: Vec<[f64; 2]> = corners_m.iter().copied().map(along).collect();
    let across = corners.iter().map(|[_, w]| *w);
    let low_m = across.clone().fold(f64::INFINITY, f64::min);
    let width_m = across.fold(f64::NEG_INFINITY, f64::max) - low_m;
    // All alike, and no further apart than asked for; the outer ones half as far from the edge.
    let n = (width_m / settings.spacing_m - 1e-9).ceil().max(1.0);
    if n > MAX_LANES as f64 {
        return Err(LanesError::TooMany { found: n });
    }
    let step_m = width_m / n;
    let mut cells = Cells::default();
    let mut across_m = low_m + step_m / 2.0;
    while across_m < low_m + width_m {
        cells.line(pieces(&corners, across_m));
        across_m += step_m;
    }
    let in_order = cells.in_order(along(settings.start_m));
    if in_order.is_empty() {
        return Err(LanesError::Nothing);
    }
    if in_order.len() > MAX_LANES {
        let found = in_order.len() as f64;
        return Err(LanesError::TooMany { found });
    }
    let lane = |[from, to]: [[f64; 2]; 2]| Lane {
        from_m: back(from),
        to_m: back(to),
    };
    Ok(in_order.into_iter().map(lane).collect())
}

fn check(corners_m: &[[f64; 2]], settings: &LaneSettings) -> Result<(), LanesError> {
    if corners_m.len() < 3 {
        let found = corners_m.len();
        return Err(LanesError::Corners { found });
    }
    if !corners_m.iter().flatten().all(|it| it.is_finite()) {
        return Err(LanesError::Nowhere);
    }
    let found = settings.spacing_m;
    if !(found > 0.0 && found.is_finite()) {
        return Err(LanesError::Spacing { found });
    }
    let found = area_m2(corners_m);
    // What is no number is no area either.
    if found.is_nan() || found < MIN_AREA_M2 {
        return Err(LanesError::Area { found });
    }
    Ok(())
}

/// From each corner to the next, and from the last to the first.
fn sides(corners: &[[f64; 2]]) -> impl Iterator<Item = ([f64; 2], [f64; 2])> {
    let next = corners.iter().skip(1).chain(corners.first());
    corners.iter().copied().zip(next.copied())
}

fn area_m2(corners: &[[f64; 2]]) -> f64 {
    // From a corner of its own, so that areas far from the origin keep their digits.
    let Some([x0, y0]) = corners.first().copied() else {
        return 0.0;
    };
    let cross =
        |([ax, ay], [bx, by]): ([f64; 2], [f64; 2])| (ax - x0) * (by - y0) - (bx - x0) * (ay - y0);
    (sides(corners).map(cross).sum::<f64>() / 2.0).abs()
}

fn longest_side(corners: &[[f64; 2]]) -> f64 {
    let mut longest = (0.0, 0.0);
    for ([ax, ay], [bx, by]) in sides(corners) {
        let length = (bx - ax).hypot(by - ay);
        if length > longest.0 {
            longest = (length, (by - ay).atan2(bx - ax));
        }
    }
    longest.1
}

/// What is within the area of a line across it.
fn pieces(corners: &[[f64; 2]], across_m: f64) -> Vec<Piece> {
    let crossing = |([au, aw], [bu, bw]): ([f64; 2], [f64; 2])| {
        let is_crossed = (aw <= across_m) != (bw <= across_m);
        is_crossed.then(|| au + (bu - au) * (across_m - aw) / (bw - aw))
    };
    let mut crossings: Vec<f64> = sides(corners).filter_map(crossing).collect();
    crossings.sort_by(f64::total_cmp);
    let piece = |ends: &[f64; 2]| Piece {
        across_m,
        low_m: ends[0],
        high_m: ends[1],
    };
    let (pairs, _) = crossings.as_chunks::<2>();
    let pieces = pairs.iter().map(piece);
    pieces
        .filter(|piece| piece.high_m - piece.low_m >= MIN_LANE_M)
        .collect()
}

/// Pieces that follow each other from line to line.
#[derive(Debug, Default)]
struct Cells {
    cells: Vec<Vec<Piece>>,
    /// Of the last line, each with its cell.
    last: Vec<(Piece, usize)>,
}

impl Cells {
    fn line(&mut self, pieces: Vec<Piece>) {
        let overlap =
            |one: &Piece, other: &Piece| one.low_m < other.high_m && other.low_m < one.high_m;
        let mut next = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let mut before = self.last.iter().filter(|(last, _)| overlap(last, piece));
            let only = before.next().filter(|_| before.next().is_none());
            let goes_on = only.filter(|(last, _)| {
                pieces.iter().filter(|other| overlap(last, other)).count() == 1
            });
            let cell = match goes_on {
                Some((_, cell)) => *cell,
                None => {
                    self.cells.push(Vec::new());
                    self.cells.len() - 1
                }
            };
            self.cells[cell].push(*piece);
            next.push((*piece, cell));
        }
        self.last = next;
    }

    /// Lanes of all cells: always on with the nearest end.
    fn in_order(self, start: [f64; 2]) -> Vec<[[f64; 2]; 2]> {
        let mut left = self.cells;
        let mut at = start;
        let mut order = Vec::new();
        while let Some((nth, way)) = nearest(&left, at) {
            let cell = left.swap_remove(nth);
            let lanes = to_and_fro(cell, way);
            at = lanes.last().map_or(at, |[_, to]| *to);
            order.extend(lanes);
        }
        order
    }
}

/// Whether a cell is begun with its last line, and at the high ends.
#[derive(Clone, Copy, Debug)]
struct Way {
    is_from_last: bool,
    is_from_high: bool,
}

fn nearest(cells: &[Vec<Piece>], at: [f64; 2]) -> Option<(usize, Way)> {
    let mut best: Option<(f64, usize, Way)> = None;
    for (nth, cell) in cells.iter().enumerate() {
        for (is_from_last, end) in [(false, cell.first()), (true, cell.last())] {
            let Some(piece) = end else { continue };
            for (is_from_high, along_m) in [(false, piece.low_m), (true, piece.high_m)] {
                let far_m = (along_m - at[0]).hypot(piece.across_m - at[1]);
                if best.is_none_or(|(least_m, ..)| far_m < least_m) {
                    let way = Way {
                        is_from_last,
                        is_from_high,
                    };
                    best = Some((far_m, nth, way));
                }
            }
        }
    }
    best.map(|(_, nth, way)| (nth, way))
}

fn to_and_fro(mut cell: Vec<Piece>, way: Way) -> Vec<[[f64; 2]; 2]> {
    if way.is_from_last {
        cell.reverse();
    }
    let mut is_from_high = way.is_from_high;
    let lane = |piece: Piece| {
        let (low, high) = (
            [piece.low_m, piece.across_m],
            [piece.high_m, piece.across_m],
        );
        let lane = if is_from_high {
            [high, low]
        } else {
            [low, high]
        };
        is_from_high = !is_from_high;
        lane
    };
    cell.into_iter().map(lane).collect()
}
