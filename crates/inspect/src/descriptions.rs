//! The descriptions of types that a bus carries, in bounded memory, and none of them trusted before it was checked.
//!
//! In: the messages on `bowline.schema`, and what other messages begin with. Out: types for a [`Catalog`].
//!
//! ```text
//!  schema_t ──▶ its type was seen? ──yes──▶ checked ──▶ Catalog     at most MAX_TYPES, the least used make room
//!                      │ no
//!                      ▼
//!                 set aside, unread ────── when the type is seen     at most MAX_ASIDE, the oldest make room
//! ```
//!
//! So a flood of descriptions of unused types costs a copy of each, and displaces no description that is in use.

use bowline_format::Catalog;
use bowline_msgs::Schema;
use bowline_wire::schema::{TypeId, TypeSet};
use bowline_wire::{Fingerprint, Message as _};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Types that are known from the bus, and what their descriptions take together. Parsed they take some ten times that.
const MAX_TYPES: usize = 4_096;
const MAX_TYPE_BYTES: usize = 4 << 20;
/// Descriptions that wait for a message of their type.
const MAX_ASIDE: usize = 4_096;
const MAX_ASIDE_BYTES: usize = 4 << 20;
/// Our publishers send no longer ones.
const MAX_DESCRIPTION: usize = 64 << 10;
/// Beginnings of messages that are remembered. Where there are more, they are no types.
const MAX_SEEN: usize = 16_384;

/// What became of the descriptions that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DescriptionCounts {
    /// Descriptions that came.
    pub heard: u64,
    /// Types that are known from them now.
    pub in_use: u64,
    /// Descriptions that wait for a message of their type.
    pub aside: u64,
    /// Refused: no description at all, or a type that is not sound.
    pub malformed: u64,
    /// Refused: of a later version than this program knows.
    pub other_version: u64,
    /// Refused: what is described is not what the messages begin with.
    pub lying: u64,
    /// Refused: longer than any type is.
    pub too_long: u64,
    /// Dropped because there were too many.
    pub dropped: u64,
}

impl DescriptionCounts {
    /// Descriptions that were refused, whatever the reason.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.malformed + self.other_version + self.lying + self.too_long
    }

    /// Each by its name, for programs that show all of them.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 8] {
        let Self {
            heard,
            in_use,
            aside,
            malformed,
            other_version,
            lying,
            too_long,
            dropped,
        } = *self;
        [
            ("heard", heard),
            ("in_use", in_use),
            ("aside", aside),
            ("malformed", malformed),
            ("other_version", other_version),
            ("lying", lying),
            ("too_long", too_long),
            ("dropped", dropped),
        ]
    }
}

/// The descriptions of a bus.
#[derive(Debug)]
pub(crate) struct Descriptions {
    /// What is known without the bus.
    base: Catalog,
    catalog: Catalog,
    seen: HashMap<Fingerprint, Sighting>,
    /// In use, in the compact form.
    used: BTreeMap<Fingerprint, Vec<u8>>,
    used_bytes: usize,
    aside: Aside,
    counts: DescriptionCounts,
}

/// What is known of a message's beginning.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    n_messages: u64,
    is_known: bool,
}

/// What is news about the beginning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Its type is known.
    Known,
    /// Its type has no description, and it is the first of its kind.
    UnknownFirst,
    /// Its type still has no description.
    Unknown,
}

