//! What is wrong with a source, where, and what to write instead.

use crate::source::{Source, Span};
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Compiles, but look.
    Warning,
    /// Does not compile.
    Error,
}

/// Something that is wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// What was expected and what was found.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Where.
    pub span: Span,
}

impl Diagnostic {
    /// More than this is a file of another kind, and not worth reading on.
    pub const MAX: usize = 100;

    pub(crate) fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            help: None,
            span,
        }
    }

    pub(crate) fn warning(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(span, message)
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The diagnostic with its source line, ready to print.
    #[must_use]
    pub fn render(&self, sources: &[Source]) -> String {
        let Self {
            severity,
            message,
            help,
            span,
        } = self;
        let word = match severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let Some(source) = sources.get(span.source) else {
            return format!("{word}: {message}\n");
        };
        let (line, column, text) = source.locate(span.start);
        let shown = Excerpt::new(text, column, source.slice(*span).chars().count());
        let gutter = " ".repeat(line.to_string().len());
        let mut rendered = format!(
            "{word}: {message}\n{gutter}--> {}:{line}:{column}\n{gutter} |\n{line} | {}\n{gutter} | {}\n",
            source.name, shown.text, shown.marks
        );
        if let Some(help) = help {
            rendered.push_str(&format!("{gutter} = help: {help}\n"));
        }
        rendered
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The part of a line that fits on a screen, with marks below the place.
struct Excerpt {
    text: String,
    marks: String,
}

impl Excerpt {
    const WIDTH: usize = 120;

    fn new(line: &str, column: usize, n_chars: usize) -> Self {
        // Characters that would move the marks, or the reader's terminal, are shown as blanks.
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let start = (column - 1).saturating_sub(Self::WIDTH / 2);
        let text: String = line
            .chars()
            .skip(start)
            .take(Self::WIDTH)
            .map(clean)
            .collect();
        let before = column - 1 - start;
        let room = text.chars().count().saturating_sub(before);
        let marks = " ".repeat(before) + &"^".repeat(n_chars.clamp(1, room.max(1)));
        Self {
            text: text.trim_end().into(),
            marks,
        }
    }
}
