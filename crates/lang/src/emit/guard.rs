//! What a decoder in a language with exceptions must count while it reads a message.
//!
//! Most lengths need no more than the end of the message to be refused: reading stops there. Two things do: types that
//! contain themselves, which could nest without end, and elements that take no bytes, of which a few bytes could claim
//! any number.

use super::walk::Site;
use bowline_wire::schema::{Dim, Member, Type, TypeId, TypeKind, TypeSet};
use std::collections::BTreeSet;

/// What a variable dimension can claim.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Claim<'t> {
    /// Every element takes bytes.
    Paid,
    /// No element takes bytes.
    Free,
    /// The elements are rows, and take no bytes if one of these lengths is 0.
    FreeIfZero(Vec<&'t Member>),
    /// The elements are of a type that is defined elsewhere.
    Unknown,
}

/// What the dimension of the loop at `site` can claim.
pub(super) fn claim<'t>(site: &Site<'t>) -> Claim<'t> {
    if !matches!(site.dim(), Some(Dim::Variable { .. })) {
        return Claim::Paid;
    }
    let inner = site.member.dims.get(site.depth + 1..).unwrap_or_default();
    let lengths: Vec<&Member> = inner
        .iter()
        .filter_map(|dim| site.length_member(dim))
        .collect();
    match site.member.ty {
        Type::Named(id) if is_external(site.types, id) => Claim::Unknown,
        ty if site.types.min_size_of(ty) == 0 => Claim::Free,
        Type::Primitive(_) | Type::Named(_) if !lengths.is_empty() => Claim::FreeIfZero(lengths),
        Type::Primitive(_) | Type::Named(_) => Claim::Paid,
    }
}

/// Whether values of a type can contain each other, as far as can be seen.
pub(super) fn can_nest(types: &TypeSet, id: TypeId) -> bool {
    types.is_recursive(id) || named_members(types, id).any(|inner| is_external(types, inner))
}

/// Whether something must be counted in a message of that type.
pub(super) fn must_count(types: &TypeSet, root: TypeId) -> bool {
    let mut seen = BTreeSet::from([root]);
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if can_nest(types, id) || has_free_elements(types, id) {
            return true;
        }
        open.extend(named_members(types, id).filter(|inner| seen.insert(*inner)));
    }
    false
}

/// Whether some array of the type itself can have elements that take no bytes.
pub(super) fn has_free_elements(types: &TypeSet, id: TypeId) -> bool {
    let Some(body) = types.as_struct(id) else {
        return false;
    };
    let mut sites = body.members.iter().flat_map(|member| {
        (0..member.dims.len()).map(move |depth| Site {
            types,
            body,
            member,
            depth,
        })
    });
    sites.any(|site| claim(&site) != Claim::Paid)
}

fn is_external(types: &TypeSet, id: TypeId) -> bool {
    types.def(id).kind == TypeKind::External
}

fn named_members(types: &TypeSet, id: TypeId) -> impl Iterator<Item = TypeId> {
    let members = types.as_struct(id).map_or(&[][..], |body| &body.members);
    members.iter().filter_map(|member| match member.ty {
        Type::Named(inner) => Some(inner),
        Type::Primitive(_) => None,
    })
}
