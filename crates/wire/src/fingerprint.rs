//! LCM's type fingerprints.
//!
//! In: names and shapes of members. Out: 64-bit hashes, bit-exact with lcm-gen.
//!
//! The base hash of a type covers its members' names, the names of primitive types and the *source text* of
//! dimensions (`[16]` and `[0x10]` differ). The fingerprint adds the hashes of nested types and rotates once per
//! level; a type that is its own ancestor adds nothing. Names of types, packages and constants do not enter.

use core::fmt;

/// The eight bytes in front of every message, which identify its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

/// How a dimension enters the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DimMode {
    /// A number, or a constant's text.
    Fixed,
    /// The name of an earlier member.
    Variable,
}

/// The running hash over a type's members.
#[derive(Clone, Copy, Debug)]
pub struct BaseHash(i64);

impl BaseHash {
    /// A struct without members yet.
    pub const STRUCT: Self = Self(0x1234_5678);

    /// The hash of an enum, which covers only its short name and is not rotated.
    #[must_use]
    pub fn of_enum(short_name: &str) -> u64 {
        Self(0x8765_4321).text(short_name).bits()
    }

    /// Adds a member: its name, its type's name if that is a primitive, and how many dimensions follow.
    #[must_use]
    pub fn member(self, name: &str, primitive: Option<&str>, n_dims: usize) -> Self {
        let mut hash = self.text(name);
        if let Some(primitive) = primitive {
            hash = hash.text(primitive);
        }
        hash.byte(low_byte(n_dims))
    }

    /// Adds one dimension of the member just added.
    #[must_use]
    pub fn dim(self, mode: DimMode, text: &str) -> Self {
        let mode = match mode {
            DimMode::Fixed => 0,
            DimMode::Variable => 1,
        };
        self.byte(mode).text(text)
    }

    /// The hash so far.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0.cast_unsigned()
    }

    fn text(self, text: &str) -> Self {
        let start = self.byte(low_byte(text.len()));
        text.bytes().fold(start, Self::byte)
    }

    /// The reference works on signed numbers: the shift right keeps the sign, and a byte above 127 is negative.
    const fn byte(self, byte: u8) -> Self {
        let Self(hash) = self;
        Self(((hash << 8) ^ (hash >> 55)).wrapping_add(byte.cast_signed() as i64))
    }
}

/// Closes a struct: its base hash plus the sum of its members' hashes, rotated left by one.
#[must_use]
pub const fn close(base: u64, sum_of_members: u64) -> u64 {
    base.wrapping_add(sum_of_members).rotate_left(1)
}

/// The reference narrows lengths to one byte.
const fn low_byte(len: usize) -> u8 {
    len.to_le_bytes()[0]
}
