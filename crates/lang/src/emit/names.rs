//! Names of types in languages that write them in `UpperCamel`.

use bowline_wire::schema::{TypeId, TypeSet};
use std::collections::{BTreeMap, BTreeSet};

/// The names of all types of a set, each unique in its package.
pub(super) struct TypeIdents {
    idents: Vec<String>,
    taken: BTreeMap<String, BTreeSet<String>>,
}

impl TypeIdents {
    /// Drops the `_t` of each name, unless that makes two the same or one that the language keeps for itself.
    pub(super) fn new(types: &TypeSet, is_reserved: impl Fn(&str) -> bool) -> Self {
        let mut n_users: BTreeMap<(&str, String), usize> = BTreeMap::new();
        for (_, def) in types.iter() {
            *n_users
                .entry((&def.package, camel_case(without_t(&def.name))))
                .or_default() += 1;
        }
        let mut names = Self {
            idents: Vec::with_capacity(types.len()),
            taken: BTreeMap::new(),
        };
        for (_, def) in types.iter() {
            let short = camel_case(without_t(&def.name));
            let is_alone = n_users.get(&(&*def.package, short.clone())) == Some(&1);
            let ident = if is_alone && !is_reserved(&short) {
                short
            } else {
                camel_case(&def.name)
            };
            let ident = if is_reserved(&ident) {
                format!("{ident}T")
            } else {
                ident
            };
            let ident = names.claim(&def.package, ident);
            names.idents.push(ident);
        }
        names
    }

    pub(super) fn ident(&self, id: TypeId) -> &str {
        self.idents.get(id.0 as usize).map_or("", String::as_str)
    }

    /// Takes a name in a package, with underscores added until it is free.
    pub(super) fn claim(&mut self, package: &str, ident: String) -> String {
        claim(self.taken.entry(package.to_string()).or_default(), ident)
    }
}

/// Takes a name, with underscores added until it is free.
pub(super) fn claim(taken: &mut BTreeSet<String>, mut name: String) -> String {
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

fn without_t(name: &str) -> &str {
    name.strip_suffix("_t")
        .filter(|short| !short.is_empty())
        .unwrap_or(name)
}

/// `gps_rmc` to `GpsRmc`; what is in capitals stays so.
pub(super) fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        // Two numbers side by side would run together.
        if part.starts_with(|c: char| c.is_ascii_digit())
            && camel.ends_with(|c: char| c.is_ascii_digit())
        {
            camel.push('_');
        }
        let mut chars = part.chars();
        camel.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        camel.push_str(chars.as_str());
    }
    if camel.is_empty() || camel.starts_with(|c: char| c.is_ascii_digit()) {
        camel.insert(0, 'T');
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_run_together_in_upper_camel() {
        let cases = [
            ("gps_rmc", "GpsRmc"),
            ("IMU_data", "IMUData"),
            ("v1_2", "V1_2"),
            ("_hidden", "Hidden"),
            ("_3d", "T3d"),
            ("_", "T"),
        ];
        for (name, expected) in cases {
            assert_eq!(camel_case(name), expected, "case {name:?}");
        }
    }
}
