//! Events out of MCAP.

use super::extras::{self, Extras};
use super::known::{Foreign, Known};
use super::record::{
    self, AttachmentFront, Chunk, ChunkIndex, HEAD_LEN, Message, OP_ATTACHMENT,
    OP_ATTACHMENT_INDEX, OP_CHANNEL, OP_CHUNK, OP_CHUNK_INDEX, OP_DATA_END, OP_FOOTER, OP_HEADER,
    OP_MESSAGE, OP_MESSAGE_INDEX, OP_METADATA, OP_METADATA_INDEX, OP_SCHEMA, OP_STATISTICS,
};
use super::salvage::{self, Trust};
use super::{FROM_LCM, OP_CHECKSUMS};
use crate::bytes::In;
use crate::damage::{Damage, DamageKind, Damages};
use crate::event::LogEvent;
use crate::format::MCAP_MAGIC;
use crate::schemas::Schemas;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Reads MCAP from the beginning to where it ends, or to where it was cut off.
#[derive(Debug)]
pub(crate) struct McapReader {
    file: BufReader<File>,
    /// Where the next record is.
    place: u64,
    size: u64,
    body: Vec<u8>,
    chunk: OpenChunk,
    known: Known,
    damages: Damages,
    stage: Stage,
    /// Whether a chunk was met since the last checksums: then these are its own, and what is damaged before them is no
    /// chunk.
    has_chunk: bool,
    maker: Maker,
    trust: Trust,
    /// Attachments and metadata that were met, if it was read from the beginning, and those that the directory lists.
    met: Option<Extras>,
    listed: Option<Extras>,
    /// Of everything before the end of the data, as long as it is read in one go.
    crc: Option<crc32fast::Hasher>,
}

/// Whether there may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Data,
    End,
}

/// Where a file comes from.
#[derive(Clone, Debug, Default)]
struct Maker {
    /// What MCAP calls a profile: a set of rules that its channels and schemas keep to.
    profile: String,
    /// Whether we wrote it: then there are no events outside of chunks.
    is_ours: bool,
    /// Whether it was an LCM log before.
    is_from_lcm: bool,
}

/// A chunk whose events are being handed out.
#[derive(Debug, Default)]
struct OpenChunk {
    bytes: Vec<u8>,
    at: usize,
}

/// What MCAP says about an event and an LCM log does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Provenance<'a> {
    pub(crate) sequence: u32,
    /// When it was published, nanoseconds since the epoch.
    pub(crate) publish_ns: u64,
    /// What somebody else says about the channel, if somebody else wrote it.
    pub(crate) foreign: Option<Foreign<'a>>,
}

/// An event's place in the open chunk, or in the record outside of any.
struct Found {
    header: mcap::records::MessageHeader,
    start: usize,
    end: usize,
    is_in_chunk: bool,
}

impl McapReader {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut reader = Self {
            file: BufReader::with_capacity(256 << 10, file),
            place: 0,
            size,
            body: Vec::new(),
            chunk: OpenChunk::default(),
            known: Known::default(),
            damages: Damages::default(),
            stage: Stage::Data,
            has_chunk: false,
            maker: Maker::default(),
            trust: Trust::Vouched,
            met: None,
            listed: None,
            crc: None,
        };
        // Channels are described once, where the first event of theirs is: damage there would cost all of them.
        drop(reader.directory()?);
        reader.rewind()?;
        Ok(reader)
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn position(&self) -> u64 {
        self.place
    }

    pub(crate) fn is_from_lcm(&self) -> bool {
        self.maker.is_from_lcm
    }

    pub(crate) fn profile(&self) -> &str {
        &self.maker.profile
    }

    pub(crate) fn n_foreign(&self) -> usize {
        self.known.n_foreign()
    }

    /// Where attachments and metadata are, if the directory says so or everything was read.
    pub(crate) fn extras(&self) -> Option<&Extras> {
        let met = self.met.as_ref();
        let met = met.filter(|_| self.stage == Stage::End);
        self.listed.as_ref().or(met)
    }

    pub(crate) fn accept_unverified(&mut self) {
        self.trust = Trust::Plausible;
    }

    pub(crate) fn damages(&self) -> &Damages {
        &self.damages
    }

