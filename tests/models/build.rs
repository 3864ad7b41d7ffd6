//! Makes two copies of the bus that run under the explorer: one as it is, and one whose lines the twins can weaken.
//!
//! A copy is the bus's own text with other paths: locks, threads, clocks and descriptors are those of `src/kernel.rs`.
//! So the bus needs no word about models, and a model cannot drift away from what it models.

#[path = "twins.rs"]
#[allow(dead_code, reason = "which promise breaks is for the test to know")]
mod twins;

use std::path::{Path, PathBuf};
use std::{env, fs, io};
use twins::{TWINS, Twin};

/// What copies have instead of what the bus uses. In this order.
const PATHS: &[(&str, &str)] = &[
    ("std::sync", "crate::kernel::sync"),
    ("std::thread", "shuttle::thread"),
    ("std::os::fd", "crate::kernel::fd"),
    ("std::time", "crate::kernel::time"),
];
/// Patience that copies have less of, so that few turns exhaust it.
const BOUNDS: &[(&str, &str)] = &[("const VAIN_LOOKS: u32 = 16;", "const VAIN_LOOKS: u32 = 1;")];
/// The only file of the bus that is replaced: the system.
const SYSTEM: &str = "pub use crate::kernel::Flag;\n";
/// Modules that live off the system, and that no other module of the bus needs.
const LEFT_OUT: &[&str] = &["hub"];
/// The only transport that needs no system.
const TRANSPORT: &str = "memq";

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let bus = here.join("../../crates/bus/src");
    for (bound, _) in BOUNDS {
        let pump = fs::read_to_string(bus.join("pump.rs"))?;
        assert!(pump.contains(bound), "expected to find in pump.rs: {bound}");
    }
    for input in [
        &bus,
        &here.join("promises"),
        &here.join("promises.rs"),
        &here.join("twins.rs"),
    ] {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    for twin in TWINS {
        assert!(
            bus.join(twin.file).exists(),
            "{}: there is no {}",
            twin.name,
            twin.file
        );
    }
    let sources = Sources { bus, here };
    let mut modules = String::new();
    for (name, twins) in [("faithful", &[] as &[Twin]), ("weakened", TWINS)] {
        let folder = out.join("copies").join(name);
        sources.copy(&folder, name, twins)?;
        let path = folder.join("mod.rs");
        modules += &format!("#[path = {path:?}]\npub mod {name};\n");
    }
    fs::write(out.join("copies.rs"), modules)
}

struct Sources {
    bus: PathBuf,
    here: PathBuf,
}

impl Sources {
    fn copy(&self, folder: &Path, name: &str, twins: &[Twin]) -> io::Result<()> {
        let write = |base: &Path, file: &str, to: &str, prepare: fn(String) -> String| {
            let mut text = fs::read_to_string(base.join(file))?;
            for twin in twins.iter().filter(|twin| twin.file == file) {
                text = twin.build_in(&text);
            }
            let to = folder.join(to);
            fs::create_dir_all(to.parent().unwrap_or(folder))?;
            fs::write(to, adapt(&prepare(text), name))
        };
        for file in rust_files(&self.bus)? {
            match file.trim_end_matches(".rs") {
                "lib" => write(&self.bus, &file, "mod.rs", adapt_root)?,
                "transport" => write(&self.bus, &file, &file, with_one_transport)?,
                "schemes" => write(&self.bus, &file, &file, with_one_row)?,
                "sys" => fs::write(folder.join(file), SYSTEM)?,
                module if LEFT_OUT.contains(&module) => {}
                _ => write(&self.bus, &file, &file, |text| text)?,
            }
        }
        for module in [TRANSPORT, "slot"] {
            let file = format!("transport/{module}.rs");
            write(&self.bus, &file, &file, |text| text)?;
        }
        for file in ["promises.rs", "promises/network.rs"] {
            write(&self.here, file, file, |text| text)?;
        }
        Ok(())
    }
}

impl Twin {
    fn build_in(&self, text: &str) -> String {
        let Self { name, file, .. } = self;
        let found = text.matches(self.strong).count();
        assert_eq!(
            found, 1,
            "the twin `{name}` weakens one place of {file}, and expected to find once:\n{}",
            self.strong
        );
        let is_weak = format!("crate::kernel::is_weak({name:?})");
        text.replace(self.strong, &self.weak.replace("WEAK", &is_weak))
    }
}

fn rust_files(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".rs") {
            files.push(name);
        }
    }
    files.sort();
    Ok(files)
}

fn adapt(text: &str, name: &str) -> String {
    let mut text = text.replace("crate::", &format!("crate::copies::{name}::"));
    for (from, to) in PATHS.iter().chain(BOUNDS) {
        text = text.replace(from, to);
    }
    text
}

/// The list of modules, without what belongs at the top of a crate.
fn adapt_root(text: String) -> String {
    let is_kept = |line: &&str| !line.starts_with("//!") && !line.starts_with("#![");
    let text: String = text
        .lines()
        .filter(is_kept)
        .map(|line| format!("{line}\n"))
        .collect();
    let is_left_out = |line: &str| {
        let of = |module: &&&str| {
            line == format!("pub mod {module};") || line.starts_with(&format!("pub use {module}::"))
        };
        LEFT_OUT.iter().find(of).is_some()
    };
    let root = without(&text, is_left_out).replace("\nmod ", "\npub mod ");
    root + "pub mod promises;\npub use super::super::kernel;\n"
}

/// Without some lines, and the attributes above them.
fn without(text: &str, is_left_out: impl Fn(&str) -> bool) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in text.lines() {
        if !is_left_out(line) {
            kept.push(line);
            continue;
        }
        while kept
            .last()
            .is_some_and(|above| above.trim_start().starts_with("#["))
        {
            kept.pop();
        }
    }
    kept.join("\n") + "\n"
}

/// The modules of transports, of which there is one.
fn with_one_transport(text: String) -> String {
    without(&text, |line| {
        line.starts_with("pub mod ") && line != format!("pub mod {TRANSPORT};")
    })
}

/// The table of transports with one row.
fn with_one_row(text: String) -> String {
    let row = format!("&transport::{TRANSPORT}::SCHEME,");
    without(&text, |line| {
        let line = line.trim_start();
        line.starts_with("&transport::") && line != row
    })
}
