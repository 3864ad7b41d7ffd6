//! A message as indented text for people.
//!
//! ```text
//! utime: 1763269856250000
//! name: "déjà \xff"  (not UTF-8)
//! mode: DIVING (2)
//! pos: [1.5, NaN, -3.0]
//! data: 1080 bytes: 00 01 02 ... fe
//! waypoints: 2
//!   - name: "a"
//!     at: [0.0, 0.0]
//!   - name: "b"
//!     at: [1.0, 0.0]
//! ```
//!
//! Whatever is in the message, or in a type that came over the bus, nothing here moves a cursor.

use crate::text::{hex, printable, quoted};
use bowline_wire::schema::{Member, Primitive, Type, TypeKind, TypeSet};
use bowline_wire::{Array, Items, Value};

/// Letters of a string that are shown. Who wants more wants JSON.
const MAX_LETTERS: usize = 2_000;
/// Bytes for each element of other arrays.
const BYTES_PER_ITEM: usize = 2;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Elements of an array.
    pub max_items: usize,
    /// Whether the comments of the types are shown, where units are.
    pub has_comments: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            max_items: 16,
            has_comments: false,
        }
    }
}

/// A value of a type, or of an array's elements, as lines. One that has no fields is a line without a name.
#[must_use]
pub fn to_lines(types: &TypeSet, ty: Type, value: &Value<'_>, options: TextOptions) -> Vec<String> {
    let mut page = Page {
        types,
        options,
        lines: Vec::new(),
    };
    if let Value::Struct(members) = value {
        page.members(ty, members, 0);
    } else {
        page.entry("", ty, value, 0, "");
    }
    page.lines
}

/// A value on one line; `None` if it takes several.
#[must_use]
pub fn to_line(
    types: &TypeSet,
    ty: Type,
    value: &Value<'_>,
    options: TextOptions,
) -> Option<String> {
    let page = Page {
        types,
        options,
        lines: Vec::new(),
    };
    page.on_one_line(ty, value)
}

struct Page<'t> {
    types: &'t TypeSet,
    options: TextOptions,
    lines: Vec<String>,
}

