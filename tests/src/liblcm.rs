//! Programs that were built for LCM's C library, to be run on it and on ours.
//!
//! They are linked with LCM's own `liblcm.so.1`, but do not contain where it is: `LD_LIBRARY_PATH` does.

use crate::built::{built, scratch_root};
use crate::bus_peers::{compiled, source};
use crate::peers::{Peers, run};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of our `liblcm.so.1`, as cargo built it beside the tests.
#[must_use]
pub fn our_library() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let name = || {
        let folder = scratch("ours");
        // Another test process may name it at the same time: put in place whole.
        let link = folder.join(format!("liblcm.so.1.{}", std::process::id()));
        symlink(built("liblcm.so"), &link).expect("a scratch folder can be written");
        fs::rename(&link, folder.join("liblcm.so.1")).expect("it can be put in place");
        folder
    };
    FOLDER.get_or_init(name).clone()
}

/// The C program.
#[must_use]
pub fn c_program(peers: &Peers) -> PathBuf {
    let source = source("liblcm.c");
    compiled("liblcm-c", &source, |target| {
        let mut gcc = Command::new("gcc");
        // The library uses the program's own clock.
        gcc.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-rdynamic"]);
        link(peers, gcc.arg(&source), target);
    })
}

/// The C++ program, with a type of the reference's generator.
#[must_use]
pub fn cpp_program(peers: &Peers) -> PathBuf {
    let source = source("liblcm.cpp");
    compiled("liblcm-cpp", &source, |target| {
        let types = scratch("types");
        let text = "package drop_in; struct sample_t { int64_t utime; string name; int32_t n; double values[n]; }";
        fs::write(types.join("sample_t.lcm"), text).expect("a type can be written");
        run(Command::new(peers.lcm_gen())
            .args(["-x", "--cpp-hpath"])
            .arg(&types)
            .arg(types.join("sample_t.lcm")));
        let mut gcc = Command::new("g++");
        gcc.args(["-std=c++11", "-O1", "-Wall", "-I"]).arg(&types);
        link(peers, gcc.arg(&source), target);
    })
}

fn link(peers: &Peers, compiler: &mut Command, target: &Path) {
    compiler.arg("-I").arg(peers.include());
    compiler
        .arg("-L")
        .arg(peers.library())
        .args(["-llcm", "-pthread"]);
    run(compiler.arg("-o").arg(target));
}

/// A program and its arguments, on the library in a folder.
#[must_use]
pub fn on_library(folder: &Path, program: &Path) -> Vec<OsString> {
    let mut variable = OsString::from("LD_LIBRARY_PATH=");
    variable.push(folder);
    vec!["env".into(), variable, program.into()]
}

fn scratch(name: &str) -> PathBuf {
    let folder = scratch_root().join("liblcm").join(name);
    fs::create_dir_all(&folder).expect("a scratch folder can be made");
    folder
}
