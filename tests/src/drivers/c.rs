//! C: one shared library for each maker, and one program that loads any two of them.

use super::{Build, Language, Maker, driver_source, files_below};
use crate::dump::Bytes;
use crate::peers::run;
use std::path::Path;
use std::process::Command;

pub(super) const C: Language = Language {
    name: "c",
    lcm_gen: |code| {
        let code = code.to_string_lossy();
        [
            "-c",
            "--c-no-pubsub",
            "--c-cpath",
            &code,
            "--c-hpath",
            &code,
        ]
        .map(str::to_string)
        .to_vec()
    },
    switches: &["c-no-pubsub"],
    build: |build| build.unless_built(include_str!("c.rs"), || self::build(build)),
    command: |decoder, encoder, folder| {
        let mut command = Command::new(encoder.folder.join("driver"));
        command
            .args([
                decoder.folder.join("types.so"),
                encoder.folder.join("types.so"),
            ])
            .arg(folder);
        command
    },
    bytes: Bytes::Unsigned,
    extras: &[],
};

fn build(build: &Build<'_>) {
    let code = build.code();
    let files = files_below(&code);
    let sources = files
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"));
    // One translation unit: the compiler starts once, and reads the headers once.
    let mut unit: String = sources.map(|path| format!("#include {path:?}\n")).collect();
    for (name, _) in build.structs() {
        let name = name.replace('.', "_");
        unit.push_str(&format!(
            "extern const int size_of_{name};\nconst int size_of_{name} = (int) sizeof({name});\n"
        ));
    }
    let path = build.folder.join("types.c");
    std::fs::write(&path, unit).expect("the target folder can be written");
    let warnings: &[&str] = match build.dialect.maker {
        Maker::Reference => &["-w"],
        Maker::Ours => &["-Wall", "-Wextra", "-Werror"],
    };
    let mut gcc = gcc(build, &code);
    run(gcc
        .args(["-shared", "-fPIC"])
        .args(warnings)
        .arg(path)
        .arg("-o")
        .arg(build.folder.join("types.so")));
    let mut gcc = Command::new("gcc");
    gcc.args([
        "-std=c99",
        "-O1",
        "-Wall",
        "-Wextra",
        "-D_POSIX_C_SOURCE=200809L",
    ]);
    run(gcc
        .arg(driver_source("driver.c"))
        .arg("-o")
        .arg(build.folder.join("driver"))
        .arg("-ldl"));
}

fn gcc(build: &Build<'_>, code: &Path) -> Command {
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-O0"])
        .arg("-I")
        .arg(code)
        .arg("-I")
        .arg(build.peers.include());
    gcc
}
