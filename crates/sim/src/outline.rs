//! Solids seen from above: polygons around them.

use crate::solid::Solid;
use bowline_geometry::Transform;

/// Points of a circle, where it is seen from the side.
pub(crate) const N_CIRCLE: u32 = 24;

/// A convex polygon, seen from above, counter-clockwise.
pub(crate) type Outline = Vec<[f64; 2]>;

/// Around a solid in its place; none for a plane, which has no end.
pub(crate) fn outline(solid: &Solid, at: &Transform) -> Option<Outline> {
    let points: Vec<[f64; 3]> = match solid {
        Solid::Plane => return None,
        Solid::Box { half_m: [x, y, z] } => {
            let signs = [-1.0, 1.0];
            let corner = |sx: f64, sy: f64, sz: f64| [sx * x, sy * y, sz * z];
            let pairs = signs.iter().flat_map(|sx| signs.map(|sy| (*sx, sy)));
            pairs
                .flat_map(|(sx, sy)| signs.map(|sz| corner(sx, sy, sz)))
                .collect()
        }
        Solid::Cylinder { radius_m, half_m } => circle(*radius_m)
            .flat_map(|[x, y]| [[x, y, -half_m], [x, y, *half_m]])
            .collect(),
        Solid::Sphere { radius_m } => {
            let [x, y, _] = at.xyz();
            return Some(circle(*radius_m).map(|[cx, cy]| [x + cx, y + cy]).collect());
        }
        Solid::Mesh(mesh) => mesh.points().collect(),
    };
    let flat = points.into_iter().map(|point| {
        let [x, y, _] = at.apply(point);
        [x, y]
    });
    Some(hull(flat.collect()))
}

fn circle(radius: f64) -> impl Iterator<Item = [f64; 2]> {
    (0..N_CIRCLE).map(move |nth| {
        let (sin, cos) = (std::f64::consts::TAU * f64::from(nth) / f64::from(N_CIRCLE)).sin_cos();
        [radius * cos, radius * sin]
    })
}

/// The polygon around points (Andrew's way).
fn hull(mut points: Vec<[f64; 2]>) -> Outline {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let half = |points: &mut dyn Iterator<Item = &[f64; 2]>| {
        let mut chain: Outline = Vec::new();
        for point in points {
            while let [.., a, b] = chain.as_slice() {
                let turn = (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]);
                if turn > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push(*point);
        }
        chain.pop();
        chain
    };
    let mut lower = half(&mut points.iter());
    lower.extend(half(&mut points.iter().rev()));
    lower
}

/// How far a straight piece is from a polygon, metres; 0 where it reaches into it.
pub(crate) fn apart_m(polygon: &[[f64; 2]], [from, to]: [[f64; 2]; 2]) -> f64 {
    if is_within(polygon, from) {
        return 0.0;
    }
    let next = polygon.iter().cycle().skip(1);
    let edges = polygon.iter().zip(next);
    edges
        .map(|(one, two)| pieces_apart_m([*one, *two], [from, to]))
        .fold(f64::INFINITY, f64::min)
}

fn is_within(polygon: &[[f64; 2]], point: [f64; 2]) -> bool {
    let next = polygon.iter().cycle().skip(1);
    let mut edges = polygon.iter().zip(next);
    polygon.len() > 2 && edges.all(|(one, two)| side(*one, *two, point) >= 0.0)
}

/// Above 0 to the left of the way from one point to another.
fn side(from: [f64; 2], to: [f64; 2], point: [f64; 2]) -> f64 {
    (to[0] - from[0]) * (point[1] - from[1]) - (to[1] - from[1]) * (point[0] - from[0])
}

fn pieces_apart_m([a, b]: [[f64; 2]; 2], [c, d]: [[f64; 2]; 2]) -> f64 {
    let is_crossed = side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0;
    if is_crossed {
        return 0.0;
    }
    let ends = [
        from_piece_m(a, [c, d]),
        from_piece_m(b, [c, d]),
        from_piece_m(c, [a, b]),
        from_piece_m(d, [a, b]),
    ];
    ends.into_iter().fold(f64::INFINITY, f64::min)
}

/// How far a point is from a straight piece, metres.
pub(crate) fn from_piece_m(point: [f64; 2], [from, to]: [[f64; 2]; 2]) -> f64 {
    let way = [to[0] - from[0], to[1] - from[1]];
    let off = [point[0] - from[0], point[1] - from[1]];
    let length2 = way[0] * way[0] + way[1] * way[1];
    let part = (off[0] * way[0] + off[1] * way[1]) / length2.max(f64::MIN_POSITIVE);
    let part = part.clamp(0.0, 1.0);
    (off[0] - way[0] * part).hypot(off[1] - way[1] * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_as_far_from_a_square_as_it_looks() {
        let square = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]];
        let cases = [
            ("beside it", [[3.0, -9.0], [3.0, 9.0]], 1.0),
            ("before a corner", [[5.0, 6.0], [9.0, 6.0]], 5.0),
            ("through it", [[-1.0, 1.0], [9.0, 1.0]], 0.0),
            ("over a corner", [[-0.5, 1.0], [1.0, -0.5]], 0.0),
            ("within it", [[0.5, 0.5], [1.5, 0.5]], 0.0),
            ("with its end in it", [[9.0, 1.0], [1.0, 1.0]], 0.0),
            ("no longer than a point", [[2.0, 5.0], [2.0, 5.0]], 3.0),
        ];
        for (name, piece, expected) in cases {
            let found = apart_m(&square, piece);
            assert!((found - expected).abs() < 1e-12, "{name}: {found}");
        }
    }
}
