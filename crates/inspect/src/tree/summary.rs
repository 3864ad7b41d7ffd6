//! What is folded away, in a few words: how much it is, what it begins with, and between which numbers it is.

use super::walk::{Part, enum_name};
use crate::text;
use bowline_wire::schema::{Primitive, Struct, Type, TypeSet};
use bowline_wire::{Items, Value};
use std::ops::Range;

/// No longer than this: it stands in one line with other things.
const MAX_LETTERS: usize = 160;
/// The first elements that are shown of an array that is longer than this and one more.
const N_FIRST: usize = 3;
/// The first bytes that are shown.
const N_FIRST_BYTES: usize = 16;
/// Of longer arrays the range of values is not shown: to look at all for every picture costs too much.
const MAX_LOOKED_AT: usize = 4_096;

/// The sizes of an array: `[2][3]`.
pub(super) fn number_of_dims(part: &Part<'_>) -> String {
    let outer = part.range.len();
    let inner = (part.level + 1..part.array.n_dims()).map(|place| part.array.dim(place));
    let sizes = std::iter::once(outer).chain(inner);
    sizes.map(|size| format!("[{size}]")).collect()
}

/// Text that grows until it is long enough.
pub(super) struct Summary<'a> {
    types: &'a TypeSet,
    out: String,
    n_letters: usize,
}

impl<'a> Summary<'a> {
    pub(super) fn new(types: &'a TypeSet) -> Self {
        Self {
            types,
            out: String::new(),
            n_letters: 0,
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// More text, as far as there is room.
    pub(super) fn push(&mut self, text: &str) {
        if self.is_full() {
            return;
        }
        self.n_letters += text.chars().count();
        self.out.push_str(text);
        if self.is_full() {
            self.out.push_str("...");
        }
    }

    fn is_full(&self) -> bool {
        self.n_letters >= MAX_LETTERS
    }

    /// A struct: `{id "dock", position [2] 12, -3.5}`.
    pub(super) fn members(&mut self, body: &Struct, values: &[Value<'_>]) {
        self.push("{");
        for (place, (member, value)) in body.members.iter().zip(values).enumerate() {
            // Every member adds to the text, so this ends.
            if self.is_full() {
                return;
            }
            let comma = if place == 0 { "" } else { ", " };
            self.push(&format!("{comma}{} ", text::printable(&member.name)));
            self.value(member.ty, value);
        }
        self.push("}");
    }

    fn value(&mut self, ty: Type, value: &Value<'_>) {
        match value {
            Value::Struct(values) => {
                if let Type::Named(id) = ty
                    && let Some(body) = self.types.as_struct(id)
                {
                    self.members(body, values);
                }
            }
            Value::Array(array) => {
                let part = Part::whole(array);
                self.push(&number_of_dims(&part));
                self.part(ty, &part);
            }
            Value::Enum(value) => {
                let name = enum_name(self.types, ty, *value);
                self.push(&name.unwrap_or_else(|| value.to_string()));
            }
            Value::Text(bytes) => self.push(&text::quoted(bytes, 32)),
            Value::Float(value) => self.push(&text::short(f64::from(*value))),
            Value::Double(value) => self.push(&text::short(*value)),
            Value::Boolean(value) => self.push(&value.to_string()),
            Value::Int8(_)
            | Value::Int16(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Byte(_) => {
                let value = value.as_integer().unwrap_or_default();
                self.push(&value.to_string());
            }
        }
    }

    /// The elements of an array: ` 0.5, 1, 1.5, ... min 0.5 max 6`.
    pub(super) fn part(&mut self, ty: Type, part: &Part<'_>) {
        let flat = part.flat();
        if flat.is_empty() {
            return;
        }
        if !self.out.is_empty() {
            self.push(" ");
        }
        let items = part.array.items();
        if let Items::Numbers {
            ty: Primitive::Byte,
            bytes,
        } = items
        {
            let bytes = bytes.get(flat).unwrap_or_default();
            return self.push(&text::hex(bytes, N_FIRST_BYTES));
        }
        let n_shown = if flat.len() <= N_FIRST + 1 {
            flat.len()
        } else {
            N_FIRST
        };
        for place in flat.start..flat.start + n_shown {
            if place > flat.start {
                self.push(", ");
            }
            self.item(ty, items, place);
        }
        if n_shown < flat.len() {
            self.push(", ...");
            if let Items::Numbers { ty, .. } = items
                && flat.len() <= MAX_LOOKED_AT
            {
                self.push(&extent(*ty, items, flat));
            }
        }
    }

    fn item(&mut self, ty: Type, items: &Items<'_>, place: usize) {
        match (items.struct_members(place), ty) {
            (Some(values), Type::Named(id)) => {
                if let Some(body) = self.types.as_struct(id) {
                    self.members(body, values);
                }
            }
            (Some(_) | None, _) => {
                if let Some(value) = items.get(place) {
                    self.value(ty, &value);
                }
            }
        }
    }
}

/// Between which numbers they all are, and how many are none.
fn extent(ty: Primitive, items: &Items<'_>, flat: Range<usize>) -> String {
    let numbers = flat.filter_map(|place| items.get(place)?.as_f64());
    if ty == Primitive::Boolean {
        return format!(" {} true", numbers.filter(|number| *number > 0.5).count());
    }
    let (mut min, mut max, mut n_nan) = (f64::INFINITY, f64::NEG_INFINITY, 0);
    for number in numbers {
        if number.is_nan() {
            n_nan += 1;
        }
        min = min.min(number);
        max = max.max(number);
    }
    let mut text = String::new();
    if min <= max {
        text += &format!(" min {} max {}", text::short(min), text::short(max));
    }
    if n_nan > 0 {
        text += &format!(" {n_nan} NaN");
    }
    text
}
