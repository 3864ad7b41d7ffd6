//! What a page wants to be sent: channels by pattern and type, and how often.
//!
//! A pattern is matched against every channel that there is, for every page that asks: so it is not any regular expression,
//! but a name in which some of it may be left open. That takes a bounded number of steps whatever it contains.

use crate::frame::WishRow;
use std::time::Duration;

/// More rows than a page has kinds of panels.
const MAX_ROWS: usize = 64;
/// The longest pattern that makes sense for names of 63 bytes.
const MAX_PATTERN: usize = 256;
/// Faster than this is every message.
const MAX_HZ: f64 = 1_000.0;

/// All wishes of a page. The first row that a channel matches counts.
#[derive(Debug)]
pub(crate) struct Wishes(Vec<Wish>);

#[derive(Debug)]
struct Wish {
    pattern: Pattern,
    type_name: Option<String>,
    wanted: Wanted,
}

/// What is wanted of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) manner: Manner,
    /// How many messages of the past.
    pub(crate) n_past: usize,
}

/// How a channel is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Every message, in a bounded queue.
    All,
    /// The newest, and not more often than this.
    Newest { period: Duration },
}

/// Wishes that make no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum BadWish {
    #[error("expected at most {MAX_ROWS} rows, found {0}")]
    TooMany(usize),
    #[error("expected a pattern of at most {MAX_PATTERN} bytes, found {0}")]
    TooLong(usize),
    #[error(
        "expected a name with .* for any text, . for any byte and \\ before what is meant, found {found:?} in {pattern:?}"
    )]
    BadPattern { found: char, pattern: String },
    #[error("expected max_hz of 0 or more, found {0}")]
    BadRate(String),
}

impl Wishes {
    pub(crate) fn new(rows: Vec<WishRow>) -> Result<Self, BadWish> {
        if rows.len() > MAX_ROWS {
            return Err(BadWish::TooMany(rows.len()));
        }
        let wishes: Result<_, _> = rows.into_iter().map(Wish::new).collect();
        Ok(Self(wishes?))
    }

    /// How a channel is to be sent, and how much of its past; `None`: not at all.
    pub(crate) fn find(&self, channel: &str, type_name: Option<&str>) -> Option<Wanted> {
        let wish = self.0.iter().find(|wish| wish.is_for(channel, type_name))?;
        Some(wish.wanted)
    }
}

impl Wish {
    fn new(row: WishRow) -> Result<Self, BadWish> {
        let WishRow {
            pattern,
            type_name,
            max_hz,
            past,
        } = row;
        if pattern.len() > MAX_PATTERN {
            return Err(BadWish::TooLong(pattern.len()));
        }
        let manner = match max_hz {
            _ if !max_hz.is_finite() || max_hz < 0.0 => {
                return Err(BadWish::BadRate(max_hz.to_string()));
            }
            0.0 => Manner::All,
            _ => Manner::Newest {
                period: Duration::try_from_secs_f64(1.0 / max_hz.min(MAX_HZ))
                    .unwrap_or(Duration::MAX),
            },
        };
        Ok(Self {
            pattern: Pattern::parse(&pattern)?,
            type_name,
            wanted: Wanted {
                manner,
                n_past: past,
            },
        })
    }

    fn is_for(&self, channel: &str, type_name: Option<&str>) -> bool {
        let is_type = |wanted: &String| type_name == Some(wanted.as_str());
        self.type_name.as_ref().is_none_or(is_type) && self.pattern.matches(channel)
    }
}

/// A name in which `.*` is any text and `.` any byte: what stands between the `.*`, one piece more than there are of them.
#[derive(Debug)]
struct Pattern(Vec<Vec<Option<u8>>>);

impl Pattern {
    fn parse(text: &str) -> Result<Self, BadWish> {
        let bad = |found| BadWish::BadPattern {
            found,
            pattern: text.to_owned(),
        };
        let mut pieces = Vec::new();
        let mut piece = Vec::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let literal = match c {
                '.' if rest.next_if_eq(&'*').is_some() => {
                    pieces.push(std::mem::take(&mut piece));
                    continue;
                }
                '.' => {
                    piece.push(None);
                    continue;
                }
                '\\' => {
                    let meant = rest.next().ok_or_else(|| bad(c))?;
                    // Letters after it are kinds of characters in regular expressions.
                    (!meant.is_alphanumeric())
                        .then_some(meant)
                        .ok_or_else(|| bad(c))?
                }
                '[' | ']' | '{' | '}' | '(' | ')' | '*' | '+' | '?' | '|' | '^' | '$' => {
                    return Err(bad(c));
                }
                _ => c,
            };
            piece.extend(literal.encode_utf8(&mut [0; 4]).bytes().map(Some));
        }
        pieces.push(piece);
        Ok(Self(pieces))
    }

    /// Whether the whole name matches. Each piece is looked for where the one before it ends, so nothing is tried twice.
    fn matches(&self, name: &str) -> bool {
        let name = name.as_bytes();
        let Some((first, others)) = self.0.split_first() else {
            return false;
        };
        if !starts(name, first) {
            return false;
        }
        let Some((last, middle)) = others.split_last() else {
            return name.len() == first.len();
        };
        let mut at = first.len();
        for piece in middle {
            let rest = name.get(at..).unwrap_or_default();
            let n_places = (rest.len() + 1).saturating_sub(piece.len());
            let found = (0..n_places).find(|i| starts(rest.get(*i..).unwrap_or_default(), piece));
            let Some(found) = found else {
                return false;
            };
            at += found + piece.len();
        }
        let end = name.len().checked_sub(last.len());
        end.is_some_and(|end| end >= at && starts(name.get(end..).unwrap_or_default(), last))
    }
}