    pub(crate) fn schemas(&self) -> &Schemas {
        &self.known.schemas
    }

    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        self.damages = Damages::default();
        self.chunk = OpenChunk::default();
        self.stage = Stage::Data;
        self.has_chunk = false;
        self.crc = Some(crc32fast::Hasher::new());
        self.met = Some(Extras::default());
        self.go_to(0)?;
        let mut magic = Vec::new();
        (&mut self.file).take(8).read_to_end(&mut magic)?;
        if magic != MCAP_MAGIC {
            self.damaged(0, magic.len() as u64, DamageKind::Directory);
        }
        self.hash(&magic);
        self.place = magic.len() as u64;
        Ok(())
    }

    /// Goes to the first event that is not before `utime`, by the directory if there is one.
    ///
    /// What is found behind damage depends on where reading began, so a log that is known to be damaged is read from its
    /// beginning: the same events are met as without seeking.
    pub(crate) fn seek_to(&mut self, utime: i64, is_damaged: bool) -> io::Result<()> {
        self.rewind()?;
        let from_ns = u64::try_from(utime).unwrap_or(0).saturating_mul(1_000);
        if !is_damaged && let Some(chunks) = self.directory()? {
            let chunk = chunks.iter().find(|chunk| chunk.end_ns >= from_ns);
            let place = chunk.map(|chunk| chunk.offset);
            match place {
                Some(place) => self.go_to(place)?,
                None => self.stage = Stage::End,
            }
            self.crc = None;
            self.met = None;
        }
        loop {
            let before = (self.place, self.chunk.at);
            match self.find()? {
                None => return Ok(()),
                Some(found) if found.header.log_time < from_ns => {}
                Some(found) if found.is_in_chunk => {
                    self.chunk.at = found.start - MESSAGE_FRONT;
                    return Ok(());
                }
                Some(_) => return self.go_to(before.0),
            }
        }
    }

    pub(crate) fn next_event(&mut self) -> io::Result<Option<LogEvent<'_>>> {
        let found = self.find()?;
        Ok(found.map(|found| self.event(&found)))
    }

    /// The next event, and what an LCM log would not say about it.
    pub(crate) fn next_with_provenance(
        &mut self,
    ) -> io::Result<Option<(LogEvent<'_>, Provenance<'_>)>> {
        let found = self.find()?;
        Ok(found.map(|found| {
            let provenance = Provenance {
                sequence: found.header.sequence,
                publish_ns: found.header.publish_time,
                foreign: self.known.foreign(found.header.channel_id),
            };
            (self.event(&found), provenance)
        }))
    }

    fn event(&self, found: &Found) -> LogEvent<'_> {
        let bytes = if found.is_in_chunk {
            &self.chunk.bytes
        } else {
            &self.body
        };
        let topic = self.known.topic(found.header.channel_id);
        LogEvent {
            number: i64::from(found.header.sequence),
            utime: i64::try_from(found.header.log_time / 1_000).unwrap_or(i64::MAX),
            nanos: u16::try_from(found.header.log_time % 1_000).unwrap_or(0),
            channel: topic.unwrap_or_default(),
            payload: bytes.get(found.start..found.end).unwrap_or_default(),
        }
    }

    /// The next event on a channel that is known.
    fn find(&mut self) -> io::Result<Option<Found>> {
        loop {
            if let Some(found) = self.find_in_chunk() {
                return Ok(Some(found));
            }
            if self.stage == Stage::End {
                return Ok(None);
            }
            if let Some(found) = self.next_record()? {
                return Ok(Some(found));
            }
        }
    }

    fn find_in_chunk(&mut self) -> Option<Found> {
        loop {
            let at = self.chunk.at;
            let rest = self.chunk.bytes.get(at..).unwrap_or_default();
            let (op, len) = record::head(rest)?;
            let len = usize::try_from(len).ok()?;
            let body = rest.get(HEAD_LEN..)?.get(..len)?;
            self.chunk.at = at + HEAD_LEN + len;
            match op {
                OP_MESSAGE => {
                    let message = Message::read(body)?;
                    if self.known.topic(message.header.channel_id).is_some() {
                        return Some(Found {
                            header: message.header,
                            start: at + MESSAGE_FRONT,
                            end: self.chunk.at,
                            is_in_chunk: true,
                        });
                    }
                }
                OP_CHANNEL | OP_SCHEMA => self.known.learn(op, body),
                _ => {}
            }
        }
    }

    /// Reads one record of the file; an event if it is one that is in no chunk.
    fn next_record(&mut self) -> io::Result<Option<Found>> {
        let place = self.place;
        let mut head = [0; HEAD_LEN];
        let left = self.size.saturating_sub(place);
        if left < HEAD_LEN as u64 {
            self.end(place, left);
            return Ok(None);
        }
        self.file.read_exact(&mut head)?;
        let (op, len) = record::head(&head).unwrap_or_default();
        let next = place + HEAD_LEN as u64;
        if !is_opcode(op) || len > self.size - next {
            self.go_to(place)?;
            return self.recover_record(left).map(|()| None);
        }
        if op == OP_ATTACHMENT {
            return self.pass_attachment(place, &head, len).map(|()| None);
        }
        self.body.clear();
        (&mut self.file).take(len).read_to_end(&mut self.body)?;
        let is_sure = match op {
            OP_CHUNK => self.opens(),
            OP_CHECKSUMS => record::checksums(&self.body).is_some(),
            OP_MESSAGE_INDEX => record::is_plausible(op, len, &self.body),
            _ => false,
        };
        if !is_sure && !self.fits(op, len, next + len)? {
            self.go_to(place)?;
            return self.recover_record(left).map(|()| None);
        }
        self.hash_record(&head, op);
        self.place = next + len;
        if op == OP_CHUNK && !is_sure {
            self.save_chunk(place, next + len)?;
        }
        Ok(self.take_record(op, place))
    }

    /// Goes past an attachment, which may be larger than memory.
    fn pass_attachment(&mut self, place: u64, head: &[u8], len: u64) -> io::Result<()> {
        let next = place + HEAD_LEN as u64;
        let n_front = len.min(extras::MAX_FRONT);
        self.body.clear();
        (&mut self.file).take(n_front).read_to_end(&mut self.body)?;
        if AttachmentFront::read(&self.body, len).is_none() {
            self.go_to(place)?;
            return self.recover_record(self.size - place);
        }
        self.file.seek(SeekFrom::Start(next))?;
        self.hash(head);
        let crc = &mut self.crc;
        let is_sound = extras::is_sound(&mut self.file, len, |piece| {
            if let Some(crc) = crc {
                crc.update(piece);
            }
        })?;
        self.place = next + len;
        if is_sound {
            self.meet_extra(place);
        } else {
            self.damaged(place, HEAD_LEN as u64 + len, DamageKind::Attachment);
        }
        Ok(())
    }

    fn meet_extra(&mut self, place: u64) {
        if let Some(met) = &mut self.met {
            met.add(place);
        }
    }

    /// Whether the record is a chunk that is what was written. Its events are next then.
    fn opens(&mut self) -> bool {
        let chunk = Chunk::read(&self.body);
        self.chunk.at = 0;
        self.has_chunk = chunk.is_some_and(|chunk| chunk.open(&mut self.chunk.bytes));
        if !self.has_chunk {
            self.chunk.bytes.clear();
        }
        self.has_chunk
    }

    /// Whether the record makes sense, and something that makes sense follows it.
    fn fits(&mut self, op: u8, len: u64, end: u64) -> io::Result<bool> {
        if op < 0x80 && !record::is_plausible(op, len, &self.body) {
            return Ok(false);
        }
        if op == OP_FOOTER {
            return Ok(true);
        }
        let mut front = Vec::new();
        (&mut self.file).take(FRONT).read_to_end(&mut front)?;
        self.file
            .seek_relative(-i64::try_from(front.len()).unwrap_or(0))?;
        let Some((op, len)) = record::head(&front) else {
            return Ok(true);
        };
        let body = front.get(HEAD_LEN..).unwrap_or_default();
        let is_room = len <= self.size.saturating_sub(end + HEAD_LEN as u64);
        Ok(is_room && (op >= 0x80 || record::is_plausible(op, len, body)))
    }

    fn take_record(&mut self, op: u8, place: u64) -> Option<Found> {
        match op {
            OP_CHECKSUMS => {
                self.has_chunk = false;
                self.known.learn_all(record::definitions(&self.body));
            }
            OP_SCHEMA | OP_CHANNEL => self.known.learn(op, &self.body),
            OP_METADATA => {
                self.meet_extra(place);
                self.maker.is_from_lcm |= record::metadata_name(&self.body) == Some(FROM_LCM);
            }
            OP_DATA_END => self.end_data(place),
            // The end of the data is not there, or nobody can tell.
            OP_FOOTER => {
                self.stage = Stage::End;
                self.damaged(place, 0, DamageKind::Directory);
            }
            OP_HEADER => {
                let (profile, is_ours) = record::header(&self.body).unwrap_or_default();
                self.maker.is_ours = is_ours;
                profile.clone_into(&mut self.maker.profile);
            }
            OP_MESSAGE if !self.maker.is_ours => {
                let message = Message::read(&self.body)?;
                let is_known = self.known.topic(message.header.channel_id).is_some();
                return is_known.then_some(Found {
                    header: message.header,
                    start: MESSAGE_FRONT - HEAD_LEN,
                    end: self.body.len(),
                    is_in_chunk: false,
                });
            }
            _ => {}
        }
        None
    }

    /// Saves what can be saved of a damaged chunk that is in `body`, and reading goes on at `after`.
    fn save_chunk(&mut self, place: u64, after: u64) -> io::Result<()> {
        let len = (HEAD_LEN + self.body.len()) as u64;
        let sums = self.checksums_ahead(after)?;
        if let Some(sums) = &sums {
            self.known.learn_all(record::definitions(sums));
        }
        let checksums = sums.as_deref().and_then(record::checksums);
        let into = &mut self.chunk.bytes;
        let saved = salvage::chunk(&self.body, checksums.as_deref(), self.trust, into);
        self.chunk.at = 0;
        self.has_chunk = true;
        let kind = match saved {
            salvage::Saved::All => DamageKind::Directory,
            salvage::Saved::Some { n_saved, n_lost } => DamageKind::Chunk { n_saved, n_lost },
        };
        self.damaged(place, len, kind);
        Ok(())
    }

    /// Our record of checksums of the chunk that ends at `place`, if it is there. Reading goes on at `place`.
    fn checksums_ahead(&mut self, place: u64) -> io::Result<Option<Vec<u8>>> {
        self.file.seek(SeekFrom::Start(place))?;
        let found = self.look_for_checksums(place);
        self.file.seek(SeekFrom::Start(place))?;
        found
    }

    fn look_for_checksums(&mut self, mut place: u64) -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut head = [0; HEAD_LEN];
            if self.size.saturating_sub(place) < HEAD_LEN as u64 {
                return Ok(None);
            }
            self.file.read_exact(&mut head)?;
            let (op, len) = record::head(&head).unwrap_or_default();
            place += HEAD_LEN as u64;
            if len > self.size - place || op == OP_CHUNK {
                return Ok(None);
            }
            let mut body = Vec::new();
            (&mut self.file).take(len).read_to_end(&mut body)?;
            place += len;
            if op == OP_CHECKSUMS {
                return Ok(Some(body));
            }
        }
    }

    /// Finds back to records after one that makes no sense, and saves what is between if it was a chunk.
    fn recover_record(&mut self, left: u64) -> io::Result<()> {
        self.crc = None;
        let place = self.place;
        let mut between = Vec::new();
        let is_wanted = self.trust == Trust::Plausible && !self.maker.is_ours;
        let known = &self.known;
        let is_message = |body: &[u8]| {
            let message = Message::read(body).filter(|_| is_wanted);
            message.is_some_and(|message| known.topic(message.header.channel_id).is_some())
        };
        let file = &mut self.file;
        let n_between = salvage::distance_to_record(file, left, &is_message, &mut between)?;
        let is_last = n_between.is_none();
        let n_between = n_between.unwrap_or(left);
        between.truncate(usize::try_from(n_between).unwrap_or(usize::MAX));
        let after = place + n_between;
        self.go_to(after)?;
        let was_chunk = between.first() == Some(&OP_CHUNK);
        self.body = between.split_off(HEAD_LEN.min(between.len()));
        if was_chunk || !self.has_chunk && !is_last {
            self.save_chunk(place, after)?;
        } else if is_last {
            self.damaged(place, n_between, DamageKind::CutOff);
        } else {
            self.damaged(place, n_between, DamageKind::Directory);
        }
        if is_last {
            self.stage = Stage::End;
        }
        Ok(())
    }

    fn end_data(&mut self, place: u64) {
        let crc = self.crc.take();
        let said = In(&self.body).u32().unwrap_or(0);
        if let Some(crc) = crc
            && said != 0
            && crc.finalize() != said
            && self.damages.is_empty()
        {
            self.damaged(place, 13, DamageKind::Directory);
        }
        self.stage = Stage::End;
        if !self.has_sound_end().unwrap_or(false) {
            let after = place + 13;
            self.damaged(
                after,
                self.size - after.min(self.size),
                DamageKind::Directory,
            );
        }
    }

    /// The file ends where no end was announced: it was cut off, between records or within one.
    fn end(&mut self, place: u64, left: u64) {
        self.stage = Stage::End;
        if left > 0 {
            self.damaged(place, left, DamageKind::CutOff);
        }
    }

    /// Whether the summary is what was written.
    fn has_sound_end(&mut self) -> io::Result<bool> {
        Ok(self.footer()?.is_some())
    }

    /// Where the summary begins and ends, if it is what was written.
    fn footer(&mut self) -> io::Result<Option<(u64, u64)>> {
        let mut footer = [0; HEAD_LEN + 20 + 8];
        let Some(at) = self.size.checked_sub(footer.len() as u64) else {
            return Ok(None);
        };
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut footer)?;
        let mut input = In(&footer);
        let is_footer = input.u8() == Some(OP_FOOTER) && input.u64() == Some(20);
        let start = input.u64().unwrap_or(0);
        let _offsets = input.u64();
        let said = input.u32().unwrap_or(0);
        if !is_footer || input.0 != MCAP_MAGIC || start > at {
            return Ok(None);
        }
        if start == 0 {
            return Ok(Some((at, at)));
        }
        // Everything from the summary to the footer's own checksum.
        self.file.seek(SeekFrom::Start(start))?;
        let mut summary = Vec::new();
        let n_summed = at - start + (HEAD_LEN + 16) as u64;
        (&mut self.file).take(n_summed).read_to_end(&mut summary)?;
        let is_sound = said == 0 || crc32fast::hash(&summary) == said;
        Ok(is_sound.then_some((start, at)))
    }

    /// The chunks in their order, by the summary; its channels and schemas are learnt. `None` without a summary.
    fn directory(&mut self) -> io::Result<Option<Vec<ChunkIndex>>> {
        let back = self.place;
        let Some((start, end)) = self.footer()? else {
            self.go_to(back)?;
            return Ok(None);
        };
        self.file.seek(SeekFrom::Start(start))?;
        let mut summary = Vec::new();
        (&mut self.file)
            .take(end - start)
            .read_to_end(&mut summary)?;
        let mut rest = summary.as_slice();
        let mut chunks = Vec::new();
        let (mut listed, mut n_extras) = (Extras::default(), None);
        while let Some((op, len)) = record::head(rest) {
            let body = rest.get(HEAD_LEN..).unwrap_or_default();
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            let Some((body, after)) = body.split_at_checked(len) else {
                break;
            };
            match op {
                OP_CHUNK_INDEX => chunks.extend(ChunkIndex::read(body)),
                OP_SCHEMA | OP_CHANNEL => self.known.learn(op, body),
                OP_ATTACHMENT_INDEX | OP_METADATA_INDEX => {
                    record::place_in_index(body).inspect(|place| listed.add(*place));
                }
                OP_STATISTICS => n_extras = record::n_extras(body),
                _ => {}
            }
            rest = after;
        }
        listed.places.sort_unstable();
        // A writer need not list them.
        let is_listed = n_extras == Some(listed.places.len() as u64);
        self.listed = is_listed.then_some(listed);
        chunks.sort_by_key(|chunk| chunk.offset);
        self.go_to(back)?;
        let is_there = !chunks.is_empty() && chunks.iter().all(|chunk| chunk.offset < self.size);
        Ok(is_there.then_some(chunks))
    }

    fn go_to(&mut self, place: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(place))?;
        self.place = place;
        self.chunk.bytes.clear();
        self.chunk.at = 0;
        Ok(())
    }

    fn damaged(&mut self, offset: u64, len: u64, kind: DamageKind) {
        self.damages.add(Damage { offset, len, kind });
    }

    fn hash(&mut self, bytes: &[u8]) {
        if let Some(crc) = &mut self.crc {
            crc.update(bytes);
        }
    }

    fn hash_record(&mut self, head: &[u8], op: u8) {
        if op != OP_DATA_END
            && let Some(crc) = &mut self.crc
        {
            crc.update(head);
            crc.update(&self.body);
        }
    }
}

/// MCAP's own, and those that it leaves to others.
fn is_opcode(op: u8) -> bool {
    (1..=0x0F).contains(&op) || op >= 0x80
}

/// What has to be seen of a record to find it plausible.
const FRONT: u64 = 64;

/// Before a message's data: opcode, length, and its own header.
const MESSAGE_FRONT: usize = HEAD_LEN + 22;
