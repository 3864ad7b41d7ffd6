//! Which events of a log are meant: when and where.

use crate::event::LogEvent;
use crate::reader::{ReadError, Reader};
use std::fmt;
use std::str::FromStr;

/// A time as people write it: `12.5` seconds after the first event, `-3` seconds before the last, `2m`, a time of day
/// in ISO form or as seconds or microseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Microseconds after the first event.
    AfterStart(i64),
    /// Microseconds before the latest event.
    BeforeEnd(i64),
    /// Microseconds since the epoch.
    At(i64),
}

/// Numbers from here on are seconds since the epoch, not of a log: no log is three years long.
const FIRST_EPOCH_S: f64 = 1e8;
/// Numbers from here on are microseconds since the epoch.
const FIRST_EPOCH_US: f64 = 1e14;

impl FromStr for Moment {
    type Err = BadMoment;

    fn from_str(text: &str) -> Result<Self, BadMoment> {
        let bad = || BadMoment(text.to_owned());
        if let Some(utime) = utime_of_iso(text) {
            return Ok(Self::At(utime));
        }
        if let Ok(utime) = text.parse::<i64>()
            && utime as f64 >= FIRST_EPOCH_US
        {
            return Ok(Self::At(utime));
        }
        if let Some(before) = text.strip_prefix('-') {
            return Ok(Self::BeforeEnd(us(before).ok_or_else(bad)?));
        }
        let us = us(text).ok_or_else(bad)?;
        Ok(if us as f64 >= FIRST_EPOCH_S * 1e6 {
            Self::At(us)
        } else {
            Self::AfterStart(us)
        })
    }
}

/// A duration in microseconds: seconds, or with a unit.
fn us(text: &str) -> Option<i64> {
    let at = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let unit_us = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "" | "s" => 1e6,
        "m" | "min" => 60e6,
        "h" => 3_600e6,
        _ => return None,
    };
    let us = number.parse::<f64>().ok()? * unit_us;
    // Rounded, so that 0.1 s is 100 000 us and not one less.
    #[expect(clippy::cast_possible_truncation, reason = "it was just compared")]
    (us < 9e18).then_some(us.round() as i64)
}

/// What is no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a time such as 12.5 (seconds after the first event), 2m, -3 (seconds before the last), \
     2026-11-16T05:10:56Z or 1763269856000000 (microseconds since 1970), found {0:?}"
)]
pub struct BadMoment(String);

/// From a time to a time, both included, microseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first time that is meant.
    pub from_utime: i64,
    /// The last.
    pub to_utime: i64,
}

impl Default for TimeRange {
    fn default() -> Self {
        Self {
            from_utime: i64::MIN,
            to_utime: i64::MAX,
        }
    }
}

impl TimeRange {
    /// What two moments mean in a log, which is at its beginning afterwards. Its latest time is asked for only if it is
    /// needed: without an index, that reads all of it.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn in_log(
        log: &mut Reader,
        from: Option<Moment>,
        to: Option<Moment>,
    ) -> Result<Self, ReadError> {
        let mut utime = |moment: Option<Moment>, otherwise| match moment {
            None => Ok(otherwise),
            Some(Moment::At(utime)) => Ok(utime),
            Some(Moment::AfterStart(us)) => Ok(first_utime(log)?.saturating_add(us)),
            Some(Moment::BeforeEnd(us)) => Ok(last_utime(log)?.saturating_sub(us)),
        };
        let range = Self {
            from_utime: utime(from, i64::MIN)?,
            to_utime: utime(to, i64::MAX)?,
        };
        log.rewind()?;
        Ok(range)
    }

    /// Whether a time is in it.
    #[must_use]
    pub fn contains(&self, utime: i64) -> bool {
        (self.from_utime..=self.to_utime).contains(&utime)
    }
}

fn first_utime(log: &mut Reader) -> Result<i64, ReadError> {
    log.rewind()?;
    Ok(log.next_event()?.map_or(0, |event| event.utime))
}

fn last_utime(log: &mut Reader) -> Result<i64, ReadError> {
    if let Some((_, last)) = log.summary().and_then(|summary| summary.span) {
        return Ok(last);
    }
    log.rewind()?;
    let mut last = None;
    while let Some(event) = log.next_event()? {
        last = last.max(Some(event.utime));
    }
    Ok(last.unwrap_or(0))
}

/// Channels by a part of their names, as lcm-logfilter has it: `pose` is every channel with "pose" in its name, `^pose$`
/// is that channel only.
#[derive(Clone, Debug, Default)]
pub struct ChannelFilter {
    /// None of them: every channel is meant.
    patterns: Vec<fancy_regex::Regex>,
    is_inverted: bool,
}