impl Descriptions {
    pub(crate) fn new(base: Catalog) -> Self {
        Self {
            catalog: base.clone(),
            base,
            seen: HashMap::new(),
            used: BTreeMap::new(),
            used_bytes: 0,
            aside: Aside::default(),
            counts: DescriptionCounts::default(),
        }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Adds what a log carries beside its events.
    pub(crate) fn learn_from(&mut self, log: &bowline_format::Reader) {
        self.catalog.learn_from(log);
    }

    pub(crate) fn counts(&self) -> DescriptionCounts {
        DescriptionCounts {
            in_use: self.used.len() as u64,
            aside: self.aside.waiting.len() as u64,
            ..self.counts
        }
    }

    /// Takes note of what a message begins with.
    pub(crate) fn see(&mut self, fingerprint: Fingerprint) -> Seen {
        if let Some(sighting) = self.seen.get_mut(&fingerprint) {
            sighting.n_messages += 1;
            if sighting.is_known {
                return Seen::Known;
            }
            return self.look_up(fingerprint, Seen::Unknown);
        }
        if self.seen.len() >= MAX_SEEN {
            self.forget_rare();
        }
        let sighting = Sighting {
            n_messages: 1,
            is_known: false,
        };
        self.seen.insert(fingerprint, sighting);
        self.look_up(fingerprint, Seen::UnknownFirst)
    }

    fn look_up(&mut self, fingerprint: Fingerprint, otherwise: Seen) -> Seen {
        if let Some(bytes) = self.aside.take(fingerprint) {
            self.take_up(fingerprint, bytes);
        }
        let is_known = self.catalog.find(fingerprint).is_some();
        if let Some(sighting) = self.seen.get_mut(&fingerprint) {
            sighting.is_known = is_known;
        }
        if is_known { Seen::Known } else { otherwise }
    }

    /// The type of that name, with or without its package: of those that are known, or were described at all.
    pub(crate) fn named(&self, name: &str) -> Option<(TypeSet, TypeId)> {
        if let Some((types, id)) = self.catalog.by_name(name) {
            return Some((types.closure(id), TypeId(0)));
        }
        self.aside.waiting.iter().find_map(|(fingerprint, bytes)| {
            let types = TypeSet::from_bytes(bytes).ok()?;
            let id = types.by_fingerprint(*fingerprint)?;
            let def = types.def(id);
            let is_named = def.name == name || def.full_name() == name;
            is_named.then(|| (types.closure(id), TypeId(0)))
        })
    }

    /// Takes in a message of `bowline.schema`. Returns its contents, if it can be read.
    pub(crate) fn hear(&mut self, payload: &[u8]) -> Option<Schema> {
        self.counts.heard += 1;
        let Ok(schema) = Schema::decode(payload) else {
            self.counts.malformed += 1;
            return None;
        };
        if schema.version != Schema::VERSION {
            self.counts.other_version += 1;
            return None;
        }
        if schema.bytes.len() > MAX_DESCRIPTION {
            self.counts.too_long += 1;
            return None;
        }
        let fingerprint = Fingerprint(schema.fingerprint.cast_unsigned());
        if self.used.contains_key(&fingerprint) {
            // A repetition, as publishers send them every few seconds.
        } else if self.seen.contains_key(&fingerprint) {
            self.take_up(fingerprint, schema.bytes.clone());
        } else {
            let n_dropped = self.aside.put(fingerprint, schema.bytes.clone());
            self.counts.dropped += n_dropped;
        }
        Some(schema)
    }

    /// Uses a description from now on, if it matches its fingerprint.
    fn take_up(&mut self, fingerprint: Fingerprint, bytes: Vec<u8>) {
        let Ok(types) = TypeSet::from_bytes(&bytes) else {
            self.counts.malformed += 1;
            return;
        };
        let Some(id) = types.by_fingerprint(fingerprint) else {
            self.counts.lying += 1;
            return;
        };
        if self.used.len() >= MAX_TYPES || self.used_bytes + bytes.len() > MAX_TYPE_BYTES {
            self.make_room();
        }
        // What else is in the set was not asked for.
        self.catalog.learn_types(&types.closure(id));
        self.used_bytes += bytes.len();
        self.used.insert(fingerprint, bytes);
        if let Some(sighting) = self.seen.get_mut(&fingerprint) {
            sighting.is_known = true;
        }
    }

    /// Keeps the half of the types with the most messages. One that is missed will be described again.
    fn make_room(&mut self) {
        let n_messages = |print: &Fingerprint| self.seen.get(print).map_or(0, |it| it.n_messages);
        let mut by_use: Vec<_> = self.used.keys().copied().collect();
        by_use.sort_by_key(|print| std::cmp::Reverse(n_messages(print)));
        self.catalog = self.base.clone();
        for rare in by_use.split_off(by_use.len() / 2) {
            self.counts.dropped += 1;
            self.used.remove(&rare);
            self.seen.remove(&rare);
        }
        // Some were known only as parts of those that went.
        self.seen.values_mut().for_each(|it| it.is_known = false);
        self.used_bytes = self.used.values().map(Vec::len).sum();
        for bytes in self.used.values() {
            if let Ok(types) = TypeSet::from_bytes(bytes) {
                self.catalog.learn_types(&types);
            }
        }
    }

    /// Keeps the half of the beginnings with the most messages.
    fn forget_rare(&mut self) {
        let mut counts: Vec<u64> = self.seen.values().map(|it| it.n_messages).collect();
        counts.sort_unstable();
        let middle = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let used = &self.used;
        self.seen
            .retain(|print, it| it.n_messages > middle || used.contains_key(print));
    }
}

/// Descriptions that were not needed yet, as they came.
#[derive(Debug, Default)]
struct Aside {
    waiting: BTreeMap<Fingerprint, Vec<u8>>,
    /// From the oldest to the newest. What was taken out in between is still named here.
    order: VecDeque<Fingerprint>,
    n_bytes: usize,
}

impl Aside {
    /// Puts a description aside, in place of one of the same type; returns how many were removed for it.
    fn put(&mut self, fingerprint: Fingerprint, bytes: Vec<u8>) -> u64 {
        self.n_bytes += bytes.len();
        match self.waiting.insert(fingerprint, bytes) {
            Some(before) => self.n_bytes -= before.len(),
            None => self.order.push_back(fingerprint),
        }
        let mut n_dropped = 0;
        while (self.order.len() > MAX_ASIDE || self.n_bytes > MAX_ASIDE_BYTES)
            && let Some(oldest) = self.order.pop_front()
        {
            n_dropped += u64::from(self.take(oldest).is_some());
        }
        n_dropped
    }

