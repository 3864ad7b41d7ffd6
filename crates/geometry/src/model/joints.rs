//! Joints: their values come in, with the time that they are of.

use super::history::{Gap, History, Older};
use super::{Group, Hinge, Model};
use crate::assembly::{Feed, Joint, JointKind};
use crate::mistake::did_you_mean;
use crate::transform::Transform;
use bowline_wire::suggest::nearest;

/// A joint of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JointId(pub(super) u32);

/// What is known of a joint.
#[derive(Clone, Copy, Debug)]
pub struct JointInfo<'m> {
    /// Its handle.
    pub id: JointId,
    /// The name of its constraint.
    pub name: &'m str,
    /// How it moves.
    pub joint: &'m Joint,
    /// Its last value, and when that was.
    pub newest: Option<(i64, f64)>,
    /// The time of the oldest value that is kept.
    pub oldest_utime: Option<i64>,
    /// How many of its values were beyond its limits.
    pub n_beyond_limits: u64,
    /// How many values were older than the last, or no numbers: these were refused.
    pub n_refused: u64,
}

impl<'m> JointInfo<'m> {
    /// Where its value is published, if the assembly names a channel.
    #[must_use]
    pub fn feed(&self) -> Option<&'m Feed> {
        self.joint.feed.as_ref()
    }
}

/// A value that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// As declared.
    WithinLimits,
    /// The limits are wrong, or the device is. What it measures is still the best guess of where things are.
    BeyondLimits,
}

#[derive(Clone, Debug)]
pub(super) struct JointState {
    pub(super) constraint: usize,
    /// The group that it moves, unless it closes a loop.
    pub(super) group: Option<u32>,
    pub(super) kind: JointKind,
    pub(super) is_round: bool,
    pub(super) limits: Option<[f64; 2]>,
    /// The last value, or the one at rest.
    pub(super) value: f64,
    pub(super) history: History,
    pub(super) followers: Vec<Follower>,
    pub(super) is_follower: bool,
    pub(super) n_beyond_limits: u64,
    pub(super) n_refused: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Follower {
    pub(super) joint: JointId,
    pub(super) scale: f64,
    pub(super) offset: f64,
}

impl JointState {
    pub(super) fn new(constraint: usize, joint: &Joint) -> Self {
        Self {
            constraint,
            group: None,
            kind: joint.kind,
            is_round: joint.kind == JointKind::Revolute && joint.limits.is_none(),
            limits: joint.limits,
            value: joint.rest,
            history: History::default(),
            followers: Vec::new(),
            is_follower: joint.follows.is_some(),
            n_beyond_limits: 0,
            n_refused: 0,
        }
    }

    /// `self`'s motion, then `rest`.
    #[inline]
    pub(super) fn moved(&self, value: f64, rest: &Transform) -> Transform {
        match self.kind {
            JointKind::Revolute => rest.after_turn_about_z(value),
            JointKind::Prismatic => rest.after_shift_along_z(value),
        }
    }

    #[inline]
    pub(super) fn value_at(&self, utime: i64) -> Result<f64, Gap> {
        self.history.at(utime, self.is_round)
    }

    fn is_beyond_limits(&self, value: f64) -> bool {
        self.limits
            .is_some_and(|[least, most]| value < least || value > most)
    }
}

impl Model {
    /// All joints, in the order of their constraints.
    pub fn joints(&self) -> impl Iterator<Item = JointInfo<'_>> {
        (0..).zip(&self.joints).filter_map(|(idx, state)| {
            let constraint = self.assembly.constraints.get(state.constraint)?;
            Some(JointInfo {
                id: JointId(idx),
                name: &constraint.name,
                joint: constraint.joint.as_ref()?,
                newest: state.history.newest(),
                oldest_utime: state.history.oldest().map(|(utime, _)| utime),
                n_beyond_limits: state.n_beyond_limits,
                n_refused: state.n_refused,
            })
        })
    }

