//! Whether a vehicle can follow an arc: all of its outline, all of the way.
//!
//! In: distances to what is blocked, an outline, a state and a control. Out: how much room there is, and for how long the
//! control can be held.
//!
//! Why the whole way is checked and not only points of it: while a control is held for dt, a point of the outline at
//! distance r from the origin moves at most (|speed| + |turn| r) dt, since that bounds its speed. If nothing blocked is
//! nearer than c to any point of the outline, then for dt = c / (|speed| + |turn| R), R the largest r, none of them can have reached
//! anything blocked: each is still in a disc of radius c around where it was, and those discs are free. So the check hops
//! from state to state by what the room allows, and where it arrives the sweep between was free. When the room falls below a
//! hundredth of a cell, the arc counts as blocked; that makes the number of hops finite and covers rounding.

use super::field::{Field, whole};
use super::model::Action;
use crate::Place;
use bowline_component::{MissingFact, Vehicle};

/// Less room than twice this, in cells, is none.
const LEAST_CELLS: f64 = 0.005;

/// A way that takes more hops than this ends there: it is endless.
const MAX_HOPS: u32 = 100_000;

/// What a vehicle covers on the ground: a rectangle with a margin all around it, in the vehicle's coordinates.
///
/// A disc is an empty rectangle with a margin, a point one without.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outline {
    /// From the origin to the front, metres.
    pub front_m: f64,
    /// From the origin to the rear, metres, backward positive.
    pub rear_m: f64,
    /// From the middle to either side, metres.
    pub half_width_m: f64,
    /// Room to keep all around, metres.
    pub margin_m: f64,
}

impl Outline {
    /// That of the vehicle, with a margin.
    ///
    /// # Errors
    ///
    /// When one of its measures is not known.
    pub fn of(vehicle: &Vehicle, margin_m: f64) -> Result<Self, MissingFact> {
        Ok(Self {
            front_m: vehicle.front_m()?,
            rear_m: vehicle.rear_m()?,
            half_width_m: vehicle.width_m()? / 2.0,
            margin_m,
        })
    }

    /// A disc around the origin.
    #[must_use]
    pub const fn disc(radius_m: f64) -> Self {
        Self {
            front_m: 0.0,
            rear_m: 0.0,
            half_width_m: 0.0,
            margin_m: radius_m,
        }
    }

    /// The same with another margin.
    #[must_use]
    pub const fn with_margin(mut self, margin_m: f64) -> Self {
        self.margin_m = margin_m;
        self
    }

    /// Whether it can be planned with: the origin is inside, and all of it is finite.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let Self {
            front_m,
            rear_m,
            half_width_m,
            margin_m,
        } = *self;
        let sides = [front_m, rear_m, half_width_m, margin_m];
        sides.iter().all(|side| (0.0..1e4).contains(side))
    }

    /// From the origin to its farthest point, metres.
    #[must_use]
    pub fn reach_m(&self) -> f64 {
        self.front_m.max(self.rear_m).hypot(self.half_width_m) + self.margin_m
    }

    /// The radius of the largest disc around the origin that is inside of it, metres.
    #[must_use]
    pub fn inner_m(&self) -> f64 {
        self.front_m.min(self.rear_m).min(self.half_width_m) + self.margin_m
    }

    fn is_disc(&self) -> bool {
        self.front_m + self.rear_m + self.half_width_m <= 0.0
    }
}

/// Asks about an outline among what is blocked.
#[derive(Clone, Debug)]
pub struct Sweep<'a> {
    field: &'a Field,
    outline: Outline,
    /// Discs along the middle that together cover the rectangle: where, and how large.
    discs: Vec<f64>,
    disc_m: f64,
    reach_m: f64,
    least_m: f64,
}

impl<'a> Sweep<'a> {
    /// Prepares questions.
    #[must_use]
    pub fn new(field: &'a Field, outline: Outline) -> Self {
        let length_m = outline.front_m + outline.rear_m;
        let width_m = (2.0 * outline.half_width_m).max(length_m / 8.0);
        let n_discs = if outline.is_disc() {
            1
        } else {
            whole((length_m / width_m).ceil()).max(1)
        };
        let piece_m = length_m / n_discs as f64;
        let discs = (0..n_discs).map(|nth| (nth as f64 + 0.5) * piece_m - outline.rear_m);
        Self {
            field,
            outline,
            discs: discs.collect(),
            disc_m: (piece_m / 2.0).hypot(outline.half_width_m) + outline.margin_m,
            reach_m: outline.reach_m(),
            least_m: LEAST_CELLS * field.cell_m(),
        }
    }

