//! Roboteq's motor controllers: two motors at the end of one serial line, as many small vessels have them.
//!
//! ```text
//! driver                                          controller
//!   ^ECHOF 1 ─────────────────────────────────────▶        do not echo
//!   ^RWD 250 ─────────────────────────────────────▶        stop by yourself 250 ms after the last command
//!          ◀──────────────────────────────── +             each was understood (-: it was not)
//!   !G 1 -350 ────────────────────────────────────▶        motor 1: 35 % astern; from -1000 to 1000
//!   !G 2 720 ─────────────────────────────────────▶        motor 2
//!          ◀──────────────────────────────── + +
//!   ?FF ──────────────────────────────────────────▶        is anything wrong?
//!          ◀──────────────────────────────── FF=0          a bit for each fault
//! ```
//!
//! A line is text that ends with a carriage return. There is no checksum and no number on an answer, so a command is
//! repeated, and never depends on an earlier one.
//! A vessel stops whatever fails: the gate commands the thrust driver, that stops without commands, so does this driver, and the
//! controller itself when the line is cut or the computer is dead.

mod driver;
mod reply;
mod twin;

pub use driver::{Roboteq, RoboteqParameters};
pub use reply::{BadReply, MAX_RATIO, Reply, SHAPE, faults, parse};
pub use twin::{RoboteqTwin, RoboteqTwinParameters};

#[cfg(test)]
mod tests;
