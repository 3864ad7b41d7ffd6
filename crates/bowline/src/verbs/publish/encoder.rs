//! JSON to messages, with the types that are known or that publishers on the bus describe.

use crate::input::Usage;
use crate::known_types::Types;
use crate::listen::{Interrupt, now};
use crate::output;
use bowline_bus::{Bus, SCHEMA_CHANNEL};
use bowline_inspect::{Source, SourceOptions, example, faults};
use bowline_log::Catalog;
use bowline_wire::schema::{TypeId, TypeSet};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

/// A type, with all that it contains.
pub(super) type Found = Rc<(TypeSet, TypeId)>;

/// Publishers that cannot be asked describe every 5 s what they publish.
const PATIENCE: Duration = Duration::from_secs(6);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A message that is ready to go.
pub(super) struct Message {
    pub(super) channel: String,
    pub(super) payload: Vec<u8>,
    /// What it is described as.
    pub(super) ty: Option<Found>,
}

impl Message {
    pub(super) fn bytes(channel: &str, payload: Vec<u8>) -> Self {
        Self {
            channel: channel.to_owned(),
            payload,
            ty: None,
        }
    }
}

pub(super) struct Encoder {
    catalog: Catalog,
    bus: Bus,
    found: HashMap<String, Found>,
    is_example_given: bool,
}

impl Encoder {
    pub(super) fn new(types: &Types, bus: Bus) -> anyhow::Result<Self> {
        Ok(Self {
            catalog: types.catalog()?,
            bus,
            found: HashMap::new(),
            is_example_given: false,
        })
    }

    /// The type of that name; the bus is asked where it is not known here.
    pub(super) fn type_named(
        &mut self,
        name: &str,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Found> {
        if let Some(found) = self.found.get(name) {
            return Ok(Rc::clone(found));
        }
        let known = self.catalog.by_name(name);
        let known = known.map(|(types, id)| (types.closure(id), TypeId(0)));
        let found = match known {
            Some(known) => Some(known),
            None => self.ask(name, interrupt)?,
        };
        let Some(found) = found else {
            return Err(Usage(self.not_found(name)).into());
        };
        let found = Rc::new(found);
        self.found.insert(name.to_owned(), Rc::clone(&found));
        Ok(found)
    }

    fn ask(&self, name: &str, interrupt: &Interrupt) -> anyhow::Result<Option<(TypeSet, TypeId)>> {
        output::note(&format!("asking the bus what {name} looks like"));
        let options = SourceOptions {
            patterns: vec![SCHEMA_CHANNEL.to_owned()],
            ..SourceOptions::default()
        };
        let mut source = Source::of_bus(&self.bus, options)?;
        let started = now();
        let mut n_heard = 0;
        while started.elapsed() < PATIENCE && !interrupt.is_set() {
            source.next(LOOK_EVERY)?;
            let counts = source.description_counts();
            if counts.heard == n_heard {
                continue;
            }
            n_heard = counts.heard;
            if let Some(found) = source.type_named(name) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn not_found(&self, name: &str) -> String {
        let short = name.rsplit('.').next().unwrap_or(name);
        let known = self
            .catalog
            .iter()
            .map(|(_, set, id)| set.def(id).full_name());
        let near: Vec<String> = known.filter(|full| full.contains(short)).take(10).collect();
        let help = if near.is_empty() {
            "--types names its .lcm file".to_owned()
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        format!(
            "expected the name of a type that is known here or described on the bus, found {name:?}; {help}"
        )
    }

    /// A message of one type. A line as `bowline echo --json` prints them is what is in it.
    pub(super) fn message(
        &mut self,
        channel: &str,
        ty: &Found,
        json: &[u8],
    ) -> Result<Message, String> {
        let (types, id) = &**ty;
        let has_own = |name: &str| {
            let members = types.as_struct(*id).map_or(&[][..], |body| &body.members);
            members.iter().any(|member| member.name == name)
        };
        let parts = parts(json).filter(|parts| parts.contains_key("channel"));
        let inner = parts.as_ref().and_then(|parts| parts.get("message"));
        let json = match inner {
            Some(message) if !has_own("message") => message.get().as_bytes(),
            Some(_) | None => json,
        };
        self.encode(channel, ty, json)
    }

    fn encode(&mut self, channel: &str, ty: &Found, json: &[u8]) -> Result<Message, String> {
        let (types, id) = &**ty;
        let value = types.from_json(*id, json);
        let value = value.map_err(|error| self.explain(ty, json, &error.to_string()))?;
        let payload = types.encode(*id, &value);
        let payload = payload.map_err(|error| self.explain(ty, json, &error.to_string()))?;
        Ok(Message {
            channel: channel.to_owned(),
            payload,
            ty: Some(Rc::clone(ty)),
        })
    }

    /// All that is wrong, and the first time what would be right.
    fn explain(&mut self, ty: &Found, json: &[u8], first: &str) -> String {
        let (types, id) = &**ty;
        let parsed = serde_json::from_slice(json);
        let found = parsed.map_or(Vec::new(), |json| faults(types, *id, &json));
        let mut text = if found.is_empty() {
            first.to_owned()
        } else {
            let name = types.def(*id).full_name();
            format!("the JSON is not a {name}:\n  {}", found.join("\n  "))
        };
        if !self.is_example_given {
            self.is_example_given = true;
            text += &format!("\nan example of what is expected:\n{}", example(types, *id));
        }
        text
    }

    /// A line that names its channel and type.
    pub(super) fn line(&mut self, json: &[u8], interrupt: &Interrupt) -> Result<Message, String> {
        let expected =
            "expected a line as `bowline echo --json` prints them, with channel, type and message";
        let parts = parts(json).ok_or_else(|| format!("{expected}; found no JSON object"))?;
        let text = |key: &str| {
            let text = parts
                .get(key)
                .map(|raw| serde_json::from_str::<String>(raw.get()));
            let text = text.and_then(Result::ok);
            text.ok_or_else(|| format!("{expected}; found no {key}"))
        };
        let channel = text("channel")?;
        if parts.contains_key("fields") {
            return Err(
                "expected a whole message, found some fields of one: leave out --field".to_owned(),
            );
        }
        let Some(message) = parts.get("message") else {
            let payload = text("base64")
                .map_err(|_no_bytes| format!("{expected}; found neither message nor base64"))?;
            return Ok(Message::bytes(&channel, decode_base64(&payload)?));
        };
        let name = text("type")?;
        let ty = self.type_named(&name, interrupt);
        let ty = ty.map_err(|error| output::with_causes(&error))?;
        self.encode(&channel, &ty, message.get().as_bytes())
    }
}

/// The parts of an object, as the text that they are.
fn parts(json: &[u8]) -> Option<BTreeMap<String, Box<RawValue>>> {
    serde_json::from_slice(json).ok()
}

fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    use base64::Engine as _;
    let decoded = base64::prelude::BASE64_STANDARD.decode(text);
    decoded.map_err(|error| format!("expected base64, found something else: {error}"))
}
