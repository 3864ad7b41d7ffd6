//! Python: nothing to build.

use super::{Extra, Language, driver_source};
use crate::dump::Bytes;
use std::process::Command;

pub(super) const PYTHON: Language = Language {
    name: "python",
    lcm_gen: |code| {
        ["-p", "--ppath", &code.to_string_lossy()]
            .map(str::to_string)
            .to_vec()
    },
    switches: &[],
    build: |_| {},
    command: |_, encoder, folder| {
        let mut python = Command::new(encoder.peers.python());
        python
            .arg("-B")
            .arg(driver_source("driver.py"))
            .arg(encoder.code())
            .arg(folder);
        python
    },
    bytes: Bytes::Unsigned,
    extras: &[Extra::Dumps, Extra::Builds],
};