impl ChannelFilter {
    /// The channels that match any of the regular expressions; all of them if there is none.
    ///
    /// # Errors
    /// When one is no regular expression.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, BadChannelFilter> {
        let compile = |pattern: &S| {
            let pattern = pattern.as_ref();
            fancy_regex::Regex::new(pattern).map_err(|source| BadChannelFilter {
                pattern: pattern.to_owned(),
                source: Box::new(source),
            })
        };
        Ok(Self {
            patterns: patterns.iter().map(compile).collect::<Result<_, _>>()?,
            is_inverted: false,
        })
    }

    /// The channels that were not meant before.
    #[must_use]
    pub fn inverted(self) -> Self {
        Self {
            is_inverted: !self.is_inverted,
            ..self
        }
    }

    /// Whether a channel is meant. A pattern that takes too long over a name does not match it.
    #[must_use]
    pub fn matches(&self, channel: &str) -> bool {
        let is_match = |pattern: &fancy_regex::Regex| pattern.is_match(channel).unwrap_or(false);
        let is_any = self.patterns.is_empty() || self.patterns.iter().any(is_match);
        is_any != self.is_inverted
    }
}

/// What is no regular expression.
#[derive(Debug, thiserror::Error)]
#[error("expected a regular expression for channels, found {pattern:?}: {source}")]
pub struct BadChannelFilter {
    pattern: String,
    source: Box<fancy_regex::Error>,
}

/// Events of some channels in some time.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Where.
    pub channels: ChannelFilter,
    /// When.
    pub times: TimeRange,
}

impl Selection {
    /// Whether an event is meant.
    #[must_use]
    pub fn contains(&self, event: &LogEvent<'_>) -> bool {
        self.times.contains(event.utime) && self.channels.matches(event.channel)
    }
}

/// A time in ISO form, UTC: `2026-11-16T05:10:56.250000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsoTime(pub i64);

const DAY_S: i64 = 86_400;

impl fmt::Display for IsoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, us) = (self.0.div_euclid(1_000_000), self.0.rem_euclid(1_000_000));
        let (day, s) = (s.div_euclid(DAY_S), s.rem_euclid(DAY_S));
        let (year, month, day) = date_of_day(day);
        let (hour, minute, second) = (s / 3_600, s / 60 % 60, s % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z"
        )
    }
}

/// Reads `2026-11-16`, with or without a time, a fraction and a zone; without a zone it is UTC.
fn utime_of_iso(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (whole(year, 4)?, whole(month, 2)?, whole(day, 2)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let zone_at = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone_at);
    let offset_s = match zone.strip_prefix(['+', '-']) {
        Some(offset) => {
            let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "00"));
            let seconds = whole(hours, 2)? * 3_600 + whole(minutes, 2)? * 60;
            if zone.starts_with('-') {
                -seconds
            } else {
                seconds
            }
        }
        None if matches!(zone, "" | "Z") => 0,
        None => return None,
    };
    let (hours, rest) = time.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "00"));
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let (hours, minutes, seconds) = (whole(hours, 2)?, whole(minutes, 2)?, whole(seconds, 2)?);
    if hours > 23 || minutes > 59 || seconds > 60 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let us = whole(&format!("{fraction:0<6}")[..6], 6)?;
    let day = day_of_date(year, month, day);
    let s = day * DAY_S + hours * 3_600 + minutes * 60 + seconds - offset_s;
    s.checked_mul(1_000_000)?.checked_add(us)
}

/// A number of exactly so many digits.
fn whole(text: &str, n_digits: usize) -> Option<i64> {
    let is_number = text.len() == n_digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Days since 1970 in the proleptic Gregorian calendar, whose months are counted from March so that leap days come last.
fn day_of_date(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + year * 365 + year / 4 - year / 100 + (153 * month + 2) / 5 + day - 1 - 719_468
}

fn date_of_day(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let year = year + era * 400;
    if month < 10 {
        (year, month + 3, day_of_month)
    } else {
        (year + 1, month - 9, day_of_month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, moment) in [
            ("0", Moment::AfterStart(0)),
            ("12.5", Moment::AfterStart(12_500_000)),
            ("0.1s", Moment::AfterStart(100_000)),
            ("250ms", Moment::AfterStart(250_000)),
            ("2m", Moment::AfterStart(120_000_000)),
            ("1h", Moment::AfterStart(3_600_000_000)),
            ("-3", Moment::BeforeEnd(3_000_000)),
            ("1763269856.5", Moment::At(1_763_269_856_500_000)),
            ("1763269856500001", Moment::At(1_763_269_856_500_001)),
            ("2025-11-16", Moment::At(1_763_251_200_000_000)),
            ("2025-11-16T05:10:56Z", Moment::At(1_763_269_856_000_000)),
            ("2025-11-16 05:10", Moment::At(1_763_269_800_000_000)),
            ("2025-11-16T05:10:56.25", Moment::At(1_763_269_856_250_000)),
            (
                "2025-11-16T06:10:56+01:00",
                Moment::At(1_763_269_856_000_000),
            ),
            ("1969-12-31T23:59:59.999999Z", Moment::At(-1)),
            ("2024-02-29", Moment::At(1_709_164_800_000_000)),
        ] {
            assert_eq!(text.parse(), Ok(moment), "{text}");
        }
        for text in [
            "",
            "x",
            "1x",
            "--1",
            "2025-13-01",
            "2025-11-16T25:00",
            "1e999",
            "T",
            "ä",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
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
        assert_eq!(
            IsoTime(1_763_269_856_250_000).to_string(),
            "2025-11-16T05:10:56.250000Z"
        );
    }
}
