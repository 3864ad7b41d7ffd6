//! JSON that is to become a message: an example of what is expected, and all that is wrong with what was given.
//!
//! `TypeSet::from_json` decides what is right, and stops at the first fault. This goes on, for people.

use crate::text::printable;
use bowline_wire::schema::{Dim, Member, Primitive, Struct, Type, TypeId, TypeKind, TypeSet};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// More than a person reads at once.
const MAX_FAULTS: usize = 100;
/// Types in types in an example.
const MAX_DEPTH: usize = 16;
/// Levels that are looked at: those that a message can have.
const MAX_LEVELS: usize = 128;

/// Everything that is wrong with JSON that is to be a message, each with the path of the field; nothing if nothing is
/// found.
#[must_use]
pub fn faults(types: &TypeSet, id: TypeId, json: &Value) -> Vec<String> {
    let mut check = Check {
        types,
        faults: Vec::new(),
        n_levels: 0,
    };
    check.scalar("", Type::Named(id), json);
    check.faults
}

struct Check<'t> {
    types: &'t TypeSet,
    faults: Vec<String>,
    n_levels: usize,
}

impl Check<'_> {
    fn fault(&mut self, path: &str, text: &str) {
        if self.faults.len() < MAX_FAULTS {
            let path = if path.is_empty() { "the message" } else { path };
            self.faults.push(format!("{}: {text}", printable(path)));
        }
    }

    fn expected(&mut self, path: &str, what: &str, found: &Value) {
        let found = short(&found.to_string());
        self.fault(path, &format!("expected {what}, found {found}"));
    }

    fn scalar(&mut self, path: &str, ty: Type, json: &Value) {
        match ty {
            Type::Primitive(primitive) => {
                if !fits(primitive, json) {
                    self.expected(path, &what_fits(primitive), json);
                }
            }
            Type::Named(id) => match &self.types.def(id).kind {
                TypeKind::Struct(body) => self.object(path, id, body, json),
                TypeKind::Enum(body) => {
                    let is_named = |name: &str| body.values.iter().any(|known| known.name == name);
                    let is_number = json.as_i64().is_some_and(|it| i32::try_from(it).is_ok());
                    if !is_number && !json.as_str().is_some_and(is_named) {
                        let names: Vec<&str> =
                            body.values.iter().map(|it| it.name.as_str()).collect();
                        self.expected(path, &format!("one of {}", names.join(", ")), json);
                    }
                }
                TypeKind::External => self.fault(path, "its type is defined nowhere"),
            },
        }
    }

    fn object(&mut self, path: &str, id: TypeId, body: &Struct, json: &Value) {
        let Some(object) = json.as_object() else {
            let name = self.types.def(id).full_name();
            return self.expected(path, &format!("an object ({name})"), json);
        };
        self.n_levels += 1;
        if self.n_levels > MAX_LEVELS {
            return;
        }
        let lengths = length_fields(body);
        for (place, member) in body.members.iter().enumerate() {
            let path = join(path, &member.name);
            match object.get(&member.name) {
                Some(value) => self.member(&path, member, &member.dims, value),
                // Filled in from the array that it counts.
                None if lengths.contains(&place) => {}
                None => {
                    let ty = self.type_text(member);
                    self.fault(&path, &format!("missing, expected {ty}"));
                }
            }
        }
        for name in object.keys() {
            if !body.members.iter().any(|member| member.name == *name) {
                let names: Vec<&str> = body.members.iter().map(|it| it.name.as_str()).collect();
                let names = names.join(", ");
                self.fault(
                    &join(path, name),
                    &format!("no such field; there are {names}"),
                );
            }
        }
        self.n_levels -= 1;
    }

    fn member(&mut self, path: &str, member: &Member, dims: &[Dim], json: &Value) {
        let Some((dim, inner)) = dims.split_first() else {
            return self.scalar(path, member.ty, json);
        };
        let is_bytes = inner.is_empty() && member.ty == Type::Primitive(Primitive::Byte);
        if is_bytes && json.is_string() {
            return;
        }
        let Some(items) = json.as_array() else {
            let ty = self.type_text(member);
            let or_base64 = if is_bytes { " or base64" } else { "" };
            return self.expected(path, &format!("an array{or_base64} ({ty})"), json);
        };
        if let Dim::Fixed { size, .. } = dim
            && *size != items.len()
        {
            let found = items.len();
            self.fault(path, &format!("expected {size} elements, found {found}"));
        }
        for (place, item) in items.iter().enumerate() {
            self.member(&format!("{path}[{place}]"), member, inner, item);
        }
    }

    fn type_text(&self, member: &Member) -> String {
        let mut text = self.types.type_name(member.ty);
        for dim in &member.dims {
            match dim {
                Dim::Fixed { text: size, .. } => text += &format!("[{size}]"),
                Dim::Variable { .. } => text += "[]",
            }
        }
        text
    }
}

