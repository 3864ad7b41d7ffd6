//! Types that another crate has: re-exported from there, so that both have one Rust type.

use super::super::EmitError;
use super::super::code::Code;
use super::REUSE;
use super::names::Names;
use bowline_wire::schema::{TypeDef, TypeId, TypeSet};
use std::collections::BTreeMap;

/// The modules of types, by full names of types and names of packages.
#[derive(Default)]
pub(super) struct Reuse<'s>(BTreeMap<&'s str, &'s str>);

impl<'s> Reuse<'s> {
    /// Reads `TYPE=MODULE,PACKAGE=MODULE`.
    pub(super) fn parse(text: &'s str, types: &TypeSet) -> Result<Self, EmitError> {
        let refused = |expected, found: &str| EmitError::Setting {
            setting: REUSE,
            expected,
            found: found.to_owned(),
        };
        let mut modules = BTreeMap::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let Some((name, module)) = part.split_once('=') else {
                return Err(refused("NAME=MODULE", part));
            };
            let is_there = types
                .iter()
                .any(|(_, def)| def.package == name || def.full_name() == name);
            if !is_there {
                return Err(refused("a type or a package of these files", name));
            }
            modules.insert(name, module);
        }
        Ok(Self(modules))
    }

    /// The module that has a type, unless it is to be generated.
    pub(super) fn module(&self, def: &TypeDef) -> Option<&'s str> {
        let of_type = self.0.get(def.full_name().as_str());
        of_type
            .or_else(|| self.0.get(def.package.as_str()))
            .copied()
    }
}

pub(super) fn print(code: &mut Code, names: &Names, id: TypeId, module: &str) {
    let ident = names.ident(id);
    if names.is_borrowable(id) {
        let borrowed = names.borrowed_ident(id);
        code.line(format!("pub use {module}::{{{ident}, {borrowed}}};"));
    } else {
        code.line(format!("pub use {module}::{ident};"));
    }
}
