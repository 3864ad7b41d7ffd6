//! Random values of any type.
//!
//! The awkward ones come often: the ends of every integer's range, every kind of NaN, empty and nested arrays, strings
//! with a byte order mark. No string has a NUL within, since C's strings end at the first.

use crate::random::Random;
use bowline_wire::schema::{Dim, Primitive, Struct, Type, TypeId, TypeKind, TypeSet};
use bowline_wire::{Array, Items, Value};
use std::borrow::Cow;

/// A random value of a type.
#[must_use]
pub fn random(types: &TypeSet, id: TypeId, random: &mut Random) -> Value<'static> {
    Maker { types, random }.named(id, 0)
}

/// Variable arrays have at most so many elements, by how deep they are. Beyond, they are empty, so that types that
/// contain themselves come to an end.
const MAX_LENGTHS: &[usize] = &[4, 2, 1];

const CHARS: &[char] = &[
    'a', 'Z', '0', ' ', '"', '\\', '\'', '\n', '\t', '\r', '\u{1}', '\u{7f}', 'é', 'ß', '\u{ff}',
    '漢', '€', '🦀', '\u{feff}', '\u{2028}', '\u{fffd}', '%', '{', '<',
];

struct Maker<'m> {
    types: &'m TypeSet,
    random: &'m mut Random,
}

impl Maker<'_> {
    fn named(&mut self, id: TypeId, depth: usize) -> Value<'static> {
        match &self.types.def(id).kind {
            TypeKind::Struct(body) => Value::Struct(self.members(body, depth).into_boxed_slice()),
            TypeKind::Enum(body) => match self.random.below(4) {
                0 => Value::Enum(low_i32(self.random.bits())),
                _ => Value::Enum(self.random.pick(&body.values).value),
            },
            TypeKind::External => panic!(
                "expected a type that is defined, found {}",
                self.types.def(id).full_name()
            ),
        }
    }

    fn members(&mut self, body: &Struct, depth: usize) -> Vec<Value<'static>> {
        let mut values: Vec<Value<'static>> = Vec::with_capacity(body.members.len());
        for (place, member) in body.members.iter().enumerate() {
            let is_length = body
                .members
                .iter()
                .any(|array| array.dims.contains(&Dim::Variable { member: place }));
            let value = match member.ty {
                Type::Primitive(ty) if is_length => self.length(ty, depth),
                _ if !member.dims.is_empty() => {
                    let size = |dim: &Dim| match dim {
                        Dim::Fixed { size, .. } => *size,
                        Dim::Variable { member } => {
                            let length =
                                values[*member].as_integer().expect("lengths are integers");
                            usize::try_from(length).expect("lengths are made from 0 up")
                        }
                    };
                    let dims: Vec<usize> = member.dims.iter().map(size).collect();
                    self.array(member.ty, &dims, depth)
                }
                Type::Primitive(ty) => self.scalar(ty),
                Type::Named(id) => self.named(id, depth + 1),
            };
            values.push(value);
        }
        values
    }

    fn length(&mut self, ty: Primitive, depth: usize) -> Value<'static> {
        let max = MAX_LENGTHS.get(depth).copied().unwrap_or(0);
        let length = i8::try_from(self.random.between(0, max)).expect("lengths are small");
        match ty {
            Primitive::Int8 => Value::Int8(length),
            Primitive::Int16 => Value::Int16(length.into()),
            Primitive::Int32 => Value::Int32(length.into()),
            Primitive::Int64 => Value::Int64(length.into()),
            Primitive::Byte
            | Primitive::Float
            | Primitive::Double
            | Primitive::String
            | Primitive::Boolean => {
                panic!("expected an integer as length, found {ty}")
            }
        }
    }

    fn array(&mut self, ty: Type, dims: &[usize], depth: usize) -> Value<'static> {
        let n: usize = dims.iter().product();
        let items = match ty {
            Type::Primitive(ty) if ty != Primitive::String => {
                let bytes: Vec<u8> = (0..n).flat_map(|_| wire_bytes(&self.scalar(ty))).collect();
                Items::Numbers {
                    ty,
                    bytes: Cow::Owned(bytes),
                }
            }
            Type::Primitive(ty) => Items::Values((0..n).map(|_| self.scalar(ty)).collect()),
            Type::Named(id) => match self.types.as_struct(id) {
                Some(body) => {
                    let members = (0..n).flat_map(|_| self.members(body, depth + 1));
                    Items::Structs {
                        n,
                        members: members.collect(),
                    }
                }
                None => Items::Values((0..n).map(|_| self.named(id, depth + 1)).collect()),
            },
        };
        Value::Array(
            Array::new(dims, items).expect("as many items were made as the dimensions require"),
        )
    }

    fn scalar(&mut self, ty: Primitive) -> Value<'static> {
        match ty {
            Primitive::Int8 => Value::Int8(i8::from_be_bytes([low_u8(self.integer(8))])),
            Primitive::Int16 => Value::Int16(i16::from_be_bytes(tail(self.integer(16)))),
            Primitive::Int32 => Value::Int32(low_i32(self.integer(32))),
            Primitive::Int64 => Value::Int64(i64::from_be_bytes(self.integer(64).to_be_bytes())),
            Primitive::Byte => Value::Byte(low_u8(self.integer(8))),
            Primitive::Float => Value::Float(self.float()),
            Primitive::Double => Value::Double(self.double()),
            Primitive::Boolean => Value::Boolean(self.random.one_in(2)),
            Primitive::String => Value::Text(Cow::Owned(self.text().into_bytes())),
        }
    }

    /// The low bits of an integer of so many bits.
    fn integer(&mut self, n_bits: u32) -> u64 {
        let top = 1_u64 << (n_bits - 1);
        match self.random.below(8) {
            0 => top,
            1 => top - 1,
            2 => u64::MAX,
            3 => 0,
            4 => (1 << 53) + 1,
            _ => self.random.bits(),
        }
    }

    fn float(&mut self) -> f32 {
        f32::from_bits(match self.random.below(12) {
            0 => 0x7fc0_0000,
            1 => 0xffc0_1234,
            2 => 0x7f80_0001,
            3 => f32::INFINITY.to_bits(),
            4 => f32::NEG_INFINITY.to_bits(),
            5 => (-0.0_f32).to_bits(),
            6 => 1,
            7 => f32::MAX.to_bits(),
            8 => 0.1_f32.to_bits(),
            _ => u32::from_be_bytes(tail(self.random.bits())),
        })
    }

    fn double(&mut self) -> f64 {
        f64::from_bits(match self.random.below(12) {
            0 => 0x7ff8_0000_0000_0000,
            1 => 0xfff8_0000_dead_beef,
            2 => 0x7ff0_0000_0000_0001,
            3 => f64::INFINITY.to_bits(),
            4 => f64::NEG_INFINITY.to_bits(),
            5 => (-0.0_f64).to_bits(),
            6 => 1,
            7 => f64::MAX.to_bits(),
            8 => 0.1_f64.to_bits(),
            _ => self.random.bits(),
        })
    }

    fn text(&mut self) -> String {
        let n = *self.random.pick(&[0, 0, 1, 1, 2, 5, 20]);
        (0..n).map(|_| *self.random.pick(CHARS)).collect()
    }
}

