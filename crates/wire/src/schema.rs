//! Types known at run time.
//!
//! In: definitions, from .lcm text (`bowline-lang`) or from their compact form off a bus or log. Out: a [`TypeSet`]
//! that is proven sound: every reference resolves, every length field is an earlier integer, sizes are finite. The
//! compiler's emitters, the dynamic codec and the tools all read types from here; there is no other form.
//!
//! Deliberately absent: text, files, generated code.

mod check;
mod compact;
mod graph;
mod unit;

pub use check::{BadSchema, SchemaFault};
pub use compact::{Docs, ReadSchemaError};

use crate::fingerprint::{BaseHash, DimMode, Fingerprint};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

/// Which type of a [`TypeSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// A type with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDef {
    /// The package, dots included; empty for none.
    pub package: String,
    /// The name within the package.
    pub name: String,
    /// The comment above the definition.
    pub doc: String,
    /// What it is.
    pub kind: TypeKind,
}

impl TypeDef {
    /// The name with its package: `bowline.path_t`.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.package.is_empty() {
            self.name.clone()
        } else {
            alloc::format!("{}.{}", self.package, self.name)
        }
    }
}

/// What a named type is.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// Members in order.
    Struct(Struct),
    /// A 32-bit number with names for some values.
    Enum(Enum),
    /// Named by a member, defined elsewhere. Only lcm-gen's one-file-at-a-time way of working makes these.
    External,
}

/// A struct's contents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Struct {
    /// The members, in the order of the wire.
    pub members: Vec<Member>,
    /// The constants.
    pub constants: Vec<Constant>,
}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name.
    pub name: String,
    /// The comment above or beside it.
    pub doc: String,
    /// The type, of one element if it has dimensions.
    pub ty: Type,
    /// The dimensions, outermost first; empty for a scalar.
    pub dims: Vec<Dim>,
}

/// The type of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Built into the language.
    Primitive(Primitive),
    /// Defined in the same set.
    Named(TypeId),
}

/// The types that are built into the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Primitive {
    /// `int8_t`
    Int8,
    /// `int16_t`
    Int16,
    /// `int32_t`
    Int32,
    /// `int64_t`
    Int64,
    /// `byte`
    Byte,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `string`
    String,
    /// `boolean`
    Boolean,
}

impl Primitive {
    /// All of them. The order is part of the compact form.
    pub const ALL: [Self; 9] = [
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Byte,
        Self::Float,
        Self::Double,
        Self::String,
        Self::Boolean,
    ];

    /// The name in the type language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8_t",
            Self::Int16 => "int16_t",
            Self::Int32 => "int32_t",
            Self::Int64 => "int64_t",
            Self::Byte => "byte",
            Self::Float => "float",
            Self::Double => "double",
            Self::String => "string",
            Self::Boolean => "boolean",
        }
    }

    /// The primitive of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|primitive| primitive.name() == name)
    }

    /// The encoded size, except of a string, whose size varies.
    #[must_use]
    pub const fn fixed_size(self) -> Option<usize> {
        match self {
            Self::Int8 | Self::Byte | Self::Boolean => Some(1),
            Self::Int16 => Some(2),
            Self::Int32 | Self::Float => Some(4),
            Self::Int64 | Self::Double => Some(8),
            Self::String => None,
        }
    }

    /// Whether it can be a length field.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// Whether it is a binary fraction.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }

    /// The smallest encoding: a string has at least its length and its NUL.
    const fn min_size(self) -> usize {
        match self.fixed_size() {
            Some(size) => size,
            None => 5,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One dimension of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    /// As many as the type declares.
    Fixed {
        /// The number of elements, at least 1.
        size: usize,
        /// The number's source text, which the fingerprint covers.
        text: String,
    },
    /// As many as an earlier member of the same struct gives.
    Variable {
        /// That member's place in the struct.
        member: usize,
    },
}

/// A named number in a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// The name.
    pub name: String,
    /// The comment above or beside it.
    pub doc: String,
    /// An integer or float type.
    pub ty: Primitive,
    /// The source text of the value.
    pub text: String,
    /// The value.
    pub value: Number,
}

