//! NMEA 0183: the lines of text that satellite receivers, compasses and depth sounders of ships send.
//!
//! ```text
//! bytes ─▶ Splitter ─▶ Sentence (form, checksum) ─▶ Report (fields, limits) ─▶ Nmea (times, deviations) ─▶ messages
//! messages ─▶ NmeaTwin ─▶ bytes
//! ```
//!
//! Written here rather than taken from a crate: those on crates.io keep the last value of everything, take what is
//! nearly right, and write no sentences. What is needed is a few pages: nothing false may come out, every sentence
//! that came to nothing is counted, and the twin needs the other way.

mod driver;
mod report;
mod sentence;
mod twin;

pub use driver::{Nmea, NmeaOutputs, NmeaParameters, NmeaReading};
pub use report::{BadField, Depth, Fix, Gga, Gst, HeadingReport, Report, Rmc, TimeOfDay};
pub use sentence::{BadSentence, MAX_SENTENCE, SHAPE, Sentence, write};
pub use twin::{NmeaTwin, NmeaTwinParameters};

#[cfg(test)]
mod tests;
