//! Puts messages together from their fragments.
//!
//! Fragments come in, in any order, twice, overlapping, or never; messages go out whole or not at all. Which bytes
//! arrived is tracked exactly, so that nothing is delivered that was not sent. Memory follows what arrived, not what
//! headers claim, and is bounded: the least recent sender gives way.
//!
//! Nothing here knows of sockets or clocks: the caller passes who sent a fragment, and when. There is no
//! authentication either: a host that can send under another's address can spoil its messages. Mixed messages are not delivered
//! wherever the mixture can be seen.
//!
//! ```text
//!              ┌──────────┐ 1 MiB arrived ┌──────────┐
//!  fragment ─▶ │  small   │ ────────────▶ │  large   │   partial messages
//!              └──────────┘               └──────────┘
//!                    │ delivered, unwanted, given up │
//!                    ▼                               ▼
//!              ┌─────────────────────────────────────┐
//!              │               settled               │   no data: further fragments are dropped at once
//!              └─────────────────────────────────────┘
//! ```
//!
//! Each box is bounded by itself and forgets by age, so a flood of small fragments does not push a large transfer out.

mod partial;
mod store;

use crate::datagram::Fragment;
use alloc::boxed::Box;
use alloc::vec::Vec;
use partial::{Grown, Partial, Progress, Room, TakeError};
use store::{Id, Store, Tier};

/// What remembering a message takes without its bytes: a slot, its share of the index, small allocations.
const ENTRY_SIZE: usize = 320;

/// How much a [`Reassembler`] may hold, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest message that is accepted, in bytes.
    pub max_message_size: u32,
    /// A message of which so many bytes arrived counts as large: it has cost its sender something.
    pub large_from: usize,
    /// Memory for partial messages that are small, in bytes.
    pub small_bytes: usize,
    /// Memory for those that are large, in bytes. One message may take more while there is no other.
    pub large_bytes: usize,
    /// How many partial messages there may be that are small; also, how many that are done with are remembered.
    pub max_partial: usize,
    /// A message of which nothing arrives for so long is given up, in microseconds.
    pub idle_us: u64,
    /// A fragment that contradicts earlier ones after such a silence, in microseconds, is of a sender that started
    /// anew; before, one of them is forged.
    pub quiet_us: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_size: i32::MAX.unsigned_abs(),
            large_from: 1 << 20,
            small_bytes: 32 << 20,
            large_bytes: 1 << 30,
            max_partial: 4_096,
            idle_us: 10_000_000,
            quiet_us: 250_000,
        }
    }
}

/// What became of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// It is kept; others are missing.
    Pending,
    /// It was the last one missing.
    Complete {
        /// The message's channel.
        channel: Box<str>,
        /// The message.
        payload: Vec<u8>,
    },
    /// No subscriber wants messages of its channel.
    Unwanted,
    /// It was of no use.
    Dropped(DropReason),
}

/// Why a fragment was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// All of its bytes had arrived before, or its message is delivered.
    Duplicate,
    /// It contradicts an earlier one, or belongs to a message of which two contradicted each other.
    Conflict,
    /// Its message is larger than [`Limits::max_message_size`].
    TooLarge,
    /// Its message has given way to others.
    NoRoom,
    /// The system has no memory for it.
    NoMemory,
    /// It reaches beyond the end of its message. Parsed datagrams never do.
    Malformed,
}

/// What a [`Reassembler`] counted, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages delivered.
    pub completed: u64,
    /// Messages of channels without a subscriber.
    pub unwanted: u64,
    /// Messages given up because nothing more arrived.
    pub idle: u64,
    /// Messages given up to make room for others.
    pub evicted: u64,
    /// Messages given up because their sender started anew, and used their number again.
    pub superseded: u64,
    /// Messages given up because fragments contradicted each other.
    pub conflicts: u64,
    /// Messages given up because the system had no memory.
    pub no_memory: u64,
    /// Fragments with bytes that had arrived before.
    pub duplicates: u64,
    /// Fragments of messages larger than the limit.
    pub too_large: u64,
    /// Fragments that reach beyond the end of their message.
    pub malformed: u64,
    /// Partial messages held now.
    pub partial: usize,
    /// Memory held now, in bytes, with what it takes to keep the books.
    pub bytes_held: usize,
}

/// Puts messages together from fragments of many senders. `S` is who sent one.
#[derive(Debug)]
pub struct Reassembler<S: Copy + Ord> {
    limits: Limits,
    store: Store<(S, u32), Entry>,
    counts: Counts,
    spares: Vec<Vec<u8>>,
}

/// How much memory of delivered messages is kept for others.
const MAX_SPARES: usize = 4;
const MAX_SPARE_BYTES: usize = 64 << 20;

/// What is known of a message.
#[derive(Debug)]
enum Entry {
    Partial(Partial),
    Settled(Settled),
}

/// A message that is done with.
#[derive(Clone, Copy, Debug)]
struct Settled {
    fate: Fate,
    message_size: u32,
    count: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Delivered,
    Unwanted,
    GivenUp(DropReason),
}

