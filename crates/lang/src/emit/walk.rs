//! The walk over the members of a struct and their dimensions, once for all languages and operations.
//!
//! Encoding, decoding, measuring, copying and freeing a struct are all the same walk: for each member, a loop for each
//! dimension, and something to do inside. A language declares with [`Walker::takes_rows`] whether it handles the innermost
//! dimension of a type in one go, and what to print at each point.

use bowline_wire::schema::{Dim, Member, Struct, Type, TypeSet};

/// A place in the walk.
#[derive(Clone, Copy, Debug)]
pub struct Site<'t> {
    /// The set that the struct is in.
    pub types: &'t TypeSet,
    /// The struct.
    pub body: &'t Struct,
    /// The member that is walked over.
    pub member: &'t Member,
    /// How many loops are open around this place.
    pub depth: usize,
}

impl<'t> Site<'t> {
    /// At [`Walker::enter`] and [`leave`](Walker::leave), the dimension of the loop. At [`item`](Walker::item), the
    /// dimension of a row; `None` for a single element.
    #[must_use]
    pub fn dim(&self) -> Option<&'t Dim> {
        self.member.dims.get(self.depth)
    }

    /// The member that a variable dimension counts by.
    #[must_use]
    pub fn length_member(&self, dim: &Dim) -> Option<&'t Member> {
        match dim {
            Dim::Variable { member } => self.body.members.get(*member),
            Dim::Fixed { .. } => None,
        }
    }

    /// Names for the loop variables of the open loops, outermost first: `a`, `b`, `c`; `a1` after `z`.
    pub fn indices(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.depth).map(index_name)
    }

    /// The loop variable of the loop at this place.
    #[must_use]
    pub fn index(&self) -> String {
        index_name(self.depth)
    }
}

fn index_name(depth: usize) -> String {
    let letter = char::from(b'a' + u8::try_from(depth % 26).unwrap_or(0));
    match depth / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

/// One operation in one language.
pub trait Walker {
    /// Whether the innermost dimension of such an array is handled in one go.
    fn takes_rows(&self, ty: Type) -> bool;

    /// Whether all dimensions of a member are handled in one go, as where they are one piece of memory.
    fn takes_whole(&self, _: &Member) -> bool {
        false
    }

    /// Before the elements of a dimension: allocate, open a loop.
    fn enter(&mut self, site: &Site<'_>);

    /// A single element, a row if `site.dim()` is there, or all of the member if it is taken whole.
    fn item(&mut self, site: &Site<'_>);

    /// After the elements of a dimension.
    fn leave(&mut self, site: &Site<'_>);
}

/// Walks over all members, in order.
pub fn walk(types: &TypeSet, body: &Struct, walker: &mut dyn Walker) {
    for member in &body.members {
        walk_member(
            &Site {
                types,
                body,
                member,
                depth: 0,
            },
            walker,
        );
    }
}

/// Walks over one member.
pub fn walk_member(site: &Site<'_>, walker: &mut dyn Walker) {
    let n_rows = usize::from(walker.takes_rows(site.member.ty));
    let is_innermost = site.depth + n_rows >= site.member.dims.len();
    if is_innermost || walker.takes_whole(site.member) {
        walker.item(site);
        return;
    }
    walker.enter(site);
    walk_member(
        &Site {
            depth: site.depth + 1,
            ..*site
        },
        walker,
    );
    walker.leave(site);
}
