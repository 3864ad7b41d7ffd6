//! Values to bytes.
//!
//! In: a value that knows its shape. Out: LCM's big-endian, packed encoding, byte-exact with the reference.
//!
//! Two passes: `measure` adds up the size and refuses what cannot be encoded faithfully (a length field that
//! disagrees with its array), so `write` runs over a buffer of the right size and cannot fail.
//!
//! Deliberately absent: fingerprints. [`Message`](crate::Message) puts one in front.

use crate::path::{FieldPath, Step};
use crate::{MAX_DEPTH, MAX_LEVELS, MAX_MESSAGE_SIZE};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Anything that can be part of a message.
pub trait Encode {
    /// Adds the encoded size of this value to `meter`.
    ///
    /// # Errors
    /// When the value has no faithful encoding; see [`EncodeFault`].
    fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError>;

    /// Writes this value. Only called after `measure` accepted it.
    fn write(&self, writer: &mut Writer<'_>);

    /// Measures the elements of an array.
    ///
    /// # Errors
    /// When an element has no faithful encoding.
    #[inline]
    fn measure_slice(items: &[Self], meter: &mut Meter) -> Result<(), EncodeError>
    where
        Self: Sized,
    {
        for (i, item) in items.iter().enumerate() {
            item.measure(meter).map_err(|error| error.at_index(i))?;
        }
        Ok(())
    }

    /// Writes the elements of an array.
    #[inline]
    fn write_slice(items: &[Self], writer: &mut Writer<'_>)
    where
        Self: Sized,
    {
        for item in items {
            item.write(writer);
        }
    }
}

/// Adds up the size of a message before it is written.
#[derive(Debug, Default)]
pub struct Meter {
    size: usize,
    depth: usize,
    levels: usize,
}

impl Meter {
    /// The bytes added so far.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Adds `bytes`.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.size = self.size.saturating_add(bytes);
    }

    /// Checks a length field against the array that it counts.
    ///
    /// # Errors
    /// When they disagree: the message would decode into something else.
    #[inline]
    pub fn length(
        &mut self,
        length_field: &'static str,
        length: impl Into<i64>,
        found: usize,
    ) -> Result<(), EncodeError> {
        let length = length.into();
        if i64::try_from(found) == Ok(length) {
            return Ok(());
        }
        Err(EncodeError::new(EncodeFault::LengthMismatch {
            length_field: Cow::Borrowed(length_field),
            length,
            found,
        }))
    }

    /// Goes one level down a type that contains itself. Undone by [`leave`](Self::leave).
    ///
    /// # Errors
    /// Below [`MAX_DEPTH`], where no decoder of ours would follow.
    #[inline]
    pub fn enter(&mut self) -> Result<(), EncodeError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(EncodeError::new(EncodeFault::TooDeep { limit: MAX_DEPTH }));
        }
        Ok(())
    }

    /// Comes back up.
    #[inline]
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Goes one level down a dynamic value of any type. Undone by [`leave_level`](Self::leave_level).
    pub(crate) fn enter_level(&mut self) -> Result<(), EncodeError> {
        self.levels += 1;
        if self.levels > MAX_LEVELS {
            return Err(EncodeError::new(EncodeFault::TooDeep { limit: MAX_LEVELS }));
        }
        Ok(())
    }

    pub(crate) fn leave_level(&mut self) {
        self.levels -= 1;
    }

    #[inline]
    pub(crate) fn text(&mut self, len: usize) -> Result<(), EncodeError> {
        if len >= MAX_MESSAGE_SIZE {
            return Err(EncodeError::new(EncodeFault::TooLarge { size: len }));
        }
        self.add(4 + len + 1);
        Ok(())
    }
}

/// A cursor over the buffer that receives a message.
#[derive(Debug)]
pub struct Writer<'b> {
    rest: &'b mut [u8],
    has_overrun: bool,
}

impl<'b> Writer<'b> {
    pub(crate) fn new(buffer: &'b mut [u8]) -> Self {
        Self { rest: buffer, has_overrun: false }
    }

    /// Whether exactly the whole buffer was written.
    pub(crate) fn is_complete(&self) -> bool {
        self.rest.is_empty() && !self.has_overrun
    }

