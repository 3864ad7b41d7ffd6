//! How vehicles move: states, controls, and where a control leads in closed form.
//!
//! In: a state and a control that is held for a while. Out: the state after it. A control is a speed and a turn rate, so
//! every motion is an arc, a straight line or a turn on the spot, and nothing is integrated in steps.

use crate::{Place, within_half_turn};

/// Below this curvature, 1/m, an arc is as straight as numbers can express.
const STRAIGHT: f64 = 1e-9;

/// What a vehicle does for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Control {
    /// Along its forward axis, backward negative.
    pub speed_mps: f64,
    /// To the left positive.
    pub turn_radps: f64,
}

/// A control that is held for a while: one piece of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Action {
    /// What the vehicle does.
    pub control: Control,
    /// For how long.
    pub duration_s: f64,
}

/// What a vehicle can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Fastest forward.
    pub forward_mps: f64,
    /// Fastest backward; 0: it does not go backward.
    pub reverse_mps: f64,
    /// Tightest arc, 1/metres.
    pub max_curvature_per_m: f64,
    /// Fastest turn.
    pub max_turn_radps: f64,
    /// Whether it turns on the spot.
    pub spot: Spot,
}

/// Whether a vehicle turns on the spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// It needs room to turn.
    Never,
    /// It can.
    Turns,
}

impl Place {
    /// The place after `other`, which is in coordinates of this one.
    #[must_use]
    pub fn then(&self, other: &Self) -> Self {
        let (sin, cos) = self.heading_rad.sin_cos();
        self.then_turned(other, (sin, cos))
    }

    /// As [`then`](Self::then), for those who know sine and cosine of the heading already.
    pub(crate) fn then_turned(&self, other: &Self, (sin, cos): (f64, f64)) -> Self {
        Self {
            x_m: self.x_m + cos * other.x_m - sin * other.y_m,
            y_m: self.y_m + sin * other.x_m + cos * other.y_m,
            heading_rad: within_half_turn(self.heading_rad + other.heading_rad),
        }
    }

    /// How far it is to a point.
    #[must_use]
    pub fn distance_m(&self, [x_m, y_m]: [f64; 2]) -> f64 {
        (x_m - self.x_m).hypot(y_m - self.y_m)
    }

    /// Whether all of it is a number.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.x_m.is_finite() && self.y_m.is_finite() && self.heading_rad.is_finite()
    }

    /// Where it is, without where it looks.
    #[must_use]
    pub fn position_m(&self) -> [f64; 2] {
        [self.x_m, self.y_m]
    }
}

impl Control {
    /// Where it leads after a while, in coordinates of where it began: exact, whatever the duration.
    #[must_use]
    pub fn displacement(&self, duration_s: f64) -> Place {
        let Self {
            speed_mps,
            turn_radps,
        } = *self;
        let along_m = speed_mps * duration_s;
        let turned_rad = turn_radps * duration_s;
        if turn_radps.abs() <= STRAIGHT * speed_mps.abs() {
            return Place::new(along_m, along_m * turned_rad / 2.0, turned_rad);
        }
        // The chord of an arc: its middle looks along it. The sine of the half turn keeps small turns exact.
        let half_rad = turned_rad / 2.0;
        let chord_m = 2.0 * speed_mps / turn_radps * half_rad.sin();
        Place::new(
            chord_m * half_rad.cos(),
            chord_m * half_rad.sin(),
            turned_rad,
        )
    }

    /// Where it leads from a state.
    #[must_use]
    pub fn advance(&self, from: &Place, duration_s: f64) -> Place {
        from.then(&self.displacement(duration_s))
    }
}

impl Action {
    /// Where it leads from a state.
    #[must_use]
    pub fn advance(&self, from: &Place) -> Place {
        self.control.advance(from, self.duration_s)
    }

    /// How far the origin of the vehicle goes, either way.
    #[must_use]
    pub fn length_m(&self) -> f64 {
        self.control.speed_mps.abs() * self.duration_s
    }

    /// How far the vehicle turns, to the left positive.
    #[must_use]
    pub fn turned_rad(&self) -> f64 {
        self.control.turn_radps * self.duration_s
    }
}

impl Model {
    /// A car: its origin is under the middle of the rear axle.
    #[must_use]
    pub fn ackermann(
        wheelbase_m: f64,
        steering_rad: f64,
        forward_mps: f64,
        reverse_mps: f64,
    ) -> Self {
        let max_curvature_per_m = steering_rad.abs().tan() / wheelbase_m;
        Self {
            forward_mps,
            reverse_mps,
            max_curvature_per_m,
            max_turn_radps: max_curvature_per_m * forward_mps,
            spot: Spot::Never,
        }
    }

    /// Two wheels, or two sides of them, each with its own speed: its origin is in the middle between them.
    #[must_use]
    pub fn differential(forward_mps: f64, reverse_mps: f64, max_turn_radps: f64) -> Self {
        Self {
            forward_mps,
            reverse_mps,
            // Tighter arcs exist, but a turn on the spot does the same in less room.
            max_curvature_per_m: 4.0,
            max_turn_radps,
            spot: Spot::Turns,
        }
    }

    /// Whether it can be planned with.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        // Beyond these, products of them would be no numbers of a vehicle.
        let is_positive = |number: f64| (1e-4..1e4).contains(&number);
        is_positive(self.forward_mps)
            && (self.reverse_mps <= 0.0 || is_positive(self.reverse_mps))
            && is_positive(self.max_curvature_per_m)
            && is_positive(self.max_turn_radps)
    }

    /// The tightest turn, metres.
    #[must_use]
    pub fn min_radius_m(&self) -> f64 {
        1.0 / self.max_curvature_per_m
    }

    /// An arc of a length (backward negative) at the highest speed that the limits allow.
    #[must_use]
    pub fn arc(&self, curvature_per_m: f64, length_m: f64) -> Action {
        let fastest_mps = if length_m < 0.0 {
            self.reverse_mps
        } else {
            self.forward_mps
        };
        let curvature_per_m =
            curvature_per_m.clamp(-self.max_curvature_per_m, self.max_curvature_per_m);
        let turning_mps = self.max_turn_radps / curvature_per_m.abs().max(1e-12);
        let speed_mps = fastest_mps.min(turning_mps).copysign(length_m);
        Action {
            control: Control {
                speed_mps,
                turn_radps: speed_mps * curvature_per_m,
            },
            duration_s: length_m / speed_mps,
        }
    }

    /// A turn on the spot.
    #[must_use]
    pub fn turn(&self, turned_rad: f64) -> Action {
        let turn_radps = self.max_turn_radps.copysign(turned_rad);
        Action {
            control: Control {
                speed_mps: 0.0,
                turn_radps,
            },
            duration_s: turned_rad / turn_radps,
        }
    }
}
