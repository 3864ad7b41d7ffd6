//! What tests of several crates need: networks of their own ([`network`]), how long a test waits before it gives up
//! ([`patience`]), numbers from a seed ([`random`]), samples of long sweeps ([`sweep`]), and lines for the end of a run
//! ([`record`]).
//!
//! Of our crates it depends on `bowline-wire` alone, so that all others can use it in their tests.

#![forbid(unsafe_code)]
#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "this crate is only for tests, which fail by panicking"
)]

pub mod network;
pub mod patience;
pub mod random;
pub mod record;
pub mod sweep;