    /// Writes a fixed number of bytes.
    #[inline]
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        match core::mem::take(&mut self.rest).split_first_chunk_mut() {
            Some((head, rest)) => {
                *head = bytes;
                self.rest = rest;
            }
            None => self.has_overrun = true,
        }
    }

    /// Writes bytes as they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Some(head) = self.claim(bytes.len()) {
            head.copy_from_slice(bytes);
        }
    }

    /// Writes a string: its length with the NUL, its bytes, the NUL.
    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        let n = text.len();
        // `Meter::text` refused anything longer.
        let len_with_nul = u32::try_from(n + 1).unwrap_or(u32::MAX);
        let Some(head) = self.claim(4 + n + 1) else { return };
        let Some((len, body)) = head.split_first_chunk_mut() else { return };
        *len = len_with_nul.to_be_bytes();
        if let Some((nul, chars)) = body.split_last_mut() {
            copy_short(chars, text);
            *nul = 0;
        }
    }

    #[inline]
    fn claim(&mut self, n: usize) -> Option<&'b mut [u8]> {
        if let Some((head, rest)) = core::mem::take(&mut self.rest).split_at_mut_checked(n) {
            self.rest = rest;
            Some(head)
        } else {
            self.has_overrun = true;
            None
        }
    }
}

/// Copies between slices of equal length. Names and ids are short, and a call to `memcpy` costs more than they do:
/// two overlapping words cover 4 to 16 bytes (2026-11, 2-core x86-64: path_t encodes in half the time).
#[inline]
fn copy_short(to: &mut [u8], from: &[u8]) {
    fn ends<const N: usize>(to: &mut [u8], from: &[u8]) -> bool {
        let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
            return false;
        };
        if let Some(head) = to.first_chunk_mut::<N>() {
            *head = *first;
        }
        if let Some(tail) = to.last_chunk_mut::<N>() {
            *tail = *last;
        }
        true
    }
    let is_done = match from.len() {
        8..=16 => ends::<8>(to, from),
        4..=7 => ends::<4>(to, from),
        _ => false,
    };
    if !is_done {
        to.copy_from_slice(from);
    }
}

macro_rules! encode_numbers {
    ($($number:ty),*) => {$(
        impl Encode for $number {
            #[inline]
            fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError> {
                meter.add(size_of::<Self>());
                Ok(())
            }

            #[inline]
            fn write(&self, writer: &mut Writer<'_>) {
                writer.put(self.to_be_bytes());
            }

            #[inline]
            fn measure_slice(items: &[Self], meter: &mut Meter) -> Result<(), EncodeError> {
                meter.add(size_of_val(items));
                Ok(())
            }

            #[inline]
            fn write_slice(items: &[Self], writer: &mut Writer<'_>) {
                let Some(head) = writer.claim(size_of_val(items)) else { return };
                let (chunks, _) = head.as_chunks_mut();
                for (chunk, item) in chunks.iter_mut().zip(items) {
                    *chunk = item.to_be_bytes();
                }
            }
        }
    )*};
}

encode_numbers!(i8, i16, i32, i64, f32, f64);

impl Encode for u8 {
    #[inline]
    fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError> {
        meter.add(1);
        Ok(())
    }

    #[inline]
    fn write(&self, writer: &mut Writer<'_>) {
        writer.put([*self]);
    }

    #[inline]
    fn measure_slice(items: &[Self], meter: &mut Meter) -> Result<(), EncodeError> {
        meter.add(items.len());
        Ok(())
    }

    #[inline]
    fn write_slice(items: &[Self], writer: &mut Writer<'_>) {
        writer.bytes(items);
    }
}

impl Encode for bool {
    #[inline]
    fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError> {
        meter.add(1);
        Ok(())
    }

    #[inline]
    fn write(&self, writer: &mut Writer<'_>) {
        writer.put([u8::from(*self)]);
    }
}

impl Encode for str {
    #[inline]
    fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError> {
        meter.text(self.len())
    }

    #[inline]
    fn write(&self, writer: &mut Writer<'_>) {
        writer.text(self.as_bytes());
    }
}

impl<T: Encode> Encode for [T] {
    #[inline]
    fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError> {
        T::measure_slice(self, meter)
    }

    #[inline]
    fn write(&self, writer: &mut Writer<'_>) {
        T::write_slice(self, writer);
    }
}

