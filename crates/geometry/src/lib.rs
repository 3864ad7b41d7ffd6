//! The model server: where everything on a robot is in relation to everything else.
//!
//! In: bodies with measured frames, bound by constraints, from Body and Assembly files, URDF or SDF; values of joints,
//! with their times. Out: the pose of any frame in coordinates of any other. `docs/model.md` has the files.
//!
//! ```
//! use bowline_geometry::{Assembly, Body, BodyFrame, Constraint, FrameName, Model, Transform};
//!
//! let frame = |name: &str, xyz| BodyFrame {
//!     name: name.to_owned(),
//!     body_from_frame: Transform::from_xyz(xyz),
//!     ..BodyFrame::default()
//! };
//! let body = |name: &str, frames| Body { name: name.to_owned(), frames, ..Body::default() };
//! let model = Model::new(Assembly {
//!     bodies: vec![
//!         body("Raptor", vec![frame("Rail", [1.0, 0.0, 2.0]), frame("Bumper", [2.5, 0.0, 0.5])]),
//!         body("Flea", vec![frame("Bottom", [0.0; 3]), frame("ImagePlane", [0.1, 0.0, 0.1])]),
//!     ],
//!     constraints: vec![Constraint {
//!         name: "Mount".to_owned(),
//!         from: FrameName::new("Raptor", "Rail"),
//!         to: FrameName::new("Flea", "Bottom"),
//!         ..Constraint::default()
//!     }],
//!     ..Assembly::default()
//! })?;
//! let pose = model.transform_by_name("Flea:ImagePlane", "Raptor:Bumper")?;
//! assert_eq!(pose.xyz(), [-1.4, 0.0, 1.6]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Deliberately absent: the bus, clocks, threads. The subscriber of a joint's channel passes its values to the model.

mod assembly;
mod covariance;
mod earth;
mod element;
mod hull;
mod mistake;
mod model;
mod read;
mod shape;
pub mod svg;
mod transform;
mod write;
mod xml;

pub use assembly::{
    Assembly, Body, BodyFrame, Constraint, Feed, Follows, FrameName, Joint, JointKind,
    MAX_NAME_LEN, Tolerance, is_name,
};
pub use covariance::Covariance;
pub use earth::Earth;
pub use element::{
    Attribute, Bounds, Element, ElementKind, ElementRole, ElementValues, Given, Value,
};
pub use hull::{HULL, Hull, THRUSTER, Thruster};
pub use mistake::{Fault, Mistake, Mistakes, Place};
pub use model::{
    Accepted, FindFrameError, FrameId, JointId, JointInfo, Loop, MAX_BODIES, MAX_FRAMES, Model,
    SetJointError, TransformError,
};
pub use read::{
    BODY_ELEMENTS, Disk, Files, Format, Loaded, SdfCollision, SdfLink, SdfModel, SdfShape,
    SdfWorld, format_of, load, load_sdf_world,
};
pub use shape::{Mass, Role, Shape, ShapeKind};
pub use transform::{MakeTransformError, Transform, Vec3};
pub use write::{to_reference, to_schema, to_sdf, to_svg, to_tree};
pub use xml::{MAX_FILE_BYTES, numbers};
