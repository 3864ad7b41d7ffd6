//! The members and constants of a struct.

use super::Checker;
use super::names::Names;
use crate::ast::{ConstantItem, Entry, MemberItem, StructItem, Word};
use crate::diagnostic::Diagnostic;
use bowline_wire::number::{parse_float, parse_integer};
use bowline_wire::schema::{Constant, Dim, Member, Number, Primitive, Struct, Type, TypeSet};
use std::collections::BTreeMap;

/// The struct; `None` if something in it could not be understood.
pub(super) fn check_struct(
    checker: &mut Checker<'_>,
    names: &mut Names,
    package: &str,
    item: &StructItem,
) -> Option<Struct> {
    let mut scope = Scope {
        checker,
        names,
        package,
        body: Struct::default(),
        taken: BTreeMap::new(),
        is_whole: true,
    };
    for entry in &item.entries {
        match entry {
            Entry::Member(member) => scope.member(member),
            Entry::Constant(constant) => scope.constant(constant),
        }
    }
    scope.is_whole.then_some(scope.body)
}

/// A struct as far as it has been read.
struct Scope<'c, 'r> {
    checker: &'c mut Checker<'r>,
    names: &'c mut Names,
    package: &'c str,
    body: Struct,
    /// Members and constants share one set of names.
    taken: BTreeMap<String, Meaning>,
    is_whole: bool,
}

#[derive(Clone, Copy)]
enum Meaning {
    Member(usize),
    Constant(usize),
}

impl Scope<'_, '_> {
    fn error(&mut self, at: &Word, message: String, help: &str) {
        self.is_whole = false;
        self.checker
            .report(Diagnostic::error(at.span, message).help(help));
    }

    fn take_name(&mut self, name: &Word, meaning: Meaning) -> bool {
        if name.text.contains('.') {
            let message = format!("expected a name without dots, found `{}`", name.text);
            self.error(name, message, "dots are for packages");
            return false;
        }
        if self.taken.contains_key(&name.text) {
            let message = format!(
                "expected a name of its own, found `{}` a second time",
                name.text
            );
            self.error(
                name,
                message,
                "members and constants share one set of names",
            );
            return false;
        }
        self.taken.insert(name.text.clone(), meaning);
        true
    }

    fn member(&mut self, item: &MemberItem) {
        let ty = match Primitive::from_name(&item.ty.text) {
            Some(primitive) => Type::Primitive(primitive),
            None => self.named_type(&item.ty),
        };
        // Dimensions first: a member cannot be its own length.
        let dims: Option<Vec<Dim>> = item.dims.iter().map(|dim| self.dim(dim)).collect();
        let is_new = self.take_name(&item.name, Meaning::Member(self.body.members.len()));
        let (Some(dims), true) = (dims, is_new) else {
            return;
        };
        if !self.fits(ty, &dims, &item.name) {
            return;
        }
        self.body.members.push(Member {
            name: item.name.text.clone(),
            doc: item.doc.clone(),
            ty,
            dims,
        });
    }

    fn named_type(&mut self, name: &Word) -> Type {
        let prefix = &self.checker.rules.package_prefix;
        let (id, diagnostic) = self
            .names
            .resolve(&name.text, self.package, prefix, name.span);
        if let Some(diagnostic) = diagnostic {
            self.checker.report_mistake(diagnostic);
        }
        Type::Named(id)
    }

    fn dim(&mut self, dim: &Word) -> Option<Dim> {
        if dim
            .text
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        {
            return self.named_dim(dim);
        }
        let size = parse_integer(&dim.text).and_then(|size| usize::try_from(size).ok());
        if let Some(size @ 1..) = size {
            return Some(Dim::Fixed {
                size,
                text: dim.text.clone(),
            });
        }
        let message = format!(
            "expected a number of elements of 1 or more, found `{}`",
            dim.text
        );
        self.error(
            dim,
            message,
            "for an array that can be empty, name an earlier member: `int32_t n; float x[n];`",
        );
        None
    }

