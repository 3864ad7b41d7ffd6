//! JSON to values.

mod grid;

use super::{BASE64_KEY, PLAIN_NAN, PLAIN_NAN_F32};
use crate::MAX_LEVELS;
use crate::path::{FieldPath, Step};
use crate::schema::{Enum, Primitive, Struct, Type, TypeId, TypeKind, TypeSet};
use crate::value::Value;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use core::cell::{Cell, RefCell};
use core::fmt;
use grid::{Incomplete, MemberSeed, Parsed, complete};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};

impl TypeSet {
    /// Reads a value of that type.
    ///
    /// # Errors
    /// When the text is not JSON, or not of that type; with the field, the line and the column.
    pub fn from_json(&self, id: TypeId, text: &[u8]) -> Result<Value<'static>, ReadJsonError> {
        let context = Context {
            types: self,
            path: RefCell::default(),
            depth: Cell::new(0),
        };
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        // `Context` counts the depth, in messages' terms.
        deserializer.disable_recursion_limit();
        let read = Scalar {
            context: &context,
            ty: Type::Named(id),
        }
        .deserialize(&mut deserializer);
        read.and_then(|value| deserializer.end().map(|()| value))
            .map_err(|source| ReadJsonError {
                ty: self.def(id).full_name(),
                path: context.path.take(),
                source,
            })
    }
}

/// JSON text that is not a value of the type.
#[derive(Debug)]
pub struct ReadJsonError {
    ty: String,
    path: FieldPath,
    source: serde_json::Error,
}

impl ReadJsonError {
    /// The field that is wrong; empty for the message as a whole.
    #[must_use]
    pub fn path(&self) -> &FieldPath {
        &self.path
    }
}

impl fmt::Display for ReadJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ty, path, source } = self;
        write!(f, "the JSON is not a {ty}: ")?;
        if !path.steps().is_empty() {
            write!(f, "field {path}: ")?;
        }
        source.fmt(f)
    }
}

/// The cause is in the text already.
impl core::error::Error for ReadJsonError {}

/// What every part of the reading shares. The path stays as it is when something fails, and so gives the place.
struct Context<'t> {
    types: &'t TypeSet,
    path: RefCell<FieldPath>,
    depth: Cell<usize>,
}

impl Context<'_> {
    fn inside<T, E>(&self, step: Step, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.path.borrow_mut().push(step);
        let value = read()?;
        self.path.borrow_mut().pop();
        Ok(value)
    }
}

/// One value that is not an array.
#[derive(Clone, Copy)]
struct Scalar<'c> {
    context: &'c Context<'c>,
    ty: Type,
}

impl<'de> DeserializeSeed<'de> for Scalar<'_> {
    type Value = Value<'static>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scalar<'_> {
    type Value = Value<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Integer(ty) => write!(f, "a number ({ty})"),
            Kind::Float(ty) => write!(f, "a number ({ty}), \"NaN\", \"Infinity\" or \"-Infinity\""),
            Kind::Boolean => f.write_str("true or false"),
            Kind::Text => f.write_str("a string"),
            Kind::Struct(id, _) => {
                write!(f, "an object ({})", self.context.types.def(id).full_name())
            }
            Kind::Enum(id, _) => write!(f, "a value of {}", self.context.types.def(id).full_name()),
            Kind::Undefined(id) => {
                write!(
                    f,
                    "nothing: the type {} is not defined",
                    self.context.types.def(id).full_name()
                )
            }
        }
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Self::Value, E> {
        match self.kind() {
            Kind::Boolean => Ok(Value::Boolean(value)),
            Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Text
            | Kind::Struct(..)
            | Kind::Enum(..)
            | Kind::Undefined(_) => Err(E::invalid_type(serde::de::Unexpected::Bool(value), &self)),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Signed(value), &self);
        match self.kind() {
            Kind::Integer(ty) => integer(ty, value).ok_or_else(wrong),
            Kind::Float(ty) => float(ty, to_f64(value)).ok_or_else(wrong),
            Kind::Boolean if value == 0 || value == 1 => Ok(Value::Boolean(value == 1)),
            Kind::Enum(..) => i32::try_from(value).ok().map(Value::Enum).ok_or_else(wrong),
            Kind::Boolean | Kind::Text | Kind::Struct(..) | Kind::Undefined(_) => Err(wrong()),
        }
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
        match (i64::try_from(value), self.kind()) {
            (Ok(value), _) => self.visit_i64(value),
            #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
            (Err(_), Kind::Float(ty)) => float(ty, value as f64)
                .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Unsigned(value), &self)),
            (Err(_), _) => Err(E::invalid_value(
                serde::de::Unexpected::Unsigned(value),
                &self,
            )),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Float(value), &self);
        match self.kind() {
            Kind::Float(ty) => float(ty, value).ok_or_else(wrong),
            Kind::Integer(_)
            | Kind::Boolean
            | Kind::Text
            | Kind::Struct(..)
            | Kind::Enum(..)
            | Kind::Undefined(_) => Err(wrong()),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
        match self.kind() {
            Kind::Text => Ok(Value::Text(Cow::Owned(text.as_bytes().to_vec()))),
            Kind::Integer(ty) => text
                .parse()
                .ok()
                .and_then(|value| integer(ty, value))
                .ok_or_else(wrong),
            Kind::Float(ty) => float_from_text(ty, text).ok_or_else(wrong),
            Kind::Enum(_, body) => {
                let known = body.values.iter().find(|known| known.name == text);
                known.map(|known| Value::Enum(known.value)).ok_or_else(|| {
                    let names: Vec<&str> = body.values.iter().map(|known| &*known.name).collect();
                    E::custom(format_args!(
                        "expected one of {}, found {text:?}",
                        names.join(", ")
                    ))
                })
            }
            Kind::Boolean | Kind::Struct(..) | Kind::Undefined(_) => Err(wrong()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        match self.kind() {
            Kind::Struct(_, body) => {
                let depth = self.context.depth.get() + 1;
                if depth > MAX_LEVELS {
                    return Err(A::Error::custom(format_args!(
                        "expected at most {MAX_LEVELS} levels, found more"
                    )));
                }
                self.context.depth.set(depth);
                let value = self.read_struct(body, map)?;
                self.context.depth.set(depth - 1);
                Ok(value)
            }
            Kind::Text => read_base64_object(map),
            Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Boolean
            | Kind::Enum(..)
            | Kind::Undefined(_) => Err(A::Error::invalid_type(serde::de::Unexpected::Map, &self)),
        }
    }
}

/// What the schema expects.
enum Kind<'c> {
    Integer(Primitive),
    Float(Primitive),
    Boolean,
    Text,
    Struct(TypeId, &'c Struct),
    Enum(TypeId, &'c Enum),
    Undefined(TypeId),
}

impl<'c> Scalar<'c> {
    fn kind(&self) -> Kind<'c> {
        match self.ty {
            Type::Primitive(Primitive::String) => Kind::Text,
            Type::Primitive(Primitive::Boolean) => Kind::Boolean,
            Type::Primitive(ty) if ty.is_float() => Kind::Float(ty),
            Type::Primitive(ty) => Kind::Integer(ty),
            Type::Named(id) => match &self.context.types.def(id).kind {
                TypeKind::Struct(body) => Kind::Struct(id, body),
                TypeKind::Enum(body) => Kind::Enum(id, body),
                TypeKind::External => Kind::Undefined(id),
            },
        }
    }

    fn read_struct<'de, A: MapAccess<'de>>(
        &self,
        body: &Struct,
        mut map: A,
    ) -> Result<Value<'static>, A::Error> {
        let mut read: Vec<Option<Parsed>> = body.members.iter().map(|_| None).collect();
        while let Some(name) = map.next_key::<String>()? {
            let members = || body.members.iter();
            let Some((slot, member)) = read
                .iter_mut()
                .zip(members())
                .find(|(_, member)| member.name == name)
            else {
                let names: Vec<&str> = members().map(|member| &*member.name).collect();
                let names = names.join(", ");
                return Err(A::Error::custom(format_args!(
                    "expected one of the fields {names}; found {name:?}"
                )));
            };
            if slot.is_some() {
                return Err(A::Error::custom(format_args!(
                    "expected the field {name} once, found it twice"
                )));
            }
            let step = Step::Field(Cow::Owned(name));
            *slot = Some(self.context.inside(step, || {
                map.next_value_seed(MemberSeed { of: *self, member })
            })?);
        }
        complete(body, read).map_err(|problem| match problem {
            Incomplete::Missing(name) => {
                A::Error::custom(format_args!("expected the field {name}, found it missing"))
            }
            Incomplete::TooLong(name) => A::Error::custom(format_args!(
                "expected arrays that {name} can count, found a longer one"
            )),
        })
    }
}

