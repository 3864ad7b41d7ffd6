//! Tables of a file, taken apart key by key. A key that is not read is a problem, so that a misspelt one does
//! not pass for a default.

use super::problem::{Problems, Span};
use crate::parameter::{ParameterValue as _, Setting, parse_duration};
use bowline_wire::suggest::nearest;
use std::ops::RangeInclusive;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A word with its place.
pub type Word = Spanned<String>;
/// A value with its place.
pub type Value<'i> = Spanned<DeValue<'i>>;

/// A table that is being read.
#[derive(Debug)]
pub struct Table<'v, 'i> {
    /// What it is called in problems: `[robot]`.
    what: String,
    entries: Option<&'v DeTable<'i>>,
    at: Span,
    asked: Vec<&'static str>,
}

impl<'v, 'i> Table<'v, 'i> {
    /// A value that should be a table; any other is reported, and reads as an empty table.
    pub fn of(what: &str, value: &'v Value<'i>, problems: &mut Problems<'_>) -> Self {
        let entries = value.get_ref().as_table();
        if entries.is_none() {
            let found = describe(value.get_ref());
            problems.error(value.span(), format!("{what} is a table, found {found}"));
        }
        Self {
            what: what.to_owned(),
            entries,
            at: value.span(),
            asked: Vec::new(),
        }
    }

    /// A whole file, which is called `what` in problems.
    #[must_use]
    pub fn root(what: &str, entries: &'v DeTable<'i>) -> Self {
        Self {
            what: what.to_owned(),
            entries: Some(entries),
            at: 0..0,
            asked: Vec::new(),
        }
    }

    /// Whether it is one.
    #[must_use]
    pub fn is_table(&self) -> bool {
        self.entries.is_some()
    }

    /// Where it is.
    #[must_use]
    pub fn at(&self) -> Span {
        self.at.clone()
    }

    /// The value of a key, if it is there.
    pub fn value(&mut self, key: &'static str) -> Option<&'v Value<'i>> {
        self.allow(&[key]);
        self.entries?.get(key)
    }

