//! Looks into a bus or a log, for whoever shows it to people: the spy, the one-shot tools, the station.
//!
//! In: events, and what they are described with. Out: tables, trees, curves, pictures. No terminal, no clock: the time
//! is that of the events, or told.
//!
//! | file | job |
//! | --- | --- |
//! | `source.rs` | a bus or a log, with what is known of its types |
//! | `descriptions.rs` | what publishers say about their types, checked and in bounds |
//! | `publishers.rs` | programs by their announcements |
//! | `tree.rs` | a message as lines that fold |
//! | `series.rs` | a field over time |
//! | `picture.rs` | images and scans, found by the shape of their types |

mod descriptions;
mod publishers;
mod source;

pub use descriptions::DescriptionCounts;
pub use publishers::{Publisher, Publishers};
pub use source::{Describing, Next, OpenSourceError, Outlook, ReceiveError, Source, SourceOptions};
