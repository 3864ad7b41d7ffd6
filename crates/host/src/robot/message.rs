//! Message types as robot files name them, and messages that they spell out.

use crate::program::DescribedType;
use crate::supervise::Publication;
use bowline_component::Setting;
use bowline_component::TypeInfo;
use bowline_component::document::{Problems, Span};
use bowline_component::document::{Value, Word, describe, did_you_mean, setting};
use bowline_format::Catalog;
use bowline_wire::schema::{Dim, Docs, Member, Primitive, Type, TypeId, TypeSet};
use bowline_wire::{FieldPath, Fingerprint, Step};
use std::fmt;
use std::time::Duration;
use toml::Spanned;
use toml::de::DeValue;

/// A message type as far as wiring needs it.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageType {
    /// With its package.
    pub name: String,
    /// What its messages begin with; types of one fingerprint are the same to a reader.
    pub fingerprint: Fingerprint,
}

impl From<TypeInfo> for MessageType {
    fn from(info: TypeInfo) -> Self {
        Self {
            name: info.name.to_owned(),
            fingerprint: info.fingerprint,
        }
    }
}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.fingerprint)
    }
}

/// A message of the safe state, ready to be published.
#[derive(Clone, Debug)]
pub struct SafeMessage {
    /// Where it is published.
    pub channel: String,
    /// What it is.
    pub message: MessageType,
    /// The message.
    pub payload: Vec<u8>,
    /// Its type and all that it contains, to describe it with; the type itself is the first.
    pub types: TypeSet,
    /// How often it is published.
    pub every: Duration,
    /// Where its `utime` is in the payload, if it is to be set whenever it is published.
    pub utime_at: Option<usize>,
}

impl SafeMessage {
    /// As a supervisor publishes it.
    #[must_use]
    pub fn publication(&self) -> Publication {
        Publication {
            channel: self.channel.clone(),
            bytes: self.payload.clone(),
            every: self.every,
            utime_at: self.utime_at,
        }
    }
}

/// How often a message of the safe state is published, where the robot file does not set it.
const SAFE_EVERY: Duration = Duration::from_millis(100);
/// After the fingerprint.
const UTIME_AT: usize = 8;

/// The types that a robot file may name.
#[derive(Debug)]
pub(super) struct KnownTypes {
    pub(super) catalog: Catalog,
    /// Whether all that the file names was understood: otherwise nothing follows from a type that is not there.
    pub(super) is_whole: bool,
}

/// The type of that name, with the set that it is in; an error if there is none.
pub(super) fn find_type<'c>(
    name: &Word,
    types: &'c KnownTypes,
    problems: &mut Problems<'_>,
) -> Option<(MessageType, &'c TypeSet, TypeId)> {
    let catalog = &types.catalog;
    let found = catalog.by_name(name.get_ref());
    let fingerprint = found.and_then(|(types, id)| types.fingerprint(id));
    if let (Some((types, id)), Some(fingerprint)) = (found, fingerprint) {
        let name = types.def(id).full_name();
        return Some((MessageType { name, fingerprint }, types, id));
    }
    if !types.is_whole {
        return None;
    }
    let known: Vec<String> = catalog
        .iter()
        .map(|(_, types, id)| types.def(id).full_name())
        .collect();
    let full = known.iter().map(String::as_str);
    let bare = full.clone().filter_map(|name| name.rsplit('.').next());
    let help = did_you_mean(name.get_ref(), full);
    let help = help.or_else(|| did_you_mean(name.get_ref(), bare));
    let help = help.unwrap_or_else(|| {
        "types = [\"...\"] in [robot] names .lcm files, or folders of them".to_owned()
    });
    problems
        .error(
            name.span(),
            format!("unknown message type {:?}", name.get_ref()),
        )
        .help(help);
    None
}

/// The type of that name with its description, if there is one.
pub(super) fn known_type(name: &Word, types: &KnownTypes) -> Option<DescribedType> {
    let (types, id) = types.catalog.by_name(name.get_ref())?;
    Some(DescribedType {
        message: MessageType {
            name: types.def(id).full_name(),
            fingerprint: types.fingerprint(id)?,
        },
        schema: types.closure(id).to_bytes(Docs::Keep),
    })
}

/// Why there is no number in that field of a type; nothing where there is one, or the type is unknown.
pub(super) fn not_a_number(
    types: &KnownTypes,
    fingerprint: Fingerprint,
    field: &FieldPath,
) -> Option<String> {
    let (types, id) = types.catalog.find(fingerprint)?;
    let selector = match types.select(id, field) {
        Ok(selector) => selector,
        Err(error) => return Some(error.to_string()),
    };
    let is_number = match selector.ty() {
        Type::Primitive(primitive) => !matches!(primitive, Primitive::String | Primitive::Boolean),
        Type::Named(_) => false,
    };
    let dims = "[]".repeat(selector.n_dims());
    let found = types.type_name(selector.ty());
    (!is_number || selector.n_dims() > 0).then(|| format!("{field} is {found}{dims}"))
}

