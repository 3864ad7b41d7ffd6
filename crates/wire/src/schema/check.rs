//! Whether definitions make sense, member by member and together.

use super::{Dim, Member, Type, TypeDef, TypeId, TypeKind, TypeSet};
use crate::MAX_DEPTH;
use alloc::collections::BTreeSet;
use alloc::string::String;
use core::fmt;

pub(super) fn check_members(defs: &[TypeDef]) -> Result<(), BadSchema> {
    for def in defs {
        let body = match &def.kind {
            TypeKind::Struct(body) => body,
            TypeKind::Enum(body) => {
                let mut names = BTreeSet::new();
                if !body.values.iter().all(|value| names.insert(&value.name)) {
                    return Err(BadSchema::new(def, SchemaFault::Duplicate));
                }
                continue;
            }
            TypeKind::External => continue,
        };
        let mut names = BTreeSet::new();
        for (place, member) in body.members.iter().enumerate() {
            let earlier = body.members.get(..place).unwrap_or_default();
            let checked = if names.insert(&member.name) {
                check_member(defs, earlier, member)
            } else {
                Err(SchemaFault::Duplicate)
            };
            checked.map_err(|fault| BadSchema {
                member: Some(member.name.clone()),
                ..BadSchema::new(def, fault)
            })?;
        }
    }
    Ok(())
}

fn check_member(defs: &[TypeDef], earlier: &[Member], member: &Member) -> Result<(), SchemaFault> {
    if let Type::Named(TypeId(id)) = member.ty
        && id as usize >= defs.len()
    {
        return Err(SchemaFault::NoSuchType);
    }
    let element_size = match member.ty {
        Type::Primitive(primitive) => primitive.min_size(),
        // At least 1, so that even an array of empty structs has a bound.
        Type::Named(_) => 1,
    };
    let mut fixed_size = element_size;
    for dim in &member.dims {
        match dim {
            Dim::Fixed { size: 0, .. } => return Err(SchemaFault::ZeroSize),
            Dim::Fixed { size, .. } => fixed_size = fixed_size.saturating_mul(*size),
            Dim::Variable { member } => {
                let counts = earlier.get(*member).is_some_and(|length| {
                    matches!(length.ty, Type::Primitive(ty) if ty.is_integer())
                        && length.dims.is_empty()
                });
                if !counts {
                    return Err(SchemaFault::BadLength);
                }
            }
        }
    }
    if fixed_size > TypeSet::MAX_ARRAY_SIZE {
        return Err(SchemaFault::TooLarge);
    }
    Ok(())
}

/// Definitions that do not make sense together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSchema {
    ty: String,
    member: Option<String>,
    fault: SchemaFault,
}

impl BadSchema {
    pub(super) fn new(def: &TypeDef, fault: SchemaFault) -> Self {
        Self {
            ty: def.full_name(),
            member: None,
            fault,
        }
    }

    /// The full name of the type that does not make sense.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.ty
    }

    /// What does not make sense.
    #[must_use]
    pub fn fault(&self) -> &SchemaFault {
        &self.fault
    }
}

/// What does not make sense about a type or member.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaFault {
    /// Another of the same name is there.
    Duplicate,
    /// The type is not in the set.
    NoSuchType,
    /// A dimension of 0.
    ZeroSize,
    /// The length field is not an earlier scalar integer.
    BadLength,
    /// A fixed array that no message can hold.
    TooLarge,
    /// Types inside types inside types, beyond what a decoder follows.
    TooDeep,
    /// So many types that contain each other that their fingerprints cannot be worked out.
    Tangled,
}

impl fmt::Display for BadSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ty, member, fault } = self;
        write!(f, "bad schema: type {ty}")?;
        if let Some(member) = member {
            write!(f, ", member {member}")?;
        }
        match fault {
            SchemaFault::Duplicate => {
                f.write_str(": expected a name of its own, found it defined twice")
            }
            SchemaFault::NoSuchType => {
                f.write_str(": expected a type of the schema, found none there")
            }
            SchemaFault::ZeroSize => f.write_str(": expected a dimension of 1 or more, found 0"),
            SchemaFault::BadLength => {
                f.write_str(": expected an earlier scalar integer as length, found none")
            }
            SchemaFault::TooLarge => {
                write!(
                    f,
                    ": expected a fixed array of at most {} bytes, found more",
                    TypeSet::MAX_ARRAY_SIZE
                )
            }
            SchemaFault::TooDeep => {
                write!(
                    f,
                    ": expected types at most {MAX_DEPTH} deep inside each other, found more"
                )
            }
            SchemaFault::Tangled => {
                f.write_str(": expected a few types that contain each other, found too many")
            }
        }
    }
}

impl core::error::Error for BadSchema {}
