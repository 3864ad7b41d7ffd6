//! The repository itself: documents that are true, dependencies as drawn, files of a readable size.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("the document is there")
}

/// Our crates and which of our crates each depends on, for its build too, not counting those for its own tests.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"]
        .as_array()
        .expect("cargo lists packages");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let of = |package: &Value| {
        let dependencies = package["dependencies"]
            .as_array()
            .expect("cargo lists dependencies");
        let ours = dependencies
            .iter()
            .filter(|dependency| dependency["kind"] != "dev");
        ours.map(|dependency| text(&dependency["name"]))
            .filter(|name| name.starts_with("bowline"))
            .collect()
    };
    packages
        .iter()
        .map(|package| (text(&package["name"]), of(package)))
        .collect()
}

#[test]
fn crates_depend_on_each_other_as_in_the_architecture() {
    let document = read("ARCHITECTURE.md");
    let (_, table) = document
        .split_once("| crate | depends on |")
        .expect("ARCHITECTURE.md has the table");
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let name = cells.next()?.to_string();
        let others = cells
            .next()?
            .split(',')
            .map(str::trim)
            .filter(|other| !other.is_empty());
        Some((name, others.map(str::to_string).collect::<BTreeSet<_>>()))
    };
    let drawn: BTreeMap<_, _> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .filter_map(row)
        .collect();
    assert_eq!(dependencies(), drawn);
}

/// How many of our crates are in the longest chain of dependencies: what a change below makes cargo build one after another.
const MAX_DEPTH: usize = 6;

#[test]
fn crates_are_in_short_chains() {
    fn depth(name: &str, all: &BTreeMap<String, BTreeSet<String>>) -> usize {
        let below = all.get(name).into_iter().flatten();
        1 + below.map(|it| depth(it, all)).max().unwrap_or(0)
    }
    let all = dependencies();
    assert!(all.len() > 10, "only {} crates were found", all.len());
    for name in all.keys() {
        let found = depth(name, &all);
        assert!(
            found <= MAX_DEPTH,
            "{name} stands on a chain of {found} crates, expected at most {MAX_DEPTH}"
        );
    }
}

/// The files of tests, and the file that makes them one program.
fn test_modules() -> Vec<(PathBuf, Vec<PathBuf>)> {
    let output = Command::new("git")
        .args(["ls-files", "*.rs"])
        .current_dir(root())
        .output()
        .expect("git runs");
    let listed = String::from_utf8(output.stdout).expect("our paths are text");
    let files: Vec<PathBuf> = listed.lines().map(PathBuf::from).collect();
    let is_program = |path: &Path| {
        path.ends_with("tests/it.rs")
            || path.ends_with("tests/it/main.rs")
            || path.ends_with("tests/gate.rs")
    };
    let programs = files.iter().filter(|path| is_program(path));
    programs
        .map(|program| {
            let folder = program.parent().expect("it is in a folder");
            let beside = folder.join(program.file_stem().expect("it has a name"));
            let of_program = files.iter().filter(|path| {
                let parent = path.parent();
                let is_beside = program.ends_with("main.rs") || program.starts_with("tests");
                *path != program && (parent == Some(&beside) || is_beside && parent == Some(folder))
            });
            (program.clone(), of_program.cloned().collect())
        })
        .collect()
}

#[test]
fn files_of_tests_are_part_of_a_program() {
    let programs = test_modules();
    let n_files: usize = programs.iter().map(|(_, files)| files.len()).sum();
    assert!(n_files > 100, "only {n_files} files of tests were found");
    for (program, files) in programs {
        let mut text = read(program.to_str().expect("our paths are text"));
        // A program that tests start has a file of its own there, and may have modules.
        let started = program.with_extension("").join("process.rs");
        if root().join(&started).exists() {
            text += &read(started.to_str().expect("our paths are text"));
        }
        for file in files {
            let name = file.file_stem().and_then(|it| it.to_str()).expect("text");
            let is_module = text.contains(&format!("mod {name};"));
            let is_binary = file.ends_with("it/process.rs");
            assert!(
                is_module || is_binary,
                "{} is not compiled: {} has no `mod {name};`",
                file.display(),
                program.display()
            );
        }
    }
}

#[test]
fn paths_in_the_documents_exist() {
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        for quoted in read(name).split('`').skip(1).step_by(2) {
            let is_path = quoted.contains('/')
                && !quoted.contains("://")
                && !quoted.contains([' ', '*', '(', '"', '<', '\n']);
            let places = [
                "",
                "crates/bus/src/",
                "crates/lang/src/",
                "crates/wire/src/",
            ];
            assert!(
                !is_path
                    || places
                        .iter()
                        .any(|place| root().join(place).join(quoted).exists()),
                "{name} speaks of `{quoted}`, which is not there"
            );
        }
    }
}

#[test]
fn every_crate_is_on_the_map() {
    let document = read("ARCHITECTURE.md");
    for folder in fs::read_dir(root().join("crates")).expect("crates/ is there") {
        let name = folder.expect("crates/ can be read").file_name();
        let heading = format!("### `crates/{}`", name.to_string_lossy());
        assert!(
            document.contains(&heading),
            "ARCHITECTURE.md has no heading {heading}"
        );
    }
}

#[test]
fn document_of_extending_names_every_library_of_the_facade() {
    let facade = read("crates/bowline/src/lib.rs");
    let libraries: Vec<&str> = facade
        .lines()
        .filter_map(|line| line.strip_prefix("pub use bowline_")?.split_once(" as "))
        .map(|(_, name)| name.trim_end_matches(';'))
        .collect();
    assert!(libraries.contains(&"operator"), "{libraries:?}");
    let document = read("docs/extend.md");
    for library in libraries {
        let row = format!("| `bowline::{library}` |");
        assert!(document.contains(&row), "docs/extend.md has no row {row}");
    }
}

