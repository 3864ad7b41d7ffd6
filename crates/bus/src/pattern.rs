//! Which channels a subscription wants.
//!
//! A pattern is a regular expression that has to match the whole name. The two usual kinds,
//! an exact name and `prefix.*`, are recognised and never meet the regex engine.

use std::fmt;

/// A pattern that was checked.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Exact(Template),
    /// What comes before a final `.*`.
    Prefix(Template),
    Regex(Box<fancy_regex::Regex>),
}

/// Any of these makes a text more than a plain name.
const SPECIAL: &[char] = &[
    '\\', '.', '[', ']', '{', '}', '(', ')', '*', '+', '?', '|', '^', '$',
];

/// A regular expression that looks around may have to try many ways; this many, and the answer is "no match".
const MAX_BACKTRACKS: usize = 100_000;

impl Pattern {
    /// Understands a pattern: a name, `prefix.*`, or any regular expression.
    ///
    /// # Errors
    /// When the regular expression is malformed.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        Ok(Self {
            kind: Self::kind_of(text)?,
            text: text.to_owned(),
        })
    }

    /// Only the channel of exactly this name, whatever its characters mean elsewhere.
    #[must_use]
    pub fn exact(name: &str) -> Self {
        Self {
            kind: Kind::Exact(Template(name.bytes().map(Some).collect())),
            text: name.to_owned(),
        }
    }

    fn kind_of(text: &str) -> Result<Kind, BadPattern> {
        if let Some(prefix) = text.strip_suffix(".*").and_then(Template::parse) {
            return Ok(Kind::Prefix(prefix));
        }
        if let Some(name) = Template::parse(text) {
            return Ok(Kind::Exact(name));
        }
        let build = |expression: &str| {
            fancy_regex::RegexBuilder::new(expression)
                .backtrack_limit(MAX_BACKTRACKS)
                .build()
                .map_err(|source| BadPattern {
                    pattern: text.to_owned(),
                    source: Box::new(source),
                })
        };
        // By itself first: an error then refers to the text as it was written, and `A)|(B` does not pass because
        // the group below happens to close what it opens.
        build(text)?;
        // The group keeps `A|B` whole: it matches "A" and "B", and nothing that merely begins or ends so.
        let regex = build(&format!(r"\A(?:{text})\z"))?;
        Ok(Kind::Regex(Box::new(regex)))
    }

    /// Whether the whole of `channel` matches.
    #[must_use]
    pub fn matches(&self, channel: &str) -> bool {
        match &self.kind {
            Kind::Exact(name) => name.len() == channel.len() && name.starts(channel.as_bytes()),
            Kind::Prefix(prefix) => prefix.starts(channel.as_bytes()),
            Kind::Regex(regex) => regex.is_match(channel).unwrap_or(false),
        }
    }

    /// What its channels begin with or are, when it is that simple.
    #[must_use]
    pub(crate) fn outline(&self) -> Option<Outline<'_>> {
        match &self.kind {
            Kind::Exact(name) => Some(Outline::Exact(name)),
            Kind::Prefix(prefix) => Some(Outline::Prefix(prefix)),
            Kind::Regex(_) => None,
        }
    }

    /// The only channel that it matches, if there is only one.
    #[must_use]
    pub(crate) fn only_channel(&self) -> Option<String> {
        let Kind::Exact(template) = &self.kind else {
            return None;
        };
        let bytes: Option<Vec<u8>> = template.0.iter().copied().collect();
        String::from_utf8(bytes?).ok()
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A pattern as something simpler than a regular expression could check it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outline<'a> {
    /// The whole name.
    Exact(&'a Template),
    /// How the name begins.
    Prefix(&'a Template),
}

/// A text in which some bytes may be any: the dots of `vehicle.pose` mean that in a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Option<u8>>);

impl Template {
    /// Understands a regular expression that is only a text, with dots or escaped characters in it.
    fn parse(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            let literal = match c {
                '.' => {
                    bytes.push(None);
                    continue;
                }
                '\\' => characters
                    .next()
                    .filter(|escaped| SPECIAL.contains(escaped))?,
                c if SPECIAL.contains(&c) => return None,
                c => c,
            };
            bytes.extend(literal.encode_utf8(&mut [0; 4]).bytes().map(Some));
        }
        Some(Self(bytes))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The bytes that are fixed, each with its place.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = (usize, u8)> {
        let places = self.0.iter().enumerate();
        places.filter_map(|(place, byte)| byte.map(|byte| (place, byte)))
    }

    fn starts(&self, name: &[u8]) -> bool {
        self.len() <= name.len()
            && self
                .0
                .iter()
                .zip(name)
                .all(|(expected, found)| expected.is_none_or(|byte| byte == *found))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.text)
    }
}

/// A regular expression that is none.
#[derive(Debug, thiserror::Error)]
#[error("expected a channel name or a regular expression, found {pattern:?}: {source}")]
pub struct BadPattern {
    pattern: String,
    source: Box<fancy_regex::Error>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names_only() {
        #[rustfmt::skip]
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("POSE",        &["POSE"],                    &["POSE2", "XPOSE", "pose", ""]),
            (".*",          &["", "POSE", "a.b"],         &[]),
            ("POSE.*",      &["POSE", "POSE2", "POSE.x"], &["XPOSE", "POS"]),
            (r"a\.b.*",     &["a.b", "a.bc"],             &["axb"]),
            ("a.b",         &["a.b", "axb"],              &["ab", "a.bc"]),
            ("A|B",         &["A", "B"],                  &["AXX", "XXB"]),
            ("(?!IMAGE).*", &["POSE", "XIMAGE"],          &["IMAGE", "IMAGES"]),
            ("POSE$",       &["POSE"],                    &["POSE\n"]),
            ("[A-C]+",      &["A", "CAB"],                &["ABD"]),
        ];
        for (text, yes, no) in cases {
            let pattern = Pattern::new(text).unwrap();
            for name in *yes {
                assert!(pattern.matches(name), "{text:?} should match {name:?}");
            }
            for name in *no {
                assert!(!pattern.matches(name), "{text:?} should not match {name:?}");
            }
        }
    }

    #[test]
    fn names_and_prefixes_never_meet_the_regex_engine() {
        for (text, is_plain) in [
            ("POSE", true),
            ("POSE.*", true),
            (".*", true),
            (r"a\.b.*", true),
            ("a.b", true),
            ("a|b", false),
        ] {
            let kind = Pattern::new(text).unwrap().kind;
            assert_eq!(!matches!(kind, Kind::Regex(_)), is_plain, "{text:?}");
        }
    }

    #[test]
    fn an_exact_name_has_no_special_characters() {
        let pattern = Pattern::exact("vehicle.pose");
        assert!(pattern.matches("vehicle.pose") && !pattern.matches("vehicle_pose"));
        for (pattern, only) in [
            (pattern, Some("vehicle.pose")),
            (
                Pattern::new(r"vehicle\.pose").unwrap(),
                Some("vehicle.pose"),
            ),
            (Pattern::new("vehicle.pose").unwrap(), None),
            (Pattern::new("vehicle.*").unwrap(), None),
            (Pattern::new("a|b").unwrap(), None),
        ] {
            assert_eq!(pattern.only_channel().as_deref(), only, "{pattern:?}");
        }
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = Pattern::new("POSE(").unwrap_err().to_string();
        assert!(error.contains("\"POSE(\""), "{error}");
    }

    #[test]
    fn a_bad_pattern_s_mistake_is_within_it() {
        for text in ["A[", "POSE(", "a|[b-"] {
            let error = Pattern::new(text).unwrap_err();
            let fancy_regex::Error::ParseError(position, _) = *error.source else {
                panic!("expected a place: {error}");
            };
            assert!(position <= text.len(), "{error}");
        }
        let error = Pattern::new("A[").unwrap_err().to_string();
        assert!(error.contains("at position 2"), "{error}");
    }

    #[test]
    fn parentheses_pair_up_within_the_pattern() {
        assert!(Pattern::new("A)|(B").is_err());
    }
}
