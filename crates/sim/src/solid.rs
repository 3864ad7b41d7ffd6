//! Shapes of the world, and where rays meet them: boxes, cylinders and balls by formula, meshes by their triangles.

use rapier3d_f64::math::Vector;
use rapier3d_f64::parry::query::{Ray, RayCast as _};
use rapier3d_f64::parry::shape::{SharedShape, TriMesh};
use std::sync::Arc;

/// A shape about its own origin.
#[derive(Clone, Debug)]
pub enum Solid {
    /// Everything below z = 0.
    Plane,
    /// By half its edges along x, y and z.
    Box {
        /// Half the edges, metres.
        half_m: [f64; 3],
    },
    /// About z.
    Cylinder {
        /// From the axis, metres.
        radius_m: f64,
        /// Half its length, metres.
        half_m: f64,
    },
    /// A ball.
    Sphere {
        /// From the middle, metres.
        radius_m: f64,
    },
    /// Triangles.
    Mesh(Arc<Mesh>),
}

/// Triangles, with what makes looking for them fast.
#[derive(Clone, Debug)]
pub struct Mesh {
    shape: TriMesh,
    radius_m: f64,
    top_m: f64,
}

/// Why triangles are no mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MakeMeshError {
    /// There are none.
    #[error("expected at least one triangle, found none")]
    Empty,
    /// They are made of points that are not there, or not finite.
    #[error("expected triangles of points that are there and finite")]
    BadPoint,
}

impl Mesh {
    /// Of points, and triangles that name three of them each.
    ///
    /// # Errors
    /// When there are no triangles, or they are of points that are not there.
    pub fn new(points: Vec<[f64; 3]>, triangles: Vec<[u32; 3]>) -> Result<Self, MakeMeshError> {
        let n_points = points.len();
        let is_there = |at: &u32| usize::try_from(*at).is_ok_and(|at| at < n_points);
        let is_sound = triangles.iter().flatten().all(is_there)
            && points.iter().flatten().all(|it| it.is_finite());
        if !is_sound {
            return Err(MakeMeshError::BadPoint);
        }
        let points: Vec<Vector> = points.into_iter().map(Vector::from_array).collect();
        let radius_m = points.iter().map(|it| it.length()).fold(0.0, f64::max);
        let top_m = points.iter().map(|it| it.z).fold(f64::MIN, f64::max);
        let shape = TriMesh::new(points, triangles).map_err(|_error| MakeMeshError::Empty)?;
        Ok(Self {
            shape,
            radius_m,
            top_m,
        })
    }

    /// Its points.
    pub fn points(&self) -> impl Iterator<Item = [f64; 3]> {
        self.shape.vertices().iter().map(|point| point.to_array())
    }

    /// Its triangles, each as three of the points.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        self.shape.indices()
    }
}

impl Solid {
    /// How far its farthest point is from its origin.
    #[must_use]
    pub fn radius_m(&self) -> f64 {
        match self {
            Self::Plane => f64::INFINITY,
            Self::Box { half_m: [x, y, z] } => (x * x + y * y + z * z).sqrt(),
            Self::Cylinder { radius_m, half_m } => radius_m.hypot(*half_m),
            Self::Sphere { radius_m } => *radius_m,
            Self::Mesh(mesh) => mesh.radius_m,
        }
    }

    /// How far above its origin it reaches, along its own z.
    pub(crate) fn top_m(&self) -> f64 {
        match self {
            Self::Plane => 0.0,
            Self::Box { half_m: [_, _, z] } => *z,
            Self::Cylinder { half_m, .. } => *half_m,
            Self::Sphere { radius_m } => *radius_m,
            Self::Mesh(mesh) => mesh.top_m,
        }
    }

    /// How far along a ray the solid begins, if it does within `most`; 0 from inside of it. The direction has length 1.
    #[inline]
    pub(crate) fn meet(&self, origin: Vector, direction: Vector, most: f64) -> Option<f64> {
        match self {
            Self::Plane => meet_plane(origin, direction, most),
            Self::Box { half_m } => meet_box(Vector::from_array(*half_m), origin, direction, most),
            Self::Cylinder { radius_m, half_m } => {
                meet_cylinder([*radius_m, *half_m], origin, direction, most)
            }
            Self::Sphere { radius_m } => meet_sphere(*radius_m, origin, direction, most),
            Self::Mesh(mesh) => {
                let ray = Ray::new(origin, direction);
                mesh.shape.cast_local_ray(&ray, most, true)
            }
        }
    }

