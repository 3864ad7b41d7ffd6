//! TypeScript's names for types, modules, fields and variables.
//!
//! Keywords are fine as names of fields, so `message.class` stays as it is. A name gets an underscore only where it
//! would hide something: a method of the class, or a variable.

use super::super::names::{TypeIdents, claim};
use bowline_wire::schema::{Enum, Struct, TypeId, TypeSet};
use std::collections::{BTreeMap, BTreeSet};

/// Names that the language's library has, and that the root's `index.ts` exports.
#[rustfmt::skip]
const STANDARD: &[&str] = &[
    "Array", "ArrayBuffer", "BigInt", "BigInt64Array", "Boolean", "DataView", "Date", "DecodeError", "EncodeError",
    "Error", "Float32Array", "Float64Array", "Function", "Infinity", "Int16Array", "Int32Array", "Int8Array", "JSON",
    "Map", "Math", "NaN", "Number", "Object", "Promise", "Proxy", "Set", "String", "Symbol", "Uint8Array",
];

/// Words that cannot name a variable.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "arguments", "as", "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default",
    "delete", "do", "else", "enum", "eval", "export", "extends", "false", "finally", "for", "from", "function", "if",
    "implements", "import", "in", "instanceof", "interface", "let", "new", "null", "of", "package", "private",
    "protected", "public", "return", "static", "super", "switch", "this", "throw", "true", "try", "type", "typeof",
    "undefined", "var", "void", "while", "with", "yield",
];

/// What a message has besides its fields: its methods, and what every object has.
#[rustfmt::skip]
const METHODS: &[&str] = &[
    "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor", "encode",
    "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf", "withLengths",
];

/// What a class has besides its constants.
#[rustfmt::skip]
const STATICS: &[&str] = &[
    "FINGERPRINT", "NAME", "arguments", "caller", "constructor", "decode", "length", "name", "prototype", "read", "write",
];

/// The parameters of generated functions, and the codec's module.
const PARAMETERS: &[&str] = &["at", "reader", "wire"];

/// The names and places of all types of a set.
pub(super) struct Modules {
    idents: TypeIdents,
    file_names: Vec<String>,
    files: Vec<String>,
}

impl Modules {
    pub(super) fn new(types: &TypeSet) -> Self {
        let idents = TypeIdents::new(types, |ident| STANDARD.contains(&ident));
        let mut taken = BTreeMap::new();
        let (mut file_names, mut files) = (Vec::new(), Vec::new());
        for (_, def) in types.iter() {
            let is_root = def.package.is_empty();
            let others = taken
                .entry(&def.package)
                .or_insert_with(|| names_of_files(is_root));
            let name = claim_file(others, &def.name);
            files.push(if is_root {
                name.clone()
            } else {
                format!("{}/{name}", def.package.replace('.', "/"))
            });
            file_names.push(name);
        }
        Self {
            idents,
            file_names,
            files,
        }
    }

    /// The name of the class or enum.
    pub(super) fn ident(&self, id: TypeId) -> &str {
        self.idents.ident(id)
    }

    /// The file's name in the folder of its package, without its extension.
    pub(super) fn file_name(&self, id: TypeId) -> &str {
        self.file_names
            .get(id.0 as usize)
            .map_or("", String::as_str)
    }

    /// The file from the root, without its extension.
    pub(super) fn file(&self, id: TypeId) -> &str {
        self.files.get(id.0 as usize).map_or("", String::as_str)
    }

    /// The name under which a package exports another within it.
    pub(super) fn package(&self, types: &TypeSet, outer: &str, short: &str) -> String {
        let mut beside: BTreeSet<String> = KEYWORDS.iter().map(ToString::to_string).collect();
        let of_outer = types.iter().filter(|(_, def)| def.package == outer);
        beside.extend(of_outer.map(|(id, _)| self.ident(id).to_string()));
        claim(&mut beside, short.to_string())
    }
}

/// The files that are in a folder besides those of types.
fn names_of_files(is_root: bool) -> BTreeSet<String> {
    let runtime = is_root.then_some("bowline");
    runtime
        .into_iter()
        .chain(["index"])
        .map(str::to_string)
        .collect()
}

/// Takes a file's name, which must differ from others by more than its case: not every file system sees that.
fn claim_file(taken: &mut BTreeSet<String>, name: &str) -> String {
    let claimed = claim(taken, name.to_ascii_lowercase());
    let underscores = claimed.len().saturating_sub(name.len());
    format!("{name}{}", "_".repeat(underscores))
}

/// The names of a struct's members.
pub(super) struct Members {
    fields: Vec<String>,
    locals: Vec<String>,
    taken: BTreeSet<String>,
}

impl Members {
    /// `type_names` are the types that the module names, which a variable must not hide.
    pub(super) fn new<'n>(body: &Struct, type_names: impl Iterator<Item = &'n str>) -> Self {
        let names: Vec<&str> = body.members.iter().map(|member| &*member.name).collect();
        let hidden = KEYWORDS.iter().chain(PARAMETERS).copied().chain(type_names);
        let mut taken: BTreeSet<String> = hidden.map(str::to_string).collect();
        let locals = names
            .iter()
            .map(|name| claim(&mut taken, name.to_string()))
            .collect();
        Self {
            fields: apart_from(METHODS, &names),
            locals,
            taken,
        }
    }

    /// The names of the fields of the class.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(String::as_str)
    }

    /// The name of the field of the member at `place`.
    pub(super) fn field(&self, place: usize) -> &str {
        self.fields.get(place).map_or("", String::as_str)
    }

    /// The variable that holds the member at `place` while a message is read.
    pub(super) fn local(&self, place: usize) -> &str {
        self.locals.get(place).map_or("", String::as_str)
    }

    /// A name for a variable that hides no other.
    pub(super) fn fresh(&self, name: &str) -> String {
        let mut name = name.to_string();
        while self.taken.contains(&name) {
            name.push('_');
        }
        name
    }
}

/// The names of a struct's constants.
pub(super) fn statics(body: &Struct) -> Vec<String> {
    apart_from(
        STATICS,
        &body
            .constants
            .iter()
            .map(|constant| &*constant.name)
            .collect::<Vec<_>>(),
    )
}

/// The names of an enum's values.
pub(super) fn enum_values(body: &Enum) -> Vec<String> {
    apart_from(
        &["__proto__"],
        &body
            .values
            .iter()
            .map(|value| &*value.name)
            .collect::<Vec<_>>(),
    )
}

/// The names, with underscores added to those that are reserved until they are unique.
fn apart_from(reserved: &[&str], names: &[&str]) -> Vec<String> {
    let mut taken: BTreeSet<String> = reserved
        .iter()
        .chain(names)
        .map(ToString::to_string)
        .collect();
    let escape = |name: &&str| {
        let name = name.to_string();
        if reserved.contains(&&*name) {
            claim(&mut taken, name)
        } else {
            name
        }
    };
    names.iter().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_hides_no_method_and_no_other_field() {
        let fields = apart_from(METHODS, &["encode", "encode_", "class", "toString"]);
        assert_eq!(fields, ["encode__", "encode_", "class", "toString_"]);
    }

    #[test]
    fn files_differ_by_more_than_their_case() {
        let mut taken = names_of_files(true);
        let names = ["index", "Index", "pose_t", "Pose_t", "bowline"];
        let files = names.map(|name| claim_file(&mut taken, name));
        assert_eq!(
            files,
            ["index_", "Index__", "pose_t", "Pose_t_", "bowline_"]
        );
    }
}
