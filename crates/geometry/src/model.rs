//! The model server's heart: an assembly that was checked and compiled, to be asked.
//!
//! Bodies that constraints bind rigidly are one *group*; moving joints bind groups to trees; each tree is a *part*.
//! Every frame knows its pose in its group, and every group its pose in its part by the newest values of the joints, so a
//! question is answered with one product for a rigid pair and three for a moving one, however long the chain.
//! Groups are numbered so that those below a joint follow it: a new value touches one run of them.
//!
//! ```text
//!   Assembly ─▶ rules ─▶ compile ─▶ Model ◀── set(joint, value, utime)
//!                                     └─▶ transform(foi, for), transform_at(foi, for, utime), loops, covariance
//! ```

mod compile;
mod history;
mod joints;
mod names;
mod query;
mod rules;

pub use joints::{Accepted, JointId, JointInfo, SetJointError};
pub use query::{FindFrameError, TransformError};

use crate::assembly::{Assembly, Body};
use crate::mistake::Mistakes;
use crate::transform::Transform;
use joints::JointState;
use names::Names;

/// At most so many bodies in an assembly.
pub const MAX_BODIES: usize = 4_096;
/// At most so many frames in an assembly.
pub const MAX_FRAMES: usize = 16_384;

/// A checked and compiled assembly.
///
/// The poses of its frames never change but for joints, whose values come in by [`Model::set`].
#[derive(Clone, Debug)]
pub struct Model {
    assembly: Assembly,
    names: Names,
    frames: Vec<FrameEntry>,
    bodies: Vec<BodyEntry>,
    groups: Vec<Group>,
    joints: Vec<JointState>,
    /// Which constraint is which joint.
    joint_of: Vec<Option<JointId>>,
    loops: Vec<Loop>,
    n_parts: usize,
    epoch: u64,
}

/// A frame of a model. Cheap to keep, and the fast way to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(u32);

#[derive(Clone, Copy, Debug)]
struct FrameEntry {
    group: u32,
    body: u32,
    group_from_frame: Transform,
}

#[derive(Clone, Debug)]
struct BodyEntry {
    first_frame: usize,
    part: usize,
    /// The way to the first body of the part.
    up: Option<Edge>,
    depth: usize,
}

/// A constraint on the way from a body to the one that is nearer to the first of its part.
#[derive(Clone, Copy, Debug)]
struct Edge {
    constraint: usize,
    body: usize,
    /// Whether the constraint leads from the nearer body to this one.
    is_down: bool,
}

/// Bodies that do not move in relation to each other.
#[derive(Clone, Debug)]
struct Group {
    part: u32,
    /// The joint that binds it to the group that is nearer to the first of the part.
    up: Option<Hinge>,
    /// This group and those below it are so many, in a row.
    n_below: u32,
    /// How many joints between here and the first group have no value yet.
    n_untold: u32,
    /// By the newest values of the joints, or at rest.
    part_from_group: Transform,
}

/// What is between two groups: `parent_from_child = before * motion about z * after`.
#[derive(Clone, Copy, Debug)]
struct Hinge {
    parent: u32,
    joint: JointId,
    before: Transform,
    after: Transform,
    /// The parent's `after` times this `before`: what is between two joints of a chain.
    bridge: Transform,
}

/// Constraints that lead back to where they began.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The constraint that closes it, an index into the assembly's.
    pub closed_by: usize,
    /// All of its constraints, from the one that closes it.
    pub constraints: Vec<usize>,
    /// The bodies that it leads through.
    pub bodies: Vec<usize>,
    /// How far the closing frame is from where the rest of the loop has it, with joints at rest.
    pub distance_m: f64,
    /// How far it is turned against that.
    pub angle_rad: f64,
}

impl Model {
    /// Checks an assembly and compiles it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it: [`Mistakes`] has the rules.
    pub fn new(assembly: Assembly) -> Result<Self, Mistakes> {
        let resolved = rules::check(&assembly)?;
        Ok(compile::compile(assembly, &resolved))
    }

    /// What it was made from.
    #[must_use]
    pub const fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// The names of all bodies: DRDC's `getBodyList`.
    pub fn body_list(&self) -> impl Iterator<Item = &str> {
        self.assembly.bodies.iter().map(|body| body.name.as_str())
    }

    /// The names of a body's frames: DRDC's `getBodyFrameList`.
    ///
    /// # Errors
    ///
    /// When there is no such body.
    pub fn frame_list(&self, body: &str) -> Result<impl Iterator<Item = &str>, FindFrameError> {
        let body = self.body(body)?;
        Ok(body.frames.iter().map(|frame| frame.name.as_str()))
    }

    /// A body by its name.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn body(&self, name: &str) -> Result<&Body, FindFrameError> {
        let found = self.assembly.bodies.iter().find(|body| body.name == name);
        found.ok_or_else(|| self.no_such_body(name, name))
    }

    /// All frames, body by body.
    pub fn frames(&self) -> impl Iterator<Item = FrameId> + use<> {
        // Their number is bounded far below.
        let n_frames = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
        (0..n_frames).map(FrameId)
    }

    /// The body that a frame is on, an index into the assembly's, if it is a frame of this model.
    #[must_use]
    pub fn body_of(&self, frame: FrameId) -> Option<usize> {
        Some(self.entry(frame)?.body as usize)
    }

    /// `Body:Frame`; empty if it is not a frame of this model.
    #[must_use]
    pub fn name_of(&self, frame: FrameId) -> &str {
        self.names.of(frame)
    }

    /// Loops of constraints, and how well each of them closes.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The loops that do not close as well as the assembly requires.
    pub fn open_loops(&self) -> impl Iterator<Item = &Loop> {
        let tolerance = self.assembly.tolerance;
        self.loops.iter().filter(move |it| {
            it.distance_m > tolerance.distance_m || it.angle_rad > tolerance.angle_rad
        })
    }

    /// The parts that no constraint connects: for each, its bodies as indices into the assembly's.
    #[must_use]
    pub fn parts(&self) -> Vec<Vec<usize>> {
        let mut parts = vec![Vec::new(); self.n_parts];
        for (idx, body) in self.bodies.iter().enumerate() {
            parts[body.part].push(idx);
        }
        parts
    }

    /// The constraint and the body that lead from a body towards the first body of its part, as indices into the
    /// assembly's; none for that first body.
    #[must_use]
    pub fn parent_of(&self, body: usize) -> Option<(usize, usize)> {
        let edge = self.bodies.get(body)?.up?;
        Some((edge.constraint, edge.body))
    }

    /// Counts up whenever a joint gets a value, so that what was made from transforms can be made anew.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    fn entry(&self, frame: FrameId) -> Option<&FrameEntry> {
        self.frames.get(frame.0 as usize)
    }
}
