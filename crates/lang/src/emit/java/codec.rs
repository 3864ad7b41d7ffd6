//! What is printed at each point of the walk over a struct, for encoding, decoding and copying.

use super::ClassCode;
use crate::emit::code::Code;
use crate::emit::guard::{self, Claim};
use crate::emit::walk::{Site, Walker};
use bowline_wire::schema::{Dim, Primitive, Type};

/// How many elements an array starts with before any has come.
const FIRST_ELEMENTS: usize = 1024;

pub(super) struct EncodeCode<'c, 't> {
    pub(super) class: &'c ClassCode<'t>,
    pub(super) code: &'c mut Code,
}

impl Walker for EncodeCode<'_, '_> {
    fn takes_rows(&self, ty: Type) -> bool {
        is_bytes(ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        let (value, length, place) = (
            self.class.value(site),
            self.class.length(site),
            self.class.place(site),
        );
        let (index, count) = (site.index(), format!("_n{}", site.depth));
        if site.depth == 0 {
            self.code.open("{");
        }
        // As lcm-gen: what has no elements below need not be there.
        let inner = site.member.dims.get(site.depth + 1..).unwrap_or_default();
        let lengths = inner.iter().filter_map(|dim| site.length_member(dim));
        let zeros: String = lengths
            .map(|length| format!("this.{} == 0 || ", self.class.field(length)))
            .collect();
        let none = zeros
            .strip_suffix(" || ")
            .map_or(String::new(), |zeros| format!("{zeros} ? 0 : "));
        self.code.line(format!(
            "int {count} = {none}_elements({value}, {length}, {place});"
        ));
        self.code.open(format!(
            "for (int _{index} = 0; _{index} < {count}; _{index}++) {{"
        ));
    }

    fn item(&mut self, site: &Site<'_>) {
        let (value, place) = (self.class.value(site), self.class.place(site));
        let line = match (site.member.ty, site.dim()) {
            (Type::Primitive(_), Some(_)) => {
                let length = format!("_elements({value}, {}, {place})", self.class.length(site));
                self.code.open(format!("if ({length} > 0)"));
                let length = self.class.length(site);
                let length = if is_long(site) {
                    format!("(int) {length}")
                } else {
                    length
                };
                self.code.line(format!("_out.write({value}, 0, {length});"));
                self.code.close_silently();
                return;
            }
            (Type::Primitive(Primitive::String), None) => {
                format!("_writeText(_out, {value}, {place});")
            }
            (Type::Primitive(Primitive::Boolean), None) => {
                format!("_out.writeByte({value} ? 1 : 0);")
            }
            (Type::Primitive(ty), None) => format!("_out.write{}({value});", stream_name(ty)),
            (Type::Named(_), _) => format!("_present({value}, {place})._encodeRecursive(_out);"),
        };
        self.code.line(line);
    }

    fn leave(&mut self, site: &Site<'_>) {
        self.code.close("}");
        if site.depth == 0 {
            self.code.close("}");
        }
    }
}

/// What arrays are built for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Decode,
    Copy,
}

/// Prints statements that build a member, from the input or from the same member of another object.
pub(super) struct BuildCode<'c, 't> {
    pub(super) class: &'c ClassCode<'t>,
    pub(super) code: &'c mut Code,
    pub(super) purpose: Purpose,
}

impl BuildCode<'_, '_> {
    /// Where the value of this place goes.
    fn target(&self, site: &Site<'_>) -> String {
        match (site.depth.checked_sub(1), self.purpose) {
            (Some(outer), _) => format!(
                "_array{outer}[_{}]",
                site.indices().last().unwrap_or_default()
            ),
            (None, Purpose::Decode) => format!("this.{}", self.class.field(site.member)),
            (None, Purpose::Copy) => format!("_copy.{}", self.class.field(site.member)),
        }
    }

    /// The number of elements to build.
    fn count(&self, site: &Site<'_>) -> String {
        let length = self.class.length(site);
        if self.purpose == Purpose::Copy {
            return format!("_copied({}, {length})", self.class.value(site));
        }
        let is_variable = matches!(site.dim(), Some(Dim::Variable { .. }));
        match guard::claim(site) {
            Claim::Paid if !is_variable => length,
            Claim::Paid | Claim::Unknown => format!("_length({length}, _field)"),
            Claim::Free => format!("_free(_in, _length({length}, _field), _field)"),
            Claim::FreeIfZero(lengths) => {
                let zeros: Vec<String> = lengths
                    .iter()
                    .map(|length| format!("this.{} == 0", self.class.field(length)))
                    .collect();
                let paid = format!("_length({length}, _field)");
                format!(
                    "{} ? _free(_in, {paid}, _field) : {paid}",
                    zeros.join(" || ")
                )
            }
        }
    }

