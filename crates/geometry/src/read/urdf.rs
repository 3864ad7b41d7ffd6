//! URDF, the robot description of ROS: links and joints in a tree, sensors in blocks for Gazebo.
//!
//! A link becomes a body, with a frame `origin`; a joint becomes a constraint between frames of its own name on both
//! links. A joint that mimics another one follows it.

use super::Reading;
use super::sdf::{self, add_frame, add_sensor, clean};
use crate::assembly::{
    Assembly, Body, BodyFrame, Constraint, Follows, FrameName, Joint, JointKind,
};
use crate::mistake::{Fault, Mistakes};
use crate::transform::{Transform, norm};
use crate::xml::Element;

pub(super) fn read(
    root: Element<'_>,
    reading: &mut Reading<'_>,
    mistakes: &mut Mistakes,
) -> Option<Assembly> {
    let mut assembly = Assembly {
        name: clean(root.attribute("name").unwrap_or("robot")),
        place: root.place(),
        ..Assembly::default()
    };
    for element in root.elements() {
        if element.namespace().is_some_and(|it| it.contains("xacro")) {
            let expected = "a URDF file without macros";
            let found = "xacro: run `xacro FILE > robot.urdf` and use that";
            refuse(element, expected, found, mistakes);
            return None;
        }
    }
    let plain = || root.elements().filter(Element::is_plain);
    for link in plain().filter(|it| it.name() == "link") {
        assembly.bodies.extend(read_link(link, mistakes));
    }
    for element in plain().filter(|it| it.name() == "joint") {
        // A transmission's joint has no links and no type.
        let constraint = joint(element, &mut assembly.bodies, mistakes);
        assembly.constraints.extend(constraint);
    }
    for element in plain() {
        match element.name() {
            "gazebo" => gazebo(element, &mut assembly.bodies, reading, mistakes),
            "sensor" => sensor(element, &mut assembly.bodies, reading, mistakes),
            _ => {}
        }
    }
    Some(assembly)
}

fn refuse(element: Element<'_>, expected: &str, found: &str, mistakes: &mut Mistakes) {
    let fault = Fault::Unsupported {
        expected: expected.to_owned(),
        found: found.to_owned(),
    };
    mistakes.push(element.place(), fault);
}

/// The origin of an element.
fn origin(element: Element<'_>, mistakes: &mut Mistakes) -> Transform {
    let Some(origin) = element.child("origin") else {
        return Transform::IDENTITY;
    };
    let xyz = origin.numbers("xyz", mistakes).unwrap_or_default();
    if let Some([x, y, z, w]) = origin.numbers::<4>("quat_xyzw", mistakes) {
        return Transform::from_xyz_quat(xyz, [w, x, y, z]).unwrap_or_else(|error| {
            mistakes.push(origin.place_of("quat_xyzw"), error.into());
            Transform::IDENTITY
        });
    }
    let rpy = origin.numbers("rpy", mistakes).unwrap_or_default();
    Transform::from_xyz_rpy(xyz, rpy)
}

fn read_link(link: Element<'_>, mistakes: &mut Mistakes) -> Option<Body> {
    let mut body = Body {
        name: clean(link.required("name", mistakes)?),
        place: link.place(),
        ..Body::default()
    };
    body.frames.push(BodyFrame {
        name: "origin".to_owned(),
        place: link.place(),
        ..BodyFrame::default()
    });
    sdf::link::urdf(link, &mut body, origin, mistakes);
    Some(body)
}

/// The body of a link that an element names.
fn find<'b>(
    bodies: &'b mut [Body],
    element: Element<'_>,
    name: &str,
    mistakes: &mut Mistakes,
) -> Option<&'b mut Body> {
    let name = clean(name);
    let Some(found) = bodies.iter().position(|body| body.name == name) else {
        let fault = Fault::Unknown {
            what: "link",
            suggestion: mistakes.suggest(&name, bodies.iter().map(|body| body.name.as_str())),
            found: name,
        };
        mistakes.push(element.place(), fault);
        return None;
    };
    bodies.get_mut(found)
}

