//! Logs of a bus: recorded without loss, replayed exactly, and found again.
//!
//! ```
//! use bowline_log::{LogEvent, Reader, Writer, WriterOptions};
//! # let folder = tempfile::tempdir()?;
//!
//! for name in ["depth.lcmlog", "depth.mcap"] {
//!     let path = folder.path().join(name);
//!     let mut writer = Writer::create(&path, WriterOptions::default())?;
//!     for (utime, depth) in [(1_000_000, &b"2.5 m"[..]), (2_000_000, b"2.6 m")] {
//!         writer.write(LogEvent { number: 0, utime, nanos: 0, channel: "sonar.depth", payload: depth })?;
//!     }
//!     writer.finish()?;
//!
//!     let mut log = Reader::open(&path)?;
//!     log.seek_to(1_500_000)?;
//!     let event = log.next_event()?.expect("one event is later");
//!     assert_eq!((event.number, event.payload), (1, &b"2.6 m"[..]));
//!     assert!(log.damages().is_empty());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two formats behind one [`Reader`] and one [`Writer`]: LCM's event log, which every LCM tool reads, and MCAP. Beside a
//! log stands its index, which makes it quick to open and gives LCM's logs the checksums that they lack. Deliberately
//! absent: decoding of messages, which is done by whoever wants to see them, with the [`Schemas`] that a log carries.

mod bytes;
mod catalog;
mod copy;
mod damage;
mod diff;
mod event;
mod export;
mod format;
mod index;
mod lcm;
mod line;
mod mcap;
mod moment;
mod output;
pub mod play;
mod reader;
pub mod record;
mod recover;
mod rename;
mod schemas;
mod select;
mod summary;
mod writer;

pub use catalog::{Catalog, Decoded};
pub use copy::{BadOutput, Copied, CopyError, CopyPlan, LeftBehind, RateLimit, check_output, copy};
pub use damage::{Damage, DamageKind, Damages};
pub use diff::{
    ChannelDifference, DiffOptions, Difference, DifferenceKind, Explanation, FieldDifference,
    Place, TimeRule, diff, explain, explain_pair,
};
pub use event::{LogEvent, OwnedEvent};
pub use export::{ExportError, ExportedTable, Exporter, Left, TableFormat};
pub use format::Format;
pub use index::is_index;
pub use line::{FieldChoice, Line};
pub use mcap::{Compression, McapOptions};
pub use moment::{BadMoment, IsoTime, Moment};
pub use reader::{IndexUse, ReadError, Reader};
pub use recover::{Recovered, Recovery, recover};
pub use rename::{BadRename, Rename, Renames};
pub use schemas::{BOOKMARK_CHANNEL, SCHEMA_CHANNEL, Schemas};
pub use select::{BadChannelFilter, ChannelFilter, FindTimeError, Selection, TimeRange};
pub use summary::{ChannelSummary, Gap, Summary};
pub use writer::{WriteError, Writer, WriterOptions};
