//! Bytes to values.
//!
//! In: bytes from anywhere, hostile ones included. Out: a value, or an error with the byte, the field, what was
//! expected and what was found. No input makes it panic, recurse without end or allocate more than a small multiple
//! of the bytes that are there.

mod error;
mod primitives;

pub use error::{DecodeError, DecodeFault};

use crate::fingerprint::Fingerprint;
use crate::{MAX_DEPTH, MAX_FREE_ELEMENTS, MAX_LEVELS, MAX_VALUES_A_BYTE, text};
use alloc::vec::Vec;

/// Anything that can be read from a message. `'a` is the life of the message's bytes, which strings and byte arrays
/// may borrow.
pub trait Decode<'a>: Sized {
    /// The smallest encoding, which bounds what a length field can claim.
    const MIN_SIZE: usize;

    /// Reads one value.
    ///
    /// # Errors
    /// When the bytes are not the encoding of such a value; see [`DecodeFault`].
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Reads one value into one that is there already, and keeps what that has allocated. After an error it is some
    /// value of the type.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    fn read_into(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        *self = Self::read(reader)?;
        Ok(())
    }

    /// Reads `n` values, where [`Reader::count`] has accepted `n`.
    ///
    /// # Errors
    /// When one of them is malformed.
    #[inline]
    fn read_vec(reader: &mut Reader<'a>, n: usize) -> Result<Vec<Self>, DecodeError> {
        let mut items = Vec::with_capacity(n);
        reader.claim(n, Self::MIN_SIZE);
        for i in 0..n {
            reader.release(Self::MIN_SIZE);
            items.push(Self::read(reader).map_err(|error| error.at_index(i))?);
        }
        Ok(items)
    }

    /// Reads `n` values into a vector that is there already, where [`Reader::count`] has accepted `n`.
    ///
    /// # Errors
    /// When one of them is malformed.
    #[inline]
    fn read_vec_into(
        items: &mut Vec<Self>,
        reader: &mut Reader<'a>,
        n: usize,
    ) -> Result<(), DecodeError> {
        items.truncate(n);
        reader.claim(n, Self::MIN_SIZE);
        for (i, item) in items.iter_mut().enumerate() {
            reader.release(Self::MIN_SIZE);
            item.read_into(reader).map_err(|error| error.at_index(i))?;
        }
        items.reserve(n - items.len());
        for i in items.len()..n {
            reader.release(Self::MIN_SIZE);
            items.push(Self::read(reader).map_err(|error| error.at_index(i))?);
        }
        Ok(())
    }

    /// Reads exactly `N` values.
    ///
    /// # Errors
    /// When one of them is malformed.
    #[inline]
    fn read_array<const N: usize>(reader: &mut Reader<'a>) -> Result<[Self; N], DecodeError> {
        reader.array(Self::read)
    }

    /// Reads exactly `N` values into those that are there already, and keeps what they have allocated.
    ///
    /// # Errors
    /// When one of them is malformed.
    #[inline]
    fn read_array_into<const N: usize>(
        items: &mut [Self; N],
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        for (i, item) in items.iter_mut().enumerate() {
            item.read_into(reader).map_err(|error| error.at_index(i))?;
        }
        Ok(())
    }
}

