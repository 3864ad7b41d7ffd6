//! Ways that bodies go, whatever is in the way.

use bowline_geometry::{Transform, Vec3};

/// A way that a body goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Where to, one after the other, metres, map frame; the first is where it begins.
    pub points_m: Vec<Vec3>,
    /// How fast, metres a second, above 0.
    pub speed_mps: f64,
    /// What happens at the end.
    pub end: PathEnd,
    /// How long it waits before it begins, seconds.
    pub delay_s: f64,
}

/// What happens at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// It goes on to the first point.
    Loop,
    /// It goes back the way it came.
    Back,
    /// It stays there.
    Stop,
}

impl Path {
    /// Where it is after so many seconds, looking where it goes.
    #[must_use]
    pub fn pose_at(&self, seconds: f64) -> Transform {
        let legs = self.legs();
        let length_m: f64 = legs.iter().map(|[from, to]| distance(*from, *to)).sum();
        let gone_m = (seconds - self.delay_s).max(0.0) * self.speed_mps;
        let mut left_m = match self.end {
            PathEnd::Stop => gone_m.min(length_m),
            PathEnd::Loop | PathEnd::Back => gone_m % length_m.max(f64::MIN_POSITIVE),
        };
        for (nth, [from, to]) in legs.iter().enumerate() {
            let leg_m = distance(*from, *to);
            if left_m < leg_m || nth + 1 == legs.len() {
                return on_the_way(*from, *to, (left_m / leg_m).min(1.0));
            }
            left_m -= leg_m;
        }
        Transform::from_xyz(self.points_m.first().copied().unwrap_or_default())
    }

    /// Once along, and back again if it goes back; none of them of no length.
    fn legs(&self) -> Vec<[Vec3; 2]> {
        let mut points = self.points_m.clone();
        match self.end {
            PathEnd::Loop => points.extend(self.points_m.first()),
            PathEnd::Back => points.extend(self.points_m.iter().rev().skip(1)),
            PathEnd::Stop => {}
        }
        let legs = points.array_windows().copied();
        legs.filter(|[from, to]| distance(*from, *to) > 0.0)
            .collect()
    }
}

fn on_the_way(from: Vec3, to: Vec3, share: f64) -> Transform {
    let at = [0, 1, 2].map(|axis| from[axis] + (to[axis] - from[axis]) * share);
    let heading_rad = (to[1] - from[1]).atan2(to[0] - from[0]);
    Transform::from_xyz_rpy(at, [0.0, 0.0, heading_rad])
}

fn distance(a: Vec3, b: Vec3) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1]).hypot(a[2] - b[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_2, PI};

    /// Seconds, then x, y and heading.
    fn check(end: PathEnd, expected: &[(f64, [f64; 3])]) {
        let path = Path {
            points_m: vec![[0.0, 0.0, 1.0], [4.0, 0.0, 1.0], [4.0, 2.0, 1.0]],
            speed_mps: 2.0,
            end,
            delay_s: 1.0,
        };
        for (seconds, [x, y, heading]) in expected {
            let pose = path.pose_at(*seconds);
            let [px, py, pz] = pose.xyz();
            let turned = pose.rpy()[2] - heading;
            let is_there = (px - x).abs() + (py - y).abs() + (pz - 1.0).abs() < 1e-9;
            assert!(is_there, "{end:?} after {seconds} s: {:?}", pose.xyz());
            assert!(
                turned.sin().abs() < 1e-9 && turned.cos() > 0.0,
                "{end:?} after {seconds} s looks {turned} elsewhere"
            );
        }
    }

    #[test]
    fn a_body_waits_goes_its_way_and_looks_where_it_goes() {
        let there = [
            (0.0, [0.0, 0.0, 0.0]),
            (1.0, [0.0, 0.0, 0.0]),
            (2.0, [2.0, 0.0, 0.0]),
            (3.5, [4.0, 1.0, FRAC_PI_2]),
        ];
        for end in [PathEnd::Loop, PathEnd::Back, PathEnd::Stop] {
            check(end, &there);
        }
    }

    #[test]
    fn at_the_end_it_stays_goes_back_or_goes_round() {
        check(
            PathEnd::Stop,
            &[(4.0, [4.0, 2.0, FRAC_PI_2]), (100.0, [4.0, 2.0, FRAC_PI_2])],
        );
        check(
            PathEnd::Back,
            &[
                (4.5, [4.0, 1.0, -FRAC_PI_2]),
                (6.0, [2.0, 0.0, PI]),
                (8.0, [2.0, 0.0, 0.0]),
            ],
        );
        let home = (-2.0_f64).atan2(-4.0);
        check(
            PathEnd::Loop,
            &[(4.0 + 5.0_f64.sqrt() / 2.0, [2.0, 1.0, home])],
        );
    }

    #[test]
    fn a_path_that_goes_nowhere_stays_where_it_is() {
        let path = Path {
            points_m: vec![[1.0, 2.0, 3.0]; 2],
            speed_mps: 1.0,
            end: PathEnd::Back,
            delay_s: 0.0,
        };
        assert_eq!(path.pose_at(5.0), Transform::from_xyz([1.0, 2.0, 3.0]));
    }
}
