//! Numbers, booleans, strings and fixed arrays.

use super::{Decode, DecodeError, Reader};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

macro_rules! decode_numbers {
    ($($number:ty),*) => {$(
        impl<'a> Decode<'a> for $number {
            const MIN_SIZE: usize = size_of::<Self>();

            #[inline]
            fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                reader.take().map(Self::from_be_bytes)
            }

            #[inline]
            fn read_vec(reader: &mut Reader<'a>, n: usize) -> Result<Vec<Self>, DecodeError> {
                let bytes = reader.bytes(n.saturating_mul(size_of::<Self>()))?;
                let (chunks, _) = bytes.as_chunks();
                Ok(chunks.iter().map(|chunk| Self::from_be_bytes(*chunk)).collect())
            }

            #[inline]
            fn read_vec_into(items: &mut Vec<Self>, reader: &mut Reader<'a>, n: usize) -> Result<(), DecodeError> {
                let bytes = reader.bytes(n.saturating_mul(size_of::<Self>()))?;
                let (chunks, _) = bytes.as_chunks();
                items.clear();
                items.extend(chunks.iter().map(|chunk| Self::from_be_bytes(*chunk)));
                Ok(())
            }

            #[inline]
            fn read_array<const N: usize>(reader: &mut Reader<'a>) -> Result<[Self; N], DecodeError> {
                let bytes = reader.bytes(N * size_of::<Self>())?;
                let (chunks, _) = bytes.as_chunks();
                let mut items = [Self::from_be_bytes([0; _]); N];
                for (item, chunk) in items.iter_mut().zip(chunks) {
                    *item = Self::from_be_bytes(*chunk);
                }
                Ok(items)
            }

            #[inline]
            fn read_array_into<const N: usize>(
                items: &mut [Self; N],
                reader: &mut Reader<'a>,
            ) -> Result<(), DecodeError> {
                let bytes = reader.bytes(N * size_of::<Self>())?;
                let (chunks, _) = bytes.as_chunks();
                for (item, chunk) in items.iter_mut().zip(chunks) {
                    *item = Self::from_be_bytes(*chunk);
                }
                Ok(())
            }
        }
    )*};
}

decode_numbers!(i8, i16, i32, i64, f32, f64);

impl<'a> Decode<'a> for u8 {
    const MIN_SIZE: usize = 1;

    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.take().map(Self::from_be_bytes)
    }

    #[inline]
    fn read_vec(reader: &mut Reader<'a>, n: usize) -> Result<Vec<Self>, DecodeError> {
        reader.bytes(n).map(<[Self]>::to_vec)
    }

    #[inline]
    fn read_vec_into(
        items: &mut Vec<Self>,
        reader: &mut Reader<'a>,
        n: usize,
    ) -> Result<(), DecodeError> {
        let bytes = reader.bytes(n)?;
        items.clear();
        items.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn read_array<const N: usize>(reader: &mut Reader<'a>) -> Result<[Self; N], DecodeError> {
        reader.take()
    }

    #[inline]
    fn read_array_into<const N: usize>(
        items: &mut [Self; N],
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        items.copy_from_slice(reader.bytes(N)?);
        Ok(())
    }
}

impl<'a> Decode<'a> for bool {
    const MIN_SIZE: usize = 1;

    /// C sends any byte for true, so every byte but 0 is.
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.take().map(|[byte]| byte != 0)
    }
}

impl<'a> Decode<'a> for &'a str {
    const MIN_SIZE: usize = 5;

    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.text()
    }
}

impl<'a> Decode<'a> for String {
    const MIN_SIZE: usize = 5;

    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.text().map(Self::from)
    }

    #[inline]
    fn read_into(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        let text = reader.text()?;
        if text.len() > self.capacity() {
            *self = Self::from(text);
        } else {
            self.clear();
            self.push_str(text);
        }
        Ok(())
    }
}

impl<'a, T: Decode<'a>, const N: usize> Decode<'a> for [T; N] {
    const MIN_SIZE: usize = T::MIN_SIZE.saturating_mul(N);

    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        T::read_array(reader)
    }

    #[inline]
    fn read_into(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        T::read_array_into(self, reader)
    }
}

impl<'a, const N: usize> Decode<'a> for &'a [u8; N] {
    const MIN_SIZE: usize = N;

    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let missing = reader.truncated_by(N);
        reader.bytes(N)?.first_chunk().ok_or_else(missing)
    }
}

impl<'a, T: Decode<'a>, const N: usize> Decode<'a> for Box<[T; N]> {
    const MIN_SIZE: usize = T::MIN_SIZE.saturating_mul(N);

    /// By way of the heap, so that a large array never stands on the stack.
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let missing = reader.truncated_by(N);
        check_len::<T, N>(reader)?;
        T::read_vec(reader, N)?
            .into_boxed_slice()
            .try_into()
            .ok()
            .ok_or_else(missing)
    }

    fn read_into(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        check_len::<T, N>(reader)?;
        T::read_array_into(self, reader)
    }
}

/// Whether `N` elements can be there. `N` comes from the type, not from the message, so that elements without bytes are
/// free of charge.
fn check_len<'a, T: Decode<'a>, const N: usize>(
    reader: &mut Reader<'a>,
) -> Result<(), DecodeError> {
    if T::MIN_SIZE > 0 {
        reader.count(i64::try_from(N).unwrap_or(i64::MAX), T::MIN_SIZE)?;
    }
    Ok(())
}