    /// Allows keys that are not read.
    pub fn allow(&mut self, keys: &[&'static str]) {
        for key in keys {
            if !self.asked.contains(key) {
                self.asked.push(key);
            }
        }
    }

    /// Reports a key that is missing.
    pub fn require(&mut self, key: &'static str, help: &str, problems: &mut Problems<'_>) {
        self.allow(&[key]);
        if self
            .entries
            .is_some_and(|entries| !entries.contains_key(key))
        {
            let message = format!("expected {key} in {}, found none", self.what);
            problems.error(self.at(), message).help(help);
        }
    }

    /// The place of a key that is there.
    #[must_use]
    pub fn key(&self, key: &str) -> Option<Span> {
        self.entries?.get_key_value(key).map(|(key, _)| key.span())
    }

    /// A table in it.
    pub fn table(
        &mut self,
        key: &'static str,
        what: &str,
        problems: &mut Problems<'_>,
    ) -> Option<Self> {
        let value = self.value(key)?;
        Some(Self::of(what, value, problems))
    }

    /// A text.
    pub fn text(&mut self, key: &'static str, problems: &mut Problems<'_>) -> Option<Word> {
        let value = self.value(key)?;
        text(key, value, problems)
    }

    /// A list of texts.
    pub fn texts(&mut self, key: &'static str, problems: &mut Problems<'_>) -> Option<Vec<Word>> {
        let value = self.value(key)?;
        let DeValue::Array(items) = value.get_ref() else {
            let found = describe(value.get_ref());
            let message = format!("{key} is a list of text, found {found}");
            let text = value.get_ref().as_str();
            let help = text.map(|text| match key {
                "command" => format!("{key} = {}", words_of(text)),
                _ => format!("{key} = [{text:?}]"),
            });
            problems.error(value.span(), message).maybe_help(help);
            return None;
        };
        let what = format!("each of {key}");
        Some(
            items
                .iter()
                .filter_map(|item| text(&what, item, problems))
                .collect(),
        )
    }

    /// A duration.
    pub fn duration(&mut self, key: &'static str, problems: &mut Problems<'_>) -> Option<Duration> {
        let value = self.value(key)?;
        let text = value.get_ref().as_str();
        let duration = text.and_then(parse_duration);
        let duration = duration.filter(|duration| !duration.is_zero());
        if duration.is_none() {
            let found = describe(value.get_ref());
            let message = format!("{key} is a duration such as \"700ms\" or \"3s\", found {found}");
            let help = setting(value.get_ref())
                .and_then(|value| with_unit(&value))
                .map(|text| format!("{key} = {text:?}"));
            problems.error(value.span(), message).maybe_help(help);
        }
        duration
    }

    /// A number that is within limits.
    pub fn number(
        &mut self,
        key: &'static str,
        limits: RangeInclusive<f64>,
        problems: &mut Problems<'_>,
    ) -> Option<f64> {
        let value = self.value(key)?;
        let number = setting(value.get_ref()).and_then(|it| f64::from_setting(&it));
        let number = number.filter(|number| limits.contains(number));
        if number.is_none() {
            let (least, most) = (limits.start(), limits.end());
            let found = describe(value.get_ref());
            let message = format!("{key} is a number from {least} to {most}, found {found}");
            problems.error(value.span(), message);
        }
        number
    }

    /// So many numbers, each within limits.
    pub fn numbers<const N: usize>(
        &mut self,
        key: &'static str,
        limits: RangeInclusive<f64>,
        problems: &mut Problems<'_>,
    ) -> Option<[f64; N]> {
        let value = self.value(key)?;
        let numbers = numbers(value.get_ref(), &limits);
        if numbers.is_none() {
            let (least, most) = (limits.start(), limits.end());
            let found = describe(value.get_ref());
            let message =
                format!("{key} is a list of {N} numbers from {least} to {most}, found {found}");
            problems.error(value.span(), message);
        }
        numbers
    }

    /// Yes or no.
    pub fn boolean(&mut self, key: &'static str, problems: &mut Problems<'_>) -> Option<bool> {
        let value = self.value(key)?;
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            let found = describe(value.get_ref());
            let message = format!("{key} is true or false, found {found}");
            problems.error(value.span(), message);
        }
        boolean
    }

    /// A list of values of any type; none if it is something else, which is reported.
    pub fn list(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<&'v [Value<'i>]> {
        let value = self.value(key)?;
        let DeValue::Array(items) = value.get_ref() else {
            let found = describe(value.get_ref());
            problems.error(value.span(), format!("{key} is a list, found {found}"));
            return None;
        };
        Some(items)
    }

    /// One of some words.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&str, T)],
        problems: &mut Problems<'_>,
    ) -> Option<T> {
        let word = self.text(key, problems)?;
        let found = choices.iter().find(|(name, _)| name == word.get_ref());
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "{key} is one of {}, found {:?}",
                quoted(&names),
                word.get_ref()
            );
            problems
                .error(word.span(), message)
                .maybe_help(did_you_mean(word.get_ref(), names));
        }
        found.map(|(_, choice)| *choice)
    }

    /// Everything in it, in the order of the file, where the keys are the user's own names.
    #[must_use]
    pub fn entries(&self) -> Vec<(Word, &'v Value<'i>)> {
        let entries = self.entries.into_iter().flatten();
        let mut entries: Vec<_> = entries
            .map(|(key, value)| {
                (
                    Spanned::new(key.span(), key.get_ref().clone().into_owned()),
                    value,
                )
            })
            .collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    /// A table from the user's own names to texts: `{ scan = "front.scan" }`.
    pub fn pairs(&mut self, key: &'static str, problems: &mut Problems<'_>) -> Vec<(Word, Word)> {
        let Some(value) = self.value(key) else {
            return Vec::new();
        };
        let table = Self::of(key, value, problems);
        let pairs = table.entries().into_iter();
        pairs
            .filter_map(|(name, value)| {
                let what = format!("{key}.{}", name.get_ref());
                Some((name, text(&what, value, problems)?))
            })
            .collect()
    }

    /// Whether anything of it was not asked for: then that is wrong.
    pub fn finish(self, problems: &mut Problems<'_>) {
        for (key, _) in self.entries() {
            let name = key.get_ref().as_str();
            if self.asked.contains(&name) {
                continue;
            }
            let help = did_you_mean(name, self.asked.iter().copied())
                .unwrap_or_else(|| format!("{} has {}", self.what, self.asked.join(", ")));
            let message = format!("unknown key {name:?} in {}", self.what);
            problems.error(key.span(), message).help(help);
        }
    }
}

