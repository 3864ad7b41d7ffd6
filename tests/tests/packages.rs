//! What is published: crates that are whole, one version for all of them, a changelog in the usual form.
//!
//! `make packages` builds every package, and installs and uses each in a clean place; here is what costs seconds.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("the document is there")
}

fn manifest() -> toml::Table {
    read("Cargo.toml").parse().expect("Cargo.toml is TOML")
}

/// The version of the workspace: the one place where it is written for people to change.
fn version() -> String {
    let manifest = manifest();
    let version = manifest["workspace"]["package"]["version"].as_str();
    version.expect("the workspace has a version").to_owned()
}

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array_mut();
    std::mem::take(packages.expect("cargo lists packages"))
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("a package has a name")
}

/// `publish = false` is an empty list of registries.
fn published() -> Vec<Value> {
    let all = packages().into_iter();
    all.filter(|package| package["publish"].is_null()).collect()
}

fn texts<'v>(package: &'v Value, field: &str) -> Vec<&'v str> {
    let list = package[field].as_array().expect("a list");
    list.iter().filter_map(Value::as_str).collect()
}

#[test]
fn published_crates_are_those_below_crates_and_no_other() {
    let folders = fs::read_dir(root().join("crates")).expect("crates/ is there");
    let folders: BTreeSet<String> = folders
        .map(|folder| match folder.unwrap().file_name().to_str() {
            Some("bowline") => "bowline".to_owned(),
            name => format!("bowline-{}", name.unwrap()),
        })
        .collect();
    let published = published();
    let names: BTreeSet<String> = published.iter().map(|it| name(it).to_owned()).collect();
    assert_eq!(names, folders);
}

#[test]
fn published_crates_have_the_metadata_that_a_registry_shows() {
    for package in published() {
        let name = name(&package);
        for field in ["description", "license", "readme", "rust_version"] {
            let value = package[field].as_str().unwrap_or_default();
            assert!(!value.is_empty(), "{name} has no {field}");
        }
        // The registry refuses more, and other letters.
        let keywords = texts(&package, "keywords");
        assert!((1..=5).contains(&keywords.len()), "{name}: {keywords:?}");
        for keyword in keywords {
            let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(
                keyword.len() <= 20 && keyword.chars().all(allowed),
                "{name}: {keyword}"
            );
        }
        assert!(!texts(&package, "categories").is_empty(), "{name}");
        let folder = Path::new(package["manifest_path"].as_str().unwrap());
        let readme = fs::read_to_string(folder.with_file_name("README.md")).unwrap();
        assert_eq!(readme.lines().next(), Some(&*format!("# {name}")));
    }
}

/// A dependency on one of our crates that names no version: cargo leaves it out of what it publishes, which breaks
/// everything but tests.
fn is_left_out(dependency: &Value) -> bool {
    !dependency["path"].is_null() && dependency["req"] == "*"
}

/// The dependencies on our crates that a registry sees, those for tests among them.
fn needed_of_ours(package: &Value) -> impl Iterator<Item = &Value> {
    let needed = package["dependencies"].as_array().expect("a list").iter();
    needed.filter(|dependency| !dependency["path"].is_null() && !is_left_out(dependency))
}

#[test]
fn dependencies_without_a_version_are_for_tests_and_not_published() {
    let published = published();
    let names: BTreeSet<&str> = published.iter().map(name).collect();
    for package in &published {
        let needed = package["dependencies"].as_array().expect("a list").iter();
        for dependency in needed.filter(|dependency| is_left_out(dependency)) {
            let (package, dependency_name) = (name(package), name(dependency));
            assert_eq!(
                dependency["kind"], "dev",
                "{package} needs {dependency_name}, which its package leaves out"
            );
            assert!(
                !names.contains(dependency_name),
                "{package} needs {dependency_name} in no version, and it is published"
            );
        }
    }
}

#[test]
fn published_crates_need_only_published_crates_in_an_order_that_exists() {
    // With those for tests: the registry must know them too. Features decide nothing here.
    let mut waiting: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in published() {
        let ours = needed_of_ours(&package);
        let ours = ours.inspect(|dependency| {
            let requirement = dependency["req"].as_str().unwrap_or_default();
            assert_eq!(requirement, format!("^{}", version()), "{}", name(&package));
        });
        let names = ours.map(|dependency| name(dependency).to_owned());
        waiting.insert(name(&package).to_owned(), names.collect());
    }
    while !waiting.is_empty() {
        let ready = waiting
            .iter()
            .find(|(_, needs)| needs.iter().all(|need| !waiting.contains_key(need)));
        let Some((ready, _)) = ready else {
            panic!("none of these can be published before the others: {waiting:#?}");
        };
        let ready = ready.clone();
        waiting.remove(&ready);
    }
    let names: BTreeSet<String> = published().iter().map(|it| name(it).to_owned()).collect();
    for package in published() {
        for dependency in needed_of_ours(&package) {
            assert!(
                names.contains(name(dependency)),
                "{} needs {}, which is not published",
                name(&package),
                name(dependency)
            );
        }
    }
}

/// The files of a crate's package.
fn listed(package: &str) -> BTreeSet<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "-p"])
        .arg(package)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{package}: {errors}");
    let files = String::from_utf8(output.stdout).expect("names are UTF-8");
    files.lines().map(PathBuf::from).collect()
}

/// A path without `..`, which must not leave the folder that it starts in.
fn within(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(clean)
}

