//! Looks into a bus or a log, for whoever shows it to people: the spy, the one-shot tools, the station.
//!
//! In: events, and what they are described with. Out: tables, trees, curves, pictures. No terminal, no clock: the time
//! is that of the events, or told.
//!
//! | file | job |
//! | --- | --- |
//! | `tree.rs` | a message as lines that fold |
//! | `series.rs` | a field over time |
//! | `picture.rs` | images and scans, found by the shape of their types |
//! | `text.rs` | numbers and text as people read them |

pub mod picture;
pub mod series;
pub mod text;
pub mod tree;
