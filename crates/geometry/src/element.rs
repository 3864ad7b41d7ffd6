//! Elements of a body that geometry keeps as they are written: sensors, thrusters, hulls, and what other crates add.
//!
//! A reader makes an [`Element`] of each. An [`ElementKind`] defines which attributes an element of its word has; checks, the
//! schema and the reference in `docs/elements.md` are made from it, so that a kind is described once.

use crate::mistake::{Fault, Mistakes, Place};
use crate::xml::{self, MAX_NUMBER};
use std::fmt::Display;

/// An element of a body, with its attributes as they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    /// Which kind of element it is: `laser`, for example.
    pub word: String,
    /// Where it is declared.
    pub place: Place,
    /// Its name on the body; none for what describes a body as a whole.
    pub name: Option<String>,
    /// The frame of the same body that it sits in; none for what describes a body as a whole.
    pub frame: Option<String>,
    /// All others, in the order of the file.
    pub attributes: Vec<Given>,
}

/// An attribute as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it is.
    pub place: Place,
}

/// The attribute that every sensor has, and nothing else.
const RATE: &str = "rate_hz";

impl Element {
    /// The value of an attribute, as it is written.
    #[must_use]
    pub fn value(&self, attribute: &str) -> Option<&str> {
        self.given(attribute).map(|given| given.value.as_str())
    }

    /// An attribute as a number; none if it is not there or is none.
    #[must_use]
    pub fn number(&self, attribute: &str) -> Option<f64> {
        let [number] = xml::numbers(self.value(attribute)?)?;
        Some(number)
    }

    /// Whether it is a sensor, which is what has a rate.
    #[must_use]
    pub fn is_sensor(&self) -> bool {
        self.given(RATE).is_some()
    }

    /// How often a sensor measures; 0 is as often as a simulator steps.
    #[must_use]
    pub fn rate_hz(&self) -> f64 {
        self.number(RATE).unwrap_or(0.0)
    }

    fn given(&self, attribute: &str) -> Option<&Given> {
        self.attributes.iter().find(|it| it.name == attribute)
    }

    fn place_of(&self, attribute: &str) -> Place {
        let given = self.given(attribute);
        given.map_or(&self.place, |given| &given.place).clone()
    }
}

/// A kind of element that bodies may have.
#[derive(Clone, Copy, Debug)]
pub struct ElementKind {
    /// The element's name in Body files.
    pub word: &'static str,
    /// What it is, in a sentence.
    pub doc: &'static str,
    /// What it describes.
    pub role: ElementRole,
    /// Its own attributes.
    pub attributes: &'static [Attribute],
}

/// What an element describes, from which its common attributes follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementRole {
    /// A sensor: it has a `name`, a `frame` and a `rate_hz`.
    Sensor,
    /// Another thing that sits in a frame: it has a `name` and a `frame`.
    Device,
    /// The body as a whole: it has neither.
    Body,
}

/// An attribute that a kind of element has.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Its name, with the unit at the end.
    pub name: &'static str,
    /// What it may be.
    pub value: Value,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it means, without a full stop.
    pub doc: &'static str,
}

/// What an attribute may be.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A number within bounds.
    Number(Bounds),
    /// So many numbers, each within bounds.
    Numbers(usize, Bounds),
    /// A whole number of at least 1 and at most this.
    Count(u32),
    /// One of some words.
    Word(&'static [&'static str]),
    /// A text with rules of its own, which are checked where something is built from the element.
    Text,
}

impl Attribute {
    /// One that may be left out.
    #[must_use]
    pub const fn optional(name: &'static str, value: Value, doc: &'static str) -> Self {
        Self {
            name,
            value,
            is_required: false,
            doc,
        }
    }

    /// One that must be there.
    #[must_use]
    pub const fn required(name: &'static str, value: Value, doc: &'static str) -> Self {
        Self {
            is_required: true,
            ..Self::optional(name, value, doc)
        }
    }

