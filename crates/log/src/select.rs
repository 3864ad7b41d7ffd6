//! Which events of a log are meant: when and where.

use crate::moment::{BadMoment, Moment};
use bowline_format::{LogEvent, ReadError, Reader, Summary};

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
    /// What two moments mean in a log, which is at its beginning afterwards. Without an index, its end and its bookmarks
    /// are found by reading all of it.
    ///
    /// # Errors
    /// When the log cannot be read, or has no such bookmark.
    pub fn in_log(
        log: &mut Reader,
        from: Option<&Moment>,
        to: Option<&Moment>,
    ) -> Result<Self, FindTimeError> {
        let mut utime = |moment: Option<&Moment>, otherwise| {
            let Some(moment) = moment else {
                return Ok(otherwise);
            };
            let summary = moment
                .needs_summary()
                .then(|| summary_of(log))
                .transpose()?;
            Ok::<_, FindTimeError>(moment.resolve(first_utime(log)?, summary.as_ref())?)
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

fn summary_of(log: &mut Reader) -> Result<Summary, ReadError> {
    if let Some(summary) = log.summary() {
        return Ok(summary.clone());
    }
    log.rewind()?;
    let mut summary = Summary::default();
    while let Some(event) = log.next_event()? {
        summary.add(&event);
    }
    Ok(summary)
}

/// Why a time was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindTimeError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no such moment.
    #[error(transparent)]
    Moment(#[from] BadMoment),
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
