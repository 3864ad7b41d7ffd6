//! From words on the command line to what a recorder is to do.

use super::{Arguments, warn};
use crate::input::{Usage, load_types};
use crate::output;
use bowline_bus::Pattern;
use bowline_log::record::{
    Existing, FileOptions, Numbering, RecorderOptions, Streams, TriggerOptions,
};
use bowline_log::{Format, Schemas};
use jiff::Zoned;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default name of lcm-logger.
const DEFAULT_NAME: &str = "lcmlog-%Y-%m-%d";

pub(super) fn recorder(arguments: &Arguments) -> anyhow::Result<RecorderOptions> {
    let pattern = Pattern::new(&arguments.channel);
    let channels = pattern.map_err(|error| Usage(error.to_string()))?;
    if arguments.invert_channels && arguments.channel == ".*" {
        warn("all channels but all channels are none: name those to leave out, with --channel");
    }
    let streams = match &arguments.select {
        Some(path) => Streams::read(path).map_err(|error| Usage(error.to_string()))?,
        None => Streams::default(),
    };
    Ok(RecorderOptions {
        channels,
        inverts_channels: arguments.invert_channels,
        streams,
        files: files(arguments)?,
        max_unwritten_bytes: usize::try_from(arguments.max_unwritten_mb).unwrap_or(usize::MAX),
        flush_interval: Duration::from_millis(arguments.flush_interval),
        disk_quota: arguments.disk_quota,
        status_every: arguments.status_every,
        trigger: trigger(arguments)?,
        schemas: schemas(&arguments.types)?,
    })
}

fn files(arguments: &Arguments) -> anyhow::Result<FileOptions> {
    let is_default = arguments.file.is_none();
    let numbering = match arguments.rotate {
        Some(n_files @ 1..) => Numbering::Rotate { n_files },
        Some(0) | None if arguments.increment || is_default => Numbering::Increment,
        Some(0) | None => Numbering::None,
    };
    let splits = arguments.split_mb.is_some() || arguments.split_s.is_some();
    if splits && numbering == Numbering::None {
        let message =
            "expected --increment or --rotate with --split-mb and --split-s, to name the files";
        return Err(Usage(message.to_owned()).into());
    }
    let path = match &arguments.file {
        Some(path) => path.clone(),
        None => PathBuf::from(DEFAULT_NAME),
    };
    let path = if arguments.strftime || is_default {
        with_date(&path)?
    } else {
        path
    };
    let existing = match (arguments.append, arguments.force) {
        (true, _) => Existing::Append,
        (false, true) => Existing::Replace,
        (false, false) => Existing::Refuse,
    };
    Ok(FileOptions {
        format: arguments.mcap.then_some(Format::Mcap),
        numbering,
        existing,
        split_bytes: arguments.split_mb,
        split_after: arguments.split_s,
        ..FileOptions::new(path)
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a log is named after the day that it is recorded on"
)]
fn with_date(path: &Path) -> Result<PathBuf, Usage> {
    let name = path.to_str().ok_or_else(|| {
        Usage(format!(
            "expected a name in UTF-8 for --strftime, found {}",
            path.display()
        ))
    })?;
    let now = Zoned::try_from(std::time::SystemTime::now()).map_err(|error| {
        Usage(format!(
            "the clock cannot be written into a name: {error}; set it, or name a file without --strftime"
        ))
    })?;
    let named = jiff::fmt::strtime::format(name, &now);
    named
        .map(PathBuf::from)
        .map_err(|error| Usage(format!("cannot put the date into {name:?}: {error}")))
}

fn trigger(arguments: &Arguments) -> Result<Option<TriggerOptions>, Usage> {
    let is_wanted =
        arguments.before.is_some() || arguments.after.is_some() || !arguments.trigger.is_empty();
    if !is_wanted {
        return Ok(None);
    }
    let default = TriggerOptions::default();
    Ok(Some(TriggerOptions {
        before: arguments.before.unwrap_or(default.before),
        max_bytes: usize::try_from(arguments.before_mb).unwrap_or(usize::MAX),
        after: arguments.after,
        conditions: arguments.trigger.clone(),
    }))
}

fn schemas(paths: &[PathBuf]) -> anyhow::Result<Schemas> {
    let mut schemas = Schemas::default();
    if !paths.is_empty() {
        let (sources, compiled) = load_types(paths)?;
        if !compiled.is_ok() {
            output::diagnostics(&compiled.diagnostics, &sources);
            let message = "the types have mistakes; nothing was recorded";
            return Err(Usage(message.to_owned()).into());
        }
        schemas.add(&compiled.types);
    }
    let ours = schemas.add_bytes(bowline_msgs::SCHEMA);
    ours.expect("generated code describes its types");
    Ok(schemas)
}

pub(super) fn megabytes(text: &str) -> Result<u64, String> {
    let expected =
        || format!("expected a number of MB above 0, such as 100 or 0.5, found {text:?}");
    let number: f64 = text.parse().map_err(|_unspecific| expected())?;
    scaled(number, MIB)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(expected)
}

const MIB: f64 = 1_048_576.0;

/// Units of lcm-logger, whatever their case: K and Ki count in 1024, KB in 1000.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let expected = || format!("expected a size such as 50G, 10GB or \"0.05 TiB\", found {text:?}");
    let at = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let number: f64 = number.trim().parse().map_err(|_unspecific| expected())?;
    let unit = unit.trim().to_ascii_lowercase();
    let mut letters = unit.chars();
    let exponent = match letters.next() {
        None => 0,
        Some('b') if unit == "b" => 0,
        Some(letter) => {
            let at = "kmgtpe".find(letter).ok_or_else(expected)?;
            i32::try_from(at + 1).unwrap_or(0)
        }
    };
    let base: f64 = match letters.as_str() {
        "" | "i" | "ib" => 1024.0,
        "b" => 1000.0,
        _ => return Err(expected()),
    };
    scaled(number, base.powi(exponent)).ok_or_else(expected)
}

fn scaled(number: f64, unit: f64) -> Option<u64> {
    let bytes = number * unit;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounds were checked"
    )]
    (0.0..1.8e19).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_lcm_loggers_units() {
        #[rustfmt::skip]
        let cases = [
            ("0", Some(0)), ("17", Some(17)), ("17B", Some(17)), ("1K", Some(1024)), ("1kb", Some(1000)), ("2KiB", Some(2048)),
            ("1.5 Mi", Some(1_572_864)), ("0.05 TiB", Some(54_975_581_388)), ("10gb", Some(10_000_000_000)),
            ("1E", Some(1 << 60)), ("", None), ("G", None), ("1X", None), ("1Kx", None), ("-1K", None), ("1 2", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text).ok(), bytes, "{text}");
        }
    }

    #[test]
    fn a_name_gets_the_date_or_an_error() {
        let name = with_date(Path::new("log-%Y")).unwrap();
        assert!(name.to_str().unwrap().starts_with("log-20"), "{name:?}");
        assert!(with_date(Path::new("log-%!")).is_err());
    }
}
