//! Values to bytes.
//!
//! In: a value that knows its shape. Out: LCM's big-endian, packed encoding, byte-exact with the reference.
//!
//! Two passes: `measure` adds up the size and refuses what cannot be encoded faithfully (a length field that
//! disagrees with its array), so `write` runs over a buffer of the right size and cannot fail.
//!
//! Deliberately absent: fingerprints. [`Message`](crate::Message) puts one in front.

mod error;
mod primitives;

pub use error::{EncodeError, EncodeFault};

use crate::{MAX_DEPTH, MAX_LEVELS, MAX_MESSAGE_SIZE};
use alloc::borrow::Cow;

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
        Self {
            rest: buffer,
            has_overrun: false,
        }
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
        let Some(head) = self.claim(4 + n + 1) else {
            return;
        };
        let Some((len, body)) = head.split_first_chunk_mut() else {
            return;
        };
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
/// two overlapping words cover 4 to 16 bytes (2026-11, AMD EPYC: `path_t` encodes in half the time).
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
