//! The target that BOWLINE_FUZZ_TARGET names, under libFuzzer.
#![no_main]

use bowline_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static CHOSEN: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("BOWLINE_FUZZ_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        panic!("expected BOWLINE_FUZZ_TARGET to be one of {names:?}, found {name:?}")
    })
});

fuzz_target!(|bytes: &[u8]| (CHOSEN.run)(bytes));