/// A cursor over the bytes of a message.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    len: usize,
    depth: usize,
    levels: usize,
    /// What elements that are still to be read take at the least: no inner element can count on these bytes.
    claimed: usize,
    free_elements: usize,
    /// How many dynamic values were read.
    values: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            len: bytes.len(),
            depth: 0,
            levels: 0,
            claimed: 0,
            free_elements: MAX_FREE_ELEMENTS,
            values: 0,
        }
    }

    /// How many bytes have been read.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    /// What has not been read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads a fixed number of bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline(always)]
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self.rest.split_first_chunk() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(self.truncated(N)),
        }
    }

    /// Borrows `n` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline(always)]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(n) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(self.truncated(n)),
        }
    }

    /// Borrows a string as the bytes that were sent, which need not be UTF-8.
    ///
    /// # Errors
    /// When its length is not positive, bytes are missing, or the NUL is not at the end.
    #[inline(always)]
    pub fn raw_text(&mut self) -> Result<&'a [u8], DecodeError> {
        let start = self.rest;
        let len_with_nul = u32::from_be_bytes(self.take()?);
        match self.rest.split_at_checked(len_with_nul as usize) {
            Some(([text @ .., 0], rest)) => {
                self.rest = rest;
                Ok(text)
            }
            _ => Err(bad_text(start, self.len - start.len(), len_with_nul)),
        }
    }

    /// Borrows a string.
    ///
    /// # Errors
    /// As [`raw_text`](Self::raw_text), and when it is not UTF-8.
    #[inline(always)]
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        let text = self.raw_text()?;
        text::from_utf8(text).map_err(|error| not_utf8(text, self.offset(), error.valid_up_to()))
    }

    /// Checks a length field against the bytes that are left, before anything is allocated.
    ///
    /// # Errors
    /// When it is negative, or claims more elements of `min_size` bytes than can be there.
    #[inline(always)]
    pub fn count(&mut self, length: impl Into<i64>, min_size: usize) -> Result<usize, DecodeError> {
        let length = length.into();
        let Ok(n) = usize::try_from(length) else {
            return Err(self.fault(DecodeFault::Length { found: length }));
        };
        let found = self.rest.len().saturating_sub(self.claimed);
        if min_size == 0 {
            self.charge(n)?;
        } else if n > found / min_size {
            return Err(self.fault(DecodeFault::Elements {
                length,
                min_size,
                found,
            }));
        }
        Ok(n)
    }

    /// What is left of the bytes, and of the elements that may take none, and how many dynamic values were read.
    pub(crate) fn left(&self) -> (usize, usize, usize) {
        (self.rest.len(), self.free_elements, self.values)
    }

    /// Keeps bytes for elements that are about to be read. Without this, each level of a type that contains itself
    /// could claim all the bytes there are, and memory for them.
    #[inline]
    pub(crate) fn claim(&mut self, n: usize, min_size: usize) {
        self.claimed = self.claimed.saturating_add(n.saturating_mul(min_size));
    }

    /// Gives up the claim of one element, which is read next.
    #[inline]
    pub(crate) fn release(&mut self, min_size: usize) {
        self.claimed = self.claimed.saturating_sub(min_size);
    }

    /// Elements that take no bytes cost the sender nothing, so a message may only have so many.
    pub(crate) fn charge(&mut self, n: usize) -> Result<(), DecodeError> {
        match self.free_elements.checked_sub(n) {
            Some(left) => {
                self.free_elements = left;
                Ok(())
            }
            None => Err(self.fault(DecodeFault::FreeElements)),
        }
    }

    /// Reads an array whose length stands in an earlier member.
    ///
    /// # Errors
    /// When the length or an element is malformed.
    #[inline(always)]
    pub fn list<T: Decode<'a>>(&mut self, length: impl Into<i64>) -> Result<Vec<T>, DecodeError> {
        let n = self.count(length, T::MIN_SIZE)?;
        T::read_vec(self, n)
    }

    /// Reads such an array into a vector that is there already.
    ///
    /// # Errors
    /// When the length or an element is malformed.
    #[inline]
    pub fn list_into<T: Decode<'a>>(
        &mut self,
        items: &mut Vec<T>,
        length: impl Into<i64>,
    ) -> Result<(), DecodeError> {
        let n = self.count(length, T::MIN_SIZE)?;
        T::read_vec_into(items, self, n)
    }

    /// Borrows a byte array whose length stands in an earlier member.
    ///
    /// # Errors
    /// When the length is negative or more than what is left.
    #[inline(always)]
    pub fn byte_list(&mut self, length: impl Into<i64>) -> Result<&'a [u8], DecodeError> {
        let n = self.count(length, 1)?;
        self.bytes(n)
    }

    /// Reads an array of arrays: `length` times what `row` reads.
    ///
    /// # Errors
    /// When the length or a row is malformed.
    #[inline]
    pub fn rows<T>(
        &mut self,
        length: impl Into<i64>,
        mut row: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let length = length.into();
        let Ok(n) = usize::try_from(length) else {
            return Err(self.fault(DecodeFault::Length { found: length }));
        };
        // Rows are few, and grow one by one where a message only claims them.
        let mut rows = Vec::with_capacity(n.min(64));
        for i in 0..n {
            let before = self.rest.len();
            rows.push(row(self).map_err(|error| error.at_index(i))?);
            if self.rest.len() == before {
                self.charge(1)?;
            }
        }
        Ok(rows)
    }

    /// Reads an array of fixed length: `N` times what `item` reads.
    ///
    /// # Errors
    /// When an element is malformed.
    #[inline]
    pub fn array<T, const N: usize>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<[T; N], DecodeError> {
        let mut failed = None;
        let items: [Option<T>; N] = core::array::from_fn(|i| {
            if failed.is_some() {
                return None;
            }
            item(self)
                .map_err(|error| failed = Some(error.at_index(i)))
                .ok()
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(items.map(|item| {
                item.unwrap_or_else(|| unreachable!("each is there when none failed"))
            })),
        }
    }

    /// Goes one level down a type that contains itself. Undone by [`leave`](Self::leave).
    ///
    /// # Errors
    /// Below [`MAX_DEPTH`].
    #[inline]
    pub fn enter(&mut self) -> Result<(), DecodeError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(DecodeFault::TooDeep { limit: MAX_DEPTH }));
        }
        Ok(())
    }

    /// Comes back up.
    #[inline]
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Begins a dynamic struct with so many members. Undone by [`leave_struct`](Self::leave_struct).
    ///
    /// The number of values follows the bytes of the message, whatever the schema: neither structs without bytes nor
    /// members without bytes may multiply.
    pub(crate) fn enter_struct(&mut self, n_members: usize) -> Result<(), DecodeError> {
        self.levels += 1;
        if self.levels > MAX_LEVELS {
            return Err(self.fault(DecodeFault::TooDeep { limit: MAX_LEVELS }));
        }
        self.values = self.values.saturating_add(1).saturating_add(n_members);
        let limit = self
            .len
            .saturating_mul(MAX_VALUES_A_BYTE)
            .saturating_add(MAX_FREE_ELEMENTS);
        if self.values > limit {
            return Err(self.fault(DecodeFault::Values { limit }));
        }
        Ok(())
    }

    pub(crate) fn leave_struct(&mut self) {
        self.levels -= 1;
    }

    /// Checks the fingerprint at the start of a message.
    ///
    /// # Errors
    /// When it is another one, or not there.
    #[inline]
    pub fn expect_fingerprint(&mut self, expected: Fingerprint) -> Result<(), DecodeError> {
        let start = self.rest;
        let found = Fingerprint(u64::from_be_bytes(self.take()?));
        if found == expected {
            return Ok(());
        }
        Err(self.fault_at(start, DecodeFault::Fingerprint { expected, found }))
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// When there is.
    #[inline]
    pub fn expect_end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.fault(DecodeFault::Trailing {
            found: self.rest.len(),
        }))
    }

    #[inline]
    fn truncated(&self, needed: usize) -> DecodeError {
        self.fault(DecodeFault::Truncated {
            needed,
            found: self.rest.len(),
        })
    }

    #[inline]
    pub(crate) fn fault(&self, fault: DecodeFault) -> DecodeError {
        DecodeError::new(self.offset(), fault)
    }

    #[inline]
    fn fault_at(&self, rest: &[u8], fault: DecodeFault) -> DecodeError {
        DecodeError::new(self.len - rest.len(), fault)
    }
}

