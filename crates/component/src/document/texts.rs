//! A file, and those that it is like: each has only what is different in it.
//!
//! `like = "other.toml"` in a file's first table names the file that everything comes from which it does not have itself.
//! Tables are put together key by key; anything else is replaced as a whole. Paths stay relative to the file that they
//! are written in, and every word keeps its place.

use super::problem::Span;
use super::table::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// More files than real chains have: they go round.
const MAX_TEXTS: usize = 8;

/// A text and the file that it is from.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) file: Arc<str>,
    pub(super) folder: PathBuf,
    pub(super) text: String,
    /// Where it begins: texts are identified by the places of their words.
    pub(super) start: usize,
}

/// A file and those that it is like, which come before it.
#[derive(Clone, Debug)]
pub struct Texts {
    texts: Vec<Text>,
    /// What is wrong with how they hang together.
    pub(super) wrong: Vec<(Span, String)>,
}

impl Texts {
    /// The text of a file, and of those that it is like: the first table, called `section`, may name one. `read` is how
    /// others are read, or why they cannot be.
    pub fn new(
        path: &Path,
        text: impl Into<String>,
        section: &str,
        read: &mut dyn FnMut(&Path) -> Result<String, String>,
    ) -> Self {
        let mut chain = vec![(path.to_owned(), text.into())];
        let mut wrong = None;
        while let Some((span, other)) = chain.last().and_then(|last| like(last, section)) {
            let is_again = chain.iter().any(|(path, _)| *path == other);
            let found = match is_again || chain.len() == MAX_TEXTS {
                true => Err(
                    "expected a file that is like no other in the end, found that they go round"
                        .to_owned(),
                ),
                false => read(&other),
            };
            match found {
                Ok(text) => chain.push((other, text)),
                Err(why) => {
                    wrong = Some((span, why));
                    break;
                }
            }
        }
        let mut texts: Vec<Text> = Vec::new();
        for (path, text) in chain.into_iter().rev() {
            let start = texts
                .last()
                .map_or(0, |last| last.start + last.text.len() + 1);
            texts.push(Text {
                file: path.display().to_string().into(),
                folder: path.parent().unwrap_or(Path::new("")).to_owned(),
                text,
                start,
            });
        }
        // It is the first one that names a file that cannot be had.
        Self {
            texts,
            wrong: wrong.into_iter().collect(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter()
    }

    /// The text that a place is in.
    pub(super) fn at(&self, start: usize) -> Option<&Text> {
        let after = self.texts.partition_point(|text| text.start <= start);
        after.checked_sub(1).and_then(|nth| self.texts.get(nth))
    }

    /// What is written at a place.
    pub(super) fn slice(&self, at: &Span) -> Option<&str> {
        let text = self.at(at.start)?;
        text.text
            .get(at.start - text.start..at.end.checked_sub(text.start)?)
    }
}

/// The file that another is like, and where it is named.
fn like((path, text): &(PathBuf, String), section: &str) -> Option<(Span, PathBuf)> {
    let (file, _) = DeTable::parse_recoverable(text);
    let section = file.get_ref().get(section)?.get_ref().as_table()?;
    let like = section.get("like")?;
    let name = like.get_ref().as_str()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Some((like.span(), folder.join(name)))
}

/// The same table in a text that begins somewhere else.
pub(super) fn moved(table: DeTable<'_>, by: usize) -> DeTable<'_> {
    let entries = table.into_iter().map(|(key, value)| {
        let at = shifted(key.span(), by);
        (Spanned::new(at, key.into_inner()), moved_value(value, by))
    });
    entries.collect()
}

fn moved_value(value: Value<'_>, by: usize) -> Value<'_> {
    let at = shifted(value.span(), by);
    let value = match value.into_inner() {
        DeValue::Table(table) => DeValue::Table(moved(table, by)),
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| moved_value(item, by));
            DeValue::Array(items.collect())
        }
        other @ (DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)) => other,
    };
    Spanned::new(at, value)
}

fn shifted(span: Span, by: usize) -> Span {
    span.start + by..span.end + by
}

/// Puts the contents of a file over those of the one that it is like. Keys of both keep their order in the latter.
pub(super) fn put_over<'i>(base: &mut DeTable<'i>, own: DeTable<'i>) {
    for (key, mut value) in own {
        let both = base.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut);
        if let (Some(DeValue::Table(below)), DeValue::Table(above)) = (both, value.get_mut()) {
            let mut whole = std::mem::take(below);
            put_over(&mut whole, std::mem::take(above));
            *above = whole;
        }
        base.insert(key, value);
    }
}