/// Types that encode as what they point to.
macro_rules! encode_through {
    ($([$($generics:tt)*] $outer:ty => $inner:ty),* $(,)?) => {$(
        impl<$($generics)*> Encode for $outer {
            #[inline]
            fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError> {
                <$inner>::measure(self, meter)
            }

            #[inline]
            fn write(&self, writer: &mut Writer<'_>) {
                <$inner>::write(self, writer);
            }
        }
    )*};
}

encode_through! {
    [] String => str,
    [] &str => str,
    [T: Encode] Vec<T> => [T],
    [T: Encode] &[T] => [T],
    [T: Encode, const N: usize] [T; N] => [T],
    [T: Encode, const N: usize] &[T; N] => [T; N],
    [T: Encode, const N: usize] Box<[T; N]> => [T; N],
}

/// A value that was not encoded, and where in it the reason lies.
#[derive(Debug)]
pub struct EncodeError(Box<Details>);

#[derive(Debug)]
struct Details {
    message: Cow<'static, str>,
    path: FieldPath,
    fault: EncodeFault,
}

/// Why a value has no faithful encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeFault {
    /// A length field and the array that it counts disagree.
    LengthMismatch {
        /// The member that counts.
        length_field: Cow<'static, str>,
        /// What it says.
        length: i64,
        /// How many elements the array has.
        found: usize,
    },
    /// A fixed array has the wrong number of elements.
    WrongCount {
        /// What the type says.
        expected: usize,
        /// How many elements the array has.
        found: usize,
    },
    /// A dynamic value is of another type than the schema says.
    WrongType {
        /// What the schema says.
        expected: Cow<'static, str>,
        /// What the value is.
        found: &'static str,
    },
    /// The type is named but not defined, so nobody knows its members.
    Undefined {
        /// The type's name.
        name: String,
    },
    /// The value contains others too many levels deep.
    TooDeep {
        /// How many are allowed.
        limit: usize,
    },
    /// More than any LCM peer can take.
    TooLarge {
        /// The size in bytes.
        size: usize,
    },
    /// The caller's buffer is too small.
    BufferTooSmall {
        /// What the message takes.
        needed: usize,
        /// What the buffer has.
        found: usize,
    },
    /// An `Encode` implementation wrote another size than it measured.
    Inconsistent,
}

impl EncodeError {
    /// A fault at the value itself; the callers add the way to it.
    #[cold]
    #[must_use]
    pub fn new(fault: EncodeFault) -> Self {
        Self(Box::new(Details { message: Cow::Borrowed(""), path: FieldPath::default(), fault }))
    }

    /// Says in which member it happened.
    #[cold]
    #[must_use]
    pub fn in_field(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.prepend(Step::Field(name.into()));
        self
    }

    /// Says in which element it happened.
    #[cold]
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        self.0.path.prepend(Step::Index(index));
        self
    }

    #[cold]
    pub(crate) fn in_message(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = name.into();
        self
    }

    /// Why.
    #[must_use]
    pub fn fault(&self) -> &EncodeFault {
        &self.0.fault
    }

    /// The field with the fault; empty for the message as a whole.
    #[must_use]
    pub fn path(&self) -> &FieldPath {
        &self.0.path
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { message, path, fault } = &*self.0;
        write!(f, "cannot encode {}: ", if message.is_empty() { "value" } else { message })?;
        if !path.steps().is_empty() {
            write!(f, "field {path}: ")?;
        }
        fault.fmt(f)
    }
}

impl fmt::Display for EncodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthMismatch { length_field, length, found } => {
                write!(f, "expected {length} elements, as {length_field} says, found {found}")
            }
            Self::WrongCount { expected, found } => write!(f, "expected {expected} elements, found {found}"),
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Undefined { name } => write!(f, "the type {name} is not defined in the schema"),
            Self::TooDeep { limit } => write!(f, "expected at most {limit} levels of nesting, found more"),
            Self::TooLarge { size } => write!(f, "expected at most {MAX_MESSAGE_SIZE} bytes, found {size}"),
            Self::BufferTooSmall { needed, found } => {
                write!(f, "expected a buffer of at least {needed} bytes, found {found}")
            }
            Self::Inconsistent => f.write_str("expected `write` to fill what `measure` counted, found another size"),
        }
    }
}

impl core::error::Error for EncodeError {}
