//! The codec that needs no generated code: a [`TypeSet`] reads and writes [`Value`]s.
//!
//! It accepts and refuses exactly what generated code does; `fuzz/` holds the two against each other.

use crate::decode::{DecodeError, DecodeFault, Reader};
use crate::encode::{EncodeError, EncodeFault, Meter, Writer};
use crate::fingerprint::Fingerprint;
use crate::schema::{Dim, Member, Primitive, Struct, Type, TypeId, TypeKind, TypeSet};
use crate::value::{Array, Items, Value};
use crate::{Encode as _, MAX_MESSAGE_SIZE};
use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

impl TypeSet {
    /// Decodes a whole message, whose fingerprint says of which type it is.
    ///
    /// # Errors
    /// When no type of the set has its fingerprint, or it is not exactly one message of that type.
    pub fn decode<'a>(&self, message: &'a [u8]) -> Result<(TypeId, Value<'a>), DecodeError> {
        let mut reader = Reader::new(message);
        let found = Fingerprint(u64::from_be_bytes(reader.take()?));
        let Some(id) = self.by_fingerprint(found) else {
            return Err(Reader::new(message).fault(DecodeFault::UnknownFingerprint { found }));
        };
        self.decode_as(id, message).map(|value| (id, value))
    }

    /// Decodes a whole message of a type that is already known.
    ///
    /// # Errors
    /// When it is not exactly one message of that type.
    pub fn decode_as<'a>(&self, id: TypeId, message: &'a [u8]) -> Result<Value<'a>, DecodeError> {
        let mut reader = Reader::new(message);
        let decoded = self.read_message(id, &mut reader);
        decoded.map_err(|error| error.in_message(self.def(id).full_name()))
    }

    fn read_message<'a>(
        &self,
        id: TypeId,
        reader: &mut Reader<'a>,
    ) -> Result<Value<'a>, DecodeError> {
        match self.fingerprint(id) {
            Some(fingerprint) => reader.expect_fingerprint(fingerprint)?,
            None => {
                return Err(reader.fault(DecodeFault::Undefined {
                    name: self.def(id).full_name(),
                }));
            }
        }
        let value = self.read_named(id, reader)?;
        reader.expect_end()?;
        Ok(value)
    }

    /// Encodes a message.
    ///
    /// # Errors
    /// When `value` is not of that type, or a length field disagrees with its array.
    pub fn encode(&self, id: TypeId, value: &Value<'_>) -> Result<Vec<u8>, EncodeError> {
        self.try_encode(id, value)
            .map_err(|error| error.in_message(self.def(id).full_name()))
    }

    fn try_encode(&self, id: TypeId, value: &Value<'_>) -> Result<Vec<u8>, EncodeError> {
        let Some(fingerprint) = self.fingerprint(id) else {
            return Err(EncodeError::new(EncodeFault::Undefined {
                name: self.def(id).full_name(),
            }));
        };
        let mut meter = Meter::default();
        meter.add(size_of::<Fingerprint>());
        self.measure_scalar(Type::Named(id), value, &mut meter)?;
        if meter.size() > MAX_MESSAGE_SIZE {
            return Err(EncodeError::new(EncodeFault::TooLarge {
                size: meter.size(),
            }));
        }
        let mut message = vec![0; meter.size()];
        let mut writer = Writer::new(&mut message);
        writer.put(fingerprint.0.to_be_bytes());
        write(value, &mut writer);
        if writer.is_complete() {
            Ok(message)
        } else {
            Err(EncodeError::new(EncodeFault::Inconsistent))
        }
    }
}

