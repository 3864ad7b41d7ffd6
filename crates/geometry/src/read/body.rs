//! Body files: one device, measured by hand.

use super::Reading;
use super::pose::{POSE, SURENESS, covariance, pose};
use crate::assembly::{Body, BodyFrame};
use crate::element::{Bounds, Element as Open};
use crate::mistake::{Fault, Mistakes, Place};
use crate::shape::{Mass, Role, Shape, ShapeKind};
use crate::xml::{self, Element};
use bowline_wire::suggest::nearest;
use std::path::Path;
use std::sync::Arc;

/// The elements of a body that geometry itself understands.
pub const BODY_ELEMENTS: &[&str] = &[
    "description",
    "frame",
    "box",
    "cylinder",
    "sphere",
    "mesh",
    "mass",
];

pub(super) fn load(
    path: &Path,
    asked: &Place,
    reading: &mut Reading<'_>,
    mistakes: &mut Mistakes,
) -> Option<Body> {
    let file: Arc<str> = path.display().to_string().into();
    let bytes = reading.bytes(path, asked, mistakes)?;
    let text = xml::text(&file, &bytes, mistakes)?;
    let page = xml::parse(&file, text, mistakes)?;
    let root = page.root();
    if root.name() != "body" || !root.is_plain() {
        root.refuse(&["body"], mistakes);
        return None;
    }
    Some(read(root, mistakes))
}

fn read(root: Element<'_>, mistakes: &mut Mistakes) -> Body {
    root.allow(&[&["name"]], mistakes);
    let mut body = Body {
        name: root.required_name("name", mistakes).unwrap_or_default(),
        place: root.place(),
        ..Body::default()
    };
    let mut mass: Option<Element<'_>> = None;
    for element in root.children(mistakes) {
        if !element.is_plain() {
            refuse(element, mistakes);
            continue;
        }
        match element.name() {
            "description" => element.allow(&[], mistakes),
            "frame" => body.frames.extend(frame(element, mistakes)),
            "box" | "cylinder" | "sphere" | "mesh" => {
                body.shapes.extend(shape(element, mistakes));
            }
            "mass" => {
                expect_once(&mut mass, element, mistakes);
                body.mass = read_mass(element, mistakes);
            }
            // What is nearly one of ours and sits nowhere is a misprint of it, and no element of others.
            word if element.attribute("frame").is_none()
                && nearest(word, BODY_ELEMENTS.iter().copied()).is_some() =>
            {
                refuse(element, mistakes);
            }
            _ => body.elements.extend(open(element, mistakes)),
        }
    }
    body
}

/// Complains about a second element where one is all there may be.
fn expect_once<'e>(first: &mut Option<Element<'e>>, element: Element<'e>, mistakes: &mut Mistakes) {
    if let Some(first) = first.replace(element) {
        let fault = Fault::Duplicate {
            what: "elements",
            name: element.name().to_owned(),
            first: first.place(),
        };
        mistakes.push(element.place(), fault);
    }
}

/// Complains about an element that cannot be in a body.
fn refuse(element: Element<'_>, mistakes: &mut Mistakes) {
    let others = "an element that sits in a frame of the body, by its attribute frame";
    element.refuse_but(BODY_ELEMENTS, Some(others), mistakes);
}

/// An element that is kept as it is written. One that sits in a frame has a name.
pub(super) fn open(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Open> {
    expect_empty(element, mistakes);
    let attributes = element.others(&["name", "frame"], mistakes);
    let has = |attribute: &str| element.attribute(attribute).is_some();
    let is_named = has("name") || has("frame");
    let (name, frame) = (
        is_named.then(|| element.required_name("name", mistakes)),
        has("frame").then(|| element.required_name("frame", mistakes)),
    );
    if matches!(name, Some(None)) || matches!(frame, Some(None)) {
        return None;
    }
    Some(Open {
        word: element.name().to_owned(),
        place: element.place(),
        name: name.flatten(),
        frame: frame.flatten(),
        attributes,
    })
}

/// Complains about anything in an element that has only attributes.
fn expect_empty(element: Element<'_>, mistakes: &mut Mistakes) {
    for child in element.children(mistakes) {
        child.refuse(&[], mistakes);
    }
}

fn frame(element: Element<'_>, mistakes: &mut Mistakes) -> Option<BodyFrame> {
    element.allow(&[&["name"], POSE, SURENESS], mistakes);
    expect_empty(element, mistakes);
    let body_from_frame = pose(element, mistakes);
    let covariance = covariance(element, mistakes);
    Some(BodyFrame {
        name: element.required_name("name", mistakes)?,
        place: element.place(),
        body_from_frame,
        covariance,
    })
}

fn shape(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Shape> {
    let own: &[&str] = match element.name() {
        "box" => &["size_m"],
        "cylinder" => &["radius_m", "length_m"],
        "sphere" => &["radius_m"],
        _ => &["file", "scale"],
    };
    element.allow(&[own, &["role"], POSE], mistakes);
    expect_empty(element, mistakes);
    let role = match element.attribute("role") {
        None | Some("both") => Role::Both,
        Some("visual") => Role::Visual,
        Some("collision") => Role::Collision,
        Some(_) => {
            element.refuse_value("role", "both, visual or collision", mistakes);
            Role::Both
        }
    };
    let mut length = |name| {
        element.required(name, mistakes)?;
        element.number_in(name, Bounds::POSITIVE, mistakes)
    };
    let kind = match element.name() {
        "cylinder" => {
            let (radius_m, length_m) = (length("radius_m"), length("length_m"));
            ShapeKind::Cylinder {
                radius_m: radius_m?,
                length_m: length_m?,
            }
        }
        "sphere" => ShapeKind::Sphere {
            radius_m: length("radius_m")?,
        },
        "box" => ShapeKind::Box {
            size_m: sizes(element, "size_m", mistakes)?,
        },
        _ => ShapeKind::Mesh {
            file: element.required("file", mistakes)?.to_owned(),
            scale: match element.attribute("scale") {
                Some(_) => sizes(element, "scale", mistakes)?,
                None => [1.0; 3],
            },
        },
    };
    Some(Shape {
        place: element.place(),
        body_from_shape: pose(element, mistakes),
        kind,
        role,
    })
}

fn sizes(element: Element<'_>, name: &str, mistakes: &mut Mistakes) -> Option<[f64; 3]> {
    element.required(name, mistakes)?;
    let sizes = element.numbers::<3>(name, mistakes)?;
    if sizes.iter().any(|it| *it <= 0.0) {
        element.refuse_value(name, "3 numbers above 0", mistakes);
        return None;
    }
    Some(sizes)
}

fn read_mass(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Mass> {
    element.allow(&[&["mass_kg", "inertia_kgm2"], POSE], mistakes);
    expect_empty(element, mistakes);
    element.required("mass_kg", mistakes)?;
    Some(Mass {
        mass_kg: element.number_in("mass_kg", Bounds::POSITIVE, mistakes)?,
        body_from_centre: pose(element, mistakes),
        inertia_kgm2: element.numbers::<6>("inertia_kgm2", mistakes),
    })
}
