//! The compact form of a [`TypeSet`], to travel on a bus or stand in a log.
//!
//! ```text
//! "BWT1"                                    magic and version
//! count                                     types
//!   package name doc kind                   kind 0 struct, 1 enum, 2 external
//!   struct: count of members
//!     name doc type count of dims           type 0..8 primitive, 9 + n named type n
//!       size+1 text | 0 member              a fixed dimension, or the member that counts
//!   struct: count of constants
//!     name doc type text
//!   enum: count of values
//!     name doc value
//! ```
//!
//! Counts, sizes and places are LEB128; a string is its length and its UTF-8; an enum value is zigzag LEB128.

use super::{
    BadSchema, Constant, Dim, Enum, EnumValue, Member, Number, Primitive, Struct, Type, TypeDef,
    TypeId, TypeKind, TypeSet,
};
use crate::number;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

const MAGIC: &[u8; 4] = b"BWT1";
const NAMED: usize = Primitive::ALL.len();

/// Whether comments travel along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Docs {
    /// With comments, from which people and tools read units.
    Keep,
    /// Without.
    Strip,
}

impl TypeSet {
    /// The compact form.
    #[must_use]
    pub fn to_bytes(&self, docs: Docs) -> Vec<u8> {
        let mut out = Out {
            bytes: MAGIC.to_vec(),
            docs,
        };
        out.list(&self.defs, |out, def| {
            out.text(&def.package);
            out.text(&def.name);
            out.doc(&def.doc);
            match &def.kind {
                TypeKind::Struct(body) => {
                    out.number(0);
                    out.list(&body.members, Out::member);
                    out.list(&body.constants, Out::constant);
                }
                TypeKind::Enum(body) => {
                    out.number(1);
                    out.list(&body.values, Out::enum_value);
                }
                TypeKind::External => out.number(2),
            }
        });
        out.bytes
    }

    /// Reads the compact form and checks it as if it came from an enemy.
    ///
    /// # Errors
    /// When it is cut short, not this format, or not sound.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadSchemaError> {
        let mut input = In {
            rest: bytes,
            len: bytes.len(),
        };
        if input.take(MAGIC.len())? != MAGIC {
            return Err(ReadSchemaError::Malformed {
                offset: 0,
                expected: "the magic number BWT1",
            });
        }
        let defs = input.list(In::def)?;
        if !input.rest.is_empty() {
            return Err(input.malformed("the end of the schema"));
        }
        Self::new(defs).map_err(ReadSchemaError::Unsound)
    }
}

struct Out {
    bytes: Vec<u8>,
    docs: Docs,
}

impl Out {
    fn number(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn doc(&mut self, doc: &str) {
        match self.docs {
            Docs::Keep => self.text(doc),
            Docs::Strip => self.text(""),
        }
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.number(items.len());
        for item in items {
            each(self, item);
        }
    }

    fn member(&mut self, member: &Member) {
        let Member {
            name,
            doc,
            ty,
            dims,
        } = member;
        self.text(name);
        self.doc(doc);
        match ty {
            Type::Primitive(primitive) => self.primitive(*primitive),
            Type::Named(TypeId(id)) => self.number(NAMED + *id as usize),
        }
        self.list(dims, |out, dim| match dim {
            Dim::Fixed { size, text } => {
                out.number(*size + 1);
                out.text(text);
            }
            Dim::Variable { member } => {
                out.number(0);
                out.number(*member);
            }
        });
    }

    fn constant(&mut self, constant: &Constant) {
        let Constant {
            name,
            doc,
            ty,
            text,
            value: _,
        } = constant;
        self.text(name);
        self.doc(doc);
        self.primitive(*ty);
        self.text(text);
    }

    fn enum_value(&mut self, value: &EnumValue) {
        let EnumValue { name, doc, value } = value;
        self.text(name);
        self.doc(doc);
        self.number(((value << 1) ^ (value >> 31)).cast_unsigned() as usize);
    }

    fn primitive(&mut self, primitive: Primitive) {
        let place = Primitive::ALL.iter().position(|&other| other == primitive);
        self.number(place.expect("ALL has every primitive"));
    }
}

struct In<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> In<'a> {
    fn malformed(&self, expected: &'static str) -> ReadSchemaError {
        ReadSchemaError::Malformed {
            offset: self.len - self.rest.len(),
            expected,
        }
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], ReadSchemaError> {
        let (head, rest) = self
            .rest
            .split_at_checked(n)
            .ok_or_else(|| self.malformed("more bytes"))?;
        self.rest = rest;
        Ok(head)
    }

