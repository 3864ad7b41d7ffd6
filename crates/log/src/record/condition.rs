//! What makes a recorder write down what it kept in memory: `battery.volts < 11.5`.
//!
//! On the left stands a channel and a field of its messages, joined by a dot. Channels have dots in their names, so where
//! the field begins is known when a message comes: `vehicle.battery.volts` is the field `volts` of what is published on
//! `vehicle.battery`, and the field `battery.volts` of what is published on `vehicle`. Without a comparison, the left side
//! is a pattern of channels, and any message there will do.

use bowline_bus::{BadPattern, Channel, Pattern};
use bowline_format::{LogEvent, Schemas};
use bowline_wire::schema::{TypeId, TypeSet};

use bowline_wire::{FieldPath, Fingerprint, ParsePathError, Selector, Value};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// When to write down what was kept.
#[derive(Clone, Debug)]
pub struct Condition {
    text: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    /// Any message of a channel.
    Message(Pattern),
    /// A field of a message.
    Field {
        /// The channel and the field, joined by a dot.
        place: String,
        comparison: Comparison,
        value: Constant,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Unequal,
}

/// Longest first, so that `<=` is not taken for `<`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

#[derive(Clone, Debug, PartialEq)]
enum Constant {
    Integer(i64),
    Number(f64),
    Text(String),
}

impl FromStr for Condition {
    type Err = ParseConditionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let first = COMPARISONS
            .iter()
            .filter_map(|(sign, comparison)| Some((text.find(sign)?, sign, comparison)))
            .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())));
        let test = match first {
            None => Test::Message(Pattern::new(text)?),
            Some((at, sign, comparison)) => {
                let (place, right) = text.split_at(at);
                let place = place.trim();
                check_place(place)?;
                Test::Field {
                    place: place.to_owned(),
                    comparison: *comparison,
                    value: Constant::parse(right.get(sign.len()..).unwrap_or_default().trim())?,
                }
            }
        };
        Ok(Self {
            text: text.to_owned(),
            test,
        })
    }
}

fn check_place(place: &str) -> Result<(), ParseConditionError> {
    if !place.contains('.') {
        return Err(ParseConditionError::NoField {
            found: place.to_owned(),
        });
    }
    FieldPath::parse(place)?;
    Ok(())
}

impl Constant {
    fn parse(text: &str) -> Result<Self, ParseConditionError> {
        let quoted = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        if let Some(quoted) = quoted {
            return Ok(Self::Text(quoted.to_owned()));
        }
        match text {
            "true" => return Ok(Self::Integer(1)),
            "false" => return Ok(Self::Integer(0)),
            _ => {}
        }
        if let Ok(integer) = text.parse() {
            return Ok(Self::Integer(integer));
        }
        let number = text.parse().ok().filter(|number: &f64| !number.is_nan());
        number
            .map(Self::Number)
            .ok_or_else(|| ParseConditionError::NoValue {
                found: text.to_owned(),
            })
    }

    /// How a value compares with this; `None` if it does not.
    fn compare(&self, value: &Value<'_>) -> Option<Ordering> {
        match self {
            Self::Text(text) => Some(value.as_str()?.cmp(text)),
            Self::Number(number) => value.as_f64()?.partial_cmp(number),
            Self::Integer(integer) => match value.as_integer() {
                Some(found) => Some(found.cmp(integer)),
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "the value is a floating-point number"
                )]
                None => value.as_f64()?.partial_cmp(&(*integer as f64)),
            },
        }
    }
}

