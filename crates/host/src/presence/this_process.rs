//! This process, as others know it.

use std::fs;
use std::sync::OnceLock;

/// What the system reports of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThisProcess {
    /// Name of the machine.
    pub host: String,
    /// Name of the program.
    pub program: String,
    /// Its number on the machine.
    pub pid: u32,
}

impl ThisProcess {
    /// Asks the system, once.
    #[must_use]
    pub fn get() -> &'static Self {
        static THIS: OnceLock<ThisProcess> = OnceLock::new();
        THIS.get_or_init(|| {
            let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let program = std::env::current_exe().ok();
            let program = program.and_then(|path| Some(path.file_stem()?.to_str()?.to_owned()));
            Self {
                host: host.trim().to_owned(),
                program: program.unwrap_or_else(|| "program".to_owned()),
                pid: std::process::id(),
            }
        })
    }
}
