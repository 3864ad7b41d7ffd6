//! Moments of a log, as people write and read them.

use bowline_format::Summary;
use bowline_wire::number::parse_seconds;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::fmt;
use std::str::FromStr;

/// Seconds from here on are since the epoch: no log is three years long.
const LEAST_EPOCH_S: f64 = 1e8;
/// Whole numbers from here on are microseconds since the epoch.
const LEAST_UTIME: i64 = 1_000_000_000_000;

/// A moment of a log.
///
/// | text | meaning |
/// | --- | --- |
/// | `90`, `1.5`, `250ms`, `2m`, `1h` | after the first event; seconds without a unit |
/// | `-10` | before the latest event |
/// | `1763269200000000`, `1763269200.25` | microseconds, or seconds, since the epoch |
/// | `2026-11-16T05:00:00Z`, `2026-11-16 05:00` | a time; UTC without an offset |
/// | anything else | the text of a bookmark |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Microseconds since the epoch.
    At(i64),
    /// Microseconds after the first event.
    AfterStart(i64),
    /// Microseconds before the latest event.
    BeforeEnd(i64),
    /// At the first bookmark with this text.
    Bookmark(String),
}

impl FromStr for Moment {
    type Err = BadMoment;

    fn from_str(text: &str) -> Result<Self, BadMoment> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadMoment::Empty);
        }
        if let Ok(number) = text.parse::<i64>()
            && number >= LEAST_UTIME
        {
            return Ok(Self::At(number));
        }
        if let Some(seconds) = text.strip_prefix('-').and_then(parse_seconds) {
            return Ok(Self::BeforeEnd(micros(seconds)));
        }
        if let Some(seconds) = parse_seconds(text) {
            let us = micros(seconds);
            let is_of_epoch = seconds >= LEAST_EPOCH_S;
            return Ok(if is_of_epoch {
                Self::At(us)
            } else {
                Self::AfterStart(us)
            });
        }
        let time = text.parse::<Timestamp>().or_else(|_no_zone| {
            let civil = text.parse::<DateTime>()?;
            Ok::<_, jiff::Error>(civil.to_zoned(TimeZone::UTC)?.timestamp())
        });
        Ok(time.map_or_else(
            |_no_time| Self::Bookmark(text.to_owned()),
            |time| Self::At(time.as_microsecond()),
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

impl Moment {
    /// Whether only an index has the time of it.
    #[must_use]
    pub fn needs_summary(&self) -> bool {
        match self {
            Self::At(_) | Self::AfterStart(_) => false,
            Self::BeforeEnd(_) | Self::Bookmark(_) => true,
        }
    }

    /// Microseconds since the epoch, in a log that begins at `first_utime`.
    ///
    /// # Errors
    /// When the log has no such bookmark, or its end is not known.
    pub fn resolve(&self, first_utime: i64, summary: Option<&Summary>) -> Result<i64, BadMoment> {
        match self {
            Self::At(utime) => Ok(*utime),
            Self::AfterStart(us) => Ok(first_utime.saturating_add(*us)),
            Self::BeforeEnd(us) => {
                let span = summary.and_then(|summary| summary.span);
                let (_, last) = span.ok_or(BadMoment::NoEnd)?;
                Ok(last.saturating_sub(*us))
            }
            Self::Bookmark(text) => {
                let bookmarks = summary.map(|summary| summary.bookmarks.as_slice());
                let bookmarks = bookmarks.unwrap_or_default();
                let found = bookmarks.iter().find(|bookmark| bookmark.text == *text);
                found
                    .map(|bookmark| bookmark.utime)
                    .ok_or_else(|| BadMoment::NoBookmark {
                        found: text.clone(),
                        known: bookmarks.iter().take(10).map(|b| b.text.clone()).collect(),
                    })
            }
        }
    }
}

/// A moment that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMoment {
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

/// A time in ISO form, UTC: `2026-11-16T05:10:56.250000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsoTime(pub i64);

impl fmt::Display for IsoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time:.6}"),
            // Ten thousand years from now, or damaged.
            Err(_out_of_range) => write!(f, "{} us since 1970", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_msgs::Bookmark;

    #[test]
    fn a_moment_is_written_in_many_ways() {
        for (text, when) in [
            ("90", Moment::AfterStart(90_000_000)),
            ("1.5", Moment::AfterStart(1_500_000)),
            ("0", Moment::AfterStart(0)),
            ("-10", Moment::BeforeEnd(10_000_000)),
            ("-0", Moment::BeforeEnd(0)),
            ("1700000000000000", Moment::At(1_700_000_000_000_000)),
            ("2023-11-14T22:13:20Z", Moment::At(1_700_000_000_000_000)),
            (
                "2023-11-14 22:13:20.5+00:00",
                Moment::At(1_700_000_000_500_000),
            ),
            ("2023-11-14 22:13", Moment::At(1_699_999_980_000_000)),
            ("2024-02-29", Moment::At(1_709_164_800_000_000)),
            (
                "2025-11-16T06:10:56+01:00",
                Moment::At(1_763_269_856_000_000),
            ),
            ("1969-12-31T23:59:59.999999Z", Moment::At(-1)),
            ("1763269856.5", Moment::At(1_763_269_856_500_000)),
            ("0.1s", Moment::AfterStart(100_000)),
            ("250ms", Moment::AfterStart(250_000)),
            ("2m", Moment::AfterStart(120_000_000)),
            ("1h", Moment::AfterStart(3_600_000_000)),
            ("-2m", Moment::BeforeEnd(120_000_000)),
            ("at the dock", Moment::Bookmark("at the dock".to_owned())),
            ("nan", Moment::Bookmark("nan".to_owned())),
            ("--1", Moment::Bookmark("--1".to_owned())),
            ("2025-13-01", Moment::Bookmark("2025-13-01".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(when), "{text}");
        }
        assert_eq!(" ".parse::<Moment>(), Err(BadMoment::Empty));
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
            let when: Moment = text.parse().expect("it is a moment");
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

    #[test]
    fn a_time_that_is_shown_is_read_back() {
        for utime in [
            0,
            -1,
            1_763_269_856_250_000,
            4_102_444_800_000_000,
            -62_000_000_000_000_000,
        ] {
            let text = IsoTime(utime).to_string();
            assert_eq!(text.parse(), Ok(Moment::At(utime)), "{text}");
        }
        let text = IsoTime(1_763_269_856_250_000).to_string();
        assert_eq!(text, "2025-11-16T05:10:56.250000Z");
        assert_eq!(
            IsoTime(i64::MAX).to_string(),
            "9223372036854775807 us since 1970"
        );
    }
}
