//! What links look like and weigh: SDF's way, and URDF's where it is another.

use super::super::body::open;
use super::{NAMESPACE, bad_text, pose};
use crate::assembly::Body;
use crate::mistake::{Fault, Mistakes};
use crate::shape::{Mass, Role, Shape, ShapeKind};
use crate::transform::Transform;
use crate::xml::{Element, numbers};

pub(super) fn shapes(
    link: Element<'_>,
    body: &mut Body,
    notes: &mut Mistakes,
    mistakes: &mut Mistakes,
) {
    for element in link.elements() {
        if !element.is_plain() {
            // What only our own exports have.
            if element.namespace() == Some(NAMESPACE) {
                body.elements.extend(open(element, mistakes));
            }
            continue;
        }
        let role = match element.name() {
            "visual" => Role::Visual,
            "collision" => Role::Collision,
            "inertial" => {
                body.mass = mass(element, mistakes);
                continue;
            }
            _ => continue,
        };
        let geometry = element.child("geometry");
        let Some(kind) = geometry.and_then(|it| kind(it, notes, mistakes)) else {
            continue;
        };
        body.shapes.push(Shape {
            place: element.place(),
            body_from_shape: pose(element, mistakes),
            kind,
            role,
        });
    }
}

pub(super) fn kind(
    geometry: Element<'_>,
    notes: &mut Mistakes,
    mistakes: &mut Mistakes,
) -> Option<ShapeKind> {
    let shape = geometry.elements().find(Element::is_plain)?;
    let mut number = |name: &str| value::<1>(shape.child(name)?, mistakes).map(|[number]| number);
    match shape.name() {
        "box" => {
            let size_m = value::<3>(shape.child("size")?, mistakes)?;
            Some(ShapeKind::Box { size_m })
        }
        "cylinder" => Some(ShapeKind::Cylinder {
            radius_m: number("radius")?,
            length_m: number("length")?,
        }),
        "sphere" => Some(ShapeKind::Sphere {
            radius_m: number("radius")?,
        }),
        "mesh" => Some(ShapeKind::Mesh {
            file: shape.child("uri")?.text().to_owned(),
            scale: match shape.child("scale") {
                Some(scale) => value::<3>(scale, mistakes)?,
                None => [1.0; 3],
            },
        }),
        other => {
            let left_out = format!(
                "the shape <{other}> is left out: only boxes, cylinders, spheres and meshes are kept"
            );
            notes.push(shape.place(), Fault::LeftOut(left_out));
            None
        }
    }
}

pub(super) fn mass(inertial: Element<'_>, mistakes: &mut Mistakes) -> Option<Mass> {
    let [mass_kg] = value::<1>(inertial.child("mass")?, mistakes)?;
    let inertia = inertial.child("inertia");
    let mut entry = |name: &str| {
        let element = inertia?.child(name)?;
        value::<1>(element, mistakes).map(|[number]| number)
    };
    let names = ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"];
    let [xx, yy, zz, xy, xz, yz] = names.map(&mut entry);
    let off = |it: Option<f64>| it.unwrap_or(0.0);
    let inertia_kgm2 = match (xx, yy, zz) {
        (Some(xx), Some(yy), Some(zz)) => Some([xx, yy, zz, off(xy), off(xz), off(yz)]),
        (_, _, _) => None,
    };
    Some(Mass {
        mass_kg,
        body_from_centre: pose(inertial, mistakes),
        inertia_kgm2,
    })
}

pub(super) fn value<const N: usize>(
    element: Element<'_>,
    mistakes: &mut Mistakes,
) -> Option<[f64; N]> {
    let found = numbers(element.text());
    if found.is_none() {
        bad_text(element, "numbers", mistakes);
    }
    found
}

/// The shapes and the mass of a URDF link, which has its numbers in attributes.
pub(crate) fn urdf(
    link: Element<'_>,
    body: &mut Body,
    origin: impl Fn(Element<'_>, &mut Mistakes) -> Transform,
    mistakes: &mut Mistakes,
) {
    for element in link.elements().filter(Element::is_plain) {
        let role = match element.name() {
            "visual" => Role::Visual,
            "collision" => Role::Collision,
            "inertial" => {
                let mass = element
                    .child("mass")
                    .and_then(|it| it.number("value", mistakes));
                let inertia = element.child("inertia").map(|inertia| {
                    let names = ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"];
                    names.map(|name| inertia.number(name, mistakes).unwrap_or(0.0))
                });
                body.mass = mass.map(|mass_kg| Mass {
                    mass_kg,
                    body_from_centre: origin(element, mistakes),
                    inertia_kgm2: inertia,
                });
                continue;
            }
            _ => continue,
        };
        let shape = element
            .child("geometry")
            .and_then(|it| it.elements().next());
        let Some(kind) = shape.and_then(|shape| urdf_kind(shape, mistakes)) else {
            continue;
        };
        body.shapes.push(Shape {
            place: element.place(),
            body_from_shape: origin(element, mistakes),
            kind,
            role,
        });
    }
}

fn urdf_kind(shape: Element<'_>, mistakes: &mut Mistakes) -> Option<ShapeKind> {
    match shape.name() {
        "box" => Some(ShapeKind::Box {
            size_m: shape.numbers("size", mistakes)?,
        }),
        "cylinder" => Some(ShapeKind::Cylinder {
            radius_m: shape.number("radius", mistakes)?,
            length_m: shape.number("length", mistakes)?,
        }),
        "sphere" => Some(ShapeKind::Sphere {
            radius_m: shape.number("radius", mistakes)?,
        }),
        "mesh" => Some(ShapeKind::Mesh {
            file: shape.required("filename", mistakes)?.to_owned(),
            scale: shape.numbers("scale", mistakes).unwrap_or([1.0; 3]),
        }),
        _ => None,
    }
}
