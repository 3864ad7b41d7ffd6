//! Records of MCAP, from bytes that may be anything.

use super::{CHECKSUMS_MAGIC, LIBRARY, OP_CHECKSUMS};
use crate::bytes::{In, Out};
use mcap::records::{AttachmentHeader, MessageHeader};
use std::collections::BTreeMap;
use std::io::{self, Read as _};

pub(super) const OP_HEADER: u8 = 0x01;
pub(super) const OP_FOOTER: u8 = 0x02;
pub(super) const OP_SCHEMA: u8 = 0x03;
pub(super) const OP_CHANNEL: u8 = 0x04;
pub(super) const OP_MESSAGE: u8 = 0x05;
pub(super) const OP_CHUNK: u8 = 0x06;
pub(super) const OP_MESSAGE_INDEX: u8 = 0x07;
pub(super) const OP_CHUNK_INDEX: u8 = 0x08;
pub(super) const OP_ATTACHMENT: u8 = 0x09;
pub(super) const OP_ATTACHMENT_INDEX: u8 = 0x0A;
pub(super) const OP_STATISTICS: u8 = 0x0B;
pub(super) const OP_METADATA: u8 = 0x0C;
pub(super) const OP_METADATA_INDEX: u8 = 0x0D;
pub(super) const OP_DATA_END: u8 = 0x0F;

/// Opcode and length.
pub(super) const HEAD_LEN: usize = 9;

/// A record's opcode, and how long its body is.
pub(super) fn head(bytes: &[u8]) -> Option<(u8, u64)> {
    let mut input = In(bytes);
    Some((input.u8()?, input.u64()?))
}

/// The header of a file: its profile, and whether we wrote it.
pub(super) fn header(body: &[u8]) -> Option<(&str, bool)> {
    let mut input = In(body);
    let (profile, library) = (text(&mut input)?, text(&mut input)?);
    Some((profile, library.starts_with(LIBRARY)))
}

/// The name of a channel, and the description of its messages.
pub(super) struct Channel<'a> {
    pub(super) id: u16,
    pub(super) schema_id: u16,
    pub(super) topic: &'a str,
    pub(super) encoding: &'a str,
    metadata: &'a [u8],
}

impl<'a> Channel<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let mut input = In(body);
        Some(Self {
            id: u16_of(&mut input)?,
            schema_id: u16_of(&mut input)?,
            topic: text(&mut input)?,
            // What is cut off here costs only the description of the messages.
            encoding: text(&mut input).unwrap_or_default(),
            metadata: short_bytes(&mut input).unwrap_or_default(),
        })
    }

    pub(super) fn metadata(&self) -> BTreeMap<String, String> {
        map(self.metadata).unwrap_or_default()
    }
}

/// The name and the contents of a metadata record.
pub(super) fn metadata(body: &[u8]) -> Option<(&str, BTreeMap<String, String>)> {
    let mut input = In(body);
    Some((text(&mut input)?, map(short_bytes(&mut input)?)?))
}

/// What a metadata record is called.
pub(super) fn metadata_name(body: &[u8]) -> Option<&str> {
    text(&mut In(body))
}

fn map(pairs: &[u8]) -> Option<BTreeMap<String, String>> {
    let mut input = In(pairs);
    let mut map = BTreeMap::new();
    while !input.0.is_empty() {
        let (key, value) = (text(&mut input)?, text(&mut input)?);
        map.insert(key.to_owned(), value.to_owned());
    }
    Some(map)
}

/// What is before the data of an attachment.
pub(super) struct AttachmentFront<'a> {
    log_time: u64,
    create_time: u64,
    name: &'a str,
    media_type: &'a str,
    pub(super) n_data: u64,
    /// Where in the record's body the data begins.
    pub(super) data_at: u64,
}

impl<'a> AttachmentFront<'a> {
    /// Reads the beginning of a body that is `len` long; `None` unless its lengths add up.
    pub(super) fn read(body: &'a [u8], len: u64) -> Option<Self> {
        let mut input = In(body);
        let mut front = Self {
            log_time: input.u64()?,
            create_time: input.u64()?,
            name: text(&mut input)?,
            media_type: text(&mut input)?,
            n_data: input.u64()?,
            data_at: 0,
        };
        front.data_at = (body.len() - input.0.len()) as u64;
        let end = front.data_at.checked_add(front.n_data)?.checked_add(4)?;
        (end == len).then_some(front)
    }

    pub(super) fn header(&self) -> AttachmentHeader {
        AttachmentHeader {
            log_time: self.log_time,
            create_time: self.create_time,
            name: self.name.to_owned(),
            media_type: self.media_type.to_owned(),
        }
    }
}

