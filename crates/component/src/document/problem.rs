//! What is wrong with a file, where, and what to write instead.

use super::texts::Texts;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Where something is in a text: bytes from its beginning.
pub type Span = Range<usize>;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It can be used, but look.
    Warning,
    /// It cannot be used.
    Error,
}

/// Something that is wrong with a file. Its text is ready to print, with the line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad.
    pub severity: Severity,
    /// What was expected and what was found.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Where.
    pub place: Place,
    /// Other places that have to do with it, with what they have to do with it.
    pub notes: Vec<(String, Place)>,
    excerpt: Excerpt,
}

/// A place in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column } = self;
        write!(f, "{file}:{line}:{column}")
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Problem {
    /// All of its text but the word for its severity: for callers that have printed that already.
    pub fn unlabelled(&self) -> impl fmt::Display {
        Unlabelled(self)
    }

    /// The same is so at another place.
    fn add_place(&mut self, is_told: bool, place: Place) {
        let is_noted = self.notes.iter().any(|(_, noted)| *noted == place);
        if !is_told && !is_noted && self.notes.len() < MAX_NOTES {
            self.notes.push(("the same".to_owned(), place));
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{word}: {}", self.unlabelled())
    }
}

/// A problem without the word for its severity.
struct Unlabelled<'p>(&'p Problem);

impl fmt::Display for Unlabelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            severity: _,
            message,
            help,
            place,
            notes,
            excerpt,
        } = self.0;
        let line = place.line;
        let gutter = " ".repeat(line.to_string().len());
        writeln!(f, "{message}")?;
        writeln!(f, "{gutter}--> {place}")?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{line} | {}", excerpt.text)?;
        writeln!(f, "{gutter} | {}", excerpt.marks)?;
        for (note, place) in notes {
            writeln!(f, "{gutter} = note: {note} at {place}")?;
        }
        if let Some(help) = help {
            writeln!(f, "{gutter} = help: {help}")?;
        }
        Ok(())
    }
}

/// Problems while they are found, and the text that they are found in.
#[derive(Debug)]
pub struct Problems<'t> {
    texts: &'t Texts,
    found: Vec<(Span, Problem)>,
}

/// More than this is a file of another kind, and not worth reading on.
const MAX_PROBLEMS: usize = 100;
/// More places than this explain nothing more about one problem.
const MAX_NOTES: usize = 10;

impl<'t> Problems<'t> {
    /// Nothing is wrong yet.
    #[must_use]
    pub fn new(texts: &'t Texts) -> Self {
        Self {
            texts,
            found: Vec::new(),
        }
    }

    /// Notes an error; what may be added to it comes back.
    pub fn error(&mut self, at: Span, message: impl Into<String>) -> Added<'_> {
        self.add(Severity::Error, at, message.into())
    }

    /// Notes something to look at.
    pub fn warning(&mut self, at: Span, message: impl Into<String>) -> Added<'_> {
        self.add(Severity::Warning, at, message.into())
    }

    fn add(&mut self, severity: Severity, at: Span, message: String) -> Added<'_> {
        let (place, line) = self.locate(at.start);
        let n_marked = self.texts.slice(&at).unwrap_or_default().chars();
        let n_marked = n_marked.take_while(|c| *c != '\n').count();
        let problem = Problem {
            severity,
            message,
            help: None,
            excerpt: Excerpt::new(line, place.column, n_marked),
            place,
            notes: Vec::new(),
        };
        // What is wrong with all sources of data, or with one word at several places, is reported once.
        let texts = self.texts;
        let is_same = |(span, told): &&mut (Span, Problem)| {
            told.severity == severity
                && told.message == problem.message
                && texts.slice(span) == texts.slice(&at)
        };
        if let Some((span, told)) = self.found.iter_mut().find(is_same) {
            told.add_place(*span == at, problem.place);
            return Added { problem: None };
        }
        if self.found.len() >= MAX_PROBLEMS {
            return Added { problem: None };
        }
        self.found.push((at, problem));
        Added {
            problem: self.found.last_mut().map(|(_, problem)| problem),
        }
    }

    /// The place of a byte.
    #[must_use]
    pub fn place(&self, at: &Span) -> Place {
        self.locate(at.start).0
    }

    /// The folder of the file that a byte is in, which paths there are relative to.
    #[must_use]
    pub fn folder(&self, at: &Span) -> &'t Path {
        let text = self.texts.at(at.start);
        text.map_or(Path::new(""), |text| &text.folder)
    }

    fn locate(&self, start: usize) -> (Place, &'t str) {
        let found = self.texts.at(start);
        let (file, text) = found.map_or_else(
            || ("".into(), ""),
            |found| (Arc::clone(&found.file), found.text.as_str()),
        );
        let start = start - found.map_or(0, |found| found.start);
        let before = text.get(..start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        let rest = text.get(line_start..).unwrap_or_default();
        let place = Place {
            file,
            line: before.matches('\n').count() + 1,
            column,
        };
        (place, rest.lines().next().unwrap_or_default())
    }

    /// Whether it cannot be used.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        let mut severities = self.found.iter().map(|(_, problem)| problem.severity);
        severities.any(|severity| severity == Severity::Error)
    }

    /// All of them, in the order of the file.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|(at, _)| at.start);
        self.found.into_iter().map(|(_, problem)| problem).collect()
    }
}

/// A problem that was just noted.
#[derive(Debug)]
pub struct Added<'p> {
    problem: Option<&'p mut Problem>,
}

impl Added<'_> {
    /// Adds what to write instead.
    pub fn help(self, help: impl Into<String>) -> Self {
        self.maybe_help(Some(help.into()))
    }

    /// Adds what to write instead, if that is known.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        if let Some(problem) = &mut self.problem {
            problem.help = help;
        }
        self
    }

    /// Names another place that has to do with it.
    pub fn note(mut self, note: impl Into<String>, place: Place) -> Self {
        if let Some(problem) = &mut self.problem {
            problem.notes.push((note.into(), place));
        }
        self
    }
}

/// The part of a line that fits on a screen, with marks below the place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    text: String,
    marks: String,
}

impl Excerpt {
    const WIDTH: usize = 120;

    fn new(line: &str, column: usize, n_marked: usize) -> Self {
        // Characters that would move the marks, or the reader's terminal, are shown as blanks.
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let start = (column - 1).saturating_sub(Self::WIDTH / 2);
        let shown = line.chars().skip(start).take(Self::WIDTH).map(clean);
        let text: String = shown.collect();
        let before = column - 1 - start;
        let room = text.chars().count().saturating_sub(before).max(1);
        Self {
            marks: " ".repeat(before) + &"^".repeat(n_marked.clamp(1, room)),
            text: text.trim_end().to_owned(),
        }
    }
}
