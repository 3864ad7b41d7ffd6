//! Which columns a type has, and how a message fills them.

use super::OWN_COLUMNS;
use bowline_wire::schema::{Dim, Member, Primitive, Type, TypeId, TypeKind, TypeSet};
use bowline_wire::{Array, Value};

/// Arrays of a fixed size have a column for each element up to here.
const MAX_NUMBERED: usize = 64;
/// Structs are taken apart until there are so many columns.
const MAX_COLUMNS: usize = 4_096;
/// And so many levels deep.
const MAX_LEVELS: usize = 64;

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// The comment beside the field, which only Parquet has a place for.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(dead_code, reason = "CSV has no place for it")
    )]
    pub(super) doc: String,
    pub(super) leaf: Leaf,
    /// Whether there are any number of values in each row.
    pub(super) is_list: bool,
    places: Vec<Place>,
}

/// What a value in a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// A number, a string or a boolean.
    Primitive(Primitive),
    /// A number.
    Enum,
    /// A row of bytes.
    Bytes,
    /// Anything else, as JSON.
    Json(Type),
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Member(usize),
    Element(usize),
    Each,
}

/// The columns of a type.
pub(super) fn of(types: &TypeSet, id: TypeId) -> Vec<Column> {
    let mut plan = Plan {
        types,
        columns: Vec::new(),
    };
    let spot = Spot::default();
    plan.add_members(&spot, id);
    for column in &mut plan.columns {
        // A field of that name keeps it, with a suffix.
        if OWN_COLUMNS.contains(&column.name.as_str()) {
            column.name.push('_');
        }
    }
    plan.columns
}

struct Plan<'t> {
    types: &'t TypeSet,
    columns: Vec<Column>,
}

/// The way to where columns are being made.
#[derive(Clone, Default)]
struct Spot {
    name: String,
    doc: String,
    places: Vec<Place>,
    is_list: bool,
}

impl Spot {
    fn member(&self, at: usize, member: &Member) -> Self {
        let dot = if self.name.is_empty() { "" } else { "." };
        let mut inner = self.then(Place::Member(at));
        inner.name = format!("{}{dot}{}", self.name, member.name);
        inner.doc.clone_from(&member.doc);
        inner
    }

    fn then(&self, place: Place) -> Self {
        let mut inner = self.clone();
        inner.places.push(place);
        if let Place::Element(index) = place {
            inner.name += &format!("[{index}]");
        }
        inner.is_list |= matches!(place, Place::Each);
        inner
    }
}