/// Makes a message of what a robot file spells out.
pub(super) fn safe_message(
    draft: &super::draft::SafeMessageDraft<'_, '_>,
    known: &KnownTypes,
    problems: &mut Problems<'_>,
) -> Option<SafeMessage> {
    let (message, types, id) = find_type(&draft.type_name, known, problems)?;
    let spelt = draft.message;
    let DeValue::Table(fields) = spelt.get_ref() else {
        let found = describe(spelt.get_ref());
        problems.error(
            spelt.span(),
            format!("message is a table of fields, found {found}"),
        );
        return None;
    };
    let is_stamped = begins_with_utime(types, id) && !fields.contains_key("utime");
    let mut json = json(spelt, problems)?;
    if is_stamped {
        let rest = json.trim_start_matches('{');
        let comma = if rest == "}" { "" } else { "," };
        json = format!("{{\"utime\":0{comma}{rest}");
    }
    let value = types.from_json(id, json.as_bytes()).map_err(|error| {
        let at = place_of(spelt, error.path().steps());
        (at, error.to_string())
    });
    let encoded = value.and_then(|value| {
        types
            .encode(id, &value)
            .map_err(|error| (spelt.span(), error.to_string()))
    });
    match encoded {
        Ok(payload) => Some(SafeMessage {
            channel: draft.channel.get_ref().clone(),
            message,
            payload,
            types: types.closure(id),
            every: draft.every.as_ref().map_or(SAFE_EVERY, |(_, every)| *every),
            utime_at: is_stamped.then_some(UTIME_AT),
        }),
        Err((at, error)) => {
            let what = without_json(&error, &message.name);
            let message = format!("this is no {}: {what}", message.name);
            problems.error(at, message).help(fields_of(types, id));
            None
        }
    }
}

/// Whether the first field is the moment that the message is of.
fn begins_with_utime(types: &TypeSet, id: TypeId) -> bool {
    let first = types.as_struct(id).and_then(|body| body.members.first());
    first.is_some_and(|member| {
        member.name == "utime"
            && member.dims.is_empty()
            && member.ty == Type::Primitive(Primitive::Int64)
    })
}

/// What the message has, for the author of the mistake.
fn fields_of(types: &TypeSet, id: TypeId) -> String {
    let members = types.as_struct(id).map_or(&[][..], |body| &body.members);
    let dim = |dim: &Dim| match dim {
        Dim::Fixed { size, .. } => format!("[{size}]"),
        Dim::Variable { member } => {
            let length = members.get(*member).map_or("", |member| &member.name);
            format!("[{length}]")
        }
    };
    let field = |member: &Member| {
        let dims: String = member.dims.iter().map(dim).collect();
        format!("{} {}{dims}", types.type_name(member.ty), member.name)
    };
    let fields: Vec<String> = members.iter().map(field).collect();
    format!("{} has {}", types.def(id).full_name(), fields.join(", "))
}

/// What is wrong, without what readers of JSON and encoders report of texts that were not written by a person.
fn without_json(error: &str, name: &str) -> String {
    let mut error = error;
    for prefix in ["the JSON is not a", "cannot encode"] {
        error = error
            .strip_prefix(&format!("{prefix} {name}: "))
            .unwrap_or(error);
    }
    let end = error.rfind(" at line ").unwrap_or(error.len());
    error.get(..end).unwrap_or(error).to_owned()
}

/// The place of a field, or of the nearest one around it that is there.
fn place_of(value: &Value<'_>, steps: &[Step]) -> Span {
    let mut found = value;
    for step in steps {
        let inner = match (step, found.get_ref()) {
            (Step::Field(name), DeValue::Table(table)) => table.get(&**name),
            (Step::Index(index), DeValue::Array(items)) => items.get(*index),
            _ => None,
        };
        match inner {
            Some(inner) => found = inner,
            None => break,
        }
    }
    found.span()
}

/// A value of the file as JSON.
fn json(value: &Spanned<DeValue<'_>>, problems: &mut Problems<'_>) -> Option<String> {
    Some(match value.get_ref() {
        DeValue::Table(table) => {
            let fields = table.iter().map(|(key, value)| {
                Some(format!(
                    "{}:{}",
                    json_text(key.get_ref()),
                    json(value, problems)?
                ))
            });
            format!("{{{}}}", fields.collect::<Option<Vec<_>>>()?.join(","))
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| json(item, problems));
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(","))
        }
        DeValue::Datetime(date) => {
            let message = format!("no message has dates, found {date}");
            problems
                .error(value.span(), message)
                .help("a utime is in microseconds since the epoch");
            return None;
        }
        DeValue::Boolean(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::String(_) => {
            match setting(value.get_ref()) {
                Some(Setting::Boolean(value)) => value.to_string(),
                Some(Setting::Integer(value)) => value.to_string(),
                Some(Setting::Real(value)) if value.is_nan() => "\"NaN\"".to_owned(),
                Some(Setting::Real(value)) if value == f64::INFINITY => "\"Infinity\"".to_owned(),
                Some(Setting::Real(value)) if value == f64::NEG_INFINITY => {
                    "\"-Infinity\"".to_owned()
                }
                Some(Setting::Real(value)) => format!("{value:?}"),
                Some(Setting::Text(value)) => json_text(&value),
                Some(Setting::List(_)) | None => {
                    problems.error(
                        value.span(),
                        format!("no message has {}", describe(value.get_ref())),
                    );
                    return None;
                }
            }
        }
    })
}

fn json_text(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if u32::from(c) < 0x20 => json += &format!("\\u{:04x}", u32::from(c)),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}