    /// A joint by the name of its constraint.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn joint(&self, name: &str) -> Result<JointId, SetJointError> {
        let found = self.joints().find(|joint| joint.name == name);
        found.map(|joint| joint.id).ok_or_else(|| {
            let names: Vec<&str> = self.joints().map(|joint| joint.name).collect();
            SetJointError::NoSuchJoint {
                found: name.to_owned(),
                suggestion: nearest(name, names).map(str::to_owned),
            }
        })
    }

    /// Sets the value of a joint, in radians or metres, and the time that it is of, in microseconds since the epoch.
    /// Values come in the order of time; one of the same time replaces the last.
    ///
    /// # Errors
    ///
    /// When the value is no number or older than the last, or the joint follows another one. Nothing changes then, but
    /// for the count of what was refused.
    pub fn set(
        &mut self,
        joint: JointId,
        value: f64,
        utime: i64,
    ) -> Result<Accepted, SetJointError> {
        let idx = joint.0 as usize;
        let Some(state) = self.joints.get_mut(idx) else {
            return Err(SetJointError::ForeignHandle);
        };
        let refused = if state.is_follower {
            Some(SetJointError::Follows {
                joint: self.assembly.constraints[state.constraint].name.clone(),
            })
        } else if !value.is_finite() {
            Some(SetJointError::NotANumber {
                joint: self.assembly.constraints[state.constraint].name.clone(),
                found: value,
            })
        } else {
            None
        };
        if let Some(error) = refused {
            state.n_refused += 1;
            return Err(error);
        }
        let accepted = self.take(joint, value, utime)?;
        self.epoch += 1;
        for nth in 0..self.joints[idx].followers.len() {
            let Follower {
                joint,
                scale,
                offset,
            } = self.joints[idx].followers[nth];
            // It has the times of the one that leads, so it takes what that one took.
            let _taken = self.take(joint, scale * value + offset, utime);
        }
        Ok(accepted)
    }

    /// Sets every joint without a value to rest, at some time.
    pub fn set_untold_to_rest(&mut self, utime: i64) {
        let untold: Vec<(JointId, f64)> = self
            .joints()
            .filter(|joint| joint.newest.is_none() && joint.joint.follows.is_none())
            .map(|joint| (joint.id, joint.joint.rest))
            .collect();
        for (joint, rest) in untold {
            // Where it stood still since before is where it is now.
            let _cannot_fail = self.set(joint, rest, utime);
        }
    }

    /// Forgets all values: for a source whose time begins anew.
    pub fn forget_values(&mut self) {
        for idx in 0..self.joints.len() {
            let is_told = self.joints[idx].history.newest().is_some();
            self.joints[idx].history.clear();
            let constraint = &self.assembly.constraints[self.joints[idx].constraint];
            if let Some(joint) = &constraint.joint {
                self.joints[idx].value = joint.rest;
            }
            if let Some(group) = self.joints[idx].group {
                self.count_untold(group, |n| n + u32::from(is_told));
                self.refresh(group);
            }
        }
        self.epoch += 1;
    }

    fn take(&mut self, joint: JointId, value: f64, utime: i64) -> Result<Accepted, SetJointError> {
        let state = &mut self.joints[joint.0 as usize];
        let was_told = state.history.newest().is_some();
        if let Err(Older { newest }) = state.history.push(utime, value) {
            state.n_refused += 1;
            return Err(SetJointError::Older {
                joint: self.assembly.constraints[state.constraint].name.clone(),
                found: utime,
                newest,
            });
        }
        state.value = value;
        let is_beyond = state.is_beyond_limits(value);
        state.n_beyond_limits += u64::from(is_beyond);
        if let Some(group) = state.group {
            self.count_untold(group, |n| n - u32::from(!was_told));
            self.refresh(group);
        }
        Ok(if is_beyond {
            Accepted::BeyondLimits
        } else {
            Accepted::WithinLimits
        })
    }

    fn below(&self, group: u32) -> std::ops::Range<usize> {
        let first = group as usize;
        first..first + self.groups[first].n_below as usize
    }

    fn count_untold(&mut self, group: u32, count: impl Fn(u32) -> u32) {
        let below = self.below(group);
        for group in &mut self.groups[below] {
            group.n_untold = count(group.n_untold);
        }
    }

    /// Works out the poses of a group and of those below it anew.
    pub(super) fn refresh(&mut self, group: u32) {
        for idx in self.below(group) {
            let Group {
                up: Some(hinge), ..
            } = &self.groups[idx]
            else {
                continue;
            };
            let Hinge {
                parent,
                joint,
                before,
                after,
                ..
            } = hinge;
            let state = &self.joints[joint.0 as usize];
            let parent_from_group = *before * state.moved(state.value, after);
            let part_from_parent = self.groups[*parent as usize].part_from_group;
            self.groups[idx].part_from_group = part_from_parent * parent_from_group;
        }
    }
}

/// A value that a joint cannot take.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetJointError {
    /// No joint of that name.
    #[error("expected the name of a joint, found {found:?}{}", did_you_mean(.suggestion))]
    NoSuchJoint {
        /// What was asked for.
        found: String,
        /// What was meant, perhaps.
        suggestion: Option<String>,
    },
    /// The handle is another model's.
    #[error("expected a joint of this model, found a handle of another one")]
    ForeignHandle,
    /// Not a number.
    #[error("expected a finite value of the joint {joint:?}, found {found}")]
    NotANumber {
        /// The joint's name.
        joint: String,
        /// The value.
        found: f64,
    },
    /// Older than the last.
    #[error(
        "expected values of the joint {joint:?} in order of time, found one of {found} us after one of {newest} us"
    )]
    Older {
        /// The joint's name.
        joint: String,
        /// Its time.
        found: i64,
        /// The last value's time.
        newest: i64,
    },
    /// It does what another joint does.
    #[error("expected a joint with a value of its own, found {joint:?}, which follows another one")]
    Follows {
        /// The joint's name.
        joint: String,
    },
}