/// Where an attachment or metadata record is, according to the directory.
pub(super) fn place_in_index(body: &[u8]) -> Option<u64> {
    In(body).u64()
}

/// How many attachments and metadata records there are together, according to the statistics.
pub(super) fn n_extras(statistics: &[u8]) -> Option<u64> {
    let mut input = In(statistics);
    // Messages, schemas and channels.
    let _counts = input.take::<14>()?;
    Some(u64::from(input.u32()?) + u64::from(input.u32()?))
}

/// How a type is described.
pub(super) struct Schema<'a> {
    pub(super) id: u16,
    pub(super) name: &'a str,
    pub(super) encoding: &'a str,
    pub(super) data: &'a [u8],
}

impl<'a> Schema<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let mut input = In(body);
        Some(Self {
            id: u16_of(&mut input)?,
            name: text(&mut input)?,
            encoding: text(&mut input)?,
            data: short_bytes(&mut input)?,
        })
    }
}

/// A message, with its channel and times.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) header: MessageHeader,
    pub(super) data: &'a [u8],
}

impl<'a> Message<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let mut input = In(body);
        let header = MessageHeader {
            channel_id: u16_of(&mut input)?,
            sequence: input.u32()?,
            log_time: input.u64()?,
            publish_time: input.u64()?,
        };
        Some(Self {
            header,
            data: input.0,
        })
    }

    pub(super) fn crc(&self) -> u32 {
        message_crc(&self.header, self.data)
    }
}

/// The checksum of one message, which MCAP does not have.
pub(super) fn message_crc(header: &MessageHeader, data: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header.channel_id.to_le_bytes());
    crc.update(&header.sequence.to_le_bytes());
    crc.update(&header.log_time.to_le_bytes());
    crc.update(&header.publish_time.to_le_bytes());
    crc.update(data);
    crc.finalize()
}

/// A chunk, not decompressed.
pub(super) struct Chunk<'a> {
    pub(super) size: u64,
    pub(super) crc: u32,
    pub(super) compression: &'a str,
    pub(super) data: &'a [u8],
}

impl<'a> Chunk<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let mut input = In(body);
        let _times = input.take::<16>()?;
        Some(Self {
            size: input.u64()?,
            crc: input.u32()?,
            compression: text(&mut input)?,
            data: input.bytes()?,
        })
    }

    /// The records in it, if they are what was written.
    pub(super) fn open(&self, into: &mut Vec<u8>) -> bool {
        into.clear();
        let is_real = self.size <= max_expanded(self.data.len());
        // One more, to see whether there is more than the chunk declares.
        let n_bytes = self.size.saturating_add(1);
        let is_read = is_real && decompress(self.compression, self.data, n_bytes, into).is_ok();
        let is_whole = is_read && into.len() as u64 == self.size;
        is_whole && (self.crc == 0 || crc32fast::hash(into) == self.crc)
    }
}

/// No chunk is larger when it is decompressed: the largest message of LCM's, and those before it in its chunk.
const MAX_CHUNK: u64 = (2 << 30) + (64 << 20);
/// Any chunk may become so large, however small it is: pictures of one colour compress to nearly nothing.
const MAX_EXPANDED: u64 = 128 << 20;
/// A larger one has a byte in the file for each so many.
const MAX_RATIO: u64 = 256;

/// How many bytes a chunk may have in memory that has so many in its file. Real chunks stay below; beyond it, a few
/// bytes of a file would claim all memory.
pub(super) fn max_expanded(n_compressed: usize) -> u64 {
    let by_ratio = (n_compressed as u64).saturating_mul(MAX_RATIO);
    MAX_EXPANDED.saturating_add(by_ratio).min(MAX_CHUNK)
}

/// Decompresses as far as it goes, at most `size` bytes: what came before damage stays in `into`.
pub(super) fn decompress(
    compression: &str,
    data: &[u8],
    size: u64,
    into: &mut Vec<u8>,
) -> io::Result<()> {
    into.clear();
    match compression {
        "" => data.take(size).read_to_end(into),
        "zstd" => zstd::stream::read::Decoder::new(data)?
            .take(size)
            .read_to_end(into),
        "lz4" => lz4::Decoder::new(data)?.take(size).read_to_end(into),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    }
    .map(drop)
}

/// Where chunks are, according to the directory.
pub(super) struct ChunkIndex {
    pub(super) end_ns: u64,
    pub(super) offset: u64,
}

impl ChunkIndex {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut input = In(body);
        let _start_ns = input.u64()?;
        Some(Self {
            end_ns: input.u64()?,
            offset: input.u64()?,
        })
    }
}

