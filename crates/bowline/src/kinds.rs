//! The kinds of components that robot files can name. Add yours here; nothing else needs to change.

use bowline_node::Kind;

/// All kinds, sorted by name.
pub(crate) const KINDS: &[Kind] = &[];
