//! Events into MCAP.

use super::{FROM_LCM, LIBRARY, MESSAGE_ENCODING, OP_CHECKSUMS, SCHEMA_ENCODING, record};
use crate::bytes::Out;
use crate::event::LogEvent;
use crate::schemas::Schemas;
use bowline_wire::Fingerprint;
use enumset::EnumSet;
use mcap::records::{MessageHeader, Metadata};
use mcap::write::PrivateRecordOptions;
use mcap::{McapError, WriteOptions};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// How chunks are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4: quick.
    Lz4,
    /// Zstandard: small.
    #[default]
    Zstd,
}

/// How MCAP is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McapOptions {
    /// How chunks are compressed.
    pub compression: Compression,
    /// Bytes of events that end a chunk.
    pub chunk_bytes: usize,
    /// Notes that it was an LCM log before, so that it can be the same again.
    pub is_from_lcm: bool,
}

impl Default for McapOptions {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            chunk_bytes: 1 << 20,
            is_from_lcm: false,
        }
    }
}

/// Makes the bytes of an MCAP file.
pub(crate) struct McapEncoder {
    writer: mcap::Writer<Sink>,
    sink: Sink,
    chunk_bytes: usize,
    n_collected: usize,
    /// Of the messages in the chunk, and of what it is the first to describe.
    checksums: Vec<u32>,
    definitions: Out,
    /// MCAP's channels, by ours and what is published there.
    channels: HashMap<String, Vec<(Option<Fingerprint>, u16)>>,
    is_finished: bool,
}

impl McapEncoder {
    pub(crate) fn new(options: &McapOptions) -> io::Result<Self> {
        let compression = match options.compression {
            Compression::None => None,
            Compression::Lz4 => Some(mcap::Compression::Lz4),
            Compression::Zstd => Some(mcap::Compression::Zstd),
        };
        let sink = Sink::default();
        let mut writer = WriteOptions::new()
            .compression(compression)
            .compression_level(1)
            .compression_threads(0)
            .chunk_size(None)
            .disable_seeking(true)
            .library(format!("{LIBRARY} {}", env!("CARGO_PKG_VERSION")))
            .create(sink.clone())
            .map_err(failed)?;
        if options.is_from_lcm {
            let note = Metadata {
                name: FROM_LCM.to_owned(),
                metadata: BTreeMap::new(),
            };
            writer.write_metadata(&note).map_err(failed)?;
        }
        Ok(Self {
            writer,
            sink,
            chunk_bytes: options.chunk_bytes,
            n_collected: 0,
            checksums: Vec::new(),
            definitions: Out::default(),
            channels: HashMap::new(),
            is_finished: false,
        })
    }

    /// Bytes of events that are in no chunk yet.
    pub(crate) fn n_collected(&self) -> usize {
        self.n_collected
    }

    /// Adds an event. What is ready goes to `out`.
    pub(crate) fn put(
        &mut self,
        event: &LogEvent<'_>,
        schemas: &Schemas,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let channel_id = self.channel(event, schemas)?;
        let log_time = u64::try_from(event.utime)
            .ok()
            .and_then(|utime| utime.checked_mul(1_000))
            .and_then(|ns| ns.checked_add(u64::from(event.nanos)));
        let log_time = log_time.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "MCAP has times from 1970 to 2554, found {} us since 1970",
                    event.utime
                ),
            )
        })?;
        let header = MessageHeader {
            channel_id,
            sequence: u32::try_from(event.number & i64::from(u32::MAX)).unwrap_or(0),
            log_time,
            publish_time: log_time,
        };
        let written = self.writer.write_to_known_channel(&header, event.payload);
        written.map_err(failed)?;
        let crc = record::message_crc(&header, event.payload);
        self.checksums.push(crc);
        self.n_collected += event.payload.len() + 31;
        if self.n_collected >= self.chunk_bytes {
            self.end_chunk(out)?;
        }
        Ok(())
    }

    /// Ends the chunk, if events are in it.
    pub(crate) fn end_chunk(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if self.n_collected > 0 && !self.is_finished {
            self.writer.flush().map_err(failed)?;
            let outside = EnumSet::<PrivateRecordOptions>::new();
            let body = record::write_checksums(&self.checksums, &self.definitions.0);
            let written = self
                .writer
                .write_private_record(OP_CHECKSUMS, &body, outside);
            written.map_err(failed)?;
            self.checksums.clear();
            self.definitions.0.clear();
            self.n_collected = 0;
        }
        self.sink.drain(out);
        Ok(())
    }

    /// Writes the directory. Nothing can be added afterwards.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.end_chunk(out)?;
        if !self.is_finished {
            self.writer.finish().map_err(failed)?;
            self.is_finished = true;
        }
        self.sink.drain(out);
        Ok(())
    }

    fn channel(&mut self, event: &LogEvent<'_>, schemas: &Schemas) -> io::Result<u16> {
        // What nobody can describe needs no channel for each type, of which hostile messages could have any number.
        let fingerprint = event
            .fingerprint()
            .filter(|fingerprint| schemas.find(*fingerprint).is_some());
        let known = self.channels.get(event.channel);
        let known = known.and_then(|types| types.iter().find(|(found, _)| *found == fingerprint));
        if let Some((_, id)) = known {
            return Ok(*id);
        }
        let schema = fingerprint.and_then(|fingerprint| schemas.description(fingerprint));
        let schema_id = match schema {
            Some(schema) => {
                let added = self
                    .writer
                    .add_schema(&schema.name, SCHEMA_ENCODING, &schema.bytes);
                let id = added.map_err(failed)?;
                record::write_schema(id, &schema.name, &schema.bytes, &mut self.definitions);
                id
            }
            None => 0,
        };
        let id = self
            .writer
            .add_channel(schema_id, event.channel, MESSAGE_ENCODING, &BTreeMap::new())
            .map_err(failed)?;
        record::write_channel(id, schema_id, event.channel, &mut self.definitions);
        let types = self.channels.entry(event.channel.to_owned()).or_default();
        types.push((fingerprint, id));
        Ok(id)
    }
}

impl fmt::Debug for McapEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "McapEncoder({} bytes collected)", self.n_collected)
    }
}

fn failed(error: McapError) -> io::Error {
    if matches!(
        error,
        McapError::TooManyChannels | McapError::TooManySchemas
    ) {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "MCAP has room for 65535 channels and schemas; record fewer, or to an LCM log",
        )
    } else {
        io::Error::other(error)
    }
}

/// Memory that the library writes to, and that never fails: files do, and it would not go on after that.
#[derive(Clone, Debug, Default)]
struct Sink(Arc<Mutex<SinkBytes>>);

#[derive(Debug, Default)]
struct SinkBytes {
    bytes: Vec<u8>,
    drained: u64,
}

impl Sink {
    fn drain(&self, out: &mut Vec<u8>) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.drained += inner.bytes.len() as u64;
        out.append(&mut inner.bytes);
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Sink {
    /// Says where it is; it goes nowhere.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match to {
            SeekFrom::Current(0) | SeekFrom::End(0) => Ok(inner.drained + inner.bytes.len() as u64),
            SeekFrom::Current(_) | SeekFrom::End(_) | SeekFrom::Start(_) => {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
    }
}
