//! XML within bounds, with a place for every complaint.
//!
//! No DTDs, no entities but the five of XML, no processing instructions, nothing from outside the file.

use crate::assembly::{MAX_NAME_LEN, is_name};
use crate::element::{Bounds, Given};
use crate::mistake::{Fault, Mistakes, Place};
use roxmltree::{Document, Node, NodeType, ParsingOptions, TextPos};
use std::fmt::Display;
use std::sync::Arc;

/// A file may have so many bytes: a hundred times the largest robot description we know.
pub const MAX_FILE_BYTES: usize = 4 << 20;
/// A file may have so many elements, texts and comments.
const MAX_NODES: u32 = 200_000;
/// Elements may be so deep in each other.
const MAX_DEPTH: usize = 64;
/// A larger number is no length in metres and no angle.
pub(crate) const MAX_NUMBER: f64 = 1e9;

/// The text of a file, or why it is none.
pub(crate) fn text<'b>(
    file: &Arc<str>,
    bytes: &'b [u8],
    mistakes: &mut Mistakes,
) -> Option<&'b str> {
    if bytes.len() > MAX_FILE_BYTES {
        let fault = Fault::TooMany {
            what: "bytes in a file",
            limit: MAX_FILE_BYTES,
        };
        mistakes.push(Place::whole(file), fault);
        return None;
    }
    match str::from_utf8(bytes) {
        // A mark that some editors write before everything else.
        Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let (before, rest) = bytes.split_at(error.valid_up_to());
            let before = String::from_utf8_lossy(before);
            let fault = Fault::BadValue {
                what: "the file".to_owned(),
                expected: "UTF-8".to_owned(),
                found: format!("byte 0x{:02x}", rest.first().copied().unwrap_or(0)),
            };
            mistakes.push(place_at(file, &before), fault);
            None
        }
    }
}

/// A file that was taken apart.
pub(crate) struct Page<'t> {
    document: Document<'t>,
    places: Places,
}

impl Page<'_> {
    pub(crate) fn root(&self) -> Element<'_> {
        Element {
            node: self.document.root_element(),
            places: &self.places,
        }
    }
}

/// Lines and columns of a file, with a mark at every line and in long ones now and then: counting from the beginning for
/// each element would take time that grows with the square of the file.
#[derive(Debug)]
pub(crate) struct Places {
    file: Arc<str>,
    marks: Vec<Mark>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    offset: usize,
    line: u32,
    column: u32,
}

impl Places {
    /// Bytes between marks, at most, but for the rest of a character.
    const STEP: usize = 1 << 10;

    fn new(file: &Arc<str>, text: &str) -> Self {
        let (mut line, mut column) = (1, 1);
        let mut marks: Vec<Mark> = Vec::new();
        for (offset, letter) in text.char_indices() {
            let last = marks.last().map(|mark| mark.offset);
            if column == 1 || last.is_none_or(|last| offset >= last + Self::STEP) {
                marks.push(Mark {
                    offset,
                    line,
                    column,
                });
            }
            column += 1;
            if letter == '\n' {
                (line, column) = (line + 1, 1);
            }
        }
        Self {
            file: Arc::clone(file),
            marks,
        }
    }

    fn at(&self, text: &str, offset: usize) -> Place {
        let after = self.marks.partition_point(|mark| mark.offset <= offset);
        let mark = after.checked_sub(1).and_then(|idx| self.marks.get(idx));
        let (line, column) = mark.map_or((0, 0), |mark| {
            let between = text.get(mark.offset..offset).unwrap_or("").chars().count();
            let between = u32::try_from(between).unwrap_or(u32::MAX);
            (mark.line, mark.column.saturating_add(between))
        });
        Place {
            file: Arc::clone(&self.file),
            line,
            column,
        }
    }
}

/// The place after a text.
fn place_at(file: &Arc<str>, before: &str) -> Place {
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place {
        file: Arc::clone(file),
        line: number(line),
        column: number(column),
    }
}

/// Takes a file's text apart.
pub(crate) fn parse<'t>(
    file: &Arc<str>,
    text: &'t str,
    mistakes: &mut Mistakes,
) -> Option<Page<'t>> {
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    match Document::parse_with_options(text, options) {
        Ok(document) => check(file, &document, mistakes).then(|| Page {
            document,
            places: Places::new(file, text),
        }),
        Err(error) => {
            let (place, fault) = explain(file, text, &error);
            mistakes.push(place, fault);
            None
        }
    }
}

fn explain(file: &Arc<str>, text: &str, error: &roxmltree::Error) -> (Place, Fault) {
    if matches!(error, roxmltree::Error::DtdDetected) {
        let start = text.find("<!DOCTYPE").unwrap_or(0);
        return (place_at(file, text.get(..start).unwrap_or("")), Fault::Dtd);
    }
    if matches!(error, roxmltree::Error::NodesLimitReached) {
        let fault = Fault::TooMany {
            what: "elements, texts and comments in a file",
            limit: MAX_NODES as usize,
        };
        return (Place::whole(file), fault);
    }
    // The place stands before the message already.
    let at = format!(" at {}", error.pos());
    let message = error.to_string().replace(&at, "");
    (to_place(file, error.pos()), Fault::NotXml(message))
}

