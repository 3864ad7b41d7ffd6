//! Makes the table of fuzz targets of the files in `src/targets/`: a module and a row each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/targets");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .collect();
    files.sort();
    let (mut modules, mut rows) = (String::new(), String::new());
    for file in &files {
        let name = file.file_stem().unwrap_or_default().display();
        let module = writeln!(modules, "#[path = {file:?}]\nmod {name};");
        module.map_err(io::Error::other)?;
        let row = writeln!(rows, "    Target {{ name: \"{name}\", run: {name}::run }},");
        row.map_err(io::Error::other)?;
    }
    let table = format!(
        "{modules}\n/// All targets, sorted by name.\npub const TARGETS: &[Target] = &[\n{rows}];\n"
    );
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?;
    fs::write(Path::new(&out).join("targets.rs"), table)
}
