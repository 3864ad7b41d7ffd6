//! Fuzz targets: for each parser and decoder, what must hold whatever the input is.
//!
//! In: any bytes. Out: nothing, or a panic that names the broken promise. `tests/replay.rs` runs every target over its
//! committed corpus in the ordinary build; `make soak` runs the same functions under libFuzzer (`libfuzzer/`).
//!
//! A target is a file in `src/targets/` with a function `run`, and a folder of its name in `corpus/`: the build script makes
//! the table of what is there.

mod scratch;

/// One thing that takes bytes from outside.
#[derive(Debug)]
pub struct Target {
    /// The name of its module, and of its folder in `corpus/`.
    pub name: &'static str,
    /// Panics where a promise is broken.
    pub run: fn(&[u8]),
}

include!(concat!(env!("OUT_DIR"), "/targets.rs"));
