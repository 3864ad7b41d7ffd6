//! Numbers, booleans, strings and arrays.

use super::{Encode, EncodeError, Meter, Writer};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

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