/// A constant's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of an integer type.
    Integer(i64),
    /// Of a float type.
    Float(f64),
}

/// An enum's contents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Enum {
    /// The values, in source order.
    pub values: Vec<EnumValue>,
}

/// A value of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumValue {
    /// The name.
    pub name: String,
    /// The comment above or beside it.
    pub doc: String,
    /// The number on the wire.
    pub value: i32,
}

/// A set of types that is complete and sound.
///
/// Holding one is proof that it was checked; nothing below checks again.
#[derive(Clone, Debug, Default)]
pub struct TypeSet {
    defs: Vec<TypeDef>,
    facts: Vec<Facts>,
    by_name: BTreeMap<String, TypeId>,
    by_fingerprint: BTreeMap<Fingerprint, TypeId>,
}

/// What follows from the definitions.
#[derive(Clone, Copy, Debug)]
struct Facts {
    base: u64,
    fingerprint: Option<Fingerprint>,
    min_size: usize,
    is_recursive: bool,
}

impl PartialEq for TypeSet {
    fn eq(&self, other: &Self) -> bool {
        self.defs == other.defs
    }
}

impl TypeSet {
    /// A fixed array may take at most what any LCM peer can hold.
    pub const MAX_ARRAY_SIZE: usize = crate::MAX_MESSAGE_SIZE;

    /// Checks definitions. [`TypeId`]s in them are places in `defs`.
    ///
    /// # Errors
    /// The first thing that is not sound, with the type and member.
    pub fn new(defs: Vec<TypeDef>) -> Result<Self, BadSchema> {
        check::check_members(&defs)?;
        let mut by_name = BTreeMap::new();
        for (id, def) in (0..).map(TypeId).zip(&defs) {
            if by_name.insert(def.full_name(), id).is_some() {
                return Err(BadSchema::new(def, SchemaFault::Duplicate));
            }
        }
        let graph = graph::Graph::new(&defs);
        let facts = derive_facts(&defs, &graph)?;
        let mut by_fingerprint = BTreeMap::new();
        for (id, facts) in (0..).map(TypeId).zip(&facts) {
            if let Some(fingerprint) = facts.fingerprint {
                // Where two types share one, the first in the set answers.
                by_fingerprint.entry(fingerprint).or_insert(id);
            }
        }
        Ok(Self {
            defs,
            facts,
            by_name,
            by_fingerprint,
        })
    }

