//! What a vehicle would roll over if it followed an arc.

use crate::{Place, Travel};
use bowline_component::{MissingFact, Vehicle};
use bowline_msgs::Map;
use std::f64::consts::TAU;

/// The vehicle seen from above, in its own frame: a rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// From the origin to the front, metres.
    pub front_m: f64,
    /// From the origin to the back, metres, positive.
    pub rear_m: f64,
    /// From the middle to either side, metres.
    pub half_width_m: f64,
}

impl Outline {
    /// That of the vehicle.
    ///
    /// # Errors
    ///
    /// When one of its measures is not known.
    pub fn of(vehicle: &Vehicle) -> Result<Self, MissingFact> {
        Ok(Self {
            front_m: vehicle.front_m()?,
            rear_m: vehicle.rear_m()?,
            half_width_m: vehicle.width_m()? / 2.0,
        })
    }

    /// Wider by so much on every side.
    #[must_use]
    pub fn grown(self, by_m: f64) -> Self {
        Self {
            front_m: self.front_m + by_m,
            rear_m: self.rear_m + by_m,
            half_width_m: self.half_width_m + by_m,
        }
    }

    /// Forward and left of the vehicle's origin, points all over it, not farther apart than this.
    fn points(self, apart_m: f64) -> Vec<[f64; 2]> {
        let along = spread(-self.rear_m, self.front_m, apart_m);
        let across = spread(-self.half_width_m, self.half_width_m, apart_m);
        let rows = along
            .iter()
            .map(|forward| across.iter().map(|left| [*forward, *left]));
        rows.flatten().collect()
    }

    /// The same, but only those at the end that leads and its sides: what is new when it moves.
    fn rim(self, apart_m: f64, travel: Travel) -> Vec<[f64; 2]> {
        let edge = self.half_width_m - apart_m / 2.0;
        let mut points = self.points(apart_m);
        points.retain(|[forward, left]| {
            let is_leading = match travel {
                Travel::Forward => *forward >= self.front_m - apart_m,
                Travel::Backward => *forward <= apart_m - self.rear_m,
            };
            is_leading || left.abs() >= edge
        });
        points
    }
}

/// Numbers from one to the other, both included, evenly and not farther apart than this.
fn spread(from: f64, to: f64, apart: f64) -> Vec<f64> {
    let mut n = 1_u32;
    while (to - from) / f64::from(n) > apart && n < 1_000 {
        n += 1;
    }
    (0..=n)
        .map(|nth| from + (to - from) * f64::from(nth) / f64::from(n))
        .collect()
}

/// A map of how well the ground can be driven on.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    map: &'a Map,
    plane: &'a [Vec<f32>],
}

/// What is on the ground at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Footing {
    /// How well it can be driven on: 0 not at all, 1 as if it were a road.
    Known(f64),
    /// No sensor has observed it.
    Unknown,
}

impl<'a> Ground<'a> {
    /// The traversability of a map.
    ///
    /// # Errors
    ///
    /// When the map has no such plane, or makes no sense.
    pub fn new(map: &'a Map) -> Result<Self, &'static str> {
        let nth = map
            .names
            .iter()
            .position(|name| name == "traversability")
            .ok_or("the map has no plane \"traversability\"")?;
        let plane = map
            .cells
            .get(nth)
            .ok_or("the map has fewer planes than names")?;
        let is_sound = map.cell_m.is_finite()
            && map.cell_m > 0.0
            && map.origin_m.iter().all(|it| it.is_finite());
        if !is_sound {
            return Err("the map's cells or its origin make no sense");
        }
        Ok(Self { map, plane })
    }

    /// Side of a cell, metres.
    #[must_use]
    pub fn cell_m(&self) -> f64 {
        self.map.cell_m
    }

    /// What is at a point; beyond the map nothing is known.
    #[must_use]
    pub fn at(&self, [x_m, y_m]: [f64; 2]) -> Footing {
        let cell = |at: f64, origin: f64| {
            let nth = (at - origin) / self.map.cell_m;
            // Above 0 the cast rounds down, without the call that `floor` is on old processors.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the range is checked"
            )]
            (0.0..1e9).contains(&nth).then_some(nth as usize)
        };
        let found = cell(y_m, self.map.origin_m[1])
            .and_then(|row| self.plane.get(row))
            .zip(cell(x_m, self.map.origin_m[0]))
            .and_then(|(row, column)| row.get(column));
        match found {
            Some(value) if !value.is_nan() => Footing::Known(f64::from(*value)),
            Some(_) | None => Footing::Unknown,
        }
    }
}

