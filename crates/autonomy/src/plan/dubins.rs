//! The shortest way of a car that only goes forward, from one pose to another or to a point (L. E. Dubins, 1957).
//!
//! In: where the goal is in coordinates of the start, and the tightest radius. Out: up to three arcs, each a curvature sign
//! and a length. Nothing here knows of obstacles.

use crate::Place;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Up to three pieces: to the left (1), straight (0) or to the right (-1), and how long, in radii.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Way {
    pieces: [(f64, f64); 3],
}

impl Way {
    /// Its pieces, each with its curvature, 1/metres, and its length, metres; none of no length.
    pub fn pieces(self, radius_m: f64) -> impl Iterator<Item = (f64, f64)> {
        self.pieces
            .into_iter()
            .filter(|(_, length)| *length > 1e-9)
            .map(move |(sign, length)| (sign / radius_m, length * radius_m))
    }

    /// How long it is, metres.
    #[must_use]
    pub fn length_m(&self, radius_m: f64) -> f64 {
        self.in_radii() * radius_m
    }

    fn in_radii(&self) -> f64 {
        self.pieces.iter().map(|(_, length)| length).sum()
    }
}

/// The shortest way to a pose that is given in coordinates of the start.
#[must_use]
pub fn to_pose(goal: &Place, radius_m: f64) -> Option<Way> {
    let [x, y] = [goal.x_m / radius_m, goal.y_m / radius_m];
    let distance = x.hypot(y);
    let bearing = y.atan2(x);
    // As seen along the line from start to goal.
    let from = positive(-bearing);
    let to = positive(goal.heading_rad - bearing);
    shortest(words(distance, from, to).into_iter().flatten())
}

/// The shortest way to a point that is given in coordinates of the start, whatever the heading there.
///
/// That is a turn and a straight line; for a point within the circle of the tightest turn a turn to the other side first.
#[must_use]
pub fn to_point([x_m, y_m]: [f64; 2], radius_m: f64) -> Option<Way> {
    let x = x_m / radius_m;
    // What is to the right is mirrored.
    let side = if y_m < 0.0 { -1.0 } else { 1.0 };
    let y = y_m.abs() / radius_m;
    let from_center = x.hypot(y - 1.0);
    if from_center >= 1.0 {
        let straight = (from_center * from_center - 1.0).max(0.0).sqrt();
        // The tangent from the circle around (0, 1) through the point.
        let turned = positive((y - 1.0).atan2(x) + FRAC_PI_2 - straight.atan2(1.0));
        return Some(Way {
            pieces: [(side, turned), (0.0, straight), (0.0, 0.0)],
        });
    }
    // A turn to the other side until a circle to this side goes through the point: in the triangle of the two centres
    // (2 apart) and the point (1 from the second), seen from the first centre, which is at (0, -1).
    let apart = x.hypot(y + 1.0);
    let at_first = ((3.0 + apart * apart) / (4.0 * apart))
        .clamp(-1.0, 1.0)
        .acos();
    let ways = [at_first, -at_first].map(|at_first| {
        let to_second = (y + 1.0).atan2(x) + at_first;
        let second = [2.0 * to_second.cos(), 2.0 * to_second.sin() - 1.0];
        let around_second = (y - second[1]).atan2(x - second[0]) - (to_second + PI);
        Way {
            pieces: [
                (-side, positive(FRAC_PI_2 - to_second)),
                (side, positive(around_second)),
                (0.0, 0.0),
            ],
        }
    });
    shortest(ways)
}

/// One way for each word, from the origin at heading `from` to (d, 0) at heading `to`, in radii.
fn words(d: f64, from: f64, to: f64) -> [Option<Way>; 6] {
    let [lsl, lsr, lrl] = left_words(d, from, to);
    // What begins to the right is what begins to the left in a mirror.
    let [rsr, rsl, rlr] = left_words(d, -from, -to).map(|way| {
        way.map(|way| Way {
            pieces: way.pieces.map(|(sign, length)| (-sign, length)),
        })
    });
    [lsl, lsr, lrl, rsr, rsl, rlr]
}

