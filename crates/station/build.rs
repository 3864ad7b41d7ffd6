//! The page is read while this crate is compiled, which the compiler does not see; and what of it can be had in fewer bytes is
//! made here, so that no start waits for that.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const PAGE: &str = "web/dist";
/// What is small already.
const SMALL: [&str; 2] = ["woff", "woff2"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={PAGE}");
    let made = env::var_os("OUT_DIR").expect("cargo sets where to build");
    let made = PathBuf::from(made).join("zipped");
    if made.exists() {
        fs::remove_dir_all(&made)?;
    }
    zip_folder(Path::new(PAGE), &made)
}

fn zip_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            zip_folder(&path, &to)?;
        } else if !path
            .extension()
            .is_some_and(|it| SMALL.iter().any(|small| it == *small))
        {
            let mut encoder = GzEncoder::new(fs::File::create(to)?, Compression::best());
            encoder.write_all(&fs::read(&path)?)?;
            encoder.finish()?;
        }
    }
    Ok(())
}
