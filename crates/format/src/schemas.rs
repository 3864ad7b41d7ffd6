//! Descriptions of types that travel with a log, so that it can be read years later.

use bowline_wire::Fingerprint;
use bowline_wire::messages::Schema;
use bowline_wire::schema::{Docs, ReadSchemaError, TypeDef, TypeId, TypeSet};
use std::collections::BTreeMap;

/// Where publishers describe their messages, as `bowline.schema_t`.
pub const SCHEMA_CHANNEL: &str = "bowline.schema";
/// Where bookmarks are published and recorded, as `bowline.bookmark_t`.
pub const BOOKMARK_CHANNEL: &str = "bowline.bookmark";
/// Where recorders report how they are, as `bowline.recorder_t`.
pub const RECORDER_CHANNEL: &str = "bowline.recorder";

/// How many descriptions are kept, and how large they are together: more than real logs have.
const MAX_SETS: usize = 65_536;
const MAX_BYTES: usize = 64 << 20;

/// Types by what their messages begin with.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    /// Each with all that it contains, in the compact form.
    sets: Vec<Vec<u8>>,
    types: BTreeMap<Fingerprint, (usize, TypeId)>,
    parsed: Vec<TypeSet>,
    n_bytes: usize,
}

impl PartialEq for Schemas {
    fn eq(&self, other: &Self) -> bool {
        self.sets == other.sets
    }
}

impl Schemas {
    /// The types that a program has generated code for: the `SCHEMA` beside that code, such as `bowline_msgs::SCHEMA`.
    /// Bytes that are no schema add no types.
    #[must_use]
    pub fn generated(schema: &[u8]) -> Self {
        let mut schemas = Self::default();
        if let Ok(set) = TypeSet::from_bytes(schema) {
            schemas.add(&set);
        }
        schemas
    }

    /// Adds every type of a set that is not there yet.
    pub fn add(&mut self, set: &TypeSet) {
        for (id, _) in set.iter() {
            if let Some(fingerprint) = set.fingerprint(id)
                && !self.types.contains_key(&fingerprint)
            {
                let closure = set.closure(id);
                let bytes = closure.to_bytes(Docs::Keep);
                self.insert(bytes, closure);
            }
        }
    }

    /// Adds the types of a set in its compact form.
    ///
    /// # Errors
    /// When it is none.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Result<(), ReadSchemaError> {
        let set = TypeSet::from_bytes(bytes)?;
        let is_new = set
            .iter()
            .filter_map(|(id, _)| set.fingerprint(id))
            .any(|fingerprint| !self.types.contains_key(&fingerprint));
        if is_new {
            self.insert(bytes.to_vec(), set);
        }
        Ok(())
    }

    /// Adds what others know.
    pub fn merge(&mut self, other: &Self) {
        for set in &other.parsed {
            self.add(set);
        }
    }

    fn insert(&mut self, bytes: Vec<u8>, set: TypeSet) {
        if self.sets.len() >= MAX_SETS || self.n_bytes + bytes.len() > MAX_BYTES {
            return;
        }
        self.n_bytes += bytes.len();
        let at = self.sets.len();
        for (id, _) in set.iter() {
            if let Some(fingerprint) = set.fingerprint(id) {
                self.types.entry(fingerprint).or_insert((at, id));
            }
        }
        self.sets.push(bytes);
        self.parsed.push(set);
    }

    /// The type whose messages begin so, and the set that it is in.
    #[must_use]
    pub fn find(&self, fingerprint: Fingerprint) -> Option<(&TypeSet, TypeId)> {
        let (at, id) = self.types.get(&fingerprint)?;
        Some((self.parsed.get(*at)?, *id))
    }

    /// The full name of the type whose messages begin so.
    #[must_use]
    pub fn name(&self, fingerprint: Fingerprint) -> Option<String> {
        let (set, id) = self.find(fingerprint)?;
        Some(set.def(id).full_name())
    }

    /// The type of that name: in full, or bare if only one package has it.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<(&TypeSet, TypeId)> {
        let named = |is_named: fn(&TypeDef, &str) -> bool| {
            self.iter()
                .filter(move |(_, set, id)| is_named(set.def(*id), name))
                .map(|(_, set, id)| (set, id))
        };
        if let Some(found) = named(|def, name| def.full_name() == name).next() {
            return Some(found);
        }
        let mut bare = named(|def, name| def.name == name);
        let found = bare.next()?;
        let package = &found.0.def(found.1).package;
        bare.all(|(set, id)| set.def(id).package == *package)
            .then_some(found)
    }

    /// The description of the type whose messages begin so, and of what it contains, to be published or recorded.
    #[must_use]
    pub fn description(&self, fingerprint: Fingerprint) -> Option<Schema> {
        let (set, id) = self.find(fingerprint)?;
        let bytes = set.closure(id).to_bytes(Docs::Keep);
        Some(
            Schema {
                version: Schema::VERSION,
                fingerprint: i64::from_be_bytes(fingerprint.0.to_be_bytes()),
                name: set.def(id).full_name(),
                bytes,
                ..Schema::default()
            }
            .with_lengths(),
        )
    }

    /// All types, by what their messages begin with.
    pub fn iter(&self) -> impl Iterator<Item = (Fingerprint, &TypeSet, TypeId)> {
        self.types
            .iter()
            .filter_map(|(fingerprint, (at, id))| Some((*fingerprint, self.parsed.get(*at)?, *id)))
    }

    /// Whether no type is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    pub(crate) fn sets(&self) -> &[Vec<u8>] {
        &self.sets
    }
}
