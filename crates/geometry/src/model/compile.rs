//! Makes a model of an assembly that keeps the rules: groups, parts, loops, and every frame's pose in its group.

use super::joints::{Follower, JointState};
use super::names::Names;
use super::rules::{End, Resolved};
use super::{BodyEntry, Edge, FrameEntry, Group, Hinge, JointId, Loop, Model};
use crate::assembly::Assembly;
use crate::transform::Transform;
use std::collections::VecDeque;

pub(super) fn compile(assembly: Assembly, resolved: &Resolved) -> Model {
    let rigid = Forest::grow(&assembly, resolved, |idx| {
        assembly.constraints[idx].joint.is_none()
    });
    let groups = Groups::connect(&assembly, resolved, &rigid);
    let whole = Forest::grow(&assembly, resolved, |idx| {
        rigid.is_used[idx] || groups.is_used[idx]
    });
    let (joints, joint_of) = make_joints(&assembly, resolved);
    let mut model = Model {
        names: Names::new(full_names(&assembly)),
        frames: frames(&assembly, &rigid, &groups),
        bodies: bodies(&assembly, &whole),
        groups: Vec::new(),
        n_parts: whole.roots.len(),
        loops: Vec::new(),
        epoch: 0,
        joints,
        joint_of,
        assembly,
    };
    hang(&mut model, resolved, &rigid, &groups);
    let is_closing = |idx: &usize| !whole.is_used[*idx];
    let closing: Vec<usize> = (0..model.assembly.constraints.len())
        .filter(is_closing)
        .collect();
    model.loops = closing
        .into_iter()
        .map(|idx| close(&model, resolved, idx))
        .collect();
    model
}

fn full_names(assembly: &Assembly) -> Vec<String> {
    let bodies = assembly.bodies.iter();
    let names = bodies.flat_map(|body| {
        let frames = body.frames.iter();
        frames.map(move |frame| format!("{}:{}", body.name, frame.name))
    });
    names.collect()
}

/// Bodies, reached from the first of each part along as few constraints as possible.
struct Forest {
    /// The first body of each tree.
    roots: Vec<usize>,
    tree: Vec<usize>,
    up: Vec<Option<Edge>>,
    depth: Vec<usize>,
    root_from_body: Vec<Transform>,
    /// Which constraints it grew along.
    is_used: Vec<bool>,
}

impl Forest {
    const UNREACHED: usize = usize::MAX;

    fn grow(assembly: &Assembly, resolved: &Resolved, is_wanted: impl Fn(usize) -> bool) -> Self {
        let n_bodies = assembly.bodies.len();
        let mut forest = Self {
            roots: Vec::new(),
            tree: vec![Self::UNREACHED; n_bodies],
            up: vec![None; n_bodies],
            depth: vec![0; n_bodies],
            root_from_body: vec![Transform::IDENTITY; n_bodies],
            is_used: vec![false; assembly.constraints.len()],
        };
        let mut around: Vec<Vec<(usize, bool)>> = vec![Vec::new(); n_bodies];
        for (idx, [from, to]) in resolved.ends.iter().enumerate() {
            if is_wanted(idx) {
                around[from.body].push((idx, true));
                around[to.body].push((idx, false));
            }
        }
        for root in 0..n_bodies {
            if forest.tree[root] == Self::UNREACHED {
                forest.grow_from(root, assembly, resolved, &around);
            }
        }
        forest
    }

    fn grow_from(
        &mut self,
        root: usize,
        assembly: &Assembly,
        resolved: &Resolved,
        around: &[Vec<(usize, bool)>],
    ) {
        let tree = self.roots.len();
        self.roots.push(root);
        self.tree[root] = tree;
        let mut rim = VecDeque::from([root]);
        while let Some(body) = rim.pop_front() {
            for &(idx, is_down) in &around[body] {
                let [from, to] = resolved.ends[idx];
                let next = if is_down { to.body } else { from.body };
                if self.tree[next] != Self::UNREACHED {
                    continue;
                }
                self.tree[next] = tree;
                self.is_used[idx] = true;
                self.up[next] = Some(Edge {
                    constraint: idx,
                    body,
                    is_down,
                });
                self.depth[next] = self.depth[body] + 1;
                let step = body_from_next(assembly, resolved, idx, is_down);
                self.root_from_body[next] = self.root_from_body[body] * step;
                rim.push_back(next);
            }
        }
    }
}

