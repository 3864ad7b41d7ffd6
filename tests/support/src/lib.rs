//! What tests of several crates need: networks of their own ([`network`]), how long a test waits before it gives up
//! ([`patience`]), and numbers from a seed ([`random`]).
//!
//! It depends on none of our crates, so that each of them can use it in its tests.

#![forbid(unsafe_code)]
#![expect(
    clippy::missing_panics_doc,
    reason = "this crate is only for tests, which fail by panicking"
)]

pub mod network;
pub mod patience;
pub mod random;