/// The files that a source file includes when it is compiled, as it names them.
fn included(source: &str) -> Vec<&str> {
    let after = ["include_str!(\"", "include_bytes!(\""];
    let quoted = |mark| {
        let pieces = source.split(mark).skip(1);
        pieces.filter_map(|piece: &str| Some(piece.split_once('"')?.0))
    };
    after.into_iter().flat_map(quoted).collect()
}

#[test]
fn packages_of_crates_hold_every_file_that_their_code_includes() {
    for package in published() {
        let name = name(&package);
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("");
        let files = listed(name);
        let has = |file: &str| files.contains(Path::new(file));
        for file in ["Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(has(file), "{name} is packaged without {file}");
        }
        assert!(has("src/lib.rs") || has("src/main.rs"), "{name}");
        for file in &files {
            let first = file.components().next().unwrap().as_os_str();
            let foreign = file
                .components()
                .any(|part| part.as_os_str() == "node_modules");
            assert!(
                first != "tests" && !foreign,
                "{name} is packaged with {}",
                file.display()
            );
            if file.extension().is_none_or(|it| it != "rs") {
                continue;
            }
            let source = fs::read_to_string(folder.join(file)).unwrap();
            for include in included(&source) {
                let target = within(&file.with_file_name("").join(include));
                assert!(
                    target.is_some_and(|target| files.contains(&target)),
                    "{name}: {} includes {include}, which its package has not",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn package_of_the_binary_holds_the_files_of_every_demo() {
    let files = listed("bowline");
    let source = read("crates/bowline/src/verbs/demo/show.rs");
    let shown: Vec<&str> = source
        .split("file!(\"")
        .skip(1)
        .filter_map(|piece| Some(piece.split_once('"')?.0))
        .collect();
    assert!(shown.contains(&"robots/harbour.toml"), "{shown:?}");
    for file in shown {
        assert!(files.contains(&Path::new("files").join(file)), "{file}");
    }
}

#[test]
fn package_of_the_station_holds_the_built_page() {
    let files = listed("bowline-station");
    let mut folders = vec![PathBuf::from("web/dist")];
    let mut n_files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join("crates/station").join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let file = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(file);
            } else {
                assert!(files.contains(&file), "{}", file.display());
                n_files += 1;
            }
        }
    }
    assert!(n_files > 3, "web/dist has {n_files} files");
}

#[test]
fn versions_are_the_same_in_every_place() {
    let version = version();
    for package in packages() {
        assert_eq!(package["version"], *version, "{}", name(&package));
    }
    let manifest = manifest();
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let published = published();
    let names: BTreeSet<&str> = published.iter().map(name).collect();
    for (name, dependency) in dependencies {
        let found = dependency.get("version").and_then(toml::Value::as_str);
        let expected = names.contains(&**name).then_some(&*version);
        assert_eq!(found, expected, "{name} in Cargo.toml");
    }
    let npm: Value = serde_json::from_str(&read("bindings/typescript/package.json")).unwrap();
    assert_eq!(npm["version"], *version, "bindings/typescript/package.json");
    let archive = format!("bowline-{version}-x86_64-linux.tar.gz");
    assert!(read("README.md").contains(&archive), "README.md: {archive}");
    let python: toml::Table = read("bindings/python/pyproject.toml").parse().unwrap();
    let project = python["project"].as_table().unwrap();
    assert!(
        !project.contains_key("version"),
        "maturin takes it from Cargo.toml"
    );
    assert_eq!(
        project["dynamic"].as_array().unwrap()[0].as_str(),
        Some("version")
    );
}

/// The kinds of changes that <https://keepachangelog.com> knows.
const KINDS: [&str; 6] = [
    "Added",
    "Changed",
    "Deprecated",
    "Removed",
    "Fixed",
    "Security",
];

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &&str, n| part.len() == n && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(&parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
}

#[test]
fn changelog_has_the_usual_form_and_its_newest_version_is_the_workspaces() {
    let text = read("CHANGELOG.md");
    let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
    assert_eq!(lines.next(), Some("# Changelog"));
    let mut versions = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            let (version, date) = heading.split_once(" - ").unwrap_or((heading, ""));
            let version = version
                .strip_prefix('[')
                .and_then(|it| it.strip_suffix(']'));
            let version = version.unwrap_or_else(|| panic!("expected ## [VERSION], found {line}"));
            assert!(
                is_date(date) || (version == "Unreleased" && date.is_empty()),
                "{line}"
            );
            versions.push((version, date, BTreeSet::new()));
        } else if let Some(kind) = line.strip_prefix("### ") {
            let (version, _, kinds) = versions.last_mut().expect("a version comes first");
            assert!(KINDS.contains(&kind), "{version}: {kind}");
            assert!(kinds.insert(kind), "{version} has {kind} twice");
            let next = lines.peek().copied().unwrap_or_default();
            assert!(next.starts_with("- "), "{version}: {kind} has no entries");
        } else if line.starts_with("- ") {
            let has_kind = versions
                .last()
                .is_some_and(|(_, _, kinds)| !kinds.is_empty());
            assert!(has_kind, "an entry without its kind: {line}");
        }
    }
    assert_eq!(versions.first().map(|it| it.0), Some("Unreleased"));
    let released: Vec<_> = versions.iter().skip(1).collect();
    assert_eq!(released.first().map(|it| it.0), Some(&*version()));
    let dates: Vec<&str> = released.iter().map(|it| it.1).collect();
    assert!(
        dates.is_sorted_by(|newer, older| newer >= older),
        "{dates:?}"
    );
}
