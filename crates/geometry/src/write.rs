//! What a model is written as, for others: the simulator's file, a tree of text, a picture.

mod markup;
mod sdf;
mod tree;
mod view;

pub use sdf::to_sdf;
pub use tree::to_tree;
pub use view::to_svg;
