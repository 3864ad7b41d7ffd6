//! Values of any type, without generated code.
//!
//! A [`Value`] has the shape of its type but not its names; a [`TypeSet`](crate::schema::TypeSet) knows those. Strings
//! and arrays of numbers stay as they came, in the byte order of the wire, and borrow the message where they can: a
//! tool that shows one field of an image does not copy the image.

use crate::schema::Primitive;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A value of any type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `int8_t`
    Int8(i8),
    /// `int16_t`
    Int16(i16),
    /// `int32_t`
    Int32(i32),
    /// `int64_t`
    Int64(i64),
    /// `byte`
    Byte(u8),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `boolean`
    Boolean(bool),
    /// `string`, as the bytes that were sent: usually UTF-8, but Java sends Latin-1 and C sends anything.
    Text(Cow<'a, [u8]>),
    /// A number of an enum type, whether it has a name or not.
    Enum(i32),
    /// The members in order.
    Struct(Box<[Self]>),
    /// Elements of one type in one or more dimensions.
    Array(Array<'a>),
}

impl<'a> Value<'a> {
    /// What kind of value it is, in the words of the type language.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Int8(_) => "int8_t",
            Self::Int16(_) => "int16_t",
            Self::Int32(_) => "int32_t",
            Self::Int64(_) => "int64_t",
            Self::Byte(_) => "byte",
            Self::Float(_) => "float",
            Self::Double(_) => "double",
            Self::Boolean(_) => "boolean",
            Self::Text(_) => "string",
            Self::Enum(_) => "enum",
            Self::Struct(_) => "struct",
            Self::Array(_) => "array",
        }
    }

    /// An integer's value, such as a length field's.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match *self {
            Self::Int8(value) => Some(value.into()),
            Self::Int16(value) => Some(value.into()),
            Self::Int32(value) | Self::Enum(value) => Some(value.into()),
            Self::Int64(value) => Some(value),
            Self::Byte(value) => Some(value.into()),
            Self::Float(_)
            | Self::Double(_)
            | Self::Boolean(_)
            | Self::Text(_)
            | Self::Struct(_)
            | Self::Array(_) => None,
        }
    }

    /// A number for a plot; `None` for what is not one.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a plot has fewer pixels than a double has bits"
    )]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Float(value) => Some(value.into()),
            Self::Double(value) => Some(value),
            Self::Boolean(value) => Some(u8::from(value).into()),
            Self::Int8(_)
            | Self::Int16(_)
            | Self::Int32(_)
            | Self::Int64(_)
            | Self::Byte(_)
            | Self::Enum(_) => self.as_integer().map(|value| value as f64),
            Self::Text(_) | Self::Struct(_) | Self::Array(_) => None,
        }
    }

    /// A string's text, if it is UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => str::from_utf8(text).ok(),
            Self::Int8(_)
            | Self::Int16(_)
            | Self::Int32(_)
            | Self::Int64(_)
            | Self::Byte(_)
            | Self::Float(_)
            | Self::Double(_)
            | Self::Boolean(_)
            | Self::Enum(_)
            | Self::Struct(_)
            | Self::Array(_) => None,
        }
    }

    /// A value that borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Int8(value) => Value::Int8(value),
            Self::Int16(value) => Value::Int16(value),
            Self::Int32(value) => Value::Int32(value),
            Self::Int64(value) => Value::Int64(value),
            Self::Byte(value) => Value::Byte(value),
            Self::Float(value) => Value::Float(value),
            Self::Double(value) => Value::Double(value),
            Self::Boolean(value) => Value::Boolean(value),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Enum(value) => Value::Enum(value),
            Self::Struct(members) => {
                Value::Struct(members.into_iter().map(Value::into_owned).collect())
            }
            Self::Array(array) => Value::Array(array.into_owned()),
        }
    }

    /// Reads one number that stands alone, in the byte order of the wire.
    pub(crate) fn from_wire(ty: Primitive, bytes: &[u8]) -> Option<Value<'static>> {
        Some(match ty {
            Primitive::Int8 => Value::Int8(i8::from_be_bytes(bytes.try_into().ok()?)),
            Primitive::Int16 => Value::Int16(i16::from_be_bytes(bytes.try_into().ok()?)),
            Primitive::Int32 => Value::Int32(i32::from_be_bytes(bytes.try_into().ok()?)),
            Primitive::Int64 => Value::Int64(i64::from_be_bytes(bytes.try_into().ok()?)),
            Primitive::Byte => Value::Byte(u8::from_be_bytes(bytes.try_into().ok()?)),
            Primitive::Float => Value::Float(f32::from_be_bytes(bytes.try_into().ok()?)),
            Primitive::Double => Value::Double(f64::from_be_bytes(bytes.try_into().ok()?)),
            Primitive::Boolean => Value::Boolean(u8::from_be_bytes(bytes.try_into().ok()?) != 0),
            Primitive::String => return None,
        })
    }
}

/// Elements of one type in one or more dimensions, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<'a> {
    /// The dimensions, outermost first, if there is more than one.
    grid: Option<Box<[usize]>>,
    items: Items<'a>,
}

