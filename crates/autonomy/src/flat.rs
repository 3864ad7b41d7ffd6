//! Places on the ground, and arcs between them.

use bowline_geometry::Transform;
use std::f64::consts::{PI, TAU};

/// Where a vehicle stands and where it looks, on the ground of some frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Metres.
    pub x_m: f64,
    /// Metres.
    pub y_m: f64,
    /// Radians from the x axis, counter-clockwise positive; not kept within a turn.
    pub heading_rad: f64,
}

/// Below this an arc is as good as straight: over 100 m it is off by 5 micrometres.
const STRAIGHT_PER_M: f64 = 1e-9;

impl Place {
    /// A place.
    #[must_use]
    pub const fn new(x_m: f64, y_m: f64, heading_rad: f64) -> Self {
        Self {
            x_m,
            y_m,
            heading_rad,
        }
    }

    /// Where a transform of a vehicle's frame puts it, seen from above.
    #[must_use]
    pub fn of(map_from_vehicle: &Transform) -> Self {
        let [x_m, y_m, _] = map_from_vehicle.xyz();
        let [dx, dy, _] = map_from_vehicle.turn([1.0, 0.0, 0.0]);
        Self::new(x_m, y_m, dy.atan2(dx))
    }

    /// Where an arc from here ends. A negative length is backward.
    #[must_use]
    pub fn along_arc(self, curvature_per_m: f64, length_m: f64) -> Self {
        let turned_rad = curvature_per_m * length_m;
        let (forward_m, left_m) = if curvature_per_m.abs() < STRAIGHT_PER_M {
            (length_m, 0.0)
        } else {
            let half = (turned_rad / 2.0).sin();
            (
                turned_rad.sin() / curvature_per_m,
                2.0 * half * half / curvature_per_m,
            )
        };
        let [x_m, y_m] = self.point([forward_m, left_m]);
        Self::new(x_m, y_m, self.heading_rad + turned_rad)
    }

    /// A point forward and left of here, in the frame that this place is in.
    #[must_use]
    pub fn point(self, [forward_m, left_m]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.heading_rad.sin_cos();
        [
            self.x_m + cos * forward_m - sin * left_m,
            self.y_m + sin * forward_m + cos * left_m,
        ]
    }

    /// A point as seen from here: forward and left.
    #[must_use]
    pub fn see(self, [x_m, y_m]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.heading_rad.sin_cos();
        let (dx, dy) = (x_m - self.x_m, y_m - self.y_m);
        [cos * dx + sin * dy, cos * dy - sin * dx]
    }

    /// How far away another place is, metres, and by how much one has to turn to look the same way, radians.
    #[must_use]
    pub fn apart(self, other: Self) -> (f64, f64) {
        let (dx, dy) = (other.x_m - self.x_m, other.y_m - self.y_m);
        (
            dx.hypot(dy),
            within_half_turn(other.heading_rad - self.heading_rad).abs(),
        )
    }
}

/// The same direction, from -pi to pi.
#[must_use]
pub fn within_half_turn(angle_rad: f64) -> f64 {
    let turned = (angle_rad + PI).rem_euclid(TAU) - PI;
    // A hair below -pi becomes exactly a turn.
    turned.clamp(-PI, PI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_arc_in_two_parts_ends_where_it_ends_in_one(
            curvature in -2.0..2.0_f64, first in 0.0..10.0_f64, second in 0.0..10.0_f64, heading in -4.0..4.0_f64,
        ) {
            let start = Place::new(1.0, -2.0, heading);
            let once = start.along_arc(curvature, first + second);
            let twice = start.along_arc(curvature, first).along_arc(curvature, second);
            let (off_m, off_rad) = once.apart(twice);
            prop_assert!(off_m < 1e-9 && off_rad < 1e-9, "{once:?} {twice:?}");
        }

        #[test]
        fn a_point_is_where_it_is_seen(x in -9.0..9.0_f64, y in -9.0..9.0_f64, heading in -9.0..9.0_f64) {
            let place = Place::new(0.5, 1.5, heading);
            let [back_x, back_y] = place.point(place.see([x, y]));
            prop_assert!((back_x - x).abs() < 1e-9 && (back_y - y).abs() < 1e-9);
        }
    }

    #[test]
    fn a_very_slight_arc_is_as_good_as_straight() {
        let straight = Place::default().along_arc(0.0, 100.0);
        let slight = Place::default().along_arc(1.1e-9, 100.0);
        assert!(straight.apart(slight).0 < 1e-5, "{slight:?}");
    }
}
