//! Entries by key, each in one of a few tiers; a tier knows what it holds and who was touched least recently.
//!
//! All operations but a look-up take constant time, and looking the same key up again takes constant time too. Slots
//! are numbered and chained by their numbers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// Where an entry is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    Small,
    Large,
    Settled,
}

impl Tier {
    pub(super) const ALL: [Self; 3] = [Self::Small, Self::Large, Self::Settled];
}

/// A slot's number. Good until its entry is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(u32);

#[derive(Debug)]
pub(super) struct Store<K, V> {
    ids: BTreeMap<K, Id>,
    slots: Vec<Slot<K, V>>,
    unused: Vec<Id>,
    small: Chain,
    large: Chain,
    settled: Chain,
    /// The slot found last: fragments of one message come in a row.
    last: Option<Id>,
}

#[derive(Debug)]
struct Slot<K, V> {
    key: K,
    /// None while the slot is unused.
    value: Option<V>,
    tier: Tier,
    bytes: usize,
    touched_us: u64,
    older: Option<Id>,
    newer: Option<Id>,
}

/// The entries of a tier, from the oldest to the newest.
#[derive(Debug, Default)]
struct Chain {
    oldest: Option<Id>,
    newest: Option<Id>,
    len: usize,
    bytes: usize,
}

impl<K: Copy + Ord, V> Store<K, V> {
    pub(super) fn new() -> Self {
        Self {
            ids: BTreeMap::new(),
            slots: Vec::new(),
            unused: Vec::new(),
            small: Chain::default(),
            large: Chain::default(),
            settled: Chain::default(),
            last: None,
        }
    }

    #[inline]
    pub(super) fn find(&mut self, key: &K) -> Option<Id> {
        if let Some(last) = self.last
            && self.slot(last).key == *key
        {
            return Some(last);
        }
        let found = self.ids.get(key).copied();
        self.last = found.or(self.last);
        found
    }

    pub(super) fn ids(&self, keys: RangeInclusive<K>) -> Vec<Id> {
        self.ids.range(keys).map(|(_, id)| *id).collect()
    }

    /// Adds an entry to the small ones. The key must be new.
    pub(super) fn insert(&mut self, key: K, value: V, now_us: u64) -> Id {
        let slot = Slot {
            key,
            value: Some(value),
            tier: Tier::Small,
            bytes: 0,
            touched_us: now_us,
            older: None,
            newer: None,
        };
        let id = match self.unused.pop() {
            Some(id) => {
                *self.slot_mut(id) = slot;
                id
            }
            None => {
                let id =
                    Id(u32::try_from(self.slots.len()).expect("bounded far below by the limits"));
                self.slots.push(slot);
                id
            }
        };
        self.ids.insert(key, id);
        self.link(id);
        self.last = Some(id);
        id
    }

    pub(super) fn remove(&mut self, id: Id) -> V {
        self.unlink(id);
        if self.last == Some(id) {
            self.last = None;
        }
        let slot = self.slot_mut(id);
        let (key, value) = (slot.key, slot.value.take());
        self.ids.remove(&key);
        self.unused.push(id);
        value.expect("a slot in use has a value")
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: Id) -> &mut V {
        self.slot_mut(id)
            .value
            .as_mut()
            .expect("a slot in use has a value")
    }

    /// Makes an entry the newest of its tier. Returns when it was touched before.
    #[inline]
    pub(super) fn touch(&mut self, id: Id, now_us: u64) -> u64 {
        if self.slot(id).newer.is_some() {
            self.unlink(id);
            self.link(id);
        }
        core::mem::replace(&mut self.slot_mut(id).touched_us, now_us)
    }

    /// Records where an entry counts now, and for how much.
    #[inline]
    pub(super) fn charge(&mut self, id: Id, tier: Tier, bytes: usize) {
        let slot = self.slot(id);
        if slot.tier == tier && slot.bytes == bytes {
            return;
        }
        self.unlink(id);
        let slot = self.slot_mut(id);
        slot.tier = tier;
        slot.bytes = bytes;
        self.link(id);
    }

    /// The entry of a tier that was touched least recently, and when.
    pub(super) fn oldest(&self, tier: Tier) -> Option<(Id, u64)> {
        let id = self.chain(tier).oldest?;
        Some((id, self.slot(id).touched_us))
    }

    pub(super) fn len(&self, tier: Tier) -> usize {
        self.chain(tier).len
    }

    pub(super) fn bytes(&self, tier: Tier) -> usize {
        self.chain(tier).bytes
    }

    /// Adds a slot as the newest of its tier.
    fn link(&mut self, id: Id) {
        let (tier, bytes) = (self.slot(id).tier, self.slot(id).bytes);
        let chain = self.chain_mut(tier);
        chain.len += 1;
        chain.bytes += bytes;
        let older = chain.newest.replace(id);
        match older {
            Some(older) => self.slot_mut(older).newer = Some(id),
            None => chain.oldest = Some(id),
        }
        let slot = self.slot_mut(id);
        slot.older = older;
        slot.newer = None;
    }

    fn unlink(&mut self, id: Id) {
        let slot = self.slot(id);
        let (tier, bytes, older, newer) = (slot.tier, slot.bytes, slot.older, slot.newer);
        match older {
            Some(older) => self.slot_mut(older).newer = newer,
            None => self.chain_mut(tier).oldest = newer,
        }
        match newer {
            Some(newer) => self.slot_mut(newer).older = older,
            None => self.chain_mut(tier).newest = older,
        }
        let chain = self.chain_mut(tier);
        chain.len -= 1;
        chain.bytes -= bytes;
    }

    fn slot(&self, id: Id) -> &Slot<K, V> {
        self.slots
            .get(id.0 as usize)
            .expect("ids are places in the slots, which never shrink")
    }

    fn slot_mut(&mut self, id: Id) -> &mut Slot<K, V> {
        self.slots
            .get_mut(id.0 as usize)
            .expect("ids are places in the slots, which never shrink")
    }

    fn chain(&self, tier: Tier) -> &Chain {
        match tier {
            Tier::Small => &self.small,
            Tier::Large => &self.large,
            Tier::Settled => &self.settled,
        }
    }

    fn chain_mut(&mut self, tier: Tier) -> &mut Chain {
        match tier {
            Tier::Small => &mut self.small,
            Tier::Large => &mut self.large,
            Tier::Settled => &mut self.settled,
        }
    }
}
