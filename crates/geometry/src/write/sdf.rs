//! The simulator's vehicle model, from an assembly: so that real and simulated geometry cannot disagree.
//!
//! A body becomes a link, a frame a `<frame>` called `Body:Frame`, a constraint a joint, with joints at 0. Poses are
//! written as quaternions with all of their digits. What SDF has no word for (which frames a joint is between, where its
//! value comes from) is in elements of our own namespace, which simulators pass over and our reader uses.

mod sensor;

use super::markup::Markup;
use crate::assembly::{Body, Constraint, Joint, JointKind};
use crate::mistake::{Fault, Mistake, Mistakes};
use crate::model::Model;
use crate::read::sdf::NAMESPACE;
use crate::shape::{Mass, Role, Shape, ShapeKind};
use crate::transform::{Transform, Vec3};
use std::collections::BTreeSet;

/// Writes a model as SDF, and lists what had to be left out.
#[must_use]
pub fn to_sdf(model: &Model) -> (String, Vec<Mistake>) {
    let mut notes = Mistakes::new();
    let mut out = Markup::default();
    let assembly = model.assembly();
    let file = &assembly.place.file;
    out.open("sdf", &[("version", "1.9"), ("xmlns:bowline", NAMESPACE)]);
    out.comment(&format!(
        "Written by `bowline model export --sdf` from {file}: change that, not this."
    ));
    out.open("model", &[("name", &assembly.name)]);
    let tolerance = assembly.tolerance;
    out.empty(
        "bowline:assembly",
        &[
            ("tolerance_m", &tolerance.distance_m.to_string()),
            ("tolerance_rad", &tolerance.angle_rad.to_string()),
        ],
    );
    let poses = body_poses(model);
    for (body, pose) in assembly.bodies.iter().zip(&poses) {
        write_link(&mut out, body, pose, &mut notes);
    }
    for body in &assembly.bodies {
        for frame in &body.frames {
            let name = format!("{}:{}", body.name, frame.name);
            out.open("frame", &[("name", &name), ("attached_to", &body.name)]);
            write_pose(&mut out, &frame.body_from_frame);
            out.close();
        }
    }
    write_joints(&mut out, model, &mut notes);
    if model.parts().len() > 1 {
        let left_out = "the parts that nothing connects all stand at the model's origin";
        let fault = Fault::LeftOut(left_out.to_owned());
        notes.push(assembly.place.clone(), fault);
    }
    (out.finish(), notes.take())
}

/// Every body in coordinates of the first of its part, with joints at 0.
fn body_poses(model: &Model) -> Vec<Transform> {
    let assembly = model.assembly();
    let mut poses: Vec<Option<Transform>> = vec![None; assembly.bodies.len()];
    for body in 0..poses.len() {
        let mut chain = vec![body];
        let mut at = body;
        while poses[at].is_none()
            && let Some((_, parent)) = model.parent_of(at)
        {
            chain.push(parent);
            at = parent;
        }
        for body in chain.into_iter().rev() {
            if poses[body].is_some() {
                continue;
            }
            let pose = model.parent_of(body).map(|(constraint, parent)| {
                let parent_from_body = across(model, &assembly.constraints[constraint], parent);
                poses[parent].unwrap_or_default() * parent_from_body
            });
            poses[body] = Some(pose.unwrap_or_default());
        }
    }
    poses.into_iter().map(Option::unwrap_or_default).collect()
}

/// A constraint's two frames in coordinates of their bodies.
fn ends(model: &Model, constraint: &Constraint) -> [Transform; 2] {
    [&constraint.from, &constraint.to].map(|name| {
        let body = model.body(&name.body).ok();
        let frames = body.map_or(&[][..], |body| &body.frames);
        let frame = frames.iter().find(|frame| frame.name == name.frame);
        frame.map_or(Transform::IDENTITY, |frame| frame.body_from_frame)
    })
}

fn is_reversed(model: &Model, constraint: &Constraint, parent: usize) -> bool {
    model.assembly().bodies[parent].name != constraint.from.body
}

/// From a body to the next, across a constraint at 0.
fn across(model: &Model, constraint: &Constraint, parent: usize) -> Transform {
    let [from, to] = ends(model, constraint);
    let pose = from * constraint.from_from_to * to.inverse();
    if is_reversed(model, constraint, parent) {
        pose.inverse()
    } else {
        pose
    }
}

fn joined<const N: usize>(numbers: [f64; N]) -> String {
    // Shortest digits that read back as the same number; a zero has no sign.
    numbers.map(|it| (it + 0.0).to_string()).join(" ")
}

fn write_pose(out: &mut Markup, pose: &Transform) {
    let ([x, y, z], [qw, qx, qy, qz]) = (pose.xyz(), pose.quat());
    let text = joined([x, y, z, qx, qy, qz, qw]);
    out.leaf("pose", &[("rotation_format", "quat_xyzw")], &text);
}

fn number(out: &mut Markup, name: &'static str, value: f64) {
    out.leaf(name, &[], &joined([value]));
}

fn write_link(out: &mut Markup, body: &Body, pose: &Transform, notes: &mut Mistakes) {
    out.open("link", &[("name", &body.name)]);
    write_pose(out, pose);
    match &body.mass {
        Some(mass) => write_mass(out, mass),
        None => {
            let left_out = format!(
                "the body {:?} has no <mass>: simulators will take 1 kg",
                body.name
            );
            notes.push(body.place.clone(), Fault::LeftOut(left_out));
        }
    }
    for (nth, shape) in body.shapes.iter().enumerate() {
        let is_wanted = |role| shape.role == Role::Both || shape.role == role;
        if is_wanted(Role::Visual) {
            write_shape(out, "visual", nth, shape);
        }
        if is_wanted(Role::Collision) {
            write_shape(out, "collision", nth, shape);
        }
    }
    for element in &body.elements {
        if element.is_sensor() {
            sensor::sensor(out, &body.name, element);
        } else {
            sensor::device(out, element);
        }
    }
    out.close();
}

