//! Values as text that every language can write in the same way.
//!
//! JSON, in the order of the members, without spaces: integers and enums in decimal, booleans as `true` and `false`,
//! floats and doubles as a string of their bits in hex, strings as the hex of their UTF-8. Nothing is rounded, escaped
//! or left to a library's taste, so equal texts mean equal values.

use bowline_wire::Value;
use bowline_wire::schema::{Type, TypeId, TypeSet};
use std::fmt::Write as _;

/// How a language sees a `byte`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// From 0 to 255.
    Unsigned,
    /// From -128 to 127.
    Signed,
}

/// The text of a value.
#[must_use]
pub fn dump(types: &TypeSet, id: TypeId, value: &Value<'_>, bytes: Bytes) -> String {
    let mut text = String::new();
    Writer {
        types,
        bytes,
        text: &mut text,
    }
    .write(Type::Named(id), value);
    text
}

/// Bytes in hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to memory cannot fail");
            text
        })
}

struct Writer<'w> {
    types: &'w TypeSet,
    bytes: Bytes,
    text: &'w mut String,
}

impl Writer<'_> {
    fn write(&mut self, ty: Type, value: &Value<'_>) {
        match value {
            Value::Float(float) => self.push(format_args!("\"{:08x}\"", float.to_bits())),
            Value::Double(double) => self.push(format_args!("\"{:016x}\"", double.to_bits())),
            Value::Boolean(boolean) => self.push(format_args!("{boolean}")),
            Value::Text(bytes) => self.push(format_args!("\"{}\"", hex(bytes))),
            Value::Byte(byte) if self.bytes == Bytes::Signed => {
                self.push(format_args!("{}", byte.cast_signed()));
            }
            Value::Int8(_)
            | Value::Int16(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Byte(_)
            | Value::Enum(_) => {
                let integer = value.as_integer().expect("just seen to be an integer");
                self.push(format_args!("{integer}"));
            }
            Value::Struct(values) => self.write_struct(ty, values),
            Value::Array(array) => {
                self.text.push('[');
                for (place, value) in array.iter().enumerate() {
                    self.text.push_str(if place > 0 { "," } else { "" });
                    self.write(ty, &value);
                }
                self.text.push(']');
            }
        }
    }

    fn write_struct(&mut self, ty: Type, values: &[Value<'_>]) {
        let Type::Named(id) = ty else {
            panic!("expected a {ty:?}, found a struct")
        };
        let members = &self
            .types
            .as_struct(id)
            .expect("a struct value is of a struct type")
            .members;
        self.text.push('{');
        for (place, (member, value)) in members.iter().zip(values).enumerate() {
            self.text.push_str(if place > 0 { "," } else { "" });
            self.push(format_args!("\"{}\":", member.name));
            self.write(member.ty, value);
        }
        self.text.push('}');
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.text
            .write_fmt(text)
            .expect("writing to memory cannot fail");
    }
}
