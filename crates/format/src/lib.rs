//! Log files of a bus: LCM event logs and MCAP, behind one [`Reader`] and one [`Writer`].
//!
//! ```
//! use bowline_format::{LogEvent, Reader, Writer, WriterOptions};
//! # let folder = tempfile::tempdir()?;
//!
//! for name in ["depth.lcmlog", "depth.mcap"] {
//!     # #[cfg(not(feature = "mcap"))]
//!     # if name == "depth.mcap" { continue; }
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
//! In: a file. Out: its events in their order, what is damaged, what the log is about ([`Summary`]) and the types that
//! it describes ([`Schemas`]); or a file that other programs read. Beside a log stands its index, which makes it quick to
//! open and gives LCM's logs the checksums that they lack. [`Timeline`] computes when the events of a log are due that is
//! played. Deliberately absent: buses, clocks and threads.

mod bytes;
mod catalog;
mod copied;
mod damage;
mod event;
mod format;
mod index;
mod input;
mod lcm;
#[cfg(feature = "mcap")]
pub mod mcap;
mod output;
mod reader;
pub mod scanner;
mod schemas;
mod summary;
mod timeline;
mod writer;

pub use catalog::{Catalog, Decoded};
pub use copied::{CopiedExtras, CopyExtrasError};
pub use damage::{Damage, DamageKind, Damages};
pub use event::{LogEvent, OwnedEvent, Provenance};
pub use format::Format;
pub use index::is_index;
pub use reader::{IndexState, IndexUse, ReadError, Reader};
pub use schemas::{BOOKMARK_CHANNEL, RECORDER_CHANNEL, SCHEMA_CHANNEL, Schemas};
pub use summary::{ChannelSummary, Gap, Summary};
pub use timeline::{Placed, Rate, Timeline};
pub use writer::{Compression, McapOptions, WriteError, Writer, WriterOptions};
