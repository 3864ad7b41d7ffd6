//! The real peers: the lcm wheel's compiler and headers, and gcc.

use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// An empty folder for what a run makes.
pub(crate) fn work_folder() -> anyhow::Result<PathBuf> {
    let folder = root().join("target/bench");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// A program of the lcm wheel.
pub(crate) fn lcm_program(name: &str) -> PathBuf {
    root().join("target/peers/venv/bin").join(name)
}

/// The folder with liblcm's headers.
pub(crate) fn lcm_include() -> anyhow::Result<PathBuf> {
    lcm_folder("include")
}

/// The folder with `liblcm.so`.
pub(crate) fn lcm_lib() -> anyhow::Result<PathBuf> {
    lcm_folder("lib")
}

/// The shell script that starts lcm-spy.
pub(crate) fn lcm_spy() -> anyhow::Result<PathBuf> {
    Ok(lcm_folder("bin")?.join("lcm-spy"))
}

fn lcm_folder(name: &str) -> anyhow::Result<PathBuf> {
    let lib = root().join("target/peers/venv/lib");
    let pythons = std::fs::read_dir(&lib)
        .with_context(|| format!("cannot read {}: run `make peers`", lib.display()))?;
    let folder = pythons
        .flatten()
        .map(|python| python.path().join("site-packages").join(name))
        .find(|path| path.exists());
    folder.with_context(|| {
        format!(
            "expected the lcm wheel's {name} folder in target/peers, found none: run `make peers`"
        )
    })
}

/// Runs a command and returns what it printed.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}: run `make peers`"))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