    fn number(&mut self) -> Result<usize, ReadSchemaError> {
        let mut number = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = *self.take(1)?.first().unwrap_or(&0);
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(number)
                    .ok()
                    .ok_or_else(|| self.malformed("a smaller number"));
            }
        }
        Err(self.malformed("a number of at most 5 bytes"))
    }

    fn text(&mut self) -> Result<String, ReadSchemaError> {
        let n = self.number()?;
        let text = self.take(n)?;
        match str::from_utf8(text) {
            Ok(text) => Ok(text.to_string()),
            Err(_) => Err(self.malformed("UTF-8 text")),
        }
    }

    /// Every item takes at least one byte, so a list cannot claim more than is there.
    fn list<T>(
        &mut self,
        each: impl Fn(&mut Self) -> Result<T, ReadSchemaError>,
    ) -> Result<Vec<T>, ReadSchemaError> {
        let n = self.number()?;
        if n > self.rest.len() {
            return Err(self.malformed("as many items as are claimed"));
        }
        (0..n).map(|_| each(self)).collect()
    }

    fn def(&mut self) -> Result<TypeDef, ReadSchemaError> {
        let (package, name, doc) = (self.text()?, self.text()?, self.text()?);
        let kind = match self.number()? {
            0 => {
                let members = self.list(Self::member)?;
                TypeKind::Struct(Struct {
                    members,
                    constants: self.list(Self::constant)?,
                })
            }
            1 => TypeKind::Enum(Enum {
                values: self.list(Self::enum_value)?,
            }),
            2 => TypeKind::External,
            _ => return Err(self.malformed("struct, enum or external")),
        };
        Ok(TypeDef {
            package,
            name,
            doc,
            kind,
        })
    }

    fn member(&mut self) -> Result<Member, ReadSchemaError> {
        let (name, doc, ty) = (self.text()?, self.text()?, self.number()?);
        let ty = match Primitive::ALL.get(ty) {
            Some(primitive) => Type::Primitive(*primitive),
            None => Type::Named(TypeId(u32::try_from(ty - NAMED).unwrap_or(u32::MAX))),
        };
        let dims = self.list(|input| match input.number()?.checked_sub(1) {
            Some(size) => Ok(Dim::Fixed {
                size,
                text: input.text()?,
            }),
            None => Ok(Dim::Variable {
                member: input.number()?,
            }),
        })?;
        Ok(Member {
            name,
            doc,
            ty,
            dims,
        })
    }

    fn constant(&mut self) -> Result<Constant, ReadSchemaError> {
        let (name, doc, ty, text) = (self.text()?, self.text()?, self.number()?, self.text()?);
        let ty = *Primitive::ALL
            .get(ty)
            .ok_or_else(|| self.malformed("a primitive type"))?;
        let value = if ty.is_integer() {
            number::parse_integer(&text).map(Number::Integer)
        } else {
            number::parse_float(&text)
                .filter(|_| ty.is_float())
                .map(Number::Float)
        };
        let value = value.ok_or_else(|| self.malformed("a number as constant"))?;
        Ok(Constant {
            name,
            doc,
            ty,
            text,
            value,
        })
    }

    fn enum_value(&mut self) -> Result<EnumValue, ReadSchemaError> {
        let (name, doc, value) = (self.text()?, self.text()?, self.number()?);
        let value = u32::try_from(value)
            .ok()
            .ok_or_else(|| self.malformed("a 32-bit value"))?;
        Ok(EnumValue {
            name,
            doc,
            value: (value >> 1).cast_signed() ^ -(value & 1).cast_signed(),
        })
    }
}

/// A schema that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadSchemaError {
    /// Not the compact form.
    Malformed {
        /// The byte where it stops being it.
        offset: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// The definitions do not make sense.
    Unsound(BadSchema),
}

impl fmt::Display for ReadSchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { offset, expected } => {
                write!(
                    f,
                    "malformed schema: expected {expected} at byte {offset}, found something else"
                )
            }
            Self::Unsound(bad) => bad.fmt(f),
        }
    }
}

impl core::error::Error for ReadSchemaError {}
