//! Sums and products of three numbers, and of times.

use bowline_geometry::Vec3;

pub(super) fn added(one: Vec3, other: Vec3) -> Vec3 {
    std::array::from_fn(|axis| one[axis] + other[axis])
}

pub(super) fn subtracted(one: Vec3, other: Vec3) -> Vec3 {
    std::array::from_fn(|axis| one[axis] - other[axis])
}

pub(super) fn scaled(it: Vec3, by: f64) -> Vec3 {
    it.map(|it| it * by)
}

pub(super) fn cross([a, b, c]: Vec3, [x, y, z]: Vec3) -> Vec3 {
    [b * z - c * y, c * x - a * z, a * y - b * x]
}

#[expect(clippy::cast_precision_loss, reason = "spans are short")]
pub(super) fn seconds(us: i64) -> f64 {
    us as f64 * 1e-6
}
