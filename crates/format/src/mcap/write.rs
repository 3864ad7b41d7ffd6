//! Events into MCAP.

use super::{FROM_LCM, LIBRARY, MESSAGE_ENCODING, OP_CHECKSUMS, SCHEMA_ENCODING, record};
use crate::bytes::Out;
use crate::event::{Foreign, ForeignSchema, LogEvent, Provenance};
use crate::format::Format;
use crate::index::LogShape;
use crate::output::Output;
use crate::schemas::Schemas;
use crate::writer::{Compression, Encoder, McapOptions, Sidecar, WriteError};
use bowline_wire::Fingerprint;
use enumset::EnumSet;
use mcap::records::{AttachmentHeader, MessageHeader, Metadata};
use mcap::write::PrivateRecordOptions;
use mcap::{McapError, WriteOptions};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
    /// Those that are copied as they are, by their names.
    foreign: HashMap<String, Vec<ForeignChannel>>,
    is_finished: bool,
}

/// A channel that another writer described.
struct ForeignChannel {
    id: u16,
    encoding: String,
    metadata: BTreeMap<String, String>,
    schema: Option<Arc<ForeignSchema>>,
}

impl ForeignChannel {
    fn is(&self, other: &Foreign<'_>) -> bool {
        let is_same_schema = match (&self.schema, other.schema) {
            // Mostly it is the very same, which is quick to see.
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            (a, b) => a.is_none() && b.is_none(),
        };
        is_same_schema && self.encoding == other.encoding && self.metadata == *other.metadata
    }
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
            .profile(&options.profile)
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
            foreign: HashMap::new(),
            is_finished: false,
        })
    }

    /// Adds an event, with what another MCAP file has of it. What is ready goes to `out`.
    fn add(
        &mut self,
        event: &LogEvent<'_>,
        provenance: Option<&Provenance<'_>>,
        schemas: &Schemas,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
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
        let foreign = provenance.and_then(|it| Some((it.sequence, it.foreign?)));
        let number = u32::try_from(event.number & i64::from(u32::MAX)).unwrap_or(0);
        let (channel_id, sequence) = match &foreign {
            Some((sequence, foreign)) => (self.foreign_channel(event.channel, foreign)?, *sequence),
            None => (self.channel(event, schemas)?, number),
        };
        let header = MessageHeader {
            channel_id,
            sequence,
            log_time,
            publish_time: provenance.map_or(log_time, |it| it.publish_ns),
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

    fn channel(&mut self, event: &LogEvent<'_>, schemas: &Schemas) -> io::Result<u16> {
        // Messages without a known type share a channel: hostile messages could claim any number of types.
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
            Some(schema) => self.add_schema(&schema.name, SCHEMA_ENCODING, &schema.bytes)?,
            None => 0,
        };
        let none = BTreeMap::new();
        let id = self.add_channel(schema_id, event.channel, MESSAGE_ENCODING, &none)?;
        let types = self.channels.entry(event.channel.to_owned()).or_default();
        types.push((fingerprint, id));
        Ok(id)
    }

    fn foreign_channel(&mut self, topic: &str, foreign: &Foreign<'_>) -> io::Result<u16> {
        let known = self.foreign.get(topic).into_iter().flatten();
        if let Some(channel) = known.clone().find(|channel| channel.is(foreign)) {
            return Ok(channel.id);
        }
        let schema_id = match foreign.schema {
            Some(schema) => self.add_schema(&schema.name, &schema.encoding, &schema.data)?,
            None => 0,
        };
        let Foreign {
            encoding, metadata, ..
        } = *foreign;
        let id = self.add_channel(schema_id, topic, encoding, metadata)?;
        let channels = self.foreign.entry(topic.to_owned()).or_default();
        channels.push(ForeignChannel {
            id,
            encoding: encoding.to_owned(),
            metadata: metadata.clone(),
            schema: foreign.schema.cloned(),
        });
        Ok(id)
    }

    fn add_schema(&mut self, name: &str, encoding: &str, data: &[u8]) -> io::Result<u16> {
        let id = self.writer.add_schema(name, encoding, data);
        let id = id.map_err(failed)?;
        let schema = record::Schema {
            id,
            name,
            encoding,
            data,
        };
        record::write_schema(&schema, &mut self.definitions);
        Ok(id)
    }

    fn add_channel(
        &mut self,
        schema_id: u16,
        topic: &str,
        encoding: &str,
        metadata: &BTreeMap<String, String>,
    ) -> io::Result<u16> {
        let id = self
            .writer
            .add_channel(schema_id, topic, encoding, metadata);
        let id = id.map_err(failed)?;
        let channel = mcap::records::Channel {
            id,
            schema_id,
            topic: topic.to_owned(),
            message_encoding: encoding.to_owned(),
            metadata: metadata.clone(),
        };
        record::write_channel(&channel, &mut self.definitions);
        Ok(id)
    }

    /// Adds a metadata record.
    pub(crate) fn put_metadata(
        &mut self,
        metadata: &Metadata,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        self.end_chunk(out)?;
        self.writer.write_metadata(metadata).map_err(failed)?;
        self.sink.drain(out);
        Ok(())
    }

    /// Begins an attachment, whose data comes in pieces.
    pub(crate) fn start_attachment(
        &mut self,
        header: AttachmentHeader,
        n_data: u64,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        self.end_chunk(out)?;
        let started = self.writer.start_attachment(n_data, header);
        started.map_err(failed)
    }

    pub(crate) fn put_attachment(&mut self, piece: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.writer.put_attachment_bytes(piece).map_err(failed)?;
        self.sink.drain(out);
        Ok(())
    }

    pub(crate) fn finish_attachment(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.writer.finish_attachment().map_err(failed)?;
        self.sink.drain(out);
        Ok(())
    }
}

impl Encoder for McapEncoder {
    fn format(&self) -> Format {
        Format::Mcap
    }

    fn shape(&self) -> LogShape {
        LogShape::Chunks
    }

    /// Small chunks compress badly.
    fn patience(&self) -> Duration {
        Duration::from_millis(50)
    }

    fn put(
        &mut self,
        event: &LogEvent<'_>,
        provenance: Option<&Provenance<'_>>,
        schemas: &Schemas,
        output: &mut Output,
        sidecar: &mut Sidecar,
    ) -> Result<(), WriteError> {
        let added = self.add(event, provenance, schemas, output.pending());
        added.map_err(WriteError::writing(output.path()))?;
        sidecar.add(event, output.position(), &[]);
        Ok(())
    }

    fn n_collected(&self) -> usize {
        self.n_collected
    }

    /// Ends the chunk, if events are in it.
    fn end_chunk(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
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
    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.end_chunk(out)?;
        if !self.is_finished {
            self.writer.finish().map_err(failed)?;
            self.is_finished = true;
        }
        self.sink.drain(out);
        Ok(())
    }

    fn as_mcap(&mut self) -> Option<&mut McapEncoder> {
        Some(self)
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
    /// Reports the position; it moves nowhere.
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
