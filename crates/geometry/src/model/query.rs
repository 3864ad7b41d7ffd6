//! Questions, and their answers.

use super::history::Gap;
use super::joints::JointState;
use super::{FrameEntry, FrameId, Group, Hinge, Model};
use crate::assembly::FrameName;
use crate::covariance::{Covariance, Step, propagate};
use crate::mistake::did_you_mean;
use crate::transform::Transform;
use bowline_wire::suggest::nearest;

impl Model {
    /// A frame by its name, `Body:Frame`.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn frame(&self, name: &str) -> Result<FrameId, FindFrameError> {
        let found = self.names.find(name);
        found.ok_or_else(|| self.no_such_frame(name))
    }

    /// The pose of the frame of interest in coordinates of the frame of reference, by their names: DRDC's
    /// `getTransformation`. Joints have their newest values.
    ///
    /// # Errors
    ///
    /// As [`Self::transform`], and when there is no such frame.
    pub fn transform_by_name(
        &self,
        foi: &str,
        reference: &str,
    ) -> Result<Transform, TransformError> {
        match (self.names.find(foi), self.names.find(reference)) {
            (Some(foi), Some(reference)) => self.transform(foi, reference),
            (None, _) => Err(self.no_such_frame(foi).into()),
            (_, None) => Err(self.no_such_frame(reference).into()),
        }
    }

    /// The pose of the frame of interest in coordinates of the frame of reference. Joints have their newest values.
    ///
    /// # Errors
    ///
    /// When nothing connects the two, or a joint between them has no value.
    #[inline]
    pub fn transform(&self, foi: FrameId, reference: FrameId) -> Result<Transform, TransformError> {
        let (Some(a), Some(b)) = (self.entry(foi), self.entry(reference)) else {
            return Err(TransformError::ForeignHandle);
        };
        if a.group == b.group {
            return Ok(b.group_from_frame.inverse_mul(&a.group_from_frame));
        }
        let (above_a, above_b) = (self.group(a), self.group(b));
        if above_a.part != above_b.part || above_a.n_untold + above_b.n_untold > 0 {
            self.check_told(foi, reference)?;
        }
        let part_from_a = above_a.part_from_group * a.group_from_frame;
        let part_from_b = above_b.part_from_group * b.group_from_frame;
        Ok(part_from_b.inverse_mul(&part_from_a))
    }

    /// The pose of the frame of interest in coordinates of the frame of reference at a time, in microseconds since the
    /// epoch. Values of joints are interpolated.
    ///
    /// # Errors
    ///
    /// When nothing connects the two, or the value of a joint between them is not known at that time.
    pub fn transform_at(
        &self,
        foi: FrameId,
        reference: FrameId,
        utime: i64,
    ) -> Result<Transform, TransformError> {
        let (Some(a), Some(b)) = (self.entry(foi), self.entry(reference)) else {
            return Err(TransformError::ForeignHandle);
        };
        if a.group == b.group {
            return Ok(b.group_from_frame.inverse_mul(&a.group_from_frame));
        }
        if self.group(a).part != self.group(b).part {
            return Err(self.not_connected(foi, reference));
        }
        let top = self.common(a.group, b.group);
        let top_from_a = self.climb_at(a, top, utime)?;
        let top_from_b = self.climb_at(b, top, utime)?;
        Ok(top_from_b.inverse_mul(&top_from_a))
    }

    /// How sure the pose of one frame in coordinates of another is, from the covariances in the files of each frame and
    /// constraint on the way between them. Joints have their newest values, or are at rest.
    ///
    /// # Errors
    ///
    /// When nothing connects the two.
    pub fn covariance(
        &self,
        foi: FrameId,
        reference: FrameId,
    ) -> Result<Covariance, TransformError> {
        let steps = self.chain(foi, reference)?;
        Ok(propagate(&steps))
    }

    /// The constraints between two frames, as indices into the assembly's, from the frame of reference on.
    ///
    /// # Errors
    ///
    /// When nothing connects the two.
    pub fn path(&self, foi: FrameId, reference: FrameId) -> Result<Vec<usize>, TransformError> {
        let way = self.way(foi, reference)?.into_iter();
        Ok(way.map(|(constraint, _)| constraint).collect())
    }

    /// The constraints between two frames, and whether each is crossed as it leads.
    fn way(&self, foi: FrameId, reference: FrameId) -> Result<Vec<(usize, bool)>, TransformError> {
        let (Some(a), Some(b)) = (self.entry(foi), self.entry(reference)) else {
            return Err(TransformError::ForeignHandle);
        };
        let crossed = self.crossed(b.body as usize, a.body as usize);
        crossed.ok_or_else(|| self.not_connected(foi, reference))
    }

    /// The pose of a frame in coordinates of the first body of the first group of its part, with joints as they were
    /// newest values, or at rest: for drawings, which must not fail.
    #[must_use]
    pub fn pose_in_part(&self, frame: FrameId) -> Transform {
        self.entry(frame).map_or(Transform::IDENTITY, |entry| {
            self.group(entry).part_from_group * entry.group_from_frame
        })
    }

    #[inline]
    fn group(&self, frame: &FrameEntry) -> &Group {
        &self.groups[frame.group as usize]
    }

    fn hinge(&self, group: u32) -> Option<(&Hinge, &JointState)> {
        let hinge = self.groups[group as usize].up.as_ref()?;
        Some((hinge, &self.joints[hinge.joint.0 as usize]))
    }

    /// The lowest group above both: parents have smaller numbers than what is below them.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            let lower = if a > b { &mut a } else { &mut b };
            match &self.groups[*lower as usize].up {
                Some(hinge) => *lower = hinge.parent,
                None => return a.min(b),
            }
        }
        a
    }

    /// The pose of a frame in coordinates of a group above it.
    fn climb_at(
        &self,
        frame: &FrameEntry,
        top: u32,
        utime: i64,
    ) -> Result<Transform, TransformError> {
        let mut pose = frame.group_from_frame;
        let mut group = frame.group;
        let mut is_first = true;
        while group != top {
            let Some((hinge, joint)) = self.hinge(group) else {
                break;
            };
            if is_first {
                pose = hinge.after * pose;
                is_first = false;
            }
            let value = joint.value_at(utime);
            let value = value.map_err(|gap| self.not_known(joint, gap, utime))?;
            let between = if hinge.parent == top {
                hinge.before
            } else {
                hinge.bridge
            };
            pose = between * joint.moved(value, &pose);
            group = hinge.parent;
        }
        Ok(pose)
    }

    #[cold]
    fn check_told(&self, foi: FrameId, reference: FrameId) -> Result<(), TransformError> {
        let (Some(a), Some(b)) = (self.entry(foi), self.entry(reference)) else {
            return Err(TransformError::ForeignHandle);
        };
        if self.group(a).part != self.group(b).part {
            return Err(self.not_connected(foi, reference));
        }
        let top = self.common(a.group, b.group);
        for mut group in [a.group, b.group] {
            while group != top
                && let Some((hinge, joint)) = self.hinge(group)
            {
                if joint.history.newest().is_none() {
                    return Err(self.untold(joint));
                }
                group = hinge.parent;
            }
        }
        Ok(())
    }

    /// The constraints on the way from a body to another one, and whether each is crossed as it leads.
    pub(super) fn crossed(&self, from: usize, to: usize) -> Option<Vec<(usize, bool)>> {
        let (mut a, mut b) = (from, to);
        let (mut up, mut down) = (Vec::new(), Vec::new());
        while a != b {
            let is_a_lower = self.bodies[a].depth >= self.bodies[b].depth;
            let edge = self.bodies[if is_a_lower { a } else { b }].up?;
            if is_a_lower {
                up.push((edge.constraint, !edge.is_down));
                a = edge.body;
            } else {
                down.push((edge.constraint, edge.is_down));
                b = edge.body;
            }
        }
        up.extend(down.into_iter().rev());
        Some(up)
    }

    /// Every measured edge between two frames, from the frame of reference on.
    fn chain(&self, foi: FrameId, reference: FrameId) -> Result<Vec<Step>, TransformError> {
        let mut steps = Vec::new();
        let mut at = reference;
        for (idx, is_forward) in self.way(foi, reference)? {
            let constraint = &self.assembly.constraints[idx];
            let (near, far) = if is_forward {
                (&constraint.from, &constraint.to)
            } else {
                (&constraint.to, &constraint.from)
            };
            let find = |name: &FrameName| self.names.find(&name.to_string());
            let (Some(near), Some(far)) = (find(near), find(far)) else {
                return Err(TransformError::ForeignHandle);
            };
            self.walk_body(at, near, &mut steps);
            let motion = self.joint_of[idx].map_or(Transform::IDENTITY, |joint| {
                self.motion(idx, self.joints[joint.0 as usize].value)
            });
            steps.push(Step {
                pose: constraint.from_from_to * motion,
                covariance: constraint.covariance,
                is_inverse: !is_forward,
            });
            at = far;
        }
        self.walk_body(at, foi, &mut steps);
        Ok(steps)
    }

    /// What a constraint's joint does at a value.
    pub(super) fn motion(&self, constraint: usize, value: f64) -> Transform {
        let joint = self.assembly.constraints[constraint].joint.as_ref();
        joint.map_or(Transform::IDENTITY, |joint| joint.motion(value))
    }

    /// By way of the body's origin, unless it is no way at all.
    fn walk_body(&self, from: FrameId, to: FrameId, steps: &mut Vec<Step>) {
        if from == to {
            return;
        }
        for (frame, is_inverse) in [(from, true), (to, false)] {
            let Some(entry) = self.entry(frame) else {
                continue;
            };
            let first = self.bodies[entry.body as usize].first_frame;
            let frames = &self.assembly.bodies[entry.body as usize].frames;
            let declared = &frames[frame.0 as usize - first];
            steps.push(Step {
                pose: declared.body_from_frame,
                covariance: declared.covariance,
                is_inverse,
            });
        }
    }

    #[cold]
    fn no_such_frame(&self, name: &str) -> FindFrameError {
        let Some((body, frame)) = name.split_once(':') else {
            return FindFrameError::NotAFrameName {
                found: name.to_owned(),
                suggestion: nearest(name, self.names.iter()).map(str::to_owned),
            };
        };
        match self.body(body) {
            Ok(body) => {
                let known = body.frames.iter().map(|frame| frame.name.as_str());
                let suggestion = nearest(frame, known);
                FindFrameError::NoSuchFrame {
                    found: name.to_owned(),
                    suggestion: suggestion.map(|frame| format!("{}:{frame}", body.name)),
                    known: enumerate(body.frames.iter().map(|frame| frame.name.as_str())),
                }
            }
            Err(_) => self.no_such_body(body, name),
        }
    }

    #[cold]
    pub(super) fn no_such_body(&self, body: &str, found: &str) -> FindFrameError {
        FindFrameError::NoSuchBody {
            found: found.to_owned(),
            suggestion: nearest(body, self.body_list()).map(str::to_owned),
            known: enumerate(self.body_list()),
        }
    }

    #[cold]
    fn not_connected(&self, foi: FrameId, reference: FrameId) -> TransformError {
        let part_of = |frame: FrameId| {
            let body = self.entry(frame).map_or(0, |entry| entry.body as usize);
            let part = self.bodies[body].part;
            let bodies = self.bodies.iter().zip(self.body_list());
            enumerate(
                bodies
                    .filter(|(it, _)| it.part == part)
                    .map(|(_, name)| name),
            )
        };
        TransformError::NotConnected {
            foi: self.name_of(foi).to_owned(),
            reference: self.name_of(reference).to_owned(),
            foi_part: part_of(foi),
            reference_part: part_of(reference),
        }
    }

    #[cold]
    fn not_known(&self, joint: &JointState, gap: Gap, asked: i64) -> TransformError {
        let name = &self.assembly.constraints[joint.constraint].name;
        match gap {
            Gap::Empty => self.untold(joint),
            Gap::Before(oldest) => TransformError::TooOld {
                joint: name.clone(),
                asked,
                oldest,
            },
            Gap::After(newest) => TransformError::NotYet {
                joint: name.clone(),
                asked,
                newest,
            },
        }
    }

    #[cold]
    fn untold(&self, joint: &JointState) -> TransformError {
        let constraint = &self.assembly.constraints[joint.constraint];
        let feed = constraint.joint.as_ref().and_then(|it| it.feed.as_ref());
        TransformError::Untold {
            joint: constraint.name.clone(),
            channel: feed.map_or_else(String::new, |feed| {
                format!(
                    "; it comes from {} of the channel {:?}",
                    feed.field, feed.channel
                )
            }),
        }
    }
}

