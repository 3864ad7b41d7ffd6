//! Random models, files in memory, and DRDC's own search to compare with.

use bowline_geometry::{
    Assembly, Body, BodyFrame, Constraint, Covariance, FrameName, Joint, JointKind, Loaded,
    Mistakes, Model, Transform, load,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files in memory.
pub(crate) fn files(texts: &[(&str, &str)]) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = texts.iter();
    files
        .map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec()))
        .collect()
}

/// The first of some files, with the others beside it.
pub(crate) fn read(texts: &[(&str, &str)]) -> Result<Loaded, Mistakes> {
    load(Path::new(texts[0].0), &mut files(texts))
}

/// The model in some files.
pub(crate) fn model(texts: &[(&str, &str)]) -> Model {
    let loaded = read(texts).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

pub(crate) fn raptor() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/raptor/raptor.xml")
}

/// How far two poses are apart: the larger of metres and radians.
pub(crate) fn apart(a: &Transform, b: &Transform) -> f64 {
    let off = a.inverse_mul(b);
    off.distance_m().max(off.angle_rad())
}

pub(crate) fn any_transform() -> impl Strategy<Value = Transform> {
    let shift = prop::array::uniform3(-5.0..5.0_f64);
    let turn = prop::array::uniform3(-3.2..3.2_f64);
    (shift, turn).prop_map(|(xyz, rpy)| Transform::from_xyz_rpy(xyz, rpy))
}

fn any_axis() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(-1.0..1.0_f64).prop_filter_map("an axis has a direction", |axis| {
        let length = axis.iter().map(|it| it * it).sum::<f64>().sqrt();
        (length > 0.1).then(|| axis.map(|it| it / length))
    })
}

#[derive(Clone, Debug)]
struct Bond {
    parent: prop::sample::Index,
    poses: [Transform; 3],
    is_reversed: bool,
    /// Kind by number: rigid, rigid, turns, slides.
    kind: u8,
    axis: [f64; 3],
    is_cut: bool,
}

fn any_bond() -> impl Strategy<Value = Bond> {
    (
        any::<prop::sample::Index>(),
        prop::array::uniform3(any_transform()),
        any::<bool>(),
        0..4_u8,
        any_axis(),
        prop::bool::weighted(0.15),
    )
        .prop_map(|(parent, poses, is_reversed, kind, axis, is_cut)| Bond {
            parent,
            poses,
            is_reversed,
            kind,
            axis,
            is_cut,
        })
}

/// Any assembly without loops: bodies hang from earlier ones, rigidly or not, one way or the other, or not at all.
pub(crate) fn any_assembly() -> impl Strategy<Value = Assembly> {
    prop::collection::vec(any_bond(), 1..14).prop_map(|bonds| {
        let mut assembly = Assembly {
            name: "random".to_owned(),
            ..Assembly::default()
        };
        assembly.bodies.push(body(0));
        for (idx, bond) in bonds.iter().enumerate() {
            let child = idx + 1;
            assembly.bodies.push(body(child));
            let parent = bond.parent.index(child);
            let [at_parent, at_child, between] = bond.poses;
            let mut ends = [(parent, at_parent), (child, at_child)].map(|(body, pose)| {
                let name = format!("c{idx}");
                assembly.bodies[body].frames.push(frame(&name, pose));
                FrameName::new(&assembly.bodies[body].name, name)
            });
            if bond.is_reversed {
                ends.reverse();
            }
            let [from, to] = ends;
            let kind = match bond.kind {
                2 => Some(JointKind::Revolute),
                3 => Some(JointKind::Prismatic),
                _ => None,
            };
            if !bond.is_cut {
                assembly.constraints.push(Constraint {
                    name: format!("c{idx}"),
                    from,
                    to,
                    from_from_to: between,
                    joint: kind.map(|kind| joint(kind, bond.axis)),
                    ..Constraint::default()
                });
            }
        }
        assembly
    })
}

pub(crate) fn joint(kind: JointKind, axis: [f64; 3]) -> Joint {
    Joint {
        kind,
        axis,
        limits: Some([-3.0, 3.0]),
        rest: 0.0,
        feed: None,
        follows: None,
    }
}

pub(crate) fn body(idx: usize) -> Body {
    Body {
        name: format!("b{idx}"),
        frames: vec![frame("origin", Transform::IDENTITY)],
        ..Body::default()
    }
}

pub(crate) fn frame(name: &str, pose: Transform) -> BodyFrame {
    BodyFrame {
        name: name.to_owned(),
        body_from_frame: pose,
        covariance: Some(Covariance::ZERO),
        ..BodyFrame::default()
    }
}

/// DRDC's search, as the paper describes it: depth first from the frame of reference, with the path as a stack; a frame
/// that is on the path already is a cycle, and the next branch is tried.
pub(crate) fn search(
    assembly: &Assembly,
    values: &dyn Fn(&str) -> f64,
    foi: &FrameName,
    reference: &FrameName,
) -> Option<Transform> {
    let mut path = Vec::new();
    visit(assembly, values, foi, reference, &mut path)
}

fn visit(
    assembly: &Assembly,
    values: &dyn Fn(&str) -> f64,
    foi: &FrameName,
    at: &FrameName,
    path: &mut Vec<FrameName>,
) -> Option<Transform> {
    let body = assembly.bodies.iter().find(|it| it.name == at.body)?;
    let pose = |name: &str| {
        let frame = body.frames.iter().find(|it| it.name == name);
        frame.map(|frame| frame.body_from_frame)
    };
    let here = pose(&at.frame)?;
    if foi.body == at.body {
        return Some(here.inverse() * pose(&foi.frame)?);
    }
    for frame in &body.frames {
        let name = FrameName::new(&body.name, &frame.name);
        for constraint in &assembly.constraints {
            let moved = constraint
                .joint
                .as_ref()
                .map_or(Transform::IDENTITY, |joint| {
                    joint.motion(values(&constraint.name))
                });
            let across = constraint.from_from_to * moved;
            let (next, step) = if constraint.from == name {
                (&constraint.to, across)
            } else if constraint.to == name {
                (&constraint.from, across.inverse())
            } else {
                continue;
            };
            if path.contains(next) || path.contains(&name) {
                continue;
            }
            path.push(name.clone());
            path.push(next.clone());
            let found = visit(assembly, values, foi, next, path);
            path.truncate(path.len() - 2);
            if let Some(rest) = found {
                return Some(here.inverse() * frame.body_from_frame * step * rest);
            }
        }
    }
    None
}
