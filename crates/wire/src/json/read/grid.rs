//! Arrays in JSON: rows within rows, and the length fields that count them.

use super::{Scalar, integer};
use crate::dynamic::write;
use crate::encode::Writer;
use crate::path::Step;
use crate::schema::{Dim, Member, Primitive, Struct, Type};
use crate::value::{Array, Items, Value};
use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use core::fmt;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

/// A member as read: arrays keep the dimensions that were seen until the length fields are known.
pub(super) enum Parsed {
    Scalar(Value<'static>),
    Grid(Grid),
}

pub(super) struct Grid {
    /// As far in as elements were seen.
    dims: Vec<Option<usize>>,
    items: Items<'static>,
}

pub(super) enum Incomplete<'b> {
    Missing(&'b str),
    TooLong(&'b str),
}

/// Fills in length fields that were left out, and gives arrays their final dimensions.
pub(super) fn complete(
    body: &Struct,
    mut read: Vec<Option<Parsed>>,
) -> Result<Value<'static>, Incomplete<'_>> {
    for (place, member) in body.members.iter().enumerate() {
        if read.get(place).is_some_and(Option::is_some) {
            continue;
        }
        let counts = |array: &Member| {
            array
                .dims
                .iter()
                .position(|dim| *dim == Dim::Variable { member: place })
        };
        let counted = body
            .members
            .iter()
            .zip(&read)
            .find_map(|(array, parsed)| match parsed {
                Some(Parsed::Grid(grid)) => Some(
                    grid.dims
                        .get(counts(array)?)
                        .copied()
                        .flatten()
                        .unwrap_or(0),
                ),
                Some(Parsed::Scalar(_)) | None => None,
            });
        let (Some(n), Type::Primitive(ty)) = (counted, member.ty) else {
            // With its array it could be left out, so it is the array that is missing.
            let missing = body
                .members
                .iter()
                .find(|array| counts(array).is_some())
                .unwrap_or(member);
            return Err(Incomplete::Missing(&missing.name));
        };
        let length = i64::try_from(n).ok().and_then(|n| integer(ty, n));
        let length = length.ok_or(Incomplete::TooLong(&member.name))?;
        if let Some(slot) = read.get_mut(place) {
            *slot = Some(Parsed::Scalar(length));
        }
    }
    let lengths: Vec<Option<usize>> = read.iter().map(length_of).collect();
    let values = body
        .members
        .iter()
        .zip(read)
        .map(|(member, parsed)| match parsed {
            Some(Parsed::Scalar(value)) => Ok(value),
            Some(Parsed::Grid(grid)) => Ok(Value::Array(finish(member, grid, &lengths))),
            None => Err(Incomplete::Missing(&member.name)),
        });
    values
        .collect::<Result<Vec<_>, _>>()
        .map(|values| Value::Struct(values.into_boxed_slice()))
}

fn length_of(parsed: &Option<Parsed>) -> Option<usize> {
    match parsed {
        Some(Parsed::Scalar(value)) => value.as_integer().and_then(|n| usize::try_from(n).ok()),
        Some(Parsed::Grid(_)) | None => None,
    }
}

/// Below an empty dimension no others were seen; they are those of the type or the length fields.
fn finish(member: &Member, grid: Grid, lengths: &[Option<usize>]) -> Array<'static> {
    let dims: Vec<usize> = grid
        .dims
        .iter()
        .zip(&member.dims)
        .map(|(seen, dim)| match (seen, dim) {
            (Some(n), _) => *n,
            (None, Dim::Fixed { size, .. }) => *size,
            (None, Dim::Variable { member }) => {
                lengths.get(*member).copied().flatten().unwrap_or(0)
            }
        })
        .collect();
    Array::new(&dims, grid.items).expect("dimensions were counted as the items were read")
}

/// A member: a scalar or an array of as many dimensions as the type declares.
pub(super) struct MemberSeed<'c, 'm> {
    pub(super) of: Scalar<'c>,
    pub(super) member: &'m Member,
}

impl<'de> DeserializeSeed<'de> for MemberSeed<'_, '_> {
    type Value = Parsed;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parsed, D::Error> {
        let element = Scalar {
            ty: self.member.ty,
            ..self.of
        };
        if self.member.dims.is_empty() {
            return element.deserialize(deserializer).map(Parsed::Scalar);
        }
        let items = match self.member.ty {
            Type::Primitive(ty) if ty.fixed_size().is_some() => Items::Numbers {
                ty,
                bytes: Cow::Owned(Vec::new()),
            },
            Type::Named(id) if self.of.context.types.as_struct(id).is_some() => Items::Structs {
                n: 0,
                members: Vec::new(),
            },
            Type::Primitive(_) | Type::Named(_) => Items::Values(Vec::new()),
        };
        let mut grid = Grid {
            dims: vec![None; self.member.dims.len()],
            items,
        };
        Row {
            element,
            level: 0,
            grid: &mut grid,
        }
        .deserialize(deserializer)?;
        Ok(Parsed::Grid(grid))
    }
}

/// One dimension of an array, and those within it.
struct Row<'c, 'g> {
    element: Scalar<'c>,
    level: usize,
    grid: &'g mut Grid,
}

impl Row<'_, '_> {
    fn is_innermost(&self) -> bool {
        self.level + 1 == self.grid.dims.len()
    }

