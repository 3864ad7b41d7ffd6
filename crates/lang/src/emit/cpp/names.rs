//! Names in C++.

use super::super::c::names::{number_type, safe};
use bowline_wire::schema::{Primitive, Type, TypeDef, TypeSet};

/// What every class has besides its members, sorted.
const METHODS: &[&str] = &[
    "_computeHash",
    "_decodeNoHash",
    "_decodeWithin",
    "_encodeNoHash",
    "_getEncodedSizeNoHash",
    "decode",
    "encode",
    "getEncodedSize",
    "getHash",
    "getTypeName",
];

/// The name of a member or constant.
pub(super) fn field(name: &str) -> String {
    super::super::keywords::escape(&safe(name), METHODS)
}

/// The packages around a type, as namespaces.
pub(super) fn namespaces(def: &TypeDef) -> impl Iterator<Item = String> {
    def.package
        .split('.')
        .filter(|part| !part.is_empty())
        .map(safe)
}

/// A type's file, below the folder of all.
pub(super) fn path(def: &TypeDef) -> String {
    format!("{}.hpp", def.full_name().replace('.', "/"))
}

/// The part of macro names that distinguishes types.
pub(super) fn macro_stem(def: &TypeDef) -> String {
    def.full_name().replace('.', "_")
}

/// A type's name from anywhere: no namespace or member of the same name comes between.
pub(super) fn type_name(types: &TypeSet, ty: Type) -> String {
    match ty {
        Type::Primitive(Primitive::String) => "std::string".to_string(),
        Type::Primitive(primitive) => number_type(primitive).to_string(),
        Type::Named(id) => {
            let def = types.def(id);
            let outer: String = namespaces(def)
                .map(|namespace| format!("{namespace}::"))
                .collect();
            format!("::{outer}{}", safe(&def.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_do_not_hide_methods() {
        assert!(METHODS.is_sorted());
        assert_eq!(field("encode"), "encode_");
        assert_eq!(field("class"), "class_");
        assert_eq!(field("depth_m"), "depth_m");
    }
}
