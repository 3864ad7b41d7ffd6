//! What can be wrong with bytes, and its text.

use crate::MAX_FREE_ELEMENTS;
use crate::fingerprint::Fingerprint;
use crate::path::{FieldPath, Step};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Bytes that are not the message that was expected, and where they stop being it.
#[derive(Debug)]
pub struct DecodeError(Box<Details>);

#[derive(Debug)]
struct Details {
    message: Cow<'static, str>,
    offset: usize,
    path: FieldPath,
    fault: DecodeFault,
}

/// What is wrong with the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeFault {
    /// The message ends too early.
    Truncated {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that are left.
        found: usize,
    },
    /// The message is of another type.
    Fingerprint {
        /// The expected type's.
        expected: Fingerprint,
        /// The message's.
        found: Fingerprint,
    },
    /// The message is of a type that the schema does not know.
    UnknownFingerprint {
        /// The message's.
        found: Fingerprint,
    },
    /// A length field is negative.
    Length {
        /// The declared value.
        found: i64,
    },
    /// A length field claims more elements than the message has bytes for.
    Elements {
        /// The declared length.
        length: i64,
        /// The least that one element takes.
        min_size: usize,
        /// Bytes that are left.
        found: usize,
    },
    /// Too many elements that take no bytes.
    FreeElements,
    /// Too many values for the bytes of the message.
    Values {
        /// How many are allowed.
        limit: usize,
    },
    /// A string's length is not positive, though its NUL counts.
    TextLength {
        /// The declared value.
        found: i32,
    },
    /// A string does not end in NUL.
    NoNul {
        /// The byte in its place.
        found: u8,
    },
    /// A string is not UTF-8.
    NotUtf8 {
        /// The first byte that is not.
        found: u8,
    },
    /// The value contains others too many levels deep.
    TooDeep {
        /// How many are allowed.
        limit: usize,
    },
    /// The type is named but not defined, so its members are unknown.
    Undefined {
        /// The type's name.
        name: String,
    },
    /// Bytes after the end of the message.
    Trailing {
        /// How many.
        found: usize,
    },
}

impl DecodeError {
    /// Takes numbers, not the reader: a reader whose address is never taken stays in registers.
    #[cold]
    #[inline(never)]
    pub(super) fn new(offset: usize, fault: DecodeFault) -> Self {
        Self(Box::new(Details {
            message: Cow::Borrowed(""),
            offset,
            path: FieldPath::default(),
            fault,
        }))
    }

    /// Adds the member in which it happened.
    #[cold]
    #[must_use]
    pub fn in_field(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.prepend(Step::Field(name.into()));
        self
    }

    /// Adds the element in which it happened.
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

    /// Replaces the index in front of the path, if there is one.
    #[cold]
    pub(crate) fn map_first_index(mut self, indices: impl Fn(usize) -> Vec<usize>) -> Self {
        self.0.path.map_first_index(indices);
        self
    }

    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> &DecodeFault {
        &self.0.fault
    }

    /// The byte where it is wrong, counted from the start of the message.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The field where it is wrong; empty for the message as a whole.
    #[must_use]
    pub fn path(&self) -> &FieldPath {
        &self.0.path
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            message,
            offset,
            path,
            fault,
        } = &*self.0;
        write!(
            f,
            "cannot decode {} at byte {offset}",
            if message.is_empty() {
                "message"
            } else {
                message
            }
        )?;
        if !path.steps().is_empty() {
            write!(f, ", field {path}")?;
        }
        write!(f, ": {fault}")
    }
}

impl fmt::Display for DecodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, found } => {
                write!(
                    f,
                    "expected {needed} bytes, found {found} before the end of the message"
                )
            }
            Self::Fingerprint { expected, found } => {
                write!(
                    f,
                    "expected fingerprint {expected}, found {found}: sender and receiver have different types"
                )
            }
            Self::UnknownFingerprint { found } => {
                write!(f, "expected the fingerprint of a known type, found {found}")
            }
            Self::Length { found } => write!(f, "expected a length of 0 or more, found {found}"),
            Self::Elements {
                length,
                min_size,
                found,
            } => {
                write!(
                    f,
                    "expected {length} elements of at least {min_size} bytes, found {found} bytes left"
                )
            }
            Self::FreeElements => {
                write!(
                    f,
                    "expected at most {MAX_FREE_ELEMENTS} elements that take no bytes, found more"
                )
            }
            Self::Values { limit } => {
                write!(
                    f,
                    "expected at most {limit} values in a message of this size, found more"
                )
            }
            Self::TextLength { found } => {
                write!(
                    f,
                    "expected a string length of 1 or more (the NUL counts), found {found}"
                )
            }
            Self::NoNul { found } => write!(
                f,
                "expected the NUL that ends a string, found 0x{found:02x}"
            ),
            Self::NotUtf8 { found } => {
                write!(
                    f,
                    "expected UTF-8 text, found byte 0x{found:02x}: lcm-gen's Java and C# send Latin-1"
                )
            }
            Self::TooDeep { limit } => {
                write!(f, "expected at most {limit} levels of nesting, found more")
            }
            Self::Undefined { name } => write!(f, "the type {name} is not defined in the schema"),
            Self::Trailing { found } => write!(
                f,
                "expected the end of the message, found {found} more bytes"
            ),
        }
    }
}

impl core::error::Error for DecodeError {}
