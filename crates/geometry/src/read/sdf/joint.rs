//! SDF's joints.

use super::graph::Kind;
use super::{Import, add_frame, bad_text, clean, ours, unsupported};
use crate::assembly::{Body, Constraint, Feed, Follows, FrameName, Joint, JointKind};
use crate::mistake::Mistakes;
use crate::transform::{Transform, Vec3, norm};
use crate::xml::{Element, numbers};

/// The name of the body that stands for the world.
const WORLD: &str = "world";

pub(super) fn read(
    import: &mut Import<'_>,
    idx: usize,
    mistakes: &mut Mistakes,
) -> Option<Constraint> {
    let entity = &import.graph.entities[idx];
    let (element, scope) = (entity.element, entity.scope.clone());
    let name = clean(&entity.name);
    let kind = match element.required("type", mistakes)? {
        "fixed" => None,
        "revolute" | "continuous" => Some(JointKind::Revolute),
        "prismatic" => Some(JointKind::Prismatic),
        other => {
            let expected = "a joint that is fixed, revolute, continuous or prismatic";
            unsupported(element, expected, format!("{other:?}"), mistakes);
            return None;
        }
    };
    let joint = match kind {
        Some(kind) => Some(joint(import, idx, kind, mistakes)?),
        None => None,
    };
    let parent = element.child("parent").map_or("", |it| it.text());
    let poses = &import.graph.poses;
    let joint_in_model = poses[idx];
    let (from_body, from_pose) = if parent == WORLD {
        let world = world_body(import, element);
        (world, import.graph.world_from_model * joint_in_model)
    } else {
        let Some(parent_idx) = import.graph.find(&scope, parent) else {
            import.graph.unknown(element, parent, mistakes);
            return None;
        };
        let link = import.graph.link_of(parent_idx)?;
        let body = import.body_of(link)?;
        (body, poses[link].inverse_mul(&joint_in_model))
    };
    let link = import.graph.link_of(idx)?;
    let to_body = import.body_of(link)?;
    let to_pose = import.graph.poses[link].inverse_mul(&joint_in_model);
    let place = element.place();
    let hint = ours(element, "constraint");
    let bodies = &mut import.assembly.bodies;
    let sides = [(from_body, from_pose), (to_body, to_pose)];
    if let Some(hinted) = hint.and_then(|hint| hinted(hint, bodies, sides)) {
        return Some(Constraint {
            place,
            joint: joint.map(|joint| hinted.turned(joint)),
            ..hinted.constraint
        });
    }
    let short = name.rsplit('/').next().unwrap_or(&name).to_owned();
    let from = add_frame(&mut bodies[from_body], &short, &place, from_pose);
    let to = add_frame(&mut bodies[to_body], &short, &place, to_pose);
    Some(Constraint {
        from: FrameName::new(&bodies[from_body].name, from),
        to: FrameName::new(&bodies[to_body].name, to),
        name,
        place,
        joint,
        ..Constraint::default()
    })
}

/// A joint of our own export, between the frames that it names.
struct Hinted {
    constraint: Constraint,
    /// Whether the parent is where the constraint leads to.
    is_reversed: bool,
}

impl Hinted {
    fn turned(&self, joint: Joint) -> Joint {
        let axis = if self.is_reversed {
            joint.axis.map(|it| -it)
        } else {
            joint.axis
        };
        Joint { axis, ..joint }
    }
}

/// Reads what our own export has of a joint, given the bodies of its parent and child with the joint's poses.
fn hinted(
    hint: Element<'_>,
    bodies: &[Body],
    [parent, child]: [(usize, Transform); 2],
) -> Option<Hinted> {
    let from = FrameName::parse(hint.attribute("from")?)?;
    let to = FrameName::parse(hint.attribute("to")?)?;
    let is_reversed = bodies[parent.0].name != from.body;
    let (from_side, to_side) = if is_reversed {
        (child, parent)
    } else {
        (parent, child)
    };
    // From a frame to the joint, which is where the other frame is at 0.
    let frame_from_joint = |name: &FrameName, (body, body_from_joint): (usize, Transform)| {
        let body = &bodies[body];
        let frame = body.frames.iter().find(|it| it.name == name.frame)?;
        let pose = frame.body_from_frame.inverse_mul(&body_from_joint);
        (body.name == name.body).then_some(pose)
    };
    let from_from_joint = frame_from_joint(&from, from_side)?;
    let to_from_joint = frame_from_joint(&to, to_side)?;
    let constraint = Constraint {
        name: hint.attribute("name")?.to_owned(),
        from,
        to,
        from_from_to: from_from_joint * to_from_joint.inverse(),
        ..Constraint::default()
    };
    Some(Hinted {
        constraint,
        is_reversed,
    })
}