    /// Which way the surface faces at a point of it that a ray along `direction` met.
    pub(crate) fn normal(&self, point: Vector, direction: Vector) -> Vector {
        match self {
            Self::Plane => Vector::Z,
            Self::Box { half_m } => box_normal(Vector::from_array(*half_m), point),
            Self::Cylinder { half_m, .. } => {
                if point.z.abs() >= half_m - 1e-9 {
                    Vector::new(0.0, 0.0, point.z.signum())
                } else {
                    Vector::new(point.x, point.y, 0.0).normalize_or(-direction)
                }
            }
            Self::Sphere { .. } => point.normalize_or(-direction),
            Self::Mesh(mesh) => {
                let ray = Ray::new(point - direction * 1e-3, direction);
                let met = mesh.shape.cast_local_ray_and_get_normal(&ray, 2e-3, false);
                let normal = met.map_or(-direction, |met| met.normal);
                // Triangles have two sides.
                if normal.dot(direction) > 0.0 {
                    -normal
                } else {
                    normal
                }
            }
        }
    }

    /// As the physics engine has it; none for a plane, which has no collider of finite size.
    pub(crate) fn shape(&self) -> SharedShape {
        match self {
            Self::Plane => SharedShape::halfspace(Vector::Z),
            Self::Box { half_m: [x, y, z] } => SharedShape::cuboid(*x, *y, *z),
            // The engine's stands about y; the caller turns it.
            Self::Cylinder { radius_m, half_m } => SharedShape::cylinder(*half_m, *radius_m),
            Self::Sphere { radius_m } => SharedShape::ball(*radius_m),
            Self::Mesh(mesh) => SharedShape::new(mesh.shape.clone()),
        }
    }
}

fn meet_plane(origin: Vector, direction: Vector, most: f64) -> Option<f64> {
    if origin.z <= 0.0 {
        return Some(0.0);
    }
    let along = -origin.z / direction.z;
    (direction.z < 0.0 && along <= most).then_some(along)
}

#[inline]
fn meet_box(half: Vector, origin: Vector, direction: Vector, most: f64) -> Option<f64> {
    // A direction of 0 gives infinities of the right sign, and no number only where the ray lies in a face; the order of
    // `min` and `max` leaves that out.
    let inverse = direction.recip();
    let one = (-half - origin) * inverse;
    let two = (half - origin) * inverse;
    let enter = (one.x.min(two.x))
        .max(one.y.min(two.y))
        .max(one.z.min(two.z));
    let leave = (one.x.max(two.x))
        .min(one.y.max(two.y))
        .min(one.z.max(two.z));
    let begin = enter.max(0.0);
    (begin <= leave && begin <= most).then_some(begin)
}

#[inline]
fn meet_cylinder([radius, half]: [f64; 2], o: Vector, d: Vector, most: f64) -> Option<f64> {
    // Between the two ends ...
    let inverse = d.z.recip();
    let (one, two) = ((-half - o.z) * inverse, (half - o.z) * inverse);
    let (mut enter, mut leave) = if d.z == 0.0 {
        if o.z.abs() > half {
            return None;
        }
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        (one.min(two), one.max(two))
    };
    // ... and within the circle.
    let a = d.x * d.x + d.y * d.y;
    let c = o.x * o.x + o.y * o.y - radius * radius;
    if a > 0.0 {
        let b = o.x * d.x + o.y * d.y;
        let root = b * b - a * c;
        if root < 0.0 {
            return None;
        }
        let root = root.sqrt();
        enter = enter.max((-b - root) / a);
        leave = leave.min((-b + root) / a);
    } else if c > 0.0 {
        return None;
    }
    let begin = enter.max(0.0);
    (begin <= leave && begin <= most).then_some(begin)
}

#[inline]
fn meet_sphere(radius: f64, o: Vector, d: Vector, most: f64) -> Option<f64> {
    let b = o.dot(d);
    let root = b * b - (o.length_squared() - radius * radius);
    if root < 0.0 {
        return None;
    }
    let root = root.sqrt();
    let (enter, leave) = (-b - root, -b + root);
    let begin = enter.max(0.0);
    (begin <= leave && begin <= most).then_some(begin)
}

/// The face that a point on a box is nearest to.
fn box_normal(half: Vector, point: Vector) -> Vector {
    let inside = half - point.abs();
    if inside.x <= inside.y && inside.x <= inside.z {
        Vector::new(point.x.signum(), 0.0, 0.0)
    } else if inside.y <= inside.z {
        Vector::new(0.0, point.y.signum(), 0.0)
    } else {
        Vector::new(0.0, 0.0, point.z.signum())
    }
}
