//! Which kind of file a log is.

use std::fmt;
use std::path::Path;

/// What MCAP files begin and end with.
pub(crate) const MCAP_MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', b'0', b'\r', b'\n'];

/// The formats that logs are read and written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// LCM's event log, which every LCM tool reads.
    Lcm,
    /// MCAP: compressed, indexed, with its schemas inside.
    Mcap,
}

impl Format {
    /// The format of a file by its name: MCAP for `.mcap`, otherwise LCM's.
    #[must_use]
    pub fn of_name(path: &Path) -> Self {
        // Splitting adds numbers: robot.mcap.003.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut parts = name.rsplit('.');
        let extension = parts.find(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
        match extension {
            Some(extension) if extension.eq_ignore_ascii_case("mcap") => Self::Mcap,
            Some(_) | None => Self::Lcm,
        }
    }

    /// Why MCAP is neither read nor written.
    #[cfg(not(feature = "mcap"))]
    pub(crate) fn not_built() -> std::io::Error {
        let what = "it is MCAP, for which this program was built without the feature mcap";
        std::io::Error::new(std::io::ErrorKind::Unsupported, what)
    }

    /// What a file that begins so is. LCM's logs have no mark of their own; an event is found, or is not.
    #[must_use]
    pub fn of_bytes(front: &[u8]) -> Self {
        // A damaged mark is still more like it than an event is.
        let n_alike = front
            .iter()
            .zip(MCAP_MAGIC)
            .filter(|(found, byte)| **found == *byte);
        if n_alike.count() >= 6 {
            Self::Mcap
        } else {
            Self::Lcm
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lcm => "LCM event log",
            Self::Mcap => "MCAP",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_selects_the_format() {
        for (name, format) in [
            ("lcmlog-2026-11-16.00", Format::Lcm),
            ("robot.mcap", Format::Mcap),
            ("robot.MCAP.003", Format::Mcap),
            ("mcap", Format::Mcap),
            ("robot.mcap.log", Format::Lcm),
            ("", Format::Lcm),
        ] {
            assert_eq!(Format::of_name(Path::new(name)), format, "{name}");
        }
    }
}
