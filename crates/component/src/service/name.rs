//! Names of services, and the channels that they are on.

use super::{ANSWER_CHANNEL, CALL_CHANNEL};
use bowline_wire::datagram::MAX_CHANNEL_LEN;
use std::fmt;
use std::sync::Arc;

/// The name of a service: words of lower case letters, digits, `_` and `-`, with dots between them.
///
/// Holding one is proof that its channels can be sent. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceName(Arc<str>);

impl ServiceName {
    /// The longest name, bytes: with the longer of the two prefixes it fills a channel's name.
    pub const MAX_LEN: usize = MAX_CHANNEL_LEN - ANSWER_CHANNEL.len();

    /// Checks a name.
    ///
    /// # Errors
    /// When it is empty, too long, or has other characters.
    pub fn new(name: &str) -> Result<Self, BadServiceName> {
        if name.is_empty() {
            return Err(BadServiceName::Empty);
        }
        if name.len() > Self::MAX_LEN {
            return Err(BadServiceName::TooLong { len: name.len() });
        }
        if let Some(found) = name.chars().find(|found| !is_allowed(*found)) {
            let name = name.to_owned();
            return Err(BadServiceName::Character { found, name });
        }
        if name.split('.').any(str::is_empty) {
            return Err(BadServiceName::EmptyWord {
                name: name.to_owned(),
            });
        }
        Ok(Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where it is called.
    #[must_use]
    pub fn call_channel(&self) -> String {
        format!("{CALL_CHANNEL}{}", self.0)
    }

    /// Where it answers.
    #[must_use]
    pub fn answer_channel(&self) -> String {
        format!("{ANSWER_CHANNEL}{}", self.0)
    }
}

fn is_allowed(character: char) -> bool {
    matches!(character, 'a'..='z' | '0'..='9' | '_' | '-' | '.')
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// Why something is no name of a service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadServiceName {
    /// There is nothing.
    #[error("expected the name of a service, such as model.transform, found nothing")]
    Empty,
    /// Its channels would be too long.
    #[error(
        "expected the name of a service of at most {} bytes, found {len}",
        ServiceName::MAX_LEN
    )]
    TooLong {
        /// Of the name, bytes.
        len: usize,
    },
    /// It has a character that no channel of ours has.
    #[error(
        "the name of a service has lower case letters, digits, _, - and dots, found {found:?} in {name:?}"
    )]
    Character {
        /// The first one that is wrong.
        found: char,
        /// What was given.
        name: String,
    },
    /// There is nothing before, after or between dots.
    #[error(
        "the name of a service has words between its dots, such as model.transform, found {name:?}"
    )]
    EmptyWord {
        /// What was given.
        name: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_that_can_be_a_channel() {
        let longest = "a".repeat(ServiceName::MAX_LEN);
        for good in ["model.transform", "a", "x-1.y_2.z", longest.as_str()] {
            let name = ServiceName::new(good).unwrap();
            for channel in [name.call_channel(), name.answer_channel()] {
                bowline_wire::datagram::check_channel(&channel).unwrap();
            }
        }
        let too_long = "a".repeat(ServiceName::MAX_LEN + 1);
        for bad in [
            "", ".", "a.", ".a", "a..b", "A", "a b", "é", "a/b", "a\0", &too_long,
        ] {
            assert!(ServiceName::new(bad).is_err(), "{bad:?}");
        }
    }
}
