//! Where the reference and the other languages' tools are.
//!
//! `scripts/setup-peers` puts them below `target/peers`, or at `BOWLINE_PEERS`.

use crate::built::built;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with the reference LCM and the TypeScript compiler.
#[derive(Clone, Debug)]
pub struct Peers {
    root: PathBuf,
    site_packages: PathBuf,
}

impl Peers {
    /// Finds the folder; panics with the command to run when something is missing.
    #[must_use]
    pub fn find() -> Self {
        let root = std::env::var_os("BOWLINE_PEERS")
            .map_or_else(|| workspace().join("target/peers"), PathBuf::from);
        let lib = root.join("venv/lib");
        let versions = std::fs::read_dir(&lib).unwrap_or_else(|_| missing(&lib));
        let site_packages = versions
            .filter_map(Result::ok)
            .map(|version| version.path().join("site-packages"))
            .find(|folder| folder.join("lcm").is_dir())
            .unwrap_or_else(|| missing(&lib.join("python3.*/site-packages/lcm")));
        let peers = Self {
            root,
            site_packages,
        };
        for path in [
            peers.lcm_gen(),
            peers.python(),
            peers.jar(),
            peers.include(),
            peers.tsc(),
        ] {
            if !path.exists() {
                missing(&path);
            }
        }
        peers
    }

    /// The reference compiler.
    #[must_use]
    pub fn lcm_gen(&self) -> PathBuf {
        self.root.join("venv/bin/lcm-gen")
    }

    /// A program of the reference, not the script that hides how it ends.
    #[must_use]
    pub fn lcm_program(&self, name: &str) -> PathBuf {
        self.site_packages.join("bin").join(name)
    }

    /// The Python that has the reference library.
    #[must_use]
    pub fn python(&self) -> PathBuf {
        self.root.join("venv/bin/python")
    }

    /// The folder with the reference's Python module.
    #[must_use]
    pub fn site_packages(&self) -> &Path {
        &self.site_packages
    }

    /// The reference library for Java.
    #[must_use]
    pub fn jar(&self) -> PathBuf {
        self.site_packages.join("share/java/lcm.jar")
    }

    /// The reference's C headers.
    #[must_use]
    pub fn include(&self) -> PathBuf {
        self.site_packages.join("include")
    }

    /// The folder of the reference's C library.
    #[must_use]
    pub fn library(&self) -> PathBuf {
        self.site_packages.join("lib")
    }

    /// The TypeScript compiler.
    #[must_use]
    pub fn tsc(&self) -> PathBuf {
        self.root.join("node/node_modules/.bin/tsc")
    }
}

/// Our binary, as cargo built it beside the tests.
#[must_use]
pub fn bowline() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| built("bowline")).clone()
}

/// The root of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this crate is a folder of the workspace")
        .to_path_buf()
}

/// Runs a command to its end; panics with what it printed when it fails.
pub fn run(command: &mut Command) {
    let shown: String = format!("{command:?}").chars().take(2000).collect();
    let output = command.output().unwrap_or_else(|error| {
        panic!("cannot start {shown}: {error}\nexpected the peers' tools; run scripts/setup-peers")
    });
    if output.status.success() {
        return;
    }
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .chars()
            .take(8000)
            .collect::<String>()
    };
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    panic!(
        "expected success, found {} of {shown}\n{stdout}\n{stderr}",
        output.status
    );
}

fn missing(path: &Path) -> ! {
    panic!(
        "expected a peer at {}, found none; run scripts/setup-peers (or make peers)",
        path.display()
    );
}
