//! What comes from the command line: .lcm files and folders of them, durations, and names of stations.

use anyhow::Context as _;
use bowline_lang::{Compiled, Leaks, Rules, Source, compile};
use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command that was used wrongly.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Reads every path: a file as it is, a folder as the .lcm files in and below it, sorted.
pub(crate) fn read_sources(paths: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            collect(path, &mut files)
                .with_context(|| format!("cannot read the folder {}", path.display()))?;
            if files.len() == before {
                let message = format!(
                    "expected .lcm files in the folder {}, found none",
                    path.display()
                );
                return Err(Usage(message).into());
            }
        } else {
            files.push(path.clone());
        }
    }
    files.iter().map(|path| read_source(path)).collect()
}

/// A thousand times the largest type in use; what is larger is another kind of file.
const MAX_SOURCE_BYTES: u64 = 16 << 20;

fn read_source(path: &Path) -> anyhow::Result<Source> {
    let refused = |error| Usage(format!("cannot read {}: {error}", path.display()));
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(refused)?;
    file.take(MAX_SOURCE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(refused)?;
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        let message = format!(
            "expected a .lcm file of at most {MAX_SOURCE_BYTES} bytes, found more in {}",
            path.display()
        );
        return Err(Usage(message).into());
    }
    Ok(Source::from_bytes(path.display().to_string(), &bytes))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link may lead in circles; a link to a file may not.
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "lcm") && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// The name of a station. Gates take no longer names, and none that are empty.
pub(crate) fn station_name(text: &str) -> Result<String, String> {
    match text.len() {
        1..=64 => Ok(text.to_owned()),
        found => Err(format!(
            "expected the name of a station, of 1 to 64 bytes, found {found}"
        )),
    }
}

/// What this station is called: as it was named, or as the host is.
pub(crate) fn station_or_host(named: Option<&str>) -> String {
    let host = || nix::unistd::gethostname().ok()?.into_string().ok();
    let station = named.map(str::to_owned).or_else(host);
    station.unwrap_or_else(|| "command line".to_owned())
}

/// Whether there is a .lcm file in or below a folder.
pub(crate) fn has_types(folder: &Path) -> bool {
    let mut files = Vec::new();
    // One that cannot be read in part has the other part.
    let _partly = collect(folder, &mut files);
    !files.is_empty()
}

/// Whether the order of the paths is one that lcm-gen would have seen.
pub(crate) fn leaks(paths: &[PathBuf]) -> Leaks {
    if paths.iter().any(|path| path.is_dir()) {
        Leaks::Impossible
    } else {
        Leaks::Reported
    }
}

/// Compiles what a tool looks types up in: mistakes that lcm-gen accepts are none of its business.
pub(crate) fn load_types(paths: &[PathBuf]) -> anyhow::Result<(Vec<Source>, Compiled)> {
    let sources = read_sources(paths)?;
    let compiled = compile(
        &sources,
        &Rules {
            lcm_compat: true,
            ..Rules::default()
        },
    );
    Ok((sources, compiled))
}

/// A duration: seconds without a unit, as lcm-logger has them, or with one.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok();
    let seconds = number.or_else(|| bowline_wire::number::parse_seconds(text));
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| {
        format!(
            "expected a duration such as 500ms, 2s or 1m, or a number of seconds, found {text:?}"
        )
    })
}

/// How often something happens, more than never.
pub(crate) fn hz(text: &str) -> Result<f64, String> {
    let hz = text.strip_suffix("Hz").unwrap_or(text).trim();
    match hz.parse::<f64>() {
        Ok(hz) if hz.is_finite() && hz > 0.0 => Ok(hz),
        Ok(_) | Err(_) => Err(format!(
            "expected how many a second, such as 10 or 0.5, found {text:?}"
        )),
    }
}

/// A duration that is longer than nothing.
pub(crate) fn period(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration.is_zero() {
        return Err(format!("expected longer than nothing, found {text:?}"));
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_is_in_seconds_or_has_a_unit() {
        for (text, ms) in [
            ("500ms", 500),
            ("2s", 2_000),
            ("0.5s", 500),
            ("1m", 60_000),
            ("1h", 3_600_000),
            ("600", 600_000),
            ("0.25", 250),
            ("1e3", 1_000_000),
        ] {
            assert_eq!(period(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["0", "0s", "0.0ms"] {
            assert_eq!(duration(text), Ok(Duration::ZERO), "{text}");
            assert!(period(text).is_err(), "{text}");
        }
        for text in [
            "", "s", "2 s", "-2s", "-2", "1e99", "1e99s", "..s", "nan", "inf",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
