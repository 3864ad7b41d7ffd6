//! Between the geometry's transforms and the physics engine's.

use bowline_geometry::{Transform, Vec3};
use rapier3d_f64::math::{Pose, Rotation, Vector};

pub(crate) fn vector([x, y, z]: Vec3) -> Vector {
    Vector::new(x, y, z)
}

pub(crate) fn pose(transform: &Transform) -> Pose {
    let [w, x, y, z] = transform.quat();
    Pose::from_parts(
        vector(transform.xyz()),
        Rotation::from_xyzw(x, y, z, w).normalize(),
    )
}

pub(crate) fn transform(pose: &Pose) -> Transform {
    let Rotation { x, y, z, w } = pose.rotation;
    // A rotation of the engine always has a direction.
    Transform::from_xyz_quat(pose.translation.to_array(), [w, x, y, z]).unwrap_or_default()
}

/// As messages have it: half the digits, which is more than any sensor has.
#[expect(
    clippy::cast_possible_truncation,
    reason = "digits are lost, and nothing else"
)]
pub(crate) const fn single(number: f64) -> f32 {
    number as f32
}

/// Between two poses, for a moment between two steps.
pub(crate) fn between(before: &Pose, after: &Pose, share: f64) -> Pose {
    Pose::from_parts(
        before.translation.lerp(after.translation, share),
        before.rotation.slerp(after.rotation, share),
    )
}