    /// How far the outline is at least from anything blocked, metres; 0 or less: it touches, or is partly outside of the
    /// area, where nothing is known.
    #[must_use]
    pub fn room_m(&self, state: &Place) -> f64 {
        let inside_m = self.inside_m(state);
        if inside_m <= self.reach_m {
            return 0.0;
        }
        let roughly_m = self.roughly_m(state);
        // The exact answer costs more, and is worth it only where it decides.
        if roughly_m > 0.5 * self.field.cell_m() {
            return roughly_m.min(inside_m - self.reach_m);
        }
        let exactly_m = self.exactly_m(state);
        exactly_m.max(roughly_m).min(inside_m - self.reach_m)
    }

    /// Whether the vehicle can stand there.
    #[must_use]
    pub fn is_free(&self, state: &Place) -> bool {
        self.room_m(state) > 2.0 * self.least_m
    }

    /// Whether an action can be done.
    #[must_use]
    pub fn is_free_along(&self, from: &Place, action: &Action) -> bool {
        self.is_free_with(from, self.room_m(from), action)
    }

    /// The same for those who know the room at the start already.
    pub(crate) fn is_free_with(&self, from: &Place, room_m: f64, action: &Action) -> bool {
        self.free_with(from, room_m, action) >= action.duration_s
    }

    /// For how long an action can be done before the outline touches something: all of its duration, or less.
    #[must_use]
    pub fn free_s(&self, from: &Place, action: &Action) -> f64 {
        self.free_with(from, self.room_m(from), action)
    }

    fn free_with(&self, from: &Place, mut room_m: f64, action: &Action) -> f64 {
        let Action {
            control,
            duration_s,
        } = action;
        let fastest_mps = control.speed_mps.abs() + control.turn_radps.abs() * self.reach_m;
        let mut at_s = 0.0;
        let mut n_hops = 0;
        // A hop leaves the least room, so that where it arrives is free as well.
        while room_m > 2.0 * self.least_m && n_hops < MAX_HOPS {
            n_hops += 1;
            at_s += (room_m - self.least_m) / fastest_mps;
            if at_s >= *duration_s {
                return *duration_s;
            }
            room_m = self.room_m(&control.advance(from, at_s));
        }
        at_s.min(*duration_s)
    }

    /// What it asks.
    #[must_use]
    pub fn field(&self) -> &'a Field {
        self.field
    }

    /// How far it is to the nearest side of the area.
    fn inside_m(&self, state: &Place) -> f64 {
        let [low_x, low_y] = self.field.corner_m();
        let area = self.field.area();
        let cell_m = self.field.cell_m();
        let high_x = low_x + area.n_columns as f64 * cell_m;
        let high_y = low_y + area.n_rows as f64 * cell_m;
        let x_m = (state.x_m - low_x).min(high_x - state.x_m);
        let y_m = (state.y_m - low_y).min(high_y - state.y_m);
        x_m.min(y_m)
    }

    /// By the discs that cover it: never too much.
    fn roughly_m(&self, state: &Place) -> f64 {
        let (sin, cos) = state.heading_rad.sin_cos();
        let nearest = self.discs.iter().map(|along_m| {
            let at = [state.x_m + cos * along_m, state.y_m + sin * along_m];
            self.field
                .at(at)
                .map_or(0.0, |cell| self.field.distance_m(cell))
        });
        nearest.fold(f64::INFINITY, f64::min) - self.disc_m
    }

    /// By all blocked cells around it: exact up to a cell, and no more than that.
    fn exactly_m(&self, state: &Place) -> f64 {
        let cell_m = self.field.cell_m();
        let most_m = cell_m;
        let pose = Pose::new(state, &self.outline, self.field);
        let wide = pose.box_cells(self.outline.margin_m + most_m, self.field);
        let mut nearest_m = most_m + self.outline.margin_m;
        for row in wide[1][0]..=wide[1][1] {
            let mut column = wide[0][0];
            while column <= wide[0][1] && nearest_m > self.outline.margin_m {
                let cell = [column, row];
                if self.field.is_blocked(cell) {
                    nearest_m = nearest_m.min(pose.distance_m(cell, cell_m));
                }
                // So far along the row nothing else can be blocked.
                let free_cells = self.field.distance_m(cell) / cell_m - 1e-3;
                column += whole(free_cells.max(0.0)) + 1;
            }
        }
        nearest_m - self.outline.margin_m
    }
}

