//! What MCAP has besides messages: attachments and metadata, which are copied as they are.

use super::FROM_LCM;
use super::record::{self, AttachmentFront, HEAD_LEN, OP_ATTACHMENT, OP_METADATA};
use crate::bytes::In;
use crate::copied::{CopiedExtras, CopyExtrasError};
use crate::input::Input;
use crate::reader::ReadError;
use crate::writer::{WriteError, Writer};
use mcap::records::{AttachmentHeader, Metadata};
use std::io;
use std::path::Path;

/// How many are remembered: more than real files have.
const MAX_PLACES: usize = 100_000;
/// No metadata record that is copied is larger: it is for a few words.
const MAX_METADATA: u64 = 16 << 20;
/// What has to be read of an attachment to know all but its data.
pub(super) const MAX_FRONT: u64 = 64 << 10;
/// How much of an attachment is in memory at a time.
pub(super) const PIECE: u64 = 1 << 20;

/// Where attachments and metadata are in a file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    pub(super) places: Vec<u64>,
    /// More of them that were not remembered.
    n_more: u64,
}

impl Extras {
    pub(super) fn add(&mut self, place: u64) {
        if self.places.len() < MAX_PLACES {
            self.places.push(place);
        } else {
            self.n_more += 1;
        }
    }
}

/// Copies attachments and metadata, if the other log has room for them.
pub(super) fn copy(
    path: &Path,
    extras: &Extras,
    to: &mut Writer,
) -> Result<CopiedExtras, CopyExtrasError> {
    let mut copied = CopiedExtras {
        n_damaged: extras.n_more,
        ..CopiedExtras::default()
    };
    if extras.places.is_empty() {
        return Ok(copied);
    }
    let mut reader = ExtraReader::open(path).map_err(ReadError::of(path))?;
    for place in &extras.places {
        match reader.read(*place).map_err(ReadError::of(path))? {
            Extra::Own => {}
            Extra::Unreadable => copied.n_damaged += 1,
            Extra::Metadata(metadata) => {
                if put_metadata(to, &metadata)? {
                    copied.n_metadata += 1;
                } else {
                    copied.n_left_metadata += 1;
                }
            }
            Extra::Attachment(attachment) => {
                if put_attachment(to, attachment, &mut reader, path)? {
                    copied.n_attachments += 1;
                } else {
                    copied.n_left_attachments += 1;
                }
            }
        }
    }
    Ok(copied)
}

fn put_metadata(to: &mut Writer, metadata: &Metadata) -> Result<bool, WriteError> {
    let path = to.path().to_owned();
    let (encoder, output) = to.encoder_and_output();
    let Some(encoder) = encoder.as_mcap() else {
        return Ok(false);
    };
    let put = encoder.put_metadata(metadata, output.pending());
    put.map_err(WriteError::writing(&path))?;
    to.flush()?;
    Ok(true)
}

fn put_attachment(
    to: &mut Writer,
    attachment: Attachment,
    from: &mut ExtraReader,
    from_path: &Path,
) -> Result<bool, CopyExtrasError> {
    let path = to.path().to_owned();
    let (encoder, output) = to.encoder_and_output();
    let Some(encoder) = encoder.as_mcap() else {
        return Ok(false);
    };
    let Attachment {
        header,
        n_data,
        data_at,
    } = attachment;
    let started = encoder.start_attachment(header, n_data, output.pending());
    started.map_err(WriteError::writing(&path))?;
    let (mut at, end) = (data_at, data_at + n_data);
    while at < end {
        let n_bytes = PIECE.min(end - at);
        let piece = from.bytes(at, n_bytes).map_err(ReadError::of(from_path))?;
        let put = encoder.put_attachment(piece, output.pending());
        let put = put.and_then(|()| output.flush());
        put.map_err(WriteError::writing(&path))?;
        at += n_bytes;
    }
    let ended = encoder.finish_attachment(output.pending());
    ended.map_err(WriteError::writing(&path))?;
    to.flush()?;
    Ok(true)
}

/// One of them.
enum Extra {
    Metadata(Metadata),
    Attachment(Attachment),
    /// It is not what was written, or too large.
    Unreadable,
    /// A note of ours to ourselves, which the writer of the other file makes.
    Own,
}

/// An attachment, with the place of its data in the file.
struct Attachment {
    header: AttachmentHeader,
    n_data: u64,
    data_at: u64,
}

/// Reads attachments and metadata by their places.
struct ExtraReader {
    input: Input,
}

impl ExtraReader {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            input: Input::open(path)?,
        })
    }

    /// What is at a place. An attachment is held against its checksum before.
    fn read(&mut self, place: u64) -> io::Result<Extra> {
        let left = self.input.size()?.saturating_sub(place);
        let start = place + HEAD_LEN as u64;
        match record::head(self.bytes(place, (HEAD_LEN as u64).min(left))?) {
            Some((OP_METADATA, len)) if len <= MAX_METADATA.min(left) => self.metadata(start, len),
            Some((OP_ATTACHMENT, len)) if len <= left => self.attachment(start, len),
            Some(_) | None => Ok(Extra::Unreadable),
        }
    }

    fn metadata(&mut self, start: u64, len: u64) -> io::Result<Extra> {
        Ok(match record::metadata(self.bytes(start, len)?) {
            Some((FROM_LCM, _)) => Extra::Own,
            Some((name, metadata)) => Extra::Metadata(Metadata {
                name: name.to_owned(),
                metadata,
            }),
            None => Extra::Unreadable,
        })
    }

    fn attachment(&mut self, start: u64, len: u64) -> io::Result<Extra> {
        let front = self.bytes(start, len.min(MAX_FRONT))?;
        let Some(front) = AttachmentFront::read(front, len) else {
            return Ok(Extra::Unreadable);
        };
        let attachment = Attachment {
            header: front.header(),
            n_data: front.n_data,
            data_at: start + front.data_at,
        };
        let mut crc = crc32fast::Hasher::new();
        let (mut at, crc_at) = (start, start + len - 4);
        while at < crc_at {
            let n_bytes = PIECE.min(crc_at - at);
            crc.update(self.bytes(at, n_bytes)?);
            at += n_bytes;
        }
        let said = In(self.bytes(crc_at, 4)?).u32().unwrap_or(0);
        Ok(if said == 0 || said == crc.finalize() {
            Extra::Attachment(attachment)
        } else {
            Extra::Unreadable
        })
    }

    /// So many bytes, all of which must be there.
    fn bytes(&mut self, offset: u64, n_bytes: u64) -> io::Result<&[u8]> {
        let n_bytes = usize::try_from(n_bytes).map_err(io::Error::other)?;
        self.input.fill(offset, n_bytes)?;
        let bytes = self.input.from(offset).get(..n_bytes);
        bytes.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}
