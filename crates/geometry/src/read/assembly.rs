//! Assembly files: which bodies there are, and what binds them.

use super::pose::{POSE, SURENESS, covariance, pose};
use super::{Reading, body};
use crate::assembly::{
    Assembly, Body, Constraint, Feed, Follows, FrameName, Joint, JointKind, Tolerance,
};
use crate::element::Bounds;
use crate::mistake::{Fault, Mistakes};
use crate::model::MAX_BODIES;
use crate::transform::norm;
use crate::xml::Element;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The elements of an assembly.
const ELEMENTS: &[&str] = &["description", "closure", "use", "constraint"];

pub(super) fn read(
    root: Element<'_>,
    path: &Path,
    reading: &mut Reading<'_>,
    mistakes: &mut Mistakes,
) -> Option<Assembly> {
    root.allow(&[&["name"]], mistakes);
    let mut assembly = Assembly {
        name: root.required_name("name", mistakes).unwrap_or_default(),
        place: root.place(),
        ..Assembly::default()
    };
    let mut bodies = BTreeMap::new();
    let mut closure: Option<Element<'_>> = None;
    for element in root.children(mistakes) {
        match element.name() {
            "description" if element.is_plain() => element.allow(&[], mistakes),
            "closure" if element.is_plain() => {
                if let Some(first) = closure.replace(element) {
                    let fault = Fault::Duplicate {
                        what: "elements",
                        name: "closure".to_owned(),
                        first: first.place(),
                    };
                    mistakes.push(element.place(), fault);
                }
                assembly.tolerance = tolerance(element, mistakes);
            }
            "use" if element.is_plain() => {
                if assembly.bodies.len() == MAX_BODIES {
                    let fault = Fault::TooMany {
                        what: "bodies",
                        limit: MAX_BODIES,
                    };
                    mistakes.push(element.place(), fault);
                    return None;
                }
                let used = use_body(element, path, &mut bodies, reading, mistakes);
                assembly.bodies.extend(used);
            }
            "constraint" if element.is_plain() => {
                assembly.constraints.extend(constraint(element, mistakes));
            }
            _ => element.refuse(ELEMENTS, mistakes),
        }
    }
    Some(assembly)
}

fn tolerance(element: Element<'_>, mistakes: &mut Mistakes) -> Tolerance {
    element.allow(&[&["tolerance_mm", "tolerance_deg"]], mistakes);
    element
        .children(mistakes)
        .iter()
        .for_each(|it| it.refuse(&[], mistakes));
    let standard = Tolerance::default();
    let mm = element.number_in("tolerance_mm", Bounds::POSITIVE, mistakes);
    let deg = element.number_in("tolerance_deg", Bounds::POSITIVE, mistakes);
    Tolerance {
        distance_m: mm.map_or(standard.distance_m, |mm| mm / 1e3),
        angle_rad: deg.map_or(standard.angle_rad, f64::to_radians),
    }
}

/// A body from its file, which is read once however often it is used.
fn use_body(
    element: Element<'_>,
    path: &Path,
    bodies: &mut BTreeMap<PathBuf, Option<Body>>,
    reading: &mut Reading<'_>,
    mistakes: &mut Mistakes,
) -> Option<Body> {
    element.allow(&[&["body", "as"]], mistakes);
    element
        .children(mistakes)
        .iter()
        .for_each(|it| it.refuse(&[], mistakes));
    let name = match element.attribute("as") {
        Some(_) => Some(element.required_name("as", mistakes)?),
        None => None,
    };
    let named = element.required("body", mistakes)?;
    if named.is_empty() || Path::new(named).is_absolute() {
        element.refuse_value(
            "body",
            "a file beside this one, by its relative path",
            mistakes,
        );
        return None;
    }
    let file = path.parent().unwrap_or(Path::new("")).join(named);
    let body = match bodies.get(&file) {
        Some(body) => body.clone(),
        None => {
            let body = body::load(&file, &element.place_of("body"), reading, mistakes);
            bodies.insert(file, body.clone());
            body
        }
    };
    body.map(|body| Body {
        name: name.unwrap_or(body.name),
        place: element.place(),
        ..body
    })
}

