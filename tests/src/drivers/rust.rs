//! Rust: a crate of the generated modules and a table of their types.

use super::{Build, Language, driver_source, files_below, write_if_changed};
use crate::dump::Bytes;
use crate::peers::{run, workspace};
use std::collections::BTreeMap;
use std::process::Command;

pub(super) const RUST: Language = Language {
    name: "rust",
    lcm_gen: |_| panic!("the reference has no Rust"),
    switches: &[],
    build,
    command: |_, encoder, folder| {
        let mut command = Command::new(encoder.folder.join("target/debug/driver"));
        command.arg(folder);
        command
    },
    bytes: Bytes::Unsigned,
    extras: &[],
};

const MANIFEST: &str = r#"[package]
name = "driver"
version = "0.0.0"
edition = "2024"

[[bin]]
name = "driver"
path = "main.rs"

[dependencies]
bowline-wire = { path = "WIRE" }

[profile.dev]
debug = false
incremental = false
codegen-units = 16

[workspace]
"#;

fn build(build: &Build<'_>) {
    let wire = workspace().join("crates/wire");
    write_if_changed(
        &build.folder.join("Cargo.toml"),
        &MANIFEST.replace("WIRE", &wire.to_string_lossy()),
    );
    let driver = std::fs::read_to_string(driver_source("driver.rs"))
        .expect("the driver is beside this crate");
    let main = format!(
        "#![allow(dead_code)]\n#[path = \"code/mod.rs\"]\nmod code;\n\n{driver}\n{}",
        table(build)
    );
    write_if_changed(&build.folder.join("main.rs"), &main);
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--offline", "--target-dir", "target"])
        .current_dir(&build.folder);
    run(cargo
        .env_remove("CARGO_TARGET_DIR")
        .env("RUSTFLAGS", "-Dwarnings"));
}

/// The types by name, as the generated code itself says them: each with its owned and its borrowed Rust type.
fn table(build: &Build<'_>) -> String {
    let code = &build.code();
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
        // Not enums, which nobody asks about by themselves.
        .filter(|types| is_root.contains_key(&types[0].0))
        .map(|types| {
            let (name, _) = &types[0];
            let owned = types
                .iter()
                .find(|(_, ty)| !ty.contains('<'))
                .map_or("", |(_, ty)| ty);
            let borrowed = types.iter().find_map(|(_, ty)| ty.strip_suffix("<'_>"));
            match borrowed {
                _ if !is_root[name] => format!("        {name:?} => fingerprint::<{owned}>(),\n"),
                Some(borrowed) => {
                    format!("        {name:?} => answer!({owned}, {borrowed}, message),\n")
                }
                None => format!("        {name:?} => answer!({owned}, message),\n"),
            }
        })
        .collect();
    format!(
        "fn answer(name: &str, message: &[u8]) -> Result<Vec<u8>, String> {{\n    match name {{\n{arms}        _ => panic!(\"expected a known type, found {{name}}\"),\n    }}\n}}\n"
    )
}
