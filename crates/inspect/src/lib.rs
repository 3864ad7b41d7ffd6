//! Looks into a bus or a log, for programs that display it: the spy, the one-shot tools, the station.
//!
//! In: events, and what they are described with. Out: tables, trees, curves, pictures. No terminal, no clock: the time
//! is that of the events, or given.
//!
//! | file | job |
//! | --- | --- |
//! | `source.rs` | a bus or a log, with what is known of its types |
//! | `descriptions.rs` | the descriptions that publishers send of their types, checked and in bounds |
//! | `publishers.rs` | programs by their announcements |
//! | `who.rs` | programs by all that is known of them |
//! | `interval.rs` | the times between messages |
//! | `form.rs` | JSON that is to become a message |
//! | `assign.rs` | messages from words of a command line |
//! | `page.rs` | a message as indented text |
//! | `tree.rs` | a message as lines that fold |
//! | `series.rs` | a field over time |
//! | `picture.rs` | images and scans, found by the shape of their types |
//! | `text.rs` | numbers and text as people read them |
//! | `watch.rs` | channels and their traffic |
//! | `history.rs` | the last events |
//! | `guess.rs` | what bytes of an undescribed type might be |

mod assign;
mod descriptions;
mod form;
mod guess;
mod history;
mod interval;
mod page;
pub mod picture;
mod publishers;
mod rhythm;
pub mod series;
mod source;
pub mod text;
pub mod tree;
mod watch;
mod who;

pub use assign::{AssignError, assign, blank};
pub use descriptions::DescriptionCounts;
pub use form::{example, faults};
pub use guess::{guess, hex_lines};
pub use history::History;
pub use interval::{Bin, IntervalSummary, Intervals};
pub use page::{TextOptions, to_line, to_lines};
pub use publishers::{Publisher, Publishers};
pub use source::{Describing, Next, OpenSourceError, Outlook, ReceiveError, Source, SourceOptions};
pub use watch::{Traffic, Watch, fingerprint};
pub use who::{Process, Senders, TypeName, Who};
