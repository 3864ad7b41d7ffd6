//! What rays can meet: everything in the world, where it is now.
//!
//! A scan does not ask every beam about every solid: for each solid in reach it works out which beams can meet it, from
//! the ball around it, and asks only those. In a world of blocks each beam is then asked about a few of them.

use crate::beams::Beams;
use crate::math::between;
use crate::solid::Solid;
use rapier3d_f64::math::{Matrix, Pose, Vector};

/// A solid in its place.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) solid: Solid,
    pub(crate) world_from_solid: Pose,
    /// Where it was before the last step, if it moves.
    before: Option<Pose>,
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
            before: None,
            body,
        }
    }

    /// Moves it on, to where it is after a step.
    pub(crate) fn step_to(&mut self, world_from_solid: Pose) {
        self.before = Some(self.world_from_solid);
        self.world_from_solid = world_from_solid;
    }

    /// How high it reaches at most, metres, map frame.
    pub(crate) fn highest_m(&self) -> f64 {
        let upright = self.world_from_solid.rotation * Vector::Z;
        let up = if upright.z > 1.0 - 1e-9 {
            self.solid.top_m()
        } else {
            self.radius_m
        };
        self.world_from_solid.translation.z + up
    }

    /// Which way its surface faces at a point of it that a ray met.
    pub(crate) fn normal_at(&self, point: Vector, direction: Vector) -> Vector {
        let pose = &self.world_from_solid;
        let local = pose.inverse_transform_point(point);
        let heading = pose.inverse_transform_vector(direction);
        pose.transform_vector(self.solid.normal(local, heading))
    }

    /// Where it was when so much of the last step was over, 0 to 1.
    fn at(&self, share: f64) -> Pose {
        match &self.before {
            Some(before) => between(before, &self.world_from_solid, share),
            None => self.world_from_solid,
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
        Some(Met {
            range_m,
            normal: placed.normal_at(origin + direction * range_m, direction),
            body: placed.body,
        })
    }

    /// How far each beam of a sensor goes; infinite where it meets nothing within `most_m`. The sensor is where it was
    /// when a share of the last step was over, and so is everything else.
    pub(crate) fn scan(&self, beams: &Beams, at: (&Pose, f64), most_m: f64, ranges: &mut Vec<f64>) {
        self.each(beams, at, (most_m, |_: &Placed| true), ranges, |_, _| {});
    }

    /// The same, and what each beam meets of all that is to be `kept`.
    pub(crate) fn look(
        &self,
        beams: &Beams,
        at: (&Pose, f64),
        most_m: f64,
        kept: impl Fn(&Placed) -> bool,
        looked: &mut Looked,
    ) {
        looked.whose.clear();
        looked.whose.resize(beams.len(), NOBODY);
        let whose = &mut looked.whose;
        self.each(
            beams,
            at,
            (most_m, kept),
            &mut looked.ranges,
            |beam, nth| {
                if let Some(whose) = whose.get_mut(beam) {
                    *whose = nth;
                }
            },
        );
    }

    /// Calls `met` for each beam that meets something nearer than before, with its number and that of the solid.
    fn each(
        &self,
        beams: &Beams,
        (world_from_sensor, share): (&Pose, f64),
        (most_m, kept): (f64, impl Fn(&Placed) -> bool),
        ranges: &mut Vec<f64>,
        mut met: impl FnMut(usize, usize),
    ) {
        ranges.clear();
        ranges.resize(beams.len(), f64::INFINITY);
        for (nth, placed) in self.all().enumerate() {
            let world_from_solid = placed.at(share);
            let middle = world_from_solid.translation - world_from_sensor.translation;
            let reach = most_m + placed.radius_m;
            if middle.length_squared() > reach * reach || !kept(placed) {
                continue;
            }
            let solid_from_sensor = world_from_solid.inv_mul(world_from_sensor);
            let middle = world_from_sensor.inverse_transform_vector(middle);
            let origin = solid_from_sensor.translation;
            let turn = Matrix::from_quat(solid_from_sensor.rotation);
            let nearest = middle.length() - placed.radius_m;
            beams.that_may_meet(middle, placed.radius_m, |directions, found| {
                let first = found.start;
                let found = ranges.get_mut(found).unwrap_or_default();
                let beams = directions.iter().zip(found);
                for (beam, (direction, range)) in (first..).zip(beams) {
                    let limit = range.min(most_m);
                    // Infinitely large solids are not nearer than anything, by this measure.
                    let heading = (nearest < limit).then(|| turn * *direction);
                    let found = heading.and_then(|it| placed.solid.meet(origin, it, limit));
                    *range = found.inspect(|_| met(beam, nth)).unwrap_or(*range);
                }
            });
        }
    }
}