    /// Reads one element or inner row; `false` when there are no more.
    fn next<'de, A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<bool, A::Error> {
        if self.is_innermost() {
            let Some(value) = seq.next_element_seed(self.element)? else {
                return Ok(false);
            };
            append(&mut self.grid.items, value);
            return Ok(true);
        }
        let inner = Row {
            element: self.element,
            level: self.level + 1,
            grid: &mut *self.grid,
        };
        seq.next_element_seed(inner).map(|read| read.is_some())
    }

    fn close<E: serde::de::Error>(self, n: usize) -> Result<(), E> {
        match self.grid.dims.get_mut(self.level) {
            Some(seen @ None) => *seen = Some(n),
            Some(Some(seen)) if *seen != n => {
                return Err(E::custom(format_args!(
                    "expected rows of equal length, found {seen} and {n} elements"
                )));
            }
            Some(Some(_)) | None => {}
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Row<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Row<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.element.context.types.type_name(self.element.ty);
        write!(f, "an array of {name}")?;
        if name == Primitive::Byte.name() && self.is_innermost() {
            f.write_str(", or base64 text")?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let context = self.element.context;
        let mut n = 0;
        while context.inside(Step::Index(n), || self.next(&mut seq))? {
            n += 1;
        }
        self.close(n)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        let is_innermost = self.is_innermost();
        let Items::Numbers {
            ty: Primitive::Byte,
            bytes,
        } = &mut self.grid.items
        else {
            return Err(E::invalid_type(serde::de::Unexpected::Str(text), &self));
        };
        if !is_innermost {
            return Err(E::invalid_type(serde::de::Unexpected::Str(text), &self));
        }
        let row = BASE64_STANDARD
            .decode(text)
            .map_err(|error| E::custom(format_args!("expected base64: {error}")))?;
        bytes.to_mut().extend_from_slice(&row);
        self.close(row.len())
    }
}

fn append(items: &mut Items<'static>, value: Value<'static>) {
    match items {
        Items::Values(values) => values.push(value),
        Items::Structs { n, members } => {
            *n += 1;
            if let Value::Struct(read) = value {
                members.extend(read);
            }
        }
        Items::Numbers { ty, bytes } => {
            let bytes = bytes.to_mut();
            let start = bytes.len();
            bytes.resize(start + ty.fixed_size().unwrap_or(0), 0);
            write(
                &value,
                &mut Writer::new(bytes.get_mut(start..).unwrap_or_default()),
            );
        }
    }
}
