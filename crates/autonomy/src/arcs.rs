//! The arcs that voters judge: a fan of curvatures, the same for all voters of a robot unless they know better.
//!
//! A vehicle that turns on the spot has no sharpest arc, but a fan has one. Its fan reaches to arcs about a point between
//! its own wheels (a radius of 0.25 m, for example), and these stand for turning: they sweep little more room than a turn on the
//! spot, everything that is promised about arcs holds for them, and a command stays a steering angle and a speed. Where a
//! plan turns on the spot, its follower asks for the sharpest arc; hazard detection wants such an arc to be free for a
//! quarter of a turn and not for metres; the arbiter limits how fast the vehicle turns.

use bowline_component::{BuildError, Vehicle};

/// Which way an arc is followed. The curvature says how the wheels are turned: forward and backward they follow one circle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Travel {
    /// The vehicle's front leads.
    #[default]
    Forward,
    /// Its rear does.
    Backward,
}

impl Travel {
    /// Of lengths and speeds along the vehicle's forward axis: 1, or -1 backward.
    #[must_use]
    pub fn sign(self) -> f64 {
        match self {
            Self::Forward => 1.0,
            Self::Backward => -1.0,
        }
    }
}

/// Curvatures from hard right to hard left, evenly spaced, straight on among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Fan {
    curvatures_per_m: Vec<f64>,
}

/// More are no better: the arbiter interpolates between arcs.
pub const MAX_ARCS: usize = 1_001;

impl Fan {
    /// What the vehicle can drive, with so many arcs on each side of straight on.
    ///
    /// # Errors
    ///
    /// When it is not known how sharply it turns.
    pub fn of(vehicle: &Vehicle, n_each_side: i64) -> Result<Self, BuildError> {
        let max_curvature_per_m = vehicle.max_curvature_per_m()?;
        Ok(Self::new(
            max_curvature_per_m,
            usize::try_from(n_each_side)?,
        ))
    }

    /// A fan with so many arcs on each side of straight on; at most [`MAX_ARCS`] in all.
    #[must_use]
    pub fn new(max_curvature_per_m: f64, n_each_side: usize) -> Self {
        let n_each_side = n_each_side.clamp(1, MAX_ARCS / 2);
        let step = max_curvature_per_m.abs() / n_each_side as f64;
        let left = (1..=n_each_side).map(|nth| nth as f64 * step);
        let right = left.clone().rev().map(|curvature| -curvature);
        Self {
            curvatures_per_m: right.chain([0.0]).chain(left).collect(),
        }
    }

    /// The curvatures, 1/metres, growing: from right to left.
    #[must_use]
    pub fn curvatures_per_m(&self) -> &[f64] {
        &self.curvatures_per_m
    }

    /// How far curvatures are apart, 1/metres.
    #[must_use]
    pub fn spacing_per_m(&self) -> f64 {
        let middle = self.curvatures_per_m.len() / 2;
        self.curvatures_per_m
            .get(middle + 1)
            .copied()
            .unwrap_or(0.0)
    }

    /// The sharpest curvature, 1/metres.
    #[must_use]
    pub fn max_per_m(&self) -> f64 {
        self.curvatures_per_m.last().copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fan_is_the_same_on_both_sides_and_has_straight_on() {
        let fan = Fan::new(0.5, 2);
        assert_eq!(fan.curvatures_per_m(), [-0.5, -0.25, 0.0, 0.25, 0.5]);
        let [spacing, max] = [fan.spacing_per_m(), fan.max_per_m()];
        assert_eq!(format!("{spacing} {max}"), "0.25 0.5");
    }

    #[test]
    fn a_fan_is_never_empty_nor_huge() {
        assert_eq!(Fan::new(1.0, 0).curvatures_per_m().len(), 3);
        assert!(Fan::new(1.0, usize::MAX).curvatures_per_m().len() <= MAX_ARCS);
    }
}
