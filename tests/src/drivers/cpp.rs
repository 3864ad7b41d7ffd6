//! C++: headers, and tables of the types in a few files.

use super::{Build, Language, driver_source};
use crate::dump::Bytes;
use crate::peers::run;
use std::process::Command;

pub(super) const CPP: Language = Language {
    name: "cpp",
    lcm_gen: |code| {
        [
            "-x",
            "--cpp-std",
            "c++11",
            "--cpp-hpath",
            &code.to_string_lossy(),
        ]
        .map(str::to_string)
        .to_vec()
    },
    switches: &[],
    build: |build| build.unless_built(include_str!("cpp.rs"), || self::build(build)),
    command: |_, encoder, folder| {
        let mut command = Command::new(encoder.folder.join("driver"));
        command.arg(folder);
        command
    },
    bytes: Bytes::Unsigned,
    extras: &[],
};

/// How many types a file has: the compiler's memory grows with it.
const TYPES_PER_FILE: usize = 1000;

fn build(build: &Build<'_>) {
    let structs = build.structs();
    let mut externs = String::new();
    let mut tables = String::new();
    let mut sources = vec![driver_source("driver.cpp"), build.folder.join("tables.cpp")];
    for (place, structs) in structs.chunks(TYPES_PER_FILE).enumerate() {
        let include =
            |(name, _): &(String, bool)| format!("#include \"{}.hpp\"\n", name.replace('.', "/"));
        let includes: String = structs.iter().map(include).collect();
        let rows: String = structs.iter().map(row).collect();
        let text = format!(
            "{includes}#include \"driver.hpp\"\nextern const Row table{place}[];\nconst Row table{place}[] = {{\n{rows}    {{nullptr, nullptr}},\n}};\n"
        );
        externs.push_str(&format!("extern const Row table{place}[];\n"));
        tables.push_str(&format!("table{place}, "));
        sources.push(build.folder.join(format!("table{place}.cpp")));
        std::fs::write(&sources[place + 2], text).expect("the target folder can be written");
    }
    let text = format!(
        "#include \"driver.hpp\"\n{externs}extern const Row *const tables[];\nconst Row *const tables[] = {{{tables}nullptr}};\n"
    );
    std::fs::write(&sources[1], text).expect("the target folder can be written");
    let drivers = driver_source("driver.cpp");
    let mut gxx = Command::new("g++");
    gxx.args(["-std=c++11", "-O0", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(build.code());
    gxx.arg("-I")
        .arg(drivers.parent().expect("the driver is in a folder"))
        .arg("-I")
        .arg(build.peers.include());
    run(gxx.args(sources).arg("-o").arg(build.folder.join("driver")));
}

fn row((name, is_root): &(String, bool)) -> String {
    let function = if *is_root { "answer" } else { "fingerprint" };
    format!(
        "    {{\"{name}\", {function}<{}>}},\n",
        name.replace('.', "::")
    )
}
