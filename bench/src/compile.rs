//! Compile time: 500 .lcm files to Rust, beside lcm-gen's time for the same files to C++.

use crate::{peers, stopwatch};
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const N_FILES: usize = 500;
const N_TURNS: usize = 5;

pub(crate) fn run(work: &Path) -> anyhow::Result<()> {
    let files = write_types(&work.join("types"))?;
    let bowline = bowline()?;
    let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
    for turn in 0..N_TURNS {
        // A new folder each time: unchanged files would not be written.
        let out = work.join(format!("rust{turn}"));
        let mut command = Command::new(&bowline);
        command.arg("gen").arg("--rust").arg(&out).args(&files);
        ours = ours.min(seconds(&mut command)?);
        let out = work.join(format!("cpp{turn}"));
        let mut command = Command::new(peers::lcm_program("lcm-gen"));
        command
            .arg("--cpp")
            .arg("--cpp-hpath")
            .arg(&out)
            .args(&files);
        theirs = theirs.min(seconds(&mut command)?);
    }
    println!("compiling {N_FILES} .lcm files, seconds (best of {N_TURNS} turns)");
    println!(
        "{:<28} {ours:>10.3}            aim: under 0.5",
        "bowline gen --rust"
    );
    println!("{:<28} {theirs:>10.3}", "lcm-gen --cpp");
    Ok(())
}

fn seconds(command: &mut Command) -> anyhow::Result<f64> {
    let mut result = Ok(String::new());
    let time = stopwatch::time(|| result = peers::run(command));
    result?;
    Ok(time.as_secs_f64())
}

/// The release binary beside this one.
fn bowline() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let path = here.with_file_name("bowline");
    path.exists()
        .then_some(path)
        .context("expected the bowline binary beside this one, found none: use `make bench`")
}

/// Files like those of a real system: a dozen documented fields each, nested types, arrays, constants.
fn write_types(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)?;
    let mut files = Vec::with_capacity(N_FILES);
    for i in 0..N_FILES {
        let nested = if i == 0 {
            "double".to_string()
        } else {
            format!("message_{}_t", (i - 1) / 2)
        };
        let text = format!(
            "package robot;\n\n// Message {i} of the fleet.\nstruct message_{i}_t {{\n    const int32_t KIND = {i}, SIZE = \
             0x10;\n    int64_t utime;  // microseconds since the epoch\n    string name_{i};  // who sent it\n    \
             int32_t n;  // how many\n    double position_m[3];  // in the map frame\n    float covariance[6][6];\n    \
             {nested} parts[n];\n    byte raw_{i}[SIZE];\n    boolean is_valid;\n    int16_t grid[n][4];\n    string \
             labels[n];\n    int8_t mode;\n}}\n"
        );
        let path = folder.join(format!("message_{i}_t.lcm"));
        std::fs::write(&path, text)?;
        files.push(path);
    }
    Ok(files)
}
