//! A file that names which streams are recorded, and how often.
//!
//! ```toml
//! others = true                # whether streams are recorded that are not named below
//!
//! [[stream]]                   # the first that matches counts
//! channel = "camera\\..*"      # a name, or a regular expression that matches the whole name
//! max_rate_hz = 2.0            # at most so many messages a second
//!
//! [[stream]]
//! channel = "lidar.scan"
//! every = 10                   # of so many messages the first
//!
//! [[stream]]
//! channel = "debug.*"
//! record = false
//! ```

use bowline_bus::Pattern;
use serde::Deserialize;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Which streams are recorded, and how often.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    rules: Vec<Rule>,
    leaves_others_out: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    channel: Pattern,
    rate: Rate,
}

/// How often a stream is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Every message.
    All,
    /// None.
    Never,
    /// With at least so many nanoseconds between messages, on average.
    Spaced {
        /// Between two messages.
        period_ns: i64,
    },
    /// Of so many messages the first.
    EveryNth {
        /// How many; at least 1.
        n: u64,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    #[serde(default = "yes")]
    others: bool,
    #[serde(default)]
    stream: Vec<StreamTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamTable {
    channel: Spanned<String>,
    record: Option<Spanned<bool>>,
    max_rate_hz: Option<Spanned<f64>>,
    every: Option<Spanned<u64>>,
}

fn yes() -> bool {
    true
}

impl Streams {
    /// Reads a selection file.
    ///
    /// # Errors
    /// When it cannot be read, or asks for what cannot be done.
    pub fn read(path: &Path) -> Result<Self, ReadStreamsError> {
        let text = fs::read_to_string(path).map_err(|source| ReadStreamsError::System {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|mistake| ReadStreamsError::Mistake {
            path: path.to_owned(),
            mistake,
        })
    }

    /// Understands the text of a selection file.
    ///
    /// # Errors
    /// When it asks for what cannot be done.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let table: FileTable = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Mistake::new(text, at, error.message())
        })?;
        let rules = table.stream.into_iter().map(|stream| stream.rule(text));
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
            leaves_others_out: !table.others,
        })
    }

    /// Whether everything is recorded.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        !self.leaves_others_out && self.rules.iter().all(|rule| rule.rate == Rate::All)
    }

    /// How often a channel is recorded.
    #[must_use]
    pub fn rate(&self, channel: &str) -> Rate {
        let mut rules = self.rules.iter();
        match rules.find(|rule| rule.channel.matches(channel)) {
            Some(rule) => rule.rate,
            None if self.leaves_others_out => Rate::Never,
            None => Rate::All,
        }
    }
}

impl StreamTable {
    fn rule(self, text: &str) -> Result<Rule, Mistake> {
        let at = self.channel.span().start;
        let channel = Pattern::new(self.channel.get_ref())
            .map_err(|error| Mistake::new(text, at, &error.to_string()))?;
        let record = self.record.as_ref().is_none_or(|record| *record.get_ref());
        let rate = match (record, self.max_rate_hz, self.every) {
            (true, None, None) => Rate::All,
            (false, None, None) => Rate::Never,
            (true, Some(hz), None) => spaced(&hz, text)?,
            (true, None, Some(every)) => every_nth(&every, text)?,
            (true, Some(_), Some(_)) => {
                return Err(Mistake::new(
                    text,
                    at,
                    "expected max_rate_hz or every, found both for one stream",
                ));
            }
            (false, Some(_), _) | (false, _, Some(_)) => {
                return Err(Mistake::new(
                    text,
                    at,
                    "expected a rate only where record is true, found both for one stream",
                ));
            }
        };
        Ok(Rule { channel, rate })
    }
}

fn spaced(hz: &Spanned<f64>, text: &str) -> Result<Rate, Mistake> {
    let wrong = || {
        let message = format!(
            "expected max_rate_hz between 0.000001 and 1000000000, found {}; use record = false for none",
            hz.get_ref()
        );
        Mistake::new(text, hz.span().start, &message)
    };
    if !(1e-6..=1e9).contains(hz.get_ref()) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "bounds were checked: below 10^15"
    )]
    let period_ns = (1e9 / hz.get_ref()).round() as i64;
    Ok(Rate::Spaced { period_ns })
}

fn every_nth(every: &Spanned<u64>, text: &str) -> Result<Rate, Mistake> {
    match *every.get_ref() {
        0 => Err(Mistake::new(
            text,
            every.span().start,
            "expected every = 1 or more, found 0; use record = false for none",
        )),
        n => Ok(Rate::EveryNth { n }),
    }
}

/// Whether the messages of one stream are recorded, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiter {
    rate: Rate,
    n_seen: u64,
    due_ns: i64,
}

impl Limiter {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            n_seen: 0,
            due_ns: i64::MIN,
        }
    }

    /// Whether the next message is recorded, which came at that time.
    pub(super) fn admits(&mut self, received_ns: i64) -> bool {
        match self.rate {
            Rate::All => true,
            Rate::Never => false,
            Rate::EveryNth { n } => {
                let is_first = self.n_seen.is_multiple_of(n);
                self.n_seen += 1;
                is_first
            }
            Rate::Spaced { period_ns } => self.is_due(received_ns, period_ns),
        }
    }

    /// By a schedule, not by the distance to the last: of 10 messages a second with some jitter, 5 are 5 and not 3.
    fn is_due(&mut self, received_ns: i64, period_ns: i64) -> bool {
        let was_set_back = received_ns.saturating_add(period_ns) < self.due_ns;
        if received_ns < self.due_ns && !was_set_back {
            return false;
        }
        let on_schedule = self.due_ns.saturating_add(period_ns);
        self.due_ns = if on_schedule > received_ns && !was_set_back {
            on_schedule
        } else {
            received_ns.saturating_add(period_ns)
        };
        true
    }
}

/// What is wrong with a selection file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Counted from 1.
    pub line: usize,
    /// What was expected and what was found.
    pub message: String,
}

impl Mistake {
    fn new(text: &str, at: usize, message: &str) -> Self {
        let before = text.as_bytes().iter().take(at);
        Self {
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
            message: message.trim_end().to_owned(),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

impl std::error::Error for Mistake {}

/// Why a selection file is no use.
#[derive(Debug, thiserror::Error)]
pub enum ReadStreamsError {
    /// It cannot be read.
    #[error("cannot read the selection {path:?}: {source}")]
    System {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It asks for what cannot be done.
    #[error("{}:{mistake}", path.display())]
    Mistake {
        /// The file.
        path: PathBuf,
        /// What, and where.
        mistake: Mistake,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_on_average_whatever_the_jitter() {
        const PERIOD_NS: i64 = 100_000_000;
        for jitter_ns in [0, 1, 3_000_000, 9_000_000] {
            let mut limiter = Limiter::new(Rate::Spaced {
                period_ns: PERIOD_NS,
            });
            // 20 messages a second for 100 s, of which 10 a second are wanted.
            let times = (0..2_000).map(|i| i * 50_000_000 + if i % 3 == 0 { jitter_ns } else { 0 });
            let n_admitted = times.filter(|ns| limiter.admits(*ns)).count();
            assert!(
                (999..=1_001).contains(&n_admitted),
                "{jitter_ns}: {n_admitted}"
            );
        }
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_silence_a_stream() {
        let mut limiter = Limiter::new(Rate::Spaced { period_ns: 10 });
        assert!(limiter.admits(1_000));
        assert!(!limiter.admits(1_005));
        assert!(limiter.admits(500));
        assert!(!limiter.admits(505));
        assert!(limiter.admits(510));
    }
}
