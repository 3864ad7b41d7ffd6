//! Looks up the types of messages: those that the user gave, then those in the log, then the program's own.

use crate::event::LogEvent;
use crate::reader::Reader;
use crate::schemas::{SCHEMA_CHANNEL, Schemas};
use bowline_wire::messages::Schema;
use bowline_wire::schema::{TypeId, TypeSet};
use bowline_wire::{DecodeError, Fingerprint, Message as _, Value};

/// Types from several sources. A fingerprint does not cover a type's name, so the order is that of trust.
#[derive(Clone, Debug)]
pub struct Catalog {
    given: Schemas,
    of_log: Schemas,
    own: Schemas,
    n_learnt: usize,
}

impl Catalog {
    /// The types that the user gave, and those that the program has generated code for: the `SCHEMA` beside that code, such
    /// as `bowline_msgs::SCHEMA`.
    #[must_use]
    pub fn new(given: Schemas, own: &[u8]) -> Self {
        Self {
            given,
            of_log: Schemas::default(),
            own: Schemas::generated(own),
            n_learnt: 0,
        }
    }

    /// Takes over what a log has described since the last time. Cheap if that is nothing.
    pub fn learn_from(&mut self, log: &Reader) {
        let n_schemas = log.n_schemas();
        if n_schemas != self.n_learnt {
            self.n_learnt = n_schemas;
            self.of_log.merge(&log.schemas());
        }
    }

    /// Takes over what an event describes, if it describes anything.
    pub fn learn(&mut self, event: &LogEvent<'_>) {
        if event.channel == SCHEMA_CHANNEL
            && let Ok(schema) = Schema::decode(event.payload)
        {
            drop(self.of_log.add_bytes(&schema.bytes));
        }
    }

    /// Takes over types that were described. The caller has checked them.
    pub fn learn_types(&mut self, types: &TypeSet) {
        self.of_log.add(types);
    }

    /// The type of that name, with or without its package. The first source that has the type gives it; a bare name that
    /// several packages have is ambiguous and gives none.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<(&TypeSet, TypeId)> {
        [&self.given, &self.of_log, &self.own]
            .into_iter()
            .find_map(|schemas| schemas.by_name(name))
    }

    /// The type whose messages begin so.
    #[must_use]
    pub fn find(&self, fingerprint: Fingerprint) -> Option<(&TypeSet, TypeId)> {
        let Self {
            given,
            of_log,
            own,
            n_learnt: _,
        } = self;
        [given, of_log, own]
            .iter()
            .find_map(|schemas| schemas.find(fingerprint))
    }

    /// All types, those of the most trusted source first.
    pub fn iter(&self) -> impl Iterator<Item = (Fingerprint, &TypeSet, TypeId)> {
        let sources = [&self.given, &self.of_log, &self.own];
        sources.into_iter().flat_map(Schemas::iter)
    }

    /// The full name of the type whose messages begin so.
    #[must_use]
    pub fn name(&self, fingerprint: Fingerprint) -> Option<String> {
        let (set, id) = self.find(fingerprint)?;
        Some(set.def(id).full_name())
    }

    /// Decodes a message; `None` if its type is unknown.
    #[must_use]
    pub fn decode<'a>(&self, payload: &'a [u8]) -> Option<Result<Decoded<'_, 'a>, DecodeError>> {
        let fingerprint = Fingerprint(u64::from_be_bytes(*payload.first_chunk()?));
        let (types, id) = self.find(fingerprint)?;
        let value = types.decode_as(id, payload);
        Some(value.map(|value| Decoded { types, id, value }))
    }
}

/// A message with its type.
#[derive(Clone, Debug)]
pub struct Decoded<'t, 'a> {
    /// The set that the type is in.
    pub types: &'t TypeSet,
    /// The type.
    pub id: TypeId,
    /// The message.
    pub value: Value<'a>,
}

impl Decoded<'_, '_> {
    /// The full name of its type.
    #[must_use]
    pub fn name(&self) -> String {
        self.types.def(self.id).full_name()
    }
}
