//! Rust's names for types, modules and fields.

use super::super::names::TypeIdents;
use bowline_wire::schema::{Primitive, Struct, Type, TypeId, TypeKind, TypeSet};

/// Words that can be names only with `r#` in front.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Words that cannot even be raw names.
const NEVER: &[&str] = &["Self", "_", "crate", "self", "super"];

/// Names that generated code and its readers take for the standard library's.
#[rustfmt::skip]
const STANDARD: &[&str] = &[
    "Box", "Clone", "Debug", "Default", "Err", "Into", "None", "Ok", "Option", "PartialEq", "Result", "Some", "String",
    "TryInto", "Vec",
];

/// The Rust names of all types of a set.
pub(super) struct Names {
    idents: TypeIdents,
    borrowed: Vec<Option<String>>,
}

impl Names {
    pub(super) fn new(types: &TypeSet) -> Self {
        let is_borrowable = borrowable(types);
        let mut idents = TypeIdents::new(types, |ident| {
            STANDARD.contains(&ident) || NEVER.contains(&ident)
        });
        // Owned names were first, so that a borrowed one never takes a name from a type that is called so.
        let mut borrowed = Vec::with_capacity(types.len());
        for ((id, def), is_borrowable) in types.iter().zip(is_borrowable) {
            let ident = format!("{}Ref", idents.ident(id));
            borrowed.push(is_borrowable.then(|| idents.claim(&def.package, ident)));
        }
        Self { idents, borrowed }
    }

    pub(super) fn ident(&self, id: TypeId) -> &str {
        self.idents.ident(id)
    }

    pub(super) fn borrowed_ident(&self, id: TypeId) -> &str {
        self.borrowed
            .get(id.0 as usize)
            .and_then(Option::as_deref)
            .unwrap_or_default()
    }

    /// Whether a type has strings or bytes, at any depth.
    pub(super) fn is_borrowable(&self, id: TypeId) -> bool {
        self.borrowed
            .get(id.0 as usize)
            .is_some_and(Option::is_some)
    }

    /// The type as seen from a module.
    pub(super) fn path_to(&self, types: &TypeSet, id: TypeId, from: &str) -> String {
        relative(&types.def(id).package, from) + self.ident(id)
    }

    /// What describes all types, as seen from the module of one.
    pub(super) fn path_to_schema(types: &TypeSet, id: TypeId) -> String {
        relative(super::ROOT, &types.def(id).package) + "SCHEMA"
    }

    /// The borrowing type as seen from a module.
    pub(super) fn path_to_borrowed(&self, types: &TypeSet, id: TypeId, from: &str) -> String {
        relative(&types.def(id).package, from) + self.borrowed_ident(id)
    }
}

/// Which types have strings or bytes within: grows until nothing is added.
fn borrowable(types: &TypeSet) -> Vec<bool> {
    let mut found = vec![false; types.len()];
    loop {
        let mut has_grown = false;
        for (id, def) in types.iter() {
            let TypeKind::Struct(body) = &def.kind else {
                continue;
            };
            let borrows = body.members.iter().any(|member| match member.ty {
                Type::Primitive(Primitive::String) => true,
                Type::Primitive(Primitive::Byte) => !member.dims.is_empty(),
                Type::Primitive(_) => false,
                Type::Named(inner) => found.get(inner.0 as usize).copied().unwrap_or(false),
            });
            if let Some(slot) = found.get_mut(id.0 as usize)
                && borrows
                && !*slot
            {
                *slot = true;
                has_grown = true;
            }
        }
        if !has_grown {
            return found;
        }
    }
}

fn relative(package: &str, from: &str) -> String {
    if package == from {
        return String::new();
    }
    let parts = |package: &str| -> Vec<String> {
        package
            .split('.')
            .filter(|p| !p.is_empty())
            .map(module)
            .collect()
    };
    let up = "super::".repeat(parts(from).len());
    parts(package)
        .iter()
        .fold(up, |path, part| path + part + "::")
}

/// A field's, constant's or value's name.
pub(super) fn field(name: &str) -> String {
    if NEVER.contains(&name) {
        format!("{name}_")
    } else if KEYWORDS.contains(&name) {
        format!("r#{name}")
    } else {
        name.to_string()
    }
}

/// A variable for a field. One with a capital would mean a type or `Some` if there is one of that name.
pub(super) fn local(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        format!("{}_field", name.to_ascii_lowercase())
    } else {
        field(name)
    }
}

/// A package's name. `wire` is the codec's in generated code.
pub(super) fn module(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    if NEVER.contains(&&*name) || KEYWORDS.contains(&&*name) || name == "wire" || name == "std" {
        format!("{name}_")
    } else {
        name
    }
}

/// A local name that no field has.
pub(super) fn fresh(name: &str, body: &Struct) -> String {
    let mut name = name.to_string();
    while body.members.iter().any(|member| member.name == name) {
        name.push('_');
    }
    name
}

pub(super) fn is_snake_case(name: &str) -> bool {
    !name.contains(|c: char| c.is_ascii_uppercase()) && !name.contains("__")
}

pub(super) fn is_mixed_case(name: &str) -> bool {
    name.contains(|c: char| c.is_ascii_lowercase())
}
