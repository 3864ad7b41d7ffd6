//! The text that is compiled, and places in it.

/// One .lcm file.
#[derive(Clone, Debug)]
pub struct Source {
    /// What to call it in diagnostics: usually its path.
    pub name: String,
    /// Its contents.
    pub text: String,
}

impl Source {
    /// A source with that name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// A source from a file's bytes. Comments in old encodings become replacement characters; names cannot contain
    /// those, so nothing that matters is lost.
    pub fn from_bytes(name: impl Into<String>, bytes: &[u8]) -> Self {
        Self::new(name, String::from_utf8_lossy(bytes))
    }

    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// The line number, from 1, the column in characters, from 1, and the text of the line with that byte.
    pub(crate) fn locate(&self, byte: usize) -> (usize, usize, &str) {
        let before = self.text.get(..byte).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self
            .text
            .get(line_start..)
            .and_then(|rest| rest.lines().next())
            .unwrap_or_default();
        let column = before
            .get(line_start..)
            .map_or(0, |text| text.chars().count());
        (before.matches('\n').count() + 1, column + 1, line)
    }
}

/// A place in one of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which source.
    pub source: usize,
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}
