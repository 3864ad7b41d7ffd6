//! Rust: a program of the generated modules and a table of their types.

use super::{Build, Language, driver_source, files_below, write_if_changed};
use crate::built::{rustc, wire};
use crate::dump::Bytes;
use crate::peers::run;
use bowline_wire::schema::{Dim, Type, TypeSet};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::Command;

pub(super) const RUST: Language = Language {
    name: "rust",
    lcm_gen: |_| panic!("the reference has no Rust"),
    switches: &[],
    build: |build| build.unless_built(&recipe(), || self::build(build)),
    command: |_, encoder, folder| {
        let mut command = Command::new(encoder.folder.join("driver"));
        command.arg(folder);
        command
    },
    bytes: Bytes::Unsigned,
    extras: &[],
};

fn build(build: &Build<'_>) {
    let driver = std::fs::read_to_string(driver_source("driver.rs"))
        .expect("the driver is beside this crate");
    let main = format!(
        "#![allow(dead_code)]\n#[path = \"code/mod.rs\"]\nmod code;\n\n{driver}\n{}",
        table(build)
    );
    write_if_changed(&build.folder.join("main.rs"), &main);
    run(rustc(&build.folder.join("main.rs"))
        .args(["--crate-name", "driver", "-C", "codegen-units=16", "-o"])
        .arg(build.folder.join("driver")));
}

/// How it is built: our library of the wire is part of it.
fn recipe() -> String {
    let library = std::fs::read(wire()).expect("cargo has built it");
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    format!("{:016x} {}", hasher.finish(), include_str!("rust.rs"))
}

/// The types by name, as the generated code itself names them: each with its owned and its borrowed Rust type.
fn table(build: &Build<'_>) -> String {
    let code = &build.code();
    let types = build.content.expect("known while building").types;
    let is_root: BTreeMap<String, bool> = build.structs().into_iter().collect();
    let mut rows = Vec::new();
    for path in files_below(code) {
        let module = path
            .strip_prefix(code)
            .expect("just found below it")
            .with_extension("");
        let module = module.to_string_lossy().replace('/', "::");
        let module = if module == "mod" {
            "code".to_string()
        } else {
            format!("code::{module}")
        };
        let text = std::fs::read_to_string(&path).expect("just written");
        let mut ident = "";
        for line in text.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("impl wire::Message for ") {
                ident = rest.trim_end_matches([' ', '{']);
            } else if let Some(name) = line.strip_prefix("const NAME: &'static str = ") {
                rows.push((
                    name.trim_matches(['"', ';']).to_string(),
                    format!("{module}::{ident}"),
                ));
            }
        }
    }
    rows.sort();
    let arms: String = rows
        .chunk_by(|one, two| one.0 == two.0)
        // Not enums, which are not asked about by themselves.
        .filter(|rows| is_root.contains_key(&rows[0].0))
        .map(|rows| {
            let (name, _) = &rows[0];
            let owned = rows
                .iter()
                .find(|(_, ty)| !ty.contains('<'))
                .map_or("", |(_, ty)| ty);
            let borrowed = rows.iter().find_map(|(_, ty)| ty.strip_suffix("<'_>"));
            match borrowed {
                _ if !is_root[name] => format!("        {name:?} => fingerprint::<{owned}>(),\n"),
                Some(borrowed) => {
                    let reuses = reuses_memory(types, name);
                    format!(
                        "        {name:?} => answer!({reuses}, {owned}, {borrowed}, message),\n"
                    )
                }
                None => {
                    let reuses = reuses_memory(types, name);
                    format!("        {name:?} => answer!({reuses}, {owned}, message),\n")
                }
            }
        })
        .collect();
    format!(
        "fn answer(name: &str, message: &[u8]) -> Result<Vec<u8>, String> {{\n    match name {{\n{arms}        _ => panic!(\"expected a known type, found {{name}}\"),\n    }}\n}}\n"
    )
}

/// Whether decoding into a value that had the same message allocates nothing: unless an array within has a length below
/// its first dimension, see `Message::decode_into`.
fn reuses_memory(types: &TypeSet, name: &str) -> bool {
    let mut left = vec![types.by_name(name).expect("it is built")];
    let mut seen = BTreeSet::new();
    while let Some(id) = left.pop() {
        let members = types.as_struct(id).map_or(&[][..], |body| &body.members);
        for member in members {
            let inner = member.dims.iter().skip(1);
            if inner.clone().any(|dim| matches!(dim, Dim::Variable { .. })) {
                return false;
            }
            if let Type::Named(id) = member.ty
                && seen.insert(id)
            {
                left.push(id);
            }
        }
    }
    true
}
