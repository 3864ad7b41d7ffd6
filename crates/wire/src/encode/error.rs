//! Why a value cannot be encoded, and its text.

use crate::MAX_MESSAGE_SIZE;
use crate::path::{FieldPath, Step};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

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
        /// The declared length.
        length: i64,
        /// How many elements the array has.
        found: usize,
    },
    /// A fixed array has the wrong number of elements.
    WrongCount {
        /// The length by the type.
        expected: usize,
        /// How many elements the array has.
        found: usize,
    },
    /// A dynamic value is of another type than the schema declares.
    WrongType {
        /// The type by the schema.
        expected: Cow<'static, str>,
        /// What the value is.
        found: &'static str,
    },
    /// The type is named but not defined, so its members are unknown.
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
        Self(Box::new(Details {
            message: Cow::Borrowed(""),
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
        let Details {
            message,
            path,
            fault,
        } = &*self.0;
        write!(
            f,
            "cannot encode {}: ",
            if message.is_empty() { "value" } else { message }
        )?;
        if !path.steps().is_empty() {
            write!(f, "field {path}: ")?;
        }
        fault.fmt(f)
    }
}

impl fmt::Display for EncodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthMismatch {
                length_field,
                length,
                found,
            } => {
                write!(
                    f,
                    "expected {length} elements by {length_field}, found {found}"
                )
            }
            Self::WrongCount { expected, found } => {
                write!(f, "expected {expected} elements, found {found}")
            }
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Undefined { name } => write!(f, "the type {name} is not defined in the schema"),
            Self::TooDeep { limit } => {
                write!(f, "expected at most {limit} levels of nesting, found more")
            }
            Self::TooLarge { size } => {
                write!(f, "expected at most {MAX_MESSAGE_SIZE} bytes, found {size}")
            }
            Self::BufferTooSmall { needed, found } => {
                write!(
                    f,
                    "expected a buffer of at least {needed} bytes, found {found}"
                )
            }
            Self::Inconsistent => {
                f.write_str("expected `write` to fill what `measure` counted, found another size")
            }
        }
    }
}

impl core::error::Error for EncodeError {}
