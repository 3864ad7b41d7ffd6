//! Bodies, frames and constraints as they are written down: plain data, not checked yet.
//!
//! Every reader makes an [`Assembly`]; [`Model::new`](crate::Model::new) checks its rules and compiles it.

use crate::covariance::Covariance;
use crate::element::Element;
use crate::mistake::Place;
use crate::shape::{Mass, Shape};
use crate::transform::{Transform, Vec3};
use std::fmt;

/// Bodies, bound to each other by constraints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assembly {
    /// What it is called.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// In the order of the file.
    pub bodies: Vec<Body>,
    /// In the order of the file.
    pub constraints: Vec<Constraint>,
    /// How well loops of constraints must close.
    pub tolerance: Tolerance,
}

/// How well loops must close.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In metres.
    pub distance_m: f64,
    /// In radians.
    pub angle_rad: f64,
}

impl Default for Tolerance {
    /// What careful people reach with a tape measure and a spirit level: 5 mm and half a degree.
    fn default() -> Self {
        Self {
            distance_m: 0.005,
            angle_rad: 0.5_f64.to_radians(),
        }
    }
}

/// A thing that does not bend, with frames that were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Its name in the assembly.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// In the order of the file.
    pub frames: Vec<BodyFrame>,
    /// What it looks like.
    pub shapes: Vec<Shape>,
    /// What it weighs.
    pub mass: Option<Mass>,
    /// What it senses and moves with, as it is written: geometry does not understand these elements.
    pub elements: Vec<Element>,
}

impl Body {
    /// What it senses with.
    pub fn sensors(&self) -> impl Iterator<Item = &Element> {
        self.elements.iter().filter(|it| it.is_sensor())
    }

    /// Its elements of a word.
    pub fn elements_of<'b>(&'b self, word: &'b str) -> impl Iterator<Item = &'b Element> {
        self.elements.iter().filter(move |it| it.word == word)
    }

    /// One of its frames.
    #[must_use]
    pub fn frame(&self, name: &str) -> Option<&BodyFrame> {
        self.frames.iter().find(|frame| frame.name == name)
    }
}

/// A named place on a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyFrame {
    /// Its name on the body.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// From the body's origin to the frame: the frame's pose in coordinates of the body.
    pub body_from_frame: Transform,
    /// How sure that is; exact without a value.
    pub covariance: Option<Covariance>,
}

/// A bond between frames of two bodies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraint {
    /// Its name in the assembly.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// The frame that it begins at.
    pub from: FrameName,
    /// The frame that it leads to.
    pub to: FrameName,
    /// The pose of `to` in coordinates of `from`; of a moving one when its value is 0.
    pub from_from_to: Transform,
    /// How sure that is; exact without a value.
    pub covariance: Option<Covariance>,
    /// How it moves, if it does.
    pub joint: Option<Joint>,
}

/// `Body:Frame`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameName {
    /// The body's name in the assembly.
    pub body: String,
    /// The frame's name on the body.
    pub frame: String,
}

impl FrameName {
    /// A frame of a body.
    #[must_use]
    pub fn new(body: impl Into<String>, frame: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            frame: frame.into(),
        }
    }

    /// Reads `Body:Frame`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (body, frame) = text.split_once(':')?;
        (is_name(body) && is_name(frame)).then(|| Self::new(body, frame))
    }
}

impl fmt::Display for FrameName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.body, self.frame)
    }
}

/// The longest name, in bytes.
pub const MAX_NAME_LEN: usize = 128;

/// Whether something can be called that: no space, no colon, no control character, not too long.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_fine = |letter: char| letter != ':' && !letter.is_whitespace() && !letter.is_control();
    !text.is_empty() && text.len() <= MAX_NAME_LEN && text.chars().all(is_fine)
}

/// How a constraint moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// A turn or a shift.
    pub kind: JointKind,
    /// Its direction, of length 1, in coordinates of where `to` is when the value is 0.
    pub axis: Vec3,
    /// The smallest and the largest value, in radians or metres. Without them a turn goes round and round.
    pub limits: Option<[f64; 2]>,
    /// The value to draw and check it at.
    pub rest: f64,
    /// The source of its value.
    pub feed: Option<Feed>,
    /// Whose value it repeats, in place of having its own.
    pub follows: Option<Follows>,
}

/// What a joint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// Turns about its axis; values are in radians.
    Revolute,
    /// Shifts along its axis; values are in metres.
    Prismatic,
}

/// Where a joint's value is published.
#[derive(Clone, Debug, PartialEq)]
pub struct Feed {
    /// The channel.
    pub channel: String,
    /// The path of the field in its messages.
    pub field: String,
    /// What the field is multiplied with, to be in radians or metres.
    pub scale: f64,
    /// What is added then.
    pub offset: f64,
}

impl Feed {
    /// The joint's value when the field reads so.
    #[must_use]
    pub fn value(&self, field: f64) -> f64 {
        self.scale * field + self.offset
    }
}

/// A joint that does what another one does.
#[derive(Clone, Debug, PartialEq)]
pub struct Follows {
    /// The constraint that leads.
    pub constraint: String,
    /// What its value is multiplied with.
    pub scale: f64,
    /// What is added then.
    pub offset: f64,
}

impl Joint {
    /// What it does at a value: the pose of `to` in coordinates of where it is at 0.
    #[must_use]
    pub fn motion(&self, value: f64) -> Transform {
        match self.kind {
            JointKind::Revolute => Transform::from_axis_angle(self.axis, value),
            JointKind::Prismatic => Transform::from_xyz(self.axis.map(|it| it * value)),
        }
    }
}
