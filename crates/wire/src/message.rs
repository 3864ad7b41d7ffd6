//! A whole message: a fingerprint and a value.

use crate::MAX_MESSAGE_SIZE;
use crate::decode::{Decode, DecodeError, Reader};
use crate::encode::{Encode, EncodeError, EncodeFault, Meter, Writer};
use crate::fingerprint::Fingerprint;
use alloc::vec;
use alloc::vec::Vec;

/// A type that can be published.
pub trait Message: Encode {
    /// The name in the type language, with its package: `bowline.path_t`.
    const NAME: &'static str;
    /// What the first eight bytes must be.
    const FINGERPRINT: Fingerprint;
    /// A set of types in its compact form that this one is in, with all that it contains. Empty for types written by hand;
    /// generated code has it.
    const SCHEMA: &'static [u8] = &[];

    /// The message's own time, microseconds since the epoch: its field `utime`, where it has one.
    fn utime(&self) -> Option<i64> {
        None
    }

    /// The size of the encoded message.
    ///
    /// # Errors
    /// When the value has no faithful encoding.
    fn encoded_size(&self) -> Result<usize, EncodeError> {
        measure(self).map_err(|error| error.in_message(Self::NAME))
    }

    /// Encodes into a vector of its own.
    ///
    /// # Errors
    /// When the value has no faithful encoding.
    fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut message = vec![0; self.encoded_size()?];
        fill(self, &mut message)?;
        Ok(message)
    }

    /// Encodes into scratch space that only ever grows, and returns the part that is the message. The fastest way to
    /// encode many messages: after the first few nothing is allocated or cleared.
    ///
    /// # Errors
    /// When the value has no faithful encoding.
    #[inline]
    fn encode_into<'b>(&self, scratch: &'b mut Vec<u8>) -> Result<&'b [u8], EncodeError> {
        let size = self.encoded_size()?;
        if scratch.len() < size {
            scratch.resize(size, 0);
        }
        // Always there: it was just made so.
        let message = scratch.get_mut(..size).unwrap_or_default();
        fill(self, message)?;
        Ok(message)
    }

    /// Encodes into the start of `buffer` and returns the size. Allocates nothing.
    ///
    /// # Errors
    /// When the value has no faithful encoding or `buffer` is too small.
    #[inline]
    fn encode_to_slice(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let needed = self.encoded_size()?;
        let found = buffer.len();
        let Some(message) = buffer.get_mut(..needed) else {
            let fault = EncodeFault::BufferTooSmall { needed, found };
            return Err(EncodeError::new(fault).in_message(Self::NAME));
        };
        fill(self, message)?;
        Ok(needed)
    }

    /// Decodes a whole message.
    ///
    /// # Errors
    /// When `message` is not exactly one message of this type.
    #[inline]
    fn decode<'a>(message: &'a [u8]) -> Result<Self, DecodeError>
    where
        Self: Decode<'a>,
    {
        let mut reader = Reader::new(message);
        let decoded = read(&mut reader).and_then(|value| reader.expect_end().map(|()| value));
        decoded.map_err(|error| error.in_message(Self::NAME))
    }

    /// Decodes a whole message into a value that is there already, and keeps what that has allocated: a message whose
    /// strings and arrays are no longer than those of the value is decoded without allocating. What an array loses when
    /// it gets shorter is freed; arrays with a length below their first dimension are allocated anew. After an error the
    /// value is some value of the type.
    ///
    /// # Errors
    /// When `message` is not exactly one message of this type.
    #[inline]
    fn decode_into<'a>(&mut self, message: &'a [u8]) -> Result<(), DecodeError>
    where
        Self: Decode<'a>,
    {
        let mut reader = Reader::new(message);
        let decoded = reader
            .expect_fingerprint(Self::FINGERPRINT)
            .and_then(|()| self.read_into(&mut reader));
        decoded
            .and_then(|()| reader.expect_end())
            .map_err(|error| error.in_message(Self::NAME))
    }

    /// Decodes a message from the start of `bytes`, and returns what follows it.
    ///
    /// # Errors
    /// When `bytes` does not start with a message of this type.
    fn decode_prefix<'a>(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError>
    where
        Self: Decode<'a>,
    {
        let mut reader = Reader::new(bytes);
        let value = read(&mut reader).map_err(|error| error.in_message(Self::NAME))?;
        Ok((value, reader.rest()))
    }
}

#[inline]
fn measure<M: Message + ?Sized>(value: &M) -> Result<usize, EncodeError> {
    let mut meter = Meter::default();
    meter.add(size_of::<Fingerprint>());
    value.measure(&mut meter)?;
    match meter.size() {
        size if size > MAX_MESSAGE_SIZE => Err(EncodeError::new(EncodeFault::TooLarge { size })),
        size => Ok(size),
    }
}

#[inline]
fn fill<M: Message + ?Sized>(value: &M, message: &mut [u8]) -> Result<(), EncodeError> {
    let mut writer = Writer::new(message);
    writer.put(M::FINGERPRINT.0.to_be_bytes());
    value.write(&mut writer);
    if writer.is_complete() {
        return Ok(());
    }
    Err(EncodeError::new(EncodeFault::Inconsistent).in_message(M::NAME))
}

#[inline]
fn read<'a, M: Message + Decode<'a>>(reader: &mut Reader<'a>) -> Result<M, DecodeError> {
    reader.expect_fingerprint(M::FINGERPRINT)?;
    M::read(reader)
}

/// Implements the codec for a generated enum: a struct of one public `i32`.
#[macro_export]
macro_rules! enum_codec {
    ($name:ident) => {
        impl $crate::Encode for $name {
            #[inline]
            fn measure(&self, meter: &mut $crate::Meter) -> Result<(), $crate::EncodeError> {
                $crate::Encode::measure(&self.0, meter)
            }

            #[inline]
            fn write(&self, writer: &mut $crate::Writer<'_>) {
                $crate::Encode::write(&self.0, writer);
            }
        }

        impl<'a> $crate::Decode<'a> for $name {
            const MIN_SIZE: usize = 4;

            #[inline]
            fn read(reader: &mut $crate::Reader<'a>) -> Result<Self, $crate::DecodeError> {
                $crate::Decode::read(reader).map(Self)
            }
        }
    };
}