fn write_mass(out: &mut Markup, mass: &Mass) {
    out.open("inertial", &[]);
    write_pose(out, &mass.body_from_centre);
    number(out, "mass", mass.mass_kg);
    if let Some(inertia) = mass.inertia_kgm2 {
        out.open("inertia", &[]);
        for (name, value) in ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"]
            .into_iter()
            .zip(inertia)
        {
            number(out, name, value);
        }
        out.close();
    }
    out.close();
}

fn write_shape(out: &mut Markup, role: &'static str, nth: usize, shape: &Shape) {
    out.open(role, &[("name", &format!("{role}_{nth}"))]);
    write_pose(out, &shape.body_from_shape);
    out.open("geometry", &[]);
    match &shape.kind {
        ShapeKind::Box { size_m } => {
            out.open("box", &[]);
            out.leaf("size", &[], &joined(*size_m));
        }
        ShapeKind::Cylinder { radius_m, length_m } => {
            out.open("cylinder", &[]);
            number(out, "radius", *radius_m);
            number(out, "length", *length_m);
        }
        ShapeKind::Sphere { radius_m } => {
            out.open("sphere", &[]);
            number(out, "radius", *radius_m);
        }
        ShapeKind::Mesh { file, scale } => {
            out.open("mesh", &[]);
            out.leaf("uri", &[], file);
            out.leaf("scale", &[], &joined(*scale));
        }
    }
    for _ in 0..3 {
        out.close();
    }
}

fn write_joints(out: &mut Markup, model: &Model, notes: &mut Mistakes) {
    let assembly = model.assembly();
    // Names are unique in all of a model there, and a simulator wants joints to be a tree.
    let mut taken: BTreeSet<String> = assembly.bodies.iter().map(|it| it.name.clone()).collect();
    let bodies = 0..assembly.bodies.len();
    let mut tree: Vec<(usize, usize, usize)> = bodies
        .filter_map(|body| {
            let (constraint, parent) = model.parent_of(body)?;
            Some((constraint, parent, body))
        })
        .collect();
    tree.sort_unstable();
    for (idx, parent, child) in tree {
        let constraint = &assembly.constraints[idx];
        let mut name = constraint.name.clone();
        while !taken.insert(name.clone()) {
            name += "_joint";
        }
        write_joint(out, model, constraint, &name, [parent, child]);
    }
    for it in model.loops() {
        let constraint = &assembly.constraints[it.closed_by];
        let left_out = format!(
            "the constraint {:?} closes a loop, so it is left out",
            constraint.name
        );
        notes.push(constraint.place.clone(), Fault::LeftOut(left_out));
    }
}

fn write_joint(
    out: &mut Markup,
    model: &Model,
    constraint: &Constraint,
    name: &str,
    [parent, child]: [usize; 2],
) {
    let bodies = &model.assembly().bodies;
    let is_reversed = is_reversed(model, constraint, parent);
    let [from, to] = ends(model, constraint);
    let child_from_joint = if is_reversed {
        from * constraint.from_from_to
    } else {
        to
    };
    let kind = match constraint.joint.as_ref().map(|joint| joint.kind) {
        None => "fixed",
        Some(JointKind::Revolute) => "revolute",
        Some(JointKind::Prismatic) => "prismatic",
    };
    out.open("joint", &[("name", name), ("type", kind)]);
    out.leaf("parent", &[], &bodies[parent].name);
    out.leaf("child", &[], &bodies[child].name);
    write_pose(out, &child_from_joint);
    if let Some(joint) = &constraint.joint {
        // Seen from the other side it turns the other way round.
        let axis = if is_reversed {
            joint.axis.map(|it| -it)
        } else {
            joint.axis
        };
        write_axis(out, joint, axis);
    }
    write_hint(out, constraint);
    out.close();
}

fn write_axis(out: &mut Markup, joint: &Joint, axis: Vec3) {
    out.open("axis", &[]);
    out.leaf("xyz", &[], &joined(axis));
    out.open("limit", &[]);
    match joint.limits {
        Some([lower, upper]) => {
            number(out, "lower", lower);
            number(out, "upper", upper);
        }
        None => {
            out.leaf("lower", &[], "-1e16");
            out.leaf("upper", &[], "1e16");
        }
    }
    out.close();
    out.close();
}

fn write_hint(out: &mut Markup, constraint: &Constraint) {
    let (from, to) = (constraint.from.to_string(), constraint.to.to_string());
    let mut attributes = vec![
        ("name", constraint.name.clone()),
        ("from", from),
        ("to", to),
    ];
    if let Some(joint) = &constraint.joint {
        attributes.push(("rest", joint.rest.to_string()));
        let scaled = |scale: f64, offset: f64| {
            [("scale", scale.to_string()), ("offset", offset.to_string())]
        };
        if let Some(feed) = &joint.feed {
            attributes.push(("channel", feed.channel.clone()));
            attributes.push(("field", feed.field.clone()));
            attributes.extend(scaled(feed.scale, feed.offset));
        }
        if let Some(follows) = &joint.follows {
            attributes.push(("follows", follows.constraint.clone()));
            attributes.extend(scaled(follows.scale, follows.offset));
        }
    }
    let attributes: Vec<(&str, &str)> = attributes
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    out.empty("bowline:constraint", &attributes);
}
