//! MCAP: written by its own library, read by us, because its readers stop at the first damage.
//!
//! ```text
//! magic · header · ( chunk · message indexes · checksums )* · data end · summary · footer · magic
//! record:     opcode u8 · length u64 · body                                       little-endian
//! chunk:      start u64 · end u64 · size u64 · CRC-32 u32 · compression text · length u64 · records
//! checksums:  "BWC1" · CRC-32 of the rest · count u32 · a CRC-32 for each message of the chunk before it · channels and schemas that are
//!             described in that chunk for the first time                          our own, opcode 0xC2; others skip it
//! ```
//!
//! [`Decoder`] reads it from the bytes that its caller has: it does no input or output.
//!
//! Channels, schemas, attachments and metadata of other writers are passed on as they are when MCAP is copied.
//!
//! A channel of MCAP has one schema, ours have what is published on them: so one of MCAP's for each type on a channel,
//! with the same topic. Schemas have the encoding `bowline`, messages `lcm`. A chunk is ended whenever events are
//! flushed, so what a file has at any moment is whole chunks; a file without its end is read like any other.

mod decode;
mod extras;
mod file;
mod framing;
mod known;
mod record;
mod salvage;
mod window;
mod write;

pub use decode::{Decoder, Found};
pub(crate) use file::McapFile;
pub use window::{Needed, Window};
pub(crate) use write::McapEncoder;

/// Our record of checksums.
const OP_CHECKSUMS: u8 = 0xC2;
const CHECKSUMS_MAGIC: [u8; 4] = *b"BWC1";

/// The name of the writer in our own files.
const LIBRARY: &str = "bowline";

/// What we call our schemas and messages there.
const SCHEMA_ENCODING: &str = "bowline";
const MESSAGE_ENCODING: &str = "lcm";

/// The name of the metadata record of a file that was an LCM log before, so that it can be converted back to the same bytes.
const FROM_LCM: &str = "bowline.from_lcm";
