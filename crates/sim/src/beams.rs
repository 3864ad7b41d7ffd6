//! Which way the beams of a sensor point, row by row; and which of them can meet a ball.

use rapier3d_f64::math::Vector;
use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::ops::Range;

/// Beams from one point, in coordinates of the sensor: x is where it looks, z up.
#[derive(Clone, Debug)]
pub(crate) struct Beams {
    directions: Vec<Vector>,
    n_columns: usize,
    pattern: Pattern,
}

/// How a beam's column and row follow from its direction.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Evenly spaced angles: about z, and above the x-y plane.
    Angles { columns: Even, rows: Even },
    /// Evenly spaced points of a plane across x, as cameras have them; columns to the right, rows downward.
    Pixels { columns: Even, rows: Even },
}

/// Evenly spaced numbers.
#[derive(Clone, Copy, Debug)]
struct Even {
    first: f64,
    step: f64,
    n: usize,
}

impl Even {
    fn new(first: f64, last: f64, n: u32) -> Self {
        let step = if n > 1 {
            (last - first) / f64::from(n - 1)
        } else {
            0.0
        };
        Self {
            first,
            step,
            n: usize::try_from(n).unwrap_or(usize::MAX),
        }
    }

    fn at(&self, k: u32) -> f64 {
        self.first + self.step * f64::from(k)
    }

    /// Those within, and perhaps one more on either side.
    fn within(&self, least: f64, most: f64) -> Range<usize> {
        if self.step == 0.0 {
            let slack = 1e-9;
            let is_within = (least - slack..=most + slack).contains(&self.first);
            return 0..if is_within { self.n } else { 0 };
        }
        let (one, two) = (
            (least - self.first) / self.step,
            (most - self.first) / self.step,
        );
        let begin = index(one.min(two).floor(), self.n);
        let end = index(one.max(two).ceil() + 1.0, self.n);
        begin..end.max(begin)
    }
}

/// A number as an index, held within 0 and `n`.
fn index(number: f64, n: usize) -> usize {
    // Sensors have far fewer beams than would need more digits.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped at 0 here and at n below"
    )]
    let whole = number.max(0.0) as usize;
    whole.min(n)
}

impl Beams {
    /// Rows of so many beams each, between angles about z; rows between angles above the x-y plane.
    pub(crate) fn rows(
        ([first_rad, last_rad], n_beams): ([f64; 2], u32),
        ([lowest_rad, highest_rad], n_rows): ([f64; 2], u32),
    ) -> Self {
        let columns = Even::new(first_rad, last_rad, n_beams);
        let rows = Even::new(lowest_rad, highest_rad, n_rows);
        let mut directions = Vec::new();
        for row in 0..n_rows {
            let (up, out) = rows.at(row).sin_cos();
            directions.extend((0..n_beams).map(|column| {
                let (sin, cos) = columns.at(column).sin_cos();
                Vector::new(out * cos, out * sin, up)
            }));
        }
        Self {
            directions,
            n_columns: columns.n,
            pattern: Pattern::Angles { columns, rows },
        }
    }

    /// A fan in the x-z plane.
    pub(crate) fn fan(fov_rad: f64, n_beams: u32) -> Self {
        let half_rad = fov_rad / 2.0;
        let columns = Even::new(0.0, 0.0, 1);
        let rows = Even::new(-half_rad, half_rad, n_beams);
        let directions = (0..n_beams).map(|row| {
            let (up, out) = rows.at(row).sin_cos();
            Vector::new(out, 0.0, up)
        });
        Self {
            directions: directions.collect(),
            n_columns: 1,
            pattern: Pattern::Angles { columns, rows },
        }
    }