    fn take(&mut self, fingerprint: Fingerprint) -> Option<Vec<u8>> {
        let bytes = self.waiting.remove(&fingerprint)?;
        self.n_bytes -= bytes.len();
        Some(bytes)
    }
}

/// The rest is tested through `Source`.
#[cfg(test)]
mod tests {
    use super::*;
    use bowline_format::Schemas;

    fn catalog() -> Catalog {
        Catalog::new(Schemas::default(), bowline_msgs::SCHEMA)
    }

    #[test]
    fn a_flood_of_beginnings_is_forgotten_but_for_the_frequent() {
        let mut descriptions = Descriptions::new(catalog());
        let frequent = Fingerprint(7);
        for other in 1_000..1_000 + 4 * MAX_SEEN as u64 {
            descriptions.see(Fingerprint(other));
            descriptions.see(frequent);
            assert!(descriptions.seen.len() <= MAX_SEEN);
        }
        assert_eq!(descriptions.see(frequent), Seen::Unknown);
    }

    #[test]
    fn what_is_set_aside_stays_within_its_bounds() {
        let mut aside = Aside::default();
        let mut n_dropped = 0;
        for print in 0..3 * MAX_ASIDE as u64 {
            n_dropped += aside.put(Fingerprint(print), vec![0; 100]);
            // Repeated, it is still one.
            n_dropped += aside.put(Fingerprint(print), vec![0; 200]);
        }
        assert_eq!(aside.waiting.len(), MAX_ASIDE);
        assert_eq!(n_dropped, 2 * MAX_ASIDE as u64);
        assert_eq!(aside.n_bytes, 200 * MAX_ASIDE);
        aside.put(Fingerprint(u64::MAX), vec![0; MAX_ASIDE_BYTES]);
        assert_eq!(aside.waiting.len(), 1);
    }
}
