//! The contents of the messages that differ.

use super::{ChannelDifference, DifferenceKind};
use bowline_format::{Catalog, ReadError, Reader};
use bowline_wire::schema::{Type, TypeSet};
use bowline_wire::{Array, Fingerprint, Value};
use std::collections::HashMap;

/// Larger messages are not kept to be shown.
const MAX_SHOWN_BYTES: usize = 16 << 20;

/// How two messages differ, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The types of the messages: their names, or what they begin with.
    pub types: (Option<String>, Option<String>),
    /// The first fields that differ, if both are of one type and can be decoded.
    pub fields: Vec<FieldDifference>,
    /// Whether more fields differ.
    pub has_more_fields: bool,
    /// The first byte that differs.
    pub byte: Option<usize>,
    /// How long the messages are.
    pub lens: (Option<usize>, Option<usize>),
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// The way to it from the message.
    pub path: String,
    /// What the first log has there, as JSON.
    pub a: String,
    /// What the second has.
    pub b: String,
}

/// Reads both logs again, up to the messages that differ, and explains each difference, in their order.
///
/// # Errors
/// When a log cannot be read.
pub fn explain(
    logs: [&mut Reader; 2],
    differences: &[ChannelDifference],
    catalogs: &mut [Catalog; 2],
    max_fields: usize,
) -> Result<Vec<Explanation>, ReadError> {
    let mut messages = Vec::new();
    for (log, catalog) in logs.into_iter().zip(&mut *catalogs) {
        messages.push(fetch(log, differences, catalog)?);
    }
    let message = |side: usize, at: usize| messages.get(side)?.get(&at).map(Vec::as_slice);
    let explained = differences.iter().enumerate().map(|(at, _)| {
        let pair = (message(0, at), message(1, at));
        explain_pair(pair.0, pair.1, catalogs, max_fields)
    });
    Ok(explained.collect())
}

/// The messages of a log that differ, by the place of their difference.
fn fetch(
    log: &mut Reader,
    differences: &[ChannelDifference],
    catalog: &mut Catalog,
) -> Result<HashMap<usize, Vec<u8>>, ReadError> {
    let shown = differences.iter().enumerate();
    let shown = shown.filter(|(_, it)| it.kind != DifferenceKind::TooFarApart);
    let mut wanted: HashMap<&str, (usize, u64)> = shown
        .map(|(at, difference)| (difference.channel.as_str(), (at, difference.index)))
        .collect();
    let mut found = HashMap::new();
    log.rewind()?;
    while !wanted.is_empty() {
        let Some(event) = log.next_event()? else {
            break;
        };
        catalog.learn(&event);
        let Some((at, n_before)) = wanted.get_mut(event.channel) else {
            continue;
        };
        if *n_before > 0 {
            *n_before -= 1;
            continue;
        }
        if event.payload.len() <= MAX_SHOWN_BYTES {
            found.insert(*at, event.payload.to_vec());
        }
        wanted.remove(event.channel);
    }
    catalog.learn_from(log);
    Ok(found)
}

/// Explains how two messages differ, with at most so many fields.
#[must_use]
pub fn explain_pair(
    a: Option<&[u8]>,
    b: Option<&[u8]>,
    catalogs: &[Catalog; 2],
    max_fields: usize,
) -> Explanation {
    let [catalog_a, catalog_b] = catalogs;
    let mut explanation = Explanation {
        types: (
            a.and_then(|a| type_of(a, catalog_a)),
            b.and_then(|b| type_of(b, catalog_b)),
        ),
        lens: (a.map(<[u8]>::len), b.map(<[u8]>::len)),
        ..Explanation::default()
    };
    let (Some(a), Some(b)) = (a, b) else {
        return explanation;
    };
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    explanation.byte = (a != b).then_some(same);
    let is_one_type = a.first_chunk::<8>() == b.first_chunk::<8>();
    let catalog = [catalog_a, catalog_b]
        .into_iter()
        .find(|catalog| is_one_type && catalog.decode(a).is_some());
    let Some(catalog) = catalog else {
        return explanation;
    };
    if let (Some(Ok(in_a)), Some(Ok(in_b))) = (catalog.decode(a), catalog.decode(b)) {
        let mut walk = Walk {
            types: in_a.types,
            path: String::new(),
            found: Vec::new(),
            max: max_fields,
        };
        walk.compare(Type::Named(in_a.id), &in_a.value, &in_b.value);
        explanation.has_more_fields = walk.found.len() > max_fields;
        walk.found.truncate(max_fields);
        explanation.fields = walk.found;
    }
    explanation
}

fn type_of(message: &[u8], catalog: &Catalog) -> Option<String> {
    let fingerprint = Fingerprint(u64::from_be_bytes(*message.first_chunk()?));
    let name = catalog.name(fingerprint);
    Some(name.unwrap_or_else(|| fingerprint.to_string()))
}

/// Goes through two values of one type.
struct Walk<'t> {
    types: &'t TypeSet,
    path: String,
    found: Vec<FieldDifference>,
    /// One more than this is enough to know that there are more.
    max: usize,
}

impl Walk<'_> {
    fn compare(&mut self, ty: Type, a: &Value<'_>, b: &Value<'_>) {
        if self.found.len() > self.max {
            return;
        }
        match (a, b) {
            (Value::Struct(a), Value::Struct(b)) => self.compare_members(ty, a, b),
            (Value::Array(a), Value::Array(b)) => self.compare_arrays(ty, a, b),
            (a, b) => {
                let (a, b) = (self.json(ty, a), self.json(ty, b));
                if a != b {
                    self.add(a, b);
                }
            }
        }
    }

    fn compare_members(&mut self, ty: Type, a: &[Value<'_>], b: &[Value<'_>]) {
        let Type::Named(id) = ty else {
            return;
        };
        let Some(body) = self.types.as_struct(id) else {
            return;
        };
        let len = self.path.len();
        for (member, (a, b)) in body.members.iter().zip(a.iter().zip(b)) {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(&member.name);
            self.compare(member.ty, a, b);
            self.path.truncate(len);
        }
    }

    fn compare_arrays(&mut self, ty: Type, a: &Array<'_>, b: &Array<'_>) {
        let len = self.path.len();
        for (at, (a, b)) in a.iter().zip(b.iter()).enumerate() {
            self.path.push_str(&format!("[{at}]"));
            self.compare(ty, &a, &b);
            self.path.truncate(len);
            if self.found.len() > self.max {
                return;
            }
        }
        if a.len() != b.len() {
            let n_elements = |array: &Array<'_>| format!("{} elements", array.len());
            self.add(n_elements(a), n_elements(b));
        }
    }

    fn json(&self, ty: Type, value: &Value<'_>) -> String {
        serde_json::to_string(&self.types.json_of(ty, value)).unwrap_or_default()
    }

    fn add(&mut self, a: String, b: String) {
        let path = self.path.clone();
        self.found.push(FieldDifference { path, a, b });
    }
}
