//! The codec that needs no generated code: a [`TypeSet`] reads and writes [`Value`]s.
//!
//! It accepts and refuses what generated code does, and `fuzz/` holds the two against each other; only strings that are
//! not UTF-8 it keeps as they are. Since schemas come off a bus too, it follows at most [`MAX_LEVELS`](crate::MAX_LEVELS)
//! levels and reads at most [`MAX_VALUES_A_BYTE`](crate::MAX_VALUES_A_BYTE) values for each byte of a message, beside
//! [`MAX_FREE_ELEMENTS`](crate::MAX_FREE_ELEMENTS) in all: work and memory follow the message, whatever the schema.

use crate::decode::{DecodeError, DecodeFault, Reader};
use crate::encode::{EncodeError, EncodeFault, Meter, Writer};
use crate::fingerprint::Fingerprint;
use crate::schema::{Dim, Member, Primitive, Struct, Type, TypeId, TypeKind, TypeSet};
use crate::value::{Array, Items, Value, struct_at};
use crate::{Encode as _, MAX_MESSAGE_SIZE};
use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

impl TypeSet {
    /// Decodes a whole message, whose fingerprint identifies its type.
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
        let mut value = Vec::with_capacity(1);
        self.read_scalar(Type::Named(id), reader, &mut value)?;
        reader.expect_end()?;
        Ok(value.pop().expect("one value was read"))
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
    /// Reads the members of a struct and appends them to `values`.
    ///
    /// Values are made where they stay: to hand them up through results would copy each three times, and the copies
    /// cost more than the reading (2026-11, AMD EPYC, `path_t` with 50 waypoints: three times the time).
    fn read_struct<'a>(
        &self,
        id: TypeId,
        body: &Struct,
        reader: &mut Reader<'a>,
        values: &mut Vec<Value<'a>>,
    ) -> Result<(), DecodeError> {
        let is_recursive = self.is_recursive(id);
        reader.enter_struct(body.members.len())?;
        if is_recursive {
            reader.enter()?;
        }
        let start = values.len();
        for member in &body.members {
            let read = if member.dims.is_empty() {
                self.read_scalar(member.ty, reader, values)
            } else {
                self.read_array(member, start, reader, values)
            };
            read.map_err(|error| error.in_field(owned(&member.name)))?;
        }
        if is_recursive {
            reader.leave();
        }
        reader.leave_struct();
        Ok(())
    }

    /// Reads one value and appends it to `values`.
    #[inline]
    fn read_scalar<'a>(
        &self,
        ty: Type,
        reader: &mut Reader<'a>,
        values: &mut Vec<Value<'a>>,
    ) -> Result<(), DecodeError> {
        match ty {
            Type::Primitive(ty) => values.push(match ty {
                Primitive::Int8 => Value::Int8(i8::from_be_bytes(reader.take()?)),
                Primitive::Int16 => Value::Int16(i16::from_be_bytes(reader.take()?)),
                Primitive::Int32 => Value::Int32(i32::from_be_bytes(reader.take()?)),
                Primitive::Int64 => Value::Int64(i64::from_be_bytes(reader.take()?)),
                Primitive::Byte => Value::Byte(u8::from_be_bytes(reader.take()?)),
                Primitive::Float => Value::Float(f32::from_be_bytes(reader.take()?)),
                Primitive::Double => Value::Double(f64::from_be_bytes(reader.take()?)),
                Primitive::Boolean => Value::Boolean(u8::from_be_bytes(reader.take()?) != 0),
                Primitive::String => Value::Text(Cow::Borrowed(reader.raw_text()?)),
            }),
            Type::Named(id) => match &self.def(id).kind {
                TypeKind::Struct(body) => {
                    let mut members = Vec::with_capacity(body.members.len());
                    self.read_struct(id, body, reader, &mut members)?;
                    values.push(Value::Struct(members.into_boxed_slice()));
                }
                TypeKind::Enum(_) => values.push(Value::Enum(i32::from_be_bytes(reader.take()?))),
                TypeKind::External => {
                    return Err(reader.fault(DecodeFault::Undefined {
                        name: self.def(id).full_name(),
                    }));
                }
            },
        }
        Ok(())
    }

    /// Reads an array and appends it to `values`, where the struct's members start at `start`.
    #[inline]
    fn read_array<'a>(
        &self,
        member: &Member,
        start: usize,
        reader: &mut Reader<'a>,
        values: &mut Vec<Value<'a>>,
    ) -> Result<(), DecodeError> {
        let element_size = self.min_size_of(member.ty);
        let earlier = values.get(start..).unwrap_or_default();
        let [dim] = member.dims.as_slice() else {
            let lines: Vec<Line> = member.dims.iter().map(|dim| line(dim, earlier)).collect();
            let grid = self.read_grid(member.ty, &lines, reader)?;
            values.push(Value::Array(grid));
            return Ok(());
        };
        let n = match dim {
            Dim::Fixed { size, .. } => *size,
            Dim::Variable { member } => reader.count(length(earlier, *member), element_size)?,
        };
        if let Some((ty, n_bytes)) = numbers(member.ty, n) {
            let bytes = Cow::Borrowed(reader.bytes(n_bytes)?);
            values.push(Value::Array(Array::line(Items::Numbers { ty, bytes })));
            return Ok(());
        }
        values.push(Value::Array(Array::line(
            self.read_items(member.ty, n, reader)?,
        )));
        Ok(())
    }

    /// Reads an array of arrays as generated code does, so that the two fail at the same place and in the same words: the
    /// innermost variable dimension is a list, whose elements have what is fixed within it; all around it are rows.
    fn read_grid<'a>(
        &self,
        ty: Type,
        lines: &[Line],
        reader: &mut Reader<'a>,
    ) -> Result<Array<'a>, DecodeError> {
        let innermost = lines.iter().rposition(|line| line.is_variable);
        let split = innermost.unwrap_or(lines.len().saturating_sub(1));
        let (outer, inner) = lines.split_at(split);
        let (first, fixed) = inner.split_first().expect("an array has a dimension");
        let n_fixed = fixed
            .iter()
            .fold(1_usize, |n, line| n.saturating_mul(line.size()));
        let element_size = self.min_size_of(ty).saturating_mul(n_fixed);
        let sizes: Vec<usize> = inner.iter().map(Line::size).collect();
        let start = reader.rest();
        let mut values = Vec::new();
        let n = read_rows(outer, reader, &mut |reader| {
            let n = match first.is_variable {
                true => reader.count(first.length, element_size)?,
                false => first.size(),
            };
            let n = n.saturating_mul(n_fixed);
            let items = self.read_items(ty, n, reader);
            match items.map_err(|error| unflatten(error, &sizes))? {
                // They stay where they are.
                Items::Numbers { .. } => {}
                Items::Structs { mut members, .. } => values.append(&mut members),
                Items::Values(mut row) => values.append(&mut row),
            }
            Ok(n)
        })?;
        let n_bytes = start.len() - reader.rest().len();
        let items = match (numbers(ty, n), self.struct_of(ty)) {
            (Some((ty, _)), _) => Items::Numbers {
                ty,
                bytes: Cow::Borrowed(start.get(..n_bytes).unwrap_or_default()),
            },
            (None, Some(_)) => Items::Structs { n, members: values },
            (None, None) => Items::Values(values),
        };
        let dims: Vec<usize> = lines.iter().map(Line::size).collect();
        Ok(Array::new(&dims, items).expect("as many items were read as the dimensions require"))
    }

    fn struct_of(&self, ty: Type) -> Option<&Struct> {
        match ty {
            Type::Named(id) => self.as_struct(id),
            Type::Primitive(_) => None,
        }
    }

    fn read_items<'a>(
        &self,
        ty: Type,
        n: usize,
        reader: &mut Reader<'a>,
    ) -> Result<Items<'a>, DecodeError> {
        if let Some((ty, n_bytes)) = numbers(ty, n) {
            let bytes = Cow::Borrowed(reader.bytes(n_bytes)?);
            return Ok(Items::Numbers { ty, bytes });
        }
        let min_size = self.min_size_of(ty);
        // A fixed array has as many elements as its type declares, which the message need not hold.
        let most = n.min(reader.rest().len() / min_size.max(1));
        reader.claim(n, min_size);
        if let Type::Named(id) = ty
            && let Some(body) = self.as_struct(id)
        {
            let mut members = Vec::with_capacity(most.saturating_mul(body.members.len()));
            for i in 0..n {
                reader.release(min_size);
                self.read_struct(id, body, reader, &mut members)
                    .map_err(|error| error.at_index(i))?;
            }
            return Ok(Items::Structs { n, members });
        }
        let mut values = Vec::with_capacity(most);
        for i in 0..n {
            reader.release(min_size);
            self.read_scalar(ty, reader, &mut values)
                .map_err(|error| error.at_index(i))?;
        }
        Ok(Items::Values(values))
    }
}