/// What a language may do to NaNs on the way through its floating-point types. Values are compared after that was done
/// to both; everything else must come through as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nans {
    /// Keeps every bit.
    Kept,
    /// A signalling `float` may become quiet, because the language has only doubles and the processor converts.
    FloatsQuieted,
    /// All become the usual one, as the language's standard library has it.
    Unified,
}

impl Nans {
    /// The value after a way through that language.
    #[must_use]
    pub fn applied(self, value: &Value<'_>) -> Value<'static> {
        match value {
            Value::Float(float) => Value::Float(self.float(*float)),
            Value::Double(double) => Value::Double(self.double(*double)),
            Value::Struct(members) => {
                Value::Struct(members.iter().map(|member| self.applied(member)).collect())
            }
            Value::Array(array) => Value::Array(self.array(array)),
            Value::Int8(_)
            | Value::Int16(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Byte(_)
            | Value::Boolean(_)
            | Value::Text(_)
            | Value::Enum(_) => value.clone().into_owned(),
        }
    }

    fn array(self, array: &Array<'_>) -> Array<'static> {
        let dims: Vec<usize> = (0..array.n_dims()).map(|place| array.dim(place)).collect();
        let items = match array.items() {
            Items::Numbers {
                ty: Primitive::Float,
                bytes,
            } => {
                let floats = bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|bits| self.float(f32::from_be_bytes(*bits)));
                let bytes = floats.flat_map(f32::to_be_bytes).collect();
                Items::Numbers {
                    ty: Primitive::Float,
                    bytes: Cow::Owned(bytes),
                }
            }
            Items::Numbers {
                ty: Primitive::Double,
                bytes,
            } => {
                let doubles = bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|bits| self.double(f64::from_be_bytes(*bits)));
                let bytes = doubles.flat_map(f64::to_be_bytes).collect();
                Items::Numbers {
                    ty: Primitive::Double,
                    bytes: Cow::Owned(bytes),
                }
            }
            Items::Numbers { ty, bytes } => Items::Numbers {
                ty: *ty,
                bytes: Cow::Owned(bytes.to_vec()),
            },
            Items::Values(values) => {
                Items::Values(values.iter().map(|value| self.applied(value)).collect())
            }
            Items::Structs { n, members } => Items::Structs {
                n: *n,
                members: members.iter().map(|value| self.applied(value)).collect(),
            },
        };
        Array::new(&dims, items).expect("the items keep their number")
    }

    fn float(self, value: f32) -> f32 {
        match self {
            Self::FloatsQuieted if value.is_nan() => f32::from_bits(value.to_bits() | 0x0040_0000),
            Self::Unified if value.is_nan() => f32::from_bits(0x7fc0_0000),
            Self::Kept | Self::FloatsQuieted | Self::Unified => value,
        }
    }

    fn double(self, value: f64) -> f64 {
        match self {
            Self::Unified if value.is_nan() => f64::from_bits(0x7ff8_0000_0000_0000),
            Self::Kept | Self::FloatsQuieted | Self::Unified => value,
        }
    }
}

fn wire_bytes(value: &Value<'_>) -> Vec<u8> {
    match value {
        Value::Int8(value) => value.to_be_bytes().to_vec(),
        Value::Int16(value) => value.to_be_bytes().to_vec(),
        Value::Int32(value) => value.to_be_bytes().to_vec(),
        Value::Int64(value) => value.to_be_bytes().to_vec(),
        Value::Byte(value) => vec![*value],
        Value::Float(value) => value.to_be_bytes().to_vec(),
        Value::Double(value) => value.to_be_bytes().to_vec(),
        Value::Boolean(value) => vec![u8::from(*value)],
        Value::Text(_) | Value::Enum(_) | Value::Struct(_) | Value::Array(_) => {
            panic!("expected a number, found {}", value.kind())
        }
    }
}

fn low_u8(bits: u64) -> u8 {
    let [byte] = tail(bits);
    byte
}

fn low_i32(bits: u64) -> i32 {
    i32::from_be_bytes(tail(bits))
}

fn tail<const N: usize>(bits: u64) -> [u8; N] {
    *bits
        .to_be_bytes()
        .last_chunk()
        .expect("no number is wider than 64 bits")
}