impl Comparison {
    fn holds(self, ordering: Option<Ordering>) -> bool {
        match (self, ordering) {
            (Self::Below, Some(Ordering::Less))
            | (Self::AtMost, Some(Ordering::Less | Ordering::Equal))
            | (Self::Above, Some(Ordering::Greater))
            | (Self::AtLeast, Some(Ordering::Greater | Ordering::Equal))
            | (Self::Equal, Some(Ordering::Equal))
            // What is not a number equals nothing.
            | (Self::Unequal, Some(Ordering::Less | Ordering::Greater) | None) => true,
            (
                Self::Below | Self::AtMost | Self::Above | Self::AtLeast | Self::Equal | Self::Unequal,
                Some(Ordering::Less | Ordering::Equal | Ordering::Greater) | None,
            ) => false,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// The channels that it may be about.
    pub(super) fn channels(&self) -> Vec<Pattern> {
        match &self.test {
            Test::Message(pattern) => vec![pattern.clone()],
            Test::Field { place, .. } => {
                let ends = place.match_indices('.').map(|(at, _)| at);
                ends.filter_map(|end| place.get(..end))
                    .map(Pattern::exact)
                    .collect()
            }
        }
    }
}

/// Types of a channel that are remembered: more than publishers of one channel have.
const MAX_TYPES: usize = 64;

/// Asks all conditions about each event.
#[derive(Debug)]
pub(super) struct Watch {
    conditions: Vec<Condition>,
    /// For each condition: how its field is found in the types of a channel.
    selectors: HashMap<(usize, Channel, Fingerprint), Result<Selector, String>>,
    /// Why a condition cannot be evaluated; each reported once.
    complaints: Vec<String>,
}

/// The result of a condition for an event.
enum Answer {
    No,
    Yes,
    Senseless(String),
}

impl Watch {
    pub(super) fn new(conditions: Vec<Condition>) -> Self {
        Self {
            conditions,
            selectors: HashMap::new(),
            complaints: Vec::new(),
        }
    }

    /// The first condition that holds for the event.
    pub(super) fn first_met(
        &mut self,
        channel: &Channel,
        event: &LogEvent<'_>,
        schemas: &Schemas,
    ) -> Option<&Condition> {
        let met =
            (0..self.conditions.len()).find(|at| match self.ask(*at, channel, event, schemas) {
                Answer::Yes => true,
                Answer::No => false,
                Answer::Senseless(why) => {
                    self.complaints.push(why);
                    false
                }
            });
        met.and_then(|at| self.conditions.get(at))
    }

    /// What cannot be evaluated and why, as far as it was not reported yet.
    pub(super) fn take_complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    fn ask(
        &mut self,
        at: usize,
        channel: &Channel,
        event: &LogEvent<'_>,
        schemas: &Schemas,
    ) -> Answer {
        let Some(condition) = self.conditions.get(at) else {
            return Answer::No;
        };
        let (place, comparison, value) = match &condition.test {
            Test::Message(pattern) if pattern.matches(channel) => return Answer::Yes,
            Test::Message(_) => return Answer::No,
            Test::Field {
                place,
                comparison,
                value,
            } => (place, *comparison, value),
        };
        let field = place.strip_prefix(channel.as_str());
        let Some(field) = field.and_then(|rest| rest.strip_prefix('.')) else {
            return Answer::No;
        };
        let Some(fingerprint) = event.fingerprint() else {
            return Answer::No;
        };
        let Some((types, id)) = schemas.find(fingerprint) else {
            // A description may still come.
            return Answer::No;
        };
        let key = (at, channel.clone(), fingerprint);
        if !self.selectors.contains_key(&key) {
            if self.selectors.len() >= MAX_TYPES * self.conditions.len() {
                return Answer::No;
            }
            let selector = select(field, types, id).map_err(|why| {
                format!(
                    "{condition:?} on {channel}: {why}",
                    condition = condition.text
                )
            });
            let complaint = selector.as_ref().err().cloned();
            self.selectors.insert(key.clone(), selector);
            if let Some(why) = complaint {
                return Answer::Senseless(why);
            }
        }
        let Some(Ok(selector)) = self.selectors.get(&key) else {
            return Answer::No;
        };
        let decoded = types.decode_as(id, event.payload);
        let picked = decoded.as_ref().ok().and_then(|whole| selector.pick(whole));
        match picked {
            Some(found) if comparison.holds(value.compare(&found)) => Answer::Yes,
            Some(_) | None => Answer::No,
        }
    }
}

fn select(field: &str, types: &TypeSet, id: TypeId) -> Result<Selector, String> {
    let path = FieldPath::parse(field).map_err(|error| error.to_string())?;
    types.select(id, &path).map_err(|error| error.to_string())
}

/// Why a text is no condition.
#[derive(Debug, thiserror::Error)]
pub enum ParseConditionError {
    /// No field is named.
    #[error("expected CHANNEL.FIELD on the left, such as battery.volts < 11.5, found {found:?}")]
    NoField {
        /// What stands there.
        found: String,
    },
    /// Nothing to compare with.
    #[error("expected a number, true, false or a \"text\" on the right, found {found:?}")]
    NoValue {
        /// What stands there.
        found: String,
    },
    /// The field is malformed.
    #[error(transparent)]
    Path(#[from] ParsePathError),
    /// The channel is malformed.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
}
