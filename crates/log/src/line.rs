//! An event as a line of JSON.
//!
//! ```text
//! {"utime":1763269856250000,"number":7,"channel":"vehicle.pose","type":"bowline.pose_t","message":{...}}
//! ```
//!
//! What cannot be decoded has `fingerprint` and `base64` instead of `message`, and `error` if its type is known.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bowline_format::{Catalog, Decoded, LogEvent};
use bowline_wire::schema::{TypeId, TypeSet};
use bowline_wire::{DecodeError, FieldPath, Fingerprint, ParsePathError, Selector};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use std::collections::HashMap;

/// Some fields of messages, by the paths that lead to them: `state[0]`, or only in one type, `pose_t.state[0]`.
#[derive(Clone, Debug, Default)]
pub struct FieldChoice {
    paths: Vec<String>,
    selectors: HashMap<Fingerprint, Vec<(usize, Selector)>>,
    is_found: Vec<bool>,
}

/// How many types are remembered. Others are worked out each time.
const MAX_TYPES: usize = 10_000;

impl FieldChoice {
    /// Some fields.
    ///
    /// # Errors
    /// When something is no path.
    pub fn new(paths: &[String]) -> Result<Self, ParsePathError> {
        for path in paths {
            FieldPath::parse(path)?;
        }
        Ok(Self {
            paths: paths.to_vec(),
            selectors: HashMap::new(),
            is_found: vec![false; paths.len()],
        })
    }

    /// Whether whole messages are meant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The paths that no type had so far.
    pub fn not_found(&self) -> impl Iterator<Item = &str> {
        let paths = self.paths.iter().zip(&self.is_found);
        paths
            .filter(|(_, is_found)| !**is_found)
            .map(|(path, _)| path.as_str())
    }

    /// Those of the fields that a type has, each with its path.
    pub fn in_type(&mut self, types: &TypeSet, id: TypeId) -> Vec<(String, Selector)> {
        let selectors = self.selectors(types, id).to_vec();
        let name = |at: usize| self.paths.get(at).cloned().unwrap_or_default();
        let named = selectors.into_iter().map(|(at, it)| (name(at), it));
        named.collect()
    }

    fn selectors(&mut self, types: &TypeSet, id: TypeId) -> &[(usize, Selector)] {
        let fingerprint = types.fingerprint(id).unwrap_or(Fingerprint(0));
        if self.selectors.len() >= MAX_TYPES {
            self.selectors.clear();
        }
        self.selectors.entry(fingerprint).or_insert_with(|| {
            let mut found = Vec::new();
            for (at, path) in self.paths.iter().enumerate() {
                if let Some(selector) = select(types, id, path) {
                    found.push((at, selector));
                    self.is_found[at] = true;
                }
            }
            found
        })
    }
}

/// The field, with or without the name of the type before it.
fn select(types: &TypeSet, id: TypeId, path: &str) -> Option<Selector> {
    let def = types.def(id);
    let within = |name: &str| path.strip_prefix(name)?.strip_prefix('.');
    let inner = within(&def.full_name()).or_else(|| within(&def.name));
    let path = FieldPath::parse(inner.unwrap_or(path)).ok()?;
    types.select(id, &path).ok()
}

/// An event, ready for JSON.
#[derive(Debug)]
pub struct Line<'a> {
    event: LogEvent<'a>,
    content: Content<'a>,
}

#[derive(Debug)]
enum Content<'a> {
    Message(Decoded<'a, 'a>),
    Fields(Decoded<'a, 'a>, Vec<(String, Selector)>),
    Unknown,
    Undecodable(String, DecodeError),
}

impl<'a> Line<'a> {
    /// The line of an event; `None` if fields were chosen and it has none of them.
    #[must_use]
    pub fn new(
        event: LogEvent<'a>,
        catalog: &'a Catalog,
        fields: &mut FieldChoice,
    ) -> Option<Self> {
        let content = match catalog.decode(event.payload) {
            Some(Ok(decoded)) if fields.is_empty() => Content::Message(decoded),
            Some(Ok(decoded)) => {
                let named = fields.in_type(decoded.types, decoded.id);
                if named.is_empty() {
                    return None;
                }
                Content::Fields(decoded, named)
            }
            None | Some(Err(_)) if !fields.is_empty() => return None,
            None => Content::Unknown,
            Some(Err(error)) => {
                let name = event.fingerprint().and_then(|print| catalog.name(print));
                Content::Undecodable(name.unwrap_or_default(), error)
            }
        };
        Some(Self { event, content })
    }

    /// On one line.
    ///
    /// # Panics
    /// Never: keys are text and memory does not fail.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("writing to memory, with text as keys, cannot fail")
    }

    /// On several lines, for people.
    ///
    /// # Panics
    /// Never: keys are text and memory does not fail.
    #[must_use]
    pub fn to_json_pretty(&self) -> String {
        serde_json::to_string_pretty(self)
            .expect("writing to memory, with text as keys, cannot fail")
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { event, content } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("utime", &event.utime)?;
        if event.nanos != 0 {
            map.serialize_entry("nanos", &event.nanos)?;
        }
        map.serialize_entry("number", &event.number)?;
        map.serialize_entry("channel", event.channel)?;
        match content {
            Content::Message(decoded) => {
                map.serialize_entry("type", &decoded.name())?;
                map.serialize_entry("message", &decoded.types.json(decoded.id, &decoded.value))?;
            }
            Content::Fields(decoded, fields) => {
                map.serialize_entry("type", &decoded.name())?;
                map.serialize_entry("fields", &Fields(decoded, fields))?;
            }
            Content::Unknown => self.serialize_bytes::<S>(&mut map)?,
            Content::Undecodable(name, error) => {
                map.serialize_entry("type", name)?;
                map.serialize_entry("error", &error.to_string())?;
                self.serialize_bytes::<S>(&mut map)?;
            }
        }
        map.end()
    }
}

impl Line<'_> {
    fn serialize_bytes<S: Serializer>(&self, map: &mut S::SerializeMap) -> Result<(), S::Error> {
        let fingerprint = self.event.fingerprint().map(|print| print.to_string());
        map.serialize_entry("fingerprint", &fingerprint)?;
        map.serialize_entry("base64", &BASE64_STANDARD.encode(self.event.payload))
    }
}

struct Fields<'l>(&'l Decoded<'l, 'l>, &'l [(String, Selector)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(decoded, fields) = self;
        let mut map = serializer.serialize_map(None)?;
        for (path, selector) in *fields {
            // An array that is too short to have it has none.
            let picked = selector.pick(&decoded.value);
            let json = picked
                .as_ref()
                .map(|value| decoded.types.json_of(selector.ty(), value));
            map.serialize_entry(path, &json)?;
        }
        map.end()
    }
}
