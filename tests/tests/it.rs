//! Tests across crates, against the reference, and of the repository itself.

mod barn;
mod build_script;
mod cosimulation;
mod data;
mod datagrams;
mod drop_in;
mod dynamic;
mod examples;
mod extension_points;
mod faults;
mod fingerprints;
mod generated;
mod golden;
mod ground;
mod harbour;
mod hostile;
mod hubs_and_ports;
mod igvc;
mod inspect;
mod interop;
mod liblcm;
mod link;
mod logs;
mod logtools;
mod loss;
mod memory;
mod messages;
mod model;
mod ours;
mod packages;
mod player;
mod python;
mod recorder;
mod relay;
mod repo;
mod robots;
mod services;
mod shm;
mod sim;
mod spy;
mod transports;

use bowline_lang::{Rules, Source, compile};
use bowline_wire::schema::TypeSet;
use std::fs;
use std::path::Path;

/// The types in `types/`.
fn our_types() -> TypeSet {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../types");
    let entries = fs::read_dir(folder).expect("types/ is there");
    let paths = entries.map(|entry| entry.expect("types/ can be read").path());
    let read = |path: std::path::PathBuf| {
        Source::from_bytes(
            path.display().to_string(),
            &fs::read(&path).expect("a type can be read"),
        )
    };
    let compiled = compile(&paths.map(read).collect::<Vec<_>>(), &Rules::default());
    assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
    compiled.types
}
