//! Events out of the bytes of MCAP.
//!
//! A [`Decoder`] holds no file. Each call is given the window of the file that is in memory, and either has an answer or
//! names the bytes that it [needs](Needed); it is then called again with a window that has them. So memory is bounded by the
//! largest chunk or record, and the same code runs over a file, over memory and under a fuzzer.
//!
//! ```text
//!            magic                          data end            footer
//!   Magic  ────────▶  Data  ◀──────────▶  ──────────▶  Ending  ────────▶  End
//!                       ▲    Attachment, Skipped, Lost                     ▲
//!                       └── seek, rewind            the file ends ─────────┘
//! ```

use super::extras::{self, Extras};
use super::framing::{
    FRONT, MAX_HELD, MAX_RECORD, MESSAGE_FRONT, checksums_behind, fits, footer, is_known,
    is_opcode, is_record_at,
};
use super::known::Known;
use super::record::{
    self, AttachmentFront, Chunk, ChunkIndex, HEAD_LEN, Message, OP_ATTACHMENT,
    OP_ATTACHMENT_INDEX, OP_CHANNEL, OP_CHUNK, OP_CHUNK_INDEX, OP_DATA_END, OP_FOOTER, OP_HEADER,
    OP_MESSAGE, OP_MESSAGE_INDEX, OP_METADATA, OP_METADATA_INDEX, OP_SCHEMA, OP_STATISTICS,
};
use super::salvage::{self, Trust};
use super::window::{Needed, Window};
use super::{FROM_LCM, OP_CHECKSUMS};
use crate::bytes::In;
use crate::damage::{Damage, DamageKind, Damages};
use crate::event::{LogEvent, Provenance};
use crate::format::MCAP_MAGIC;
use crate::schemas::Schemas;

/// Reads MCAP from the beginning to where it ends, or to where it was cut off.
#[derive(Debug)]
pub struct Decoder {
    /// Where the next record is.
    place: u64,
    stage: Stage,
    chunk: OpenChunk,
    known: Known,
    damages: Damages,
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
    /// Events before this are passed over, until there is one that is not.
    from_ns: u64,
}

/// What is next.
#[derive(Clone, Debug)]
enum Stage {
    /// The beginning of the file.
    Magic,
    /// A record.
    Data,
    /// The rest of an attachment, which may be larger than memory.
    Attachment(Attachment),
    /// The byte behind a skipped record: it shows whether that was a record.
    Skipped { end: u64 },
    /// No record, though one was expected.
    Lost(salvage::Progress),
    /// The directory, which is looked at for damage.
    Ending,
    /// Nothing.
    End,
}

#[derive(Clone, Debug)]
struct Attachment {
    /// Where its data goes on, and where its checksum is.
    at: u64,
    crc_at: u64,
    crc: crc32fast::Hasher,
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

/// A chunk whose events are being handed out, or the one message that is in none.
#[derive(Debug, Default)]
struct OpenChunk {
    bytes: Vec<u8>,
    at: usize,
}

/// An event that was found: [`Decoder::event`] has it until the next call.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    header: mcap::records::MessageHeader,
    start: usize,
    end: usize,
}

/// The contents of the directory, as far as reading needs them.
#[derive(Default)]
struct Directory {
    /// In the order of the file.
    chunks: Vec<ChunkIndex>,
    extras: Option<Extras>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder at the beginning of a file.
    #[must_use]
    pub fn new() -> Self {
        let mut decoder = Self {
            place: 0,
            stage: Stage::Magic,
            chunk: OpenChunk::default(),
            known: Known::default(),
            damages: Damages::default(),
            has_chunk: false,
            maker: Maker::default(),
            trust: Trust::Vouched,
            met: None,
            listed: None,
            crc: None,
            from_ns: 0,
        };
        decoder.rewind();
        decoder
    }