/// The checksums of the messages of a chunk, from the body of our record.
pub(super) fn checksums(body: &[u8]) -> Option<Vec<u32>> {
    let (sums, _) = split_checksums(body)?;
    let (sums, _) = sums.as_chunks();
    Some(sums.iter().map(|sum| u32::from_le_bytes(*sum)).collect())
}

/// The channels and schemas that the chunk before it describes first, from the body of our record.
pub(super) fn definitions(body: &[u8]) -> &[u8] {
    split_checksums(body).map_or(&[], |(_, definitions)| definitions)
}

fn split_checksums(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut input = In(body.strip_prefix(&CHECKSUMS_MAGIC)?);
    if input.u32()? != crc32fast::hash(input.0) {
        return None;
    }
    let n_sums = usize::try_from(input.u32()?).ok()?;
    input.0.split_at_checked(n_sums.checked_mul(4)?)
}

/// Makes the body of our record.
pub(super) fn write_checksums(sums: &[u32], definitions: &[u8]) -> Vec<u8> {
    let mut rest = Out::default();
    rest.u32(u32::try_from(sums.len()).unwrap_or(u32::MAX));
    for sum in sums {
        rest.u32(*sum);
    }
    rest.0.extend_from_slice(definitions);
    let mut out = Out(CHECKSUMS_MAGIC.to_vec());
    out.u32(crc32fast::hash(&rest.0));
    out.0.append(&mut rest.0);
    out.0
}

/// A channel as MCAP writes it.
pub(super) fn write_channel(channel: &mcap::records::Channel, out: &mut Out) {
    let mut body = Out::default();
    body.0.extend_from_slice(&channel.id.to_le_bytes());
    body.0.extend_from_slice(&channel.schema_id.to_le_bytes());
    short(channel.topic.as_bytes(), &mut body);
    short(channel.message_encoding.as_bytes(), &mut body);
    let mut pairs = Out::default();
    for (key, value) in &channel.metadata {
        short(key.as_bytes(), &mut pairs);
        short(value.as_bytes(), &mut pairs);
    }
    short(&pairs.0, &mut body);
    out.0.push(OP_CHANNEL);
    out.bytes(&body.0);
}

/// A schema as MCAP writes it.
pub(super) fn write_schema(schema: &Schema<'_>, out: &mut Out) {
    let mut body = Out::default();
    body.0.extend_from_slice(&schema.id.to_le_bytes());
    short(schema.name.as_bytes(), &mut body);
    short(schema.encoding.as_bytes(), &mut body);
    short(schema.data, &mut body);
    out.0.push(OP_SCHEMA);
    out.bytes(&body.0);
}

fn short(bytes: &[u8], out: &mut Out) {
    out.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.0.extend_from_slice(bytes);
}

/// Whether a record of that kind can have a body that begins so and is that long.
pub(super) fn is_plausible(op: u8, len: u64, body: &[u8]) -> bool {
    match op {
        OP_HEADER => len >= 8,
        OP_FOOTER => len == 20,
        OP_SCHEMA | OP_CHANNEL | 0x0A..=0x0E => (4..1 << 30).contains(&len),
        OP_MESSAGE => len >= 22,
        OP_MESSAGE_INDEX => {
            let mut input = In(body);
            let n_bytes = u16_of(&mut input).and_then(|_channel| input.u32());
            n_bytes.is_some_and(|n| len == 6 + u64::from(n) && n.is_multiple_of(16))
        }
        OP_CHUNK => {
            let mut input = In(body);
            let front = input.take::<28>().and_then(|_front| text(&mut input));
            let rest = front.and_then(|name| Some((name.len() as u64, input.u64()?)));
            rest.is_some_and(|(n_name, n_data)| n_data.checked_add(40 + n_name) == Some(len))
        }
        OP_CHUNK_INDEX => len >= 56,
        OP_ATTACHMENT => len >= 36,
        OP_DATA_END => len == 4,
        OP_CHECKSUMS => body.starts_with(&CHECKSUMS_MAGIC),
        _ => false,
    }
}

fn u16_of(input: &mut In<'_>) -> Option<u16> {
    input.take().map(u16::from_le_bytes)
}

/// MCAP's texts have short lengths.
fn text<'a>(input: &mut In<'a>) -> Option<&'a str> {
    std::str::from_utf8(short_bytes(input)?).ok()
}

fn short_bytes<'a>(input: &mut In<'a>) -> Option<&'a [u8]> {
    let len = usize::try_from(input.u32()?).ok()?;
    let (bytes, rest) = input.0.split_at_checked(len)?;
    input.0 = rest;
    Some(bytes)
}