impl Plan<'_> {
    fn add_members(&mut self, spot: &Spot, id: TypeId) {
        let types = self.types;
        let members = types.as_struct(id).map_or(&[][..], |body| &body.members);
        for (at, member) in members.iter().enumerate() {
            self.add_member(&spot.member(at, member), member);
        }
    }

    fn add_member(&mut self, spot: &Spot, member: &Member) {
        let fixed: Option<Vec<usize>> = member.dims.iter().map(fixed_size).collect();
        let n_fixed = fixed.as_ref().and_then(|sizes| {
            let mut sizes = sizes.iter();
            sizes.try_fold(1_usize, |n, size| n.checked_mul(*size))
        });
        let is_bytes = member.ty == Type::Primitive(Primitive::Byte) && member.dims.len() == 1;
        match (fixed, n_fixed) {
            _ if member.dims.is_empty() => self.add_one(spot, member.ty),
            _ if is_bytes => self.push(spot, Leaf::Bytes),
            (Some(sizes), Some(n)) if n <= MAX_NUMBERED => {
                self.add_numbered(spot, member.ty, &sizes);
            }
            (fixed, _) if !spot.is_list && (fixed.is_some() || member.dims.len() == 1) => {
                self.add_list(spot, member.ty);
            }
            _ => self.push(spot, Leaf::Json(member.ty)),
        }
    }

    /// A column for each element.
    fn add_numbered(&mut self, spot: &Spot, ty: Type, sizes: &[usize]) {
        let Some((size, inner)) = sizes.split_first() else {
            return self.add_one(spot, ty);
        };
        for index in 0..*size {
            self.add_numbered(&spot.then(Place::Element(index)), ty, inner);
        }
    }

    /// A list of values, or one for each field of structs.
    fn add_list(&mut self, spot: &Spot, ty: Type) {
        let is_open = matches!(ty, Type::Named(id) if self.types.is_recursive(id));
        if is_open {
            self.push(spot, Leaf::Json(ty));
        } else {
            self.add_one(&spot.then(Place::Each), ty);
        }
    }

    fn add_one(&mut self, spot: &Spot, ty: Type) {
        let id = match ty {
            Type::Primitive(primitive) => return self.push(spot, Leaf::Primitive(primitive)),
            Type::Named(id) => id,
        };
        let is_too_much = self.columns.len() >= MAX_COLUMNS || spot.places.len() >= MAX_LEVELS;
        match &self.types.def(id).kind {
            TypeKind::Enum(_) => self.push(spot, Leaf::Enum),
            TypeKind::Struct(_) if !is_too_much && !self.types.is_recursive(id) => {
                self.add_members(spot, id);
            }
            TypeKind::Struct(_) | TypeKind::External => self.push(spot, Leaf::Json(ty)),
        }
    }

    fn push(&mut self, spot: &Spot, leaf: Leaf) {
        self.columns.push(Column {
            name: spot.name.clone(),
            doc: spot.doc.clone(),
            leaf,
            is_list: spot.is_list,
            places: spot.places.clone(),
        });
    }
}

fn fixed_size(dim: &Dim) -> Option<usize> {
    match dim {
        Dim::Fixed { size, .. } => Some(*size),
        Dim::Variable { .. } => None,
    }
}

impl Column {
    /// Hands every value that a message has for this column to `each`: one, unless it is a list.
    pub(super) fn values(&self, message: &Value<'_>, each: &mut dyn FnMut(&Value<'_>)) {
        let is_whole = matches!(self.leaf, Leaf::Bytes | Leaf::Json(_));
        walk(message, &self.places, is_whole, each);
    }
}

fn walk(value: &Value<'_>, places: &[Place], is_whole: bool, each: &mut dyn FnMut(&Value<'_>)) {
    let Some((place, rest)) = places.split_first() else {
        return leaf(value, is_whole, each);
    };
    match (place, value) {
        (Place::Member(at), Value::Struct(members)) => {
            if let Some(member) = members.get(*at) {
                walk(member, rest, is_whole, each);
            }
        }
        (Place::Element(index), Value::Array(array)) => {
            walk_element(array, *index, rest, is_whole, each);
        }
        (Place::Each, Value::Array(array)) => {
            for index in 0..array.len() {
                walk_element(array, index, rest, is_whole, each);
            }
        }
        (Place::Member(_) | Place::Element(_) | Place::Each, _) => {}
    }
}

fn walk_element(
    array: &Array<'_>,
    index: usize,
    places: &[Place],
    is_whole: bool,
    each: &mut dyn FnMut(&Value<'_>),
) {
    // A field of a struct in a line is reached in place; the rest is made anew.
    if let (Some((Place::Member(at), rest)), Some(members)) =
        (places.split_first(), array.struct_members(index))
    {
        if let Some(member) = members.get(*at) {
            walk(member, rest, is_whole, each);
        }
    } else if let Some(element) = array.get(index) {
        // The rows of a grid that is one list.
        let is_row = matches!(element, Value::Array(_))
            && !matches!(places.first(), Some(Place::Element(_)));
        if is_row && !is_whole {
            walk(&element, &[&[Place::Each], places].concat(), is_whole, each);
        } else {
            walk(&element, places, is_whole, each);
        }
    }
}

fn leaf(value: &Value<'_>, is_whole: bool, each: &mut dyn FnMut(&Value<'_>)) {
    if let Value::Array(array) = value
        && !is_whole
    {
        for item in array.iter() {
            leaf(&item, is_whole, each);
        }
    } else {
        each(value);
    }
}