impl<S: Copy + Ord> Reassembler<S> {
    /// An empty one.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            store: Store::new(),
            counts: Counts::default(),
            spares: Vec::new(),
        }
    }

    /// Takes a fragment. `wants` is asked once for each message, when its fragment 0 is seen, whether its channel is
    /// of interest; a message that is not takes no memory.
    pub fn accept(
        &mut self,
        sender: S,
        fragment: &Fragment<'_>,
        now_us: u64,
        wants: &mut dyn FnMut(&str) -> bool,
    ) -> Outcome {
        if let Some(reason) = self.refuse(fragment) {
            return Outcome::Dropped(reason);
        }
        let key = (sender, fragment.sequence);
        if let Some(id) = self.store.find(&key)
            && let Some(outcome) = self.accept_known(id, fragment, now_us, wants)
        {
            return outcome;
        }
        self.begin(key, fragment, now_us, wants)
    }

    /// Gives up messages of which nothing arrived for too long. To be called now and then.
    pub fn expire(&mut self, now_us: u64) {
        for tier in Tier::ALL {
            while let Some((id, touched_us)) = self.store.oldest(tier) {
                if now_us.saturating_sub(touched_us) < self.limits.idle_us {
                    break;
                }
                match self.store.remove(id) {
                    Entry::Partial(_) => self.counts.idle += 1,
                    Entry::Settled(_) => {}
                }
            }
        }
    }

    /// Forgets all messages of a sender that is known to count anew, so that old and new fragments do not mix.
    pub fn forget(&mut self, sender: S) {
        for id in self.store.ids((sender, 0)..=(sender, u32::MAX)) {
            self.supersede(id);
        }
    }

    /// Takes memory back that a delivered message was in, for the next one of its size. Fresh memory is slow: the
    /// system has to find and clear every page of it.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        let kept: usize = self.spares.iter().map(Vec::capacity).sum();
        if self.spares.len() < MAX_SPARES && kept + buffer.capacity() <= MAX_SPARE_BYTES {
            buffer.clear();
            self.spares.push(buffer);
        }
    }

    /// Memory that fits a message, where as much would be set aside for it anyway.
    fn take_spare(&mut self, fragment: &Fragment<'_>, room: Room) -> Option<Vec<u8>> {
        let size = fragment.message_size as usize;
        let fits = |spare: &Vec<u8>| spare.capacity() >= size && spare.capacity() / 2 <= size;
        let at = self.spares.iter().position(fits)?;
        (size <= room.ahead).then(|| self.spares.swap_remove(at))
    }

    /// What was counted so far, and what is held.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            partial: self.store.len(Tier::Small) + self.store.len(Tier::Large),
            bytes_held: Tier::ALL.iter().map(|tier| self.store.bytes(*tier)).sum(),
            ..self.counts
        }
    }

    fn refuse(&mut self, fragment: &Fragment<'_>) -> Option<DropReason> {
        let end = (fragment.offset as usize).checked_add(fragment.payload.len());
        if end.is_none_or(|end| end > fragment.message_size as usize) {
            self.counts.malformed += 1;
            return Some(DropReason::Malformed);
        }
        if fragment.message_size > self.limits.max_message_size {
            self.counts.too_large += 1;
            return Some(DropReason::TooLarge);
        }
        None
    }

    fn begin(
        &mut self,
        key: (S, u32),
        fragment: &Fragment<'_>,
        now_us: u64,
        wants: &mut dyn FnMut(&str) -> bool,
    ) -> Outcome {
        let room = self.room();
        let mut partial = Partial::new(fragment, self.take_spare(fragment, room));
        let progress = partial.take(fragment, room, wants);
        let id = self.store.insert(key, Entry::Partial(partial), now_us);
        self.conclude(id, progress)
    }

    /// Takes a fragment of a message that is known, or nothing if the message starts anew with it.
    fn accept_known(
        &mut self,
        id: Id,
        fragment: &Fragment<'_>,
        now_us: u64,
        wants: &mut dyn FnMut(&str) -> bool,
    ) -> Option<Outcome> {
        let room = self.room();
        let is_quiet = now_us.saturating_sub(self.store.touch(id, now_us)) >= self.limits.quiet_us;
        let progress = match self.store.get_mut(id) {
            Entry::Partial(partial) => partial.take(fragment, room, wants),
            Entry::Settled(settled) if settled.is_followed_by(fragment, is_quiet) => {
                self.supersede(id);
                return None;
            }
            Entry::Settled(settled) => {
                let fate = settled.fate;
                return Some(self.drop_settled(fate));
            }
        };
        if is_quiet && matches!(progress, Err(TakeError::Contradiction)) {
            self.supersede(id);
            return None;
        }
        Some(self.conclude(id, progress))
    }

    fn drop_settled(&mut self, fate: Fate) -> Outcome {
        match fate {
            Fate::Delivered => {
                self.counts.duplicates += 1;
                Outcome::Dropped(DropReason::Duplicate)
            }
            Fate::Unwanted => Outcome::Unwanted,
            Fate::GivenUp(reason) => Outcome::Dropped(reason),
        }
    }

    fn conclude(&mut self, id: Id, progress: Result<Progress, TakeError>) -> Outcome {
        match progress {
            Ok(Progress::Grown(grown)) => self.keep(id, &grown),
            Ok(Progress::Complete {
                channel,
                payload,
                n_repeated,
            }) => {
                self.counts.completed += 1;
                self.counts.duplicates += u64::from(n_repeated > 0);
                self.settle(id, Fate::Delivered);
                Outcome::Complete { channel, payload }
            }
            Ok(Progress::Unwanted) => {
                self.counts.unwanted += 1;
                self.settle(id, Fate::Unwanted);
                Outcome::Unwanted
            }
            Err(TakeError::Contradiction) => {
                self.counts.conflicts += 1;
                self.give_up(id, DropReason::Conflict)
            }
            Err(TakeError::NoMemory) => {
                self.counts.no_memory += 1;
                self.give_up(id, DropReason::NoMemory)
            }
        }
    }

    fn keep(&mut self, id: Id, grown: &Grown) -> Outcome {
        let tier = if grown.is_large {
            Tier::Large
        } else {
            Tier::Small
        };
        self.store.charge(id, tier, grown.charge + ENTRY_SIZE);
        let has_room = match tier {
            Tier::Large => self.make_large_room(id, grown.message_size),
            Tier::Small | Tier::Settled => self.make_small_room(id),
        };
        self.counts.duplicates += u64::from(grown.n_repeated > 0);
        match grown {
            _ if !has_room => self.evict(id),
            Grown { n_new: 0, .. } => Outcome::Dropped(DropReason::Duplicate),
            _ => Outcome::Pending,
        }
    }

    /// Makes others give way until the small ones are within bounds. False if there are no others.
    fn make_small_room(&mut self, id: Id) -> bool {
        let Limits {
            small_bytes,
            max_partial,
            ..
        } = self.limits;
        while self.store.bytes(Tier::Small) > small_bytes
            || self.store.len(Tier::Small) > max_partial
        {
            match self.store.oldest(Tier::Small) {
                Some((oldest, _)) if oldest != id => _ = self.evict(oldest),
                Some(_) | None => return false,
            }
        }
        true
    }

    /// Makes others give way until the large ones are within bounds, or there is only one. A message that can never be
    /// within bounds evicts no other: false if there are others.
    fn make_large_room(&mut self, id: Id, message_size: usize) -> bool {
        if self.store.bytes(Tier::Large) <= self.limits.large_bytes {
            return true;
        }
        if message_size > self.limits.large_bytes {
            return self.store.len(Tier::Large) == 1;
        }
        while self.store.bytes(Tier::Large) > self.limits.large_bytes {
            match self.store.oldest(Tier::Large) {
                Some((oldest, _)) if oldest != id => _ = self.evict(oldest),
                Some(_) | None => break,
            }
        }
        true
    }

    /// Small messages share what may be set aside. With few there is plenty, so that most messages never move; in a
    /// flood there is next to nothing.
    fn room(&self) -> Room {
        let spare = (self.limits.small_bytes / 2).saturating_sub(self.store.bytes(Tier::Small));
        let share = self.limits.small_bytes / 2 / (self.store.len(Tier::Small) + 1);
        Room {
            large_from: self.limits.large_from,
            ahead: share.min(spare),
        }
    }

    fn evict(&mut self, id: Id) -> Outcome {
        self.counts.evicted += 1;
        self.give_up(id, DropReason::NoRoom)
    }

    fn give_up(&mut self, id: Id, reason: DropReason) -> Outcome {
        self.settle(id, Fate::GivenUp(reason));
        Outcome::Dropped(reason)
    }

    /// Lets go of a message's bytes and remembers that it is done with.
    fn settle(&mut self, id: Id, fate: Fate) {
        let entry = self.store.get_mut(id);
        if let Entry::Partial(partial) = entry {
            *entry = Entry::Settled(Settled {
                fate,
                message_size: partial.message_size(),
                count: partial.count(),
            });
        }
        self.store.charge(id, Tier::Settled, ENTRY_SIZE);
        while self.store.len(Tier::Settled) > self.limits.max_partial {
            let Some((oldest, _)) = self.store.oldest(Tier::Settled) else {
                break;
            };
            self.store.remove(oldest);
        }
    }

    /// Forgets a message whose number is used again.
    fn supersede(&mut self, id: Id) {
        match self.store.remove(id) {
            Entry::Partial(_) => self.counts.superseded += 1,
            Entry::Settled(_) => {}
        }
    }
}

impl Settled {
    /// Whether a fragment starts another message with the same number, rather than being one too many of this.
    fn is_followed_by(&self, fragment: &Fragment<'_>, is_quiet: bool) -> bool {
        let is_another = self.message_size != fragment.message_size || self.count != fragment.count;
        match self.fate {
            Fate::Delivered if is_another => true,
            Fate::Delivered | Fate::Unwanted | Fate::GivenUp(_) => is_quiet && fragment.index == 0,
        }
    }
}

#[cfg(test)]
mod tests;
