//! TOML files that people write: every word with its place, and everything that is wrong reported at once, with file, line and
//! column, what was expected and what to write instead.
//!
//! Robot files are read with it, and world files. A file may be like another, and then has only what is different.

mod problem;
mod table;
mod texts;

pub use problem::{Added, Place, Problem, Problems, Severity, Span};
pub use table::{
    Table, Value, Word, describe, did_you_mean, numbers, quoted, setting, with_unit, words_of,
};
pub use texts::Texts;

use toml::de::DeTable;

/// Reads texts with `read`, if they are TOML at all; what is wrong with them is among the problems.
pub fn parse<'t, T>(
    texts: &'t Texts,
    problems: &mut Problems<'t>,
    read: impl FnOnce(&DeTable<'t>, &mut Problems<'t>) -> Option<T>,
) -> Option<T> {
    for (at, why) in &texts.wrong {
        problems.error(at.clone(), why);
    }
    let mut whole = DeTable::new();
    for text in texts.iter() {
        let (file, errors) = DeTable::parse_recoverable(&text.text);
        for error in &errors {
            let at = error.span().unwrap_or(0..0);
            let at = at.start + text.start..at.end + text.start;
            problems.error(at, format!("this is not TOML: {}", error.message()));
        }
        texts::put_over(&mut whole, texts::moved(file.into_inner(), text.start));
    }
    // What follows a syntax error may be misunderstood, and what is like a file that is not there as well, so nothing more
    // is reported about it.
    if problems.has_errors() {
        return None;
    }
    read(&whole, problems)
}
