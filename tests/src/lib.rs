//! What the tests against the reference are made of.
//!
//! For the codec, in: seeds. Out: random type trees as .lcm text ([`trees`]), random values of them ([`values`]), and the
//! verdicts of programs in every language ([`drivers`]) that decode and encode those values with code from the reference
//! compiler and from ours.
//!
//! For the bus: networks of their own ([`netns`]), programs at both ends of a bus that all take the same commands
//! ([`bus_peers`]), a bad network between them ([`relay`]), a sender that means harm ([`hostile`]), and a listener that
//! knows what was on the wire ([`tap`]). [`python`] has our Python module.
//!
//! For robots: whole drives in simulated time ([`drive`]), data sets of others ([`data`]), and samples of long sweeps
//! ([`sweep`]).
//!
//! The promises themselves are in `tests/it.rs`.
//!
//! The reference is never skipped: a missing peer fails the tests and names the command that installs it.

#![forbid(unsafe_code)]
#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "this crate is only for tests, which fail by panicking"
)]

pub mod built;
pub mod bus_peers;
pub mod cases;
pub mod content;
pub mod data;
pub mod drive;
pub mod drivers;
pub mod dump;
pub mod hostile;
pub mod lcm_datagram;
pub mod liblcm;
pub mod peers;
pub mod process;
pub mod python;
pub mod relay;
pub mod report;
pub mod service_peers;
pub mod tap;
pub mod terminal;
pub mod trees;
pub mod values;

pub use bowline_testing::{network as netns, random, sweep};