fn to_place(file: &Arc<str>, at: TextPos) -> Place {
    Place {
        file: Arc::clone(file),
        line: at.row,
        column: at.col,
    }
}

/// What XML allows and models do not need.
fn check(file: &Arc<str>, document: &Document<'_>, mistakes: &mut Mistakes) -> bool {
    let mut depths: Vec<usize> = Vec::new();
    for node in document.descendants() {
        let parent = node.parent().map(|parent| parent.id().get_usize());
        let depth = parent
            .and_then(|parent| depths.get(parent))
            .map_or(0, |it| it + 1);
        // Nodes come in the order of their numbers.
        depths.push(depth);
        let place = || to_place(file, document.text_pos_at(node.range().start));
        if depth > MAX_DEPTH {
            let fault = Fault::TooMany {
                what: "elements in each other",
                limit: MAX_DEPTH,
            };
            mistakes.push(place(), fault);
            return false;
        }
        if node.node_type() == NodeType::PI {
            let target = node.pi().map_or("", |pi| pi.target);
            mistakes.push(place(), Fault::Instruction(target.to_owned()));
            return false;
        }
    }
    true
}

/// Attributes of schemas, which every validator allows everywhere.
const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// An element, with the file that it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'d> {
    node: Node<'d, 'd>,
    places: &'d Places,
}

impl<'d> Element<'d> {
    pub(crate) fn place(&self) -> Place {
        self.place_at(self.node.range().start)
    }

    fn place_at(&self, offset: usize) -> Place {
        self.places.at(self.node.document().input_text(), offset)
    }

