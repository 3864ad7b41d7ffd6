//! What people see: colour only where there is someone to see it.

use bowline_lang::{Diagnostic, Severity, Source};
use bowline_node::robot::{self, Problem};
use std::io::{self, IsTerminal as _, Write as _};

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const PLAIN: &str = "\x1b[0m";

/// Prints an error that has no place in a source.
pub(crate) fn error(message: &str) {
    let (colour, plain) = if io::stderr().is_terminal() {
        (RED, PLAIN)
    } else {
        ("", "")
    };
    note(&format!("{colour}error{plain}: {message}"));
}

/// Prints a line to standard error. Where nobody listens, that is no reason to stop.
pub(crate) fn note(text: &str) {
    let _nobody_listens = writeln!(io::stderr(), "{text}");
}

/// Draws a line of standard error over the one before, on a terminal.
pub(crate) fn status(text: &str) {
    let mut err = io::stderr().lock();
    let _nobody_listens = write!(err, "\r{text}\x1b[K").and_then(|()| err.flush());
}

/// Prints diagnostics with their source lines, and how many there were if there were many.
pub(crate) fn diagnostics(diagnostics: &[Diagnostic], sources: &[Source]) {
    let is_terminal = io::stderr().is_terminal();
    for diagnostic in diagnostics.iter().take(Diagnostic::MAX) {
        let text = diagnostic.render(sources);
        let (word, colour) = match diagnostic.severity {
            Severity::Error => ("error", RED),
            Severity::Warning => ("warning", YELLOW),
        };
        match text.strip_prefix(word) {
            Some(rest) if is_terminal => note(&format!("{colour}{word}{PLAIN}{rest}")),
            _ => note(&text),
        }
    }
    if diagnostics.len() >= Diagnostic::MAX {
        note(&format!(
            "there may be more: only the first {} are shown",
            Diagnostic::MAX
        ));
    }
}

/// Prints what is wrong with a robot file, and how much that is.
pub(crate) fn problems(problems: &[Problem]) {
    let is_terminal = io::stderr().is_terminal();
    for problem in problems {
        let text = problem.to_string();
        let (word, colour) = match problem.severity {
            robot::Severity::Error => ("error", RED),
            robot::Severity::Warning => ("warning", YELLOW),
        };
        match text.strip_prefix(word) {
            Some(rest) if is_terminal => note(&format!("{colour}{word}{PLAIN}{rest}")),
            Some(_) | None => note(&text),
        }
    }
}

/// Prints a line to standard output, where `| head` may have closed it.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    bytes(format!("{text}\n").as_bytes())
}

/// Prints bytes to standard output.
pub(crate) fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// An error and its causes, but for those that it has told already.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text += ": ";
            text += &cause;
        }
    }
    text
}

/// One of a thing, or several.
pub(crate) fn count(number: impl Into<u64>, thing: &str) -> String {
    let number = number.into();
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{s}")
}

/// One or several of a thing, if there is any.
pub(crate) fn some(number: u64, thing: &str) -> Option<String> {
    (number > 0).then(|| count(number, thing))
}

/// Things in a row, if there is any.
pub(crate) fn list<const N: usize>(things: [Option<String>; N]) -> Option<String> {
    let things: Vec<String> = things.into_iter().flatten().collect();
    (!things.is_empty()).then(|| things.join(", "))
}

/// Whether an error is only that nobody reads on.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Rows in columns as wide as they must be: numbers to the right, the columns in `left` to the left.
pub(crate) fn table(rows: &[Vec<String>], left: &[usize]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| {
            if left.contains(&column) {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn one_is_not_several() {
        let counted = [0_u8, 1, 2].map(|number| count(number, "type"));
        assert_eq!(counted, ["0 types", "1 type", "2 types"]);
    }

    #[test]
    fn a_cause_is_told_once() {
        let refused = || io::Error::from_raw_os_error(19);
        let told: anyhow::Result<()> =
            Err(refused()).with_context(|| format!("cannot join: {}\nis it up?", refused()));
        assert_eq!(
            with_causes(&told.unwrap_err()),
            "cannot join: No such device (os error 19)\nis it up?"
        );
        let untold: anyhow::Result<()> = Err(refused()).context("cannot join");
        assert_eq!(
            with_causes(&untold.unwrap_err()),
            "cannot join: No such device (os error 19)"
        );
    }
}
