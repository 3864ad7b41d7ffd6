//! Lines that are painted on the ground.

/// A line on the ground. Nothing bumps into it; cameras see it, and vehicles should not cross it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Unique among the lines and bodies of its world.
    pub name: String,
    /// Along its middle, metres east and north; two or more.
    pub points_m: Vec<[f64; 2]>,
    /// How broad it is, metres.
    pub width_m: f64,
    /// How much is painted and how much is left out, in turn; none: all of it is painted.
    pub dash_m: Option<[f64; 2]>,
    /// Red, green and blue, for pictures.
    pub colour: [u8; 3],
}

/// A straight piece, from one end to the other, metres.
pub(crate) type Piece = [[f64; 2]; 2];

/// Paint is white by default.
pub(crate) const WHITE: [u8; 3] = [255, 255, 255];

impl Line {
    /// A white line of the usual breadth, for worlds that programs make.
    #[must_use]
    pub fn new(name: impl Into<String>, points_m: Vec<[f64; 2]>) -> Self {
        Self {
            name: name.into(),
            points_m,
            width_m: 0.1,
            dash_m: None,
            colour: WHITE,
        }
    }

    /// How long it is, gaps between dashes included, metres.
    #[must_use]
    pub fn length_m(&self) -> f64 {
        self.pieces().map(length_m).sum()
    }

    /// All of it, whether painted or between dashes.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.points_m.array_windows().copied()
    }

    /// What of it is painted.
    pub(crate) fn painted(&self) -> Vec<Piece> {
        let Some([paint_m, gap_m]) = self.dash_m else {
            return self.pieces().collect();
        };
        let mut painted = Vec::new();
        // Since the last dash began; dashes go on round corners.
        let mut since_m = 0.0;
        for piece in self.pieces() {
            let whole_m = length_m(piece);
            let mut gone_m = 0.0;
            while gone_m < whole_m {
                let left_m = whole_m - gone_m;
                let is_paint = since_m < paint_m;
                let until_m = if is_paint { paint_m } else { paint_m + gap_m };
                let step_m = (until_m - since_m).min(left_m);
                if is_paint {
                    painted
                        .push([gone_m, gone_m + step_m].map(|at_m| along(piece, at_m / whole_m)));
                }
                gone_m += step_m;
                since_m += step_m;
                if since_m >= paint_m + gap_m {
                    since_m = 0.0;
                }
            }
        }
        painted
    }
}

pub(crate) fn length_m([from, to]: Piece) -> f64 {
    (to[0] - from[0]).hypot(to[1] - from[1])
}

/// A point of a piece, from 0 to 1 along it.
pub(crate) fn along([from, to]: Piece, part: f64) -> [f64; 2] {
    [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_on_round_corners() {
        let line = Line {
            dash_m: Some([1.0, 0.5]),
            ..Line::new("edge", vec![[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
        };
        let expected = [
            [[0.0, 0.0], [1.0, 0.0]],
            [[1.5, 0.0], [2.0, 0.0]],
            [[2.0, 0.0], [2.0, 0.5]],
            [[2.0, 1.0], [2.0, 2.0]],
        ];
        assert_eq!(line.painted(), expected);
        assert_eq!(format!("{}", line.length_m()), "4");
    }

    #[test]
    fn a_line_without_dashes_is_painted_all_along() {
        let line = Line::new("edge", vec![[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]);
        assert_eq!(line.painted(), line.pieces().collect::<Vec<_>>());
    }
}