    fn named_dim(&mut self, dim: &Word) -> Option<Dim> {
        const HELP: &str = "name a constant or an earlier integer member: `int32_t n; float x[n];`";
        let message = match self.taken.get(&dim.text).copied() {
            Some(Meaning::Member(place)) => match self
                .body
                .members
                .get(place)
                .map(|member| (member.ty, &member.dims))
            {
                Some((Type::Primitive(ty), dims)) if ty.is_integer() && dims.is_empty() => {
                    return Some(Dim::Variable { member: place });
                }
                Some((Type::Primitive(ty), dims)) if dims.is_empty() => {
                    format!(
                        "expected an integer as length, found `{}`, which is a {ty}",
                        dim.text
                    )
                }
                Some((Type::Primitive(_) | Type::Named(_), _)) | None => {
                    format!(
                        "expected a single integer as length, found `{}`, which is something else",
                        dim.text
                    )
                }
            },
            Some(Meaning::Constant(place)) => {
                match self.body.constants.get(place).map(|c| (c.value, &c.text)) {
                    Some((Number::Integer(size @ 1..), text)) => {
                        return Some(Dim::Fixed {
                            size: usize::try_from(size).ok()?,
                            text: text.clone(),
                        });
                    }
                    Some((Number::Integer(size), _)) => {
                        format!(
                            "expected a number of elements of 1 or more, found `{}`, which is {size}",
                            dim.text
                        )
                    }
                    Some((Number::Float(_), _)) | None => {
                        format!("expected an integer constant as size, found `{}`", dim.text)
                    }
                }
            }
            None => format!(
                "expected a number, a constant or an earlier member, found `{}`",
                dim.text
            ),
        };
        self.error(dim, message, HELP);
        None
    }

    /// The schema refuses what no message can hold; report that where it stands.
    fn fits(&mut self, ty: Type, dims: &[Dim], name: &Word) -> bool {
        let element = match ty {
            Type::Primitive(primitive) => primitive.fixed_size().unwrap_or(5),
            Type::Named(_) => 1,
        };
        let total = dims.iter().fold(element, |total, dim| match dim {
            Dim::Fixed { size, .. } => total.saturating_mul(*size),
            Dim::Variable { .. } => total,
        });
        if total <= TypeSet::MAX_ARRAY_SIZE {
            return true;
        }
        let message = format!(
            "expected an array of at most {} bytes, found more",
            TypeSet::MAX_ARRAY_SIZE
        );
        self.error(name, message, "no LCM library takes messages beyond 2 GiB");
        false
    }

    fn constant(&mut self, item: &ConstantItem) {
        let ty = Primitive::from_name(&item.ty.text).filter(|ty| ty.is_integer() || ty.is_float());
        let Some(ty) = ty else {
            let message = format!("expected a constant's type, found `{}`", item.ty.text);
            self.error(
                &item.ty,
                message,
                "constants are int8_t, int16_t, int32_t, int64_t, float or double",
            );
            return;
        };
        let value = if ty.is_integer() {
            self.integer(ty, &item.value)
        } else {
            self.float(ty, &item.value)
        };
        let is_new = self.take_name(&item.name, Meaning::Constant(self.body.constants.len()));
        let (Some(value), true) = (value, is_new) else {
            return;
        };
        let (name, doc, text) = (
            item.name.text.clone(),
            item.doc.clone(),
            item.value.text.clone(),
        );
        self.body.constants.push(Constant {
            name,
            doc,
            ty,
            text,
            value,
        });
    }

    fn integer(&mut self, ty: Primitive, word: &Word) -> Option<Number> {
        let value = parse_integer(&word.text);
        let is_in_range = |value: &i64| match ty {
            Primitive::Int8 => i8::try_from(*value).is_ok(),
            Primitive::Int16 => i16::try_from(*value).is_ok(),
            Primitive::Int32 => i32::try_from(*value).is_ok(),
            Primitive::Int64
            | Primitive::Byte
            | Primitive::Float
            | Primitive::Double
            | Primitive::String
            | Primitive::Boolean => true,
        };
        if let Some(value) = value.filter(is_in_range) {
            return Some(Number::Integer(value));
        }
        let message = format!("expected a value that fits {ty}, found `{}`", word.text);
        self.error(
            word,
            message,
            "write a decimal, 0x hexadecimal or 0 octal number; all types are signed",
        );
        None
    }

    fn float(&mut self, ty: Primitive, word: &Word) -> Option<Number> {
        if let Some(value) = parse_float(&word.text) {
            return Some(Number::Float(value));
        }
        let message = format!("expected a {ty} value, found `{}`", word.text);
        self.error(
            word,
            message,
            "write it as 3.0 or 1e-6, with no letter at the end",
        );
        None
    }
}