/// What following an arc comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swept {
    /// How far it goes before the vehicle touches what it cannot drive on, metres; infinite if it does not.
    pub free_m: f64,
    /// How far it goes before it is over unobserved ground, metres; infinite if it is not.
    pub known_m: f64,
    /// The worst ground before `free_m`: 0 to 1.
    pub worst: f64,
}

/// Follows arcs with the outline of a vehicle.
#[derive(Clone, Debug)]
pub struct Sweeper {
    whole: Vec<[f64; 2]>,
    /// What is new when the vehicle moves forward, and backward.
    front: Vec<[f64; 2]>,
    rear: Vec<[f64; 2]>,
    /// From the origin to the corner that is farthest away, metres.
    reach_m: f64,
    step_m: f64,
    length_m: f64,
    blocked_below: f64,
}

impl Sweeper {
    /// For a vehicle and a grid, as far as this; ground that is worse than `blocked_below` cannot be driven on.
    #[must_use]
    pub fn new(outline: Outline, cell_m: f64, length_m: f64, blocked_below: f64) -> Self {
        // Points half a cell apart miss no cell that is covered by more than a sliver.
        let step_m = cell_m / 2.0;
        Self {
            whole: outline.points(step_m),
            front: outline.rim(step_m, Travel::Forward),
            rear: outline.rim(step_m, Travel::Backward),
            reach_m: outline
                .front_m
                .max(outline.rear_m)
                .hypot(outline.half_width_m),
            step_m,
            length_m,
            blocked_below,
        }
    }

    /// Follows one arc from a place, forward or backward. What is under the vehicle at the start is left out if it stands on it already.
    #[must_use]
    pub fn sweep(
        &self,
        ground: &Ground<'_>,
        from: Place,
        (curvature_per_m, travel): (f64, Travel),
    ) -> Swept {
        let rim = match travel {
            Travel::Forward => &self.front,
            Travel::Backward => &self.rear,
        };
        let mut swept = Swept {
            free_m: f64::INFINITY,
            known_m: f64::INFINITY,
            worst: 1.0,
        };
        // Every point of the vehicle moves by at most a step: those at its corners go farther in a turn.
        let step_m = self.step_m / (1.0 + curvature_per_m.abs() * self.reach_m);
        // Once round is enough.
        let length_m = self.length_m.min(TAU / curvature_per_m.abs());
        let mut gone_m = step_m;
        while gone_m <= length_m {
            let at = from.along_arc(curvature_per_m, travel.sign() * gone_m);
            let turned = at.heading_rad.sin_cos();
            for point in rim {
                match ground.at(placed(at, turned, *point)) {
                    Footing::Known(value) if value < self.blocked_below => {
                        swept.free_m = gone_m - step_m;
                        return swept;
                    }
                    Footing::Known(value) => swept.worst = swept.worst.min(value),
                    Footing::Unknown => swept.known_m = swept.known_m.min(gone_m - step_m),
                }
            }
            gone_m += step_m;
        }
        swept
    }

    /// Whether the vehicle stands on what it cannot drive on.
    #[must_use]
    pub fn is_stuck(&self, ground: &Ground<'_>, at: Place) -> bool {
        self.whole.iter().any(|point| {
            matches!(ground.at(at.point(*point)), Footing::Known(value) if value < self.blocked_below)
        })
    }
}

/// As [`Place::point`], with sine and cosine of the heading worked out once for all points.
fn placed(at: Place, (sin, cos): (f64, f64), [forward_m, left_m]: [f64; 2]) -> [f64; 2] {
    [
        at.x_m + cos * forward_m - sin * left_m,
        at.y_m + sin * forward_m + cos * left_m,
    ]
}
