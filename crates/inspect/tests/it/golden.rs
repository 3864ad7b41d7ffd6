//! The messages that were recorded from the reference, and all types of the project.

use bowline_lang::{Rules, Source, compile};
use bowline_wire::schema::TypeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn messages() -> Vec<Golden> {
    let text = fs::read_to_string(root().join("tests/golden/messages.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let read = |row: &toml::Value| Golden {
        name: row["type"].as_str().unwrap().into(),
        bytes: unhex(row["bytes"].as_str().unwrap()),
    };
    table["message"]
        .as_array()
        .unwrap()
        .iter()
        .map(read)
        .collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes().chunks_exact(2).map(byte).collect()
}

/// The project's types and those of the golden messages.
pub(crate) fn types() -> TypeSet {
    let mut sources = Vec::new();
    for folder in ["tests/golden", "types"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "lcm") {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                sources.push(Source::from_bytes(name, &fs::read(&path).unwrap()));
            }
        }
    }
    compile(&sources, &Rules::default()).types
}

/// Types from text, for a test that needs its own.
pub(crate) fn types_of(text: &str) -> TypeSet {
    let compiled = compile(
        &[Source::from_bytes("test.lcm", text.as_bytes())],
        &Rules::default(),
    );
    assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
    compiled.types
}
