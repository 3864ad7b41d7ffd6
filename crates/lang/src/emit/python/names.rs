//! Python's names for types, modules, attributes.

use crate::emit::keywords::{escape, unique_in};
use bowline_wire::schema::{Struct, TypeDef};

/// Words that cannot be names.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "__debug__", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Names that every generated class has for itself.
#[rustfmt::skip]
const METHODS: &[&str] = &[
    "_decode_one", "_encode_one", "_get_hash_recursive", "_get_packed_fingerprint", "_packed_fingerprint", "decode",
    "encode", "get_hash",
];

/// The class of a type, and its module.
pub(super) fn class(def: &TypeDef) -> String {
    escape(&def.name, KEYWORDS)
}

/// The parts of a package's name.
pub(super) fn package(def: &TypeDef) -> Vec<String> {
    def.package
        .split('.')
        .filter(|part| !part.is_empty())
        .map(|part| escape(part, KEYWORDS))
        .collect()
}

/// The module of a type, as `import` wants it.
pub(super) fn module(def: &TypeDef) -> String {
    let mut parts = package(def);
    parts.push(class(def));
    parts.join(".")
}

/// The attribute of a member or constant: its name, with underscores where Python or the class has that name.
pub(super) fn attribute(body: &Struct, name: &str) -> String {
    unique_in(body, name, free(name))
}

/// The attribute of an enum's value.
pub(super) fn enum_value(name: &str) -> String {
    if name == "value" {
        format!("{name}_")
    } else {
        free(name)
    }
}

fn free(name: &str) -> String {
    // Python gives meaning to names between double underscores.
    if name.starts_with("__") && name.ends_with("__") {
        return format!("{name}_");
    }
    escape(&escape(name, KEYWORDS), METHODS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_wire::schema::{Member, Primitive, Type};

    #[test]
    fn tables_are_sorted() {
        assert!(KEYWORDS.is_sorted());
        assert!(METHODS.is_sorted());
    }

    #[test]
    fn an_escaped_name_is_not_another_members() {
        let member = |name: &str| Member {
            name: name.to_string(),
            doc: String::new(),
            ty: Type::Primitive(Primitive::Int8),
            dims: Vec::new(),
        };
        let body = Struct {
            members: vec![member("pass"), member("pass_"), member("encode")],
            constants: Vec::new(),
        };
        let names: Vec<String> = body
            .members
            .iter()
            .map(|member| attribute(&body, &member.name))
            .collect();
        assert_eq!(names, ["pass__", "pass_", "encode_"]);
    }
}