/// The first few of many names.
fn enumerate<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MAX: usize = 12;
    let names: Vec<&str> = names.take(MAX + 1).collect();
    match names.get(..MAX) {
        Some(first) if names.len() > MAX => format!("{}, ...", first.join(", ")),
        _ => names.join(", "),
    }
}

/// A name that nothing has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindFrameError {
    /// Not the name of a frame at all.
    #[error("expected a frame as Body:Frame, found {found:?}{}", did_you_mean(.suggestion))]
    NotAFrameName {
        /// What was asked for.
        found: String,
        /// What was meant, perhaps.
        suggestion: Option<String>,
    },
    /// No such body.
    #[error("expected one of the bodies {known}; found {found:?}{}", did_you_mean(.suggestion))]
    NoSuchBody {
        /// What was asked for.
        found: String,
        /// The body that was meant, perhaps.
        suggestion: Option<String>,
        /// The bodies that there are.
        known: String,
    },
    /// The body has no such frame.
    #[error("expected one of the body's frames {known}; found {found:?}{}", did_you_mean(.suggestion))]
    NoSuchFrame {
        /// What was asked for.
        found: String,
        /// What was meant, perhaps.
        suggestion: Option<String>,
        /// The frames that it has.
        known: String,
    },
}

/// A question without an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransformError {
    /// A name that nothing has.
    #[error(transparent)]
    NoSuchFrame(#[from] FindFrameError),
    /// The handle is another model's.
    #[error("expected a frame of this model, found a handle of another one")]
    ForeignHandle,
    /// Nothing leads from one to the other.
    #[error(
        "expected frames that constraints connect, found {foi} in one part ({foi_part}) \
         and {reference} in another ({reference_part})"
    )]
    NotConnected {
        /// The frame of interest.
        foi: String,
        /// The frame of reference.
        reference: String,
        /// The bodies that are connected with the frame of interest.
        foi_part: String,
        /// The bodies that are connected with the frame of reference.
        reference_part: String,
    },
    /// A joint has no value.
    #[error("expected a value of the joint {joint:?}, found none{channel}")]
    Untold {
        /// The joint's name.
        joint: String,
        /// Where it would come from, as a half-sentence.
        channel: String,
    },
    /// Before what is kept.
    #[error(
        "expected a time from {oldest} us on, which is how far back values of the joint {joint:?} are kept, found {asked} us"
    )]
    TooOld {
        /// The joint's name.
        joint: String,
        /// The time that was asked for.
        asked: i64,
        /// The oldest that is known.
        oldest: i64,
    },
    /// After what is known.
    #[error(
        "expected a time up to {newest} us, the last value of the joint {joint:?}, found {asked} us"
    )]
    NotYet {
        /// The joint's name.
        joint: String,
        /// The time that was asked for.
        asked: i64,
        /// The newest that is known.
        newest: i64,
    },
}