fn integer(ty: Primitive, value: i64) -> Option<Value<'static>> {
    match ty {
        Primitive::Int8 => value.try_into().ok().map(Value::Int8),
        Primitive::Int16 => value.try_into().ok().map(Value::Int16),
        Primitive::Int32 => value.try_into().ok().map(Value::Int32),
        Primitive::Int64 => Some(Value::Int64(value)),
        Primitive::Byte => value.try_into().ok().map(Value::Byte),
        Primitive::Float | Primitive::Double | Primitive::String | Primitive::Boolean => None,
    }
}

/// A finite number; `None` if a `float` cannot come near it.
fn float(ty: Primitive, value: f64) -> Option<Value<'static>> {
    if ty == Primitive::Double {
        return Some(Value::Double(value));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float is asked for, and one out of range is refused"
    )]
    let narrow = value as f32;
    narrow.is_finite().then_some(Value::Float(narrow))
}

fn float_from_text(ty: Primitive, text: &str) -> Option<Value<'static>> {
    let is_double = ty == Primitive::Double;
    let both = |double: f64, single: f32| {
        if is_double {
            Value::Double(double)
        } else {
            Value::Float(single)
        }
    };
    match text {
        "NaN" => Some(both(
            f64::from_bits(PLAIN_NAN),
            f32::from_bits(PLAIN_NAN_F32),
        )),
        "Infinity" => Some(both(f64::INFINITY, f32::INFINITY)),
        "-Infinity" => Some(both(f64::NEG_INFINITY, f32::NEG_INFINITY)),
        _ => {
            let bits = text.strip_prefix("NaN:0x")?;
            if is_double {
                let value = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
                return value.is_nan().then_some(Value::Double(value));
            }
            let value = f32::from_bits(u32::from_str_radix(bits, 16).ok()?);
            value.is_nan().then_some(Value::Float(value))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
fn to_f64(value: i64) -> f64 {
    value as f64
}

/// A string that is not UTF-8: `{"base64": "..."}`.
fn read_base64_object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Value<'static>, A::Error> {
    let wrong = || {
        A::Error::custom(format_args!(
            "expected {{\"{BASE64_KEY}\": \"...\"}} for a string that is not UTF-8"
        ))
    };
    let (key, text) = map.next_entry::<String, String>()?.ok_or_else(wrong)?;
    if key != BASE64_KEY || map.next_key::<String>()?.is_some() {
        return Err(wrong());
    }
    match BASE64_STANDARD.decode(&text) {
        Ok(bytes) => Ok(Value::Text(Cow::Owned(bytes))),
        Err(error) => Err(A::Error::custom(format_args!(
            "expected base64, found {text:?}: {error}"
        ))),
    }
}
