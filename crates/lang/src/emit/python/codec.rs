//! What is printed at each point of the walk over a struct: for a new object, for encoding and for decoding.

use super::{ClassCode, Structs, class_of};
use crate::emit::code::Code;
use crate::emit::guard::{self, Claim};
use crate::emit::walk::{Site, Walker};
use bowline_wire::schema::{Dim, Member, Primitive, Type};

/// Prints the value of a member of a new object.
pub(super) struct Defaults<'c, 't> {
    class: &'c ClassCode<'t>,
    pub(super) text: String,
    /// How many variable dimensions are open: what is in them is not there yet.
    n_variable: usize,
}

impl<'c, 't> Defaults<'c, 't> {
    pub(super) fn new(class: &'c ClassCode<'t>) -> Self {
        Self {
            class,
            text: String::new(),
            n_variable: 0,
        }
    }
}

impl Walker for Defaults<'_, '_> {
    fn takes_rows(&self, ty: Type) -> bool {
        ty == Type::Primitive(Primitive::Byte)
    }

    fn enter(&mut self, site: &Site<'_>) {
        if self.n_variable == 0 {
            self.text.push('[');
        }
        self.n_variable += usize::from(matches!(site.dim(), Some(Dim::Variable { .. })));
    }

    fn item(&mut self, site: &Site<'_>) {
        if self.n_variable > 0 {
            return;
        }
        let text = match (site.member.ty, site.dim()) {
            (Type::Primitive(_), Some(Dim::Fixed { size, .. })) => format!("bytes({size})"),
            (Type::Primitive(_), Some(Dim::Variable { .. })) => "b\"\"".to_string(),
            (Type::Primitive(Primitive::String), _) => "\"\"".to_string(),
            (Type::Primitive(Primitive::Boolean), _) => "False".to_string(),
            (Type::Primitive(ty), _) if ty.is_float() => "0.0".to_string(),
            (Type::Primitive(_), _) => "0".to_string(),
            (Type::Named(id), _) => format!("{}()", class_of(site.types, id, self.class.def)),
        };
        self.text.push_str(&text);
    }

    fn leave(&mut self, site: &Site<'_>) {
        match site.dim() {
            Some(Dim::Variable { .. }) => {
                self.n_variable -= 1;
                if self.n_variable == 0 {
                    self.text.push(']');
                }
            }
            Some(Dim::Fixed { size, .. }) if self.n_variable == 0 => {
                self.text.push_str(&format!(" for _ in range({size})]"));
            }
            Some(Dim::Fixed { .. }) | None => {}
        }
    }
}

/// The number of elements of a dimension, as an expression.
fn length(class: &ClassCode<'_>, site: &Site<'_>, dim: &Dim) -> String {
    match (dim, site.length_member(dim)) {
        (_, Some(length)) => format!("self.{}", class.attribute(length)),
        (Dim::Fixed { size, .. }, None) => size.to_string(),
        (Dim::Variable { .. }, None) => String::new(),
    }
}

pub(super) struct EncodeCode<'c, 't> {
    pub(super) class: &'c ClassCode<'t>,
    pub(super) code: &'c mut Code,
    pub(super) structs: &'c mut Structs,
}

impl EncodeCode<'_, '_> {
    /// What the loops around this place have come to.
    fn value(&self, site: &Site<'_>) -> String {
        site.indices()
            .last()
            .unwrap_or_else(|| format!("self.{}", self.class.attribute(site.member)))
    }
}

impl Walker for EncodeCode<'_, '_> {
    fn takes_rows(&self, ty: Type) -> bool {
        is_row_type(ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        let length = site
            .dim()
            .map_or(String::new(), |dim| length(self.class, site, dim));
        let (index, value, field) = (
            site.index(),
            self.value(site),
            self.class.field(site.member),
        );
        self.code
            .open(format!("for {index} in _row({value}, {length}, {field}):"));
    }

    fn item(&mut self, site: &Site<'_>) {
        let (value, field) = (self.value(site), self.class.field(site.member));
        let row = site.dim().map(|dim| (dim, length(self.class, site, dim)));
        let line = match (site.member.ty, row) {
            (Type::Primitive(Primitive::Byte), Some((_, length))) => {
                format!("buf.write(_octets({value}, {length}, {field}))")
            }
            (Type::Primitive(ty), Some((Dim::Fixed { size, .. }, length))) => {
                let format = self
                    .structs
                    .name(format!("{size}{}", put_letter(letter(ty))));
                format!("buf.write({format}.pack(*_row({value}, {length}, {field})))")
            }
            (Type::Primitive(ty), Some((Dim::Variable { .. }, length))) => {
                let letter = put_letter(letter(ty));
                format!(
                    "buf.write(_struct.pack(f\">{{{length}:d}}{letter}\", *_row({value}, {length}, {field})))"
                )
            }
            (Type::Primitive(_), None) => format!("_put(buf, {value})"),
            (Type::Named(id), _) => {
                let class = class_of(site.types, id, self.class.def);
                let checked = format!("_nested({value}, {class}, {field})");
                format!("({value} if type({value}) is {class} else {checked})._encode_one(buf)")
            }
        };
        self.code.line(line);
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close_silently();
    }
}

/// Builds the expression that reads a member.
pub(super) struct DecodeCode<'c, 't> {
    class: &'c ClassCode<'t>,
    structs: &'c mut Structs,
    pub(super) text: String,
}

impl<'c, 't> DecodeCode<'c, 't> {
    pub(super) fn new(class: &'c ClassCode<'t>, structs: &'c mut Structs) -> Self {
        Self {
            class,
            structs,
            text: String::new(),
        }
    }
}

impl Walker for DecodeCode<'_, '_> {
    fn takes_rows(&self, ty: Type) -> bool {
        is_row_type(ty)
    }

