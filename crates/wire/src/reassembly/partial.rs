//! One message of which some bytes have arrived.

use crate::datagram::Fragment;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What keeping a piece in the stash takes beside its bytes.
const PIECE_SIZE: usize = 96;

/// The bytes that have arrived of one message.
///
/// In order they go to the end of `prefix`, copied once; when it is complete it is the message. Out of order they wait
/// in the stash.
#[derive(Debug)]
pub(super) struct Partial {
    message_size: u32,
    count: u16,
    /// Known once fragment 0 has arrived.
    channel: Option<Box<str>>,
    /// The message from its start, as far as it has arrived without a hole.
    prefix: Vec<u8>,
    /// What arrived beyond that, by offset. Pieces neither overlap nor are empty.
    stash: BTreeMap<usize, Vec<u8>>,
    /// Bytes in the stash.
    stashed: usize,
    /// How many fragments brought something new.
    n_useful: u16,
}

/// How much memory a message may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// A message of which so many bytes arrived has cost its sender enough to count as large.
    pub(super) large_from: usize,
    /// How much may be set aside for bytes of a small message that have not arrived.
    pub(super) ahead: usize,
}

/// What a fragment brought.
pub(super) enum Progress {
    /// More of the message, but not all.
    Grown(Grown),
    /// The rest of the message. The partial message is empty now.
    Complete {
        channel: Box<str>,
        payload: Vec<u8>,
        n_repeated: usize,
    },
    /// The channel's name, which has no subscriber.
    Unwanted,
}

/// How a message stands after a fragment.
pub(super) struct Grown {
    /// Bytes that had not arrived before.
    pub(super) n_new: usize,
    /// Bytes that had.
    pub(super) n_repeated: usize,
    /// Memory held.
    pub(super) charge: usize,
    pub(super) is_large: bool,
    /// Bytes of the whole message.
    pub(super) message_size: usize,
}

/// Why a fragment cannot be part of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakeError {
    /// It contradicts an earlier one.
    Contradiction,
    NoMemory,
}

impl Partial {
    /// A message of which nothing has arrived but the header of a fragment.
    pub(super) fn new(fragment: &Fragment<'_>, spare: Option<Vec<u8>>) -> Self {
        Self {
            message_size: fragment.message_size,
            count: fragment.count,
            channel: None,
            prefix: spare.unwrap_or_default(),
            stash: BTreeMap::new(),
            stashed: 0,
            n_useful: 0,
        }
    }

    pub(super) fn message_size(&self) -> u32 {
        self.message_size
    }

    pub(super) fn count(&self) -> u16 {
        self.count
    }

