//! What a page wants to be sent: channels by pattern and type, and how often.

use crate::frame::WishRow;
use bowline_bus::Pattern;
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
    manner: Manner,
    past: usize,
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
    #[error("{0}")]
    BadPattern(String),
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
    pub(crate) fn find(&self, channel: &str, type_name: Option<&str>) -> Option<(Manner, usize)> {
        let wish = self.0.iter().find(|wish| wish.is_for(channel, type_name))?;
        Some((wish.manner, wish.past))
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
        let pattern =
            Pattern::new(&pattern).map_err(|error| BadWish::BadPattern(error.to_string()))?;
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
            pattern,
            type_name,
            manner,
            past,
        })
    }

    fn is_for(&self, channel: &str, type_name: Option<&str>) -> bool {
        let is_type = |wanted: &String| type_name == Some(wanted.as_str());
        self.type_name.as_ref().is_none_or(is_type) && self.pattern.matches(channel)
    }
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
        let period = |ms| Manner::Newest {
            period: Duration::from_millis(ms),
        };
        let map = Some("bowline.map_t");
        assert_eq!(wishes.find("terrain", map), Some((period(1_000), 3)));
        assert_eq!(wishes.find("gate.state", None), Some((Manner::All, 3)));
        assert_eq!(wishes.find("terrain", None), Some((period(100), 3)));
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
}