/// A rectangle somewhere, measured from the corner of the area.
struct Pose {
    x_m: f64,
    y_m: f64,
    sin: f64,
    cos: f64,
    /// From the middle of the rectangle.
    half_length_m: f64,
    half_width_m: f64,
    /// Whether there is nothing to the rectangle but its margin.
    is_point: bool,
}

impl Pose {
    fn new(state: &Place, outline: &Outline, field: &Field) -> Self {
        let (sin, cos) = state.heading_rad.sin_cos();
        let [corner_x, corner_y] = field.corner_m();
        let middle_m = (outline.front_m - outline.rear_m) / 2.0;
        Self {
            x_m: state.x_m + cos * middle_m - corner_x,
            y_m: state.y_m + sin * middle_m - corner_y,
            sin,
            cos,
            half_length_m: (outline.front_m + outline.rear_m) / 2.0,
            half_width_m: outline.half_width_m,
            is_point: outline.is_disc(),
        }
    }

    /// Half the sides of the upright box around it.
    fn half_box_m(&self) -> [f64; 2] {
        let (sin, cos) = (self.sin.abs(), self.cos.abs());
        [
            cos * self.half_length_m + sin * self.half_width_m,
            sin * self.half_length_m + cos * self.half_width_m,
        ]
    }

    /// Columns and rows of the cells around it, each from the first to the last.
    fn box_cells(&self, around_m: f64, field: &Field) -> [[usize; 2]; 2] {
        let [half_x, half_y] = self.half_box_m();
        let cells = |middle: f64, half: f64, n: usize| {
            let cell = |at: f64| whole((at / field.cell_m()).max(0.0)).min(n - 1);
            [
                cell(middle - half - around_m),
                cell(middle + half + around_m),
            ]
        };
        let area = field.area();
        [
            cells(self.x_m, half_x, area.n_columns),
            cells(self.y_m, half_y, area.n_rows),
        ]
    }

    /// How far the rectangle is from the square of a cell; 0 where they overlap.
    ///
    /// Two rectangles overlap unless an axis of one of them parts them. If they do not, the two nearest points are a corner
    /// of one and something of the other.
    fn distance_m(&self, [column, row]: [usize; 2], cell_m: f64) -> f64 {
        let half_m = cell_m / 2.0;
        let dx = (column as f64 + 0.5) * cell_m - self.x_m;
        let dy = (row as f64 + 0.5) * cell_m - self.y_m;
        if self.is_point {
            let gap = |at: f64| (at.abs() - half_m).max(0.0);
            return gap(dx).hypot(gap(dy));
        }
        let along = |x: f64, y: f64| [self.cos * x + self.sin * y, self.cos * y - self.sin * x];
        let gap = |at: f64, half: f64| at.abs() - half;
        let [half_x, half_y] = self.half_box_m();
        let tilted_half_m = half_m * (self.sin.abs() + self.cos.abs());
        let [u, v] = along(dx, dy);
        let is_parted = gap(dx, half_x + half_m) > 0.0
            || gap(dy, half_y + half_m) > 0.0
            || gap(u, self.half_length_m + tilted_half_m) > 0.0
            || gap(v, self.half_width_m + tilted_half_m) > 0.0;
        if !is_parted {
            return 0.0;
        }
        let to_box = |[x, y]: [f64; 2], [half_x, half_y]: [f64; 2]| {
            let (x, y) = (gap(x, half_x).max(0.0), gap(y, half_y).max(0.0));
            x * x + y * y
        };
        let own = [self.half_length_m, self.half_width_m];
        let mut nearest = f64::INFINITY;
        for [sx, sy] in [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]] {
            nearest = nearest.min(to_box(along(dx + sx * half_m, dy + sy * half_m), own));
            let (u, v) = (sx * own[0], sy * own[1]);
            let corner = [
                self.cos * u - self.sin * v - dx,
                self.sin * u + self.cos * v - dy,
            ];
            nearest = nearest.min(to_box(corner, [half_m, half_m]));
        }
        nearest.sqrt()
    }
}