/// The elements of an [`Array`].
#[derive(Clone, Debug, PartialEq)]
pub enum Items<'a> {
    /// Numbers of a fixed size, in the byte order of the wire.
    Numbers {
        /// Of which type. Not a string.
        ty: Primitive,
        /// Their bytes.
        bytes: Cow<'a, [u8]>,
    },
    /// Strings or enums.
    Values(Vec<Value<'a>>),
    /// Structs, member after member and struct after struct: one piece of memory for all of them.
    Structs {
        /// How many structs.
        n: usize,
        /// The members of all.
        members: Vec<Value<'a>>,
    },
}

impl<'a> Items<'a> {
    /// One of them, whatever the dimensions of the array.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'_>> {
        match self {
            Self::Numbers { ty, bytes } => {
                let size = ty.fixed_size()?;
                Value::from_wire(*ty, bytes.get(index.checked_mul(size)?..)?.get(..size)?)
            }
            Self::Values(values) => values.get(index).cloned(),
            Self::Structs { .. } => self
                .struct_members(index)
                .map(|members| Value::Struct(members.into())),
        }
    }

    /// The members of one of them, in place, if they are structs.
    #[must_use]
    pub fn struct_members(&self, index: usize) -> Option<&[Value<'a>]> {
        match self {
            Self::Structs { n, members } => struct_at(*n, members, index),
            Self::Numbers { .. } | Self::Values(_) => None,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers { ty, bytes } => bytes.len() / ty.fixed_size().unwrap_or(1),
            Self::Values(values) => values.len(),
            Self::Structs { n, .. } => *n,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The members of one struct of [`Items::Structs`].
pub(crate) fn struct_at<'s, 'a>(
    n: usize,
    members: &'s [Value<'a>],
    index: usize,
) -> Option<&'s [Value<'a>]> {
    let width = members.len().checked_div(n)?;
    members.get(index * width..(index + 1) * width)
}

impl<'a> Array<'a> {
    /// An array of these dimensions; `None` unless `items` has as many as their product.
    #[must_use]
    pub fn new(dims: &[usize], items: Items<'a>) -> Option<Self> {
        let n = dims
            .iter()
            .try_fold(1_usize, |n, &dim| n.checked_mul(dim))?;
        if dims.is_empty() || items.len() != n {
            return None;
        }
        let grid = (dims.len() > 1).then(|| Box::from(dims));
        Some(Self { grid, items })
    }

    /// One dimension of whatever `items` has.
    #[must_use]
    pub fn line(items: Items<'a>) -> Self {
        Self { grid: None, items }
    }

    /// The elements, row by row.
    #[must_use]
    pub fn items(&self) -> &Items<'a> {
        &self.items
    }

    /// How many dimensions there are.
    #[must_use]
    pub fn n_dims(&self) -> usize {
        self.grid.as_ref().map_or(1, |grid| grid.len())
    }

    /// The size in one dimension, outermost first; 0 beyond the last.
    #[must_use]
    pub fn dim(&self, place: usize) -> usize {
        match &self.grid {
            Some(grid) => grid.get(place).copied().unwrap_or(0),
            None if place == 0 => self.items.len(),
            None => 0,
        }
    }

    /// The size in the outermost dimension.
    #[must_use]
    pub fn len(&self) -> usize {
        self.dim(0)
    }

    /// Whether the outermost dimension is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element of a line, or a row of a grid.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'_>> {
        if index >= self.len() {
            return None;
        }
        let Some(grid) = &self.grid else {
            return self.items.get(index);
        };
        let (_, inner) = grid.split_first()?;
        let row_len: usize = inner.iter().product();
        let start = index * row_len;
        let items = match &self.items {
            Items::Numbers { ty, bytes } => {
                let size = ty.fixed_size()?;
                let row = bytes.get(start * size..(start + row_len) * size)?;
                Items::Numbers {
                    ty: *ty,
                    bytes: Cow::Borrowed(row),
                }
            }
            Items::Values(values) => Items::Values(values.get(start..start + row_len)?.to_vec()),
            Items::Structs { n, members } => {
                let width = members.len().checked_div(*n).unwrap_or(0);
                let row = members.get(start * width..(start + row_len) * width)?;
                Items::Structs {
                    n: row_len,
                    members: row.to_vec(),
                }
            }
        };
        Array::new(inner, items).map(Value::Array)
    }

    /// The members of a struct of a line, in place.
    #[must_use]
    pub fn struct_members(&self, index: usize) -> Option<&[Value<'a>]> {
        match (&self.grid, &self.items) {
            (None, Items::Structs { n, members }) => struct_at(*n, members, index),
            (Some(_), _) | (None, Items::Numbers { .. } | Items::Values(_)) => None,
        }
    }

    /// The elements of a line or the rows of a grid, one after another.
    pub fn iter(&self) -> impl Iterator<Item = Value<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn into_owned(self) -> Array<'static> {
        let items = match self.items {
            Items::Numbers { ty, bytes } => Items::Numbers {
                ty,
                bytes: Cow::Owned(bytes.into_owned()),
            },
            Items::Values(values) => Items::Values(owned(values)),
            Items::Structs { n, members } => Items::Structs {
                n,
                members: owned(members),
            },
        };
        Array {
            grid: self.grid,
            items,
        }
    }
}

impl From<&str> for Value<'static> {
    fn from(text: &str) -> Self {
        Self::Text(Cow::Owned(text.as_bytes().to_vec()))
    }
}

fn owned(values: Vec<Value<'_>>) -> Vec<Value<'static>> {
    values.into_iter().map(Value::into_owned).collect()
}
