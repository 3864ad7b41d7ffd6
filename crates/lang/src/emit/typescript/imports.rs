//! What a module takes from others, and under which names.

use super::super::Job;
use super::super::code::Code;
use super::super::names::{camel_case, claim};
use super::names::Modules;
use super::runtime_module;
use bowline_wire::schema::{Type, TypeId, TypeSet};
use std::collections::{BTreeMap, BTreeSet};

/// The types that a module names: its own and those that it imports.
pub(super) struct Imports {
    /// The names of types within this module.
    idents: BTreeMap<TypeId, String>,
    lines: Vec<String>,
}

impl Imports {
    pub(super) fn new(job: &Job<'_>, modules: &Modules, id: TypeId) -> Self {
        let types = job.types;
        let from = &types.def(id).package;
        let up = match from.split('.').filter(|part| !part.is_empty()).count() {
            0 => "./".to_string(),
            n_parts => "../".repeat(n_parts),
        };
        let mut idents = BTreeMap::from([(id, modules.ident(id).to_string())]);
        let mut taken = BTreeSet::from([modules.ident(id).to_string()]);
        let mut lines = vec![format!(
            "import * as wire from {};",
            runtime_module(job, &up)
        )];
        for inner in contained(types, id) {
            let (def, ident) = (types.def(inner), modules.ident(inner));
            // Another package may have a type of the same name: then the package is added to its name.
            let (local, as_local) = if taken.insert(ident.to_string()) {
                (ident.to_string(), String::new())
            } else {
                let local = claim(
                    &mut taken,
                    camel_case(&def.package.replace('.', "_")) + ident,
                );
                let as_local = format!(" as {local}");
                (local, as_local)
            };
            // An enum is only a type here; its values are for users.
            let kind = if types.as_struct(inner).is_some() {
                "import"
            } else {
                "import type"
            };
            let file = if def.package == *from {
                format!("./{}", modules.file_name(inner))
            } else {
                format!("{up}{}", modules.file(inner))
            };
            lines.push(format!(
                "{kind} {{ {ident}{as_local} }} from \"{file}.js\";"
            ));
            idents.insert(inner, local);
        }
        Self { idents, lines }
    }

    pub(super) fn print(&self, code: &mut Code) {
        self.lines.iter().for_each(|line| code.line(line));
    }

    /// The name of a type within this module.
    pub(super) fn ident(&self, id: TypeId) -> &str {
        self.idents.get(&id).map_or("", String::as_str)
    }

    pub(super) fn type_names(&self) -> impl Iterator<Item = &str> {
        self.idents.values().map(String::as_str)
    }
}

/// The types of a struct's members, without the struct itself.
fn contained(types: &TypeSet, id: TypeId) -> BTreeSet<TypeId> {
    let members = types.as_struct(id).map_or(&[][..], |body| &body.members);
    let named = members.iter().filter_map(|member| match member.ty {
        Type::Named(inner) => Some(inner),
        Type::Primitive(_) => None,
    });
    named.filter(|inner| *inner != id).collect()
}