/// The members that give the length of others.
fn length_fields(body: &Struct) -> BTreeSet<usize> {
    let dims = body.members.iter().flat_map(|member| &member.dims);
    dims.filter_map(|dim| match dim {
        Dim::Variable { member } => Some(*member),
        Dim::Fixed { .. } => None,
    })
    .collect()
}

fn fits(primitive: Primitive, json: &Value) -> bool {
    let integer = || {
        let written = json.as_str().and_then(|digits| digits.parse().ok());
        written.or_else(|| json.as_i64())
    };
    let within = |min: i64, max: i64| integer().is_some_and(|it| (min..=max).contains(&it));
    match primitive {
        Primitive::Int8 => within(i8::MIN.into(), i8::MAX.into()),
        Primitive::Int16 => within(i16::MIN.into(), i16::MAX.into()),
        Primitive::Int32 => within(i32::MIN.into(), i32::MAX.into()),
        Primitive::Int64 => integer().is_some(),
        Primitive::Byte => within(0, 255),
        Primitive::Float | Primitive::Double => match json {
            Value::String(word) => {
                ["NaN", "Infinity", "-Infinity"].contains(&word.as_str())
                    || word.starts_with("NaN:0x")
            }
            Value::Number(number) => {
                let is_small = |it: f64| it.abs() <= f64::from(f32::MAX);
                primitive == Primitive::Double || number.as_f64().is_some_and(is_small)
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        },
        Primitive::Boolean => json.is_boolean() || within(0, 1),
        Primitive::String => json.is_string() || json.get("base64").is_some_and(Value::is_string),
    }
}

fn what_fits(primitive: Primitive) -> String {
    match primitive {
        Primitive::Int8 => "a number from -128 to 127 (int8_t)".to_owned(),
        Primitive::Int16 => "a number from -32768 to 32767 (int16_t)".to_owned(),
        Primitive::Byte => "a number from 0 to 255 (byte)".to_owned(),
        Primitive::Int32 | Primitive::Int64 => format!("a whole number ({primitive})"),
        Primitive::Float | Primitive::Double => {
            format!("a number, \"NaN\", \"Infinity\" or \"-Infinity\" ({primitive})")
        }
        Primitive::Boolean => "true or false (boolean)".to_owned(),
        Primitive::String => "a string".to_owned(),
    }
}

fn short(json: &str) -> String {
    const MAX_LETTERS: usize = 60;
    let cut: String = json.chars().take(MAX_LETTERS).collect();
    let dots = if cut.len() < json.len() { "..." } else { "" };
    printable(&format!("{cut}{dots}"))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// A message of zeros as JSON with comments: types, and the comments of the .lcm file. Fields that give the length of an
/// array are left out, as a publisher may leave them out.
#[must_use]
pub fn example(types: &TypeSet, id: TypeId) -> String {
    let mut form = Form {
        types,
        text: String::new(),
    };
    form.scalar(Type::Named(id), 0);
    if form.is_full() {
        form.text += "\n// cut off: the type has too many values to show";
    }
    form.text
}

/// An example is for people. A type off a bus could have one of any size.
const MAX_EXAMPLE_LEN: usize = 256 << 10;

struct Form<'t> {
    types: &'t TypeSet,
    text: String,
}

impl Form<'_> {
    fn is_full(&self) -> bool {
        self.text.len() > MAX_EXAMPLE_LEN
    }

    fn scalar(&mut self, ty: Type, depth: usize) {
        let text = match ty {
            Type::Primitive(Primitive::Boolean) => "false".to_owned(),
            Type::Primitive(Primitive::String) => "\"\"".to_owned(),
            Type::Primitive(primitive) if primitive.is_float() => "0.0".to_owned(),
            Type::Primitive(_) => "0".to_owned(),
            Type::Named(id) => match &self.types.def(id).kind {
                TypeKind::Struct(body) => return self.object(body, depth),
                TypeKind::Enum(body) => body
                    .values
                    .first()
                    .map_or("0".to_owned(), |first| format!("{:?}", first.name)),
                TypeKind::External => "null".to_owned(),
            },
        };
        self.text += &text;
    }

    fn object(&mut self, body: &Struct, depth: usize) {
        let lengths = length_fields(body);
        let members: Vec<&Member> = (0..)
            .zip(&body.members)
            .filter(|(place, _)| !lengths.contains(place))
            .map(|(_, member)| member)
            .collect();
        if members.is_empty() || self.is_full() {
            self.text += "{}";
            return;
        }
        self.text += "{\n";
        for (place, member) in members.iter().enumerate() {
            let indent = 2 * (depth + 1);
            // Writing to memory does not fail.
            let _infallible = write!(self.text, "{:indent$}{:?}: ", "", member.name);
            let start = self.text.len();
            self.array(member, &member.dims, depth + 1);
            if place + 1 < members.len() {
                self.text.push(',');
            }
            let comment = self.comment(member);
            // What has lines of its own is explained where it begins.
            match self.text.get(start..).and_then(|value| value.find('\n')) {
                Some(at) => self.text.insert_str(start + at, &comment),
                None => self.text += &comment,
            }
            self.text.push('\n');
        }
        let indent = 2 * depth;
        let _infallible = write!(self.text, "{:indent$}}}", "");
    }

    fn array(&mut self, member: &Member, dims: &[Dim], depth: usize) {
        let Some((dim, inner)) = dims.split_first() else {
            return self.scalar(member.ty, depth);
        };
        let is_recursive = matches!(member.ty, Type::Named(id) if self.types.is_recursive(id));
        let n = match dim {
            Dim::Fixed { size, .. } => *size,
            Dim::Variable { .. } if is_recursive || depth > MAX_DEPTH => 0,
            // One, so that it can be seen what it is.
            Dim::Variable { .. } => 1,
        };
        self.text.push('[');
        for place in 0..n {
            if self.is_full() {
                break;
            }
            if place > 0 {
                self.text += ", ";
            }
            self.array(member, inner, depth);
        }
        self.text.push(']');
    }

    fn comment(&self, member: &Member) -> String {
        let check = Check {
            types: self.types,
            faults: Vec::new(),
            n_levels: 0,
        };
        let mut text = check.type_text(member);
        if let Type::Named(id) = member.ty
            && let TypeKind::Enum(body) = &self.types.def(id).kind
        {
            let names: Vec<&str> = body.values.iter().map(|it| it.name.as_str()).collect();
            text += &format!(": {}", names.join(", "));
        }
        let words: Vec<&str> = member.doc.split_whitespace().collect();
        if !words.is_empty() {
            text += &format!("; {}", words.join(" "));
        }
        printable(&format!("  // {text}"))
    }
}
