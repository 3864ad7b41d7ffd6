//! What the differential tests are made of.
//!
//! In: seeds. Out: random type trees as .lcm text ([`trees`]), random values of them ([`values`]), and the verdicts of
//! programs in every language ([`drivers`]) that decode and encode those values with code from the reference compiler
//! and from ours. The promises themselves are in `tests/it.rs`.
//!
//! The reference is never skipped: a missing peer fails the tests and says which command brings it.

#![forbid(unsafe_code)]
#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "this crate is only for tests, which fail by panicking"
)]

pub mod cases;
pub mod drivers;
pub mod dump;
pub mod peers;
pub mod random;
pub mod report;
pub mod trees;
pub mod values;