fn constraint(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Constraint> {
    element.allow(&[&["name", "from", "to"], POSE, SURENESS], mistakes);
    let from_from_to = pose(element, mistakes);
    let covariance = covariance(element, mistakes);
    let mut joint = None;
    for (nth, child) in element.children(mistakes).into_iter().enumerate() {
        let kind = match child.name() {
            "revolute" if child.is_plain() && nth == 0 => JointKind::Revolute,
            "prismatic" if child.is_plain() && nth == 0 => JointKind::Prismatic,
            _ => {
                let expected: &[&str] = if nth == 0 {
                    &["revolute", "prismatic"]
                } else {
                    &[]
                };
                child.refuse(expected, mistakes);
                continue;
            }
        };
        joint = Some(read_joint(child, kind, mistakes)?);
    }
    let mut end = |name| {
        let found = element.required(name, mistakes)?;
        let parsed = FrameName::parse(found);
        if parsed.is_none() {
            element.refuse_value(name, "a frame as Body:Frame", mistakes);
        }
        parsed
    };
    let (from, to) = (end("from"), end("to"));
    Some(Constraint {
        name: element.required_name("name", mistakes)?,
        place: element.place(),
        from: from?,
        to: to?,
        from_from_to,
        covariance,
        joint,
    })
}

/// The attributes of every joint, then those of turns and of shifts.
const JOINT: &[&str] = &["axis", "channel", "field", "follows", "scale", "offset"];
const TURN: &[&str] = &["min_deg", "max_deg", "rest_deg"];
const SHIFT: &[&str] = &["min_m", "max_m", "rest_m"];

fn read_joint(element: Element<'_>, kind: JointKind, mistakes: &mut Mistakes) -> Option<Joint> {
    let (names, unit) = match kind {
        JointKind::Revolute => (TURN, 1.0_f64.to_radians()),
        JointKind::Prismatic => (SHIFT, 1.0),
    };
    element.allow(&[JOINT, names], mistakes);
    element
        .children(mistakes)
        .iter()
        .for_each(|it| it.refuse(&[], mistakes));
    let &[min, max, rest] = names else {
        return None;
    };
    let axis = axis(element, mistakes)?;
    let mut number = |name| Some(element.number(name, mistakes)? * unit);
    let (least, most, rest_value) = (number(min), number(max), number(rest));
    let limits = match (least, most) {
        (Some(least), Some(most)) if least < most => Some([least, most]),
        (Some(_), Some(_)) => {
            element.refuse_value(max, format_args!("more than {min}"), mistakes);
            return None;
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            let missing = if least.is_none() { min } else { max };
            element.required(missing, mistakes);
            return None;
        }
    };
    let [least, most] = limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
    if rest_value.is_some_and(|rest| rest < least || rest > most) {
        let expected = format!("a value between {min} and {max}");
        element.refuse_value(rest, expected, mistakes);
    }
    let (feed, follows) = source(element, mistakes);
    Some(Joint {
        kind,
        axis,
        limits,
        rest: rest_value.unwrap_or(0.0).clamp(least, most),
        feed,
        follows,
    })
}

fn axis(element: Element<'_>, mistakes: &mut Mistakes) -> Option<[f64; 3]> {
    if element.attribute("axis").is_none() {
        return Some([0.0, 0.0, 1.0]);
    }
    let axis = element.numbers::<3>("axis", mistakes)?;
    let length = norm(axis);
    if length < 1e-9 {
        element.refuse_value("axis", "a direction other than 0 0 0", mistakes);
        return None;
    }
    Some(axis.map(|it| it / length))
}

/// The source of a joint's value: a channel, another joint, or none in the file.
fn source(element: Element<'_>, mistakes: &mut Mistakes) -> (Option<Feed>, Option<Follows>) {
    let scale = element.number("scale", mistakes).unwrap_or(1.0);
    let offset = element.number("offset", mistakes).unwrap_or(0.0);
    let [channel, field, follows] =
        ["channel", "field", "follows"].map(|name| element.attribute(name));
    if let Some(leader) = follows {
        if channel.is_some() {
            let fault = Fault::SaidTwice {
                first: "follows".to_owned(),
                second: "channel".to_owned(),
            };
            mistakes.push(element.place_of("channel"), fault);
        }
        let follows = Follows {
            constraint: leader.to_owned(),
            scale,
            offset,
        };
        return (None, Some(follows));
    }
    if channel.is_none() && field.is_none() {
        for name in ["scale", "offset"] {
            if element.attribute(name).is_some() {
                element.refuse_value(name, "it only beside channel or follows", mistakes);
            }
        }
        return (None, None);
    }
    let channel = element.required("channel", mistakes);
    let field = element.required("field", mistakes);
    for (name, value, limit) in [("channel", channel, 63), ("field", field, 256)] {
        if value
            .is_some_and(|value| value.is_empty() || value.len() > limit || value.contains('\0'))
        {
            element.refuse_value(name, format_args!("1 to {limit} bytes"), mistakes);
        }
    }
    let feed = channel.zip(field).map(|(channel, field)| Feed {
        channel: channel.to_owned(),
        field: field.to_owned(),
        scale,
        offset,
    });
    (feed, None)
}