fn starts(name: &[u8], piece: &[Option<u8>]) -> bool {
    let is_same = |(found, expected): (&u8, &Option<u8>)| expected.is_none_or(|it| it == *found);
    name.len() >= piece.len() && name.iter().zip(piece).all(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pattern: &str, type_name: Option<&str>, max_hz: f64) -> WishRow {
        WishRow {
            pattern: pattern.to_owned(),
            type_name: type_name.map(str::to_owned),
            max_hz,
            past: 3,
        }
    }

    #[test]
    fn the_first_row_that_matches_counts() {
        let rows = vec![
            row(".*", Some("bowline.map_t"), 1.0),
            row("gate.*", None, 0.0),
            row(".*", None, 10.0),
        ];
        let wishes = Wishes::new(rows).unwrap();
        let wanted = |manner| Some(Wanted { manner, n_past: 3 });
        let period = |ms| {
            wanted(Manner::Newest {
                period: Duration::from_millis(ms),
            })
        };
        let map = Some("bowline.map_t");
        assert_eq!(wishes.find("terrain", map), period(1_000));
        assert_eq!(wishes.find("gate.state", None), wanted(Manner::All));
        assert_eq!(wishes.find("terrain", None), period(100));
        let none = Wishes::new(vec![row("pose", None, 1.0)]).unwrap();
        assert_eq!(none.find("poses", None), None, "patterns match whole names");
    }

    #[test]
    fn senseless_wishes_are_refused() {
        let many = vec![row(".*", None, 1.0); 65];
        for (rows, expected) in [
            (many, "expected at most 64 rows, found 65"),
            (
                vec![row(&"a".repeat(257), None, 1.0)],
                "expected a pattern of at most 256 bytes, found 257",
            ),
            (
                vec![row("a", None, -1.0)],
                "expected max_hz of 0 or more, found -1",
            ),
            (
                vec![row("a", None, f64::NAN)],
                "expected max_hz of 0 or more, found NaN",
            ),
        ] {
            assert_eq!(Wishes::new(rows).unwrap_err().to_string(), expected);
        }
        assert!(Wishes::new(vec![row("(", None, 1.0)]).is_err());
    }

    #[test]
    fn a_pattern_means_what_the_same_regular_expression_means() {
        #[rustfmt::skip]
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("pose",         &["pose"],                      &["poses", "xpose", "POSE", ""]),
            (".*",           &["", "pose", "a.b"],           &[]),
            ("pose.*",       &["pose", "pose2", "pose.x"],   &["xpose", "pos"]),
            (r"gate\.state", &["gate.state"],                &["gate_state"]),
            ("gate.state",   &["gate.state", "gate_state"],  &["gatestate"]),
            (".*truth.pose", &["truth.pose", "a/truth.pose"], &["truth.poses"]),
            ("a.*b.*c",      &["abc", "a.b.c", "abbcc"],     &["ab", "ac", "acb", "abcd"]),
            (".*ab.*ab.*",   &["abab", "xabyabz"],           &["ab", "aab"]),
            ("aa.*aa",       &["aaaa", "aaxaa"],             &["aaa", "aa"]),
            ("a...*",        &["abc", "abcd"],               &["ab"]),
        ];
        for (text, yes, no) in cases {
            let pattern = Pattern::parse(text).unwrap();
            for name in *yes {
                assert!(pattern.matches(name), "{text:?} should match {name:?}");
            }
            for name in *no {
                assert!(!pattern.matches(name), "{text:?} should not match {name:?}");
            }
        }
    }

    #[test]
    fn a_pattern_that_could_take_long_is_refused() {
        for text in [
            "(a*)*b", "(?=a)a", r"(a)\1", "a+", "[ab]", "a|b", r"\d", "a\\", "a**",
        ] {
            let refused = Wishes::new(vec![row(text, None, 1.0)]);
            assert!(
                matches!(refused, Err(BadWish::BadPattern { .. })),
                "{text:?}: {refused:?}"
            );
        }
    }
}
