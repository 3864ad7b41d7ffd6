//! Makes copies of the bus that run under the explorer: one as it is, and one for each twin with its line weakened.
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
/// Files without locks or threads: twins have those of the faithful copy, which saves compiling them again.
const SHARED: &[&str] = &["counts.rs", "event.rs", "pattern.rs", "queue.rs", "url.rs"];
/// Modules that live off the system, and that no other module of the bus needs.
const LEFT_OUT: &[&str] = &["eventlog", "hub"];
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
    let sources = Sources {
        bus,
        promises: here,
    };
    let mut modules = String::new();
    let copies = std::iter::once(None).chain(TWINS.iter().map(Some));
    for twin in copies {
        let name = twin.map_or("faithful", |twin| twin.name);
        let folder = out.join("copies").join(name);
        sources.copy(&folder, name, twin)?;
        let path = folder.join("mod.rs");
        modules += &format!("#[path = {path:?}]\npub mod {name};\n");
    }
    modules += "pub const COPIES: &[(&str, &[(&str, fn())])] = &[\n";
    modules += "    (\"faithful\", faithful::promises::PROMISES),\n";
    for Twin { name, .. } in TWINS {
        modules += &format!("    ({name:?}, {name}::promises::PROMISES),\n");
    }
    modules += "];\n";
    fs::write(out.join("copies.rs"), modules)
}

struct Sources {
    bus: PathBuf,
    promises: PathBuf,
}

impl Sources {
    fn copy(&self, folder: &Path, name: &str, twin: Option<&Twin>) -> io::Result<()> {
        let mut is_weakened = twin.is_none();
        let mut write = |from: &Path, to: &str, prepare: &dyn Fn(String) -> String| {
            let mut text = fs::read_to_string(from)?;
            if let Some(twin) = twin.filter(|twin| from.ends_with(twin.file)) {
                text = twin.weaken(&text);
                is_weakened = true;
            }
            let to = folder.join(to);
            fs::create_dir_all(to.parent().unwrap_or(folder))?;
            fs::write(to, adapt(&prepare(text), name))
        };
        for file in rust_files(&self.bus)? {
            match file.as_str() {
                "lib.rs" => write(&self.bus.join(file), "mod.rs", &adapt_root)?,
                "sys.rs" => {}
                file if LEFT_OUT.iter().any(|module| file == format!("{module}.rs")) => {}
                shared
                    if twin.is_some_and(|twin| twin.file != shared && SHARED.contains(&shared)) =>
                {
                    let module = shared.trim_end_matches(".rs");
                    fs::write(
                        folder.join(shared),
                        format!("pub use crate::copies::faithful::{module}::*;\n"),
                    )?;
                }
                "transport.rs" => write(&self.bus.join(&file), &file, &adapt_transports)?,
                _ => write(&self.bus.join(&file), &file, &|text| text)?,
            }
        }
        let transport = format!("transport/{TRANSPORT}.rs");
        write(&self.bus.join(&transport), &transport, &|text| text)?;
        for file in rust_files(&self.promises.join("promises"))? {
            let file = format!("promises/{file}");
            write(&self.promises.join(&file), &file, &|text| text)?;
        }
        write(&self.promises.join("promises.rs"), "promises.rs", &|text| {
            text
        })?;
        fs::write(folder.join("sys.rs"), SYSTEM)?;
        assert!(is_weakened, "{name}: there is no such file to weaken");
        Ok(())
    }
}

impl Twin {
    fn weaken(&self, text: &str) -> String {
        let Self {
            name,
            file,
            strong,
            weak,
            ..
        } = self;
        let found = text.matches(strong).count();
        assert_eq!(
            found, 1,
            "the twin `{name}` weakens one place of {file}, and expected to find once:\n{strong}"
        );
        text.replace(strong, weak)
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
        while kept.last().is_some_and(|above| above.starts_with("#[")) {
            kept.pop();
        }
    }
    kept.join("\n") + "\n"
}

/// The table of transports with one row.
fn adapt_transports(text: String) -> String {
    let text = without(&text, |line| {
        line.starts_with("pub mod ") && line != format!("pub mod {TRANSPORT};")
    });
    let (before, table) = text.split_once("    Scheme {").expect("there are rows");
    let (rows, after) = table.split_once("\n];").expect("the table ends");
    let row = rows
        .split("    Scheme {")
        .find(|row| row.contains(&format!("name: {TRANSPORT:?}")))
        .expect("the transport has a row");
    format!("{before}    Scheme {{{row}\n];{after}")
}
