//! Values to JSON.

use super::{BASE64_KEY, MAX_SAFE_INTEGER, PLAIN_NAN, PLAIN_NAN_F32};
use crate::schema::{Member, Primitive, Type, TypeId, TypeKind, TypeSet};
use crate::value::{Array, Items, Value, struct_at};
use alloc::string::String;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// A value with its type, ready for any serde format. `TypeSet::to_json` is the short way to text.
#[derive(Clone, Copy, Debug)]
pub struct Json<'v> {
    types: &'v TypeSet,
    ty: Type,
    value: &'v Value<'v>,
}

impl TypeSet {
    /// A value with its type, to be serialized.
    #[must_use]
    pub fn json<'v>(&'v self, id: TypeId, value: &'v Value<'v>) -> Json<'v> {
        Json {
            types: self,
            ty: Type::Named(id),
            value,
        }
    }

    /// A field's value with the type of the field, or of its elements, to be serialized.
    #[must_use]
    pub fn json_of<'v>(&'v self, ty: Type, value: &'v Value<'v>) -> Json<'v> {
        Json {
            types: self,
            ty,
            value,
        }
    }

    /// JSON on one line.
    ///
    /// # Panics
    /// Never: keys are text and memory does not fail.
    #[must_use]
    pub fn to_json(&self, id: TypeId, value: &Value<'_>) -> String {
        serde_json::to_string(&self.json(id, value))
            .expect("writing to memory, with text as keys, cannot fail")
    }

    /// JSON on many lines, for people.
    ///
    /// # Panics
    /// Never: keys are text and memory does not fail.
    #[must_use]
    pub fn to_json_pretty(&self, id: TypeId, value: &Value<'_>) -> String {
        serde_json::to_string_pretty(&self.json(id, value))
            .expect("writing to memory, with text as keys, cannot fail")
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Int8(value) => serializer.serialize_i8(*value),
            Value::Int16(value) => serializer.serialize_i16(*value),
            Value::Int32(value) => serializer.serialize_i32(*value),
            Value::Int64(value) if value.unsigned_abs() <= MAX_SAFE_INTEGER.unsigned_abs() => {
                serializer.serialize_i64(*value)
            }
            Value::Int64(value) => serializer.collect_str(value),
            Value::Byte(value) => serializer.serialize_u8(*value),
            Value::Float(value) if value.is_finite() => serializer.serialize_f32(*value),
            Value::Float(value) if value.is_nan() && value.to_bits() != PLAIN_NAN_F32 => {
                serializer.collect_str(&format_args!("NaN:0x{:08x}", value.to_bits()))
            }
            Value::Float(value) => serializer.serialize_str(not_finite(f64::from(*value))),
            Value::Double(value) if value.is_finite() => serializer.serialize_f64(*value),
            Value::Double(value) if value.is_nan() && value.to_bits() != PLAIN_NAN => {
                serializer.collect_str(&format_args!("NaN:0x{:016x}", value.to_bits()))
            }
            Value::Double(value) => serializer.serialize_str(not_finite(*value)),
            Value::Boolean(value) => serializer.serialize_bool(*value),
            Value::Text(text) => serialize_text(text, serializer),
            Value::Enum(value) => match self.enum_name(*value) {
                Some(name) => serializer.serialize_str(name),
                None => serializer.serialize_i32(*value),
            },
            Value::Struct(members) => Members {
                types: self.types,
                ty: self.ty,
                members,
            }
            .serialize(serializer),
            Value::Array(array) => self.serialize_array(array, serializer),
        }
    }
}

impl<'v> Json<'v> {
    fn serialize_array<S: Serializer>(
        &self,
        array: &Array<'_>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if array.n_dims() == 1
            && let Items::Numbers {
                ty: Primitive::Byte,
                bytes,
            } = array.items()
        {
            return serializer.serialize_str(&BASE64_STANDARD.encode(bytes));
        }
        let (types, ty) = (self.types, self.ty);
        if let (1, Items::Structs { n, members }) = (array.n_dims(), array.items()) {
            let members = (0..*n).map(|i| struct_at(*n, members, i).unwrap_or_default());
            return serializer.collect_seq(members.map(|members| Members { types, ty, members }));
        }
        serializer.collect_seq(array.iter().map(|value| Element { types, ty, value }))
    }

    fn enum_name(&self, value: i32) -> Option<&'v str> {
        let Type::Named(id) = self.ty else {
            return None;
        };
        match &self.types.def(id).kind {
            TypeKind::Enum(body) => body
                .values
                .iter()
                .find(|known| known.value == value)
                .map(|known| &*known.name),
            TypeKind::Struct(_) | TypeKind::External => None,
        }
    }
}

/// The members of a struct.
struct Members<'v> {
    types: &'v TypeSet,
    ty: Type,
    members: &'v [Value<'v>],
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let types = self.types;
        let defined: &[Member] = match self.ty {
            Type::Named(id) => types.as_struct(id).map_or(&[], |body| &body.members),
            Type::Primitive(_) => &[],
        };
        let mut map = serializer.serialize_map(Some(defined.len()))?;
        for (member, value) in defined.iter().zip(self.members) {
            map.serialize_entry(
                &member.name,
                &Json {
                    types,
                    ty: member.ty,
                    value,
                },
            )?;
        }
        map.end()
    }
}

/// An element or row that was made for the occasion.
struct Element<'v> {
    types: &'v TypeSet,
    ty: Type,
    value: Value<'v>,
}

impl Serialize for Element<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { types, ty, value } = self;
        Json {
            types,
            ty: *ty,
            value,
        }
        .serialize(serializer)
    }
}

fn serialize_text<S: Serializer>(text: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if let Ok(text) = str::from_utf8(text) {
        return serializer.serialize_str(text);
    }
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(BASE64_KEY, &BASE64_STANDARD.encode(text))?;
    map.end()
}

fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}
