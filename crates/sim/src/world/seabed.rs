//! The bottom of a harbour, made from a few numbers and a seed: a basin that rises towards its edges, with a dredged
//! channel through it, and as rough as it should be.

use super::heights::{self, BadHeights};
use crate::noise::Seed;
use crate::outline::from_piece_m;
use crate::solid::Mesh;

/// What a harbour floor is like, about its own middle; heights are below its origin.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seabed {
    /// Along x and y, metres.
    pub(super) size_m: [f64; 2],
    /// Between two heights, metres, about.
    pub(super) cell_m: f64,
    /// Of the basin, metres.
    pub(super) depth_m: f64,
    /// At its edges, metres.
    pub(super) edge_depth_m: f64,
    /// How far from the edges it is as deep as the basin, metres.
    pub(super) slope_m: f64,
    pub(super) channel: Option<Channel>,
    /// The deviation of its heights, metres.
    pub(super) roughness_m: f64,
    pub(super) seed: u64,
}

/// Where it was dredged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Channel {
    /// Along its middle, about the floor's own, metres.
    pub(super) points_m: Vec<[f64; 2]>,
    pub(super) width_m: f64,
    pub(super) depth_m: f64,
}

/// More of them take too long to make.
const MAX_HEIGHTS: u64 = 250_000;
/// How broad the slopes beside a channel are, metres.
const BANK_M: f64 = 8.0;
/// How broad bumps are, metres, and how much of the roughness they have: each half as broad has half as much.
const BUMPS: [(f64, f64); 3] = [(24.0, 0.8), (10.0, 0.5), (4.0, 0.3)];

impl Seabed {
    pub(super) fn mesh(&self) -> Result<Mesh, BadHeights> {
        let [n_columns, n_rows] = self.size_m.map(|side| count(side / self.cell_m));
        if u64::from(n_columns) * u64::from(n_rows) > MAX_HEIGHTS {
            return Err(BadHeights::TooMany {
                most: MAX_HEIGHTS,
                found: [n_columns, n_rows],
            });
        }
        let [x, y] = self.size_m;
        let share = |at: u32, n: u32| f64::from(at) / f64::from(n.max(2) - 1) - 0.5;
        let rows = (0..n_rows).map(|row| {
            let row_m = y * share(row, n_rows);
            let columns = (0..n_columns).map(|column| x * share(column, n_columns));
            columns
                .map(|column_m| self.height([column_m, row_m]))
                .collect()
        });
        let rows: Vec<Vec<f64>> = rows.collect();
        heights::mesh(&rows, [x, y, 1.0])
    }

    /// How high the bottom is: below 0.
    fn height(&self, at @ [x, y]: [f64; 2]) -> f64 {
        let [half_x, half_y] = self.size_m.map(|side| side / 2.0);
        let from_edge = (half_x - x.abs()).min(half_y - y.abs());
        let basin = between(self.edge_depth_m, self.depth_m, from_edge / self.slope_m);
        let depth = self.channel.as_ref().map_or(basin, |channel| {
            let pieces = channel.points_m.array_windows();
            let from_middle = pieces
                .map(|piece| from_piece_m(at, *piece))
                .fold(f64::INFINITY, f64::min);
            let from_bank = (from_middle - channel.width_m / 2.0) / BANK_M;
            between(channel.depth_m, basin, from_bank).max(basin)
        });
        -depth + self.roughness_m * self.bumps(at)
    }

    /// Smooth noise of about deviation 1.
    fn bumps(&self, [x, y]: [f64; 2]) -> f64 {
        let layers = (0..).zip(BUMPS).map(|(layer, (broad_m, share))| {
            let (u, v) = (x / broad_m, y / broad_m);
            let (i, j) = (u.floor(), v.floor());
            let knot = |di: f64, dj: f64| self.knot(layer, [i + di, j + dj]);
            let (s, t) = (smooth(u - i), smooth(v - j));
            let low = knot(0.0, 0.0) * (1.0 - s) + knot(1.0, 0.0) * s;
            let high = knot(0.0, 1.0) * (1.0 - s) + knot(1.0, 1.0) * s;
            // Between knots there is less of it than at them.
            1.5 * share * (low * (1.0 - t) + high * t)
        });
        layers.sum()
    }

    fn knot(&self, layer: u64, [i, j]: [f64; 2]) -> f64 {
        // Whole numbers, some of them below 0: their bits name them.
        let tick = i.to_bits() ^ j.to_bits().rotate_left(31) ^ layer;
        Seed(self.seed).stream("seabed", tick).normal()
    }
}

/// From one to the other, smoothly, as the share goes from 0 to 1.
fn between(one: f64, two: f64, share: f64) -> f64 {
    one + (two - one) * smooth(share.clamp(0.0, 1.0))
}

fn smooth(share: f64) -> f64 {
    share * share * (3.0 - 2.0 * share)
}

/// Points along a side.
fn count(cells: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "held within 1 and a million"
    )]
    let cells = cells.round().clamp(1.0, 1e6) as u32;
    cells + 1
}