/// The words that begin with a turn to the left. Each follows from the centres of its first and last circle.
fn left_words(d: f64, from: f64, to: f64) -> [Option<Way>; 3] {
    let ((sin_from, cos_from), (sin_to, cos_to)) = (from.sin_cos(), to.sin_cos());
    let way = |signs: [f64; 3], lengths: [f64; 3]| Way {
        pieces: [0, 1, 2].map(|nth| (signs[nth], lengths[nth])),
    };
    // Both circles to the left: the straight piece goes from centre to centre.
    let [x, y] = [d + sin_from - sin_to, cos_to - cos_from];
    let (apart, along) = (x.hypot(y), y.atan2(x));
    let lsl = way(
        [1.0, 0.0, 1.0],
        [positive(along - from), apart, positive(to - along)],
    );
    // A circle to the right touches both, and most of it is driven.
    let lrl = (apart <= 4.0).then(|| {
        let tilt = (apart / 4.0).acos();
        let first = along + tilt + FRAC_PI_2;
        let last = along - tilt - FRAC_PI_2;
        way(
            [1.0, -1.0, 1.0],
            [
                positive(first - from),
                positive(first - last),
                positive(to - last),
            ],
        )
    });
    // The last circle to the right: the straight piece crosses between them.
    let [x, y] = [d + sin_from + sin_to, -cos_from - cos_to];
    let squared = x * x + y * y - 4.0;
    let lsr = (squared >= 0.0).then(|| {
        let straight = squared.sqrt();
        let along = y.atan2(x) + 2.0_f64.atan2(straight);
        way(
            [1.0, 0.0, -1.0],
            [positive(along - from), straight, positive(along - to)],
        )
    });
    [Some(lsl), lsr, lrl]
}

fn shortest(ways: impl IntoIterator<Item = Way>) -> Option<Way> {
    ways.into_iter()
        .min_by(|one, two| one.in_radii().total_cmp(&two.in_radii()))
}

fn positive(angle_rad: f64) -> f64 {
    let turned = angle_rad.rem_euclid(TAU);
    // A turn of nothing must not become a full circle by rounding.
    if TAU - turned < 1e-9 { 0.0 } else { turned }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::Control;
    use crate::within_half_turn;
    use proptest::prelude::{prop_assert, proptest};

    fn end(way: &Way, radius_m: f64) -> Place {
        way.pieces(radius_m)
            .fold(Place::default(), |state, (curvature, length_m)| {
                let control = Control {
                    speed_mps: 1.0,
                    turn_radps: curvature,
                };
                control.advance(&state, length_m)
            })
    }

    proptest! {
        #[test]
        fn every_word_that_is_offered_ends_at_the_goal(
            x_m in -9.0..9.0_f64,
            y_m in -9.0..9.0_f64,
            heading_rad in -3.1..3.1_f64,
            radius_m in 0.3..4.0_f64,
        ) {
            let goal = Place::new(x_m, y_m, heading_rad);
            let bearing = y_m.atan2(x_m);
            let ways = words(x_m.hypot(y_m) / radius_m, positive(-bearing), positive(heading_rad - bearing));
            for (nth, way) in ways.into_iter().enumerate() {
                let Some(way) = way else { continue };
                let end = end(&way, radius_m);
                let missed = end.distance_m([x_m, y_m]) + within_half_turn(end.heading_rad - heading_rad).abs();
                prop_assert!(missed < 1e-6, "word {nth} ends at {end:?}, not {goal:?}: {way:?}");
            }
            let way = to_pose(&goal, radius_m).expect("there is always a way");
            prop_assert!(way.length_m(radius_m) >= x_m.hypot(y_m) - 1e-9);
        }

        #[test]
        fn a_way_to_a_point_ends_there(
            x_m in -9.0..9.0_f64,
            y_m in -9.0..9.0_f64,
            radius_m in 0.3..6.0_f64,
        ) {
            let way = to_point([x_m, y_m], radius_m).expect("there is always a way");
            let end = end(&way, radius_m);
            prop_assert!(end.distance_m([x_m, y_m]) < 1e-6, "{way:?} ends at {end:?}");
        }
    }
}