    fn print_guards(&mut self, site: &Site<'_>) {
        let (depth, index) = (site.depth, site.index());
        self.code
            .open(format!("if (_{index} == _array{depth}.length)"));
        let grown = format!("java.util.Arrays.copyOf(_array{depth}, _grown(_{index}, _n{depth}))");
        self.code.line(format!("_array{depth} = {grown};"));
        self.code.close_silently();
        if guard::claim(site) == Claim::Unknown {
            self.code.line(format!(
                "_unknown(_in, _start{depth}, _{index}, _n{depth}, _field);"
            ));
        }
    }
}

impl Walker for BuildCode<'_, '_> {
    fn takes_rows(&self, ty: Type) -> bool {
        self.purpose == Purpose::Decode && is_bytes(ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        let (depth, index) = (site.depth, site.index());
        let element = self.class.element_type(site.member.ty);
        let inner = "[]".repeat(site.member.dims.len().saturating_sub(depth + 1));
        if depth == 0 {
            self.code.open("{");
        }
        self.code
            .line(format!("int _n{depth} = {};", self.count(site)));
        let first = match self.purpose {
            Purpose::Decode => format!("java.lang.Math.min(_n{depth}, {FIRST_ELEMENTS})"),
            Purpose::Copy => format!("_n{depth}"),
        };
        self.code.line(format!(
            "{element}[]{inner} _array{depth} = new {element}[{first}]{inner};"
        ));
        if self.purpose == Purpose::Decode && guard::claim(site) == Claim::Unknown {
            self.code.line(format!(
                "long _start{depth} = ((java.util.function.LongSupplier) _in).getAsLong();"
            ));
        }
        self.code.open(format!(
            "for (int _{index} = 0; _{index} < _n{depth}; _{index}++) {{"
        ));
        if self.purpose == Purpose::Decode {
            self.print_guards(site);
        }
    }

    fn item(&mut self, site: &Site<'_>) {
        let value = self.class.value(site);
        let built = match (self.purpose, site.member.ty) {
            (Purpose::Decode, Type::Primitive(_)) if site.dim().is_some() => {
                format!("_readBytes(_in, {})", self.count(site))
            }
            (Purpose::Decode, Type::Primitive(Primitive::String)) => {
                "_text(_in, _field)".to_string()
            }
            (Purpose::Decode, Type::Primitive(Primitive::Boolean)) => {
                "_in.readByte() != 0".to_string()
            }
            (Purpose::Decode, Type::Primitive(ty)) => format!("_in.read{}()", stream_name(ty)),
            (Purpose::Decode, Type::Named(id)) => {
                format!("{}._decodeRecursiveFactory(_in)", self.class.callable(id))
            }
            (Purpose::Copy, Type::Primitive(_)) => value,
            (Purpose::Copy, Type::Named(_)) => format!("{value} == null ? null : {value}.copy()"),
        };
        self.code.line(format!("{} = {built};", self.target(site)));
    }

    fn leave(&mut self, site: &Site<'_>) {
        self.code.close("}");
        self.code
            .line(format!("{} = _array{};", self.target(site), site.depth));
        if site.depth == 0 {
            self.code.close("}");
        }
    }
}

fn is_bytes(ty: Type) -> bool {
    matches!(ty, Type::Primitive(Primitive::Byte | Primitive::Int8))
}

/// Whether the length of the dimension is a Java `long`.
fn is_long(site: &Site<'_>) -> bool {
    let length = site.dim().and_then(|dim| site.length_member(dim));
    length.is_some_and(|length| length.ty == Type::Primitive(Primitive::Int64))
}

/// The end of the name of the stream methods for a type.
fn stream_name(ty: Primitive) -> &'static str {
    match ty {
        Primitive::Int8 | Primitive::Byte | Primitive::Boolean => "Byte",
        Primitive::Int16 => "Short",
        Primitive::Int32 => "Int",
        Primitive::Int64 => "Long",
        Primitive::Float => "Float",
        Primitive::Double => "Double",
        Primitive::String => "UTF",
    }
}
