//! Which events are recorded: the selected channels, at the selected rates.

use super::streams::{Limiter, Rate, Streams};
use bowline_bus::{Channel, Event, Pattern};
use bowline_format::{BOOKMARK_CHANNEL, SCHEMA_CHANNEL};
use std::collections::HashMap;

/// Channels whose streams are counted. Of others, the first of every stream is all that a rate can know.
const MAX_STREAMS: usize = 100_000;

/// Lets events pass, or not.
#[derive(Debug)]
pub(super) struct Gate {
    channels: Pattern,
    inverts_channels: bool,
    wanted: Streams,
    /// Whether everything passes.
    is_open: bool,
    streams: HashMap<Channel, Stream>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    is_asked_for: bool,
    limiter: Limiter,
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Record,
    /// The selection leaves it out.
    LeaveOut,
    /// It is not selected.
    Ignore,
}

impl Gate {
    pub(super) fn new(channels: Pattern, inverts_channels: bool, wanted: Streams) -> Self {
        Self {
            channels,
            inverts_channels,
            is_open: !inverts_channels && wanted.is_everything(),
            wanted,
            streams: HashMap::new(),
        }
    }

    /// What has to be subscribed to, for recording and for the conditions in `also`.
    pub(super) fn subscriptions(&mut self, also: Vec<Pattern>) -> Vec<Pattern> {
        let everything = || Pattern::new(".*").ok();
        if self.inverts_channels {
            return everything().into_iter().collect();
        }
        let mut patterns = vec![self.channels.clone()];
        // Bookmarks and descriptions belong to what is recorded.
        for pattern in [SCHEMA_CHANNEL, BOOKMARK_CHANNEL].map(Pattern::exact) {
            if !self.channels.matches(pattern.as_str()) {
                patterns.push(pattern);
            }
        }
        for pattern in also {
            if patterns
                .iter()
                .all(|known| known.as_str() != pattern.as_str())
            {
                self.is_open = false;
                patterns.push(pattern);
            }
        }
        patterns
    }

    pub(super) fn judge(&mut self, event: &Event) -> Verdict {
        if self.is_open {
            return Verdict::Record;
        }
        if let Some(stream) = self.streams.get_mut(&event.channel) {
            return stream.judge(event);
        }
        let mut stream = self.stream(&event.channel);
        let verdict = stream.judge(event);
        if self.streams.len() < MAX_STREAMS {
            self.streams.insert(event.channel.clone(), stream);
        }
        verdict
    }

    fn stream(&self, channel: &str) -> Stream {
        let belongs = channel == SCHEMA_CHANNEL || channel == BOOKMARK_CHANNEL;
        if belongs && !self.inverts_channels {
            return Stream {
                is_asked_for: true,
                limiter: Limiter::new(Rate::All),
            };
        }
        Stream {
            is_asked_for: self.channels.matches(channel) != self.inverts_channels,
            limiter: Limiter::new(self.wanted.rate(channel)),
        }
    }
}

impl Stream {
    fn judge(&mut self, event: &Event) -> Verdict {
        if !self.is_asked_for {
            Verdict::Ignore
        } else if self.limiter.admits(event.arrival.received_ns) {
            Verdict::Record
        } else {
            Verdict::LeaveOut
        }
    }
}
