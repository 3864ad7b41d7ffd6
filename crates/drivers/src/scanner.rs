//! Hokuyo's PB scanners: the PB9-11 of FAST-Robots' example, and its sibling PBS-03JN, whose frames are known.
//!
//! ```text
//! driver                                          device
//!   A0 69 ────────────────────────────────────────▶        who are you?
//!          ◀──────────────────────── A0 69 code[8]         a code that is new each time
//!   A0 5A 01 crc(code) ───────────────────────────▶        let me in; again at least every 3 s
//!          ◀──────────────────────── A0 5A 01              you are in (00: you are not)
//!   A2 69 ────────────────────────────────────────▶        what do you see?
//!          ◀──────────────────────── A2 69 mm[n]           u16 each, little end first, from one side to the other
//! ```
//!
//! A frame is 02, characters of six bits, 03; its last two bytes are a checksum.
//! Such a device is not to be trusted: it stops, it repeats itself, it breaks off. [`Scanner`] believes what
//! fits together, starts the device anew when nothing does, and so gives a stream that can be relied on.

mod driver;
mod frame;
mod twin;

pub use driver::{Scanner, ScannerParameters};
pub use frame::{BadFrame, MAX_SECTORS, SHAPE, decode, encode};
pub use twin::{ScannerTwin, ScannerTwinParameters};

#[cfg(test)]
mod tests;