/// The type and size of `n` numbers that stay as they came.
fn numbers(ty: Type, n: usize) -> Option<(Primitive, usize)> {
    match ty {
        Type::Primitive(ty) => ty.fixed_size().map(|size| (ty, n.saturating_mul(size))),
        Type::Named(_) => None,
    }
}

/// One dimension of an array.
struct Line {
    is_variable: bool,
    length: i64,
}

impl Line {
    /// Nothing where the length makes no sense: then nothing is read.
    fn size(&self) -> usize {
        usize::try_from(self.length).unwrap_or(0)
    }
}

fn line(dim: &Dim, earlier: &[Value<'_>]) -> Line {
    match dim {
        Dim::Fixed { size, .. } => Line {
            is_variable: false,
            length: i64::try_from(*size).unwrap_or(i64::MAX),
        },
        Dim::Variable { member } => Line {
            is_variable: true,
            length: length(earlier, *member),
        },
    }
}

/// Reads rows of rows, as [`Reader::rows`] and [`Reader::array`] do. Returns how many elements there are.
fn read_rows<'a>(
    lines: &[Line],
    reader: &mut Reader<'a>,
    row: &mut dyn FnMut(&mut Reader<'a>) -> Result<usize, DecodeError>,
) -> Result<usize, DecodeError> {
    let Some((line, inner)) = lines.split_first() else {
        return row(reader);
    };
    let Ok(n_rows) = usize::try_from(line.length) else {
        let found = line.length;
        return Err(reader.fault(DecodeFault::Length { found }));
    };
    let mut n = 0_usize;
    for i in 0..n_rows {
        let before = reader.left();
        let n_here = read_rows(inner, reader, row).map_err(|error| error.at_index(i))?;
        n = n.saturating_add(n_here);
        if reader.left().0 < before.0 {
            continue;
        }
        if line.is_variable {
            reader.charge(1)?;
        } else if reader.left() == before {
            // A row that costs nothing is like all that follow, of which there may be many.
            return Ok(n_here.saturating_mul(n_rows));
        }
    }
    Ok(n)
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
                (TypeKind::Struct(_), Value::Struct(members)) => {
                    self.measure_struct(id, members, meter)
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
        id: TypeId,
        values: &[Value<'_>],
        meter: &mut Meter,
    ) -> Result<(), EncodeError> {
        let body = self
            .as_struct(id)
            .filter(|body| body.members.len() == values.len());
        let Some(body) = body else {
            let expected = Cow::Owned(self.def(id).full_name());
            return Err(EncodeError::new(EncodeFault::WrongType {
                expected,
                found: "another struct",
            }));
        };
        let is_recursive = self.is_recursive(id);
        meter.enter_level()?;
        if is_recursive {
            meter.enter()?;
        }
        for (member, value) in body.members.iter().zip(values) {
            let measured = if member.dims.is_empty() {
                self.measure_scalar(member.ty, value, meter)
            } else {
                self.measure_array(body, member, values, value, meter)
            };
            measured.map_err(|error| error.in_field(owned(&member.name)))?;
        }
        if is_recursive {
            meter.leave();
        }
        meter.leave_level();
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
            Items::Structs { n, members } => {
                let Type::Named(id) = member.ty else {
                    return Err(self.wrong_type(member.ty, value));
                };
                for i in 0..*n {
                    let members = struct_at(*n, members, i).unwrap_or_default();
                    self.measure_struct(id, members, meter)
                        .map_err(|error| error.at_index(i))?;
                }
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
            Items::Values(values)
            | Items::Structs {
                members: values, ..
            } => {
                values.iter().for_each(|value| write(value, writer));
            }
        },
    }
}

fn owned(name: &str) -> Cow<'static, str> {
    Cow::Owned(name.to_string())
}
