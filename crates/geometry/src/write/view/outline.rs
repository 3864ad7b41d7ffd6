//! Shapes as points, and what of them is seen from a side.

use crate::shape::{Shape, ShapeKind};
use crate::transform::{Transform, Vec3};
use std::f64::consts::TAU;

/// A point of a picture.
pub(super) type Point = [f64; 2];

/// Points of a shape that have its outline from every side, if it is one that can be drawn without opening files.
pub(super) fn outline(shape: &Shape, part_from_body: &Transform) -> Option<Vec<Vec3>> {
    let place = *part_from_body * shape.body_from_shape;
    let points: Vec<Vec3> = match &shape.kind {
        ShapeKind::Box { size_m: [x, y, z] } => {
            let ends = [-0.5, 0.5];
            let corner = move |a: f64, b: f64| ends.map(|c| [a * x, b * y, c * z]);
            let edge = move |a: f64| ends.into_iter().flat_map(move |b| corner(a, b));
            ends.into_iter().flat_map(edge).collect()
        }
        ShapeKind::Cylinder { radius_m, length_m } => {
            let ring = |z: f64| circle().map(move |(s, c)| [radius_m * c, radius_m * s, z]);
            ring(-length_m / 2.0).chain(ring(length_m / 2.0)).collect()
        }
        ShapeKind::Sphere { radius_m } => {
            let ring = |(s, c): (f64, f64)| {
                circle().map(move |(t, d)| [radius_m * c, radius_m * s * d, radius_m * s * t])
            };
            circle().flat_map(ring).collect()
        }
        ShapeKind::Mesh { .. } => return None,
    };
    Some(points.into_iter().map(|point| place.apply(point)).collect())
}

/// All around, as sines and cosines.
fn circle() -> impl Iterator<Item = (f64, f64)> {
    const N: u32 = 32;
    (0..N).map(|step| (TAU * f64::from(step) / f64::from(N)).sin_cos())
}

/// The convex hull of points, in order.
pub(super) fn hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let half = |points: &mut dyn Iterator<Item = Point>| {
        let mut half: Vec<Point> = Vec::new();
        for point in points {
            while let [.., a, b] = half.as_slice()
                && (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]) <= 0.0
            {
                half.pop();
            }
            half.push(point);
        }
        half.pop();
        half
    };
    let mut around = half(&mut points.iter().copied());
    around.extend(half(&mut points.iter().rev().copied()));
    around
}
