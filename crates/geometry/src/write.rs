//! What a model is written as, for others: the simulator's file, a tree of text, a picture;
//! and what models may be, for editors and people.

mod markup;
mod schema;
mod sdf;
mod tree;
mod view;

pub use markup::escaped;
pub use schema::{to_reference, to_schema};
pub use sdf::to_sdf;
pub use tree::to_tree;
pub use view::to_svg;