    /// Takes a fragment that lies within its message. After an error the message is of no use.
    pub(super) fn take(
        &mut self,
        fragment: &Fragment<'_>,
        room: Room,
        wants: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Progress, TakeError> {
        if fragment.message_size != self.message_size || fragment.count != self.count {
            return Err(TakeError::Contradiction);
        }
        if let Some(channel) = fragment.channel
            && !self.is_wanted(channel, wants)?
        {
            return Ok(Progress::Unwanted);
        }
        let before = self.received();
        self.add(fragment.offset as usize, fragment.payload, room)?;
        let n_new = self.received() - before;
        let n_repeated = fragment.payload.len() - n_new;
        if n_new > 0 {
            self.count_useful()?;
        }
        if self.prefix.len() == self.message_size as usize
            && let Some(channel) = self.channel.take()
        {
            return Ok(Progress::Complete {
                channel,
                payload: core::mem::take(&mut self.prefix),
                n_repeated,
            });
        }
        Ok(Progress::Grown(Grown {
            n_new,
            n_repeated,
            charge: self.prefix.capacity() + self.stashed + self.stash.len() * PIECE_SIZE,
            is_large: self.received() >= room.large_from,
            message_size: self.message_size as usize,
        }))
    }

    fn received(&self) -> usize {
        self.prefix.len() + self.stashed
    }

    /// A message has no more parts than it declares. More are no message but an attempt at our memory, crumb by crumb.
    fn count_useful(&mut self) -> Result<(), TakeError> {
        if self.n_useful == self.count {
            return Err(TakeError::Contradiction);
        }
        self.n_useful += 1;
        Ok(())
    }

    fn is_wanted(
        &mut self,
        channel: &str,
        wants: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, TakeError> {
        match &self.channel {
            Some(known) if **known == *channel => Ok(true),
            Some(_) => Err(TakeError::Contradiction),
            None => {
                self.channel = Some(channel.into());
                Ok(wants(channel))
            }
        }
    }

    fn add(&mut self, offset: usize, bytes: &[u8], room: Room) -> Result<(), TakeError> {
        let Some(n_known) = self.prefix.len().checked_sub(offset) else {
            return self.put_aside(offset, bytes);
        };
        let (known, new) = bytes.split_at(n_known.min(bytes.len()));
        expect_same(&self.prefix, offset, known)?;
        if new.is_empty() {
            return Ok(());
        }
        self.append(new, room)?;
        self.take_up_stash(room)
    }

    fn append(&mut self, bytes: &[u8], room: Room) -> Result<(), TakeError> {
        let needed = self.prefix.len() + bytes.len();
        if needed > self.prefix.capacity() {
            let capacity = self.next_capacity(needed, room);
            let reserved = self.prefix.try_reserve_exact(capacity - self.prefix.len());
            reserved.map_err(|_no_memory| TakeError::NoMemory)?;
        }
        self.prefix.extend_from_slice(bytes);
        Ok(())
    }

    /// How much to reserve for a prefix that needs more than it has. All that the message will need if that is not
    /// much, so that it is never moved; in any case more by a factor, so that copying does not add up.
    fn next_capacity(&self, needed: usize, room: Room) -> usize {
        let (now, max) = (self.prefix.capacity(), self.message_size as usize);
        let capacity = match self.received() {
            _ if max <= room.ahead => max,
            received if received >= room.large_from => now.saturating_mul(2),
            _ => now + now / 2,
        };
        capacity.clamp(needed, max)
    }

    /// Moves pieces to the prefix that it has reached.
    fn take_up_stash(&mut self, room: Room) -> Result<(), TakeError> {
        while let Some(first) = self.stash.first_entry() {
            let Some(n_known) = self.prefix.len().checked_sub(*first.key()) else {
                break;
            };
            let (offset, piece) = first.remove_entry();
            self.stashed -= piece.len();
            let (known, new) = piece.split_at(n_known.min(piece.len()));
            expect_same(&self.prefix, offset, known)?;
            self.append(new, room)?;
        }
        Ok(())
    }

    /// Keeps bytes that lie beyond the prefix. At most one piece is added and those that it covers are removed, so
    /// that many small pieces cannot be made to be compared again and again.
    fn put_aside(&mut self, offset: usize, bytes: &[u8]) -> Result<(), TakeError> {
        let (mut start, mut bytes) = (offset, bytes);
        if let Some((at, piece)) = self.stash.range(..start).next_back()
            && let Some(n_known) = (at + piece.len()).checked_sub(start)
        {
            let (known, new) = bytes.split_at(n_known.min(bytes.len()));
            expect_same(piece, start - at, known)?;
            (start, bytes) = (start + known.len(), new);
        }
        while let Some((at, piece)) = self.stash.range(start..start + bytes.len()).next_back() {
            let (at, len) = (*at, piece.len());
            let (new, known) = bytes.split_at(at - start);
            expect_same(
                known,
                0,
                piece.get(..len.min(known.len())).unwrap_or_default(),
            )?;
            if len >= known.len() {
                bytes = new;
                continue;
            }
            self.stash.remove(&at);
            self.stashed -= len;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let mut piece = Vec::new();
        piece
            .try_reserve_exact(bytes.len())
            .map_err(|_no_memory| TakeError::NoMemory)?;
        piece.extend_from_slice(bytes);
        self.stashed += piece.len();
        self.stash.insert(start, piece);
        Ok(())
    }
}

/// Checks that `bytes` are what `whole` has at `offset`.
fn expect_same(whole: &[u8], offset: usize, bytes: &[u8]) -> Result<(), TakeError> {
    match whole.get(offset..offset + bytes.len()) {
        Some(there) if there == bytes => Ok(()),
        Some(_) | None => Err(TakeError::Contradiction),
    }
}
