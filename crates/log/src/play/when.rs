//! Moments of a log, as people write them.

use crate::summary::Summary;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::str::FromStr;

/// Whole numbers from here on are microseconds since the epoch. Nobody records for so many seconds.
const LEAST_UTIME: i64 = 1_000_000_000_000;

/// A moment of a log.
///
/// | text | meaning |
/// | --- | --- |
/// | `90`, `1.5` | seconds after the beginning |
/// | `-10` | seconds before the end |
/// | `1763269200000000` | microseconds since the epoch |
/// | `2026-11-16T05:00:00Z`, `2026-11-16 05:00` | a time; without a zone, of this host's |
/// | anything else | the text of a bookmark |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Microseconds since the epoch.
    Utime(i64),
    /// Microseconds after the beginning.
    FromStart(i64),
    /// Microseconds before the end.
    BeforeEnd(i64),
    /// At the first bookmark with this text.
    Bookmark(String),
}

impl FromStr for When {
    type Err = BadWhen;

    fn from_str(text: &str) -> Result<Self, BadWhen> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadWhen::Empty);
        }
        if let Ok(number) = text.parse::<i64>()
            && number >= LEAST_UTIME
        {
            return Ok(Self::Utime(number));
        }
        if let Ok(seconds) = text.parse::<f64>()
            && seconds.is_finite()
        {
            let us = micros(seconds.abs());
            let is_before_end = text.starts_with('-');
            return Ok(if is_before_end {
                Self::BeforeEnd(us)
            } else {
                Self::FromStart(us)
            });
        }
        let time = text.parse::<Timestamp>().or_else(|_no_zone| {
            let civil = text.parse::<DateTime>()?;
            Ok::<_, jiff::Error>(civil.to_zoned(TimeZone::system())?.timestamp())
        });
        Ok(time.map_or_else(
            |_no_time| Self::Bookmark(text.to_owned()),
            |time| Self::Utime(time.as_microsecond()),
        ))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is too far is as far as it goes"
)]
fn micros(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

impl When {
    /// Whether only an index can say when that is.
    #[must_use]
    pub fn needs_summary(&self) -> bool {
        match self {
            Self::Utime(_) | Self::FromStart(_) => false,
            Self::BeforeEnd(_) | Self::Bookmark(_) => true,
        }
    }

    /// Microseconds since the epoch, in a log that begins at `first_utime`.
    ///
    /// # Errors
    /// When the log has no such bookmark, or its end is not known.
    pub fn resolve(&self, first_utime: i64, summary: Option<&Summary>) -> Result<i64, BadWhen> {
        match self {
            Self::Utime(utime) => Ok(*utime),
            Self::FromStart(us) => Ok(first_utime.saturating_add(*us)),
            Self::BeforeEnd(us) => {
                let span = summary.and_then(|summary| summary.span);
                let (_, last) = span.ok_or(BadWhen::NoEnd)?;
                Ok(last.saturating_sub(*us))
            }
            Self::Bookmark(text) => {
                let bookmarks = summary.map(|summary| summary.bookmarks.as_slice());
                let bookmarks = bookmarks.unwrap_or_default();
                let found = bookmarks.iter().find(|bookmark| bookmark.text == *text);
                found
                    .map(|bookmark| bookmark.utime)
                    .ok_or_else(|| BadWhen::NoBookmark {
                        found: text.clone(),
                        known: bookmarks.iter().take(10).map(|b| b.text.clone()).collect(),
                    })
            }
        }
    }
}

/// A moment that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWhen {
    /// There is no text.
    #[error(
        "expected seconds from the beginning, microseconds since the epoch, a time such as 2026-11-16T05:00:00Z or a \
         bookmark, found nothing"
    )]
    Empty,
    /// The log has no such bookmark.
    #[error(
        "expected seconds, microseconds since the epoch, a time such as 2026-11-16T05:00:00Z or one of the bookmarks \
         {known:?}, found {found:?}"
    )]
    NoBookmark {
        /// What there was.
        found: String,
        /// The first bookmarks of the log.
        known: Vec<String>,
    },
    /// The log has no index, or nothing in it.
    #[error("expected a log whose end is known, found one without events")]
    NoEnd,
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_msgs::Bookmark;

    #[test]
    fn a_moment_is_written_in_many_ways() {
        for (text, when) in [
            ("90", When::FromStart(90_000_000)),
            ("1.5", When::FromStart(1_500_000)),
            ("0", When::FromStart(0)),
            ("-10", When::BeforeEnd(10_000_000)),
            ("-0", When::BeforeEnd(0)),
            ("1700000000000000", When::Utime(1_700_000_000_000_000)),
            ("2023-11-14T22:13:20Z", When::Utime(1_700_000_000_000_000)),
            (
                "2023-11-14 22:13:20.5+00:00",
                When::Utime(1_700_000_000_500_000),
            ),
            ("at the dock", When::Bookmark("at the dock".to_owned())),
            ("nan", When::Bookmark("nan".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(when), "{text}");
        }
        assert_eq!(" ".parse::<When>(), Err(BadWhen::Empty));
    }

    #[test]
    fn a_bookmark_is_found_or_the_others_are_named() {
        let mut summary = Summary::default();
        summary.span = Some((5_000_000, 9_000_000));
        summary.bookmarks.push(Bookmark {
            utime: 7_000_000,
            text: "dock".to_owned(),
        });
        let resolve = |text: &str| {
            let when: When = text.parse().expect("it is a moment");
            when.resolve(5_000_000, Some(&summary))
        };
        assert_eq!(resolve("dock"), Ok(7_000_000));
        assert_eq!(resolve("1"), Ok(6_000_000));
        assert_eq!(resolve("-1"), Ok(8_000_000));
        let error = resolve("lock").expect_err("there is none").to_string();
        assert!(
            error.contains("\"lock\"") && error.contains("\"dock\""),
            "{error}"
        );
    }
}