/// A number that lacks its unit, with the one that was meant most likely.
#[must_use]
pub fn with_unit(value: &Setting) -> Option<String> {
    let number = match value {
        Setting::Text(text) => text.trim().parse().ok()?,
        Setting::Real(number) => *number,
        Setting::Integer(number) => f64::from(i32::try_from(*number).ok()?),
        Setting::Boolean(_) | Setting::List(_) => return None,
    };
    (number > 0.0).then(|| format!("{number}s"))
}

/// A command line as a list of words, as robot files want it.
#[must_use]
pub fn words_of(line: &str) -> String {
    let is_for_a_shell = line.contains(['\'', '"', '\\', '$', '|', '&', ';', '<', '>', '*', '?']);
    let words: Vec<&str> = match is_for_a_shell {
        true => vec!["sh", "-c", line],
        false => line.split_whitespace().collect(),
    };
    format!("[{}]", quoted(&words))
}

fn text(what: &str, value: &Value<'_>, problems: &mut Problems<'_>) -> Option<Word> {
    let text = value.get_ref().as_str();
    if text.is_none() {
        let found = describe(value.get_ref());
        problems.error(value.span(), format!("{what} is text, found {found}"));
    }
    text.map(|text| Spanned::new(value.span(), text.to_owned()))
}

/// So many numbers within limits, if that is what a value is.
#[must_use]
pub fn numbers<const N: usize>(
    value: &DeValue<'_>,
    limits: &RangeInclusive<f64>,
) -> Option<[f64; N]> {
    let list = Vec::<f64>::from_setting(&setting(value)?)?;
    let numbers: [f64; N] = list.try_into().ok()?;
    numbers
        .iter()
        .all(|it| limits.contains(it))
        .then_some(numbers)
}

/// A value as a parameter has it; `None` for dates, tables and numbers that are too large.
#[must_use]
pub fn setting(value: &DeValue<'_>) -> Option<Setting> {
    Some(match value {
        DeValue::Boolean(value) => Setting::Boolean(*value),
        DeValue::Integer(value) => {
            Setting::Integer(i64::from_str_radix(value.as_str(), value.radix()).ok()?)
        }
        DeValue::Float(value) => Setting::Real(value.as_str().parse().ok()?),
        DeValue::String(value) => Setting::Text(value.clone().into_owned()),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| setting(item.get_ref()));
            Setting::List(items.collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

/// The type and text of a value, for problems.
#[must_use]
pub fn describe(value: &DeValue<'_>) -> String {
    match (value, setting(value)) {
        (DeValue::Table(_), _) => "a table".to_owned(),
        (DeValue::Datetime(date), _) => format!("the date {date}"),
        (DeValue::Integer(number), None) => {
            format!("the whole number {number}, which is too large")
        }
        (_, Some(setting)) => setting.describe(),
        (_, None) => "a list with something that no list can have".to_owned(),
    }
}

/// Names as people read them in a row.
#[must_use]
pub fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

/// What was meant, perhaps, in words.
#[must_use]
pub fn did_you_mean<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(written, words).map(|word| format!("did you mean {word:?}?"))
}