/// Decoding.
impl TypeSet {
    fn read_named<'a>(
        &self,
        id: TypeId,
        reader: &mut Reader<'a>,
    ) -> Result<Value<'a>, DecodeError> {
        match &self.def(id).kind {
            TypeKind::Struct(body) => {
                let is_recursive = self.is_recursive(id);
                reader.enter_level()?;
                if is_recursive {
                    reader.enter()?;
                }
                let value = self.read_struct(body, reader)?;
                if is_recursive {
                    reader.leave();
                }
                reader.leave_level();
                Ok(value)
            }
            TypeKind::Enum(_) => reader
                .take()
                .map(|bytes| Value::Enum(i32::from_be_bytes(bytes))),
            TypeKind::External => Err(reader.fault(DecodeFault::Undefined {
                name: self.def(id).full_name(),
            })),
        }
    }

    fn read_struct<'a>(
        &self,
        body: &Struct,
        reader: &mut Reader<'a>,
    ) -> Result<Value<'a>, DecodeError> {
        let mut values = Vec::with_capacity(body.members.len());
        for member in &body.members {
            let value = if member.dims.is_empty() {
                self.read_scalar(member.ty, reader)
            } else {
                self.read_array(member, &values, reader)
            };
            values.push(value.map_err(|error| error.in_field(owned(&member.name)))?);
        }
        Ok(Value::Struct(values.into_boxed_slice()))
    }

    #[inline]
    fn read_scalar<'a>(&self, ty: Type, reader: &mut Reader<'a>) -> Result<Value<'a>, DecodeError> {
        Ok(match ty {
            Type::Primitive(Primitive::Int8) => Value::Int8(i8::from_be_bytes(reader.take()?)),
            Type::Primitive(Primitive::Int16) => Value::Int16(i16::from_be_bytes(reader.take()?)),
            Type::Primitive(Primitive::Int32) => Value::Int32(i32::from_be_bytes(reader.take()?)),
            Type::Primitive(Primitive::Int64) => Value::Int64(i64::from_be_bytes(reader.take()?)),
            Type::Primitive(Primitive::Byte) => Value::Byte(u8::from_be_bytes(reader.take()?)),
            Type::Primitive(Primitive::Float) => Value::Float(f32::from_be_bytes(reader.take()?)),
            Type::Primitive(Primitive::Double) => Value::Double(f64::from_be_bytes(reader.take()?)),
            Type::Primitive(Primitive::Boolean) => {
                Value::Boolean(u8::from_be_bytes(reader.take()?) != 0)
            }
            Type::Primitive(Primitive::String) => Value::Text(Cow::Borrowed(reader.raw_text()?)),
            Type::Named(id) => return self.read_named(id, reader),
        })
    }

    fn read_array<'a>(
        &self,
        member: &Member,
        earlier: &[Value<'a>],
        reader: &mut Reader<'a>,
    ) -> Result<Value<'a>, DecodeError> {
        let element_size = self.min_size_of(member.ty);
        if let [dim] = member.dims.as_slice() {
            let n = match dim {
                Dim::Fixed { size, .. } => *size,
                Dim::Variable { member } => reader.count(length(earlier, *member), element_size)?,
            };
            return self
                .read_items(member.ty, n, reader)
                .map(|items| Value::Array(Array::line(items)));
        }
        let dims = read_dims(member, earlier, element_size, reader)?;
        let n = dims.iter().product();
        let items = self
            .read_items(member.ty, n, reader)
            .map_err(|error| unflatten(error, &dims))?;
        Ok(Value::Array(
            Array::new(&dims, items).expect("as many items were read as the dimensions say"),
        ))
    }

    fn read_items<'a>(
        &self,
        ty: Type,
        n: usize,
        reader: &mut Reader<'a>,
    ) -> Result<Items<'a>, DecodeError> {
        if let Type::Primitive(ty) = ty
            && let Some(size) = ty.fixed_size()
        {
            let bytes = reader.bytes(n.saturating_mul(size))?;
            return Ok(Items::Numbers {
                ty,
                bytes: Cow::Borrowed(bytes),
            });
        }
        let min_size = self.min_size_of(ty);
        // A fixed array has what its type says, which the message need not hold.
        let most = reader.rest().len() / min_size.max(1);
        let mut values = Vec::with_capacity(n.min(most));
        reader.claim(n, min_size);
        for i in 0..n {
            reader.release(min_size);
            values.push(self.read_scalar(ty, reader).map_err(|error| error.at_index(i))?);
        }
        Ok(Items::Values(values))
    }
}

