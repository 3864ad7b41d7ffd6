//! What MCAP has besides messages: attachments and metadata, which are copied as they are.

use super::FROM_LCM;
use super::record::{self, AttachmentFront, HEAD_LEN, OP_ATTACHMENT, OP_METADATA};
use mcap::records::{AttachmentHeader, Metadata};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// How many are remembered. Nobody has so many.
const MAX_PLACES: usize = 100_000;
/// No metadata record that is copied is larger: it is for a few words.
const MAX_METADATA: u64 = 16 << 20;
/// What has to be read of an attachment to know all but its data.
pub(super) const MAX_FRONT: u64 = 64 << 10;

/// Where attachments and metadata are in a file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    pub(crate) places: Vec<u64>,
    /// More of them that were not remembered.
    pub(crate) n_more: u64,
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

/// One of them.
#[derive(Debug)]
pub(crate) enum Extra {
    Metadata(Metadata),
    /// Its data is next in the file.
    Attachment {
        header: AttachmentHeader,
        n_data: u64,
    },
    /// It is not what was written, or too large.
    Unreadable,
    /// A note of ours to ourselves, which whoever writes the other file makes.
    Own,
}

/// Reads attachments and metadata by their places.
#[derive(Debug)]
pub(crate) struct ExtraReader {
    file: File,
}

impl ExtraReader {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
        })
    }

    /// What is at a place. An attachment is held against its checksum before.
    pub(crate) fn read(&mut self, place: u64) -> io::Result<Extra> {
        self.file.seek(SeekFrom::Start(place))?;
        let mut head = Vec::new();
        (&mut self.file)
            .take(HEAD_LEN as u64)
            .read_to_end(&mut head)?;
        let left = self.file.metadata()?.len().saturating_sub(place);
        match record::head(&head) {
            Some((OP_METADATA, len)) if len <= MAX_METADATA.min(left) => self.metadata(len),
            Some((OP_ATTACHMENT, len)) if len <= left => self.attachment(place, len),
            Some(_) | None => Ok(Extra::Unreadable),
        }
    }

    fn metadata(&mut self, len: u64) -> io::Result<Extra> {
        let mut body = Vec::new();
        (&mut self.file).take(len).read_to_end(&mut body)?;
        Ok(match record::metadata(&body) {
            Some((FROM_LCM, _)) => Extra::Own,
            Some((name, metadata)) => Extra::Metadata(Metadata {
                name: name.to_owned(),
                metadata,
            }),
            None => Extra::Unreadable,
        })
    }

    fn attachment(&mut self, place: u64, len: u64) -> io::Result<Extra> {
        let mut body = Vec::new();
        (&mut self.file)
            .take(len.min(MAX_FRONT))
            .read_to_end(&mut body)?;
        let Some(front) = AttachmentFront::read(&body, len) else {
            return Ok(Extra::Unreadable);
        };
        let (header, n_data, data_at) = (front.header(), front.n_data, front.data_at);
        let start = place + HEAD_LEN as u64;
        self.file.seek(SeekFrom::Start(start))?;
        let is_sound = is_sound(&mut self.file, len, |_| {})?;
        self.file.seek(SeekFrom::Start(start + data_at))?;
        Ok(if is_sound {
            Extra::Attachment { header, n_data }
        } else {
            Extra::Unreadable
        })
    }

    /// The next bytes, at most so many.
    pub(crate) fn read_data(&mut self, n_bytes: u64, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        (&mut self.file)
            .take(n_bytes)
            .read_to_end(into)
            .and_then(|n_read| {
                let is_all = n_read as u64 == n_bytes;
                is_all
                    .then_some(())
                    .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            })
    }
}

/// Reads the body of an attachment piece by piece; whether it is what was written, as far as it has a checksum.
pub(super) fn is_sound(
    mut file: impl io::Read,
    len: u64,
    mut see: impl FnMut(&[u8]),
) -> io::Result<bool> {
    let mut crc = crc32fast::Hasher::new();
    let mut piece = Vec::new();
    let mut left = len.saturating_sub(4);
    while left > 0 {
        piece.clear();
        let n_read = (&mut file)
            .take(left.min(1 << 20))
            .read_to_end(&mut piece)?;
        if n_read == 0 {
            return Ok(false);
        }
        crc.update(&piece);
        see(&piece);
        left -= n_read as u64;
    }
    let mut said = [0; 4];
    file.read_exact(&mut said)?;
    see(&said);
    let said = u32::from_le_bytes(said);
    Ok(said == 0 || said == crc.finalize())
}
