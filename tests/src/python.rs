//! Our Python module, installed as its users install it, and its own tests.
//!
//! `pip install` takes a minute or two when the module or a crate below it has changed, and nothing otherwise.

use crate::netns::Namespace;
use crate::peers::{Peers, run, workspace};
use bowline_lang::emit::{LANGUAGES, Settings, emit};
use bowline_lang::{Rules, Source, compile};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// What the module is made of. Its tests are not part of it.
const INGREDIENTS: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "bindings/python/Cargo.toml",
    "bindings/python/README.md",
    "bindings/python/bowline_bus.pyi",
    "bindings/python/pyproject.toml",
    "bindings/python/src",
    "crates/bus/Cargo.toml",
    "crates/bus/src",
    "crates/msgs/Cargo.toml",
    "crates/msgs/src",
    "crates/wire/Cargo.toml",
    "crates/wire/src",
    "tests/src/python.rs",
];

/// The types that both compilers make Python of.
const TYPES: &str = "bindings/python/tests/types/pose_t.lcm";

/// A Python that has our module.
#[derive(Debug)]
pub struct Python {
    folder: PathBuf,
}

impl Python {
    /// Installs the module below `target/`, unless the very same is installed.
    #[must_use]
    pub fn with_our_module(peers: &Peers) -> Self {
        static INSTALLING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        let python = Self {
            folder: workspace().join("target/python"),
        };
        let (stamp, path) = (stamp(), python.folder.join("installed"));
        if std::fs::read_to_string(&path).is_ok_and(|old| old == stamp) {
            return python;
        }
        if python.folder.exists() {
            std::fs::remove_dir_all(&python.folder).expect("the target folder can be written");
        }
        python.install();
        python.generate(peers);
        std::fs::write(path, stamp).expect("the target folder can be written");
        python
    }

    /// Runs a file of the module's tests in a network of its own, where loopback is not faster than the reference.
    pub fn run_tests(&self, peers: &Peers, module: &str) {
        let place = Namespace::new();
        place.limit_rate("lo", 1000);
        run(place
            .command(self.program())
            .args(["-B", "-m", "unittest", module])
            .current_dir(workspace().join("bindings/python/tests"))
            // The reference's module beside ours: both are for the same Python.
            .env("PYTHONPATH", peers.site_packages())
            .env("GENERATED", self.folder.join("generated")));
    }

    fn program(&self) -> PathBuf {
        self.folder.join("venv/bin/python")
    }

    fn install(&self) {
        let venv = self.folder.join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(venv));
        let pip = || {
            let mut pip = Command::new(self.program());
            pip.args(["-m", "pip", "install", "--quiet"]);
            pip.arg("--disable-pip-version-check");
            pip
        };
        run(pip().arg(workspace().join("bindings/python")));
        run(pip().arg("numpy"));
    }

    fn generate(&self, peers: &Peers) {
        let generated = self.folder.join("generated");
        let (reference, ours) = (generated.join("reference"), generated.join("ours"));
        let source = workspace().join(TYPES);
        std::fs::create_dir_all(&reference).expect("the target folder can be written");
        let mut lcm_gen = Command::new(peers.lcm_gen());
        run(lcm_gen.args(["-p", "--ppath"]).arg(reference).arg(&source));

        let text = std::fs::read(&source).expect("the types of the tests are there");
        let compiled = compile(&[Source::from_bytes(TYPES, &text)], &Rules::default());
        assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
        let language = LANGUAGES.iter().find(|language| language.name == "python");
        let language = language.expect("there is an emitter of Python");
        let mut settings = Settings::default();
        for dir in language.dirs {
            settings.set(dir, ours.to_string_lossy());
        }
        let files = emit(language, &compiled.types, &settings);
        for file in files.expect("the types of the tests have names that Python allows") {
            let folder = file.path.parent().expect("a file is in a folder");
            std::fs::create_dir_all(folder).expect("the target folder can be written");
            std::fs::write(&file.path, &file.text).expect("the target folder can be written");
        }
    }
}

/// What changes when anything does that the module is made of.
fn stamp() -> String {
    let mut hasher = DefaultHasher::new();
    for ingredient in INGREDIENTS.iter().chain([&TYPES]) {
        hash(&workspace().join(ingredient), &mut hasher);
    }
    format!("{:016x}\n", hasher.finish())
}

fn hash(path: &Path, hasher: &mut DefaultHasher) {
    path.hash(hasher);
    if !path.is_dir() {
        let bytes = std::fs::read(path);
        bytes
            .expect("what the module is made of is there")
            .hash(hasher);
        return;
    }
    let entries = std::fs::read_dir(path).expect("a source folder can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("a source folder can be read").path())
        .collect();
    paths.sort();
    for path in paths {
        hash(&path, hasher);
    }
}
