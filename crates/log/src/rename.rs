//! What channels are called instead, in another log or on a bus.

use std::fmt;
use std::str::FromStr;

/// What some channels are called instead: `OLD=NEW`.
///
/// OLD is a regular expression for the whole name, NEW may have `$1` or `${1}` in it for what the first group matched.
#[derive(Clone)]
pub struct Rename {
    text: String,
    old: fancy_regex::Regex,
    new: String,
}

impl Rename {
    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn apply(&self, channel: &str) -> Option<String> {
        let captures = self.old.captures(channel).ok().flatten()?;
        let mut name = String::new();
        captures.expand(&self.new, &mut name);
        Some(name)
    }
}

impl FromStr for Rename {
    type Err = BadRename;

    fn from_str(text: &str) -> Result<Self, BadRename> {
        let malformed = || BadRename::Shape {
            found: text.to_owned(),
        };
        let (old, new) = text.split_once('=').ok_or_else(malformed)?;
        if old.is_empty() || new.is_empty() {
            return Err(malformed());
        }
        let regex = fancy_regex::Regex::new(&format!(r"\A(?:{old})\z"));
        Ok(Self {
            text: text.to_owned(),
            old: regex.map_err(|source| BadRename::Regex {
                old: old.to_owned(),
                source: Box::new(source),
            })?,
            new: new.to_owned(),
        })
    }
}

impl fmt::Debug for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rename({:?})", self.text)
    }
}

/// Several of them: the last that matches a channel counts.
#[derive(Clone, Debug, Default)]
pub struct Renames(Vec<Rename>);

impl Renames {
    /// Adds one, which counts more than those before it.
    pub fn add(&mut self, rename: Rename) {
        // A rule with exactly the same text is superseded; so renaming for days fills no memory.
        self.0.retain(|known| known.text != rename.text);
        self.0.push(rename);
    }

    /// What a channel is called instead, if it is.
    #[must_use]
    pub fn apply(&self, channel: &str) -> Option<String> {
        let mut renames = self.0.iter().rev();
        renames.find_map(|rename| rename.apply(channel))
    }

    /// Whether every channel keeps its name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Rename> for Renames {
    fn from_iter<T: IntoIterator<Item = Rename>>(renames: T) -> Self {
        let mut all = Self::default();
        for rename in renames {
            all.add(rename);
        }
        all
    }
}

/// A renaming that is none.
#[derive(Debug, thiserror::Error)]
pub enum BadRename {
    /// There are not two names.
    #[error(
        "expected OLD=NEW, as in vehicle.pose=sim.pose or 'front\\.(.*)=rear.$1', found {found:?}"
    )]
    Shape {
        /// What there was.
        found: String,
    },
    /// The first is no regular expression.
    #[error(
        "expected a channel name or a regular expression before the =, found {old:?}: {source}"
    )]
    Regex {
        /// What there was.
        old: String,
        /// What is wrong with it.
        source: Box<fancy_regex::Error>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renames(texts: &[&str]) -> Renames {
        let parsed = texts.iter().map(|text| text.parse::<Rename>());
        parsed
            .collect::<Result<_, _>>()
            .expect("each is a renaming")
    }

    #[test]
    fn channels_are_renamed_by_whole_name_and_by_group_and_the_last_word_counts() {
        let renames = renames(&["front\\.(.*)=rear.$1", "pose=POSE", "front.gps=fix"]);
        for (channel, name) in [
            ("front.laser", Some("rear.laser")),
            ("front.gps", Some("fix")),
            ("pose", Some("POSE")),
            ("my.pose", None),
            ("pose2", None),
        ] {
            assert_eq!(renames.apply(channel).as_deref(), name, "{channel}");
        }
        assert!(!renames.is_empty() && Renames::default().is_empty());
    }

    #[test]
    fn what_is_no_renaming_is_refused() {
        for text in ["", "pose", "=pose", "pose=", "(=pose"] {
            assert!(text.parse::<Rename>().is_err(), "{text:?}");
        }
    }
}