fn joint(element: Element<'_>, bodies: &mut [Body], mistakes: &mut Mistakes) -> Option<Constraint> {
    let name = clean(element.required("name", mistakes)?);
    let kind = match element.required("type", mistakes)? {
        "fixed" => None,
        "revolute" | "continuous" => Some(JointKind::Revolute),
        "prismatic" => Some(JointKind::Prismatic),
        other => {
            let expected = "a joint that is fixed, revolute, continuous or prismatic";
            refuse(element, expected, &format!("{other:?}"), mistakes);
            return None;
        }
    };
    let mut ends = ["parent", "child"].map(|which| {
        let Some(end) = element.child(which) else {
            let fault = Fault::Missing {
                element: "joint".to_owned(),
                expected: format!("<{which} link=...>"),
            };
            mistakes.push(element.place(), fault);
            return None;
        };
        end.required("link", mistakes).map(|link| (end, link))
    });
    let (parent, child) = (ends[0].take()?, ends[1].take()?);
    let from_pose = origin(element, mistakes);
    let place = element.place();
    let from = find(bodies, parent.0, parent.1, mistakes)?;
    let from = FrameName::new(from.name.clone(), add_frame(from, &name, &place, from_pose));
    let to = find(bodies, child.0, child.1, mistakes)?;
    let to = FrameName::new(
        to.name.clone(),
        add_frame(to, &name, &place, Transform::IDENTITY),
    );
    let joint = match kind {
        Some(kind) => Some(motion(element, kind, mistakes)?),
        None => None,
    };
    Some(Constraint {
        name,
        place,
        from,
        to,
        joint,
        ..Constraint::default()
    })
}

fn motion(element: Element<'_>, kind: JointKind, mistakes: &mut Mistakes) -> Option<Joint> {
    let axis = match element.child("axis") {
        Some(axis) => {
            let found = axis.numbers::<3>("xyz", mistakes)?;
            if norm(found) < 1e-9 {
                axis.refuse_value("xyz", "a direction other than 0 0 0", mistakes);
                return None;
            }
            found.map(|it| it / norm(found))
        }
        None => [1.0, 0.0, 0.0],
    };
    let is_bounded = element.attribute("type") != Some("continuous");
    let mut limit = |name| {
        let limit = element.child("limit")?;
        limit.attribute(name)?;
        limit.number(name, mistakes)
    };
    let limits = match (limit("lower"), limit("upper")) {
        (Some(lower), Some(upper)) if is_bounded && lower < upper => Some([lower, upper]),
        (_, _) => None,
    };
    let follows = match element.child("mimic") {
        Some(mimic) => Some(Follows {
            constraint: clean(mimic.required("joint", mistakes)?),
            scale: mimic.number("multiplier", mistakes).unwrap_or(1.0),
            offset: mimic.number("offset", mistakes).unwrap_or(0.0),
        }),
        None => None,
    };
    let [least, most] = limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
    Some(Joint {
        kind,
        axis,
        limits,
        rest: 0.0_f64.clamp(least, most),
        feed: None,
        follows,
    })
}

/// A block for Gazebo about a link: its sensors are SDF's.
fn gazebo(
    block: Element<'_>,
    bodies: &mut [Body],
    reading: &mut Reading<'_>,
    mistakes: &mut Mistakes,
) {
    let sensors = || {
        block
            .elements()
            .filter(|it| it.is_plain() && it.name() == "sensor")
    };
    let Some(link) = block.attribute("reference") else {
        return;
    };
    for element in sensors() {
        let Some(body) = find(bodies, block, link, mistakes) else {
            return;
        };
        let pose = sdf::pose(element, mistakes);
        match sdf::sensor::read(element, mistakes) {
            Some(sensor) => add_sensor(body, sensor, pose),
            None => reading.leave_out_sensor(element),
        }
    }
}

/// URDF's own sensors, which few files have.
fn sensor(
    element: Element<'_>,
    bodies: &mut [Body],
    reading: &mut Reading<'_>,
    mistakes: &mut Mistakes,
) {
    let Some(name) = element.required("name", mistakes) else {
        return;
    };
    let link = element.child("parent").and_then(|it| it.attribute("link"));
    let Some(body) = link.and_then(|link| find(bodies, element, link, mistakes)) else {
        return;
    };
    let pose = origin(element, mistakes);
    add_frame(body, &clean(name), &element.place(), pose);
    reading.leave_out_sensor(element);
}
