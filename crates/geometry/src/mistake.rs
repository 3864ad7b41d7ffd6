//! What can be wrong with a model, and where.

use crate::transform::MakeTransformError;
use bowline_wire::suggest::nearest;
use std::fmt;
use std::sync::Arc;

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's name; empty for what was made by a program.
    pub file: Arc<str>,
    /// From 1; 0 where the whole file is meant.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

impl Place {
    /// A file as a whole.
    #[must_use]
    pub fn whole(file: &Arc<str>) -> Self {
        Self {
            file: Arc::clone(file),
            line: 0,
            column: 0,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = if self.file.is_empty() {
            "(no file)"
        } else {
            &self.file
        };
        match self.line {
            0 => f.write_str(file),
            line => write!(f, "{file}:{line}:{}", self.column),
        }
    }
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub fault: Fault,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.fault)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file cannot be read.
    #[error("expected a file that can be read at {path}, found: {why}")]
    Unreadable {
        /// Where it should be.
        path: String,
        /// The error of the system.
        why: String,
    },
    /// It is larger than any model.
    #[error("expected at most {limit} {what}, found more")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// It is no XML.
    #[error("expected XML: {0}")]
    NotXml(String),
    /// It declares a document type, or entities.
    #[error(
        "expected no document type declaration: DTDs and entities are refused, because they can \
         read other files and grow without bound; delete the <!DOCTYPE ...>"
    )]
    Dtd,
    /// It has an instruction for some program.
    #[error("expected no processing instruction, found <?{0} ...?>: delete it")]
    Instruction(String),
    /// An unknown element.
    #[error("expected {expected}, found <{found}>{}", did_you_mean(.suggestion))]
    UnknownElement {
        /// Its name.
        found: String,
        /// What could stand there.
        expected: String,
        /// What was meant, perhaps.
        suggestion: Option<String>,
    },
    /// An unknown attribute.
    #[error("expected attributes of <{element}>: {expected}; found {found}{}", did_you_mean(.suggestion))]
    UnknownAttribute {
        /// The element's name.
        element: String,
        /// The attribute's name.
        found: String,
        /// Those that it may have.
        expected: String,
        /// What was meant, perhaps.
        suggestion: Option<String>,
    },
    /// Text where only elements are expected.
    #[error("expected no text in <{element}>, found {found:?}")]
    Text {
        /// The element's name.
        element: String,
        /// The text.
        found: String,
    },
    /// An attribute or element that must be there.
    #[error("expected {expected} in <{element}>, found none")]
    Missing {
        /// The element's name.
        element: String,
        /// What should be in it.
        expected: String,
    },
    /// A value that is none.
    #[error("{what}: expected {expected}, found {found:?}")]
    BadValue {
        /// The attribute's or element's name.
        what: String,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Two ways to express one thing.
    #[error("expected one of {first} and {second}, found both")]
    SaidTwice {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// Numbers that are no rigid transform.
    #[error(transparent)]
    NotRigid(#[from] MakeTransformError),
    /// Two of one name.
    #[error("expected {what} of different names, found a second {name:?}; the first is at {first}")]
    Duplicate {
        /// Of what kind.
        what: &'static str,
        /// The name.
        name: String,
        /// Where the first one is.
        first: Place,
    },
    /// Rule 1.
    #[error("expected at least 2 bodies in an assembly, found {found}")]
    TooFewBodies {
        /// How many.
        found: usize,
    },
    /// Rule 2.
    #[error("expected at least 1 frame in the body {body:?}, found none")]
    NoFrames {
        /// The body's name.
        body: String,
    },
    /// Rule 3, or a sensor on a frame that is not there.
    #[error("expected a {what}, found {found:?}, which does not exist{}", did_you_mean(.suggestion))]
    Unknown {
        /// Of what kind.
        what: &'static str,
        /// Its name.
        found: String,
        /// What was meant, perhaps.
        suggestion: Option<String>,
    },
    /// Rule 4.
    #[error(
        "expected at most 1 constraint on a frame, found a second one on {frame}: {first:?} at {place} has it; \
         give the body another frame there"
    )]
    FrameTaken {
        /// `Body:Frame`.
        frame: String,
        /// The constraint that was first.
        first: String,
        /// Where that is.
        place: Place,
    },
    /// A constraint that binds nothing.
    #[error("expected a constraint between two frames, found {frame} on both ends")]
    SameFrame {
        /// `Body:Frame`.
        frame: String,
    },
    /// What other formats can express and ours cannot.
    #[error("expected {expected}, found {found}")]
    Unsupported {
        /// What can be used.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Poses that depend on each other in a circle.
    #[error("expected frames that lead to a link, found a circle: {0}")]
    Circle(String),
    /// Something that was left out of an import or an export, which goes on.
    #[error("{0}")]
    LeftOut(String),
}

pub(crate) fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion
        .as_ref()
        .map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

/// Everything that is wrong with a model, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// At most so many are reported.
    pub const MAX: usize = 100;

    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds one, unless it is there or there are too many.
    pub fn push(&mut self, place: Place, fault: Fault) {
        let mistake = Mistake { place, fault };
        // A body that is used twice is wrong once.
        if self.0.len() < Self::MAX && !self.0.contains(&mistake) {
            self.0.push(mistake);
        }
    }

    /// The known name that is nearest to what was found, if any is near. None once there are too many mistakes.
    pub fn suggest<'n>(
        &self,
        found: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Option<String> {
        (self.0.len() < Self::MAX)
            .then(|| nearest(found, known))
            .flatten()
            .map(str::to_owned)
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self) -> Vec<Mistake> {
        std::mem::take(&mut self.0)
    }

    /// `value` if nothing is wrong.
    ///
    /// # Errors
    /// All mistakes, if there are any.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() {
            Ok(value)
        } else {
            Err(self)
        }
    }

    /// Each of them.
    #[must_use]
    pub fn list(&self) -> &[Mistake] {
        &self.0
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, mistake) in self.0.iter().enumerate() {
            let newline = if idx == 0 { "" } else { "\n" };
            write!(f, "{newline}{mistake}")?;
        }
        if self.0.len() >= Self::MAX {
            write!(
                f,
                "\nthere may be more: only the first {} are listed",
                Self::MAX
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
