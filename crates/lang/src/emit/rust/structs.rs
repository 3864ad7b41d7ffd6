//! A struct's Rust types, their defaults and what they have of their own.

use super::super::code::Code;
use super::names::{self, Names, field};
use super::{doc_or, is_large, primitive_type};
use bowline_wire::schema::{
    Constant, Dim, Member, Number, Primitive, Struct, Type, TypeDef, TypeId, TypeSet,
};

/// Which of a struct's two Rust types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    /// With `String` and `Vec<u8>`.
    Owned,
    /// With `&'a str` and `&'a [u8]`.
    Borrowed,
}

pub(super) struct StructCode<'t> {
    pub(super) types: &'t TypeSet,
    pub(super) names: &'t Names,
    pub(super) id: TypeId,
    pub(super) def: &'t TypeDef,
    pub(super) body: &'t Struct,
    pub(super) flavour: Flavour,
}

impl StructCode<'_> {
    pub(super) fn print(&self, code: &mut Code) {
        self.print_struct(code);
        self.print_default(code);
        if self.flavour == Flavour::Owned {
            self.print_inherent(code);
        }
        self.print_message(code);
        self.print_encode(code);
        self.print_decode(code);
    }

    fn ident(&self) -> &str {
        match self.flavour {
            Flavour::Owned => self.names.ident(self.id),
            Flavour::Borrowed => self.names.borrowed_ident(self.id),
        }
    }

    /// The type's name with its lifetime.
    pub(super) fn ty(&self, lifetime: &str) -> String {
        match self.flavour {
            Flavour::Owned => self.ident().to_string(),
            Flavour::Borrowed => format!("{}<{lifetime}>", self.ident()),
        }
    }

    fn print_struct(&self, code: &mut Code) {
        if self.flavour == Flavour::Borrowed {
            let owned = self.names.ident(self.id);
            code.comment(
                "///",
                &format!("A [`{owned}`] whose strings and byte arrays borrow from the message."),
            );
        } else {
            code.comment(
                "///",
                &doc_or(&self.def.doc, || {
                    format!("The type `{}`.", self.def.full_name())
                }),
            );
        }
        let default = if self.needs_default_impl() {
            ""
        } else {
            "Default, "
        };
        code.line(format!("#[derive(Clone, Debug, {default}PartialEq)]"));
        self.allow_names(code);
        if self.body.members.is_empty() {
            code.line(format!("pub struct {} {{}}", self.ty("'a")));
            return;
        }
        code.open(format!("pub struct {} {{", self.ty("'a")));
        for member in &self.body.members {
            code.comment(
                "///",
                &doc_or(&member.doc, || format!("The field `{}`.", member.name)),
            );
            code.line(format!(
                "pub {}: {},",
                field(&member.name),
                self.member_type(member, 0)
            ));
        }
        code.close("}");
    }

    /// Lets fields keep names that Rust would spell otherwise.
    pub(super) fn allow_names(&self, code: &mut Code) {
        if self
            .body
            .members
            .iter()
            .any(|member| !names::is_snake_case(&member.name))
        {
            code.line("#[allow(non_snake_case, reason = \"the names are the type definition's\")]");
        }
    }

    /// The Rust type of a member below its first `depth` dimensions.
    pub(super) fn member_type(&self, member: &Member, depth: usize) -> String {
        let dims = member.dims.get(depth..).unwrap_or_default();
        let is_borrowed = self.flavour == Flavour::Borrowed;
        let Some((dim, inner)) = dims.split_first() else {
            return self.element_type(member.ty);
        };
        let is_bytes =
            is_borrowed && inner.is_empty() && member.ty == Type::Primitive(Primitive::Byte);
        match dim {
            Dim::Fixed { size, .. } if is_bytes => format!("&'a [u8; {size}]"),
            Dim::Variable { .. } if is_bytes => "&'a [u8]".to_string(),
            Dim::Fixed { size, .. } if depth == 0 && is_large(member) => {
                format!("Box<[{}; {size}]>", self.member_type(member, depth + 1))
            }
            Dim::Fixed { size, .. } => format!("[{}; {size}]", self.member_type(member, depth + 1)),
            Dim::Variable { .. } => format!("Vec<{}>", self.member_type(member, depth + 1)),
        }
    }

    fn element_type(&self, ty: Type) -> String {
        let is_borrowed = self.flavour == Flavour::Borrowed;
        match ty {
            Type::Primitive(Primitive::String) if is_borrowed => "&'a str".to_string(),
            Type::Primitive(primitive) => primitive_type(primitive).to_string(),
            Type::Named(id) if is_borrowed && self.names.is_borrowable(id) => {
                format!(
                    "{}<'a>",
                    self.names
                        .path_to_borrowed(self.types, id, &self.def.package)
                )
            }
            Type::Named(id) => self.names.path_to(self.types, id, &self.def.package),
        }
    }

    /// Rust derives a default only for short arrays.
    fn needs_default_impl(&self) -> bool {
        self.body.members.iter().any(|member| {
            let is_long = |dim: &Dim| matches!(dim, Dim::Fixed { size: 33.., .. });
            let is_borrowed_array = self.member_type(member, 0).contains("&'a [u8; ");
            is_large(member) || is_borrowed_array || member.dims.iter().any(is_long)
        })
    }

    fn print_default(&self, code: &mut Code) {
        if !self.needs_default_impl() {
            return;
        }
        code.gap();
        code.open(format!("impl Default for {} {{", self.ty("'_")));
        code.open("fn default() -> Self {");
        code.open("Self {");
        for member in &self.body.members {
            code.line(format!(
                "{}: {},",
                field(&member.name),
                self.default_value(member, 0)
            ));
        }
        code.close("}");
        code.close("}");
        code.close("}");
    }

    fn default_value(&self, member: &Member, depth: usize) -> String {
        match member.dims.get(depth) {
            Some(Dim::Fixed { size, .. }) => {
                let is_innermost = depth + 1 == member.dims.len();
                let is_bytes = is_innermost && member.ty == Type::Primitive(Primitive::Byte);
                if self.flavour == Flavour::Borrowed && is_bytes {
                    return format!("&[0; {size}]");
                }
                let inner = self.default_value(member, depth + 1);
                if depth == 0 && is_large(member) {
                    return format!("wire::boxed_array(|| {inner})");
                }
                format!("core::array::from_fn(|_| {inner})")
            }
            Some(Dim::Variable { .. }) | None => "Default::default()".to_string(),
        }
    }

    fn print_inherent(&self, code: &mut Code) {
        let lengths = self.lengths();
        if lengths.is_empty() && self.body.constants.is_empty() {
            return;
        }
        code.gap();
        code.open(format!("impl {} {{", self.ident()));
        for constant in &self.body.constants {
            print_constant(code, constant);
        }
        if !lengths.is_empty() {
            code.gap();
            code.line("/// Sets the length fields to the lengths of the arrays that they count.");
            code.line("#[must_use]");
            code.open("pub fn with_lengths(mut self) -> Self {");
            for (length, len) in lengths {
                let name = field(&length.name);
                code.line(format!(
                    "self.{name} = ({len}).try_into().unwrap_or({}::MAX);",
                    self.element_type(length.ty)
                ));
            }
            code.line("self");
            code.close("}");
        }
        code.close("}");
    }

    /// Each length field, and how long the first array that it counts is.
    fn lengths(&self) -> Vec<(&Member, String)> {
        let mut lengths = Vec::new();
        for (place, length) in self.body.members.iter().enumerate() {
            let counted = self.body.members.iter().find_map(|array| {
                let depth = array
                    .dims
                    .iter()
                    .position(|dim| *dim == Dim::Variable { member: place })?;
                Some((array, depth))
            });
            let Some((array, depth)) = counted else {
                continue;
            };
            let name = field(&array.name);
            let len = match depth {
                0 => format!("self.{name}.len()"),
                _ => {
                    let deeper = ".and_then(|row| row.first())".repeat(depth - 1);
                    format!("self.{name}.first(){deeper}.map_or(0, |row| row.len())")
                }
            };
            lengths.push((length, len));
        }
        lengths
    }
}

fn print_constant(code: &mut Code, constant: &Constant) {
    let Constant {
        name,
        doc,
        ty,
        text,
        value,
    } = constant;
    code.comment("///", &doc_or(doc, || format!("The constant `{name}`.")));
    if names::is_mixed_case(name) {
        code.line(
            "#[allow(non_upper_case_globals, reason = \"the names are the type definition's\")]",
        );
    }
    let value = match value {
        Number::Integer(_) if text.starts_with("0x") => text.clone(),
        Number::Integer(value) => value.to_string(),
        Number::Float(value) => float_literal(*ty, *value),
    };
    code.line(format!(
        "pub const {}: {} = {value};",
        field(name),
        primitive_type(*ty)
    ));
}

fn float_literal(ty: Primitive, value: f64) -> String {
    let ty = primitive_type(ty);
    if value.is_nan() {
        format!("{ty}::NAN")
    } else if value.is_infinite() {
        format!("{ty}::{}INFINITY", if value < 0.0 { "NEG_" } else { "" })
    } else {
        format!("{value:?}")
    }
}