/// Adds the field's name to an error on its way out.
pub trait InField<T> {
    /// Adds the member in which an error happened.
    ///
    /// # Errors
    /// The same as before.
    fn in_field(self, name: &'static str) -> Self;
}

impl<T> InField<T> for Result<T, DecodeError> {
    #[inline]
    fn in_field(self, name: &'static str) -> Self {
        self.map_err(|error| error.in_field(name))
    }
}

impl<T> InField<T> for Result<T, crate::EncodeError> {
    #[inline]
    fn in_field(self, name: &'static str) -> Self {
        self.map_err(|error| error.in_field(name))
    }
}

/// What is wrong with a string that starts, with its length, at `offset`.
#[cold]
#[inline(never)]
fn bad_text(start: &[u8], offset: usize, len_with_nul: u32) -> DecodeError {
    let rest = start.get(4..).unwrap_or_default();
    match rest.get(..len_with_nul as usize) {
        Some([text @ .., found]) => DecodeError::new(
            offset + 4 + text.len(),
            DecodeFault::NoNul { found: *found },
        ),
        None if len_with_nul.cast_signed() > 0 => {
            let fault = DecodeFault::Truncated {
                needed: len_with_nul as usize,
                found: rest.len(),
            };
            DecodeError::new(offset + 4, fault)
        }
        Some([]) | None => DecodeError::new(
            offset,
            DecodeFault::TextLength {
                found: len_with_nul.cast_signed(),
            },
        ),
    }
}

/// The error for a string that ends, with its NUL, at `end`.
#[cold]
#[inline(never)]
fn not_utf8(text: &[u8], end: usize, valid_up_to: usize) -> DecodeError {
    let found = text.get(valid_up_to).copied().unwrap_or_default();
    DecodeError::new(
        end - 1 - (text.len() - valid_up_to),
        DecodeFault::NotUtf8 { found },
    )
}

impl Reader<'_> {
    /// The error for a fixed array that came up short, for places where the compiler cannot see that it cannot.
    fn truncated_by(&self, needed: usize) -> impl Fn() -> DecodeError + use<> {
        let (offset, found) = (self.offset(), self.rest.len());
        move || DecodeError::new(offset, DecodeFault::Truncated { needed, found })
    }
}