fn world_body(import: &mut Import<'_>, element: Element<'_>) -> usize {
    let bodies = &mut import.assembly.bodies;
    let found = bodies.iter().position(|body| body.name == WORLD);
    found.unwrap_or_else(|| {
        bodies.push(Body {
            name: WORLD.to_owned(),
            place: element.place(),
            ..Body::default()
        });
        bodies.len() - 1
    })
}

fn joint(
    import: &Import<'_>,
    idx: usize,
    kind: JointKind,
    mistakes: &mut Mistakes,
) -> Option<Joint> {
    let element = import.graph.entities[idx].element;
    let axis = element.child("axis");
    let direction = direction(import, idx, axis, mistakes)?;
    let limit = |name: &str| {
        let text = axis?.descend(&["limit", name])?.text();
        // Words and powers of ten that stand for no limit at all.
        let value: f64 = text.parse().ok()?;
        (value.abs() < 1e9).then_some(value)
    };
    let limits = match (limit("lower"), limit("upper")) {
        (Some(lower), Some(upper)) if lower < upper => Some([lower, upper]),
        (_, _) => None,
    };
    let hint = ours(element, "constraint");
    let [least, most] = limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
    let rest = hint
        .and_then(|hint| hint.number("rest", mistakes))
        .unwrap_or(0.0);
    let feed = hint.and_then(|hint| {
        let (scale, offset) = scaled(hint, mistakes);
        Some(Feed {
            channel: hint.attribute("channel")?.to_owned(),
            field: hint.attribute("field")?.to_owned(),
            scale,
            offset,
        })
    });
    let follows = match axis.and_then(|axis| axis.child("mimic")) {
        Some(mimic) => Some(mimics(mimic, mistakes)?),
        None => hint.and_then(|hint| {
            let (scale, offset) = scaled(hint, mistakes);
            let constraint = hint.attribute("follows")?.to_owned();
            Some(Follows {
                constraint,
                scale,
                offset,
            })
        }),
    };
    Some(Joint {
        kind,
        axis: direction,
        limits,
        rest: rest.clamp(least, most),
        feed,
        follows,
    })
}

/// The factor from a value of another joint to one of this joint's.
fn scaled(hint: Element<'_>, mistakes: &mut Mistakes) -> (f64, f64) {
    let scale = hint.number("scale", mistakes).unwrap_or(1.0);
    (scale, hint.number("offset", mistakes).unwrap_or(0.0))
}

fn mimics(mimic: Element<'_>, mistakes: &mut Mistakes) -> Option<Follows> {
    let leader = mimic.required("joint", mistakes)?;
    let mut number = |name: &str, usual: f64| match mimic.child(name) {
        Some(element) => {
            let found = numbers::<1>(element.text()).map(|[number]| number);
            if found.is_none() {
                bad_text(element, "a number", mistakes);
            }
            found
        }
        None => Some(usual),
    };
    let scale = number("multiplier", 1.0)?;
    let reference = number("reference", 0.0)?;
    Some(Follows {
        constraint: clean(leader),
        scale,
        offset: number("offset", 0.0)? - scale * reference,
    })
}

/// A joint's axis in its own coordinates.
fn direction(
    import: &Import<'_>,
    idx: usize,
    axis: Option<Element<'_>>,
    mistakes: &mut Mistakes,
) -> Option<Vec3> {
    let Some(xyz) = axis.and_then(|axis| axis.child("xyz")) else {
        return Some([0.0, 0.0, 1.0]);
    };
    let entity = &import.graph.entities[idx];
    debug_assert_eq!(entity.kind, Kind::Joint, "only joints have axes");
    let found = numbers::<3>(xyz.text()).filter(|it| norm(*it) > 1e-9);
    let Some(found) = found else {
        bad_text(xyz, "a direction of 3 numbers other than 0 0 0", mistakes);
        return None;
    };
    // Before SDF 1.7 that was a switch, and before 1.5 there was nothing else.
    let switch = axis.and_then(|axis| axis.child("use_parent_model_frame"));
    let is_of_model = match switch {
        Some(switch) => matches!(switch.text(), "1" | "true"),
        None => import.version < (1, 5),
    };
    let said = xyz
        .attribute("expressed_in")
        .filter(|name| !name.is_empty());
    let base = match said {
        Some(name) => Some(name),
        None if is_of_model => Some("__model__"),
        None => None,
    };
    let in_joint = match base {
        Some(name) => {
            let Some(base) = import.graph.find(&entity.scope, name) else {
                import.graph.unknown(xyz, name, mistakes);
                return None;
            };
            let poses = &import.graph.poses;
            poses[idx].inverse_mul(&poses[base]).turn(found)
        }
        None => found,
    };
    let length = norm(in_joint);
    Some(in_joint.map(|it| it / length))
}
