//! A value as it was written, before its use is known.

use std::fmt;
use std::time::Duration;

/// A value of a parameter as it stands in a robot file or travels over the bus.
///
/// Its text is TOML's: `0.4`, `"stop"`, `[1, 2]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// `true` or `false`.
    Boolean(bool),
    /// `5`.
    Integer(i64),
    /// `5.0`.
    Real(f64),
    /// `"five"`.
    Text(String),
    /// `[5, 6]`.
    List(Vec<Self>),
}

/// Why a text is no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no value: expected one as in a robot file, such as 0.4, true, \"text\" or [1, 2]"
)]
pub struct BadSetting {
    text: String,
}

impl Setting {
    /// From a text as it would stand in a robot file. A bare word is taken as text, so that shells need fewer quotes.
    ///
    /// # Errors
    /// When it is nothing that a parameter can be.
    pub fn parse(text: &str) -> Result<Self, BadSetting> {
        let bad = || BadSetting {
            text: text.to_owned(),
        };
        match text.parse::<toml::Value>() {
            Ok(value) => Self::from_toml(&value).ok_or_else(bad),
            Err(_) if is_bare_text(text) => Ok(Self::Text(text.trim().to_owned())),
            Err(_) => Err(bad()),
        }
    }

    /// From a value of a robot file; `None` for dates and tables, which no parameter is.
    #[must_use]
    pub fn from_toml(value: &toml::Value) -> Option<Self> {
        Some(match value {
            toml::Value::Boolean(value) => Self::Boolean(*value),
            toml::Value::Integer(value) => Self::Integer(*value),
            toml::Value::Float(value) => Self::Real(*value),
            toml::Value::String(value) => Self::Text(value.clone()),
            toml::Value::Array(items) => {
                Self::List(items.iter().map(Self::from_toml).collect::<Option<_>>()?)
            }
            toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
        })
    }

    /// Appends all texts in it, in their order.
    pub(crate) fn collect_texts(&self, texts: &mut Vec<String>) {
        match self {
            Self::Text(text) => texts.push(text.clone()),
            Self::List(items) => items.iter().for_each(|item| item.collect_texts(texts)),
            Self::Boolean(_) | Self::Integer(_) | Self::Real(_) => {}
        }
    }

    /// Its kind and its text, for errors.
    #[must_use]
    pub fn describe(&self) -> String {
        let kind = match self {
            Self::Boolean(_) => "the boolean",
            Self::Integer(_) => "the whole number",
            Self::Real(_) => "the number",
            Self::Text(_) => "the text",
            Self::List(_) => "the list",
        };
        format!("{kind} {self}")
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            // TOML has inf and nan, and wants a point or an exponent in every other number.
            Self::Real(value) if value.is_nan() => f.write_str("nan"),
            Self::Real(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{}", toml::Value::String(value.clone())),
            Self::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    let separator = if at == 0 { "" } else { ", " };
                    write!(f, "{separator}{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Words that need no quotes: what cannot be mistaken for a broken value of another kind.
fn is_bare_text(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !text.contains(['"', '\'', '[', ']', '{', '}', '\n'])
}

/// `300ms`, `2s`, `1.5min`. A number without a unit could be anything.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if !text.ends_with(|letter: char| letter.is_ascii_alphabetic()) {
        return None;
    }
    let seconds = bowline_wire::number::parse_seconds(text)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The shortest of the ways to write it.
pub(crate) fn duration_text(duration: Duration) -> String {
    let ns = duration.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let fit = units.iter().find(|(size, _)| ns.is_multiple_of(*size));
    fit.map_or_else(
        || format!("{}us", duration.as_secs_f64() * 1e6),
        |(size, unit)| format!("{}{unit}", ns / size),
    )
}