    /// The types, in the order they were given.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &TypeDef)> {
        (0..).map(TypeId).zip(&self.defs)
    }

    /// How many types there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.defs.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.defs.is_empty()
    }

    /// The definition of a type of this set.
    ///
    /// # Panics
    /// When `id` is of another, larger set.
    #[must_use]
    pub fn def(&self, id: TypeId) -> &TypeDef {
        self.defs
            .get(id.0 as usize)
            .expect("a TypeId is used with the set that it came from")
    }

    /// The struct with that id, if it is one.
    #[must_use]
    pub fn as_struct(&self, id: TypeId) -> Option<&Struct> {
        match &self.def(id).kind {
            TypeKind::Struct(body) => Some(body),
            TypeKind::Enum(_) | TypeKind::External => None,
        }
    }

    /// Finds a type by its full name or, if only one package has it, by its bare name.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied().or_else(|| {
            let mut bare = self.iter().filter(|(_, def)| def.name == name);
            let (id, _) = bare.next()?;
            bare.next().is_none().then_some(id)
        })
    }

    /// Finds the type of a message.
    #[must_use]
    pub fn by_fingerprint(&self, fingerprint: Fingerprint) -> Option<TypeId> {
        self.by_fingerprint.get(&fingerprint).copied()
    }

    /// The fingerprint of a type, unless it contains a type that is defined elsewhere.
    #[must_use]
    pub fn fingerprint(&self, id: TypeId) -> Option<Fingerprint> {
        self.facts(id).fingerprint
    }

    /// The hash over the type's own members, without the types that they contain.
    #[must_use]
    pub fn base_hash(&self, id: TypeId) -> u64 {
        self.facts(id).base
    }

    /// The smallest encoding of a type. `usize::MAX` for one that contains itself without end.
    #[must_use]
    pub fn min_size(&self, id: TypeId) -> usize {
        self.facts(id).min_size
    }

    /// Whether a type contains itself, by whatever way.
    #[must_use]
    pub fn is_recursive(&self, id: TypeId) -> bool {
        self.facts(id).is_recursive
    }

    /// The smallest encoding of one element of that type.
    #[must_use]
    pub fn min_size_of(&self, ty: Type) -> usize {
        match ty {
            Type::Primitive(primitive) => primitive.min_size(),
            Type::Named(id) => self.min_size(id),
        }
    }

    /// The name of a member's type, as the type language writes it in full.
    #[must_use]
    pub fn type_name(&self, ty: Type) -> String {
        match ty {
            Type::Primitive(primitive) => primitive.to_string(),
            Type::Named(id) => self.def(id).full_name(),
        }
    }

    /// A set of just this type, which comes first, and the types that it contains.
    ///
    /// # Panics
    /// When `root` is of another, larger set.
    #[must_use]
    pub fn closure(&self, root: TypeId) -> Self {
        let mut order = alloc::vec![root];
        let mut place = BTreeMap::from([(root, TypeId(0))]);
        let mut next = 0;
        while let Some(&id) = order.get(next) {
            for member in self.as_struct(id).map_or(&[][..], |body| &body.members) {
                let Type::Named(inner) = member.ty else {
                    continue;
                };
                let free = TypeId(u32::try_from(order.len()).unwrap_or(u32::MAX));
                if *place.entry(inner).or_insert(free) == free {
                    order.push(inner);
                }
            }
            next += 1;
        }
        let defs = order
            .iter()
            .map(|&id| renumber(self.def(id).clone(), &place))
            .collect();
        Self::new(defs).expect("a part of a sound set is sound")
    }

    fn facts(&self, id: TypeId) -> &Facts {
        self.facts
            .get(id.0 as usize)
            .expect("a TypeId is used with the set that it came from")
    }
}

fn renumber(mut def: TypeDef, place: &BTreeMap<TypeId, TypeId>) -> TypeDef {
    if let TypeKind::Struct(body) = &mut def.kind {
        for member in &mut body.members {
            if let Type::Named(id) = &mut member.ty {
                *id = place.get(id).copied().unwrap_or(*id);
            }
        }
    }
    def
}

fn derive_facts(defs: &[TypeDef], graph: &graph::Graph) -> Result<Vec<Facts>, BadSchema> {
    let bases: Vec<u64> = defs.iter().map(base_hash).collect();
    if let Some(def) = graph.too_deep().and_then(|place| defs.get(place)) {
        return Err(BadSchema::new(def, SchemaFault::TooDeep));
    }
    let fingerprints = graph.fingerprints(defs, &bases).map_err(|place| {
        let def = defs
            .get(place)
            .expect("the graph has one node for each definition");
        BadSchema::new(def, SchemaFault::Tangled)
    })?;
    let min_sizes = graph.min_sizes(defs);
    let facts = bases
        .into_iter()
        .zip(min_sizes)
        .zip(fingerprints)
        .enumerate();
    Ok(facts
        .map(|(place, ((base, min_size), fingerprint))| Facts {
            base,
            fingerprint: fingerprint.map(Fingerprint),
            min_size,
            is_recursive: graph.is_recursive(place),
        })
        .collect())
}

fn base_hash(def: &TypeDef) -> u64 {
    let body = match &def.kind {
        TypeKind::Struct(body) => body,
        TypeKind::Enum(_) => return BaseHash::of_enum(&def.name),
        TypeKind::External => return 0,
    };
    let mut hash = BaseHash::STRUCT;
    for member in &body.members {
        let primitive = match member.ty {
            Type::Primitive(primitive) => Some(primitive.name()),
            Type::Named(_) => None,
        };
        hash = hash.member(&member.name, primitive, member.dims.len());
        for dim in &member.dims {
            hash = match dim {
                Dim::Fixed { text, .. } => hash.dim(DimMode::Fixed, text),
                Dim::Variable { member } => {
                    let name = body.members.get(*member).map_or("", |length| &length.name);
                    hash.dim(DimMode::Variable, name)
                }
            };
        }
    }
    hash.bits()
}
