//! Logs of a bus: recorded without loss, replayed exactly, compared and repaired.
//!
//! ```
//! use bowline_bus::Bus;
//! use bowline_log::play::{Player, PlayerOptions, Rate, Runner, RunnerOptions};
//! use bowline_log::{LogEvent, Reader, Writer, WriterOptions};
//! # let folder = tempfile::tempdir()?;
//!
//! let path = folder.path().join("depth.lcmlog");
//! let mut writer = Writer::create(&path, WriterOptions::default())?;
//! for (utime, depth) in [(1_000_000, &b"2.5 m"[..]), (2_000_000, b"2.6 m")] {
//!     writer.write(LogEvent { number: 0, utime, nanos: 0, channel: "sonar.depth", payload: depth })?;
//! }
//! writer.finish()?;
//!
//! let bus = Bus::open("memq://")?;
//! let depths = bus.events("sonar.depth")?;
//! let player = Player::new(PlayerOptions { rate: Rate::Max, ..PlayerOptions::default() });
//! let played = Runner::new(Reader::open(&path)?, bus, player, RunnerOptions::default()).run()?;
//! assert_eq!(played.status.tallies.n_published, 2);
//! assert_eq!(&depths.recv()?.1.payload[..], b"2.5 m");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The files themselves are the business of `bowline-format`, whose names are here too: programs that record or play
//! need both. Deliberately absent: decoding of messages, which is done by what shows them, with the [`Schemas`] that a
//! log carries.

mod copy;
mod diff;
mod export;
mod line;
mod moment;
pub mod play;
pub mod record;
mod recover;
mod rename;
mod select;

pub use bowline_format::{
    BOOKMARK_CHANNEL, Catalog, ChannelSummary, Compression, Damage, DamageKind, Damages, Decoded,
    Format, Gap, IndexState, IndexUse, LogEvent, McapOptions, OwnedEvent, ReadError, Reader,
    SCHEMA_CHANNEL, Schemas, Summary, WriteError, Writer, WriterOptions,
};
pub use copy::{BadOutput, Copied, CopyError, CopyPlan, LeftBehind, RateLimit, check_output, copy};
pub use diff::{
    ChannelDifference, DiffOptions, Difference, DifferenceKind, Explanation, FieldDifference,
    Place, TimeRule, diff, explain, explain_pair,
};
pub use export::{ExportError, ExportedTable, Exporter, Left, TableFormat};
pub use line::{FieldChoice, Line};
pub use moment::{BadMoment, IsoTime, Moment};
pub use recover::{Recovered, Recovery, recover};
pub use rename::{BadRename, Rename, Renames};
pub use select::{BadChannelFilter, ChannelFilter, FindTimeError, Selection, TimeRange};