/// A beam that met nothing.
const NOBODY: usize = usize::MAX;

/// What beams met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    ranges: Vec<f64>,
    /// Numbers of solids, in the order of the scene.
    whose: Vec<usize>,
}

impl Looked {
    /// How far a beam went; infinite if it met nothing.
    pub(crate) fn range(&self, beam: usize) -> f64 {
        self.ranges.get(beam).copied().unwrap_or(f64::INFINITY)
    }

    /// What it met there.
    pub(crate) fn met<'s>(&self, beam: usize, scene: &'s Scene) -> Option<&'s Placed> {
        let nth = *self.whose.get(beam)?;
        let moving = nth.checked_sub(scene.fixed.len());
        moving.map_or_else(|| scene.fixed.get(nth), |nth| scene.moving.get(nth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rapier3d_f64::math::Rotation;
    use rapier3d_f64::parry::query::Ray;

    fn solid() -> impl Strategy<Value = Solid> {
        let size = || 0.05..4.0_f64;
        prop_oneof![
            (size(), size(), size()).prop_map(|(x, y, z)| Solid::Box { half_m: [x, y, z] }),
            (size(), size()).prop_map(|(radius_m, half_m)| Solid::Cylinder { radius_m, half_m }),
            size().prop_map(|radius_m| Solid::Sphere { radius_m }),
            Just(Solid::Plane),
        ]
    }

    fn pose() -> impl Strategy<Value = Pose> {
        let place = || -12.0..12.0_f64;
        let angle = || -3.0..3.0_f64;
        (place(), place(), -3.0..3.0_f64, (angle(), angle(), angle())).prop_map(
            |(x, y, z, (a, b, c))| {
                let turn = Rotation::from_scaled_axis(Vector::new(a, b, c));
                Pose::from_parts(Vector::new(x, y, z), turn)
            },
        )
    }

    fn scene() -> impl Strategy<Value = Scene> {
        let placed = || {
            (solid(), pose()).prop_map(|(solid, pose)| match solid {
                // The ground lies flat, below everything.
                Solid::Plane => Placed::new(Solid::Plane, Pose::translation(0.0, 0.0, -4.0), 0),
                Solid::Box { .. }
                | Solid::Cylinder { .. }
                | Solid::Sphere { .. }
                | Solid::Mesh(_) => Placed::new(solid, pose, 0),
            })
        };
        (
            prop::collection::vec(placed(), 0..12),
            prop::collection::vec(placed(), 0..4),
        )
            .prop_map(|(fixed, moving)| Scene { fixed, moving })
    }

    /// Every beam asks every solid.
    fn brute(scene: &Scene, beams: &Beams, pose: &Pose, most_m: f64) -> Vec<f64> {
        let each = beams.directions().iter().map(|direction| {
            let met = scene.all().filter_map(|placed| {
                let solid_from_sensor = placed.world_from_solid.inv_mul(pose);
                let heading = solid_from_sensor.rotation * *direction;
                placed
                    .solid
                    .meet(solid_from_sensor.translation, heading, most_m)
            });
            met.fold(f64::INFINITY, f64::min)
        });
        each.collect()
    }

    /// How far ahead of a sensor there is something in any case, metres: it is so wide that every row of beams meets it.
    const AHEAD_M: f64 = 4.0;

    fn same(one: f64, two: f64) -> bool {
        (one - two).abs() < 1e-9 || (one.is_infinite() && two.is_infinite())
    }

    proptest! {
        #[test]
        fn a_scan_finds_what_every_beam_would_find_alone(
            scene in scene(), pose in pose(), n_rows in 1_u32..5, half_rad in 0.2..std::f64::consts::PI,
        ) {
            let mut scene = scene;
            // Whatever else there is, this is ahead of the sensor: no case is about beams that meet nothing.
            let ahead = pose * Pose::translation(AHEAD_M, 0.0, 0.0);
            scene.fixed.push(Placed::new(Solid::Sphere { radius_m: AHEAD_M / 2.0 }, ahead, 0));
            let laser = Beams::rows(([-half_rad, half_rad], 91), ([-0.4, 0.3], n_rows));
            for beams in [laser, Beams::pixels([64, 48], 1.5, 2)] {
                let mut ranges = Vec::new();
                scene.scan(&beams, (&pose, 1.0), 20.0, &mut ranges);
                let expected = brute(&scene, &beams, &pose, 20.0);
                prop_assert_eq!(ranges.len(), beams.len());
                prop_assert_eq!(expected.len(), beams.len());
                for (idx, (found, expected)) in ranges.iter().zip(&expected).enumerate() {
                    prop_assert!(same(*found, *expected), "beam {idx}: {found} for {expected}");
                }
                let nearest = ranges.iter().copied().fold(f64::INFINITY, f64::min);
                prop_assert!(nearest < AHEAD_M, "the nearest is {nearest} m away");
            }
        }

        #[test]
        fn formulas_agree_with_the_engine(solid in solid(), pose in pose(), aim in pose()) {
            // At a place about the solid, which is about the origin, so that most rays meet it or pass it closely.
            let aim = aim.translation / 4.0;
            let origin = pose.translation;
            prop_assume!((aim - origin).length() > 0.1);
            let direction = (aim - origin).normalize();
            let expected = engine(&solid, origin, direction);
            let found = solid.meet(origin, direction, MOST_M);
            match (found, expected) {
                (None, None) => {}
                (Some(found), Some(expected)) => {
                    prop_assert!((found - expected).abs() < 1e-4, "{found} for {expected}");
                }
                // Where a ray grazes an edge, the engine's search may miss it by a hair: then those beside it differ.
                (found, expected) => {
                    let beside = [Vector::X, Vector::Y, Vector::Z, -Vector::X, -Vector::Y, -Vector::Z];
                    let beside = beside.map(|it| (direction + it * 2e-3).normalize());
                    let n_met = beside.iter().filter(|it| solid.meet(origin, **it, MOST_M).is_some()).count();
                    prop_assert!((1..beside.len()).contains(&n_met), "{found:?} for {expected:?}, and {n_met} beside");
                }
            }
        }
    }

    /// How far rays go, metres.
    const MOST_M: f64 = 50.0;

    /// Where the engine has a ray meet a solid.
    fn engine(solid: &Solid, origin: Vector, direction: Vector) -> Option<f64> {
        // Its cylinders stand about y.
        let turn = Rotation::from_rotation_x(-std::f64::consts::FRAC_PI_2);
        let ray = match solid {
            Solid::Cylinder { .. } => Ray::new(turn * origin, turn * direction),
            Solid::Plane | Solid::Box { .. } | Solid::Sphere { .. } | Solid::Mesh(_) => {
                Ray::new(origin, direction)
            }
        };
        solid.shape().cast_local_ray(&ray, MOST_M, true)
    }

    #[test]
    fn rays_meet_each_kind_of_solid_where_its_surface_is() {
        let cases = [
            (
                Solid::Box {
                    half_m: [1.0, 2.0, 3.0],
                },
                Vector::X * -5.0,
                Vector::X,
                Some(4.0),
            ),
            (
                Solid::Box {
                    half_m: [1.0, 2.0, 3.0],
                },
                Vector::Z * 5.0,
                -Vector::Z,
                Some(2.0),
            ),
            (
                Solid::Cylinder {
                    radius_m: 1.5,
                    half_m: 1.0,
                },
                Vector::Y * 5.0,
                -Vector::Y,
                Some(3.5),
            ),
            (
                Solid::Cylinder {
                    radius_m: 1.5,
                    half_m: 1.0,
                },
                Vector::Z * 5.0,
                -Vector::Z,
                Some(4.0),
            ),
            (
                Solid::Sphere { radius_m: 0.5 },
                Vector::X * 5.0,
                -Vector::X,
                Some(4.5),
            ),
            (
                Solid::Sphere { radius_m: 0.5 },
                Vector::X * 5.0,
                Vector::X,
                None,
            ),
            (Solid::Plane, Vector::Z * 5.0, -Vector::Z, Some(5.0)),
            (Solid::Plane, Vector::Z * 5.0, Vector::Z, None),
        ];
        for (solid, origin, direction, expected) in cases {
            let found = solid.meet(origin, direction, MOST_M);
            let (found, expected) = (
                found.unwrap_or(f64::INFINITY),
                expected.unwrap_or(f64::INFINITY),
            );
            assert!(same(found, expected), "{solid:?}: {found} for {expected}");
        }
    }
}