    /// Takes over the channels and schemas that the directory at the end of the file describes. They are described
    /// elsewhere only once, where the first event of theirs is: damage there would cost all of them.
    ///
    /// # Errors
    /// When other bytes are needed first.
    pub fn learn_directory(&mut self, window: Window<'_>) -> Result<(), Needed> {
        let directory = self.directory(window)?;
        self.listed = directory.extras;
        Ok(())
    }

    /// Goes back to the beginning, and forgets about damage.
    pub fn rewind(&mut self) {
        self.damages = Damages::default();
        self.has_chunk = false;
        self.crc = Some(crc32fast::Hasher::new());
        self.met = Some(Extras::default());
        self.from_ns = 0;
        self.go_to(0);
        self.stage = Stage::Magic;
    }

    /// Goes back to the beginning, and passes over events until the first that is not before `utime`.
    pub fn rewind_to(&mut self, utime: i64) {
        self.rewind();
        self.from_ns = u64::try_from(utime).unwrap_or(0).saturating_mul(1_000);
    }

    /// The same by the directory, if there is one. Not for a file that is known to be damaged: what is found behind
    /// damage depends on where reading began.
    ///
    /// # Errors
    /// When other bytes are needed first.
    pub fn seek_to(&mut self, utime: i64, window: Window<'_>) -> Result<(), Needed> {
        let Directory { chunks, .. } = self.directory(window)?;
        self.rewind_to(utime);
        let is_there = chunks.iter().all(|chunk| chunk.offset < window.size);
        if chunks.is_empty() || !is_there {
            return Ok(());
        }
        self.crc = None;
        self.met = None;
        match chunks.iter().find(|chunk| chunk.end_ns >= self.from_ns) {
            Some(chunk) => self.go_to(chunk.offset),
            None => self.stage = Stage::End,
        }
        Ok(())
    }

    /// The next event on a channel that is known; `None` at the end.
    ///
    /// # Errors
    /// When other bytes are needed first.
    pub fn next(&mut self, window: Window<'_>) -> Result<Option<Found>, Needed> {
        loop {
            let found = match self.next_in_chunk() {
                Some(found) => Some(found),
                None if matches!(self.stage, Stage::End) => return Ok(None),
                None => self.advance(window)?,
            };
            if let Some(found) = found
                && found.header.log_time >= self.from_ns
            {
                self.from_ns = 0;
                return Ok(Some(found));
            }
        }
    }