    /// A deviation or another number that is not below 0; left out it is 0.
    #[must_use]
    pub const fn noise(name: &'static str, doc: &'static str) -> Self {
        Self::optional(name, Value::Number(Bounds::NOT_NEGATIVE), doc)
    }

    /// What is wrong with a value: what was expected.
    fn expected(&self, text: &str) -> Option<String> {
        match self.value {
            Value::Number(bounds) => {
                let Some([number]) = xml::numbers(text) else {
                    return Some("a number".to_owned());
                };
                (!bounds.contains(number)).then(|| bounds.words.to_owned())
            }
            Value::Numbers(n, bounds) => {
                let found = xml::number_list(text);
                let is_fine = found.is_some_and(|found| {
                    found.len() == n && found.iter().all(|it| bounds.contains(*it))
                });
                (!is_fine).then(|| format!("{n} numbers, each {}", bounds.words))
            }
            Value::Count(most) => {
                let found = xml::count(text).filter(|count| *count <= most);
                found.is_none().then(|| match most {
                    u32::MAX => "a whole number of at least 1".to_owned(),
                    most => format!("a whole number from 1 to {most}"),
                })
            }
            Value::Word(words) => (!words.contains(&text)).then(|| words.join(" or ")),
            Value::Text => None,
        }
    }
}

/// What a number may be.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The smallest and the largest.
    pub(crate) ends: [f64; 2],
    /// Whether the smallest is not one of them.
    pub(crate) is_open: bool,
    pub(crate) words: &'static str,
}

impl Bounds {
    /// Any.
    pub const ANY: Self = Self::from(-MAX_NUMBER, MAX_NUMBER, "a number");
    /// More than 0.
    pub const POSITIVE: Self = Self::above(0.0, MAX_NUMBER, "a number above 0");
    /// 0 or more.
    pub const NOT_NEGATIVE: Self = Self::from(0.0, MAX_NUMBER, "a number that is not below 0");
    /// From 0 to 1.
    pub const RATIO: Self = Self::from(0.0, 1.0, "a number from 0 to 1");
    /// An angle of a field of view, in degrees.
    pub const VIEW_DEG: Self = Self::above(0.0, 360.0, "an angle above 0 and up to 360 degrees");

    /// From a number to another one, both included; as `words` describe it.
    #[must_use]
    pub const fn from(least: f64, most: f64, words: &'static str) -> Self {
        Self {
            ends: [least, most],
            is_open: false,
            words,
        }
    }

    /// Above a number, up to another one that is included; as `words` describe it.
    #[must_use]
    pub const fn above(least: f64, most: f64, words: &'static str) -> Self {
        Self {
            is_open: true,
            ..Self::from(least, most, words)
        }
    }

    pub(crate) fn contains(&self, number: f64) -> bool {
        let [least, most] = self.ends;
        (least..=most).contains(&number) && (number > least || !self.is_open)
    }
}

impl ElementRole {
    /// Attributes that every element of the role has beside `name` and `frame`.
    pub(crate) const fn common(self) -> &'static [Attribute] {
        const SENSOR: &[Attribute] = &[Attribute::required(
            RATE,
            Value::Number(Bounds::NOT_NEGATIVE),
            "how often it measures; 0: at every step of the simulator",
        )];
        match self {
            Self::Sensor => SENSOR,
            Self::Device | Self::Body => &[],
        }
    }

    /// The attributes that readers take out of an element.
    pub(crate) const fn identity(self) -> &'static [&'static str] {
        match self {
            Self::Sensor | Self::Device => &["name", "frame"],
            Self::Body => &[],
        }
    }
}

impl ElementKind {
    /// Checks an element of this kind. What is wrong is added to `mistakes`.
    pub fn check(&self, element: &Element, mistakes: &mut Mistakes) {
        self.read(element, mistakes);
    }