/// The dimensions of a grid, checked against the bytes that are left in the same way as [`Reader::rows`] does.
fn read_dims(
    member: &Member,
    earlier: &[Value<'_>],
    element_size: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<usize>, DecodeError> {
    let mut dims = Vec::with_capacity(member.dims.len());
    for dim in &member.dims {
        dims.push(match dim {
            Dim::Fixed { size, .. } => *size,
            Dim::Variable { member } => {
                let length = length(earlier, *member);
                usize::try_from(length)
                    .ok()
                    .ok_or_else(|| reader.fault(DecodeFault::Length { found: length }))?
            }
        });
    }
    let n = dims.iter().fold(1_usize, |n, &dim| n.saturating_mul(dim));
    if n > 0 && element_size > 0 {
        let total = i64::try_from(n).unwrap_or(i64::MAX);
        reader.count(total, element_size)?;
        return Ok(dims);
    }
    let innermost = member
        .dims
        .iter()
        .rposition(|dim| matches!(dim, Dim::Variable { .. }));
    let mut n_rows = 1_usize;
    for (place, (dim, size)) in member.dims.iter().zip(&dims).enumerate() {
        n_rows = n_rows.saturating_mul(*size);
        let is_charged = element_size == 0 || Some(place) != innermost;
        if is_charged && matches!(dim, Dim::Variable { .. }) {
            reader.count(i64::try_from(n_rows).unwrap_or(i64::MAX), 0)?;
        }
    }
    Ok(dims)
}

/// The value of a length field: the schema has checked that it is an earlier integer.
fn length(earlier: &[Value<'_>], member: usize) -> i64 {
    earlier
        .get(member)
        .and_then(Value::as_integer)
        .unwrap_or(-1)
}

/// Turns the flat index in front of an error's path into one index for each dimension.
#[cold]
fn unflatten(error: DecodeError, dims: &[usize]) -> DecodeError {
    error.map_first_index(|mut flat| {
        let mut indices = Vec::with_capacity(dims.len());
        for &dim in dims.iter().rev() {
            indices.push(flat % dim.max(1));
            flat /= dim.max(1);
        }
        indices.reverse();
        indices
    })
}

/// Encoding.
impl TypeSet {
    fn measure_scalar(
        &self,
        ty: Type,
        value: &Value<'_>,
        meter: &mut Meter,
    ) -> Result<(), EncodeError> {
        match (ty, value) {
            (Type::Primitive(Primitive::String), Value::Text(text)) => meter.text(text.len()),
            (Type::Primitive(ty), _) if ty.name() == value.kind() => {
                meter.add(ty.fixed_size().unwrap_or(0));
                Ok(())
            }
            (Type::Primitive(_), _) => Err(self.wrong_type(ty, value)),
            (Type::Named(id), _) => match (&self.def(id).kind, value) {
                (TypeKind::Struct(body), Value::Struct(values))
                    if values.len() == body.members.len() =>
                {
                    let is_recursive = self.is_recursive(id);
                    meter.enter_level()?;
                    if is_recursive {
                        meter.enter()?;
                    }
                    self.measure_struct(body, values, meter)?;
                    if is_recursive {
                        meter.leave();
                    }
                    meter.leave_level();
                    Ok(())
                }
                (TypeKind::Enum(_), Value::Enum(value)) => value.measure(meter),
                (TypeKind::Struct(_) | TypeKind::Enum(_) | TypeKind::External, _) => {
                    Err(self.wrong_type(ty, value))
                }
            },
        }
    }

    fn measure_struct(
        &self,
        body: &Struct,
        values: &[Value<'_>],
        meter: &mut Meter,
    ) -> Result<(), EncodeError> {
        for (member, value) in body.members.iter().zip(values) {
            let measured = if member.dims.is_empty() {
                self.measure_scalar(member.ty, value, meter)
            } else {
                self.measure_array(body, member, values, value, meter)
            };
            measured.map_err(|error| error.in_field(owned(&member.name)))?;
        }
        Ok(())
    }

    fn measure_array(
        &self,
        body: &Struct,
        member: &Member,
        values: &[Value<'_>],
        value: &Value<'_>,
        meter: &mut Meter,
    ) -> Result<(), EncodeError> {
        let Value::Array(array) = value else {
            return Err(self.wrong_type(member.ty, value));
        };
        if array.n_dims() != member.dims.len() {
            let fault = EncodeFault::WrongCount {
                expected: member.dims.len(),
                found: array.n_dims(),
            };
            return Err(EncodeError::new(fault));
        }
        for (place, dim) in member.dims.iter().enumerate() {
            check_dim(body, dim, values, array.dim(place)).map_err(EncodeError::new)?;
        }
        match array.items() {
            Items::Numbers { ty, bytes } if member.ty == Type::Primitive(*ty) => {
                meter.add(bytes.len());
                Ok(())
            }
            Items::Numbers { .. } => Err(self.wrong_type(member.ty, value)),
            Items::Values(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.measure_scalar(member.ty, item, meter)
                        .map_err(|error| error.at_index(i))?;
                }
                Ok(())
            }
        }
    }

    #[cold]
    fn wrong_type(&self, ty: Type, value: &Value<'_>) -> EncodeError {
        let expected = Cow::Owned(self.type_name(ty));
        EncodeError::new(EncodeFault::WrongType {
            expected,
            found: value.kind(),
        })
    }
}

fn check_dim(
    body: &Struct,
    dim: &Dim,
    values: &[Value<'_>],
    found: usize,
) -> Result<(), EncodeFault> {
    match dim {
        Dim::Fixed { size, .. } if *size == found => Ok(()),
        Dim::Fixed { size, .. } => Err(EncodeFault::WrongCount {
            expected: *size,
            found,
        }),
        Dim::Variable { member } => {
            let length = length(values, *member);
            if i64::try_from(found) == Ok(length) {
                return Ok(());
            }
            let name = body
                .members
                .get(*member)
                .map_or(String::new(), |length| length.name.clone());
            Err(EncodeFault::LengthMismatch {
                length_field: Cow::Owned(name),
                length,
                found,
            })
        }
    }
}

/// Writes a value that was measured.
pub(crate) fn write(value: &Value<'_>, writer: &mut Writer<'_>) {
    match value {
        Value::Int8(value) => value.write(writer),
        Value::Int16(value) => value.write(writer),
        Value::Int32(value) | Value::Enum(value) => value.write(writer),
        Value::Int64(value) => value.write(writer),
        Value::Byte(value) => value.write(writer),
        Value::Float(value) => value.write(writer),
        Value::Double(value) => value.write(writer),
        Value::Boolean(value) => value.write(writer),
        Value::Text(text) => writer.text(text),
        Value::Struct(members) => members.iter().for_each(|member| write(member, writer)),
        Value::Array(array) => match array.items() {
            Items::Numbers { bytes, .. } => writer.bytes(bytes),
            Items::Values(values) => values.iter().for_each(|value| write(value, writer)),
        },
    }
}

fn owned(name: &str) -> Cow<'static, str> {
    Cow::Owned(name.to_string())
}