    fn enter(&mut self, _: &Site<'_>) {
        self.text.push('[');
    }

    fn item(&mut self, site: &Site<'_>) {
        let field = self.class.field(site.member);
        let row = site.dim().map(|dim| (dim, length(self.class, site, dim)));
        let text = match (site.member.ty, row) {
            (Type::Primitive(Primitive::Byte), Some((Dim::Fixed { size, .. }, _))) => {
                format!("_read(buf, {size}, 1, {field})")
            }
            (Type::Primitive(Primitive::Byte), Some((Dim::Variable { .. }, length))) => {
                format!("_read(buf, {length}, 1, {field})")
            }
            (Type::Primitive(ty), Some((Dim::Fixed { size, .. }, _))) => {
                let format = self.structs.name(format!("{size}{}", letter(ty)));
                let width = ty.fixed_size().unwrap_or(0);
                listed(
                    ty,
                    format!("{format}.unpack(_read(buf, {size}, {width}, {field}))"),
                )
            }
            (Type::Primitive(ty), Some((Dim::Variable { .. }, length))) => {
                let (letter, size) = (letter(ty), ty.fixed_size().unwrap_or(0));
                let data = format!("_read(buf, {length}, {size}, {field})");
                listed(
                    ty,
                    format!("_struct.unpack(f\">{{{length}}}{letter}\", {data})"),
                )
            }
            (Type::Primitive(_), None) => format!("_text(buf, {field})"),
            (Type::Named(id), _) => format!(
                "{}._decode_one(buf)",
                class_of(site.types, id, self.class.def)
            ),
        };
        self.text.push_str(&text);
    }

    fn leave(&mut self, site: &Site<'_>) {
        let length = site
            .dim()
            .map_or(String::new(), |dim| length(self.class, site, dim));
        let field = self.class.field(site.member);
        let is_variable = matches!(site.dim(), Some(Dim::Variable { .. }));
        let count = match guard::claim(site) {
            Claim::Paid if is_variable => format!("range(_count({length}, {field}))"),
            Claim::Paid => format!("range({length})"),
            Claim::Free => format!("range(_count({length}, {field}, buf))"),
            Claim::FreeIfZero(lengths) => {
                let values: Vec<String> = lengths
                    .iter()
                    .map(|length| format!("self.{}", self.class.attribute(length)))
                    .collect();
                format!(
                    "range(_count({length}, {field}, None if {} else buf))",
                    values.join(" and ")
                )
            }
            Claim::Unknown => format!("_unknown(buf, {length}, {field})"),
        };
        self.text.push_str(&format!(" for _ in {count}]"));
    }
}

/// lcm-gen's rows of booleans are lists, all other rows of numbers tuples.
fn listed(ty: Primitive, tuple: String) -> String {
    if is_tuple(ty) {
        tuple
    } else {
        format!("list({tuple})")
    }
}

pub(super) fn is_tuple(ty: Primitive) -> bool {
    !matches!(ty, Primitive::Boolean | Primitive::String)
}

fn is_row_type(ty: Type) -> bool {
    matches!(ty, Type::Primitive(primitive) if primitive != Primitive::String)
}

pub(super) fn scalar_format(member: &Member) -> Option<(char, usize)> {
    match member.ty {
        Type::Primitive(ty) if member.dims.is_empty() => Some((letter(ty), ty.fixed_size()?)),
        Type::Primitive(_) | Type::Named(_) => None,
    }
}

/// The letter to encode with. A boolean is encoded as the number that it is, as lcm-gen does: `?` would take any object
/// for one, and hide mistakes.
pub(super) fn put_letter(letter: char) -> char {
    if letter == '?' { 'b' } else { letter }
}

/// The letter of the struct module's formats.
fn letter(ty: Primitive) -> char {
    match ty {
        Primitive::Int8 => 'b',
        Primitive::Int16 => 'h',
        Primitive::Int32 => 'i',
        Primitive::Int64 => 'q',
        Primitive::Byte => 'B',
        Primitive::Float => 'f',
        Primitive::Double => 'd',
        Primitive::Boolean => '?',
        Primitive::String => 's',
    }
}
