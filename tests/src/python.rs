//! Our Python module, as cargo built it beside the tests, and its own tests.
//!
//! It lies in a package like that of its wheel; `make packages` proves that the wheel can be installed.

use crate::built::built;
use crate::netns::Namespace;
use crate::peers::{Peers, run, workspace};
use bowline_lang::emit::{LANGUAGES, Settings, emit};
use bowline_lang::{Rules, Source, compile};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// What makes a package of the library, as maturin writes it.
const INIT: &str = "from .bowline_bus import *\n\n__doc__ = bowline_bus.__doc__\n";

/// The types that both compilers make Python of.
const TYPES: [&str; 4] = [
    "bindings/python/tests/types/pose_t.lcm",
    "types/step_done_t.lcm",
    "types/step_ready_t.lcm",
    "types/step_request_t.lcm",
];

/// The reference's Python, with our module and the code of both compilers.
#[derive(Debug)]
pub struct Python {
    folder: TempDir,
}

impl Python {
    /// Puts the module and the code into a folder of their own.
    #[must_use]
    pub fn with_our_module(peers: &Peers) -> Self {
        let folder = TempDir::new().expect("a scratch folder can be made");
        let python = Self { folder };
        python.pack();
        python.generate(peers);
        python
    }

    /// The folder with our module, for `PYTHONPATH`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a file of the module's tests in a network of its own, where loopback is not faster than the reference.
    pub fn run_tests(&self, peers: &Peers, module: &str) {
        let place = Namespace::new();
        place.limit_rate("lo", 1000);
        let output = place
            .command(peers.python())
            .args(["-B", "-m", "unittest", module])
            .current_dir(workspace().join("bindings/python/tests"))
            .env("PYTHONPATH", self.folder.path())
            .env("GENERATED", self.folder.path().join("generated"))
            .output()
            .expect("nsenter is there");
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{module}: {report}");
        let n_run = report.lines().find_map(|line| line.strip_prefix("Ran "));
        println!("{module}: {}", n_run.unwrap_or("no report"));
        assert!(n_run.is_some_and(|n| !n.starts_with("0 ")), "{report}");
    }

    fn pack(&self) {
        let package = self.folder.path().join("bowline_bus");
        let source = workspace().join("bindings/python");
        let write = |name: &str, text: &[u8]| {
            std::fs::write(package.join(name), text).expect("a scratch folder can be written");
        };
        std::fs::create_dir(&package).expect("a scratch folder can be written");
        write("__init__.py", INIT.as_bytes());
        write("py.typed", b"");
        let stub = std::fs::read(source.join("bowline_bus.pyi"));
        write(
            "__init__.pyi",
            &stub.expect("the stub is beside the module"),
        );
        let library = package.join("bowline_bus.abi3.so");
        symlink(built("libbowline_python.so"), library).expect("a scratch folder can be written");
    }

    fn generate(&self, peers: &Peers) {
        let generated = self.folder.path().join("generated");
        let (reference, ours) = (generated.join("reference"), generated.join("ours"));
        let paths = TYPES.map(|path| workspace().join(path));
        std::fs::create_dir_all(&reference).expect("the target folder can be written");
        let mut lcm_gen = Command::new(peers.lcm_gen());
        run(lcm_gen.args(["-p", "--ppath"]).arg(reference).args(&paths));

        let sources = paths.map(|path| {
            let text = std::fs::read(&path).expect("the types of the tests are there");
            Source::from_bytes(path.display().to_string(), &text)
        });
        let compiled = compile(&sources, &Rules::default());
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