fn pose_of(assembly: &Assembly, end: End) -> Transform {
    assembly.bodies[end.body].frames[end.frame].body_from_frame
}

/// Across a constraint that does not move, from the origin of one body to that of the other.
fn body_from_next(
    assembly: &Assembly,
    resolved: &Resolved,
    idx: usize,
    is_down: bool,
) -> Transform {
    let [from, to] = resolved.ends[idx];
    let from_body = pose_of(assembly, from) * assembly.constraints[idx].from_from_to;
    let across = from_body * pose_of(assembly, to).inverse();
    if is_down { across } else { across.inverse() }
}

/// The groups in their order, each after the one that it hangs from and all of what hangs from it after it.
struct Groups {
    /// For each tree of the rigid forest, its number as a group.
    number: Vec<u32>,
    part: Vec<u32>,
    /// For each group, the one above it and the constraint between.
    up: Vec<Option<(u32, usize)>>,
    /// Which constraints connect groups.
    is_used: Vec<bool>,
}

impl Groups {
    fn connect(assembly: &Assembly, resolved: &Resolved, rigid: &Forest) -> Self {
        const UNREACHED: u32 = u32::MAX;
        let n_groups = rigid.roots.len();
        let mut groups = Self {
            number: vec![UNREACHED; n_groups],
            part: Vec::new(),
            up: Vec::new(),
            is_used: vec![false; assembly.constraints.len()],
        };
        let mut around: Vec<Vec<(usize, usize)>> = vec![Vec::new(); n_groups];
        for (idx, [from, to]) in resolved.ends.iter().enumerate() {
            if assembly.constraints[idx].joint.is_some() {
                let (from, to) = (rigid.tree[from.body], rigid.tree[to.body]);
                around[from].push((idx, to));
                around[to].push((idx, from));
            }
        }
        let mut n_parts = 0;
        for first in 0..n_groups {
            if groups.number[first] != UNREACHED {
                continue;
            }
            let mut waiting = vec![(first, None)];
            while let Some((tree, up)) = waiting.pop() {
                if groups.number[tree] != UNREACHED {
                    continue;
                }
                let number = u32::try_from(groups.up.len()).expect("bodies are bounded");
                groups.number[tree] = number;
                groups.part.push(n_parts);
                groups.up.push(up);
                if let Some((_, constraint)) = up {
                    groups.is_used[constraint] = true;
                }
                let next = around[tree].iter().rev();
                waiting.extend(next.map(|(idx, next)| (*next, Some((number, *idx)))));
            }
            n_parts += 1;
        }
        groups
    }
}

fn frames(assembly: &Assembly, rigid: &Forest, groups: &Groups) -> Vec<FrameEntry> {
    let mut entries = Vec::new();
    for (body, declared) in (0..).zip(&assembly.bodies) {
        let idx = body as usize;
        entries.extend(declared.frames.iter().map(|frame| FrameEntry {
            group: groups.number[rigid.tree[idx]],
            body,
            group_from_frame: rigid.root_from_body[idx] * frame.body_from_frame,
        }));
    }
    entries
}

fn bodies(assembly: &Assembly, whole: &Forest) -> Vec<BodyEntry> {
    let mut first_frame = 0;
    let mut entries = Vec::new();
    for (idx, body) in assembly.bodies.iter().enumerate() {
        entries.push(BodyEntry {
            first_frame,
            part: whole.tree[idx],
            up: whole.up[idx],
            depth: whole.depth[idx],
        });
        first_frame += body.frames.len();
    }
    entries
}

fn make_joints(
    assembly: &Assembly,
    resolved: &Resolved,
) -> (Vec<JointState>, Vec<Option<JointId>>) {
    let mut joints = Vec::new();
    let mut joint_of = Vec::new();
    for (idx, constraint) in assembly.constraints.iter().enumerate() {
        joint_of.push(constraint.joint.as_ref().map(|joint| {
            joints.push(JointState::new(idx, joint));
            JointId(u32::try_from(joints.len() - 1).expect("constraints are bounded"))
        }));
    }
    for (idx, constraint) in assembly.constraints.iter().enumerate() {
        let joint = constraint.joint.as_ref();
        let follows = joint.and_then(|joint| joint.follows.as_ref());
        let leader = resolved.leaders[idx].and_then(|leader| joint_of[leader]);
        if let (Some(follows), Some(leader), Some(joint)) = (follows, leader, joint_of[idx]) {
            let rest = joints[leader.0 as usize].value;
            joints[joint.0 as usize].value = follows.scale * rest + follows.offset;
            joints[leader.0 as usize].followers.push(Follower {
                joint,
                scale: follows.scale,
                offset: follows.offset,
            });
        }
    }
    (joints, joint_of)
}

