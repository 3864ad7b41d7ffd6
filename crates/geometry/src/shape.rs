//! What a body looks like, what it bumps into, and what it weighs: as much as a simulator needs.

use crate::mistake::Place;
use crate::transform::{Transform, Vec3};

/// A simple shape on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Where it is declared.
    pub place: Place,
    /// Its middle, in coordinates of the body.
    pub body_from_shape: Transform,
    /// What it is.
    pub kind: ShapeKind,
    /// What it is for.
    pub role: Role,
}

/// The kinds of shape.
#[derive(Clone, Debug, PartialEq)]
pub enum ShapeKind {
    /// A box, by its edges along x, y and z.
    Box {
        /// The edges.
        size_m: Vec3,
    },
    /// A cylinder about z.
    Cylinder {
        /// From the axis.
        radius_m: f64,
        /// Along the axis.
        length_m: f64,
    },
    /// A ball.
    Sphere {
        /// From the middle.
        radius_m: f64,
    },
    /// A shape in a file of its own. The file is named, never opened.
    Mesh {
        /// The file's name or address.
        file: String,
        /// Along x, y and z.
        scale: Vec3,
    },
}

/// What a shape is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// To be seen and to bump into things.
    #[default]
    Both,
    /// To be seen.
    Visual,
    /// To bump into things.
    Collision,
}

/// What a body weighs.
#[derive(Clone, Debug, PartialEq)]
pub struct Mass {
    /// All of it.
    pub mass_kg: f64,
    /// Its centre, with the axes that the inertia is about.
    pub body_from_centre: Transform,
    /// `xx yy zz xy xz yz`, if known.
    pub inertia_kgm2: Option<[f64; 6]>,
}