    pub(crate) fn name(&self) -> &'d str {
        self.node.tag_name().name()
    }

    /// Whether it is in no namespace.
    pub(crate) fn is_plain(&self) -> bool {
        self.node.tag_name().namespace().is_none()
    }

    pub(crate) fn namespace(&self) -> Option<&'d str> {
        self.node.tag_name().namespace()
    }

    /// The name as it is written.
    fn shown(&self) -> String {
        match self.namespace() {
            Some(namespace) => format!("{} of the namespace {namespace}", self.name()),
            None => self.name().to_owned(),
        }
    }

    /// Complains about every attribute but these.
    pub(crate) fn allow(&self, known: &[&[&str]], mistakes: &mut Mistakes) {
        let known: Vec<&str> = known.iter().copied().flatten().copied().collect();
        for attribute in self.node.attributes() {
            let is_known = attribute.namespace().is_none() && known.contains(&attribute.name());
            if is_known || attribute.namespace() == Some(XSI) {
                continue;
            }
            let expected = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            let fault = Fault::UnknownAttribute {
                element: self.name().to_owned(),
                found: attribute.name().to_owned(),
                expected,
                suggestion: mistakes.suggest(attribute.name(), known.iter().copied()),
            };
            mistakes.push(self.place_of(attribute.name()), fault);
        }
    }

    /// Its elements. Complains about text between them.
    pub(crate) fn children(&self, mistakes: &mut Mistakes) -> Vec<Self> {
        for node in self.node.children().filter(Node::is_text) {
            let text = node.text().unwrap_or("").trim();
            if !text.is_empty() {
                let fault = Fault::Text {
                    element: self.name().to_owned(),
                    found: text.chars().take(40).collect(),
                };
                mistakes.push(self.place_at(node.range().start), fault);
            }
        }
        self.elements().collect()
    }

    /// Its elements, whatever is between them.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Self> + use<'d> {
        let places = self.places;
        let elements = self.node.children().filter(Node::is_element);
        elements.map(move |node| Self { node, places })
    }

    /// The first element of a name, in no namespace.
    pub(crate) fn child(&self, name: &str) -> Option<Self> {
        self.elements()
            .find(|element| element.is_plain() && element.name() == name)
    }

    /// The first element along a path of names.
    pub(crate) fn descend(&self, path: &[&str]) -> Option<Self> {
        path.iter()
            .try_fold(*self, |element, name| element.child(name))
    }

    pub(crate) fn text(&self) -> &'d str {
        self.node.text().unwrap_or("").trim()
    }

    /// Complains that it is not one of those that were expected.
    pub(crate) fn refuse(&self, expected: &[&str], mistakes: &mut Mistakes) {
        self.refuse_but(expected, None, mistakes);
    }

    /// The same, where something else could stand, too, that has no word.
    pub(crate) fn refuse_but(
        &self,
        expected: &[&str],
        other: Option<&str>,
        mistakes: &mut Mistakes,
    ) {
        let words = expected.iter().map(|name| format!("<{name}>"));
        let list: Vec<String> = words.chain(other.map(str::to_owned)).collect();
        let list = match list.as_slice() {
            [] => "no element".to_owned(),
            [one] => one.clone(),
            many => format!("one of {}", many.join(", ")),
        };
        let fault = Fault::UnknownElement {
            found: self.shown(),
            expected: list,
            suggestion: mistakes.suggest(self.name(), expected.iter().copied()),
        };
        mistakes.push(self.place(), fault);
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&'d str> {
        self.node.attribute(name)
    }

    pub(crate) fn place_of(&self, attribute: &str) -> Place {
        let mut attributes = self.node.attributes();
        match attributes.find(|it| it.name() == attribute) {
            Some(found) => self.place_at(found.range().start),
            None => self.place(),
        }
    }

    pub(crate) fn required(&self, name: &str, mistakes: &mut Mistakes) -> Option<&'d str> {
        let found = self.attribute(name);
        if found.is_none() {
            let fault = Fault::Missing {
                element: self.name().to_owned(),
                expected: format!("the attribute {name}"),
            };
            mistakes.push(self.place(), fault);
        }
        found
    }

    /// An attribute that names something.
    pub(crate) fn required_name(&self, name: &str, mistakes: &mut Mistakes) -> Option<String> {
        let found = self.required(name, mistakes)?;
        if !is_name(found) {
            let expected =
                format!("1 to {MAX_NAME_LEN} bytes without spaces, colons and control characters");
            self.refuse_value(name, expected, mistakes);
            return None;
        }
        Some(found.to_owned())
    }

    pub(crate) fn refuse_value(
        &self,
        attribute: &str,
        expected: impl Display,
        mistakes: &mut Mistakes,
    ) {
        let found = self.attribute(attribute).unwrap_or("");
        let fault = Fault::BadValue {
            what: attribute.to_owned(),
            expected: expected.to_string(),
            found: found.chars().take(100).collect(),
        };
        mistakes.push(self.place_of(attribute), fault);
    }

    /// Numbers of an attribute, if it is there.
    pub(crate) fn numbers<const N: usize>(
        &self,
        name: &str,
        mistakes: &mut Mistakes,
    ) -> Option<[f64; N]> {
        let numbers = numbers(self.attribute(name)?);
        if numbers.is_none() {
            let expected = if N == 1 {
                "a number".to_owned()
            } else {
                format!("{N} numbers with spaces between them")
            };
            self.refuse_value(name, expected, mistakes);
        }
        numbers
    }

    pub(crate) fn number(&self, name: &str, mistakes: &mut Mistakes) -> Option<f64> {
        self.numbers::<1>(name, mistakes).map(|[number]| number)
    }

    /// A number that is there and within bounds.
    pub(crate) fn number_in(
        &self,
        name: &str,
        bounds: Bounds,
        mistakes: &mut Mistakes,
    ) -> Option<f64> {
        let number = self.number(name, mistakes)?;
        let is_within = bounds.contains(number);
        if !is_within {
            self.refuse_value(name, bounds.words, mistakes);
        }
        is_within.then_some(number)
    }

    /// Its attributes but these, with their places. Reports those of a foreign namespace.
    pub(crate) fn others(&self, but: &[&str], mistakes: &mut Mistakes) -> Vec<Given> {
        let mut others = Vec::new();
        for attribute in self.node.attributes() {
            match attribute.namespace() {
                None if but.contains(&attribute.name()) => {}
                None => others.push(Given {
                    name: attribute.name().to_owned(),
                    value: attribute.value().to_owned(),
                    place: self.place_at(attribute.range().start),
                }),
                Some(XSI) => {}
                Some(_) => {
                    let fault = Fault::UnknownAttribute {
                        element: self.name().to_owned(),
                        found: attribute.name().to_owned(),
                        expected: "those without a namespace".to_owned(),
                        suggestion: None,
                    };
                    mistakes.push(self.place_at(attribute.range().start), fault);
                }
            }
        }
        others
    }
}

/// A whole number of at least 1.
pub(crate) fn count(text: &str) -> Option<u32> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let count = text.parse().ok()?;
    (count >= 1 && is_digits).then_some(count)
}

/// Numbers with white space between them, however many; like [`numbers`] otherwise.
pub(crate) fn number_list(text: &str) -> Option<Vec<f64>> {
    text.split_ascii_whitespace().map(finite).collect()
}

/// So many numbers, with white space between them. Each is finite, and small enough to be multiplied without harm.
#[must_use]
pub fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let mut found = [0.0; N];
    let mut words = text.split_ascii_whitespace();
    for number in &mut found {
        *number = finite(words.next()?)?;
    }
    words.next().is_none().then_some(found)
}

/// Digits, not the words for infinity that Rust would read.
fn finite(word: &str) -> Option<f64> {
    let is_digits = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let number = word.parse::<f64>().ok()?;
    (word.bytes().all(is_digits) && number.abs() <= MAX_NUMBER).then_some(number)
}
