//! From values that borrow a message to values that own their data.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A value that may borrow, and the one that does not.
pub trait IntoOwned {
    /// The value that does not.
    type Owned;

    /// Copies what is borrowed.
    fn into_owned(self) -> Self::Owned;
}

macro_rules! already_owned {
    ($($ty:ty),*) => {$(
        impl IntoOwned for $ty {
            type Owned = Self;

            #[inline]
            fn into_owned(self) -> Self {
                self
            }
        }
    )*};
}

already_owned!(i8, i16, i32, i64, u8, f32, f64, bool, String);

impl IntoOwned for &str {
    type Owned = String;

    fn into_owned(self) -> String {
        self.into()
    }
}

impl IntoOwned for &[u8] {
    type Owned = Vec<u8>;

    fn into_owned(self) -> Vec<u8> {
        self.to_vec()
    }
}

impl<const N: usize> IntoOwned for &[u8; N] {
    type Owned = [u8; N];

    fn into_owned(self) -> [u8; N] {
        *self
    }
}

impl<T: IntoOwned> IntoOwned for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        self.into_iter().map(T::into_owned).collect()
    }
}

impl<T: IntoOwned, const N: usize> IntoOwned for [T; N] {
    type Owned = [T::Owned; N];

    fn into_owned(self) -> Self::Owned {
        self.map(T::into_owned)
    }
}

impl<T: IntoOwned, const N: usize> IntoOwned for Box<[T; N]> {
    type Owned = Box<[T::Owned; N]>;

    fn into_owned(self) -> Self::Owned {
        let slice: Box<[T]> = self;
        let items: Box<[T::Owned]> = slice.into_iter().map(T::into_owned).collect();
        items
            .try_into()
            .unwrap_or_else(|_| unreachable!("a map keeps the length"))
    }
}

/// A large array of equal items, made without passing through the stack. Generated code calls this.
#[must_use]
pub fn boxed_array<T, const N: usize>(item: impl Fn() -> T) -> Box<[T; N]> {
    let items: Box<[T]> = core::iter::repeat_with(item).take(N).collect();
    items
        .try_into()
        .unwrap_or_else(|_| unreachable!("as many items were made as the array has"))
}

/// A large byte array, copied without passing through the stack. Generated code calls this.
#[must_use]
pub fn boxed_bytes<const N: usize>(bytes: &[u8; N]) -> Box<[u8; N]> {
    let items: Box<[u8]> = Box::from(bytes.as_slice());
    items
        .try_into()
        .unwrap_or_else(|_| unreachable!("a copy keeps the length"))
}
