//! Generated types as data, for code that treats all of them alike.

use crate::decode::{Decode, DecodeError};
use crate::encode::EncodeError;
use crate::fingerprint::Fingerprint;
use crate::message::Message;
use alloc::vec::Vec;
use core::fmt;

/// A generated type, as a row of the table that generated code has of all of them.
#[derive(Clone, Copy, Debug)]
pub struct TypeEntry {
    /// The name in the type language, with its package.
    pub name: &'static str,
    /// What the first eight bytes of its messages are.
    pub fingerprint: Fingerprint,
    /// Decodes a message and encodes it again: proof that this program understands it.
    pub recode: Recode,
    /// The same by way of the type that borrows, if there is one.
    pub recode_borrowed: Option<Recode>,
}

/// Decodes a message and encodes it again.
pub type Recode = fn(&[u8]) -> Result<Vec<u8>, RecodeError>;

impl TypeEntry {
    /// The row of a type that does not borrow.
    #[must_use]
    pub const fn of<T: Message + for<'a> Decode<'a>>() -> Self {
        Self {
            name: T::NAME,
            fingerprint: T::FINGERPRINT,
            recode: |message| recode::<T>(message),
            recode_borrowed: None,
        }
    }
}

/// Decodes a message and encodes it again.
///
/// # Errors
/// When either fails.
pub fn recode<'a, T: Message + Decode<'a>>(message: &'a [u8]) -> Result<Vec<u8>, RecodeError> {
    T::decode(message)
        .map_err(RecodeError::Decode)?
        .encode()
        .map_err(RecodeError::Encode)
}

/// A message that was not understood, or could not be encoded again.
#[derive(Debug)]
pub enum RecodeError {
    /// It was not understood.
    Decode(DecodeError),
    /// It was understood but could not be encoded.
    Encode(EncodeError),
}

impl fmt::Display for RecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RecodeError {}
