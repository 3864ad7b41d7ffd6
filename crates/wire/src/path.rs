//! The way from a message to one of its fields: `waypoints[3].position[0]`.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a member of a struct.
    Field(Cow<'static, str>),
    /// Into an element of an array.
    Index(usize),
}

/// The way from a message to one of its fields. The empty path is the message itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath {
    steps: Vec<Step>,
}

impl FieldPath {
    /// More steps than this cannot be followed in any message that decodes.
    pub const MAX_STEPS: usize = 1024;

    /// Reads a path as people write it: names joined by dots, indices in brackets.
    ///
    /// # Errors
    /// When a name is empty, a bracket is open or an index is not a number.
    pub fn parse(text: &str) -> Result<Self, ParsePathError> {
        let bad = |expected, rest: &str| ParsePathError {
            path: text.into(),
            at: text.len() - rest.len(),
            expected,
        };
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if steps.len() == Self::MAX_STEPS {
                return Err(bad("at most 1024 steps", rest));
            }
            if let Some(inside) = rest.strip_prefix('[') {
                let Some((index, after)) = inside.split_once(']') else {
                    return Err(bad("a `]` after the index", rest));
                };
                let Ok(index) = index.trim().parse() else {
                    return Err(bad("an index, such as [0]", inside));
                };
                steps.push(Step::Index(index));
                rest = after;
            } else {
                let name = if steps.is_empty() {
                    rest
                } else {
                    rest.strip_prefix('.')
                        .ok_or_else(|| bad("`.` or `[`", rest))?
                };
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let (field, after) = name.split_at(end);
                if field.is_empty() {
                    return Err(bad("a field's name", name));
                }
                steps.push(Step::Field(Cow::Owned(field.into())));
                rest = after;
            }
        }
        Ok(Self { steps })
    }

    /// The steps, from the message inwards.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Puts a step in front: errors travel from the inside out.
    pub(crate) fn prepend(&mut self, step: Step) {
        self.steps.insert(0, step);
    }

    /// Replaces the index in front, if there is one, by several.
    pub(crate) fn map_first_index(&mut self, indices: impl Fn(usize) -> Vec<usize>) {
        if let Some(Step::Index(flat)) = self.steps.first() {
            let indices = indices(*flat);
            self.steps.splice(..1, indices.into_iter().map(Step::Index));
        }
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    #[cfg(feature = "json")]
    pub(crate) fn pop(&mut self) {
        self.steps.pop();
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Field(name) if i == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A path that does not read as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePathError {
    path: String,
    at: usize,
    expected: &'static str,
}

impl fmt::Display for ParsePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, at, expected } = self;
        write!(
            f,
            "expected {expected} at character {at} of the field path {path:?}"
        )
    }
}

impl core::error::Error for ParsePathError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn a_path_reads_back_as_it_was_written() {
        for text in ["", "a", "a.b", "a[0]", "a[3].b[0][1].c", "[2].x"] {
            assert_eq!(FieldPath::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn malformed_path_is_an_error_with_its_offset() {
        for (text, at) in [
            ("a..b", 2),
            ("a[", 1),
            ("a[x]", 2),
            ("a[0]b", 4),
            (".a", 0),
            ("a.", 2),
        ] {
            assert_eq!(FieldPath::parse(text).unwrap_err().at, at, "{text:?}");
        }
    }
}