    /// Of every `decimation`-th pixel of a picture both ways, from the middle of the first block of them.
    pub(crate) fn pixels([width_px, height_px]: [u32; 2], fov_rad: f64, decimation: u32) -> Self {
        let focal_px = f64::from(width_px) / 2.0 / (fov_rad / 2.0).tan();
        let step = f64::from(decimation);
        let axis = |n_px: u32| {
            let n = n_px.div_ceil(decimation);
            let middle = (f64::from(n_px) - 1.0) / 2.0;
            let first = (step - 1.0) / 2.0 - middle;
            let last = first + step * (f64::from(n) - 1.0);
            (Even::new(-first / focal_px, -last / focal_px, n), n)
        };
        let ((columns, n_columns), (rows, n_rows)) = (axis(width_px), axis(height_px));
        let mut directions = Vec::new();
        for row in 0..n_rows {
            let up = rows.at(row);
            directions.extend(
                (0..n_columns).map(|column| Vector::new(1.0, columns.at(column), up).normalize()),
            );
        }
        Self {
            directions,
            n_columns: columns.n,
            pattern: Pattern::Pixels { columns, rows },
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.directions.len()
    }

    pub(crate) fn directions(&self) -> &[Vector] {
        &self.directions
    }

    /// Calls `each` with runs of beams, and their indices, that have among them all beams that meet a ball.
    pub(crate) fn that_may_meet(
        &self,
        middle: Vector,
        radius: f64,
        mut each: impl FnMut(&[Vector], Range<usize>),
    ) {
        if middle.length_squared() <= radius * radius {
            each(&self.directions, 0..self.directions.len());
            return;
        }
        let (columns, rows) = match self.pattern {
            Pattern::Angles { columns, rows } => angles(columns, rows, middle, radius),
            Pattern::Pixels { columns, rows } => pixels(columns, rows, middle, radius),
        };
        for row in rows {
            for run in &columns {
                let begin = row * self.n_columns;
                let found = begin + run.start..begin + run.end;
                each(
                    self.directions.get(found.clone()).unwrap_or_default(),
                    found,
                );
            }
        }
    }
}

type Window = ([Range<usize>; 2], Range<usize>);

fn angles(columns: Even, rows: Even, middle: Vector, radius: f64) -> Window {
    let up = (middle.z / middle.length()).asin();
    let spread = (radius / middle.length()).asin();
    let found_rows = rows.within(up - spread, up + spread);
    let level = middle.x.hypot(middle.y);
    if level <= radius {
        // It stands above or below the sensor: any direction may meet it.
        return ([0..columns.n, 0..0], found_rows);
    }
    let (about, spread) = (middle.y.atan2(middle.x), (radius / level).asin());
    let mut runs = [-TAU, 0.0, TAU].map(|round| {
        let about = about + round;
        columns.within(about - spread, about + spread)
    });
    // A fan of at most a full turn is met in at most two runs.
    runs.sort_by_key(|run| run.is_empty());
    let [first, second, _] = runs;
    let mut runs = [first, second];
    if runs[0].end > runs[1].start && runs[1].end > runs[0].start {
        let whole = runs[0].start.min(runs[1].start)..runs[0].end.max(runs[1].end);
        runs = [whole, 0..0];
    }
    (runs, found_rows)
}

fn pixels(columns: Even, rows: Even, middle: Vector, radius: f64) -> Window {
    let across = slopes(middle.x, middle.y, radius);
    let upright = slopes(middle.x, middle.z, radius);
    let run = |even: Even, slopes: Option<[f64; 2]>| {
        slopes.map_or(0..0, |[least, most]| even.within(least, most))
    };
    ([run(columns, across), 0..0], run(rows, upright))
}

/// Between which slopes a circle is seen from the origin, looking along x; none if it is behind.
fn slopes(x: f64, y: f64, radius: f64) -> Option<[f64; 2]> {
    let distance = x.hypot(y);
    if distance <= radius {
        return Some([f64::NEG_INFINITY, f64::INFINITY]);
    }
    let (about, spread) = (y.atan2(x), (radius / distance).asin());
    let [least, most] = [about - spread, about + spread];
    if least >= FRAC_PI_2 || most <= -FRAC_PI_2 {
        return (least.abs() > PI || most.abs() > PI).then_some([f64::NEG_INFINITY, f64::INFINITY]);
    }
    let slope = |angle: f64| {
        if angle >= FRAC_PI_2 {
            f64::INFINITY
        } else if angle <= -FRAC_PI_2 {
            f64::NEG_INFINITY
        } else {
            angle.tan()
        }
    };
    Some([slope(least), slope(most)])
}