    /// The same; its values can be read then.
    pub fn read<'e>(
        &'e self,
        element: &'e Element,
        mistakes: &'e mut Mistakes,
    ) -> ElementValues<'e> {
        for given in &element.attributes {
            let Some(attribute) = self.attribute(&given.name) else {
                let names = self.role.identity().iter().copied();
                let known: Vec<&str> = names.chain(self.all().map(|it| it.name)).collect();
                let fault = Fault::UnknownAttribute {
                    element: self.word.to_owned(),
                    found: given.name.clone(),
                    expected: known.join(", "),
                    suggestion: mistakes.suggest(&given.name, known.iter().copied()),
                };
                mistakes.push(given.place.clone(), fault);
                continue;
            };
            if let Some(expected) = attribute.expected(&given.value) {
                refuse(element, &given.name, expected, mistakes);
            }
        }
        let identity = [("name", &element.name), ("frame", &element.frame)];
        for (name, value) in identity {
            let is_wanted = self.role.identity().contains(&name);
            match value {
                None if is_wanted => require(element, name, mistakes),
                Some(_) if !is_wanted => {
                    let fault = Fault::UnknownAttribute {
                        element: self.word.to_owned(),
                        found: name.to_owned(),
                        expected: self.all().map(|it| it.name).collect::<Vec<_>>().join(", "),
                        suggestion: None,
                    };
                    mistakes.push(element.place.clone(), fault);
                }
                Some(_) | None => {}
            }
        }
        for attribute in self.all().filter(|it| it.is_required) {
            if element.value(attribute.name).is_none() {
                require(element, attribute.name, mistakes);
            }
        }
        ElementValues {
            kind: self,
            element,
            mistakes,
        }
    }

    /// Its attributes, the common ones first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Attribute> {
        self.role.common().iter().chain(self.attributes)
    }

    fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.all().find(|attribute| attribute.name == name)
    }
}

/// The attributes of an element whose kind is known. What is not there, or wrong, is `None`.
#[derive(Debug)]
pub struct ElementValues<'e> {
    kind: &'e ElementKind,
    element: &'e Element,
    mistakes: &'e mut Mistakes,
}

impl ElementValues<'_> {
    /// The value of an attribute, if it is as its kind wants it.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let attribute = self.kind.attribute(name);
        debug_assert!(attribute.is_some(), "{name} is in the table of its kind");
        let text = self.element.value(name)?;
        attribute?.expected(text).is_none().then_some(text)
    }

    /// A number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        let [number] = self.numbers(name)?;
        Some(number)
    }

    /// A number that is 0 where it is left out.
    #[must_use]
    pub fn noise(&self, name: &str) -> f64 {
        self.number(name).unwrap_or(0.0)
    }

    /// So many numbers.
    #[must_use]
    pub fn numbers<const N: usize>(&self, name: &str) -> Option<[f64; N]> {
        xml::numbers(self.text(name)?)
    }

    /// A count.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u32> {
        xml::count(self.text(name)?)
    }

    /// The nearest and the furthest of what is measured; the furthest must be more.
    pub fn ranges(&mut self, [least, most]: [&str; 2]) -> Option<[f64; 2]> {
        let (near, far) = (self.number(least)?, self.number(most)?);
        if near >= far {
            self.refuse(most, format_args!("more than {least}"));
            return None;
        }
        Some([near, far])
    }

    /// Complains that an attribute must be there.
    pub fn require(&mut self, name: &str) {
        if self.element.value(name).is_none() {
            require(self.element, name, self.mistakes);
        }
    }

    /// Complains about the value of an attribute.
    pub fn refuse(&mut self, name: &str, expected: impl Display) {
        refuse(self.element, name, expected, self.mistakes);
    }
}

/// Complains that an attribute is not there.
fn require(element: &Element, name: &str, mistakes: &mut Mistakes) {
    let fault = Fault::Missing {
        element: element.word.clone(),
        expected: format!("the attribute {name}"),
    };
    mistakes.push(element.place.clone(), fault);
}

fn refuse(element: &Element, name: &str, expected: impl Display, mistakes: &mut Mistakes) {
    let found = element.value(name).unwrap_or("");
    let fault = Fault::BadValue {
        what: name.to_owned(),
        expected: expected.to_string(),
        found: found.chars().take(100).collect(),
    };
    mistakes.push(element.place_of(name), fault);
}
