//! The operator's page in a real browser, on the real station: first view, pictures a second, and a stop from the press to
//! zero thrust. The measuring is in `tests/browser/bench.mjs`, because a browser is driven from there.

use crate::Length;
use anyhow::{Context as _, Result, ensure};
use std::path::Path;
use std::process::Command;

pub(crate) fn run(length: Length) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let bowline = std::env::current_exe()?.with_file_name("bowline");
    ensure!(
        bowline.exists(),
        "expected bowline beside bowline-bench: `make bench` builds both"
    );
    println!("the operator's page, in chromium");
    let mut bench = Command::new("node");
    bench
        .arg("tests/browser/bench.mjs")
        .current_dir(root)
        .env("BOWLINE", bowline);
    if length == Length::Quick {
        bench.args(["--presses", "10", "--seconds", "2"]);
    }
    // It prints which aims it missed; here it is passed on, not judged.
    let status = bench.status().context("cannot start node")?;
    ensure!(
        matches!(status.code(), Some(0 | 1)),
        "the browser's bench ended by {status}"
    );
    Ok(())
}
