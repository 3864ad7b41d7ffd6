//! The way that a vessel came, so that it finds back: water that it has been on.
//!
//! Loops are left out: where it comes near a place where it was before, the way between is forgotten. Memory is bounded:
//! when there are too many points, those go first that lie nearly on a line between others.

/// How many points there are at most.
pub const MAX_TRACK: usize = 1_024;
/// How far a simplified track may be from where the vessel was, metres, at first.
const TOLERANCE_M: f64 = 0.5;

/// Where a vessel has been, from its beginning to where it is.
#[derive(Clone, Debug)]
pub struct KnownTrack {
    points_m: Vec<[f64; 2]>,
    spacing_m: f64,
    shortcut_m: f64,
}

impl KnownTrack {
    /// A track of points so far apart; places that are nearer than the shortcut count as the same.
    #[must_use]
    pub const fn new(spacing_m: f64, shortcut_m: f64) -> Self {
        Self {
            points_m: Vec::new(),
            spacing_m,
            shortcut_m,
        }
    }

    /// The vessel is there.
    pub fn visit(&mut self, at_m: [f64; 2]) {
        let Some(last) = self.points_m.last() else {
            self.points_m.push(at_m);
            return;
        };
        if apart(*last, at_m) < self.spacing_m {
            return;
        }
        if let Some(first) = self.first_near(at_m) {
            self.points_m.truncate(first + 1);
        }
        if self.points_m.len() >= MAX_TRACK {
            self.thin_out();
        }
        self.points_m.push(at_m);
    }

    /// The first point that is as good as there, and not so only because the vessel has just been there.
    fn first_near(&self, at_m: [f64; 2]) -> Option<usize> {
        let first = self
            .points_m
            .iter()
            .position(|point| apart(*point, at_m) < self.shortcut_m)?;
        let way = self.points_m.get(first..)?;
        let length_m: f64 = way.windows(2).map(|pair| apart(pair[0], pair[1])).sum();
        (length_m > 2.0 * self.shortcut_m).then_some(first)
    }

    fn thin_out(&mut self) {
        let mut tolerance_m = TOLERANCE_M;
        while self.points_m.len() > MAX_TRACK / 2 {
            self.points_m = simplified(&self.points_m, tolerance_m);
            tolerance_m *= 2.0;
        }
    }

    /// The way back from where the vessel is to its beginning.
    #[must_use]
    pub fn back(&self) -> Vec<[f64; 2]> {
        let mut back = simplified(&self.points_m, TOLERANCE_M);
        back.reverse();
        back
    }
}

fn apart([ax, ay]: [f64; 2], [bx, by]: [f64; 2]) -> f64 {
    (bx - ax).hypot(by - ay)
}

/// Leaves out points that are nearer to the line between others than that (Douglas and Peucker). Without recursion.
fn simplified(points: &[[f64; 2]], tolerance_m: f64) -> Vec<[f64; 2]> {
    let Some(last) = points.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut is_kept = vec![false; points.len()];
    is_kept[0] = true;
    is_kept[last] = true;
    let mut spans = vec![(0, last)];
    while let Some((from, to)) = spans.pop() {
        let between = (from + 1..to).map(|at| (at, off_line(points[from], points[to], points[at])));
        let farthest = between.reduce(|one, other| if other.1 > one.1 { other } else { one });
        if let Some((at, _)) = farthest.filter(|(_, off_m)| *off_m > tolerance_m) {
            is_kept[at] = true;
            spans.extend([(from, at), (at, to)]);
        }
    }
    let kept = points.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
    kept.map(|(point, _)| *point).collect()
}

/// How far a point is from a piece of a line.
fn off_line(from: [f64; 2], to: [f64; 2], point: [f64; 2]) -> f64 {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let length2 = dx * dx + dy * dy;
    let share = ((point[0] - from[0]) * dx + (point[1] - from[1]) * dy) / length2;
    // A line of no length is its end.
    let share = if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    };
    apart([from[0] + share * dx, from[1] + share * dy], point)
}