impl Page<'_> {
    fn members(&mut self, ty: Type, values: &[Value<'_>], depth: usize) {
        let types = self.types;
        let members: &[Member] = match ty {
            Type::Named(id) => types.as_struct(id).map_or(&[], |body| &body.members),
            Type::Primitive(_) => &[],
        };
        for (member, value) in members.iter().zip(values) {
            let comment = if self.options.has_comments {
                comment(&member.doc)
            } else {
                String::new()
            };
            let name = format!("{}:", printable(&member.name));
            self.entry(&name, member.ty, value, depth, &comment);
        }
    }

    /// A value behind its name, or on the lines below it.
    fn entry(&mut self, name: &str, ty: Type, value: &Value<'_>, depth: usize, comment: &str) {
        if let Some(text) = self.on_one_line(ty, value) {
            let space = if name.is_empty() { "" } else { " " };
            self.line(depth, &format!("{name}{space}{text}{comment}"));
            return;
        }
        match value {
            Value::Struct(members) => {
                self.line(depth, &format!("{name}{comment}"));
                self.members(ty, members, depth + 1);
            }
            Value::Array(array) => {
                let space = if name.is_empty() { "" } else { " " };
                self.line(depth, &format!("{name}{space}{}{comment}", sizes(array)));
                self.items(ty, array, depth + 1);
            }
            Value::Int8(_)
            | Value::Int16(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Byte(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Boolean(_)
            | Value::Text(_)
            | Value::Enum(_) => {}
        }
    }

    /// The elements or rows of an array, each behind a dash.
    fn items(&mut self, ty: Type, array: &Array<'_>, depth: usize) {
        let max_items = self.options.max_items;
        for value in array.iter().take(max_items) {
            let start = self.lines.len();
            if let Value::Struct(members) = &value
                && !members.is_empty()
            {
                self.members(ty, members, depth + 1);
            } else {
                self.entry("", ty, &value, depth + 1, "");
            }
            // The dash stands where the element's own indentation is.
            if let Some(first) = self.lines.get_mut(start) {
                first.replace_range(2 * depth..2 * depth + 2, "- ");
            }
        }
        if array.len() > max_items {
            self.line(depth, &format!("... and {} more", array.len() - max_items));
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.lines.push(format!("{:1$}{text}", "", 2 * depth));
    }

    fn on_one_line(&self, ty: Type, value: &Value<'_>) -> Option<String> {
        Some(match value {
            Value::Int8(value) => value.to_string(),
            Value::Int16(value) => value.to_string(),
            Value::Int32(value) => value.to_string(),
            Value::Int64(value) => value.to_string(),
            Value::Byte(value) => value.to_string(),
            Value::Float(value) => float(f64::from(*value), &format!("{value:?}")),
            Value::Double(value) => float(*value, &format!("{value:?}")),
            Value::Boolean(value) => value.to_string(),
            Value::Text(text) => self::text(text),
            Value::Enum(value) => self.enum_value(ty, *value),
            Value::Struct(members) if members.is_empty() => "{}".to_owned(),
            Value::Struct(_) => return None,
            Value::Array(array) if array.n_dims() > 1 && !array.is_empty() => return None,
            Value::Array(array) => return self.row(ty, array),
        })
    }

    fn row(&self, ty: Type, array: &Array<'_>) -> Option<String> {
        let max_items = self.options.max_items;
        match array.items() {
            Items::Structs { n: 1.., .. } => return None,
            Items::Numbers {
                ty: Primitive::Byte,
                bytes,
            } => return Some(self::bytes(bytes, max_items.saturating_mul(BYTES_PER_ITEM))),
            Items::Numbers { .. } | Items::Values(_) | Items::Structs { .. } => {}
        }
        let shown = array.iter().take(max_items);
        let mut shown: Vec<String> = shown
            .filter_map(|value| self.on_one_line(ty, &value))
            .collect();
        if array.len() > max_items {
            shown.push(format!("... {} in all", array.len()));
        }
        Some(format!("[{}]", shown.join(", ")))
    }

    fn enum_value(&self, ty: Type, value: i32) -> String {
        let Type::Named(id) = ty else {
            return value.to_string();
        };
        let name = match &self.types.def(id).kind {
            TypeKind::Enum(body) => body.values.iter().find(|known| known.value == value),
            TypeKind::Struct(_) | TypeKind::External => None,
        };
        match name {
            Some(known) => format!("{} ({value})", printable(&known.name)),
            None => format!("{value} (no name)"),
        }
    }
}

/// The sizes of an array that does not fit on a line: `3`, or `2 x 3`.
fn sizes(array: &Array<'_>) -> String {
    let dims = (0..array.n_dims()).map(|place| array.dim(place).to_string());
    dims.collect::<Vec<_>>().join(" x ")
}

fn float(value: f64, finite: &str) -> String {
    if value.is_finite() {
        finite.to_owned()
    } else if value.is_nan() {
        "NaN".to_owned()
    } else if value > 0.0 {
        "Infinity".to_owned()
    } else {
        "-Infinity".to_owned()
    }
}

/// A string in quotes. A mark shows what is left out of it, or is not UTF-8.
fn text(bytes: &[u8]) -> String {
    let mut shown = quoted(bytes, MAX_LETTERS);
    if shown.ends_with("...") {
        shown += &format!(" {} bytes in all", bytes.len());
    }
    if std::str::from_utf8(bytes).is_err() {
        shown += "  (not UTF-8)";
    }
    shown
}

fn bytes(bytes: &[u8], max_bytes: usize) -> String {
    match bytes.len() {
        0 => "0 bytes".to_owned(),
        1 => format!("1 byte: {}", hex(bytes, max_bytes)),
        n => format!("{n} bytes: {}", hex(bytes, max_bytes)),
    }
}

/// A comment of a type, on one line.
fn comment(doc: &str) -> String {
    let words: Vec<&str> = doc.split_whitespace().collect();
    if words.is_empty() {
        return String::new();
    }
    format!("  # {}", printable(&words.join(" ")))
}