    /// The event that was found last.
    #[must_use]
    pub fn event(&self, found: &Found) -> LogEvent<'_> {
        let topic = self.known.topic(found.header.channel_id);
        let payload = self.chunk.bytes.get(found.start..found.end);
        LogEvent {
            number: i64::from(found.header.sequence),
            utime: i64::try_from(found.header.log_time / 1_000).unwrap_or(i64::MAX),
            nanos: u16::try_from(found.header.log_time % 1_000).unwrap_or(0),
            channel: topic.unwrap_or_default(),
            payload: payload.unwrap_or_default(),
        }
    }

    /// What MCAP has of the event and an LCM log would not.
    #[must_use]
    pub fn provenance(&self, found: &Found) -> Provenance<'_> {
        Provenance {
            sequence: found.header.sequence,
            publish_ns: found.header.publish_time,
            foreign: self.known.foreign(found.header.channel_id),
        }
    }

    /// Where the next record is, in bytes from the beginning.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.place
    }

    /// The damage that was met so far.
    #[must_use]
    pub fn damages(&self) -> &Damages {
        &self.damages
    }

    /// The types that were described so far.
    #[must_use]
    pub fn schemas(&self) -> &Schemas {
        &self.known.schemas
    }

    /// How many descriptions of types were met that are not ours.
    #[must_use]
    pub fn n_foreign_schemas(&self) -> usize {
        self.known.n_foreign()
    }

    /// Hands out what can be read of damaged chunks, although no checksum confirms it.
    pub fn accept_unverified(&mut self) {
        self.trust = Trust::Plausible;
    }

    pub(crate) fn is_from_lcm(&self) -> bool {
        self.maker.is_from_lcm
    }

    pub(crate) fn profile(&self) -> &str {
        &self.maker.profile
    }

    /// Where attachments and metadata are, if the directory lists them or everything was read.
    pub(crate) fn extras(&self) -> Option<&Extras> {
        let met = self.met.as_ref();
        let met = met.filter(|_| matches!(self.stage, Stage::End));
        self.listed.as_ref().or(met)
    }

    fn next_in_chunk(&mut self) -> Option<Found> {
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
                        });
                    }
                }
                OP_CHANNEL | OP_SCHEMA => self.known.learn(op, body),
                _ => {}
            }
        }
    }

    /// One step through the file; an event if it is one that is in no chunk.
    fn advance(&mut self, window: Window<'_>) -> Result<Option<Found>, Needed> {
        match &self.stage {
            Stage::Magic => self.take_magic(window)?,
            Stage::Data => return self.next_record(window),
            Stage::Attachment(attachment) => {
                let attachment = attachment.clone();
                self.pass_attachment(attachment, window)?;
            }
            Stage::Skipped { end } => self.judge_skipped(*end, window)?,
            Stage::Lost(progress) => {
                let mut progress = *progress;
                let recovered = self.recover_record(&mut progress, window);
                if recovered.is_err() {
                    self.stage = Stage::Lost(progress);
                }
                recovered?;
            }
            Stage::Ending => {
                let is_sound = footer(window)?.is_some();
                self.stage = Stage::End;
                if !is_sound {
                    let len = window.size.saturating_sub(self.place);
                    self.damaged(self.place, len, DamageKind::Directory);
                }
            }
            Stage::End => {}
        }
        Ok(None)
    }

    fn take_magic(&mut self, window: Window<'_>) -> Result<(), Needed> {
        let magic = window.get(0, MCAP_MAGIC.len() as u64)?;
        if magic != MCAP_MAGIC {
            self.damaged(0, magic.len() as u64, DamageKind::Directory);
        }
        self.hash(magic);
        self.place = magic.len() as u64;
        self.stage = Stage::Data;
        Ok(())
    }

    /// Reads one record of the file; an event if it is one that is in no chunk.
    fn next_record(&mut self, window: Window<'_>) -> Result<Option<Found>, Needed> {
        let place = self.place;
        let left = window.size.saturating_sub(place);
        let head = window.get(place, HEAD_LEN as u64)?;
        let Some((op, len)) = record::head(head) else {
            self.end(place, left);
            return Ok(None);
        };
        let next = place + HEAD_LEN as u64;
        if !is_opcode(op) || len > window.size - next || is_known(op) && len > MAX_RECORD {
            self.lose_way();
            return Ok(None);
        }
        if op == OP_ATTACHMENT {
            return self.start_attachment(len, window).map(|()| None);
        }
        if !is_known(op) && len > MAX_HELD {
            self.stage = Stage::Skipped { end: next + len };
            return Ok(None);
        }
        let body = window.ahead(place, next, len)?;
        let is_sure = match op {
            OP_CHUNK => self.opens(body),
            OP_CHECKSUMS => record::checksums(body).is_some(),
            OP_MESSAGE_INDEX => record::is_plausible(op, len, body),
            _ => false,
        };
        if !is_sure && !fits(op, body, place, window)? {
            self.lose_way();
            return Ok(None);
        }
        let is_damaged_chunk = op == OP_CHUNK && !is_sure;
        if is_damaged_chunk {
            self.save_chunk(body, next + len, window)?;
        }
        if op != OP_DATA_END {
            self.hash(head);
            self.hash(body);
        }
        self.place = next + len;
        Ok(self.take_record(op, body, place))
    }

    fn lose_way(&mut self) {
        self.stage = Stage::Lost(salvage::Progress::default());
    }

    /// A record of a kind that we know nothing about was skipped: whether it was one shows by what is behind it.
    fn judge_skipped(&mut self, end: u64, window: Window<'_>) -> Result<(), Needed> {
        if is_record_at(end, window.get(end, FRONT)?, window.size) {
            self.crc = None;
            self.place = end;
            self.stage = Stage::Data;
        } else {
            self.lose_way();
        }
        Ok(())
    }

    fn start_attachment(&mut self, len: u64, window: Window<'_>) -> Result<(), Needed> {
        let next = self.place + HEAD_LEN as u64;
        let front = window.ahead(self.place, next, len.min(extras::MAX_FRONT))?;
        if AttachmentFront::read(front, len).is_none() {
            self.lose_way();
            return Ok(());
        }
        self.hash(window.get(self.place, HEAD_LEN as u64)?);
        self.stage = Stage::Attachment(Attachment {
            at: next,
            crc_at: next + len - 4,
            crc: crc32fast::Hasher::new(),
        });
        Ok(())
    }

    fn pass_attachment(
        &mut self,
        mut attachment: Attachment,
        window: Window<'_>,
    ) -> Result<(), Needed> {
        let Attachment { at, crc_at, crc } = &mut attachment;
        if at < crc_at {
            let piece = window.get(*at, extras::PIECE.min(*crc_at - *at))?;
            self.hash(piece);
            crc.update(piece);
            *at += piece.len() as u64;
            if piece.is_empty() {
                // The file is shorter than it was.
                self.end(self.place, window.size.saturating_sub(self.place));
            } else {
                self.stage = Stage::Attachment(attachment);
            }
            return Ok(());
        }
        let said = window.get(*crc_at, 4)?;
        self.hash(said);
        let said = In(said).u32().unwrap_or(0);
        let (place, end) = (self.place, *crc_at + 4);
        if said == 0 || said == attachment.crc.finalize() {
            self.meet_extra(place);
        } else {
            self.damaged(place, end - place, DamageKind::Attachment);
        }
        self.place = end;
        self.stage = Stage::Data;
        Ok(())
    }

    fn meet_extra(&mut self, place: u64) {
        if let Some(met) = &mut self.met {
            met.add(place);
        }
    }

    /// Whether the record is a chunk that is what was written. Its events are next then.
    fn opens(&mut self, body: &[u8]) -> bool {
        let chunk = Chunk::read(body);
        self.chunk.at = 0;
        self.has_chunk = chunk.is_some_and(|chunk| chunk.open(&mut self.chunk.bytes));
        if !self.has_chunk {
            self.chunk.bytes.clear();
        }
        self.has_chunk
    }

    fn take_record(&mut self, op: u8, body: &[u8], place: u64) -> Option<Found> {
        match op {
            OP_CHECKSUMS => {
                self.has_chunk = false;
                self.known.learn_all(record::definitions(body));
            }
            OP_SCHEMA | OP_CHANNEL => self.known.learn(op, body),
            OP_METADATA => {
                self.meet_extra(place);
                self.maker.is_from_lcm |= record::metadata_name(body) == Some(FROM_LCM);
            }
            OP_DATA_END => self.end_data(body, place),
            // The end of the data is missing, or its place is unknown.
            OP_FOOTER => {
                self.stage = Stage::End;
                self.damaged(place, 0, DamageKind::Directory);
            }
            OP_HEADER => {
                let (profile, is_ours) = record::header(body).unwrap_or_default();
                self.maker.is_ours = is_ours;
                profile.clone_into(&mut self.maker.profile);
            }
            OP_MESSAGE if !self.maker.is_ours => {
                let message = Message::read(body)?;
                self.known.topic(message.header.channel_id)?;
                self.chunk.bytes.clear();
                self.chunk.bytes.extend_from_slice(body);
                self.chunk.at = body.len();
                return Some(Found {
                    header: message.header,
                    start: MESSAGE_FRONT - HEAD_LEN,
                    end: body.len(),
                });
            }
            _ => {}
        }
        None
    }

    /// Saves what can be saved of the damaged chunk at the current place, which ends at `after`.
    fn save_chunk(&mut self, body: &[u8], after: u64, window: Window<'_>) -> Result<(), Needed> {
        let place = self.place;
        let sums = checksums_behind(place, after, window)?;
        if let Some(sums) = sums {
            self.known.learn_all(record::definitions(sums));
        }
        let checksums = sums.and_then(record::checksums);
        let into = &mut self.chunk.bytes;
        let saved = salvage::chunk(body, checksums.as_deref(), self.trust, into);
        self.chunk.at = 0;
        self.has_chunk = true;
        let kind = match saved {
            salvage::Saved::All => DamageKind::Directory,
            salvage::Saved::Some { n_saved, n_lost } => DamageKind::Chunk { n_saved, n_lost },
            salvage::Saved::TooLarge { limit } => DamageKind::TooLarge { limit },
        };
        self.damaged(place, (HEAD_LEN + body.len()) as u64, kind);
        Ok(())
    }

    /// Finds back to records after one that makes no sense, and saves what is between if it was a chunk.
    fn recover_record(
        &mut self,
        progress: &mut salvage::Progress,
        window: Window<'_>,
    ) -> Result<(), Needed> {
        let place = self.place;
        let is_wanted = self.trust == Trust::Plausible && !self.maker.is_ours;
        let known = &self.known;
        let is_message = |body: &[u8]| {
            let message = Message::read(body).filter(|_| is_wanted);
            message.is_some_and(|message| known.topic(message.header.channel_id).is_some())
        };
        let n_between = salvage::distance_to_record(window, place, progress, &is_message)?;
        let is_last = n_between.is_none();
        let n_between = n_between.unwrap_or(window.size.saturating_sub(place));
        let between = window.get(place, n_between)?;
        let was_chunk = between.first() == Some(&OP_CHUNK);
        if was_chunk || !self.has_chunk && !is_last {
            let body = between.get(HEAD_LEN..).unwrap_or_default();
            self.save_chunk(body, place + n_between, window)?;
        } else if is_last {
            self.damaged(place, n_between, DamageKind::CutOff);
        } else {
            self.damaged(place, n_between, DamageKind::Directory);
        }
        self.crc = None;
        self.place = place + n_between;
        self.stage = if is_last { Stage::End } else { Stage::Data };
        Ok(())
    }

    fn end_data(&mut self, body: &[u8], place: u64) {
        let crc = self.crc.take();
        let said = In(body).u32().unwrap_or(0);
        if let Some(crc) = crc
            && said != 0
            && crc.finalize() != said
            && self.damages.is_empty()
        {
            self.damaged(place, 13, DamageKind::Directory);
        }
        self.stage = Stage::Ending;
    }

    /// The file ends where no end was announced: it was cut off, between records or within one.
    fn end(&mut self, place: u64, left: u64) {
        self.stage = Stage::End;
        if left > 0 {
            self.damaged(place, left, DamageKind::CutOff);
        }
    }

    /// Reads the summary and learns its channels and schemas. Empty without a summary.
    fn directory(&mut self, window: Window<'_>) -> Result<Directory, Needed> {
        let mut directory = Directory::default();
        let Some((start, end)) = footer(window)? else {
            return Ok(directory);
        };
        let mut rest = window.get(start, end - start)?;
        let (mut listed, mut n_extras) = (Extras::default(), None);
        while let Some((op, len)) = record::head(rest) {
            let body = rest.get(HEAD_LEN..).unwrap_or_default();
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            let Some((body, after)) = body.split_at_checked(len) else {
                break;
            };
            match op {
                OP_CHUNK_INDEX => directory.chunks.extend(ChunkIndex::read(body)),
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
        directory.extras = is_listed.then_some(listed);
        directory.chunks.sort_by_key(|chunk| chunk.offset);
        Ok(directory)
    }

    fn go_to(&mut self, place: u64) {
        self.place = place;
        self.stage = Stage::Data;
        self.chunk.bytes.clear();
        self.chunk.at = 0;
    }

    fn damaged(&mut self, offset: u64, len: u64, kind: DamageKind) {
        self.damages.add(Damage { offset, len, kind });
    }

    fn hash(&mut self, bytes: &[u8]) {
        if let Some(crc) = &mut self.crc {
            crc.update(bytes);
        }
    }
}
