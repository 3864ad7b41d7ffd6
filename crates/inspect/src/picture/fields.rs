//! The members of a struct, looked for by what they are and what they are called.

use crate::text;
use bowline_wire::schema::{Member, Number, Struct, Type, TypeId, TypeKind, TypeSet};
use bowline_wire::{Array, Value};

/// How far into a message a picture may be.
const MAX_DEPTH: usize = 3;

/// A struct of a message.
pub(super) struct Fields<'v> {
    types: &'v TypeSet,
    body: &'v Struct,
    values: &'v [Value<'v>],
    path: String,
}

/// What `find` finds in a message, or else in the structs and the first elements of arrays of structs in it.
pub(super) fn nested<'v, T>(
    types: &'v TypeSet,
    id: TypeId,
    value: &'v Value<'v>,
    find: &dyn Fn(Fields<'v>) -> Option<T>,
) -> Option<T> {
    let Value::Struct(values) = value else {
        return None;
    };
    nested_in(types, id, values, (String::new(), 0), find)
}

fn nested_in<'v, T>(
    types: &'v TypeSet,
    id: TypeId,
    values: &'v [Value<'v>],
    (path, depth): (String, usize),
    find: &dyn Fn(Fields<'v>) -> Option<T>,
) -> Option<T> {
    let body = types.as_struct(id)?;
    let fields = Fields {
        types,
        body,
        values,
        path: path.clone(),
    };
    if let Some(found) = find(fields) {
        return Some(found);
    }
    if depth == MAX_DEPTH {
        return None;
    }
    body.members.iter().zip(values).find_map(|(member, value)| {
        let Type::Named(id) = member.ty else {
            return None;
        };
        let path = join(&path, &member.name);
        if let Value::Struct(values) = value {
            return nested_in(types, id, values, (path, depth + 1), find);
        }
        let Value::Array(array) = value else {
            return None;
        };
        let values = array.struct_members(0)?;
        nested_in(types, id, values, (path + "[0]", depth + 1), find)
    })
}

fn join(path: &str, name: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    format!("{path}{dot}{}", text::printable(name))
}

/// A name without what people write differently.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

impl<'v> Fields<'v> {
    pub(super) fn path_to(&self, name: &str) -> String {
        join(&self.path, name)
    }

    fn members(&self) -> impl Iterator<Item = (&'v Member, &'v Value<'v>)> {
        self.body.members.iter().zip(self.values)
    }

    pub(super) fn arrays(&self) -> impl Iterator<Item = (&'v str, &'v Array<'v>)> {
        self.members().filter_map(|(member, value)| {
            let Value::Array(array) = value else {
                return None;
            };
            Some((member.name.as_str(), array))
        })
    }

    /// The member of that name.
    pub(super) fn member(&self, name: &str) -> Option<&'v Member> {
        self.body.members.iter().find(|member| member.name == name)
    }

    /// The first integer whose name has one of these parts, or is one of these.
    pub(super) fn integer(&self, parts: &[&str], names: &[&str]) -> Option<i64> {
        self.members().find_map(|(member, value)| {
            let name = plain(&member.name);
            let is_it = parts.iter().any(|part| name.contains(part)) || names.contains(&&*name);
            is_it.then(|| value.as_integer()).flatten()
        })
    }

    /// The first binary fraction whose name has a part of each of these lists.
    pub(super) fn fraction(&self, parts: [&[&str]; 2]) -> Option<(&'v Member, f64)> {
        self.members().find_map(|(member, value)| {
            let name = plain(&member.name);
            let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
            let is_fraction = matches!(value, Value::Float(_) | Value::Double(_));
            let is_it = is_fraction && parts.into_iter().all(has);
            is_it.then(|| value.as_f64().map(|value| (member, value)))?
        })
    }

    /// The format of its pixels as the message names it: text, an enum's or constant's name, or four letters.
    pub(super) fn format(&self) -> Option<String> {
        self.members().find_map(|(member, value)| {
            let name = plain(&member.name);
            let parts = ["format", "encoding", "fourcc", "codec"];
            let is_format = parts.iter().any(|part| name.contains(part)) && member.dims.is_empty();
            is_format.then(|| self.format_name(member, value)).flatten()
        })
    }

    fn format_name(&self, member: &Member, value: &Value<'_>) -> Option<String> {
        if let Value::Text(bytes) = value {
            return Some(text::printable(&String::from_utf8_lossy(bytes)));
        }
        let number = value.as_integer()?;
        let of_enum = || {
            let Type::Named(id) = member.ty else {
                return None;
            };
            let TypeKind::Enum(body) = &self.types.def(id).kind else {
                return None;
            };
            let named = body.values.iter().find(|it| i64::from(it.value) == number);
            named.map(|named| named.name.clone())
        };
        let of_constant = || {
            let is_it = |name: &str| {
                ["format", "pix", "fmt"]
                    .iter()
                    .any(|part| plain(name).contains(part))
            };
            let mut constants = self.body.constants.iter();
            let named = constants.find(|it| it.value == Number::Integer(number) && is_it(&it.name));
            named.map(|named| named.name.clone())
        };
        let name = of_enum().or_else(of_constant);
        let name = name.or_else(|| text::four_letters(number));
        Some(text::printable(&name.unwrap_or_else(|| number.to_string())))
    }
}
