//! What people see: colour only where there is someone to see it.

use crate::Outcome;
use anyhow::Context as _;
use bowline_host::robot::{self, Problem};
use bowline_lang::{Diagnostic, Severity, Source};
use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

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

/// Prints a line to standard error. A closed standard error is no reason to stop.
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

/// Writes a text to a file, or prints it where there is none.
pub(crate) fn document(file: Option<&Path>, text: &str) -> anyhow::Result<Outcome> {
    match file {
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            note(&format!("wrote {}", path.display()));
        }
        None => bytes(text.as_bytes())?,
    }
    Ok(Outcome::Fine)
}

/// Prints bytes to standard output.
pub(crate) fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// An error and its causes, but for those that its text contains already.
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

/// Whether an error is only that the reader of a pipe has ended.
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

/// How wide standard output is, where it is a terminal; files are not wrapped.
pub(crate) fn width() -> Option<usize> {
    let size = io::stdout()
        .is_terminal()
        .then(terminal_size::terminal_size);
    let (width, _) = size.flatten()?;
    Some(usize::from(width.0))
}

/// The same as [`table`], where text is wrapped within its columns if the rows are too wide otherwise.
pub(crate) fn table_within(width: Option<usize>, rows: &[Vec<String>], left: &[usize]) -> String {
    let Some(width) = width else {
        return table(rows, left);
    };
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..n_columns).map(widest).collect();
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * n_columns.saturating_sub(1);
    while total(&widths) > width {
        // The widest gives way, as long as words still fit.
        let texts = left.iter().filter(|column| **column < n_columns);
        let widest = texts.copied().max_by_key(|column| widths.get(*column));
        match widest.and_then(|column| widths.get_mut(column)) {
            Some(width) if *width > MIN_COLUMN => *width -= 1,
            Some(_) | None => break,
        }
    }
    let wrapped = rows.iter().flat_map(|row| wrap_row(row, &widths));
    table(&wrapped.collect::<Vec<_>>(), left)
}

/// Columns of text do not get narrower than this.
const MIN_COLUMN: usize = 12;

/// A row as several, none of whose cells is wider than its column.
fn wrap_row(row: &[String], widths: &[usize]) -> Vec<Vec<String>> {
    let cells = row.iter().zip(widths);
    let cells: Vec<Vec<String>> = cells.map(|(cell, width)| wrap(cell, *width)).collect();
    let n_lines = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let cells = cells.iter().map(|lines| lines.get(at).cloned());
        cells.map(Option::unwrap_or_default).collect()
    };
    (0..n_lines).map(line).collect()
}

/// Breaks a text between words; a word that is too long, behind a mark if there is one.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > width.max(1) {
        let head = rest.get(..=width.max(1)).unwrap_or(&rest);
        let space = head.iter().rposition(|letter| *letter == ' ');
        let marks = head.get(..width.max(1)).unwrap_or(head);
        let mark = marks.iter().rposition(|letter| "._/,:=".contains(*letter));
        let (end, next) = match (space, mark) {
            (Some(space), _) if space > 0 => (space, space + 1),
            (_, Some(mark)) if mark > 0 => (mark + 1, mark + 1),
            _ => (width.max(1), width.max(1)),
        };
        lines.push(rest.iter().take(end).collect());
        rest.drain(..next);
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_is_wrapped_within_its_columns() {
        let rows = [
            ["name", "n", "for"],
            ["rate_hz", "10", "How often it looks, in beats a second."],
            ["bowline.model_transform_request_t", "2", "A type."],
        ];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let expected = "\
name                  n  for
rate_hz              10  How often it looks,
                         in beats a second.
bowline.model_        2  A type.
transform_request_t
";
        assert_eq!(table_within(Some(46), &rows, &[0, 2]), expected);
        assert_eq!(table_within(None, &rows, &[0, 2]), table(&rows, &[0, 2]));
        for width in 0..100 {
            let text = table_within(Some(width), &rows, &[0, 2]);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width.max(30)), "{width}\n{text}");
            let letters = |text: &str| text.chars().filter(|it| !it.is_whitespace()).count();
            assert_eq!(letters(&text), letters(&table(&rows, &[0, 2])));
        }
    }

    #[test]
    fn one_is_not_several() {
        let counted = [0_u8, 1, 2].map(|number| count(number, "type"));
        assert_eq!(counted, ["0 types", "1 type", "2 types"]);
    }

    #[test]
    fn cause_is_reported_once() {
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