/// Hangs every group from the one above it, with all joints at rest.
fn hang(model: &mut Model, resolved: &Resolved, rigid: &Forest, groups: &Groups) {
    for (number, up) in groups.up.iter().enumerate() {
        let number = u32::try_from(number).expect("bodies are bounded");
        let hinge = up.and_then(|(parent, idx)| {
            let joint = model.joint_of[idx]?;
            model.joints[joint.0 as usize].group = Some(number);
            let (before, after) = hinge_poses(model, resolved, rigid, groups, (idx, number));
            let above = model.groups[parent as usize].up.as_ref();
            let bridge = above.map_or(before, |above| above.after * before);
            Some(Hinge {
                parent,
                joint,
                before,
                after,
                bridge,
            })
        });
        let n_above = up.map_or(0, |(parent, _)| model.groups[parent as usize].n_untold);
        model.groups.push(Group {
            part: groups.part[number as usize],
            n_untold: n_above + u32::from(hinge.is_some()),
            up: hinge,
            n_below: 1,
            part_from_group: Transform::IDENTITY,
        });
    }
    for number in (0..model.groups.len()).rev() {
        if let Some(parent) = model.groups[number].up.as_ref().map(|hinge| hinge.parent) {
            model.groups[parent as usize].n_below += model.groups[number].n_below;
        }
    }
    for number in 0..model.groups.len() {
        if model.groups[number].up.is_none() {
            model.refresh(u32::try_from(number).expect("bodies are bounded"));
        }
    }
}

/// What is above and below a joint's motion, in a basis whose z is its axis.
fn hinge_poses(
    model: &Model,
    resolved: &Resolved,
    rigid: &Forest,
    groups: &Groups,
    (idx, child): (usize, u32),
) -> (Transform, Transform) {
    let assembly = &model.assembly;
    let constraint = &assembly.constraints[idx];
    let [from, to] = resolved.ends[idx];
    let in_group = |end: End| rigid.root_from_body[end.body] * pose_of(assembly, end);
    let axis = constraint
        .joint
        .as_ref()
        .map_or([0.0, 0.0, 1.0], |joint| joint.axis);
    let is_down = groups.number[rigid.tree[to.body]] == child;
    // Crossed against its direction, it turns the other way round.
    let axis = if is_down { axis } else { axis.map(|it| -it) };
    let basis = Transform::with_z_along(axis);
    let above = in_group(from) * constraint.from_from_to;
    let below = in_group(to);
    let (above, below) = if is_down {
        (above, below)
    } else {
        (below, above)
    };
    (above * basis, (below * basis).inverse())
}

/// How well a constraint that closes a loop agrees with the rest of it.
fn close(model: &Model, resolved: &Resolved, idx: usize) -> Loop {
    let [from, to] = resolved.ends[idx];
    let constraint = &model.assembly.constraints[idx];
    let crossed = model.crossed(to.body, from.body).unwrap_or_default();
    let mut bodies = vec![from.body, to.body];
    let mut at = to.body;
    for (idx, is_forward) in &crossed {
        let [from, to] = resolved.ends[*idx];
        at = if *is_forward { to.body } else { from.body };
        bodies.push(at);
    }
    debug_assert_eq!(at, from.body, "a loop leads back to where it began");
    bodies.pop();
    let entry = |end: End| {
        let entry = &model.frames[model.bodies[end.body].first_frame + end.frame];
        model.groups[entry.group as usize].part_from_group * entry.group_from_frame
    };
    let value = model.joint_of[idx].map_or(0.0, |joint| model.joints[joint.0 as usize].value);
    let declared = constraint.from_from_to * model.motion(idx, value);
    let found = entry(from).inverse_mul(&entry(to));
    let off = found.inverse_mul(&declared);
    let others = crossed.into_iter().map(|(idx, _)| idx);
    Loop {
        closed_by: idx,
        constraints: std::iter::once(idx).chain(others).collect(),
        bodies,
        distance_m: off.distance_m(),
        angle_rad: off.angle_rad(),
    }
}