#[test]
fn document_of_examples_names_every_folder() {
    let document = read("examples/README.md");
    for entry in fs::read_dir(root().join("examples")).expect("examples/ is there") {
        let path = entry.expect("examples/ can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let row = format!("| `{name}/` |");
        assert!(
            !path.is_dir() || document.contains(&row),
            "examples/README.md has no row {row}"
        );
    }
}

#[test]
fn source_files_are_of_a_readable_size() {
    let mut folders = vec![
        root().join("bindings"),
        root().join("crates"),
        root().join("bench"),
        root().join("examples"),
        root().join("tests"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a source folder can be read") {
            let path = entry.expect("a source folder can be read").path();
            if path.is_dir()
                && path
                    .file_name()
                    .is_none_or(|name| name != "generated" && name != "target")
            {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let n_lines = fs::read_to_string(&path)
                    .expect("a source file can be read")
                    .lines()
                    .count();
                assert!(
                    n_lines <= 700,
                    "{} has {n_lines} lines: split it by concern",
                    path.display()
                );
            }
        }
    }
}

/// The crates that one of ours is compiled with, itself included, with those features.
fn compiled_with(package: &str, features: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}", "--offline"])
        .args(features)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8(output.stdout).expect("cargo prints text");
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// What the author of a component compiles: bytes, text and tables, and what derives need. Nothing that opens a file, a
/// socket or a process.
const COMPONENT_NEEDS: &[&str] = &[
    "base64",
    "bowline-component",
    "bowline-msgs",
    "bowline-wire",
    "bytes",
    "itoa",
    "memchr",
    "proc-macro2",
    "quote",
    "serde",
    "serde_core",
    "serde_json",
    "serde_spanned",
    "syn",
    "thiserror",
    "thiserror-impl",
    "toml",
    "toml_datetime",
    "toml_parser",
    "toml_writer",
    "unicode-ident",
    "winnow",
    "xxhash-rust",
    "zmij",
];

#[test]
fn component_is_compiled_with_the_listed_crates_alone() {
    let expected: BTreeSet<String> = COMPONENT_NEEDS.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(
        compiled_with("bowline-component", &["--all-features"]),
        expected
    );
}

#[test]
fn component_uses_no_files_sockets_processes_or_threads() {
    let mut n_files = 0;
    let mut folders = vec![root().join("crates/component/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a source folder can be read") {
            let path = entry.expect("a source folder can be read").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            n_files += 1;
            let text = fs::read_to_string(&path).expect("a source file can be read");
            for (number, line) in text.lines().enumerate() {
                // Grouped imports have the modules after a brace: `use std::{fs, io};`.
                let of_std = line.split_once("std::").map_or("", |(_, rest)| rest);
                let words = of_std.split(|c: char| !c.is_alphanumeric() && c != '_');
                let is_grouped = of_std.starts_with('{');
                let mut reached = words.filter(|it| !it.is_empty());
                let refused = ["fs", "net", "os", "process", "thread"];
                let is_refused = if is_grouped {
                    reached.any(|word| refused.contains(&word))
                } else {
                    reached.next().is_some_and(|word| refused.contains(&word))
                };
                assert!(
                    !is_refused,
                    "{}:{}: expected nothing of std that reaches the system, found {line:?}",
                    path.display(),
                    number + 1
                );
            }
        }
    }
    assert!(n_files > 20, "only {n_files} source files were found");
}

#[test]
fn wire_needs_nothing_but_core_and_alloc() {
    assert_eq!(
        compiled_with("bowline-wire", &[]),
        BTreeSet::from(["bowline-wire".to_owned()])
    );

    // A program with an allocator and a panic handler of its own: it cannot be built if anything needs `std`.
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--manifest-path"])
        .arg(root().join("tests/no_std/Cargo.toml"))
        .arg("--target-dir")
        .arg(root().join("target/no_std"))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "bowline-wire does not build without std");
}

#[test]
fn document_of_buses_names_every_transport_with_its_options() {
    let document = read("docs/bus.md");
    for row in bowline_bus::Schemes::built_in().iter() {
        let start = format!("| `{}://", row.name);
        let line = document.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("docs/bus.md has no row for {}", row.name));
        for option in row.options {
            let quoted = format!("`{}`", option.name);
            assert!(
                line.contains(&quoted),
                "{}: no {quoted} in docs/bus.md",
                row.name
            );
        }
    }
    for option in bowline_bus::COMMON_OPTIONS {
        let quoted = format!("`{}=", option.name);
        assert!(document.contains(&quoted), "no {quoted} in docs/bus.md");
    }
}

/// The lines that `scripts/mutants` prints.
fn mutants(args: &[&str]) -> Vec<String> {
    let mut command = Command::new(root().join("scripts/mutants"));
    let output = command.args(args).output().expect("bash is there");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    let printed = String::from_utf8(output.stdout).expect("names are text");
    printed.lines().map(str::to_owned).collect()
}

#[test]
fn rows_of_mutants_have_files_and_tests_that_exist() {
    let rows = mutants(&["--list"]);
    assert!(rows.iter().any(|row| row == "gate"), "{rows:?}");
    for row in rows {
        let files = mutants(&["--files", &row]);
        assert!(files.len() > 1, "{row}: {files:?}");
    }
}
