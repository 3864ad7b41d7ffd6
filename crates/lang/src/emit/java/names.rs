//! Java's names for classes, packages and fields.

use crate::emit::keywords::{escape, unique_in};
use bowline_wire::schema::{Struct, TypeDef};

/// Words that cannot be names.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "_", "abstract", "assert", "boolean", "break", "byte", "case", "catch", "char", "class", "const", "continue",
    "default", "do", "double", "else", "enum", "extends", "false", "final", "finally", "float", "for", "goto", "if",
    "implements", "import", "instanceof", "int", "interface", "long", "native", "new", "null", "package", "private",
    "protected", "public", "return", "short", "static", "strictfp", "super", "switch", "synchronized", "this", "throw",
    "throws", "transient", "true", "try", "void", "volatile", "while",
];

/// Words that can be names, but not of classes.
const NOT_CLASSES: &[&str] = &["permits", "record", "sealed", "var", "yield"];

/// Fields that every generated class has for itself.
const FIELDS: &[&str] = &["LCM_FINGERPRINT", "LCM_FINGERPRINT_BASE", "_DEPTH"];

/// The class of a type.
pub(super) fn class(def: &TypeDef) -> String {
    escape(&escape(&def.name, KEYWORDS), NOT_CLASSES)
}

/// The parts of a type's package; Java wants one for every class that others use.
pub(super) fn package(def: &TypeDef, default: &str) -> Vec<String> {
    let package = if def.package.is_empty() {
        default
    } else {
        &def.package
    };
    package
        .split('.')
        .filter(|part| !part.is_empty())
        .map(|part| escape(part, KEYWORDS))
        .collect()
}

/// The field of a member or constant: its name, with underscores where Java or the class has that name.
pub(super) fn field(body: &Struct, name: &str) -> String {
    unique_in(body, name, free(name))
}

/// The constant of an enum's value.
pub(super) fn enum_value(name: &str) -> String {
    if name == "value" {
        format!("{name}_")
    } else {
        free(name)
    }
}

fn free(name: &str) -> String {
    escape(&escape(name, KEYWORDS), FIELDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(KEYWORDS.is_sorted());
        assert!(NOT_CLASSES.is_sorted());
        assert!(FIELDS.is_sorted());
    }
}
