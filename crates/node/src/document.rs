//! TOML files that people write: every word with its place, and everything that is wrong told at once, with file, line and
//! column, what was expected and what to write instead.
//!
//! Robot files are read with it, and world files.

mod problem;
mod table;

pub use problem::{Added, Place, Problem, Problems, Severity, Span};
pub use table::{Table, Value, Word, describe, did_you_mean, numbers, quoted, setting};
pub(crate) use table::{with_unit, words_of};

use toml::de::DeTable;

/// Reads a text with `read`, if it is TOML at all; what is wrong with it is among the problems.
pub fn parse<'t, T>(
    text: &'t str,
    problems: &mut Problems<'t>,
    read: impl FnOnce(&DeTable<'t>, &mut Problems<'t>) -> Option<T>,
) -> Option<T> {
    let (file, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = error.span().unwrap_or(0..0);
        problems.error(at, format!("this is not TOML: {}", error.message()));
    }
    // What follows a syntax error may be misunderstood, so nothing more is said about it.
    if !errors.is_empty() {
        return None;
    }
    read(file.get_ref(), problems)
}
