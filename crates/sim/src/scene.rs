//! What rays can meet: everything in the world, where it is now.
//!
//! A scan does not ask every beam about every solid: for each solid in reach it works out which beams can meet it, from
//! the ball around it, and asks only those. In a world of blocks each beam is then asked about a few of them.

use crate::beams::Beams;
use crate::solid::Solid;
use rapier3d_f64::math::{Matrix, Pose, Vector};

/// A solid in its place.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) solid: Solid,
    pub(crate) world_from_solid: Pose,
    radius_m: f64,
    /// Whose it is: an index into the world's bodies.
    pub(crate) body: usize,
}

impl Placed {
    pub(crate) fn new(solid: Solid, world_from_solid: Pose, body: usize) -> Self {
        Self {
            radius_m: solid.radius_m(),
            solid,
            world_from_solid,
            body,
        }
    }
}

/// Everything that rays can meet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    /// What stays where it is.
    pub(crate) fixed: Vec<Placed>,
    /// What moves, as it is now.
    pub(crate) moving: Vec<Placed>,
}

/// Where a ray meets something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Met {
    pub(crate) range_m: f64,
    pub(crate) normal: Vector,
    pub(crate) body: usize,
}

impl Scene {
    fn all(&self) -> impl Iterator<Item = &Placed> {
        self.fixed.iter().chain(&self.moving)
    }

    /// What one ray meets first, if it is outside of that.
    pub(crate) fn cast(&self, origin: Vector, direction: Vector, most_m: f64) -> Option<Met> {
        let mut nearest: Option<(f64, &Placed)> = None;
        for placed in self.all() {
            let limit = nearest.map_or(most_m, |(range, _)| range);
            let to_middle = placed.world_from_solid.translation - origin;
            let along = to_middle.dot(direction);
            let apart = to_middle.length_squared() - along * along;
            let is_near = apart <= placed.radius_m * placed.radius_m
                && along + placed.radius_m >= 0.0
                && along - placed.radius_m <= limit;
            if !is_near {
                continue;
            }
            let local = placed.world_from_solid.inverse_transform_point(origin);
            let heading = placed.world_from_solid.inverse_transform_vector(direction);
            let met = placed.solid.meet(local, heading, limit);
            if let Some(range) = met.filter(|range| *range > 0.0) {
                nearest = Some((range, placed));
            }
        }
        let (range_m, placed) = nearest?;
        let pose = &placed.world_from_solid;
        let heading = pose.inverse_transform_vector(direction);
        let point = pose.inverse_transform_point(origin + direction * range_m);
        let normal = placed.solid.normal(point, heading);
        Some(Met {
            range_m,
            normal: pose.transform_vector(normal),
            body: placed.body,
        })
    }

    /// How far each beam of a sensor goes; infinite where it meets nothing within `most_m`.
    pub(crate) fn scan(
        &self,
        beams: &Beams,
        world_from_sensor: &Pose,
        most_m: f64,
        ranges: &mut Vec<f64>,
    ) {
        ranges.clear();
        ranges.resize(beams.len(), f64::INFINITY);
        for placed in self.all() {
            let middle = placed.world_from_solid.translation - world_from_sensor.translation;
            let reach = most_m + placed.radius_m;
            if middle.length_squared() > reach * reach {
                continue;
            }
            let solid_from_sensor = placed.world_from_solid.inv_mul(world_from_sensor);
            let middle = world_from_sensor.inverse_transform_vector(middle);
            let origin = solid_from_sensor.translation;
            let turn = Matrix::from_quat(solid_from_sensor.rotation);
            let nearest = middle.length() - placed.radius_m;
            beams.that_may_meet(middle, placed.radius_m, |directions, found| {
                let found = ranges.get_mut(found).unwrap_or_default();
                for (direction, range) in directions.iter().zip(found) {
                    // Infinitely large solids are not nearer than anything, by this measure.
                    let limit = range.min(most_m);
                    if nearest >= limit {
                        continue;
                    }
                    if let Some(met) = placed.solid.meet(origin, turn * *direction, limit) {
                        *range = met;
                    }
                }
            });
        }
    }
}
